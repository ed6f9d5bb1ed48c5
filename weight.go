package neardup

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
)

// A Weight says how much a feature of a document counts. The weights of this package
// are values that can be put together by [Product] and [Sum], for example
//
//	neardup.Product{neardup.LogCount, neardup.IDF{Statistics: s}}
//
// and [Fingerprinter.Version] spells them out. [Count], how often the feature occurs,
// is one of them, and one without it counts a feature once however often it occurs.
//
// Weights of one's own implement Weigh, which must be pure and safe for concurrent
// use; a [WeightFunc] does for those that depend on the token alone. What Weigh returns
// is rounded by [Quantize]. It may be negative.
//
// A weight of your own may have two more methods. Version() string spells it out in
// [Fingerprinter.Version]; without it [Fingerprinter.Custom] must name it. TokenOnly() bool reports
// that it depends on the token alone, neither on its count nor on the rest of the document.
//
// Count times factors that depend on the token alone is a linear weight: the factors are
// rounded and then added as often as the token occurs, so sums are exact, a common scale
// changes nothing, and a text needs no map of its features. For other weights the
// features of a text are counted first, and weighed at the end.
type Weight interface {
	Weigh(f *Feature) float64
}

// A Feature is a distinct feature of a document. What a Weight gets must not be kept.
type Feature struct {
	Token         // its first occurrence
	Count float64 // how often it occurs

	// Title: it occurs in the first line of the text that has a letter, a digit or an
	// emoji. Marked: it occurs in a sentence with a marker, if the weight asks for that
	// ([Markers]).
	Title, Marked bool

	// The lengths in characters of the shortest and the longest feature of the
	// document, for weights of your own.
	Shortest, Longest int

	key uint64 // see featureKey
}

// Length returns the number of characters of the feature.
func (f *Feature) Length() int { return utf8.RuneCountInString(f.Text) }

// Occurrences is a weight by how often a feature occurs.
type Occurrences uint8

const (
	Count    Occurrences = iota // n, the term frequency: as a Fingerprinter without a Weight
	LogCount                    // 1 + ln n: the tenth occurrence adds little to nine
)

// Weigh implements [Weight].
func (o Occurrences) Weigh(f *Feature) float64 {
	if o == LogCount {
		return logCount(f.Count)
	}
	return f.Count
}

func logCount(n float64) float64 {
	if n > 1 {
		return 1 + exact.Ln(n)
	}
	return n
}

// A Constant is the same weight for every feature. Constant(1) takes a text as a set: a feature
// counts once however often it occurs.
type Constant float64

// Weigh implements [Weight].
func (c Constant) Weigh(*Feature) float64 { return float64(c) }

// IDF weighs a feature by its inverse document frequency: what few documents of the
// corpus have counts much. With df(t) of the N documents having it,
//
//	ln(N / df)            by default: S002 eq. (3), S004 (no smoothing)
//	ln((N+1) / (df+½))    if Smooth
//
// A feature that no document had counts as if one had it, with Smooth as if none had; after
// [StatisticsBuilder.Prune], as the most frequent of those that were forgotten. Of an
// empty corpus, and if Statistics is nil, every feature has the weight 1. What all
// documents have weighs nothing without Smooth and next to nothing with it; a text of
// such features only has the fingerprint 0 (see [Fingerprint64]).
//
// The statistics must be of the features of the Fingerprinter: of the same normalizer,
// tokenizer and fields and, if it is seeded, of the same secret. With others it panics,
// as far as it can see that at once; [Fingerprinter.Version] sees all.
type IDF struct {
	Statistics *Statistics
	Smooth     bool
}

// Weigh implements [Weight].
func (w IDF) Weigh(f *Feature) float64 {
	if w.Statistics == nil {
		return 1
	}
	key := f.key
	if key == 0 {
		key = featureKey(f.Text, w.Statistics.of.key)
	}
	return w.table().exact[w.Statistics.rank(key)]
}

