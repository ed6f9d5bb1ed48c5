package papers

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// TestTermLength checks the table of Wang 2019's length function, in all four scales.
func TestTermLength(t *testing.T) {
	for scale, want := range map[LengthScale]string{
		LengthPeak:    ".282331 .523764 .791318 .973654 .975655 .796207 .529168 .286417 .126253 .045324 .013251 .003155",
		LengthRange:   ".287070 .535330 .810450 .997942 1 .815478 .540887 .291272 .126579 .043361 .010381 0",
		LengthShare:   ".052807 .097964 .148007 .182111 .182485 .148921 .098975 .053571 .023614 .008477 .002478 .000590",
		LengthDensity: ".051035 .094677 .143040 .176000 .176362 .143924 .095654 .051773 .022822 .008193 .002395 .000570",
	} {
		for i, want := range strings.Fields(want) {
			w := TermLength{Scale: scale}
			term := strings.Repeat("词", i+1)
			got := strings.TrimPrefix(fmt.Sprintf("%.6f", w.Weigh(&neardup.Feature{Token: neardup.Token{Text: term}})), "0")
			if got != want && got != want+".000000" && !(want == "0" && got == ".000000") {
				t.Errorf("scale %d, length %d: %s, want %s", scale, i+1, got, want)
			}
		}
	}
	if got := fmt.Sprintf("%.6f", TermLength{Scale: LengthDensity}.At(4.51)); got != "0.180762" {
		t.Error("the density at the mean is", got)
	}
}

// TestFitTermLength checks that a known curve is found again, and that lengths without a curve are
// an error.
func TestFitTermLength(t *testing.T) {
	for _, want := range []TermLength{{Mean: 4.51, Sigma: 2.207}, {Mean: 2.3, Sigma: 0.9}, {Mean: 12.4, Sigma: 3}} {
		want.Scale = LengthDensity
		var terms []string
		for n := 1; n < 40; n++ {
			for range int(1e5*want.At(float64(n)) + .5) {
				terms = append(terms, strings.Repeat("词", n))
			}
		}
		got, r2, err := FitTermLength(terms)
		// Lengths below 1 are cut off, so the fractions are a little larger than the density.
		if err != nil || math.Abs(got.Mean-want.Mean) > .05 || math.Abs(got.Sigma-want.Sigma) > .08 || r2 < .998 || r2 > 1 {
			t.Errorf("%+v: %+v, R² %v, %v", want, got, r2, err)
		}
	}
	for _, terms := range [][]string{{"a", "bb", "ccc"}, nil, {"", ""}, {"a", "bb", "cc"}, {"a"}} {
		if fit, _, err := FitTermLength(terms); err == nil {
			t.Errorf("%q: %+v", terms, fit)
		}
	}
	for _, w := range []TermLength{{Scale: LengthRange, Longest: 1}, {Scale: LengthShare, Mean: 1000, Sigma: 1}, {Scale: LengthRange, Mean: 1000, Sigma: 1}} {
		if got := w.At(2); got != 0 {
			t.Errorf("%+v: %v", w, got)
		}
	}
}

// TestFitKeywords fits the curve of Wang 2019 to real keywords.
func TestFitKeywords(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	list, err := os.ReadFile(filepath.Join(dir, "lexicons", "keywords-zh-csl.tsv"))
	if err != nil {
		t.Skip(err)
	}
	var terms []string
	for line := range strings.Lines(string(list)) {
		term, n, _ := strings.Cut(strings.TrimSpace(line), "\t")
		count, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		for range count {
			terms = append(terms, term)
		}
	}
	fit, r2, err := FitTermLength(terms)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d keywords: mean %.3f, sigma %.3f, R² %.4f", len(terms), fit.Mean, fit.Sigma, r2)
	best := misfit(shares(terms), fit.Mean, fit.Sigma)
	for _, d := range []float64{-.01, .01} {
		if misfit(shares(terms), fit.Mean+d, fit.Sigma) < best || misfit(shares(terms), fit.Mean, fit.Sigma+d) < best {
			t.Error("another curve is closer")
		}
	}
}

// shares returns the fraction of terms with each length, from length 1 on.
func shares(terms []string) []float64 {
	var out []float64
	for _, term := range terms {
		n := utf8.RuneCountInString(term)
		for len(out) < n {
			out = append(out, 0)
		}
		out[n-1] += 1 / float64(len(terms))
	}
	return out
}

