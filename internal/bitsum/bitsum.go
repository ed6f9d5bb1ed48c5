// Package bitsum adds weighted 64-bit hashes bit by bit. It is the core of the SimHash
// accumulators.
//
// SimHash needs a sum for every bit i of the hashes: V_i = Σ w·(+1 if bit i of the hash is set,
// else −1). Let C_i be the sum of the weights w of the hashes whose bit i is set, and N the sum of
// all weights. Then V_i = 2·C_i − N, so it is enough to count N and the 64 numbers C_i.
//
// A [Sum] stores the C_i as vertical counters: bit i of planes[j] is bit j of C_i.
//
//	             bit 63 …  bit 1  bit 0
//	planes[0]      ·         ·      ·     the lowest bits of C_63 … C_0
//	planes[1]      ·         ·      ·     the next bits
//	…
//	planes[63]     ·         ·      ·     the signs
//
// To add a hash h with weight 1 to all 64 counters is a ripple of half adders over whole words,
//
//	carry = h;  for j = 0, 1, …:  planes[j], carry = planes[j] ^ carry, planes[j] & carry
//
// which ends when no counter has a carry left. A weight w adds the hash at every plane j for which
// bit j of w is set. Two methods add many hashes faster still: carry-save adders for hashes of
// weight 1 ([Sum.AddAll]), and tables of partial sums for weighted hashes (weighted.go).
//
// All of it is arithmetic modulo 2⁶⁴, in two's complement. So subtraction undoes addition exactly,
// the order of operations never matters, and equal sums are equal values (== works).
package bitsum

import "github.com/neardup/neardup/internal/kernel"

// A Sum is the sum of weighted hashes. The zero value is the empty sum. Equal sums are equal
// values. Each V_i must stay below 2⁶³ in absolute value; it does if the absolute values of the
// weights add up to less than that.
type Sum struct {
	planes [64]uint64
	mass   uint64 // N modulo 2⁶⁴
}

// Add adds a hash with a weight, which may be negative. The same hash with the opposite weight
// undoes it.
func (a *Sum) Add(hash uint64, weight int64) {
	a.mass += uint64(weight)
	switch {
	case weight == 1:
		a.ripple(0, hash)
	case weight > 0:
		a.add(hash, uint64(weight))
	case weight < 0:
		// A counter C becomes C−|w|, which is ^(^C + |w|). −uint64(weight) is |w| also for the
		// least weight.
		a.invert(hash)
		a.add(hash, -uint64(weight))
		a.invert(hash)
	}
}

// ripple adds 2^j to each counter i for which bit i of carry is set. It takes as many steps as the
// longest carry of any of them.
func (a *Sum) ripple(j int, carry uint64) {
	for ; carry != 0 && j < 64; j++ {
		p := a.planes[j]
		a.planes[j] = p ^ carry
		carry &= p
	}
}

// add adds w to each counter i for which bit i of hash is set: a full adder for each plane up to
// the highest bit of w, and a ripple beyond.
func (a *Sum) add(hash, w uint64) {
	carry, j := uint64(0), 0
	for ; w != 0 && j < 64; j, w = j+1, w>>1 {
		b := hash & -(w & 1)
		p := a.planes[j]
		x := p ^ b
		a.planes[j] = x ^ carry
		carry = p&b | x&carry
	}
	a.ripple(j, carry)
}

// invert complements each counter i for which bit i of hash is set.
func (a *Sum) invert(hash uint64) {
	for j := range a.planes {
		a.planes[j] ^= hash
	}
}

