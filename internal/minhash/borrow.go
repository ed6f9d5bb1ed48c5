package minhash

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/kernel"
)

// This file fills the bins of a signature that have no feature of their own. Every bin has an order
// of all other bins, and borrows from the first in this order that has a feature. The order is drawn
// step by step ([borrowSlowly]), which takes microseconds for sets with few features, such as
// keywords. Signatures of up to 256 values, and that is nearly all, have the orders in tables, which
// are made once ([ordersOf]): the first bin of an order is then the smallest of some bytes, and a
// kernel finds it for all bins at once. Longer signatures of few features do the same with rows of
// 16 bits, one for each bin, which are made when they are needed first ([lendersOf]).

// Borrow gives each empty bin the value of another bin, unless all are empty. It keeps the
// probability that two signatures agree in a bin equal to the Jaccard similarity of their sets.
// Why: for each bin there is an order of all other bins that does not depend on the set. An empty
// bin borrows from the first one in this order that has a feature. Take the first bin in the order
// in which the union of two sets has a feature: if both sets have its smallest place, they borrow
// the same value, and otherwise not, and the former has the probability of their similarity.
//
// The order begins with 16 random bins (Shrivastava 2017), which are nearly always enough. If few
// bins have a feature, it continues with rounds in which every bin that has one offers it to a
// random bin (Mai et al. 2020). This bounds the time.
func Borrow(s []uint32) {
	k := len(s)
	if k > tabled {
		borrowWide(s)
		return
	}
	var own [tabled]uint8 // the bins with a feature
	n := 0
	for i, v := range s {
		own[n&(tabled-1)] = uint8(i)
		n += int(^v >> 31) // bit 31 is 0 in a value of its own
	}
	if n > 0 && n < k {
		borrowFrom(s, own[:n])
	}
}

// Sign is Add and Borrow for a signature that is empty yet.
func Sign(s []uint32, hashes []uint64, permutations bool) {
	switch {
	case permutations: // which leave no value empty
		Add(s, hashes, true)
	case len(hashes) == 0 || len(hashes) > few:
		Add(s, hashes, false)
		Borrow(s)
	case len(s) > tabled:
		signWide(s, hashes)
	default:
		signFew(s, hashes)
	}
}

// few is the largest number of features of signFew.
const few = 64

// signFew is Sign for few features. Their bins are known, so nobody looks for them.
func signFew(s []uint32, hashes []uint64) {
	var own [few]uint8
	borrowFrom(s, addFew(s, hashes, &own))
}

// addFew is Add for a few features, and returns their bins, in own.
func addFew[B uint8 | uint16](s []uint32, hashes []uint64, own *[few]B) []B {
	bins := uint64(len(s))
	for i, h := range hashes {
		bin, place := bits.Mul64(h, bins)
		s[bin] = min(s[bin], uint32(place>>33))
		own[i&(few-1)] = B(bin)
	}
	return own[:len(hashes)]
}

// borrowFrom gives each empty bin the value of one of the bins in own, which may be there several
// times. Which bins are empty is unpredictable, so the loop has no branch.
func borrowFrom(s []uint32, own []uint8) {
	k := len(s)
	t := ordersOf(k)
	if k%kernel.BorrowAlign == 0 {
		var some [few]uint32
		lent := some[:]
		if len(own) > few { // to clear so many takes as long as the rest
			lent = make([]uint32, tabled)
		}
		for i, b := range own {
			lent[i] = lend(s[b])
		}
		if kernel.Borrow(s, t.place, own, lent) {
			return
		}
	}
	var first [tabled]uint8 // the place of the first bin with a feature, in the order of each bin
	kernel.MinRows(first[:t.stride], t.place, own)
	for i, v := range s {
		from := lend(s[t.bin[int(first[i&(tabled-1)])*k+i]])
		if v == EmptyBin {
			v = from
		}
		s[i] = v
	}
}

// lend returns a value of one bin as another bin has it: marked, and never equal to EmptyBin.
func lend(v uint32) uint32 { return min(v|Borrowed, EmptyBin-1) }

// tabled is the number of values up to which there are tables.
const tabled = 256

// An orders has the orders in which the bins of signatures of k values borrow.
type orders struct {
	stride int     // k, rounded up to whole vectors
	place  []uint8 // place[b·stride+i] is the place of bin b in the order of bin i
	bin    []uint8 // the inverse: bin[p·k+i] is the bin at place p in the order of bin i
}

var tables [tabled + 1]atomic.Pointer[orders]

// ordersOf returns the table for signatures of k values. The first call makes it, which takes a
// millisecond.
func ordersOf(k int) *orders {
	if t := tables[k].Load(); t != nil {
		return t
	}
	t := &orders{stride: (k + kernel.RowAlign - 1) / kernel.RowAlign * kernel.RowAlign}
	t.place, t.bin = make([]uint8, k*t.stride), make([]uint8, k*k)
	// when[i][b] says when bin i gets to bin b: in a try, or later in a round of offers.
	when := make([][]uint64, k)
	for i := range when {
		when[i] = slices.Repeat([]uint64{math.MaxUint32}, k)
		for try := range tries {
			b := tryBin(i, try, k)
			when[i][b] = min(when[i][b], uint64(try))
		}
	}
	for b := range k {
		seen := make([]bool, k)
		for round, left := 1, k; left > 0; round++ {
			if i := offerBin(b, round, k); !seen[i] {
				seen[i] = true
				when[i][b] = min(when[i][b], uint64(tries+round))
				left--
			}
		}
	}
	order := make([]uint64, k)
	for i := range when {
		for b, w := range when[i] {
			order[b] = w<<8 | uint64(b) // in a round, bins with lower numbers come first
		}
		slices.Sort(order)
		for p, x := range order {
			b := int(uint8(x))
			t.place[b*t.stride+i], t.bin[p*k+i] = uint8(p), uint8(b)
		}
	}
	tables[k].Store(t)
	return t
}