func (w IDF) table() *idfTable {
	if w.Smooth {
		return &w.Statistics.smooth
	}
	return &w.Statistics.plain
}

// PartOfSpeech weighs a feature by its part of speech (S004), for a [Segmenter]. The
// keys are beginnings of tags, of which the longest that fits counts; "" fits all.
// nil is 3 for nouns, verbal ones too, 2 for verbs and 1 for others; the
// constants of S004 are lost, and only their ratios matter.
type PartOfSpeech map[string]float64

// Weigh implements [Weight].
func (w PartOfSpeech) Weigh(f *Feature) float64 {
	if w == nil {
		switch {
		case strings.HasPrefix(f.POS, "n"), strings.HasPrefix(f.POS, "vn"):
			return 3
		case strings.HasPrefix(f.POS, "v"):
			return 2
		}
		return 1
	}
	for n := len(f.POS); n >= 0; n-- {
		if x, ok := w[f.POS[:n]]; ok {
			return x
		}
	}
	return 0
}

// boost returns the factor, by default 5, or 1.
func boost(on bool, factor float64) float64 {
	switch {
	case !on:
		return 1
	case factor == 0:
		return 5
	}
	return factor
}

// A WeightFunc is a weight that depends on the token alone. It needs a name in the
// version: [Fingerprinter.Custom].
type WeightFunc func(t Token) float64

// Weigh implements [Weight].
func (w WeightFunc) Weigh(f *Feature) float64 { return w(f.Token) }

// A Product multiplies weights.
type Product []Weight

// Weigh implements [Weight].
func (p Product) Weigh(f *Feature) float64 {
	x := 1.0
	for _, w := range p {
		x = float64(x * w.Weigh(f)) // without fusing roundings
	}
	return x
}

// A Sum adds weights.
type Sum []Weight

// Weigh implements [Weight].
func (s Sum) Weigh(f *Feature) float64 {
	x := 0.0
	for _, w := range s {
		x = float64(x + w.Weigh(f))
	}
	return x
}

// weightBits is the number of binary places of a quantised weight.
const weightBits = 20

// Quantize rounds a weight to a multiple of 2⁻²⁰, half away from zero, and
// returns the multiple, which is what accumulators add. In integers a sum does
// not depend on the order of its terms and a tie is a tie.
//
// NaN counts as 0. Weights beyond ±2³¹ are taken as ±2³¹. The weights of one
// document should sum to less than 2⁴³.
func Quantize(weight float64) int64 {
	const limit = 1 << 31
	switch {
	case weight != weight:
		return 0
	case weight > limit:
		weight = limit
	case weight < -limit:
		weight = -limit
	}
	return int64(math.Round(weight * (1 << weightBits)))
}

// needs is what a weight has to know.
type needs uint8

const (
	needsCount    needs = 1 << iota // how often the feature occurs
	needsToken                      // its text or part of speech: its hash is not enough
	needsDocument                   // other features of the document
	needsMarked                     // the sentences with a marker
	needsName                       // a name of the caller's
)

func needsOf(w Weight) needs {
	switch w := w.(type) {
	case nil, Occurrences:
		return needsCount
	case Constant, IDF:
		return 0
	case PartOfSpeech:
		return needsToken
	case Markers:
		if w.Sentence {
			return needsToken | needsDocument | needsMarked
		}
		return needsToken
	case WeightFunc:
		return needsToken | needsName
	case Product:
		return needsOfAll(w)
	case Sum:
		return needsOfAll(w)
	}
	n := needsCount | needsToken | needsDocument | needsName
	if _, ok := w.(interface{ Version() string }); ok {
		n &^= needsName
	}
	if w, ok := w.(interface{ TokenOnly() bool }); ok && w.TokenOnly() {
		n &^= needsCount | needsDocument
	}
	return n
}

func needsOfAll(ws []Weight) (n needs) {
	for _, w := range ws {
		n |= needsOf(w)
	}
	return n
}

