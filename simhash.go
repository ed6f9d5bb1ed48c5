package neardup

import (
	"iter"
	"math/bits"
)

// A Fingerprint64 is a 64-bit SimHash. Bit 0 is the least significant bit and
// belongs to bit 0 of the feature hashes.
//
// The fingerprint of a text without features (an empty text, or one of
// punctuation only) is 0 unless ties are set. A text with features has
// fingerprint 0 with a probability of about 2⁻⁶⁴, so 0 may be read as
// "nothing to compare": two such texts are at distance 0 but not alike.
type Fingerprint64 uint64

// A Fingerprint128 is a 128-bit SimHash: Hi holds bits 127 to 64, Lo bits 63
// to 0. The zero value means the same as that of [Fingerprint64].
//
// Lo is not the 64-bit fingerprint of the same text, because xxh3 defines its
// 64-bit and its 128-bit hash separately.
type Fingerprint128 struct{ Hi, Lo uint64 }

// Fingerprint is the constraint of everything that works on both widths.
type Fingerprint interface {
	Fingerprint64 | Fingerprint128
}

// Distance returns the Hamming distance, 0 to 64: the number of bits in which
// a and b differ.
func (a Fingerprint64) Distance(b Fingerprint64) int {
	return bits.OnesCount64(uint64(a ^ b))
}

// Distance returns the Hamming distance, 0 to 128: the number of bits in
// which a and b differ.
func (a Fingerprint128) Distance(b Fingerprint128) int {
	return bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
}

// Truncate returns the fingerprint of the lowest width bits, 0 to 64. Each bit
// of a SimHash depends on the same bit of the feature hashes only, so this is
// the fingerprint that hashes of width bits would have given. S000 uses 50
// bits. A width outside the range panics.
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

// split returns the two words of a fingerprint of either width.
func split[F Fingerprint](fp F) (lo, hi uint64) {
	switch fp := any(fp).(type) {
	case Fingerprint64:
		return uint64(fp), 0
	case Fingerprint128:
		return fp.Lo, fp.Hi
	}
	panic("unreachable")
}

// fromWords is the inverse of split; of 64 bits, hi does not matter.
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

// width returns the number of bits of F.
func width[F Fingerprint]() int {
	var fp F
	if _, ok := any(fp).(Fingerprint64); ok {
		return 64
	}
	return 128
}

// A Fingerprinter turns texts into SimHash fingerprints (Charikar 2002; S000
// to S004): it cuts a text into features, hashes each, lets each hash vote on
// every bit with the weight of its feature, and keeps the majority.
//
// The zero value is ready and is what [Sum64] and [Sum128] use. A
// Fingerprinter may be used by several goroutines at once if its functions
// may; it must not be changed meanwhile.
//
// Fingerprints compare only if all the fields were the same; see
// [Fingerprinter.Version].
type Fingerprinter struct {
	// Normalizer rewrites texts before they are cut; the zero value does not.
	Normalizer Normalizer

	// Tokenizer cuts texts into features; nil is Shingles{}, pairs of words.
	Tokenizer Tokenizer

	// Weight says how much each feature counts. nil is Count: every occurrence has the
	// weight 1, which is fastest.
	Weight Weight

	// Fields are the columns of records; see [Fingerprinter.SumRecord64]. Texts do not
	// need them.
	Fields []Field

	// Hash is the feature hash; the zero value is xxh3.
	Hash Hash

	// TiesOne sets the bits on which the weights of 1 and of 0 balance exactly. By default they are
	// 0, as in Wang 2019 and Li 2015; the programs of Wang 2016 and june 2013 set them. With unit
	// weights ties need an even number of features, and they are frequent in short texts.
	TiesOne bool

	// Custom names, in the version, what of the fields is the caller's own: a
	// tokenizer that is not of this package, a Weight, functions of Hash. Change
	// it whenever they return something else.
	Custom string
}

// Sum64 returns the 64-bit fingerprint of text with the default settings.
func Sum64(text string) Fingerprint64 { return new(Fingerprinter).Sum64(text) }

// Sum128 returns the 128-bit fingerprint of text with the default settings.
func Sum128(text string) Fingerprint128 { return new(Fingerprinter).Sum128(text) }

// Sum64 returns the 64-bit fingerprint of text. Any bytes are a valid text.
func (f *Fingerprinter) Sum64(text string) Fingerprint64 {
	r := f.reading(toSum64)
	r.text(text)
	return r.sum64()
}

// Sum128 returns the 128-bit fingerprint of text. Any bytes are a valid text.
func (f *Fingerprinter) Sum128(text string) Fingerprint128 {
	r := f.reading(toSum128)
	r.text(text)
	return r.sum128()
}

// Accumulate64 adds the features of text to a. Features do not reach from one
// text into the next: the title and the body of a document, or its paragraphs,
// can be added one after the other, and the result does not depend on their
// order. Each is weighed as a text of its own.
func (f *Fingerprinter) Accumulate64(a *Accumulator64, text string) {
	r := f.reading(toSum64)
	r.text(text)
	a.Merge(&r.lo)
	r.release()
}

// Accumulate128 is [Fingerprinter.Accumulate64] for 128 bits.
func (f *Fingerprinter) Accumulate128(a *Accumulator128, text string) {
	r := f.reading(toSum128)
	r.text(text)
	a.lo.Merge(&r.lo.sum)
	a.hi.Merge(&r.hi.sum)
	r.release()
}

// Features returns the distinct features of a text, in the order in which they first
// occur, with what each of them adds to the bits of the fingerprint that its hash has
// set and takes from the others: its weight as [Quantize] rounds it. Texts of features
// yielded may be kept.
func (f *Fingerprinter) Features(text string) iter.Seq2[Feature, float64] {
	return func(yield func(Feature, float64) bool) {
		r := f.reading(toShow)
		defer r.release()
		r.text(text)
		r.show(yield)
	}
}

func (r *reading) show(yield func(Feature, float64) bool) {
	for i := range r.features {
		if !yield(r.features[i], float64(r.bag.Weights[i])/(1<<weightBits)) {
			return
		}
	}
}

func (f *Fingerprinter) tokenizer() Tokenizer {
	if f.Tokenizer == nil {
		return Shingles{}
	}
	return f.Tokenizer
}