// tries is the number of bins that an empty bin tries before bins offer.
const tries = 16

// tryBin returns the bin that bin i of k tries.
func tryBin(i, try, k int) int {
	random := exact.SplitMix(uint64(i)<<48|uint64(try&^3)) >> (try % 4 * 16) // four indexes of 16 bits
	return int(random & 0xFFFF * uint64(k) >> 16)
}

// offerBin returns the bin to which bin b of k offers in a round, from 1 on.
func offerBin(b, round, k int) int {
	to, _ := bits.Mul64(exact.SplitMix(uint64(b)<<48|uint64(round)<<4), uint64(k))
	return int(to)
}

// borrowSlowly is Borrow without tables.
func borrowSlowly(s []uint32) {
	empty := 0
	for _, v := range s {
		if v == EmptyBin {
			empty++
		}
	}
	if empty == 0 || empty == len(s) {
		return
	}
	for i, v := range s {
		if v != EmptyBin {
			continue
		}
		for try := range tries {
			if from := s[tryBin(i, try, len(s))]; from < Borrowed {
				s[i] = lend(from)
				empty--
				break
			}
		}
	}
	if empty > 0 {
		offerValues(s, empty)
	}
}

// offerValues does the rounds for the bins that are still empty, whose number is given. In each
// round, every bin with a feature offers its value to one random bin, which takes it if it is
// empty.
func offerValues(s []uint32, empty int) {
	var lenders []int
	for i, v := range s {
		if v < Borrowed {
			lenders = append(lenders, i)
		}
	}
	for round := 1; ; round++ {
		for _, from := range lenders {
			to := offerBin(from, round, len(s))
			if s[to] != EmptyBin {
				continue
			}
			s[to] = lend(s[from])
			if empty--; empty == 0 {
				return
			}
		}
	}
}

// A lenders has the orders of signatures of more than [tabled] values, by the bins that lend.
type lenders struct {
	// rows[b][i] says when bin i gets to bin b: in a try, or later in a round of offers. nil is a row that
	// nobody has made yet. [kernel.Never] is not known: with 4,096 bins, one in ten million.
	rows []atomic.Pointer[[]uint16]
}

var wide [MaxValues + 1]atomic.Pointer[lenders]

// lendersOf returns the orders for signatures of k values. Each row of them takes 2·k bytes, and some 130·k ns once. So with 4,096
// values a row takes half a millisecond, and all rows take 32 MB.
func lendersOf(k int) *lenders {
	if t := wide[k].Load(); t != nil {
		return t
	}
	wide[k].CompareAndSwap(nil, &lenders{make([]atomic.Pointer[[]uint16], k)})
	return wide[k].Load()
}

// row returns the row of bin b.
func (t *lenders) row(b int) *uint16 {
	if row := t.rows[b].Load(); row != nil {
		return &(*row)[0]
	}
	k := len(t.rows)
	row, left := slices.Repeat([]uint16{kernel.Never}, k), k
	for i := range row {
		for try := range tries {
			if tryBin(i, try, k) == b {
				row[i] = uint16(try)
				left--
				break
			}
		}
	}
	for round := 1; left > 0 && tries+round < kernel.Never; round++ {
		if i := offerBin(b, round, k); row[i] == kernel.Never {
			row[i] = uint16(tries + round)
			left--
		}
	}
	t.rows[b].Store(&row)
	return &row[0]
}

// borrowWide is Borrow for more than [tabled] values.
func borrowWide(s []uint32) {
	var own [most]uint16
	n := 0
	for i, v := range s {
		if v < Borrowed {
			if n == most {
				borrowSlowly(s)
				return
			}
			own[n] = uint16(i)
			n++
		}
	}
	borrowRows(s, own[:n])
}

// signWide is Sign for few features and more than [tabled] values.
func signWide(s []uint32, hashes []uint64) {
	var own [few]uint16
	bins := addFew(s, hashes, &own)
	slices.Sort(bins)
	borrowRows(s, slices.Compact(bins))
}

// most is the largest number of rows from which a signature borrows.
const most = 384

// borrowRows gives each empty bin the value of one of the bins in own, which ascend: in a round, bins with lower numbers come
// first.
func borrowRows(s []uint32, own []uint16) {
	if len(own) == 0 || !kernel.BorrowsWide(len(s), len(own)) {
		borrowSlowly(s)
		return
	}
	var rows [most]*uint16
	var lent [most]uint32
	t := lendersOf(len(s))
	for j, b := range own {
		rows[j], lent[j] = t.row(int(b)), lend(s[b])
	}
	if !kernel.BorrowWide(s, rows[:len(own)], lent[:len(own)]) {
		for i, v := range s {
			if v >= Borrowed {
				s[i] = EmptyBin
			}
		}
		borrowSlowly(s)
	}
}
