package papers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/exact"
	"github.com/zeebo/xxh3"
)

// This file has the weights of Wang 2019 (S002) and Zhang 2020 (S004): by the length of a term, its part of speech and the title,
// and their sum. All have a Version, which changes if what they return does.

// TermLength weighs a feature by the length of its term in characters, with a normal curve (Wang
// 2019 eq. 4 and 5): Chinese terms of four or five characters say most. In the paper the factor is
// 1 plus this weight: Sum{neardup.Constant(1), TermLength{}}. The zero value is the curve of the paper.
// Sigma must be above 0. If the curve is 0 at all lengths, LengthShare gives 0; if it is the same
// at all lengths, LengthRange gives 0.
type TermLength struct {
	Mean, Sigma float64 // both 0 means 4.51 and 2.207, from 10,000 keywords of the CSSCI
	Scale       LengthScale

	// LengthRange and LengthShare consider the lengths from 1 to Longest. 0 means 12; more than
	// 1000 means 1000.
	Longest int
}

// A LengthScale says how the normal curve is scaled. The text of Wang 2019 leaves this open.
type LengthScale uint8

const (
	LengthPeak    LengthScale = iota // 1 at the mean: the usual reading
	LengthRange                      // 0 at the least likely length, 1 at the most likely one
	LengthShare                      // the weights of all lengths sum to 1
	LengthDensity                    // not scaled: the density itself
)

// Weigh implements [neardup.Weight].
func (w TermLength) Weigh(f *neardup.Feature) float64 { return w.At(float64(f.Length())) }

// At returns the weight of a length. Use it for lengths that you measure in another way.
func (w TermLength) At(length float64) float64 {
	w = w.usual()
	curve := func(x float64) float64 {
		d := (x - w.Mean) / w.Sigma
		return exact.Exp(-float64(d*d) / 2)
	}
	y := curve(length)
	switch w.Scale {
	case LengthDensity:
		return y / float64(w.Sigma*math.Sqrt(2*math.Pi))
	case LengthRange, LengthShare:
		least, most, sum := math.Inf(1), 0.0, 0.0
		for n := range w.Longest {
			c := curve(float64(n + 1))
			least, most, sum = min(least, c), max(most, c), sum+c
		}
		switch {
		case w.Scale == LengthShare && sum > 0:
			return y / sum
		case w.Scale == LengthRange && most > least:
			return min(max(0, (y-least)/(most-least)), 1)
		}
		return 0
	}
	return y
}

// usual returns w with defaults in place of zeros.
func (w TermLength) usual() TermLength {
	if w.Mean == 0 && w.Sigma == 0 {
		w.Mean, w.Sigma = 4.51, 2.207
	}
	if w.Longest <= 0 {
		w.Longest = 12
	}
	w.Longest = min(w.Longest, 1000)
	return w
}

// TokenOnly reports that the weight depends only on the token.
func (TermLength) TokenOnly() bool { return true }

// Version describes the weight for [neardup.Fingerprinter.Version].
func (w TermLength) Version() string {
	w = w.usual()
	s := fmt.Sprintf("length(%v,%v", w.Mean, w.Sigma)
	if w.Scale != LengthPeak {
		s += "," + [...]string{"peak", "range", "share", "density"}[w.Scale&3]
		if w.Scale != LengthDensity {
			s += fmt.Sprintf(",%d", w.Longest)
		}
	}
	return s + ")"
}