// AddAll adds every hash with weight 1. It is the fast way to add many.
//
// It uses a tree of carry-save adders (Harley and Seal). Such an adder compresses three words of
// one weight into one word of the same and one of twice the weight, in five logic operations. The
// two hashes of a pair enter together with the plane of weight 1, the two carries of two such
// adders with the plane of weight 2, and so on. So 32 hashes cost 31 adders and one ripple, from
// plane 5 on.
//
// Kernels for AVX2 and AVX-512 do the same with a tree for each lane of a vector.
func (a *Sum) AddAll(hashes []uint64) {
	a.mass += uint64(len(hashes))
	for len(hashes) >= kernel.LeastCounted {
		var planes [kernel.MostLanes * kernel.Planes]uint64
		n, lanes := kernel.CountBits(&planes, hashes)
		if n == 0 {
			break
		}
		a.addCounts(&planes, lanes)
		hashes = hashes[n:]
	}
	p := &a.planes
	ones, twos, fours, eights, sixteens := p[0], p[1], p[2], p[3], p[4]
	for len(hashes) >= 32 {
		h := (*[32]uint64)(hashes)
		var t0, t1, f0, f1, e0, e1, s0, s1 uint64
		ones, t0 = csa(ones, h[0], h[1])
		ones, t1 = csa(ones, h[2], h[3])
		twos, f0 = csa(twos, t0, t1)
		ones, t0 = csa(ones, h[4], h[5])
		ones, t1 = csa(ones, h[6], h[7])
		twos, f1 = csa(twos, t0, t1)
		fours, e0 = csa(fours, f0, f1)
		ones, t0 = csa(ones, h[8], h[9])
		ones, t1 = csa(ones, h[10], h[11])
		twos, f0 = csa(twos, t0, t1)
		ones, t0 = csa(ones, h[12], h[13])
		ones, t1 = csa(ones, h[14], h[15])
		twos, f1 = csa(twos, t0, t1)
		fours, e1 = csa(fours, f0, f1)
		eights, s0 = csa(eights, e0, e1)
		ones, t0 = csa(ones, h[16], h[17])
		ones, t1 = csa(ones, h[18], h[19])
		twos, f0 = csa(twos, t0, t1)
		ones, t0 = csa(ones, h[20], h[21])
		ones, t1 = csa(ones, h[22], h[23])
		twos, f1 = csa(twos, t0, t1)
		fours, e0 = csa(fours, f0, f1)
		ones, t0 = csa(ones, h[24], h[25])
		ones, t1 = csa(ones, h[26], h[27])
		twos, f0 = csa(twos, t0, t1)
		ones, t0 = csa(ones, h[28], h[29])
		ones, t1 = csa(ones, h[30], h[31])
		twos, f1 = csa(twos, t0, t1)
		fours, e1 = csa(fours, f0, f1)
		eights, s1 = csa(eights, e0, e1)
		sixteens, t0 = csa(sixteens, s0, s1)
		a.ripple(5, t0)
		hashes = hashes[32:]
	}
	p[0], p[1], p[2], p[3], p[4] = ones, twos, fours, eights, sixteens
	for ; len(hashes) >= 4; hashes = hashes[4:] { // the same, with a smaller tree
		s0, c0 := csa(p[0], hashes[0], hashes[1])
		s1, c1 := csa(s0, hashes[2], hashes[3])
		s2, c2 := csa(p[1], c0, c1)
		p[0], p[1] = s1, s2
		a.ripple(2, c2)
	}
	for _, h := range hashes {
		a.ripple(0, h)
	}
}

// addCounts adds the counts of all lanes of [kernel.CountBits].
func (a *Sum) addCounts(planes *[kernel.MostLanes * kernel.Planes]uint64, lanes int) {
	for lane := range lanes {
		carry := uint64(0)
		for j := range kernel.Planes {
			a.planes[j], carry = csa(a.planes[j], planes[lanes*j+lane], carry)
		}
		a.ripple(kernel.Planes, carry)
	}
}

// csa is a carry-save adder, or full adder, on 64 lanes: a + b + c = sum + 2·carry in each.
func csa(a, b, c uint64) (sum, carry uint64) {
	x := a ^ b
	return x ^ c, a&b | x&c
}

// Merge adds everything that was added to b.
func (a *Sum) Merge(b *Sum) {
	a.mass += b.mass
	carry := uint64(0)
	for j, q := range b.planes {
		a.planes[j], carry = csa(a.planes[j], q, carry)
	}
}

// Subtract takes out everything that was added to b.
func (a *Sum) Subtract(b *Sum) {
	a.mass -= b.mass
	carry := ^uint64(0) // −q = ^q + 1
	for j, q := range b.planes {
		a.planes[j], carry = csa(a.planes[j], ^q, carry)
	}
}

// Majority returns the fingerprint: bit i is set if V_i is positive, or if V_i is zero and tie is
// true. It computes all 64 V_i at once, plane by plane, and keeps only the signs and whether any
// bit is set.
func (a *Sum) Majority(tie bool) uint64 {
	// 0 ≤ C_i ≤ N if no weight is negative in the sum, so the planes above the highest bit of N are
	// empty and need no look. Otherwise all 64 take part.
	top, above := 0, uint64(0)
	for n := a.mass; n != 0; n >>= 1 {
		top++
	}
	for _, p := range a.planes[top:] {
		above |= p
	}
	if above != 0 || top > 62 {
		top = 62
	}
	// V = 2C − N = 2C + ^N + 1, from the lowest plane to the sign. In step j, c is plane j of 2C,
	// which is plane j−1 of C, and n has bit j of ^N as its lowest bit.
	carry, nonzero := ^uint64(0), uint64(0)
	c, n, v := uint64(0), ^a.mass, uint64(0)
	for j := 0; j <= top+1; j++ {
		v, carry = csa(c, -(n & 1), carry)
		nonzero |= v
		c, n = a.planes[j], n>>1
	}
	if tie {
		return ^v
	}
	return ^v & nonzero
}

// Vector returns the 64 components V_i, bit 0 first: the weight of the hashes that have the bit
// set, minus the weight of the others.
func (a *Sum) Vector() [64]int64 {
	var v [64]int64
	for i := range v {
		c := uint64(0)
		for j, p := range a.planes {
			c |= p >> i & 1 << j
		}
		v[i] = int64(2*c - a.mass)
	}
	return v
}
