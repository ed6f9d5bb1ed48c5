package passages

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/ucd"
	"github.com/neardup/neardup/passages/internal/sample"
)

// Blocks and what is sorted at once are small, so that files are used and parts are parted again.
func init() { blockBytes, leastSorted = 1<<8, 1<<10 }

// weightOf returns the weight of a token by another way than the package does.
func (l Length) weightOf(token string) int {
	if r, _ := utf8.DecodeRuneInString(token); ucd.Props(r)&ucd.ClassMask == ucd.Single {
		return l.Words
	}
	return l.Characters
}

// gramEnd returns the end of the gram that begins with a token, or -1.
func (l Length) gramEnd(tokens []string, at int) int {
	sum := 0
	for i := at; i < len(tokens); i++ {
		if sum += l.weightOf(tokens[i]); sum >= l.Words*l.Characters {
			return i + 1
		}
	}
	return -1
}

// randomText returns a text that repeats itself: words of a small alphabet, copies of what came before, and a word many times.
func randomText(rng *rand.Rand, pool *[]string) string {
	alphabet := [][]string{{"a", "B", "c"}, {"a", "b", "c", "the", "Cat", "sat"}, {"我", "爱", "你"}, {"中", "文", "word", "two", "か"}, {"é", "ﬁx", "x\u00ADy", "\u0301", "…", "😀"}}[rng.IntN(5)]
	var out []string
	for range rng.IntN(6) {
		switch rng.IntN(4) {
		case 0: // a copy
			if len(*pool) > 0 {
				copied := strings.Fields((*pool)[rng.IntN(len(*pool))])
				if len(copied) > 0 {
					from := rng.IntN(len(copied))
					out = append(out, copied[from:from+rng.IntN(len(copied)-from+1)]...)
				}
			}
		case 1: // a word, or two, again and again
			some := []string{alphabet[rng.IntN(len(alphabet))], alphabet[rng.IntN(len(alphabet))]}[:1+rng.IntN(2)]
			for range rng.IntN(12) {
				out = append(out, some...)
			}
		default:
			for range rng.IntN(15) {
				out = append(out, alphabet[rng.IntN(len(alphabet))])
			}
		}
	}
	text := strings.Join(out, []string{" ", ", ", "\n", " - "}[rng.IntN(4)])
	*pool = append(*pool, text)
	return text
}

// randomLength returns a short length.
func randomLength(rng *rand.Rand) Length {
	return Length{Words: 1 + rng.IntN(8), Characters: 1 + rng.IntN(10)}
}

// allRuns returns the runs that two texts share, by comparing each pair of tokens.
func allRuns(a, b []string, l Length) (all [][3]int) {
	for j := range b {
		for i := range a {
			if i > 0 && j > 0 && a[i-1] == b[j-1] {
				continue
			}
			n, sum := 0, 0
			for i+n < len(a) && j+n < len(b) && a[i+n] == b[j+n] {
				sum += l.weightOf(a[i+n])
				n++
			}
			if n > 0 && sum >= l.Words*l.Characters {
				all = append(all, [3]int{i, j, n})
			}
		}
	}
	return all
}

// TestBetween compares the runs of random texts with those of a comparison of all tokens.
func TestBetween(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		var pool []string
		a, b, l := randomText(rng, &pool), randomText(rng, &pool), randomLength(rng)
		if n%3 == 0 {
			b = a
		}
		checkRuns(t, a, b, l)
	}
}

// checkRuns compares the runs that two texts share.
func checkRuns(t *testing.T, a, b string, l Length) {
	t.Helper()
	want := allRuns(sample.Words(a), sample.Words(b), l)
	found, err := Between(a, b, l)
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]int
	for r := range found {
		if x, y := sample.Words(a[r.FromA:r.ToA]), sample.Words(b[r.FromB:r.ToB]); !slices.Equal(x, y) || len(x) != r.Tokens {
			t.Fatalf("%q and %q: %v has %q and %q", a, b, r, x, y)
		}
		if cutsCharacter(a, r.FromA) || cutsCharacter(a, r.ToA) || cutsCharacter(b, r.FromB) || cutsCharacter(b, r.ToB) {
			t.Fatalf("%q and %q: %v cuts a character", a, b, r)
		}
		got = append(got, [3]int{len(sample.Words(a[:r.FromA])), len(sample.Words(b[:r.FromB])), r.Tokens})
	}
	order := func(x, y [3]int) int { return slices.Compare(x[:], y[:]) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if !slices.Equal(got, want) {
		t.Fatalf("%q and %q with %v:\n%v, want\n%v", a, b, l, got, want)
	}
}

