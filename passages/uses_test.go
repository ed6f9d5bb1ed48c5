package passages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/passages/internal/sample"
)

// finderOf returns a Finder with random documents, which are also returned.
func finderOf(t *testing.T, rng *rand.Rand, l Length) (f *Finder[int], pool []string, docs [][]string) {
	f, err := New[int](Options{Length: l, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 + rng.IntN(12) {
		docs = append(docs, sample.Words(randomText(rng, &pool)))
		if err := f.Add(i, pool[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f, pool, docs
}

// TestCoverage compares coverages with what the definition of passages says.
func TestCoverage(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	for range 500 {
		l := randomLength(rng)
		f, pool, docs := finderOf(t, rng, l)
		covered := make([]map[int]bool, len(docs)) // the tokens that stand in another document
		of := map[[2]int]map[int]bool{}            // those of the first that stand in the second
		for i := range docs {
			covered[i] = map[int]bool{}
		}
		many := map[int]bool{} // documents in which a passage has more places than are looked at
		for _, places := range allPassages(docs, l, 0) {
			in := map[int]int{}
			for _, p := range places {
				if in[p[0]]++; in[p[0]] > mostSources {
					many[p[0]] = true
				}
				for _, q := range places {
					if p[0] == q[0] {
						continue
					}
					to := [2]int{p[0], q[0]}
					if of[to] == nil {
						of[to] = map[int]bool{}
					}
					for k := range p[2] {
						covered[p[0]][p[1]+k], of[to][p[1]+k] = true, true
					}
				}
			}
		}
		last := -1
		for c, err := range f.Coverage(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Number <= last || c.ID != c.Number || c.Tokens != len(docs[c.ID]) || c.Shared != len(covered[c.ID]) {
				t.Fatalf("%q with %v: %+v, want %d tokens", pool, l, c, len(covered[c.ID]))
			}
			last = c.Number
			sum := 0
			for i, s := range c.Sources {
				if s.Shared != len(of[[2]int{c.ID, s.ID}]) || i == 0 && s.More != s.Shared || i > 0 && s.More > c.Sources[i-1].More || s.DocumentTokens != len(docs[s.ID]) || s.DocumentShared > len(of[[2]int{s.ID, c.ID}]) || !many[s.ID] && s.DocumentShared < len(of[[2]int{s.ID, c.ID}]) {
					t.Fatalf("%q with %v: source %+v of %d, want %d tokens", pool, l, s, c.ID, len(of[[2]int{c.ID, s.ID}]))
				}
				sum += s.More
			}
			if sum != c.Shared {
				t.Fatalf("%q with %v: the sources of %+v have %d", pool, l, c, sum)
			}
			clear(covered[c.ID])
		}
		for i := range covered {
			if len(covered[i]) > 0 {
				t.Fatalf("%q with %v: document %d is missing", pool, l, i)
			}
		}
		got := map[[2]int]bool{}
		for c, err := range f.Contained(context.Background(), 0.8) {
			if err != nil {
				t.Fatal(err)
			}
			got[[2]int{c.ID, c.Sources[0].ID}] = true
		}
		for pair, tokens := range of {
			if is := 5*len(tokens) >= 4*len(docs[pair[0]]); is != got[pair] {
				t.Fatalf("%q with %v: %v is contained: %t", pool, l, pair, got[pair])
			}
		}
	}
}

// TestCuts: what is cut is what stands in places that are not the first.
func TestCuts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(13, 14))
	for range 500 {
		l := randomLength(rng)
		f, pool, docs := finderOf(t, rng, l)
		kept := make([][]bool, len(docs))
		for i := range docs {
			kept[i] = slices.Repeat([]bool{true}, len(docs[i]))
		}
		earlier := map[spot]spot{} // for each token that is cut, the same one in the first place
		for _, places := range allPassages(docs, l, 0) {
			first, tokens := places[0], places[0][2]
			for _, p := range places {
				tokens = min(tokens, p[2]) // a place that is several which overlap has more, which the first place may not have
			}
			for _, p := range places[1:] {
				for k := range p[2] {
					kept[p[0]][p[1]+k] = false
					if k < tokens {
						earlier[spot{p[0], p[1] + k}] = spot{first[0], first[1] + k}
					}
				}
			}
		}
		for from := range earlier { // of every word that is cut, an equal one stays
			at := from
			for next, ok := earlier[at]; ok && !kept[at.doc][at.at]; next, ok = earlier[at] {
				at = next
			}
			if docs[at.doc][at.at] != docs[from.doc][from.at] {
				t.Fatalf("%q with %v: of word %v, %v stays", pool, l, from, at)
			}
		}
		for c, err := range f.Cuts(context.Background(), CutOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			text, err := c.Apply(pool[c.ID], " ")
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, word := range docs[c.ID] {
				if kept[c.ID][i] {
					want = append(want, word)
				}
				kept[c.ID][i] = true
			}
			if got := sample.Words(text); !slices.Equal(got, want) {
				t.Fatalf("%q with %v: %q is left of %d, want %q", pool, l, got, c.ID, want)
			}
			gone := 0
			for i, x := range c.Spans {
				if source := c.Sources[i]; source.Number > c.Number || source.Number == c.Number && source.From >= x.From {
					t.Fatalf("%q with %v: the source of %+v is behind it", pool, l, x)
				}
				gone += x.Tokens
			}
			if c.Left != len(want) || gone != len(docs[c.ID])-len(want) {
				t.Fatalf("%q with %v: of %d, %d are left and %d are cut; %d should be left", pool, l, c.ID, c.Left, gone, len(want))
			}
		}
		for i := range kept {
			if slices.Contains(kept[i], false) {
				t.Fatalf("%q with %v: nothing is cut of %d", pool, l, i)
			}
		}
	}
}

// TestBorders cuts sentences and paragraphs.
func TestBorders(t *testing.T) {
	for _, c := range []struct {
		text, cut string // between | and |
		sentences bool
		want      string
	}{
		{"One two. |Three four. Five six.| Seven.", "", true, "One two. Seven."},
		{"One |two. Three four. Five| six. Seven.", "", true, "One two. Five six. Seven."},
		{"One |two. “Three four!” Five| six.", "", true, "One two. Five six."},
		{"一二。|三四。五|六。", "", true, "一二。五六。"},
		{"一二。“|三四。”五|六。", "", true, "一二。五六。"},
		{"One two\n|three four|\nfive", "", false, "One two\nfive"},
		{"One |two. Three. |Four.\n", "", false, "One two. Three. Four.\n"},
		{"|One. Two|. Three", "", true, "Three"},
		{"One |two three| four", "", true, "One two three four"},
		{"|One.\n\n* * *\n\nTwo.| Three.", "", true, "Three."},
		{"def f():\n    a = 1\n|# one two\n# three|\n    return a\n", "", false, "def f():\n    a = 1\n    return a\n"},
		{"One |two\n\n* * *\n\nthree| four", "", false, "One two\n\n* * *\n\nthree four"},
		{"see 3.5 |and a.b. Then| go", "", true, "see 3.5 and a.b. Then go"},
		{"See Fig. |3 of the U.S.| army. Two.", "", true, "See Fig. 3 of the U.S. army. Two."},
		{"“|Was it so|?” he asked. Two.", "", true, "“Was it so?” he asked. Two."},
		{"Ещё г. |ниже|. Там.", "", true, "Ещё г. ниже. Там."},
		{"|One. Two.|\n3 four.", "", true, "3 four."},
	} {
		parts := strings.Split(c.text, "|")
		text := strings.Join(parts, "")
		var read tokenized
		read.Read(text, true)
		all := []stretch[int]{{from: len(parts[0]), to: len(parts[0]) + len(strings.TrimRight(parts[1], " .!”。"))}}
		cut := Cut[int]{sum: xxh3.HashString(text)}
		cut.set(&read, wholes(text, &read, all, c.sentences))
		if got, err := cut.Apply(text, ""); err != nil || got != c.want || cut.Left != len(sample.Words(got)) {
			t.Errorf("%q: %q, want %q, with %d words left; %v", c.text, got, c.want, cut.Left, err)
		}
	}
}

// TestTogether adds, searches and joins at the same time; the race detector looks on.
func TestTogether(t *testing.T) {
	t.Parallel()
	f, err := New[int](Options{Length: Length{Words: 3}, Memory: 1 << 20, Progress: func(_ string, done float64) {
		if done <= 0 || done > 1 {
			t.Errorf("%v has been done", done)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int) string { return fmt.Sprintf("the words of number %d and more words of %d", i%5, i) }
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 30 {
				if err := f.Add(i, text(i)); err != nil {
					t.Error(err)
				}
				switch i % 10 {
				case 3:
					for _, err := range f.Search(context.Background(), text(g)) {
						if err != nil {
							t.Error(err)
						}
					}
				case 6:
					for p, err := range f.Passages(context.Background()) {
						if err != nil {
							t.Error(err)
						}
						if _, err := f.Text(p.Places[0]); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if n := f.Len(); n != 120 {
		t.Errorf("there are %d documents", n)
	}
	n := 0
	for _, err := range f.Search(context.Background(), text(2)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 120 {
		t.Errorf("%d documents share a passage", n)
	}
}

// TestAddAll: documents have the numbers of their order, and errors and an ended context are said.
func TestAddAll(t *testing.T) {
	texts := func(yield func(int, string) bool) {
		for i := range 2000 {
			if !yield(i, sample.Numbered(i, 40)) {
				return
			}
		}
	}
	f, err := New[int](Options{Length: Length{Words: 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddAll(context.Background(), texts); err != nil || f.Len() != 2000 {
		t.Fatalf("%d documents, %v", f.Len(), err)
	}
	last := 0
	for p, err := range f.PassagesSince(context.Background(), 1999) {
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Places {
			last = max(last, x.Number)
			if x.ID != x.Number {
				t.Fatalf("document %d has the number %d", x.ID, x.Number)
			}
		}
	}
	if last != 1999 {
		t.Errorf("the last document is %d", last)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := f.AddAll(ended, texts); err != context.Canceled {
		t.Errorf("AddAll: %v", err)
	}
	for _, err := range f.Passages(ended) {
		if err != context.Canceled {
			t.Errorf("Passages: %v", err)
		}
	}
	for _, err := range f.Search(ended, sample.Numbered(0, 40)) {
		if err != context.Canceled {
			t.Errorf("Search: %v", err)
		}
	}
	for _, err := range f.Contained(context.Background(), 2) {
		if err == nil {
			t.Error("a share of 2 is no error")
		}
	}
	for _, l := range []Length{{Words: -1}, {Characters: -1}, {Words: mostLength + 1}, {Words: 5, Characters: mostLength + 1}} {
		if _, err := New[int](Options{Length: l}); err == nil {
			t.Errorf("%v is no error", l)
		}
		if _, err := Between("", "", l); err == nil {
			t.Errorf("%v is no error", l)
		}
	}
}

// TestNoFolder: without a folder for temporary files there is an error, and no answer.
func TestNoFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	f, err := New[int](Options{Length: Length{Words: 5}, Memory: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err = f.Add(i, sample.Numbered(i, 50)); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("nothing is said")
	}
	if again := f.Add(0, "x"); again == nil {
		t.Error("something is added after that")
	}
}

// newFinder returns a Finder with the default options.
func newFinder[ID comparable](t *testing.T) *Finder[ID] {
	f, err := New[ID](Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAround: as much as there is, whatever is asked for.
func TestAround(t *testing.T) {
	f := newFinder[string](t)
	if err := f.Add("a", "one two three"); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int][3]string{0: {"", "two", ""}, 1: {" ", "two", " "}, -1: {"", "two", ""}, math.MinInt: {"", "two", ""}, math.MaxInt: {"one ", "two", " three"}} {
		before, text, after, err := f.Around(Place[string]{From: 4, To: 7}, n)
		if got := [3]string{before, text, after}; err != nil || got != want {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
}

// TestAddAllStops: when the context ends, AddAll has added what came before, and reads no further.
func TestAddAllStops(t *testing.T) {
	f := newFinder[int](t)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := f.AddAll(ctx, func(yield func(int, string) bool) {
		for n < 100 && yield(n, "some text") {
			if n++; n == 50 {
				cancel()
			}
		}
	})
	if !errors.Is(err, context.Canceled) || n > 51 || f.Len() != 50 {
		t.Errorf("%d read, %d added: %v", n, f.Len(), err)
	}
}

// distinct returns n words that are in no other text.
func distinct(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d ", name, i)
	}
	return strings.TrimSpace(b.String())
}

// cutsOf returns what is cut of some texts.
func cutsOf(t *testing.T, c CutOptions, texts ...string) (cuts []Cut[int]) {
	t.Helper()
	f, err := New[int](Options{Length: Length{Words: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if err := f.Add(i, text); err != nil {
			t.Fatal(err)
		}
	}
	for c, err := range f.Cuts(context.Background(), c) {
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Spans) > 0 {
			cuts = append(cuts, c)
		}
	}
	return cuts
}

// TestNextTo: two passages with nothing but a space between them are cut as one.
func TestNextTo(t *testing.T) {
	a, b := distinct("a", 12), distinct("b", 12)
	cuts := cutsOf(t, CutOptions{}, a, b, a+" "+b)
	if len(cuts) != 1 || len(cuts[0].Spans) != 1 || cuts[0].Spans[0].Tokens != 24 {
		t.Errorf("%+v", cuts)
	}
}

// TestIndented: a line behind a cut keeps its indentation, and the blank line goes.
func TestIndented(t *testing.T) {
	sentence := "The " + distinct("a", 14) + "."
	text := "Q.\n\n" + sentence + "\n\n  Z"
	cuts := cutsOf(t, CutOptions{Sentences: true}, sentence, text)
	if len(cuts) != 1 {
		t.Fatalf("%+v", cuts)
	}
	if got, err := cuts[0].Apply(text, ""); err != nil || got != "Q.\n\n  Z" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestMostSources: of many documents with one passage, each is contained in as many others as are told.
func TestMostSources(t *testing.T) {
	f, err := New[int](Options{Length: Length{Words: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := f.Add(i, distinct("a", 12)+" "+distinct(fmt.Sprintf("own%d_", i), 3)); err != nil {
			t.Fatal(err)
		}
	}
	sources := map[int]int{}
	for c, err := range f.Contained(context.Background(), 0.5) {
		if err != nil {
			t.Fatal(err)
		}
		sources[c.ID]++
	}
	for i := range 20 {
		if sources[i] != mostSources {
			t.Errorf("document %d is contained in %d, want %d", i, sources[i], mostSources)
		}
	}
}

// TestMostRuns: a search yields so many runs of a document at most.
func TestMostRuns(t *testing.T) {
	var stored, text strings.Builder
	for i := range 40 { // 1,600 runs
		fmt.Fprintf(&stored, "one two three four five x%d ", i)
		fmt.Fprintf(&text, "one two three four five y%d ", i)
	}
	f, err := New[int](Options{Length: Length{Words: 5}})
	if err == nil {
		err = f.Add(0, stored.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range f.Search(context.Background(), text.String()) {
		if err != nil || len(m.Runs) != mostMatchRuns {
			t.Errorf("%d runs, %v", len(m.Runs), err)
		}
	}
}

// TestParagraphSeparator: U+2029 ends a paragraph.
func TestParagraphSeparator(t *testing.T) {
	line := distinct("a", 12)
	text := line + "\u2029six seven"
	cuts := cutsOf(t, CutOptions{Paragraphs: true}, line, text)
	if len(cuts) != 1 {
		t.Fatalf("%+v", cuts)
	}
	if left, err := cuts[0].Apply(text, ""); err != nil || left != "six seven" {
		t.Errorf("%q, %v", left, err)
	}
}

// TestFirstSource: of sources that cover as much, the one that was added first counts.
func TestFirstSource(t *testing.T) {
	f, err := New[int](Options{Length: Length{Words: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := f.Add(i, distinct("a", 12)); err != nil {
			t.Fatal(err)
		}
	}
	for c, err := range f.Coverage(context.Background()) {
		want := 0
		if c.Number == 0 {
			want = 1
		}
		if err != nil || len(c.Sources) != 1 || c.Sources[0].Number != want {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestAroundBackwards: a place that ends before it begins is an error, and no panic.
func TestAroundBackwards(t *testing.T) {
	f := newFinder[string](t)
	if err := f.Add("a", "one two three"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := f.Around(Place[string]{From: 7, To: 4}, 1); err == nil {
		t.Error("no error")
	}
}

// TestPinned holds what is found in made collections of repetitive texts, to the last place, as a digest.
func TestPinned(t *testing.T) {
	var lines []string
	say := func(x ...any) { lines = append(lines, fmt.Sprintf("%+v", x)) }
	ctx := context.Background()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 77))
		var pool []string
		l := Length{Words: 2 + rng.IntN(6), Characters: 2 + rng.IntN(9)}
		f, err := New[int](Options{Length: l})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for i := range 4 + rng.IntN(30) {
			text := randomText(rng, &pool)
			for _, mark := range []string{". ", "。", "\n", "\n\n", "! 3 ", "? Yes", " \t\n b"} {
				if at := rng.IntN(len(text) + 1); rng.IntN(2) == 0 && utf8.RuneStart(append([]byte(text), 'x')[at]) {
					text = text[:at] + mark + text[at:]
				}
			}
			texts = append(texts, text)
			if err := f.Add(i, text); err != nil {
				t.Fatal(err)
			}
		}
		n := len(texts)
		for _, since := range []int{-1, 0, n / 2, n - 1, n} {
			for p, err := range f.PassagesSince(ctx, since) {
				say(p, err)
			}
			for c, err := range f.CoverageSince(ctx, since) {
				say(c, err)
			}
			for _, o := range []CutOptions{{Since: since}, {Since: since, Sentences: true}, {Since: since, Paragraphs: true, MinDocuments: 2}, {MinDocuments: 3}, {Sentences: true, Paragraphs: true}, {MinDocuments: -1}} {
				for c, err := range f.Cuts(ctx, o) {
					if say(c.ID, c.Number, c.Left, c.Spans, c.Sources, c.Needed, err != nil); err == nil {
						cut, err := c.Apply(texts[c.Number], "")
						masked, err2 := c.Apply(texts[c.Number], "[cut]")
						_, wrong := c.Apply(texts[c.Number]+"x", "")
						say(cut, err, masked, err2, wrong != nil)
						for _, s := range slices.Concat(c.Spans, c.Sources) {
							for _, around := range []int{-1, 0, 1, 5} {
								before, text, after, err := f.Around(s, around)
								say(before, text, after, err != nil)
							}
						}
					}
				}
			}
		}
		for _, share := range []float64{-1, 0, 0.1, 0.5, 0.9, 1, 1.1} {
			for c, err := range f.Contained(ctx, share) {
				say(c, err != nil)
			}
		}
		for i := range 12 {
			text := randomText(rng, &pool)
			for m, err := range f.Search(ctx, text) {
				say(m, err)
			}
			runs, err := Between(texts[i%n], text, l)
			if say(err); err == nil {
				for r := range runs {
					say(r)
				}
			}
		}
		for _, p := range []Place[int]{{Number: -1}, {Number: n}, {Number: n - 1}, {Number: 0, From: -1, To: 1}, {Number: 0, From: 1, To: 0}, {Number: 0, To: len(texts[0])}, {Number: 0, To: len(texts[0]) + 1}} {
			text, err := f.Text(p)
			before, in, after, err2 := f.Around(p, 3)
			doc, err3 := f.Document(p.Number)
			say(text, err != nil, before, in, after, err2 != nil, doc, err3 != nil)
		}
	}
	for words := -1; words < 5000; words += 1 + max(0, words-90)*7 {
		for characters := -1; characters < 9000; characters += 1 + max(0, characters-90)*7 {
			l, err := Length{words, characters}.WithDefaults()
			say(l, err != nil)
		}
	}
	if digest := neardup.HashFeature(strings.Join(lines, "\n")); digest != 0x35d9aca9711b37a9 {
		t.Errorf("the digest is %#x", digest)
	}
}

// TestHasAny compares with a look at each number.
func TestHasAny(t *testing.T) {
	b := make(bitset, 7)
	for _, n := range []uint64{3, 63, 64, 200, 383, 447} {
		b.add(n)
	}
	for from := range uint64(448) {
		for to := from; to <= 448; to++ {
			want := false
			for n := from; n < to; n++ {
				want = want || b.has(n)
			}
			if b.hasAny(from, to) != want {
				t.Fatalf("from %d to %d: not %t", from, to, want)
			}
		}
	}
}

// TestProgress: each stage is told to its end.
func TestProgress(t *testing.T) {
	last, stages := map[string]float64{}, []string{}
	f, err := New[int](Options{Length: Length{Words: 3}, Progress: func(stage string, done float64) {
		if _, ok := last[stage]; !ok {
			stages = append(stages, stage)
		}
		if done < last[stage] {
			t.Errorf("%s: %v after %v", stage, done, last[stage])
		}
		last[stage] = done
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if err := f.Add(i, fmt.Sprintf("these are the words of number %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for range f.Passages(context.Background()) {
	}
	if len(stages) < 3 {
		t.Errorf("the stages are %q", stages)
	}
	for stage, done := range last {
		if done != 1 {
			t.Errorf("%s ends at %v", stage, done)
		}
	}
}
