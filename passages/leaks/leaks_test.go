package leaks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/passages"
	"github.com/neardup/neardup/passages/internal/sample"
)

// TestLength: lengths that are out of range are errors.
func TestLength(t *testing.T) {
	for _, l := range []passages.Length{{Words: -1}, {Characters: -1}, {Words: 1 << 20}} {
		if _, err := New[int](l); err == nil {
			t.Errorf("%v is no error", l)
		}
	}
}

// TestTests looks for items that stand in texts as a whole, in part, and hardly.
func TestTests(t *testing.T) {
	tests, err := New[string](passages.Length{})
	if err != nil {
		t.Fatal(err)
	}
	question := "Which of the planets of the solar system has the largest number of moons that were known in the year 2020"
	for _, x := range []struct {
		id    string
		parts []string
	}{
		{"planets", []string{question, "Jupiter"}},
		{"short", []string{"the quick brown fox jumps over the lazy dog"}},
		{"tiny", []string{"the quick brown fox"}},
		{"zh", []string{"关于太阳系行星的卫星数量以下哪一项的说法是正确的请选择一个答案"}},
		{"again", []string{strings.Repeat("tick tock ", 50)}},
		{"long", []string{sample.Numbered(0, 39)}},
	} {
		if err := tests.Add(x.id, x.parts...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 { // one question with twelve answers is one
		if err := tests.Add(fmt.Sprint("same", i), sample.Numbered(1000, 25), sample.Numbered(2000+20*i, 15)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 { // two questions that begin alike, in turn
		if err := tests.Add(fmt.Sprint("turn", i), fmt.Sprintf("%s %d", sample.Numbered(5000, 15), i%2), sample.Numbered(6000+20*i, 15)); err != nil {
			t.Fatal(err)
		}
	}
	const asks = "Read the text below with care and then choose the one answer that fits the question best"
	for i := range 11 { // what all items begin with is no leak
		if err := tests.Add(fmt.Sprint("form", i), fmt.Sprintf("%s: item number %d %d", asks, i, 7*i), asks); err != nil {
			t.Fatal(err)
		}
	}
	var lookedFor []bool
	for _, is := range tests.Parts() {
		lookedFor = append(lookedFor, is)
	}
	if got := fmt.Sprint(append(lookedFor[:8:8], lookedFor[54:59]...)); got != "[true false true false true true true true true true false true false]" {
		t.Errorf("looked for are %s", got)
	}
	for _, c := range []struct{ text, want string }{
		{"Nothing of it is here, but " + strings.Repeat("some words ", 30), ""},
		{"They ask: “which of the PLANETS of the Solar system has the largest number of moons” and so on", "planets/0 14/21"},
		{"They ask: “which of the planets of a Solar system has the largest number of moons” and so on", ""},
		{"The Quick brown fox; jumps over the lazy dog!", "short/0 9/9"},
		{"the quick brown fox jumps over the lazy cat", ""},
		{sample.Numbered(5000, 15), strings.TrimSuffix(strings.Repeat("turn 15/16, ", 12), ", ")},
		{"问题：关于太阳系行星的卫星数量，以下哪一项的说法是正确的？", "zh/0 24/31"},
		{"Read the text below with care and then choose the one answer that fits the question best: ITEM", ""},
		{"Read the text below with care and then choose the one answer that fits the question best: item number 3 21", "form3/0 21/21"},
		{strings.Repeat("tick tock ", 10000), "again/0 100/100"},
		{strings.Repeat("tick tock ", 40) + "x", "again/0 14/100"},
		{strings.Repeat(sample.Numbered(0, 13)+" and ", 200) + sample.Numbered(0, 39), "long/0 39/39"},
	} {
		var got []string
		for leak := range tests.Search(c.text) {
			got = append(got, fmt.Sprintf("%s/%d %d/%d", leak.ID, leak.Part, leak.Shared, leak.Tokens))
			longest := 0
			for _, r := range leak.Runs {
				longest = max(longest, r.Tokens)
				if x := sample.Words(c.text[r.FromB:r.ToB]); len(x) != r.Tokens {
					t.Errorf("%.50q: %v is %q", c.text, r, x)
				}
			}
			if len(leak.Runs) > mostRuns || longest < min(leak.Shared, 13) {
				t.Errorf("%.50q: %d runs, the longest has %d", c.text, len(leak.Runs), longest)
			}
		}
		if strings.HasPrefix(c.want, "turn ") {
			if len(got) != 12 {
				t.Errorf("of the questions in turn, %q are found", got)
			}
			continue
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%.50q: %q, want %q", c.text, text, c.want)
		}
	}
}

// TestConcurrentTests: several goroutines look for the same items.
func TestConcurrentTests(t *testing.T) {
	tests, err := New[int](passages.Length{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := tests.Add(i, sample.Numbered(100*i, 20)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				n := 0
				for leak := range tests.Search(sample.Numbered(100*((i+g)%50), 20)) {
					if n++; leak.ID != (i+g)%50 || leak.Shared != 20 {
						t.Errorf("item %d: %+v", (i+g)%50, leak)
					}
				}
				if n != 1 {
					t.Errorf("item %d is found %d times", (i+g)%50, n)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzSearch: a leak is equal in the item and the document, and a document that has all of an item has a leak.
func FuzzSearch(f *testing.F) {
	f.Add("one two three four five six seven eight nine", "see one two three four five six seven eight nine ten")
	f.Add("a a a a a a a a a a a a a a a a a a", "a a a a a a a a a a a a a a a a a a a a a a a a a a")
	f.Add("关于太阳系行星的卫星数量以下哪一项的说法", "：关于太阳系行星的卫星数量，以下哪一项的说法是")
	f.Fuzz(func(t *testing.T, item, text string) {
		tests, err := New[int](passages.Length{})
		if err != nil {
			t.Fatal(err)
		}
		if err := tests.Add(7, item); err != nil {
			t.Fatal(err)
		}
		isLong := false
		for tokens, is := range tests.Parts() {
			if isLong = is; tokens != len(sample.Words(item)) {
				t.Fatalf("%q has %d words", item, tokens)
			}
		}
		found := false
		for leak := range tests.Search(text) {
			found = true
			for _, r := range leak.Runs {
				if a, b := strings.Join(sample.Words(item[r.FromA:r.ToA]), " "), strings.Join(sample.Words(text[r.FromB:r.ToB]), " "); a != b || leak.ID != 7 {
					t.Fatalf("%q in %q: %v has %q and %q", item, text, r, a, b)
				}
			}
		}
		if has := strings.Contains(" "+strings.Join(sample.Words(text), " ")+" ", " "+strings.Join(sample.Words(item), " ")+" "); isLong && has && !found {
			t.Fatalf("%q in %q is not found", item, text)
		}
	})
}

// BenchmarkSearch looks for 10,000 items in a text; the size is that of the text.
func BenchmarkSearch(b *testing.B) {
	tests, err := New[int](passages.Length{})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%d ", rng.IntN(5000))
		}
		return b.String()
	}
	var texts []string
	for i := range 10_000 {
		item := random(50)
		if err := tests.Add(i, item); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 0 {
			texts = append(texts, random(200), random(75)+item+random(75)) // every other one has a leak
		}
	}
	b.SetBytes(int64(len(texts[0])))
	for i := 0; b.Loop(); i++ {
		for range tests.Search(texts[i%len(texts)]) {
		}
	}
}

// TestPinned holds which parts of made items leak into made documents, as a digest.
func TestPinned(t *testing.T) {
	var lines []string
	say := func(x ...any) { lines = append(lines, fmt.Sprintf("%+v", x)) }
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 5))
		some := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteString([]string{"the ", "a ", "of ", "Cat ", "sat. ", "on\n", "mat ", "中", "文", "字", "word ", "é "}[rng.IntN(2+rng.IntN(11))])
			}
			return b.String()
		}
		b, err := New[int](passages.Length{Words: 3 + rng.IntN(5), Characters: 4 + rng.IntN(7)})
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for i := range 14 + rng.IntN(20) {
			item := []string{some(rng.IntN(30)), some(rng.IntN(8))}
			if rng.IntN(2) == 0 && len(parts) > 0 { // what items have in common
				item[0] += parts[rng.IntN(min(len(parts), 3))]
			}
			parts = append(parts, item...)
			if err := b.Add(i, item...); err != nil {
				t.Fatal(err)
			}
		}
		for n, is := range b.Parts() {
			say(n, is)
		}
		for range 20 {
			text := some(rng.IntN(20)) + parts[rng.IntN(len(parts))] + some(rng.IntN(20)) + parts[rng.IntN(len(parts))]
			for l := range b.Search(text) {
				say(l)
			}
		}
	}
	if digest := neardup.HashFeature(strings.Join(lines, "\n")); digest != 0xe874a98abae35176 {
		t.Errorf("the digest is %#x", digest)
	}
}
