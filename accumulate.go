package neardup

import (
	"github.com/neardup/neardup/internal/bitsum"
)

// An Accumulator64 is the sum of weighted feature hashes, from which a 64-bit
// fingerprint is read. The zero value is the empty sum. It is a plain value:
// copy it to keep a state, add a weight w and later −w to take a feature out
// again, merge the partial sums of several workers. Results are exact and do
// not depend on the order of the calls: equal sums are equal values (== works).
//
// The weights added must not sum to 2⁶³ or more in absolute value.
// It is not safe for concurrent use.
type Accumulator64 struct{ sum bitsum.Sum }

// An Accumulator128 is an [Accumulator64] for 128 bits.
type Accumulator128 struct{ hi, lo bitsum.Sum }

// Add adds a feature hash with a weight, which may be negative: the same hash
// with the opposite weight undoes it. Feed an accumulator either with plain
// integer weights or with weights from [Quantize], not with both.
func (a *Accumulator64) Add(hash uint64, weight int64) { a.sum.Add(hash, weight) }

// AddAll adds every hash with weight 1, and is the fast way to add many.
func (a *Accumulator64) AddAll(hashes []uint64) { a.sum.AddAll(hashes) }

// AddWeighted adds every hash with the weight of the same place, and is the fast way
// to add many: as [Accumulator64.Add] for each. Slices of different lengths panic.
func (a *Accumulator64) AddWeighted(hashes []uint64, weights []int64) {
	checkLengths(len(hashes), len(weights))
	a.sum.AddWeighted(hashes, weights)
}

// Merge adds all that b holds.
func (a *Accumulator64) Merge(b *Accumulator64) { a.sum.Merge(&b.sum) }

// Subtract takes out all that b holds.
func (a *Accumulator64) Subtract(b *Accumulator64) { a.sum.Subtract(&b.sum) }

// Sum returns the fingerprint: bit i is set if the i-th component is positive.
func (a *Accumulator64) Sum() Fingerprint64 { return Fingerprint64(a.sum.Majority(false)) }

// SumTiesOne is Sum, but also sets the bits whose component is zero; see Fingerprinter.TiesOne.
func (a *Accumulator64) SumTiesOne() Fingerprint64 { return Fingerprint64(a.sum.Majority(true)) }

// Vector returns the 64 components, bit 0 first: for each bit the weight of
// the features whose hash has it set, minus the weight of the others.
func (a *Accumulator64) Vector() [64]int64 { return a.sum.Vector() }

// Add adds the 128-bit hash hi·2⁶⁴+lo; see [Accumulator64.Add].
func (a *Accumulator128) Add(hi, lo uint64, weight int64) {
	a.hi.Add(hi, weight)
	a.lo.Add(lo, weight)
}

// AddAll adds every hash hi[i]·2⁶⁴+lo[i] with weight 1. Slices of different lengths panic.
func (a *Accumulator128) AddAll(hi, lo []uint64) {
	checkLengths(len(hi), len(lo))
	a.hi.AddAll(hi)
	a.lo.AddAll(lo)
}

// AddWeighted adds every hash hi[i]·2⁶⁴+lo[i] with weights[i]; see
// [Accumulator64.AddWeighted].
func (a *Accumulator128) AddWeighted(hi, lo []uint64, weights []int64) {
	checkLengths(len(hi), len(lo))
	checkLengths(len(hi), len(weights))
	a.hi.AddWeighted(hi, weights)
	a.lo.AddWeighted(lo, weights)
}

func checkLengths(a, b int) {
	if a != b {
		panic("neardup: Accumulator: slices of different lengths")
	}
}

// Merge adds all that b holds.
func (a *Accumulator128) Merge(b *Accumulator128) {
	a.hi.Merge(&b.hi)
	a.lo.Merge(&b.lo)
}

// Subtract takes out all that b holds.
func (a *Accumulator128) Subtract(b *Accumulator128) {
	a.hi.Subtract(&b.hi)
	a.lo.Subtract(&b.lo)
}

// Sum returns the fingerprint; see [Accumulator64.Sum].
func (a *Accumulator128) Sum() Fingerprint128 { return a.majority(false) }

// SumTiesOne is Sum, but also sets the bits whose component is zero; see Fingerprinter.TiesOne.
func (a *Accumulator128) SumTiesOne() Fingerprint128 { return a.majority(true) }

func (a *Accumulator128) majority(tiesOne bool) Fingerprint128 {
	return Fingerprint128{Hi: a.hi.Majority(tiesOne), Lo: a.lo.Majority(tiesOne)}
}

// Vector returns the 128 components, bit 0 first.
func (a *Accumulator128) Vector() [128]int64 {
	var v [128]int64
	lo, hi := a.lo.Vector(), a.hi.Vector()
	copy(v[:64], lo[:])
	copy(v[64:], hi[:])
	return v
}
