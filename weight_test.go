package neardup

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/june2013"
	"github.com/neardup/neardup/wordlist"
)

// TestWang2019Weights checks the example of the weights of Wang 2019: three documents, and tf times
// idf times 1 plus the length on the normal curve.
func TestWang2019Weights(t *testing.T) {
	docs := []string{"机器学习 数据 数据 算法", "数据 检索 算法 哈希", "哈希 检索 模型"}
	b := DocumentFrequenciesBuilder{Fingerprinter: *paper(tieZero)}
	for _, d := range docs {
		b.Add(Text(d))
	}
	s := b.Build()
	weight := Product{Count, IDF{Frequencies: s}, weightSum{Constant(1), termLength{}}}
	for _, test := range []struct {
		doc, term string
		want      string
	}{
		{docs[0], "机器学习", "0.542070032"}, {docs[0], "数据", "0.308916494"}, {docs[0], "算法", "0.154458247"},
		{docs[1], "数据", "0.154458247"}, {docs[1], "检索", "0.154458247"}, {docs[1], "算法", "0.154458247"}, {docs[1], "哈希", "0.154458247"},
		{docs[2], "哈希", "0.205944329"}, {docs[2], "检索", "0.205944329"}, {docs[2], "模型", "0.558008485"},
	} {
		words := strings.Fields(test.doc)
		n := 0.0
		for _, w := range words {
			if w == test.term {
				n++
			}
		}
		// tf is the share of the words; the library leaves the common factor out.
		w := weight.Weigh(&Feature{Token: Token{Text: test.term}, Count: n}) / float64(len(words))
		if got := fmt.Sprintf("%.9f", w); got != test.want {
			t.Errorf("%s in %s: %s, want %s", test.term, test.doc, got, test.want)
		}
	}
	if got := fmt.Sprintf("%.6f %.6f", s.idf(1, false), s.idf(2, false)); got != "1.098612 0.405465" {
		t.Error("idf", got)
	}
	for i, want := range [][3]Fingerprint64{
		{0x5af40f5370ced9f8, 0x2a20d331710c4338, 0x3e30f77b717dd7fc},
		{0x2e20d412a1197350, 0x2e20d412a1197350, 0x2ea3f772f9bbf776},
		{0x30431ad9d9ca4aaa, 0x26839452a99b7262, 0},
	} {
		weighted := *paper(tieZero)
		weighted.Weight = weight
		if got := weighted.Sum64(Text(docs[i])); got != want[0] {
			t.Errorf("document %d, weighted: %v, want %v", i, got, want[0])
		}
		if got := paper(tieZero).Sum64(Text(docs[i])); got != want[1] {
			t.Errorf("document %d: %v, want %v", i, got, want[1])
		}
		if got := paper(tieOne).Sum64(Text(docs[i])); want[2] != 0 && got != want[2] {
			t.Errorf("document %d, tie one: %v, want %v", i, got, want[2])
		}
	}
}

// TestZhang2020Weights is the table of weights of Zhang 2020: the product and its two other readings.
func TestZhang2020Weights(t *testing.T) {
	t.Parallel()
	markers := NewLexicon("综上所述", "总之", "但是")
	for _, test := range []struct {
		word           string
		tfidf          float64
		pos            string
		title          bool
		m1, m1bare, m2 float64
	}{
		{"住房", .10, "n", true, 1.5, 0, 0.9},
		{"公积金", .20, "n", true, 4.5, 1.5, 1.9},
		{"调整", .05, "v", false, 0.1, 0, 0.2},
		{"综上所述", .02, "l", false, 0.2, 0.1, 0.16},
		{"快速", .04, "ad", false, 0.04, 0, 0.12},
	} {
		f := &Feature{Token: Token{Text: test.word, POS: test.pos}, Count: 1, Title: test.title, Shortest: 2, Longest: 4}
		tfidf, nl := Constant(test.tfidf), relativeLength{}
		b, title := Markers{Lexicon: markers}, titleWords{}
		for _, w := range []struct {
			name string
			of   Weight
			want float64
		}{
			{"M1", Product{tfidf, partOfSpeech{}, weightSum{Constant(1), nl}, b, title}, test.m1},
			{"M1'", Product{tfidf, partOfSpeech{}, nl, b, title}, test.m1bare},
			{"M2", Product{tfidf, weightSum{partOfSpeech{}, nl, b, title}}, test.m2},
		} {
			if got := w.of.Weigh(f); math.Abs(got-w.want) > 1e-12 {
				t.Errorf("%s of %s: %v, want %v", w.name, test.word, got, w.want)
			}
		}
	}
}

