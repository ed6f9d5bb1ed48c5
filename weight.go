package neardup

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/exact"
)

// Which words tell what a text is about? Those that occur often in it (tf, the term frequency) and in few other texts (idf, the inverse document
// frequency). For the text "fish and chips, chips" in a corpus of that text, "fish and peas" and "fish", Product{Count, IDF} gives
//
//	feature   count n   texts with it df   ln(3/df)   weight n·ln(3/df)
//	fish         1             3             0             0
//	and          1             2             0.405         0.405
//	chips        2             1             1.099         2.197
//
// A Weight is a value, not a function, for two reasons: the version can spell it out, and the package can see what it
// depends on (needs). A weight is linear if it is the count times factors that depend on the token alone: then each
// occurrence is added as it is read, without collecting the features of the text. The machinery that uses this is in extract.go.

// A Weight says how much a feature of a document counts. Combine weights by [Product], for example
//
//	neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: s}}
//
// [Fingerprinter.Version] spells them out. How often a feature occurs counts only through a factor such as [Count] or
// [LogCount]: a weight without one counts each feature once. No Weight at all is Count.
//
// To write a weight of your own, implement Weigh. It must be pure and safe for concurrent use, and may return negative
// numbers; the result is rounded to a multiple of 2⁻²⁰.
//
// A type of your own may have three more methods. Version() string spells the weight out in [Fingerprinter.Version];
// without it, [Fingerprinter.Custom] must name the weight. TokenOnly() bool reports that the weight depends on the
// token alone, neither on its count nor on the rest of the document. Parts() []Weight returns the weights that it is
// made of: they are checked too, and their dependencies count as its own. Package papers has weights of single papers.
//
// The product of Count and of factors that depend on the token alone is a linear weight. Then the factors are rounded,
// and added as often as the token occurs. So sums are exact, and a text needs no map of its features. With other
// weights, the features of a text are counted first, and weighed when the text ends.
type Weight interface {
	// Weigh returns the weight of all occurrences of f together. f and its fields must not be changed, nor kept after
	// the call.
	Weigh(f *Feature) float64
}

// A Feature is a distinct feature of a document.
type Feature struct {
	Token         // its first occurrence
	Count float64 // how often it occurs

	// Title says that the feature occurs in the title: the text up to the end of the first line that has a letter, a
	// digit or an emoji. Marked says that it occurs in a sentence with a marker; it is set only if the weight has
	// [Markers] with Sentence.
	Title, Marked bool

	// The lengths, in characters, of the shortest and the longest feature of the document. They are for weights of your
	// own.
	Shortest, Longest int

	key uint64 // see featureKey; 0 if not known
}

// Length returns the number of characters of the feature, spaces between words included.
func (f *Feature) Length() int { return utf8.RuneCountInString(f.Text) }

// TermFrequency is a weight by how often a feature occurs.
type TermFrequency uint8

const (
	Count    TermFrequency = iota // n, the term frequency; the same as no Weight at all
	LogCount                      // 1 + ln n: a tenth occurrence adds little to nine
)

// Weigh implements [Weight].
func (o TermFrequency) Weigh(f *Feature) float64 {
	if o == LogCount {
		return exact.LogCount(f.Count)
	}
	return f.Count
}

// A Constant is the same weight for every feature. Constant(1) treats a text as a set: a feature counts once, however
// often it occurs.
type Constant float64

// Weigh implements [Weight].
func (c Constant) Weigh(*Feature) float64 { return float64(c) }

