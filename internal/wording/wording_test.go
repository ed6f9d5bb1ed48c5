package wording

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/lex"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		text    string
		figures string // one character for each word: f for a figure
	}{
		{"", ""},
		{"The cat sat", "..."},
		{"3 March 2026", "fff"},
		{"in march", ".."},
		{"marching on Mondays", "..."},
		{"on Thu, may be", "...."},
		{"the cat sat on the mat in may", "........"},
		{"Thu, 3 Mar", "fff"},
		{"on Friday, 13 Oct 2026", ".ffff"},
		{"mp3 and COVID-19", "f..f"},
		{"三月五日晴", "f.f.."},
		{"第①章", "..."},
		{"٣ كتب", "f."},
		{"write to a.b-c@example.org today", "..fffff."},
		{"see https://example.org/a/b?c=d.", ".fffffff"},
		{"见www.example.org。好", ".fff."},
		{"an @ sign", ".."},
	} {
		var got strings.Builder
		for _, w := range Read(c.text) {
			got.WriteByte(".f"[w&Figure])
		}
		if got.String() != c.figures {
			t.Errorf("%q: %s, want %s", c.text, got.String(), c.figures)
		}
	}
	if a, b := Read("Ｔhe  CAT, sat!"), Read("the cat\nsat"); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestEqualButFigures(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"on 3 March 2026 at 10:30", "on 2026-03-03 at noon", false},
		{"on 3 March 2026 we met", "On 2026-03-04 we met.", true},
		{"it costs 10,000 yuan", "it costs 5 yuan", true},
		{"it costs yuan", "it costs 5 yuan", false},
		{"5 it costs", "it costs 5", false},
		{"one 1", "one", false},
		{"see https://a.org/x now", "see www.b.org now", true},
		{"see a now", "see b now", false},
	} {
		a, b := Read(c.a), Read(c.b)
		if EqualButFigures(a, b) != c.want || EqualButFigures(b, a) != c.want {
			t.Errorf("%q and %q: not %t", c.a, c.b, c.want)
		}
	}
}

// TestContains compares with the longest common subsequence.
func TestContains(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func() Wording {
		w := make(Wording, rnd.IntN(7))
		for i := range w {
			w[i] = rnd.Uint32N(3)<<1 | rnd.Uint32N(2)
		}
		return w
	}
	yes := 0
	for range 20_000 {
		a, b := some(), some()
		common := make([][]int, len(a)+1)
		for i := range common {
			common[i] = make([]int, len(b)+1)
			for j := range common[i] {
				switch {
				case i == 0 || j == 0:
				case a[i-1]>>1 == b[j-1]>>1:
					common[i][j] = common[i-1][j-1] + 1
				default:
					common[i][j] = max(common[i-1][j], common[i][j-1])
				}
			}
		}
		want := common[len(a)][len(b)] == len(b)
		if a.Contains(b) != want {
			t.Fatalf("%v contains %v: not %t", a, b, want)
		}
		if want {
			yes++
		}
	}
	if yes < 1000 {
		t.Errorf("only %d contained", yes)
	}
}

// TestAppendBoth: texts of several batches, with addresses, have the same words and runs of words as if they were read at once.
func TestAppendBoth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "cat", "3", "may", "Thu", "西游记", "e\u0301", "…", "\xff", "ภาษา", strings.Repeat("x", 300), "EP01", "https://a.b/c?d=e", "www.x.org", "x.y@z.com", "입니다", "\n", ",", "。", "\u00ad", "\u0301"}
	for round := range 300 {
		var b strings.Builder
		for range rnd.IntN(1 + 10*round) {
			b.WriteString(words[rnd.IntN(len(words))])
			b.WriteString(strings.Repeat(" ", rnd.IntN(2)))
		}
		text := b.String()
		w, keys := AppendBoth(nil, nil, text, 5)
		n, _ := Count(text)
		if want, units := new(lex.Batch).AppendRunKeys(nil, text, false, 5); !slices.Equal(keys, want) || units != n || len(w) != n {
			t.Fatalf("%q: %d keys of runs, not %d, and %d words, not %d", text, len(keys), len(want), len(w), n)
		}
	}
}

// FuzzRead: any bytes are words, as many as Count says; two readings are equal; a text contains itself, and white space changes
// nothing.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "Thu, 3 Mar", "三月五日晴", "write to a.b-c@example.org today", "see https://example.org/a/b?c=d.", "a@b.c", "https://example.org입니다 x@y.z, 我的 http://例子.org/中文。 the cat www.cat.com sat", "\xff\xfe", "第①章 ٣ كتب", "a\u0301b 😀"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := Read(text)
		n, digest := Count(text)
		if n != len(w) {
			t.Fatalf("%q has %d words, and %d are counted", text, len(w), n)
		}
		if _, again := Count("\n\t" + text + " "); again != digest {
			t.Fatalf("%q: white space changes the digest", text)
		}
		if !Equal(w, Read(" "+text+"\n")) || !EqualButFigures(w, w) || !w.Contains(w) {
			t.Fatalf("%q is another text when it is read again", text)
		}
		// The keys of the runs are those of the text as a whole, although it is read piece by piece.
		both, keys := AppendBoth(nil, nil, text, 5)
		if want, units := new(lex.Batch).AppendRunKeys(nil, text, false, 5); !slices.Equal(keys, want) || units != n || !slices.Equal(both, w) {
			t.Fatalf("%q: %d keys of runs, not %d, and %d words, not %d", text, len(keys), len(want), len(both), n)
		}
		for i := range w {
			if end := w.BehindFigures(i); end < i || end > len(w) {
				t.Fatalf("%q: the figures at %d end at %d", text, i, end)
			}
		}
	})
}