// TestPartOfSpeechDefaults: verbal nouns count as nouns, which is what Zhang 2020 says of them.
func TestPartOfSpeechDefaults(t *testing.T) {
	for pos, want := range map[string]float64{"n": 3, "nr": 3, "nz": 3, "vn": 3, "v": 2, "vd": 2, "vi": 2, "a": 1, "d": 1, "": 1} {
		if got := PartOfSpeech(nil).Weigh(&neardup.Feature{Token: neardup.Token{POS: pos}}); got != want {
			t.Errorf("%q weighs %v, want %v", pos, got, want)
		}
	}
}

// TestPartOfSpeech: the longest prefix of a tag decides, and each map has a version of its own.
func TestPartOfSpeech(t *testing.T) {
	w := PartOfSpeech{"n": 1, "nr": 4, "v": .8}
	for pos, want := range map[string]float64{"n": 1, "nz": 1, "nr": 4, "nrf": 4, "v": .8, "a": 0, "": 0} {
		if got := w.Weigh(&neardup.Feature{Token: neardup.Token{POS: pos}}); got != want {
			t.Errorf("%q weighs %v, want %v", pos, got, want)
		}
	}
	w[""] = 2
	if w.Weigh(&neardup.Feature{}) != 2 {
		t.Error("the empty prefix does not fit a word without a tag")
	}
	seen := map[string]bool{}
	for i, w := range []PartOfSpeech{nil, {}, {"n": 2}, {"n": 3}, {"v": 2}, {"n": 2, "v": 2}} {
		f := neardup.Fingerprinter{Weight: neardup.Product{neardup.Count, w}}
		v, err := f.Version()
		if err != nil || seen[v] {
			t.Errorf("%d: %s %v", i, v, err)
		}
		seen[v] = true
	}
}

// unnamed is a weight without a version.
type unnamed struct{}

func (unnamed) Weigh(*neardup.Feature) float64 { return 1 }

// TestSum: a sum says what it is made of, and its parts are checked as those of a product are.
func TestSum(t *testing.T) {
	var b neardup.DocumentFrequenciesBuilder
	b.Add(neardup.Text("one two three"))
	idf := neardup.IDF{Frequencies: b.Build()}
	f := neardup.Fingerprinter{Weight: neardup.Product{neardup.Count, Sum{neardup.Constant(1), TermLength{}, LongTerms{}, idf}}}
	version, err := f.Version()
	if want := "(constant(1)+length(4.51,2.207)+long(4,2)+idf("; err != nil || !strings.Contains(version, want) {
		t.Errorf("%s, %v: it has not %s", version, err, want)
	}
	f.Tokenizer = neardup.Words{}
	if err := f.Check(); !errors.Is(err, neardup.ErrVersion) {
		t.Errorf("statistics of other features in a sum: %v", err)
	}
	f = neardup.Fingerprinter{Weight: Sum{neardup.Count, unnamed{}}}
	if v, err := f.Version(); err == nil {
		t.Errorf("a weight without a name in a sum: %s", v)
	}
	if f.Custom = "name"; f.Sum64(neardup.Text("a b c")) == 0 {
		t.Error("nothing")
	}
	if v, err := f.Version(); err != nil || !strings.Contains(v, "(count+custom)") {
		t.Errorf("%s, %v", v, err)
	}
	if x := (Sum{}).Weigh(&neardup.Feature{}); x != 0 || (Sum{}).Version() != "constant(0)" {
		t.Errorf("an empty sum is %v", x)
	}
	// Markers for sentences work in a sum, too.
	marked := Sum{neardup.Constant(0), neardup.Markers{Lexicon: neardup.NewLexicon("in short"), Sentence: true}}
	g := neardup.Fingerprinter{Tokenizer: neardup.Words{}, Weight: marked}
	for feature, weight := range g.Features(neardup.Text("one two. In short three.")) {
		want := 1.0
		if feature.Text == "three" || feature.Text == "in" || feature.Text == "short" {
			want = 5
		}
		if weight != want {
			t.Errorf("%s weighs %v", feature.Text, weight)
		}
	}
}

func TestLongTerms(t *testing.T) {
	for text, want := range map[string]float64{"公积金": 1, "住房公积": 2, "abc": 1, "abcd": 2} {
		if got := (LongTerms{}).Weigh(&neardup.Feature{Token: neardup.Token{Text: text}}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := (LongTerms{Length: 2, Factor: 1.5}).Weigh(&neardup.Feature{Token: neardup.Token{Text: "住房"}}); got != 1.5 {
		t.Error(got)
	}
}