// TestElementary compares ln and exp with exact values.
func TestElementary(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{1, 2, 3, 10, 0.5, 1e-300, 1e300, math.Sqrt2, 0.7071, 1.0000001, 12345678, math.MaxFloat64} {
		if got, want := exact.Ln(x), math.Log(x); math.Abs(got-want) > 2e-15*math.Abs(want)+2e-16 {
			t.Errorf("ln(%v) = %v, want %v", x, got, want)
		}
	}
	for x := -700.0; x < 700; x += 0.37 {
		if got, want := exact.Exp(x), math.Exp(x); math.Abs(got-want) > 1e-15*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exact.Exp(-1e9) != 0 || !math.IsNaN(exact.Exp(math.NaN())) || exact.Ln(1) != 0 || exact.Exp(0) != 1 {
		t.Error("edges")
	}
	// The last bits, which must be the same on every platform.
	sum := uint64(0)
	for i := range 10_000 {
		x := float64(i+1) / 7
		sum = sum*31 + math.Float64bits(exact.Ln(x))
		sum = sum*31 + math.Float64bits(exact.Exp(-x))
	}
	if sum != 0xd50ab7227944f1a1 {
		t.Errorf("the logarithms and exponentials sum up to %#x", sum)
	}
}

// weighings are weights of every kind for the features of f.
func weighings(f Fingerprinter, docs []string) map[string]Weight {
	b := DocumentFrequenciesBuilder{Fingerprinter: f}
	for _, d := range docs {
		b.Add(Text(d))
	}
	s := b.Build()
	markers := NewLexicon("because", "therefore", "in other words", "但是", "因此")
	return map[string]Weight{
		"count":     Count,
		"binary":    Constant(1),
		"log":       LogCount,
		"tfidf":     Product{Count, IDF{Frequencies: s}},
		"tfidf+":    Product{Count, IDF{Frequencies: s, Smooth: true}},
		"idf-tf":    Product{IDF{Frequencies: s}, Count},
		"log-tfidf": Product{LogCount, IDF{Frequencies: s, Smooth: true}},
		"idf":       IDF{Frequencies: s, Smooth: true},
		"s002":      Product{Count, IDF{Frequencies: s}, weightSum{Constant(1), termLength{}}},
		"s004":      Product{Count, IDF{Frequencies: s}, partOfSpeech{}, weightSum{Constant(1), relativeLength{}}, Markers{Lexicon: markers}, titleWords{}},
		"sentences": Product{Count, Markers{Lexicon: markers, Sentence: true, Factor: 3}},
		"m3":        weightSum{Product{Constant(.8), Count, IDF{Frequencies: s}}, Product{Constant(.2), partOfSpeech{}}},
		"linear":    weightSum{Product{Constant(.8), Count, IDF{Frequencies: s}}, Product{Constant(.2), Count, termLength{}}},
		"negative":  Product{Count, Constant(-1.5)},
		"func":      perToken(func(t Token) float64 { return float64(len(t.Text)%7) - 2.5 }),
		"nothing":   Constant(0),
		"own":       evenFeatures{},
	}
}

// evenFeatures is a weight that asks for everything there is.
type evenFeatures struct{}

func (evenFeatures) Weigh(f *Feature) float64 {
	w := f.Count + float64(f.Shortest)/8 + float64(f.Longest)/16
	if f.Title {
		w *= 2
	}
	if len(f.Text)%2 == 0 {
		w = -w
	}
	return w
}

// naiveWeights returns the weight of each distinct feature from the definition.
func naiveWeights(f *Fingerprinter, text string) (features []Feature, weights []int64) {
	text = f.Normalizer.Normalize(text)
	titleEnd := len(text)
	for i, c := range []byte(text) {
		if c == '\n' || c == '\r' {
			n := 0
			for range (Words{}).Tokens(text[:i]) {
				n++
			}
			if n > 0 {
				titleEnd = i
				break
			}
		}
	}
	var marked []span
	if l := sentenceLexicon(f.Weight); l != nil {
		marked = l.markedSentences(text)
	}
	at := map[string]int{}
	shortest, longest := math.MaxInt, 0
	for t := range f.tokenizer().Tokens(text) {
		i, ok := at[t.Text]
		if !ok {
			i = len(features)
			at[t.Text] = i
			features, weights = append(features, Feature{Token: t}), append(weights, 0)
		}
		features[i].Count++
		features[i].Title = features[i].Title || t.Start < titleEnd
		features[i].Marked = features[i].Marked || slices.ContainsFunc(marked, func(s span) bool { return s.start <= t.Start && t.Start < s.end })
		shortest, longest = min(shortest, features[i].Length()), max(longest, features[i].Length())
		weights[i] += exact.Quantize(f.Weight.Weigh(&Feature{Token: t, Count: 1}))
	}
	for i := range features {
		if features[i].Shortest, features[i].Longest = shortest, longest; !isLinear(f.Weight) {
			g := features[i]
			weights[i] = exact.Quantize(f.Weight.Weigh(&g))
		}
	}
	return features, weights
}

// checkWeighing compares fingerprints, features and streams with the definition.
func checkWeighing(t *testing.T, name string, f *Fingerprinter, text string) {
	t.Helper()
	features, weights := naiveWeights(f, text)
	var a Accumulator64
	var b Accumulator128
	for i := range features {
		a.Add(f.Hash.sum64()(features[i].Text), weights[i])
		hi, lo := f.Hash.sum128()(features[i].Text)
		b.Add(hi, lo, weights[i])
	}
	if got, want := f.Sum64(Text(text)), sum(&a, f.TiesOne); got != want {
		t.Fatalf("%s: %v, want %v: %.200q", name, got, want, text)
	}
	if got, want := f.Sum128(Text(text)), sum(&b, f.TiesOne); got != want {
		t.Fatalf("%s: %v, want %v: %.200q", name, got, want, text)
	}
	n := 0
	for got, w := range f.Features(Text(text)) {
		want := features[n]
		if got.Text != want.Text || got.Count != want.Count || w != float64(weights[n])/(1<<20) || got.Start != want.Start || got.POS != want.POS {
			t.Fatalf("%s: feature %+v of weight %v, want %+v of %v", name, got, w, want, float64(weights[n])/(1<<20))
		}
		n++
	}
	if n != len(features) {
		t.Fatalf("%s: %d features, want %d", name, n, len(features))
	}
}

// TestWeighings compares all weights with the definition, by every way through the code.
func TestWeighings(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, d := range append(corpus(t, "en")[:shorter(6, 1)], corpus(t, "zh")[:shorter(6, 1)]...) {
		docs = append(docs, d.Text[:min(len(d.Text), 6000)])
	}
	seeded, err := SeededHash([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]Fingerprinter{
		"words":   {Tokenizer: Words{}},
		"default": {TiesOne: true},
		"chars3":  {Tokenizer: NGrams{3}},
		"opaque":  {Tokenizer: opaque{Words{}}},
		"filter":  {Tokenizer: Shingles{Of: Words{StopWords: NewLexicon(append(wordlist.EnglishStopWords(), wordlist.ChineseStopWords()...)...).Without(NewLexicon("because", "therefore", "但是", "因此"))}}},
		"seeded":  {Hash: seeded},
		"own":     {Tokenizer: Words{}, Hash: Hash{Sum64: june2013.Hash64, Sum128: june2013.Hash128}},
		"html":    {Normalizer: Normalizer{HTML: true, Numbers: TreatmentMask}, Tokenizer: Words{}},
	}
	if *full {
		settings["gse"] = Fingerprinter{Tokenizer: loadSegmenter(t)}
	}
	texts := append([]string{"", " \n", "one", "one two one", "\u3000\ufeff\n\n Title words\nbody words. In other words: body! therefore\tnot", "但是，住房 公积金。\n综上 因此；住房"}, docs...)
	for name, f := range settings {
		for weight, w := range weighings(f, docs) {
			f.Weight = w
			for _, text := range texts {
				checkWeighing(t, name+" "+weight, &f, text)
			}
		}
	}
}

// FuzzWeights compares all weights with the definition.
func FuzzWeights(f *testing.F) {
	f.Add("Title\nThe fish, because of the chips. In other words: fish", byte(3))
	f.Add("\n标题\n但是住房公积金。因此！", byte(20))
	fp := []Fingerprinter{{Tokenizer: Words{}}, {}, {Tokenizer: NGrams{2}}, {Tokenizer: Words{StopWords: NewLexicon("的", "fish")}}}
	var all []map[string]Weight
	for _, fp := range fp {
		all = append(all, weighings(fp, []string{"The fish and the chips", "住房公积金", "fish"}))
	}
	f.Fuzz(func(t *testing.T, text string, which byte) {
		for name, w := range all[int(which)%len(fp)] {
			fp := fp[int(which)%len(fp)]
			fp.Weight = w
			checkWeighing(t, name, &fp, text)
			if name != "sentences" {
				s, err := NewStream[Fingerprint64](&fp)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(text); i += 1 + int(which)/4 {
					s.WriteString(text[i:min(i+1+int(which)/4, len(text))])
				}
				if got, want := s.Sum(), fp.Sum64(Text(text)); got != want {
					t.Fatalf("%s: a stream gives %v, the text %v", name, got, want)
				}
			}
		}
	})
}

// TestScale: a common factor of the weights of terms does not change a fingerprint, ties
// included, if it is a power of two or multiplies the counts.
func TestScale(t *testing.T) {
	for i := range 2000 {
		text := fmt.Sprintf("w%d x%d y%d z%d", i%7, i%11, i%13, i%17)
		f := Fingerprinter{Tokenizer: Words{}}
		want := f.Sum64(Text(text))
		for _, w := range []Weight{Product{Count, Constant(0.1)}, Product{Count, Constant(1. / 3)}, Product{Count, Constant(math.Pi)}, Product{Count, IDF{}}} {
			f.Weight = w
			if got := f.Sum64(Text(text)); got != want {
				t.Fatalf("%q: %v with %s, want %v", text, got, weightVersion(w), want)
			}
			if got := f.Sum64(Text(strings.Repeat(text+" ", 3))); got != want {
				t.Fatalf("%q three times: %v with %s, want %v", text, got, weightVersion(w), want)
			}
		}
	}
}

// TestMarkersStopped: stop words must not remove the markers that a weight looks for.
func TestMarkersStopped(t *testing.T) {
	stop, markers := NewLexicon("The", "therefore", "因此"), NewLexicon("Therefore", "因此", "finally")
	weight := Product{Count, Markers{Lexicon: markers}}
	for name, f := range map[string]Fingerprinter{
		"filter":   {Tokenizer: Words{StopWords: stop}},
		"shingles": {Tokenizer: Shingles{Of: Words{StopWords: stop}}},
		"field":    {Fields: []Field{{Name: "title", Split: Words{StopWords: stop}}}},
	} {
		f.Weight = weight
		_, err := f.Version()
		if err == nil || !strings.Contains(err.Error(), `["therefore" "因此"]`) || !strings.Contains(err.Error(), "Lexicon.Without") {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Check(); err == nil {
			t.Errorf("%s: Check takes it", name)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a text is weighed", name)
				}
			}()
			if f.Fields != nil {
				f.Vector(Record{"title": "therefore"})
			} else {
				f.Sum64(Text("therefore"))
			}
		}()
	}
	for name, f := range map[string]Fingerprinter{
		"without":  {Tokenizer: Words{StopWords: stop.Without(markers)}, Weight: weight},
		"sentence": {Tokenizer: Words{StopWords: stop}, Weight: Markers{Lexicon: markers, Sentence: true}}, // found in the text, not among the features
	} {
		for range 2 {
			if _, err := f.Version(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			f.Sum64(Text("therefore"))
		}
	}
	var none *Lexicon
	if none.Without(stop).Len() != 0 {
		t.Error("a nil Lexicon has words")
	}
}

// TestWeightVersions: each weight has a version of its own, and what has no name is
// refused.
func TestWeightVersions(t *testing.T) {
	f := Fingerprinter{Tokenizer: Words{}}
	seen := map[string]string{}
	all := weighings(f, []string{"a b c"})
	for i, w := range []Weight{nil, partOfSpeech{}, termLength{},
		Markers{}, Markers{Lexicon: NewLexicon("a")}, Markers{Lexicon: NewLexicon("a"), Factor: 2}, Markers{Lexicon: NewLexicon("a"), Sentence: true}, titleWords{Factor: 2}, Product{Count, Constant(2)}, weightSum{Count, Constant(2)},
		IDF{}, IDF{Smooth: true}} {
		all[fmt.Sprint("more ", i)] = w
	}
	for name, w := range all {
		f.Weight = w
		v, err := f.Version()
		if custom := name == "func" || name == "own"; custom != (err != nil) {
			t.Errorf("%s: %s, %v", name, v, err)
		}
		if other := seen[v]; err == nil && other != "" && name != "count" && other != "count" {
			t.Errorf("%s and %s have version %s", name, other, v)
		}
		seen[v] = name
	}
	for _, w := range []Weight{Product{nil}, Product{Count, Product{nil}}, TermFrequency(2)} {
		f.Weight = w
		if v, err := f.Version(); err == nil {
			t.Errorf("%#v has version %s", w, v)
		}
		func() {
			defer func() {
				if message, ok := recover().(string); !ok || !strings.HasPrefix(message, "neardup: ") {
					t.Errorf("%#v: %v", w, message)
				}
			}()
			f.Sum64(Text("a b"))
		}()
	}
	f.Weight = nil
	plain, _ := f.Version()
	f.Weight = Count
	if v, _ := f.Version(); v != plain {
		t.Errorf("Count has %s, no weight %s", v, plain)
	}
	other := Fingerprinter{Weight: all["tfidf"]} // of other features
	if _, err := other.Version(); err == nil {
		t.Error("statistics of other features have a version")
	}
	named := Fingerprinter{Tokenizer: Words{}, Weight: all["tfidf"], Custom: "name"}
	if v, err := named.Version(); err != nil || !strings.HasSuffix(v, " custom=name") {
		t.Error(v, err)
	}
	b := DocumentFrequenciesBuilder{Fingerprinter: other} // its weight does not matter
	b.Add(Text("a b c"))
	if b.Terms() != 2 {
		t.Error(b.Terms())
	}
	defer func() {
		if recover() == nil {
			t.Error("statistics of other features were used")
		}
	}()
	other.Sum64(Text("a b c"))
}

// TestTextsStay: what a function of the caller's own is given may be kept.
func TestTextsStay(t *testing.T) {
	var kept []string
	keep := func(t Token) float64 { kept = append(kept, t.Text); return 1 }
	hash := Hash{Sum64: func(s string) uint64 { kept = append(kept, s); return 1 }}
	fields := []Field{{Name: "a", Named: true, Split: Words{}}, {Name: "b", Split: NGrams{2}}}
	for _, f := range []Fingerprinter{{Tokenizer: Words{}, Weight: perToken(keep)}, {Tokenizer: Words{}, Hash: hash}, {Fields: fields, Weight: perToken(keep)}, {Fields: fields, Hash: hash}} {
		kept = nil
		f.Sum64(Text("first text of some words"))
		if f.Fields != nil {
			f.Sum64(Record{"a": "first text", "b": "words"})
		}
		want := strings.Join(kept, "|")
		before := strings.Clone(want)
		n := len(kept)
		for range 100 {
			f.Sum64(Text("another one with more words and longer ones than these"))
			if f.Fields != nil {
				f.Sum64(Record{"a": "yet another text", "b": "which is longer"})
			}
		}
		if got := strings.Join(kept[:n], "|"); got != before {
			t.Errorf("%q became %q", before, got)
		}
	}
}

// TestNoInformation: without a corpus all features weigh the same.
func TestNoInformation(t *testing.T) {
	text := corpus(t, "en")[0].Text
	f := Fingerprinter{}
	want := f.Sum64(Text(text))
	for _, s := range []*DocumentFrequencies{nil, new(DocumentFrequenciesBuilder).Build()} {
		for _, smooth := range []bool{false, true} {
			f.Weight = Product{Count, IDF{s, smooth}}
			if got := f.Sum64(Text(text)); got != want {
				t.Errorf("smooth=%v: %v, want %v", smooth, got, want)
			}
		}
	}
	// Of one document, the papers' idf of all it has is 0, and the fingerprint too.
	var b DocumentFrequenciesBuilder
	b.Add(Text(text))
	s := b.Build()
	f.Weight = Product{Count, IDF{Frequencies: s}}
	if got := f.Sum64(Text(text)); got != 0 {
		t.Errorf("%v of a text of which nothing counts", got)
	}
	f.Weight = Product{Count, IDF{Frequencies: s, Smooth: true}}
	if got := f.Sum64(Text(text)); got != want {
		t.Errorf("smooth: %v, want %v", got, want)
	}
}

// TestLexicon: words and phrases are found as they are compared.
func TestLexicon(t *testing.T) {
	l := NewLexicon("综上所述", "In Other  words", "But", "", " ", "。")
	for text, want := range map[string]bool{
		"综上所述": true, "我们综上所述认为": true, "综上，所述": true, "综上述": false, "in other words": true, "so, IN OTHER WORDS: yes": true,
		"in other wordsmith": false, "button": false, "but": true, "": false, "。": false, "Ｂｕｔ": true,
	} {
		if got := l.contained(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if long := strings.Repeat("x ", 50_000) + "in other words" + strings.Repeat(" y", 50_000); !l.contained(long) || l.contained(strings.ReplaceAll(long, "other", "")) {
		t.Error("in a long text")
	}
	if !l.Has("BUT") || l.Has("in") || l.Len() != 4 || (*Lexicon)(nil).Len() != 0 || (*Lexicon)(nil).Has("x") {
		t.Error("Has or Len", l.Len())
	}
	stop := NewLexicon(wordlist.ChineseStopWords()...)
	kept := stop.Without(NewLexicon(wordlist.ChineseMarkers()...))
	if !stop.Has("但是") || kept.Has("但是") || !kept.Has("的") || kept.Len() >= stop.Len() {
		t.Errorf("%d stop words, %d without markers", stop.Len(), kept.Len())
	}
	for name, words := range map[string][]string{"zh": wordlist.ChineseStopWords(), "en": wordlist.EnglishStopWords(), "markers zh": wordlist.ChineseMarkers(), "markers en": wordlist.EnglishMarkers()} {
		if l := NewLexicon(words...); l.Len() < 40 || l.Len() != len(words) {
			t.Errorf("%s: %d different of %d words", name, l.Len(), len(words))
		}
	}
}

// TestStopWords: shingles join what stop words leave.
func TestStopWords(t *testing.T) {
	f := Shingles{Of: Words{StopWords: NewLexicon("the", "of")}}
	var got []string
	for tok := range f.Tokens("The cat of the house, and The dog") {
		got = append(got, tok.Text)
	}
	if want := []string{"cat house", "house and", "and dog"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for range (Words{StopWords: NewLexicon("a")}).Tokens("a b c") {
		break
	}
	if same, _ := (&Fingerprinter{Tokenizer: Words{StopWords: NewLexicon()}}).Version(); strings.Contains(same, "without") {
		t.Error("an empty list of stop words has a version of its own:", same)
	}
}

// TestMarkedSentences checks where sentences end.
func TestMarkedSentences(t *testing.T) {
	l := NewLexicon("but", "但是")
	text := "One. But two, 3.14! Three; four\nbut five？六。但是七；八"
	var got []string
	for _, s := range l.markedSentences(text) {
		got = append(got, strings.TrimSpace(text[s.start:s.end]))
	}
	if want := []string{"But two, 3.14!", "but five？", "但是七；"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f := Fingerprinter{Weight: Product{Markers{Lexicon: l, Sentence: true}, Markers{Lexicon: NewLexicon("x"), Sentence: true}}}
	if _, err := f.Version(); err == nil {
		t.Error("two lexicons for sentences have a version")
	}
	if _, err := NewStream[Fingerprint64](&Fingerprinter{Weight: Markers{Lexicon: l, Sentence: true}}); err == nil {
		t.Error("sentences are weighed in a stream")
	}
}

// TestAccumulatorWeighted compares AddWeighted with one Add after the other, at all sizes.
func TestAccumulatorWeighted(t *testing.T) {
	x := uint64(1)
	next := func() uint64 { x = x*6364136223846793005 + 1442695040888963407; return x ^ x>>29 }
	for n := range 100 {
		h, g, w := make([]uint64, n), make([]uint64, n), make([]int64, n)
		var want Accumulator128
		for i := range h {
			h[i], g[i], w[i] = next(), next(), int64(next())>>(next()%64)
			want.Add(h[i], g[i], w[i])
		}
		var got Accumulator128
		got.AddWeighted(h, g, w)
		if got != want {
			t.Fatal(n)
		}
	}
	for _, f := range []func(){
		func() { new(Accumulator64).AddWeighted(make([]uint64, 2), make([]int64, 1)) },
		func() { new(Accumulator128).AddWeighted(make([]uint64, 2), make([]uint64, 1), make([]int64, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("slices of different lengths were taken")
				}
			}()
			f()
		}()
	}
}

// TestCountTwice: a product with two counts weighs by the square.
func TestCountTwice(t *testing.T) {
	f := Fingerprinter{Tokenizer: Words{}, Weight: Product{Count, Count}}
	got := map[string]float64{}
	for feature, weight := range f.Features(Text("a a a b b")) {
		got[feature.Text] = weight
	}
	if got["a"] != 9 || got["b"] != 4 || f.Sum64(Text("a a a b b")) != f.Sum64Of(map[string]float64{"a": 9, "b": 4}) {
		t.Errorf("%v", got)
	}
}

// TestMarkersTwoStopLists: what is known of one list of stop words does not hold for another.
func TestMarkersTwoStopLists(t *testing.T) {
	markers := NewLexicon("therefore")
	check := func(stop string) error {
		f := Fingerprinter{Tokenizer: Words{StopWords: NewLexicon(stop)}, Weight: Markers{Lexicon: markers}}
		return f.Check()
	}
	if err := check("the"); err != nil {
		t.Error(err)
	}
	if check("therefore") == nil {
		t.Error("a marker is a stop word, and that is no error")
	}
}

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
