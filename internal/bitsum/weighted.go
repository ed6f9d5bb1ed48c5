package bitsum

import (
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
)

// This file adds many hashes with weights of their own, by tables of partial sums (the method of
// the Four Russians).
//
// It takes sixteen hashes at a time, in four groups of four. Four hashes have 16 subsets. A table
// holds the sum of the weights of each subset. Bit i of the four hashes of a group is a number from
// 0 to 15: it names the subset of the hashes that have bit i set. So the counter C_i grows by four
// table look-ups, one for each group, which do the work of sixteen conditional additions.
//
// To have these numbers side by side, the four hashes of a group are transposed in blocks of 4×4
// bits. Nibble k of word r then has bit 4k+r of the four hashes:
//
//	word 0   bits 60 … 4 0   of hash 3, 2, 1, 0
//	word 1   bits 61 … 5 1
//	word 2   bits 62 … 6 2
//	word 3   bits 63 … 7 3
//
// The sums are kept in 64 plain counters, and transposed into the planes of the [Sum] at the end. A
// kernel for AVX-512 does the same with tables in registers.

// sums holds the counters C_i of a number of batches, as plain numbers, before they are added to a
// Sum. Counter 4k+r is number k of row r, because it comes from nibble k of word r.
type sums [4][16]uint64

// AddWeighted adds hashes[i] with weights[i], for each i, like [Sum.Add] but faster. The slices
// must have the same length.
func (a *Sum) AddWeighted(hashes []uint64, weights []int64) {
	if len(hashes) < 16 {
		for i, h := range hashes {
			a.Add(h, weights[i])
		}
		return
	}
	var s sums
	for _, w := range weights {
		a.mass += uint64(w)
	}
	if !kernel.AddWeighted((*[64]uint64)(unsafe.Pointer(&s)), hashes, weights) {
		s.addAll(hashes, weights)
	}
	a.addSums(&s)
}

// addAll adds hashes with weights.
func (s *sums) addAll(hashes []uint64, weights []int64) {
	var t subsets
	for len(hashes) > 0 {
		// The last batch is filled up with hashes of weight 0.
		var h [16]uint64
		var w [16]int64
		n := copy(h[:], hashes)
		copy(w[:], weights[:n])
		t.of(&w)
		s.add(&h, &t)
		hashes, weights = hashes[n:], weights[n:]
	}
}

// subsets holds four tables, one behind the other: entry 16g+s is the sum of the weights of subset
// s of group g. There is room behind the last table, so that any byte is an index from the start of
// any table, and the compiler needs no bounds check.
type subsets [256 + 3*16]uint64

// of fills the tables for sixteen weights.
func (t *subsets) of(w *[16]int64) {
	for g := 0; g < 16; g += 4 {
		a, b, c, d := uint64(w[g]), uint64(w[g+1]), uint64(w[g+2]), uint64(w[g+3])
		t := (*[16]uint64)(t[4*g:])
		t[1], t[2], t[4], t[8] = a, b, c, d
		t[3], t[5], t[6], t[9], t[10], t[12] = a+b, a+c, b+c, a+d, b+d, c+d
		t[7], t[11], t[13], t[14] = a+b+c, a+b+d, a+c+d, b+c+d
		t[15] = a + b + c + d
	}
}

// add adds sixteen hashes to the counters, whose weights t was made of. It overwrites h.
func (s *sums) add(h *[16]uint64, t *subsets) {
	t0, t1, t2, t3 := (*[256]uint64)(t[:]), (*[256]uint64)(t[16:]), (*[256]uint64)(t[32:]), (*[256]uint64)(t[48:])
	for g := 0; g < 16; g += 4 {
		h[g], h[g+1], h[g+2], h[g+3] = nibbles(h[g], h[g+1], h[g+2], h[g+3])
	}
	const low = 0x0F0F0F0F0F0F0F0F
	for r := range s {
		// Take the even nibbles of the four words of row r, then the odd ones. Each nibble is
		// then a byte of its own, whose value is an index into the table of its group.
		for half := range 2 {
			x0, x1, x2, x3 := h[r]>>(4*half)&low, h[4+r]>>(4*half)&low, h[8+r]>>(4*half)&low, h[12+r]>>(4*half)&low
			c := s[r][half:] // counters 0, 2, 4 … of c are for these nibbles
			c = c[:15:15]    // all indexes are below, for the compiler
			c[0] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[2] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[4] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[6] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[8] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[10] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[12] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
			x0, x1, x2, x3 = x0>>8, x1>>8, x2>>8, x3>>8
			c[14] += t0[uint8(x0)] + t1[uint8(x1)] + t2[uint8(x2)] + t3[uint8(x3)]
		}
	}
}

// nibbles transposes four words in blocks of 4×4 bits: bit j of nibble k of result
// r is bit r of nibble k of argument j.
func nibbles(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	const odd, high = 0x5555555555555555, 0x3333333333333333
	t := (a>>1 ^ b) & odd
	a, b = a^t<<1, b^t
	t = (c>>1 ^ d) & odd
	c, d = c^t<<1, d^t
	t = (a>>2 ^ c) & high
	a, c = a^t<<2, c^t
	t = (b>>2 ^ d) & high
	b, d = b^t<<2, d^t
	return a, b, c, d
}

// addSums adds the counters of s to a: as 64 numbers they are the rows of a bit matrix, and as
// planes its columns.
func (a *Sum) addSums(s *sums) {
	var planes [64]uint64
	for r, row := range s {
		for k, c := range row {
			planes[4*k+r] = c
		}
	}
	transpose(&planes)
	carry := uint64(0)
	for j, q := range planes {
		a.planes[j], carry = csa(a.planes[j], q, carry)
	}
}

// transpose transposes 64×64 bits: bit j of word i becomes bit i of word j. It swaps the quadrants
// off the diagonal, then those of each quadrant, and so on (Hacker's Delight, 2nd ed., §7-3).
func transpose(w *[64]uint64) {
	mask := uint64(0x00000000FFFFFFFF)
	for j := 32; j > 0; j, mask = j>>1, mask^mask<<(j>>1) {
		for k := 0; k < 64; k = (k + j + 1) &^ j {
			t := (w[k]>>j ^ w[k+j]) & mask
			w[k] ^= t << j
			w[k+j] ^= t
		}
	}
}