// IDF weighs a feature by its inverse document frequency: features that few documents of a corpus have count most. If
// df of the N documents have it, the weight is
//
//	ln(N / df)            by default: Wang 2019 eq. (3), Zhang 2020 (no smoothing)
//	ln((N+1) / (df+½))    if Smooth
//
// A feature that no document had has df 1, or 0 with Smooth. After [DocumentFrequenciesBuilder.Prune] it has the largest df that
// Prune removed. A feature that all documents have weighs next to nothing with Smooth, and nothing without it; then a
// text of such features alone has the fingerprint 0 (see [Fingerprint64]). Every feature has the weight 1 if the corpus is
// empty or Frequencies is nil.
//
// The statistics must have been made with the same normalizer, tokenizer, fields and secret as the Fingerprinter has.
// [Fingerprinter.Version] checks this in full and returns an error. The methods that fingerprint a text check only what
// is quick to compare, and panic.
type IDF struct {
	// Frequencies are the document frequencies. nil gives every feature the weight 1.
	Frequencies *DocumentFrequencies
	// Smooth keeps all weights above 0.
	Smooth bool
}

// Weigh implements [Weight].
func (w IDF) Weigh(f *Feature) float64 {
	if w.Frequencies == nil {
		return 1
	}
	// The key is known while a text is read, but not if the caller has made the Feature.
	key := f.key
	if key == 0 {
		key = featureKey(f.Text, w.Frequencies.of.key)
	}
	return w.table().exact[w.Frequencies.rank(key)]
}

// table returns the weights by the rank of the frequency.
func (w IDF) table() *idfTable {
	if w.Smooth {
		return &w.Frequencies.smooth
	}
	return &w.Frequencies.plain
}

// boost returns factor if on, and else 1. A factor of 0 means 5.
func boost(on bool, factor float64) float64 {
	switch {
	case !on:
		return 1
	case factor == 0:
		return 5
	}
	return factor
}

// A Product multiplies weights. An empty one is Constant(1). A nil Weight in it is an error in [Fingerprinter.Version], and
// causes a panic elsewhere.
type Product []Weight

// Weigh implements [Weight].
func (p Product) Weigh(f *Feature) float64 {
	x := 1.0
	for _, w := range p {
		x = float64(x * w.Weigh(f)) // the conversion forbids a fused multiply-add, which would round differently
	}
	return x
}

// needs is a set of what a weight asks for. The less that is, the faster a text is read.
type needs uint8

const (
	needsCount    needs = 1 << iota // how often the feature occurs
	needsToken                      // its text or part of speech: its key is not enough
	needsDocument                   // the title, or other features of the document
	needsMarked                     // the sentences with a marker
	needsName                       // a name from the caller, for the version
)

// The methods that a Weight may have besides.
type (
	versioned interface{ Version() string }
	composite interface{ Parts() []Weight }
)

// needsOf returns what w needs. Of a type of the caller's own it assumes everything, except what its methods rule out.
func needsOf(w Weight) needs {
	switch w := w.(type) {
	case nil, TermFrequency:
		return needsCount
	case Constant, IDF:
		return 0
	case Markers:
		if w.Sentence {
			return needsToken | needsDocument | needsMarked
		}
		return needsToken
	}
	n := needsCount | needsToken | needsDocument
	if w, ok := w.(composite); ok {
		n = 0
		for _, part := range w.Parts() {
			n |= needsOf(part)
		}
	}
	if _, ok := w.(versioned); !ok {
		n |= needsName
	}
	if w, ok := w.(interface{ TokenOnly() bool }); ok && w.TokenOnly() {
		n &^= needsCount | needsDocument
	}
	return n
}

// isLinear reports whether w is Count times factors that depend neither on the count nor on the rest of the document.
func isLinear(w Weight) bool {
	switch w := w.(type) {
	case nil:
		return true
	case TermFrequency:
		return w == Count
	case Product:
		n := 0
		for _, f := range w {
			if isLinear(f) {
				n++
			} else if needsOf(f)&(needsCount|needsDocument) != 0 {
				return false
			}
		}
		return n == 1
	}
	return false
}

// weights calls each for w and for all weights that it is made of, the outer ones first.
func weights(w Weight, each func(Weight)) {
	each(w)
	if w, ok := w.(composite); ok {
		for _, p := range w.Parts() {
			weights(p, each)
		}
	}
}