// FitTermLength fits the normal curve of Wang 2019 to the lengths of terms in characters. It
// chooses the density whose values at 1, 2, 3, … come closest to the fractions of terms with these
// lengths, by least squares. It returns the curve and R²: how much of the differences between the
// fractions the curve explains. Empty terms do not count. If there are fewer than three different
// lengths, or as many terms of each length, no curve is determined, and FitTermLength returns an
// error.
func FitTermLength(terms []string) (fit TermLength, r2 float64, err error) {
	var counts []float64
	total := 0.0
	for _, t := range terms {
		n := utf8.RuneCountInString(t)
		if n == 0 {
			continue
		}
		for len(counts) < n {
			counts = append(counts, 0)
		}
		counts[n-1]++
		total++
	}
	different := 0
	mean, variance := 0.0, 0.0
	for i, c := range counts {
		if c > 0 {
			different++
		}
		counts[i] = c / total
		mean += float64(counts[i] * float64(i+1))
	}
	if different < 3 {
		return TermLength{}, 0, fmt.Errorf("papers: the terms have %d different lengths; a curve needs at least three", different)
	}
	for i, c := range counts {
		d := float64(i+1) - mean
		variance += float64(c * float64(d*d))
	}
	all := 0.0
	for _, c := range counts {
		d := c - 1/float64(len(counts))
		all += float64(d * d)
	}
	if all < 1e-12 {
		return TermLength{}, 0, errors.New("papers: all lengths of terms are equally frequent, so they do not determine a curve")
	}
	m, s, err := fitNormal(counts, mean, math.Sqrt(variance))
	if err != nil {
		return TermLength{}, 0, err
	}
	fit = TermLength{Mean: m, Sigma: s}
	return fit, 1 - misfit(counts, m, s)/all, nil
}

// misfit returns the sum of the squared differences between the shares and the density.
func misfit(shares []float64, mean, sigma float64) float64 {
	w := TermLength{Mean: mean, Sigma: sigma, Scale: LengthDensity}
	sum := 0.0
	for i, y := range shares {
		d := y - w.At(float64(i+1))
		sum += float64(d * d)
	}
	return sum
}

// fitNormal fits the two parameters of a normal density by the method of Levenberg and Marquardt.
func fitNormal(shares []float64, mean, sigma float64) (float64, float64, error) {
	best, damping := misfit(shares, mean, sigma), 1e-3
	for range 500 {
		w := TermLength{Mean: mean, Sigma: sigma, Scale: LengthDensity}
		var aa, ab, bb, ra, rb float64 // JᵀJ and Jᵀr
		for i, y := range shares {
			x := float64(i + 1)
			p := w.At(x)
			z := (x - mean) / sigma
			da, db := float64(p*z)/sigma, float64(p*(float64(z*z)-1))/sigma
			aa, ab, bb = aa+float64(da*da), ab+float64(da*db), bb+float64(db*db)
			ra, rb = ra+float64(da*(y-p)), rb+float64(db*(y-p))
		}
		moved := false
		for damping < 1e12 {
			a, b := float64(aa*(1+damping)), float64(bb*(1+damping))
			det := float64(a*b) - float64(ab*ab)
			m := mean + (float64(ra*b)-float64(rb*ab))/det
			s := sigma + (float64(rb*a)-float64(ra*ab))/det
			if now := misfit(shares, m, s); s > 0 && now < best {
				moved = best-now > 1e-15*best
				mean, sigma, best, damping = m, s, now, damping/10
				break
			}
			damping *= 10
		}
		if !moved {
			break
		}
	}
	if !(sigma > 0) || mean != mean || math.IsInf(mean, 0) || math.IsInf(sigma, 0) {
		return 0, 0, errors.New("papers: no normal curve fits the lengths of the terms")
	}
	return mean, sigma, nil
}

// A Sum adds weights: Zhang 2020 adds factors where Wang 2019 adds 1 to one. An empty one is 0.
type Sum []neardup.Weight

// Weigh implements [neardup.Weight].
func (s Sum) Weigh(f *neardup.Feature) float64 {
	x := 0.0
	for _, w := range s {
		x = float64(x + w.Weigh(f))
	}
	return x
}

// Parts returns the weights of the sum.
func (s Sum) Parts() []neardup.Weight { return s }

