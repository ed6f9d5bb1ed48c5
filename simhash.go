package neardup

import (
	"iter"
	"math/bits"

	"github.com/neardup/neardup/internal/bitsum"
	"github.com/neardup/neardup/internal/exact"
)

// This file has the two fingerprint types and the Fingerprinter, which turns texts into them. A SimHash is the
// majority of votes. Each feature has a hash, and its weight is the number of its votes: for 1 where its hash has a
// 1, for 0 where it has a 0. With hashes of four bits:
//
//	feature   weight   hash      votes
//	fish         2     1011      +2 −2 +2 +2
//	and          1     0110      −1 +1 +1 −1
//	chips        2     1100      +2 +2 −2 −2
//	                   sum       +3 +1 +1 −1
//	                   SimHash    1  1  1  0
//
// With n features of weight 1 a sum is about ±√n, and a change of m of them moves it by about √m: so if m is
// small beside n, most sums keep their sign. For two texts whose vectors
// of weights have the angle θ, a bit differs with the probability θ/π (Charikar 2002): of 64 bits, about 5 differ at
// the cosine 0.97 and 20 at 0.55. Unrelated texts differ in 32, give or take 4.
//
// The rest is elsewhere: extract.go reads a text and hashes its features, internal/bitsum adds their votes up, exactly
// and in any order, and encode.go writes fingerprints as text, bytes and SQL values.

// A Fingerprint64 is a 64-bit SimHash. Bit 0 is the least significant bit and belongs to bit 0 of
// the feature hashes.
//
// A text without features (an empty text, or one of punctuation only) has the fingerprint 0, or all
// ones if [Fingerprinter.TiesOne] is set. A text with features hardly ever has it: with an even
// number of them ties are frequent, so of texts of two features of the same weight one in 10⁸ has it, and
// of other texts one in 2⁶⁴. So read 0 as "nothing to compare": two such texts are at distance 0, but
// that does not make them alike.
type Fingerprint64 uint64

// A Fingerprint128 is a 128-bit SimHash. Hi holds bits 127 to 64, Lo bits 63 to 0. The zero value
// means the same as for [Fingerprint64].
//
// Lo is not the 64-bit fingerprint of the same text, because xxh3 defines its 64-bit and its
// 128-bit hash separately.
type Fingerprint128 struct{ Hi, Lo uint64 }

// Fingerprint is the constraint for types and functions that work with both widths.
type Fingerprint interface {
	Fingerprint64 | Fingerprint128
}

// Distance returns the Hamming distance, 0 to 64: the number of bits in which a and b differ.
func (a Fingerprint64) Distance(b Fingerprint64) int {
	return bits.OnesCount64(uint64(a ^ b))
}

// Distance returns the Hamming distance, 0 to 128: the number of bits in which a and b differ.
func (a Fingerprint128) Distance(b Fingerprint128) int {
	return bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
}

// Truncate keeps the lowest width bits, 0 to 64, and clears the others. Each bit of a SimHash
// depends only on the same bit of the feature hashes, so the result is the fingerprint that hashes
// of width bits would have given. Wang 2016 uses 50 bits. It panics if width is out of range.
func (a Fingerprint64) Truncate(width int) Fingerprint64 {
	if width < 0 || width > 64 {
		panic("neardup: width out of range")
	}
	return a & (1<<width - 1)
}

// Truncate is [Fingerprint64.Truncate] for widths of 0 to 128.
func (a Fingerprint128) Truncate(width int) Fingerprint128 {
	if width < 0 || width > 128 {
		panic("neardup: width out of range")
	}
	if width <= 64 {
		return Fingerprint128{Lo: a.Lo & (1<<width - 1)}
	}
	return Fingerprint128{Hi: a.Hi & (1<<(width-64) - 1), Lo: a.Lo}
}

// distance returns the Hamming distance of two fingerprints of either width.
func distance[F Fingerprint](a, b F) int {
	aLo, aHi := split(a)
	bLo, bHi := split(b)
	return bits.OnesCount64(aLo^bLo) + bits.OnesCount64(aHi^bHi)
}

// split returns the two words of a fingerprint of either width. hi is 0 for 64 bits.
func split[F Fingerprint](fp F) (lo, hi uint64) {
	switch fp := any(fp).(type) {
	case Fingerprint64:
		return uint64(fp), 0
	case Fingerprint128:
		return fp.Lo, fp.Hi
	}
	panic("unreachable")
}

// fromWords is the inverse of split. For 64 bits it ignores hi.
func fromWords[F Fingerprint](lo, hi uint64) F {
	var fp F
	switch fp := any(&fp).(type) {
	case *Fingerprint64:
		*fp = Fingerprint64(lo)
	case *Fingerprint128:
		*fp = Fingerprint128{hi, lo}
	}
	return fp
}

// width returns the number of bits of F, 64 or 128.
func width[F Fingerprint]() int {
	var fp F
	if _, ok := any(fp).(Fingerprint64); ok {
		return 64
	}
	return 128
}