// checkWeight returns an error if w is wrong, or does not fit these features. With thorough it compares the features of
// statistics by their versions, which takes a digest of each dictionary and set of lines. Without it, it does only what
// is cheap enough for every text.
func checkWeight(w Weight, of *features, thorough bool) (err error) {
	var lexicon *Lexicon // that of Markers with Sentence, of which there can be one
	fail := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf("neardup: "+format, args...)
		}
	}
	weights(w, func(part Weight) {
		switch part := part.(type) {
		case nil:
			// nil alone means Count.
			if w != nil {
				fail("a combined Weight contains nil")
			}
		case TermFrequency:
			if part > LogCount {
				fail("TermFrequency(%d) is neither Count nor LogCount", part)
			}
		case IDF:
			if !part.fits(of, thorough) {
				fail("%w: the statistics of an IDF are for other features than those of the Fingerprinter", ErrVersion)
			}
		case Markers:
			switch words := of.stopped(part.Lexicon); {
			case part.Sentence && lexicon != nil && lexicon.id() != part.Lexicon.id():
				fail("a Weight with two lexicons for sentences")
			case part.Sentence:
				lexicon = part.Lexicon
			case len(words) > 0:
				fail("the markers %q are stop words of the Tokenizer too, so they would never be found: take them out of the stop words with Lexicon.Without", words)
			}
		}
	})
	return err
}

// fits reports whether the statistics of w were made of these features; see checkWeight.
func (w IDF) fits(of *features, thorough bool) bool {
	if w.Frequencies == nil {
		return true
	}
	return of.looksSame(&w.Frequencies.of) && (!thorough || of.isSame(&w.Frequencies.of))
}

// sentenceLexicon returns the lexicon of the Markers with Sentence in w, or nil.
func sentenceLexicon(w Weight) (l *Lexicon) {
	weights(w, func(w Weight) {
		if m, ok := w.(Markers); ok && m.Sentence {
			l = m.Lexicon
		}
	})
	return l
}

// Version implements the method of a [Weight] that spells it out.
func (o TermFrequency) Version() string { return [...]string{"count", "logcount"}[o&1] }

// Version spells the weight out.
func (c Constant) Version() string { return fmt.Sprintf("constant(%v)", float64(c)) }

// Version spells the weight out, with a digest of the statistics.
func (w IDF) Version() string {
	if w.Smooth {
		return fmt.Sprintf("idf-smooth(%016x)", w.Frequencies.id())
	}
	return fmt.Sprintf("idf(%016x)", w.Frequencies.id())
}

// Parts returns the weights of the product.
func (p Product) Parts() []Weight { return p }

// Version spells the weights out, with custom for one that has no Version.
func (p Product) Version() string {
	if len(p) == 0 {
		return "constant(1)"
	}
	parts := make([]string, len(p))
	for i, part := range p {
		parts[i] = weightVersion(part)
	}
	return "(" + strings.Join(parts, "*") + ")"
}

// weightVersion spells a weight out, or returns "custom" for one of the caller's own without a Version method. w must
// have passed checkWeight.
func weightVersion(w Weight) string {
	if w == nil {
		return "nil"
	}
	if w, ok := w.(versioned); ok {
		return w.Version()
	}
	return "custom"
}

// tableOf returns the statistics and the table of weights if w is Product{Count or LogCount, IDF}, in this order. This
// is the most common weight, and it has a fast path.
func tableOf(w Weight) (*DocumentFrequencies, *idfTable) {
	p, _ := w.(Product)
	if len(p) != 2 {
		return nil, nil
	}
	_, counted := p[0].(TermFrequency)
	if idf, ok := p[1].(IDF); ok && counted && idf.Frequencies != nil {
		return idf.Frequencies, idf.table()
	}
	return nil, nil
}
