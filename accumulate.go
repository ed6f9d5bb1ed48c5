package neardup

import (
	"github.com/neardup/neardup/internal/bitsum"
)

// An accumulator is the state of a SimHash between the hashes and the fingerprint: one sum for each
// bit. The bit-sliced arithmetic is in internal/bitsum. The types here give it the widths of the
// fingerprints and the exported names.

// An Accumulator64 is a sum of weighted feature hashes, from which a 64-bit fingerprint is read.
// The zero value is the empty sum. It is a plain value: copy it to keep a state, add a weight w and
// later −w to take a feature out again, merge the partial sums of several workers. Results are
// exact and do not depend on the order of the calls. Equal sums are equal values (== works).
//
// The absolute values of all weights added must sum to less than 2⁶³; a larger sum wraps around
// without notice. An Accumulator64 is not safe for concurrent use.
type Accumulator64 struct{ sum bitsum.Sum }

// An Accumulator128 is an [Accumulator64] for 128 bits.
type Accumulator128 struct{ hi, lo bitsum.Sum }

// Add adds a feature hash with a weight, which may be negative. The same hash with the opposite
// weight undoes it. All weights of one accumulator have one scale. A [Fingerprinter] with a Weight
// adds multiples of 2⁻²⁰: to add a weight w to its sum, give int64(math.Round(w * (1 << 20))).
func (a *Accumulator64) Add(hash uint64, weight int64) { a.sum.Add(hash, weight) }

// AddAll adds every hash with weight 1. It is much faster than calling Add for each.
func (a *Accumulator64) AddAll(hashes []uint64) { a.sum.AddAll(hashes) }

// AddWeighted adds hashes[i] with weights[i] for every i. It is much faster than calling Add for
// each. It panics if the slices have different lengths.
func (a *Accumulator64) AddWeighted(hashes []uint64, weights []int64) {
	checkLengths(len(hashes), len(weights))
	a.sum.AddWeighted(hashes, weights)
}

// Merge adds the sum b to a. It is as if everything added to b had been added to a.
func (a *Accumulator64) Merge(b *Accumulator64) { a.sum.Merge(&b.sum) }

// Subtract takes the sum b out of a. It undoes [Accumulator64.Merge].
func (a *Accumulator64) Subtract(b *Accumulator64) { a.sum.Subtract(&b.sum) }

// Sum returns the fingerprint: bit i is 1 if component i of [Accumulator64.Vector] is positive, and
// 0 if it is negative or zero.
func (a *Accumulator64) Sum() Fingerprint64 { return Fingerprint64(a.sum.Majority(false)) }

// SumTiesOne is Sum, but a component of zero gives a 1; see [Fingerprinter.TiesOne]. The empty sum
// gives all ones.
func (a *Accumulator64) SumTiesOne() Fingerprint64 { return Fingerprint64(a.sum.Majority(true)) }

// Vector returns the 64 components, bit 0 first. Component i is the weight of the hashes that have
// bit i set, minus the weight of the others.
func (a *Accumulator64) Vector() [64]int64 { return a.sum.Vector() }

// Add adds the 128-bit hash hi·2⁶⁴+lo; see [Accumulator64.Add].
func (a *Accumulator128) Add(hi, lo uint64, weight int64) {
	a.hi.Add(hi, weight)
	a.lo.Add(lo, weight)
}

// AddAll adds every hash hi[i]·2⁶⁴+lo[i] with weight 1. It panics if the slices have different
// lengths.
func (a *Accumulator128) AddAll(hi, lo []uint64) {
	checkLengths(len(hi), len(lo))
	a.hi.AddAll(hi)
	a.lo.AddAll(lo)
}

// AddWeighted adds every hash hi[i]·2⁶⁴+lo[i] with weights[i]. It panics if the slices have
// different lengths.
func (a *Accumulator128) AddWeighted(hi, lo []uint64, weights []int64) {
	checkLengths(len(hi), len(lo))
	checkLengths(len(hi), len(weights))
	a.hi.AddWeighted(hi, weights)
	a.lo.AddWeighted(lo, weights)
}

// checkLengths panics if two slices that belong together have different lengths.
func checkLengths(a, b int) {
	if a != b {
		panic("neardup: Accumulator: slices of different lengths")
	}
}

// Merge adds the sum b to a; see [Accumulator64.Merge].
func (a *Accumulator128) Merge(b *Accumulator128) {
	a.hi.Merge(&b.hi)
	a.lo.Merge(&b.lo)
}

// Subtract takes the sum b out of a; see [Accumulator64.Subtract].
func (a *Accumulator128) Subtract(b *Accumulator128) {
	a.hi.Subtract(&b.hi)
	a.lo.Subtract(&b.lo)
}

// Sum returns the fingerprint; see [Accumulator64.Sum].
func (a *Accumulator128) Sum() Fingerprint128 { return a.majority(false) }

// SumTiesOne is Sum, but a component of zero gives a 1; see [Accumulator64.SumTiesOne].
func (a *Accumulator128) SumTiesOne() Fingerprint128 { return a.majority(true) }

func (a *Accumulator128) majority(tiesOne bool) Fingerprint128 {
	return Fingerprint128{Hi: a.hi.Majority(tiesOne), Lo: a.lo.Majority(tiesOne)}
}

// Vector returns the 128 components, bit 0 first; see [Accumulator64.Vector].
func (a *Accumulator128) Vector() [128]int64 {
	var v [128]int64
	lo, hi := a.lo.Vector(), a.hi.Vector()
	copy(v[:64], lo[:])
	copy(v[64:], hi[:])
	return v
}