// A Fingerprinter turns texts into SimHash fingerprints (Charikar 2002; Wang 2016, june 2013, Wang
// 2019, Li 2015, Zhang 2020). It cuts a text into features and hashes each of them. Each hash votes
// on every bit with the weight of its feature: for 1 where its own bit is set, else for 0. Each bit of
// the fingerprint follows the majority of its votes.
//
// The zero value is ready to use and is what [Sum64] uses. Several goroutines may use
// one Fingerprinter at once if they may call its Tokenizer, Weight and Hash at once. Its fields
// must not change meanwhile.
//
// Two fingerprints can be compared only if all fields were the same when they were made; see
// [Fingerprinter.Version]. Methods that return no error panic if a field is wrong, for example if
// an [IDF] has statistics of other features. Call Check once to get this as an error.
type Fingerprinter struct {
	// Normalizer rewrites texts before they are cut. The zero value leaves them as they are.
	Normalizer Normalizer

	// Tokenizer cuts texts into features. nil means Shingles{}, which yields pairs of words.
	Tokenizer Tokenizer

	// Weight says how much each feature counts. nil means [Count]: every occurrence has the weight
	// 1. This is the fastest.
	Weight Weight

	// Fields are the columns of records; see [Record]. Texts do not use them.
	Fields []Field

	// Hash is the feature hash. The zero value is xxh3.
	Hash Hash

	// TiesOne sets the bits on which the votes for 1 and for 0 balance exactly. By default they are
	// 0, as in Wang 2019 and Li 2015; the programs of Wang 2016 and june 2013 set them. With unit
	// weights a tie needs an even number of features. Ties are frequent in short texts.
	TiesOne bool

	// Custom is a name for your own code in the other fields: a Tokenizer that is not of this
	// package, a Weight without a Version method, the functions of Hash. It becomes part of the
	// version. Change it whenever that code returns something else. It is a word of at most 100
	// printable ASCII characters.
	Custom string
}

// Sum64 returns the 64-bit fingerprint of text with the default settings. Any bytes are a valid
// text.
func Sum64(text string) Fingerprint64 { return new(Fingerprinter).Sum64(Text(text)) }

// Sum64 returns the 64-bit fingerprint of a text or a record. It takes time linear in the document
// and, with the tokenizers of this package, allocates nothing per feature. One without features has
// the fingerprint 0 (see [Fingerprint64]).
func (f *Fingerprinter) Sum64(doc Document) Fingerprint64 {
	r := f.extractor(toSum64)
	r.document(doc)
	return r.sum64()
}

// Sum128 is [Fingerprinter.Sum64] for 128 bits.
func (f *Fingerprinter) Sum128(doc Document) Fingerprint128 {
	r := f.extractor(toSum128)
	r.document(doc)
	return r.sum128()
}

// Accumulate64 adds the features of a document to a. Use it to fingerprint a document in parts, such
// as its title, its body and its paragraphs. The result does not depend on the order of the parts. No
// feature spans two of them, and each part is weighted as a document of its own.
func (f *Fingerprinter) Accumulate64(a *Accumulator64, doc Document) {
	r := f.extractor(toSum64)
	r.document(doc)
	a.Merge(&r.lo)
	r.release()
}

// Accumulate128 is [Fingerprinter.Accumulate64] for 128 bits.
func (f *Fingerprinter) Accumulate128(a *Accumulator128, doc Document) {
	r := f.extractor(toSum128)
	r.document(doc)
	a.lo.Merge(&r.lo.sum)
	a.hi.Merge(&r.hi.sum)
	r.release()
}

// Features returns the distinct features of a document with their weights, in the order in which they
// first occur; those of a record are in the order of the Fields, and begin with the name of the field
// and = if it is Named. The weight is that of all occurrences together, rounded to a multiple of 2⁻²⁰.
// It is what the feature adds to each bit of the fingerprint that its hash has set, and takes from the
// others. The yielded features may be kept.
func (f *Fingerprinter) Features(doc Document) iter.Seq2[Feature, float64] {
	return func(yield func(Feature, float64) bool) {
		r := f.extractor(toShow)
		defer r.release()
		r.document(doc)
		r.show(yield)
	}
}

// show yields the features in the bag. Weights in the bag are quantised integers.
func (r *extractor) show(yield func(Feature, float64) bool) {
	for i := range r.features {
		if !yield(r.features[i], float64(r.bag.Weights[i])/(1<<exact.WeightBits)) {
			return
		}
	}
}

// Sum64Of returns the fingerprint of features of your own: each text votes with its weight, which is rounded to a multiple of
// 2⁻²⁰ and may be negative. Of f, only Hash and TiesOne count. If all weights are whole numbers, it
// is the fingerprint of a text that has each feature that many times. No features, or weights of 0 alone, give what an empty text gives.
func (f *Fingerprinter) Sum64Of(weights map[string]float64) Fingerprint64 {
	var a Accumulator64
	hash := f.Hash.sum64()
	for feature, weight := range weights {
		a.Add(hash(feature), exact.Quantize(weight))
	}
	return Fingerprint64(a.sum.Majority(f.TiesOne))
}

// Sum128Of is [Fingerprinter.Sum64Of] for 128 bits.
func (f *Fingerprinter) Sum128Of(weights map[string]float64) Fingerprint128 {
	var a Accumulator128
	hash := f.Hash.sum128()
	for feature, weight := range weights {
		hi, lo := hash(feature)
		a.Add(hi, lo, exact.Quantize(weight))
	}
	return a.majority(f.TiesOne)
}

// tokenizer returns the Tokenizer, or the default one.
func (f *Fingerprinter) tokenizer() Tokenizer {
	if f.Tokenizer == nil {
		return Shingles{}
	}
	return f.Tokenizer
}

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
