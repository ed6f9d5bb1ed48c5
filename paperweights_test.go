package neardup

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/internal/exact"
)

// The weights of the papers that the library does without, as a user would write them. The golden
// fingerprints have them. Package papers, which this package cannot import, has them in full.

// termLength is the normal curve of Wang 2019 (eq. 4 and 5).
type termLength struct{}

func (termLength) Weigh(f *Feature) float64 {
	d := (float64(f.Length()) - 4.51) / 2.207
	return exact.Exp(-float64(d*d) / 2)
}

func (termLength) TokenOnly() bool { return true }

func (termLength) Version() string { return "length(4.51,2.207)" }

// relativeLength is the length of Zhang 2020: from 0 for the shortest feature of the document to 1.
type relativeLength struct{}

func (relativeLength) Weigh(f *Feature) float64 {
	if f.Longest <= f.Shortest {
		return 0
	}
	return float64(f.Length()-f.Shortest) / float64(f.Longest-f.Shortest)
}

func (relativeLength) Version() string { return "relativelength" }

// partOfSpeech has the defaults of Zhang 2020: nouns 3, verbs 2, others 1.
type partOfSpeech struct{}

func (partOfSpeech) Weigh(f *Feature) float64 {
	switch {
	case strings.HasPrefix(f.POS, "n"), strings.HasPrefix(f.POS, "vn"):
		return 3
	case strings.HasPrefix(f.POS, "v"):
		return 2
	}
	return 1
}

func (partOfSpeech) TokenOnly() bool { return true }

func (partOfSpeech) Version() string { return "pos" }

// tokenWeight is a weight by the token alone, without a name.
type tokenWeight func(Token) float64

func (w tokenWeight) Weigh(f *Feature) float64 { return w(f.Token) }

func (tokenWeight) TokenOnly() bool { return true }

// weightSum adds weights, which must have versions.
type weightSum []Weight

func (s weightSum) Weigh(f *Feature) (x float64) {
	for _, w := range s {
		x = float64(x + w.Weigh(f))
	}
	return x
}

func (s weightSum) Parts() []Weight { return s }

func (s weightSum) Version() string { return strings.ReplaceAll(weightVersion(Product(s)), "*", "+") }

// titleWords weighs features of the title by Factor, 5 if that is 0 (Zhang 2020).
type titleWords struct{ Factor float64 }

func (w titleWords) Weigh(f *Feature) float64 { return boost(f.Title, w.Factor) }

func (w titleWords) Version() string { return fmt.Sprintf("title(%v)", boost(true, w.Factor)) }