// isLinear reports whether w is Count times what does not depend on the document.
func isLinear(w Weight) bool {
	switch w := w.(type) {
	case nil:
		return true
	case Occurrences:
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
	case Sum:
		return len(w) > 0 && !slices.ContainsFunc(w, func(s Weight) bool { return !isLinear(s) })
	}
	return false
}

// weights calls each for w and all that it is made of.
func weights(w Weight, each func(Weight)) {
	each(w)
	parts, _ := w.(Product)
	if s, ok := w.(Sum); ok {
		parts = Product(s)
	}
	for _, p := range parts {
		weights(p, each)
	}
}

// checkWeight returns an error if w cannot serve for these features, with those of
// statistics compared thoroughly or not.
func checkWeight(w Weight, of *features, thorough bool) (err error) {
	var lexicon *Lexicon
	fail := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf("neardup: "+format, args...)
		}
	}
	weights(w, func(part Weight) {
		switch part := part.(type) {
		case nil:
			if w != nil {
				fail("a Weight that is put together has a nil in it")
			}
		case Occurrences:
			if part > LogCount {
				fail("Occurrences(%d) is neither Count nor LogCount", part)
			}
		case IDF:
			if part.Statistics != nil && (!of.looksSame(&part.Statistics.of) || thorough && !of.isSame(&part.Statistics.of)) {
				fail("%w: the statistics of an IDF are of other features than the Fingerprinter has", ErrVersion)
			}
		case Markers:
			if part.Sentence {
				if lexicon != nil && lexicon.id() != part.Lexicon.id() {
					fail("a Weight with two lexicons for sentences")
				}
				lexicon = part.Lexicon
			}
		}
	})
	return err
}

// sentenceLexicon returns the lexicon by which sentences are marked, or nil.
func sentenceLexicon(w Weight) (l *Lexicon) {
	weights(w, func(w Weight) {
		if m, ok := w.(Markers); ok && m.Sentence {
			l = m.Lexicon
		}
	})
	return l
}

// weightVersion spells a weight out.
func weightVersion(w Weight) string {
	join := func(ws []Weight, by, none string) string {
		if len(ws) == 0 {
			return none
		}
		parts := make([]string, len(ws))
		for i, w := range ws {
			parts[i] = weightVersion(w)
		}
		return "(" + strings.Join(parts, by) + ")"
	}
	switch w := w.(type) {
	case nil:
		return "nil"
	case Occurrences:
		return [...]string{"count", "logcount"}[w&1]
	case Constant:
		return fmt.Sprintf("constant(%v)", float64(w))
	case IDF:
		name := "idf"
		if w.Smooth {
			name = "idf-smooth"
		}
		return fmt.Sprintf("%s(%016x)", name, w.Statistics.id())
	case PartOfSpeech:
		if w == nil {
			return "pos"
		}
		d := format.NewDigest()
		for _, tag := range slices.Sorted(maps.Keys(w)) {
			d.Text(tag)
			d.Uint64(math.Float64bits(w[tag]))
		}
		return fmt.Sprintf("pos(%016x)", d.Sum())
	case Markers:
		scope := "word"
		if w.Sentence {
			scope = "sentence"
		}
		return fmt.Sprintf("markers(%s,%016x,%v)", scope, w.Lexicon.id(), boost(true, w.Factor))
	case Product:
		return join(w, "*", "constant(1)")
	case Sum:
		return join(w, "+", "constant(0)")
	}
	if w, ok := w.(interface{ Version() string }); ok {
		return w.Version()
	}
	return "custom"
}

// tableOf returns the statistics and the table of weights if w is Count or LogCount
// times IDF.
func tableOf(w Weight) (*Statistics, *idfTable) {
	p, _ := w.(Product)
	if len(p) != 2 {
		return nil, nil
	}
	_, counted := p[0].(Occurrences)
	if idf, ok := p[1].(IDF); ok && counted && idf.Statistics != nil {
		return idf.Statistics, idf.table()
	}
	return nil, nil
}
