package passages

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// finderOf returns a Finder with random documents, which are also returned.
func finderOf(t *testing.T, rng *rand.Rand, l Length) (f *Finder[int], pool []string, docs [][]string) {
	f, err := New[int](Options{Length: l, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 + rng.IntN(12) {
		docs = append(docs, words(randomText(rng, &pool)))
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
		for _, places := range allPassages(docs, l, 0) {
			for _, p := range places {
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
				if s.Shared != len(of[[2]int{c.ID, s.ID}]) || i == 0 && s.More != s.Shared || i > 0 && s.More > c.Sources[i-1].More || s.TokensB != len(docs[s.ID]) {
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
			got[[2]int{c.ID, c.Source.ID}] = true
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
		for _, places := range allPassages(docs, l, 0) {
			for _, p := range places[1:] {
				for k := range p[2] {
					kept[p[0]][p[1]+k] = false
				}
			}
		}
		for c, err := range f.Cuts(context.Background(), Cutting{}) {
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
			if got := words(text); !slices.Equal(got, want) {
				t.Fatalf("%q with %v: %q is left of %d, want %q", pool, l, got, c.ID, want)
			}
			for _, x := range c.Spans {
				if x.Source.Number > c.Number || x.Source.Number == c.Number && x.Source.From >= x.From {
					t.Fatalf("%q with %v: the source of %+v is behind it", pool, l, x)
				}
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
		at        Border
		want      string
	}{
		{"One two. |Three four. Five six.| Seven.", "", AtSentences, "One two. Seven."},
		{"One |two. Three four. Five| six. Seven.", "", AtSentences, "One two. Five six. Seven."},
		{"One |two. “Three four!” Five| six.", "", AtSentences, "One two. Five six."},
		{"一二。|三四。五|六。", "", AtSentences, "一二。五六。"},
		{"一二。“|三四。”五|六。", "", AtSentences, "一二。五六。"},
		{"One two\n|three four|\nfive", "", AtParagraphs, "One two\nfive"},
		{"One |two. Three. |Four.\n", "", AtParagraphs, "One two. Three. Four.\n"},
		{"|One. Two|. Three", "", AtSentences, "Three"},
		{"One |two three| four", "", AtSentences, "One two three four"},
		{"|One.\n\n* * *\n\nTwo.| Three.", "", AtSentences, "Three."},
		{"see 3.5 |and a.b. Then| go", "", AtSentences, "see 3.5 and a.b. Then go"},
	} {
		parts := strings.Split(c.text, "|")
		text := strings.Join(parts, "")
		var read tokenized
		read.read(text, true)
		spans := []Span[int]{{From: len(parts[0]), To: len(parts[0]) + len(strings.TrimRight(parts[1], " .!”。"))}}
		cut := Cut[int]{Spans: wholes(text, &read, spans, c.at)}
		if got, err := cut.Apply(text, ""); err != nil || got != c.want {
			t.Errorf("%q: %q, want %q; %v", c.text, got, c.want, err)
		}
	}
}

// TestTests looks for items that stand in texts as a whole, in part, and hardly.
func TestTests(t *testing.T) {
	tests, err := NewTests[string](Length{})
	if err != nil {
		t.Fatal(err)
	}
	question := "Which of the planets of the solar system has the largest number of moons that were known in the year 2020"
	for i, x := range []struct {
		id     string
		parts  []string
		isLong string
	}{
		{"planets", []string{question, "Jupiter"}, "[true false]"},
		{"short", []string{"the quick brown fox jumps over the lazy dog"}, "[true]"},
		{"tiny", []string{"the quick brown fox"}, "[false]"},
		{"zh", []string{"关于太阳系行星的卫星数量以下哪一项的说法是正确的请选择一个答案"}, "[true]"},
		{"again", []string{strings.Repeat("tick tock ", 50)}, "[true]"},
	} {
		if is := tests.Add(x.id, x.parts...); fmt.Sprint(is) != x.isLong {
			t.Fatalf("item %d: %v", i, is)
		}
	}
	for i := range 11 { // what all items begin with is no leak
		tests.Add(fmt.Sprint("form", i), fmt.Sprintf("Read the text below with care and then choose the one answer that fits the question best: item number %d %d", i, 7*i))
	}
	s := tests.Searcher()
	for _, c := range []struct{ text, want string }{
		{"Nothing of it is here, but " + strings.Repeat("some words ", 30), ""},
		{"They ask: “which of the PLANETS of the Solar system has the largest number of moons” and so on", "planets/0 14/21"},
		{"They ask: “which of the planets of a Solar system has the largest number of moons” and so on", ""},
		{"The Quick brown fox; jumps over the lazy dog!", "short/0 9/9"},
		{"the quick brown fox jumps over the lazy cat", ""},
		{"问题：关于太阳系行星的卫星数量，以下哪一项的说法是正确的？", "zh/0 24/31"},
		{"Read the text below with care and then choose the one answer that fits the question best: ITEM", ""},
		{"Read the text below with care and then choose the one answer that fits the question best: item number 3 21", "form3/0 21/21"},
		{strings.Repeat("tick tock ", 10000), "again/0"},
	} {
		var got []string
		for leak := range s.Search(c.text) {
			got = append(got, fmt.Sprintf("%s/%d %d/%d", leak.ID, leak.Part, leak.Shared, leak.Tokens))
			for _, r := range leak.Runs {
				if x := words(c.text[r.FromB:r.ToB]); len(x) != r.Tokens {
					t.Errorf("%.50q: %v is %q", c.text, r, x)
				}
			}
		}
		if text := strings.Join(got, ", "); c.want == "" && text != "" || !strings.HasPrefix(c.want, text) && !strings.HasPrefix(text, c.want) {
			t.Errorf("%.50q: %q, want %q", c.text, text, c.want)
		}
	}
}