// Version describes the weight for [neardup.Fingerprinter.Version], with custom for a part that has none.
func (s Sum) Version() string {
	if len(s) == 0 {
		return "constant(0)"
	}
	parts := make([]string, len(s))
	for i, w := range s {
		parts[i] = "custom"
		if w, ok := w.(interface{ Version() string }); ok {
			parts[i] = w.Version()
		}
	}
	return "(" + strings.Join(parts, "+") + ")"
}

// PartOfSpeech weighs a feature by its part of speech (Zhang 2020); use it with a [neardup.Segmenter]. The
// keys are prefixes of tags. The longest prefix that fits decides; "" fits all tags, and a tag that
// no key fits has the weight 0. A nil map gives 3 to nouns and verbal nouns (tags n…, vn…), 2 to
// other verbs (v…) and 1 to everything else. The constants of Zhang 2020 are lost; only their
// ratios matter.
type PartOfSpeech map[string]float64

// Weigh implements [neardup.Weight].
func (w PartOfSpeech) Weigh(f *neardup.Feature) float64 {
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

// TokenOnly reports that the weight depends only on the token.
func (PartOfSpeech) TokenOnly() bool { return true }

// Version describes the weight for [neardup.Fingerprinter.Version].
func (w PartOfSpeech) Version() string {
	if w == nil {
		return "pos"
	}
	var all []byte
	for _, tag := range slices.Sorted(maps.Keys(w)) {
		all = binary.BigEndian.AppendUint64(all, uint64(len(tag)))
		all = binary.BigEndian.AppendUint64(append(all, tag...), math.Float64bits(w[tag]))
	}
	return fmt.Sprintf("pos(%016x)", xxh3.Hash(all))
}

// RelativeLength weighs a feature by its length in characters, on a scale from 0 for the shortest
// feature of the document to 1 for the longest (Zhang 2020). If all are equally long, the weight is
// 0. In the paper the factor is 1 plus this weight: Sum{neardup.Constant(1), RelativeLength{}}.
type RelativeLength struct{}

// Weigh implements [neardup.Weight].
func (RelativeLength) Weigh(f *neardup.Feature) float64 {
	if f.Longest <= f.Shortest {
		return 0
	}
	return float64(f.Length()-f.Shortest) / float64(f.Longest-f.Shortest)
}

// Version describes the weight for [neardup.Fingerprinter.Version].
func (RelativeLength) Version() string { return "relativelength" }

// TitleWords gives the weight Factor to features that occur in the title, and 1 to all others
// (Zhang 2020). The title is the first line of the text that has a letter, a digit or an emoji.
type TitleWords struct {
	Factor float64 // 0 means 5
}

// Weigh implements [neardup.Weight].
func (w TitleWords) Weigh(f *neardup.Feature) float64 {
	if !f.Title {
		return 1
	}
	return w.factor()
}

func (w TitleWords) factor() float64 {
	if w.Factor == 0 {
		return 5
	}
	return w.Factor
}

// Version describes the weight for [neardup.Fingerprinter.Version].
func (w TitleWords) Version() string { return fmt.Sprintf("title(%v)", w.factor()) }

// LongTerms gives the weight Factor to features of at least Length characters, and 1 to all others. Zhang 2020 says, beside its formula
// for the length ([RelativeLength]), that terms of four and more characters should weigh more; this weight does only what
// that sentence says.
type LongTerms struct {
	Length int     // 0 means 4
	Factor float64 // 0 means 2; the paper has no number
}

// Weigh implements [neardup.Weight].
func (w LongTerms) Weigh(f *neardup.Feature) float64 {
	if w = w.usual(); f.Length() >= w.Length {
		return w.Factor
	}
	return 1
}

func (w LongTerms) usual() LongTerms { return LongTerms{cmp.Or(w.Length, 4), cmp.Or(w.Factor, 2)} }

// TokenOnly reports that the weight depends only on the token.
func (LongTerms) TokenOnly() bool { return true }

// Version describes the weight for [neardup.Fingerprinter.Version].
func (w LongTerms) Version() string {
	w = w.usual()
	return fmt.Sprintf("long(%d,%v)", w.Length, w.Factor)
}