// cutsCharacter reports whether a place in a text is inside of a character.
func cutsCharacter(text string, at int) bool {
	for begin := max(at-3, 0); begin < at; begin++ {
		if r, size := utf8.DecodeRuneInString(text[begin:]); r != utf8.RuneError && begin+size > at {
			return true
		}
	}
	return false
}

// A spot is a token of a document.
type spot struct{ doc, at int }

// allPassages returns the passages of documents by their definition, with tokens for bytes: for each the places, each the document, its first
// token and the number of its tokens.
func allPassages(docs [][]string, l Length, old int) (all [][][3]int) {
	at := map[string][]spot{}
	gram := func(s spot) string {
		if s.at < 0 || s.at >= len(docs[s.doc]) || l.gramEnd(docs[s.doc], s.at) < 0 {
			return ""
		}
		return strings.Join(docs[s.doc][s.at:l.gramEnd(docs[s.doc], s.at)], "|")
	}
	for d, tokens := range docs {
		for i := range tokens {
			if g := gram(spot{d, i}); g != "" {
				at[g] = append(at[g], spot{d, i})
			}
		}
	}
	// next returns the gram with which all places of one go on, if it has no others.
	next := func(g string) string {
		to := ""
		for i, s := range at[g] {
			n := gram(spot{s.doc, s.at + 1})
			if n == "" || i > 0 && n != to {
				return ""
			}
			to = n
		}
		if len(at[to]) != len(at[g]) {
			return ""
		}
		return to
	}
	isNext := map[string]bool{}
	for g := range at {
		// A gram that goes on with itself alone would go on for ever, and no text does.
		if len(at[g]) > 1 {
			isNext[next(g)] = true
		}
	}
	for g, spots := range at {
		if len(spots) < 2 || isNext[g] {
			continue
		}
		last, n := g, 0
		for to := next(last); to != ""; to = next(last) {
			last = to
			n++
		}
		var places [][3]int
		for _, s := range spots {
			end := l.gramEnd(docs[s.doc], s.at+n)
			if k := len(places); k > 0 && places[k-1][0] == s.doc && s.at < places[k-1][1]+places[k-1][2] {
				places[k-1][2] = end - places[k-1][1]
				continue
			}
			places = append(places, [3]int{s.doc, s.at, end - s.at})
		}
		if places[len(places)-1][0] >= old {
			all = append(all, places)
		}
	}
	slices.SortFunc(all, func(x, y [][3]int) int { return slices.Compare(x[0][:], y[0][:]) })
	return all
}

// TestPassages compares the passages of random collections with their definition.
func TestPassages(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 800 {
		l := randomLength(rng)
		var pool []string
		for range 2 + rng.IntN(12) {
			randomText(rng, &pool)
		}
		old := 0
		if n%4 == 0 {
			old = rng.IntN(len(pool))
		}
		checkPassages(t, pool, l, old)
	}
}

// checkPassages compares the passages of some documents with their definition.
func checkPassages(t *testing.T, pool []string, l Length, old int) {
	t.Helper()
	f, err := New[string](Options{Length: l, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var docs [][]string
	for i, text := range pool {
		docs = append(docs, sample.Words(text))
		if err := f.Add(fmt.Sprint(i), text); err != nil {
			t.Fatal(err)
		}
	}
	want := allPassages(docs, l, old)
	var got [][][3]int
	for p, err := range f.PassagesSince(context.Background(), old) {
		if err != nil {
			t.Fatal(err)
		}
		var places [][3]int
		for _, x := range p.Places {
			text := pool[x.Number]
			tokens := sample.Words(text[x.From:x.To])
			if x.ID != fmt.Sprint(x.Number) || len(tokens) != x.Tokens || p.Tokens > x.Tokens || cutsCharacter(text, x.From) || cutsCharacter(text, x.To) {
				t.Fatalf("%q with %v: place %v of a passage of %d has %q", pool, l, x, p.Tokens, tokens)
			}
			if s, err := f.Text(x); err != nil || s != text[x.From:x.To] {
				t.Fatalf("the text of %v is %q, %v", x, s, err)
			}
			places = append(places, [3]int{x.Number, len(sample.Words(text[:x.From])), x.Tokens})
		}
		got = append(got, places)
	}
	if !slices.EqualFunc(got, want, func(x, y [][3]int) bool { return slices.Equal(x, y) }) {
		t.Fatalf("%q with %v, %d old:\n%v, want\n%v", pool, l, old, got, want)
	}
}

// TestSearch compares searches with the runs between two texts.
func TestSearch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 800 {
		l := randomLength(rng)
		f, err := New[int](Options{Length: l, Memory: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var pool []string
		for i := range 2 + rng.IntN(12) {
			if err := f.Add(i, randomText(rng, &pool)); err != nil {
				t.Fatal(err)
			}
		}
		docs := pool
		text := randomText(rng, &pool)
		got := map[int][]Run{}
		for m, err := range f.Search(context.Background(), text) {
			if err != nil || m.ID != m.Number {
				t.Fatal(m, err)
			}
			got[m.ID] = m.Runs
			for _, side := range []struct {
				text           string
				shared, tokens int
				from           func(Run) int
			}{
				{text, m.Shared, m.Tokens, func(r Run) int { return r.FromA }},
				{docs[m.ID], m.DocumentShared, m.DocumentTokens, func(r Run) int { return r.FromB }},
			} {
				in := map[int]bool{}
				for _, r := range m.Runs {
					for k := range r.Tokens {
						in[len(sample.Words(side.text[:side.from(r)]))+k] = true
					}
				}
				if side.shared != len(in) || side.tokens != len(sample.Words(side.text)) {
					t.Fatalf("%q in %q with %v: %d of %d tokens, want %d", text, docs[m.ID], l, side.shared, side.tokens, len(in))
				}
			}
		}
		for i, doc := range docs {
			runs, _ := Between(text, doc, l)
			want := slices.Collect(runs)
			if !slices.Equal(got[i], want) {
				t.Fatalf("%q in %q with %v: %v, want %v", text, doc, l, got[i], want)
			}
		}
	}
}

// TestAnchors: each window of a text has an anchor with the smallest hash of its runs.
func TestAnchors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		l := randomLength(rng)
		run, window := l.anchorTokens()
		hashes := make([]uint64, rng.IntN(60))
		for i := range hashes {
			hashes[i] = uint64(rng.IntN(3)) * 0x9E3779B97F4A7C15
		}
		of := func(at int) uint64 { // the hash of a run, made anew
			return lex.RollingHash(lex.RollingSum(hashes[at : at+run]))
		}
		anchors := l.anchors(hashes, nil)
		if !slices.IsSortedFunc(anchors, func(a, b anchor) int { return cmp.Compare(a.at, b.at) }) {
			t.Fatal(anchors)
		}
		for first := 0; first+l.tokens() <= len(hashes); first++ {
			least := of(first)
			for at := first; at < first+window; at++ {
				least = min(least, of(at))
			}
			if !slices.ContainsFunc(anchors, func(a anchor) bool {
				return int(a.at) >= first && int(a.at) < first+window && a.hash == least
			}) {
				t.Fatalf("%v with %v: the window at %d has none of %v", hashes, l, first, anchors)
			}
		}
		for _, a := range anchors {
			if a.hash != of(int(a.at)) {
				t.Fatalf("the anchor %v has the hash %x", a, of(int(a.at)))
			}
		}
	}
}

// TestSorter sorts records whose keys are random, equal or close together, with little memory.
func TestSorter(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for _, keys := range []func(i int) uint64{
		func(int) uint64 { return rng.Uint64() },
		func(int) uint64 { return 7 },
		func(int) uint64 { return rng.Uint64() & 1 << 63 },
		func(i int) uint64 { return uint64(i) },
		func(int) uint64 { return uint64(rng.IntN(100)) },
		func(i int) uint64 { return uint64(60000-i) << 44 },
	} {
		s := newSorter[[4]uint64](1 << 20)
		var want [][4]uint64
		for i := range 60000 {
			r := [4]uint64{keys(i), uint64(i)}
			want = append(want, r)
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortStableFunc(want, func(a, b [4]uint64) int { return cmp.Compare(a[0], b[0]) })
		var got [][4]uint64
		for part := range sortParts {
			got = slices.AppendSeq(got, s.sorted(part))
		}
		if !slices.Equal(got, want) {
			t.Fatal("the records are not sorted")
		}
	}
}

// TestClasses: grams whose keys begin alike are told apart by the rest, and keep their order.
func TestClasses(t *testing.T) {
	var got [][2]uint64
	b := &classBuilder{put: func(some [][2]uint64) { got = append(got, some...) }}
	gram := func(hash, rest, token uint64) [4]uint64 { return [4]uint64{hash, rest<<40 | token, 1, 2} }
	for _, g := range [][4]uint64{gram(5, 1, 10), gram(5, 2, 11), gram(5, 1, 12), gram(5, 3, 13), gram(5, 2, 14), gram(6, 1, 15), gram(7, 1, 16), gram(7, 1, 17)} {
		b.take(g)
	}
	b.end()
	if want := [][2]uint64{{10, 0}, {12, 0}, {11, 1}, {14, 1}, {16, 2}, {17, 2}}; !slices.Equal(got, want) || len(b.follow) != 3 {
		t.Errorf("the classes are %v, want %v", got, want)
	}
}
