package neardup

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/neardup/neardup/internal/wording"
)

// bruteDuplicates is what Pairs must find: all pairs of documents by their vectors, made of what
// Features shows, with near-copies counted once.
func bruteDuplicates(t *testing.T, texts []string, s DeduplicatorOptions) []Pair[int] {
	t.Helper()
	s, err := s.canonical()
	if err != nil {
		t.Fatal(err)
	}
	profiles := make([]reading, len(texts))
	var different []Vector
	var words []wording.Wording
	seen := map[uint64]bool{}
	for i, text := range texts {
		profiles[i] = s.Fingerprinter.profile(text)
		if d := profiles[i].digest; len(profiles[i].terms) > 0 && !seen[d] {
			seen[d] = true
			different, words = append(different, profiles[i].terms), append(words, profiles[i].words)
		}
	}
	_, forms := wording.Learn(len(words), 0, func(i int) wording.Wording { return words[i] })
	copies, weights := s.copiesOf(len(different), func(i int) Vector { return different[i] }, forms)
	// Each feature counts once for each group of near-copies that has it.
	type once struct {
		feature uint64
		group   int
	}
	df := map[uint64]uint32{}
	counted := map[once]bool{}
	for i, terms := range different {
		group := copies[i]
		for _, term := range terms {
			if key := (once{term.Feature, group}); !counted[key] {
				counted[key] = true
				df[term.Feature]++
			}
		}
	}
	vectors := make([]Vector, len(texts))
	for i, p := range profiles {
		vectors[i] = slices.Clone(p.terms)
		counts := make([]uint32, len(p.terms))
		for k, term := range p.terms {
			counts[k] = df[term.Feature]
		}
		weights.weigh(vectors[i], p.levels, p.fine, counts)
	}
	d, err := NewDeduplicator[int](s)
	if err != nil {
		t.Fatal(err)
	}
	d.AddAll(bg, slices.All(texts))
	least := must(d.Threshold(bg)).Similarity
	_, filled := wording.Learn(len(texts), 0, func(i int) wording.Wording { return profiles[i].words })
	var pairs []Pair[int]
	for j := range texts {
		for i := range j {
			if c := vectors[i].Cosine(vectors[j]); c >= least {
				kind := kindOf(profiles[i].words, profiles[j].words, filled[i], filled[j])
				if texts[i] == texts[j] {
					kind = Identical
				}
				if kind&s.Kinds != 0 {
					pairs = append(pairs, Pair[int]{A: i, B: j, Similarity: c, Kind: kind})
				}
			}
		}
	}
	return pairs
}

func sortSimilar(pairs []Pair[int]) []Pair[int] {
	slices.SortFunc(pairs, func(a, b Pair[int]) int {
		if a.B != b.B {
			return a.B - b.B
		}
		return a.A - b.A
	})
	return pairs
}

// changedTexts are real texts, changed copies of them of all lengths, equal ones, and such
// without features.
func changedTexts(t *testing.T, n int) []string {
	rnd := rand.New(rand.NewPCG(3, 4))
	var texts []string
	all := corpusTexts(t, "en", "zh", "more")
	for i := range n {
		text := all[i%len(all)]
		r := []rune(text)
		r = r[:min(len(r), 20<<(i%8))]
		for range i / len(all) * len(r) / 40 {
			r[rnd.IntN(len(r))] = r[rnd.IntN(len(r))]
		}
		texts = append(texts, string(r))
	}
	return append(texts, "", "…", texts[0], texts[0], texts[1], "西游记EP01", "a", "a b", "\xff")
}

func TestDeduplicatorPairs(t *testing.T) {
	t.Parallel()
	texts := changedTexts(t, shorter(400, 150))
	for name, s := range map[string]DeduplicatorOptions{
		"default": {}, "low": {Similarity: 0.1}, "kinds": {Similarity: 0.2, Kinds: AllKinds &^ (Contained | SameWords)}, "one": {Similarity: 1},
		"tokenizer": {Fingerprinter: Fingerprinter{Tokenizer: NGrams{2}}},
		"weight":    {Fingerprinter: Fingerprinter{Weight: Constant(1)}},
		"normal":    {Fingerprinter: Fingerprinter{Normalizer: Normalizer{Numbers: Mask, Form: NFKC}}},
	} {
		want := sortSimilar(bruteDuplicates(t, texts, s))
		if len(want) < 3 {
			t.Fatalf("%s: only %d pairs to find", name, len(want))
		}
		d, err := NewDeduplicator[int](s)
		if err != nil {
			t.Fatal(err)
		}
		d.AddAll(bg, slices.All(texts))
		got := sortSimilar(listed(d.Pairs(bg)))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d pairs, not %d", name, len(got), len(want))
		}
		// One by one it is the same, and with deleted and replaced documents besides.
		one, _ := NewDeduplicator[int](s)
		for i := range texts {
			one.Add(-i-1, texts[(i*7)%len(texts)])
		}
		for i, text := range texts {
			one.Add(i, "something else")
			one.Add(i, text)
		}
		for i := range texts {
			if !must(one.Delete(-i-1)) || must(one.Delete(-i-1)) {
				t.Fatal("Delete does not say what was there")
			}
		}
		if got := sortSimilar(listed(one.Pairs(bg))); !slices.Equal(got, want) || one.Len() != len(texts) {
			t.Errorf("%s: %d pairs of those that are left, not %d", name, len(got), len(want))
		}
		for _, old := range []int{0, 1, len(texts) / 2, len(texts)} {
			var fresh []Pair[int]
			for _, p := range want {
				if p.B >= old {
					fresh = append(fresh, p)
				}
			}
			if got := sortSimilar(listed(d.PairsSince(bg, old))); !slices.Equal(got, fresh) {
				t.Errorf("%s: since %d %d pairs, not %d", name, old, len(got), len(fresh))
			}
		}
	}
}

// What comes one by one is compared with all that came before, by weights of when their
// number last doubled.
func TestDeduplicatorSearch(t *testing.T) {
	t.Parallel()
	texts := changedTexts(t, shorter(500, 200))
	d, err := NewDeduplicator[int](DeduplicatorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	var stale *history
	var learned []string // what the weights are of
	for i, text := range texts {
		if got := listed(d.Search(text)); i%5 == 0 {
			again := listed(d.Search(text))
			if !slices.Equal(got, again) {
				t.Fatalf("text %d: %v, and then %v", i, got, again)
			}
		}
		if d.known != stale {
			stale, learned = d.known, texts[:i]
		}
		got := must(d.SearchAndAdd(i, text))
		if i%7 == 0 {
			// Of the texts that the weights are of, those that are found are those that all
			// pairs would have.
			ref, _ := NewDeduplicator[int](DeduplicatorOptions{})
			ref.AddAll(bg, slices.All(learned))
			h := must(ref.learned())
			p := ref.settings.Fingerprinter.profile(text)
			v := h.vector(&p.profile)
			var want []Match[int]
			for j := range i {
				q := ref.settings.Fingerprinter.profile(texts[j])
				if c := v.Cosine(h.vector(&q.profile)); c >= h.threshold.Similarity {
					kind := kindOf(p.words, q.words, h.forms.Read(p.words), h.forms.Read(q.words))
					if texts[j] == text {
						kind = Identical
					}
					if kind != SameForm {
						want = append(want, Match[int]{ID: j, Similarity: c, Kind: kind})
					}
				}
			}
			slices.SortStableFunc(want, func(a, b Match[int]) int { return cmp.Compare(b.Similarity, a.Similarity) })
			if !slices.Equal(got, want) && len(got)+len(want) > 0 {
				t.Fatalf("text %d: %v, not %v", i, got, want)
			}
			found += len(got)
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
	if got := must(d.SearchAndAdd(3, texts[3])); slices.ContainsFunc(got, func(s Match[int]) bool { return s.ID == 3 }) {
		t.Errorf("a document is found that was replaced: %v", got)
	}
	for i := range texts {
		must(d.Delete(i))
	}
	if got := listed(d.Search(texts[0])); len(got) > 0 || d.Len() != 0 {
		t.Errorf("%v is found, and was deleted", got)
	}
	d.Add(7, texts[0])
	if got := listed(d.Search(texts[0])); len(got) != 1 || got[0] != (Match[int]{ID: 7, Similarity: 1, Kind: Identical}) {
		t.Errorf("%v of what was deleted and added again", got)
	}
}

// TestDeduplicatorForgets: what was deleted does not slow down searches, and weights are
// renewed though there are never more documents.
func TestDeduplicatorForgets(t *testing.T) {
	t.Parallel()
	d, _ := NewDeduplicator[int](DeduplicatorOptions{})
	for i := range 500 {
		must(d.SearchAndAdd(i, fmt.Sprintf("document %d of a window that moves on, number %d", i*7919, i)))
		must(d.Delete(i - 50))
	}
	if n := d.known.index.(*vectorSearcher).index.Len(); n > 50 || len(d.digests) > 50 || d.known.at > 51 || d.known.at < 49 {
		t.Errorf("%d vectors, %d digests, weights of %d documents; there are 50", n, len(d.digests), d.known.at)
	}
	// Documents without features do not count.
	e, _ := NewDeduplicator[int](DeduplicatorOptions{})
	for i := range 300 {
		e.Add(i, "")
		must(e.SearchAndAdd(1000+i, "?"))
	}
	if e.Search("something"); e.entered != 0 || e.Len() != 600 {
		t.Errorf("%d of %d documents have features", e.entered, e.Len())
	}
	// Weights are made again with every document up to 64, and then when as many have come as
	// there were.
	f, _ := NewDeduplicator[int](DeduplicatorOptions{})
	times, last := 0, (*history)(nil)
	for i := range 1000 {
		must(f.SearchAndAdd(i, fmt.Sprint("text ", i*i, " with number ", i)))
		if f.known != last {
			times, last = times+1, f.known
		}
	}
	if times != 68 { // at 0 to 64, 128, 256 and 512
		t.Errorf("weights were made %d times", times)
	}
}

// TestGroupsOld: groups of new and old documents are those that the pairs since have.
func TestGroupsOld(t *testing.T) {
	t.Parallel()
	texts := changedTexts(t, shorter(300, 120))
	texts = append(texts, texts[:40]...)
	for _, old := range []int{0, 1, 60, 130, len(texts) - 10} {
		d, _ := NewDeduplicator[int](DeduplicatorOptions{})
		d.AddAll(bg, slices.All(texts))
		for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
			for name, prefer := range map[string]func(a, b Document[int]) bool{"first": first[int], "longest": longest[int], "newest": newest[int]} {
				before := func(i, j int) bool {
					if (i < old) != (j < old) {
						return i < j
					}
					return prefer(Document[int]{i, i, len([]rune(texts[i]))}, Document[int]{j, j, len([]rune(texts[j]))})
				}
				of := GroupPairs(len(texts), slices.Values(listed(d.PairsSince(bg, old))), by, before)
				if old > 0 && (name != "first" || by != Centres) {
					continue // of equal old documents one stands for all
				}
				want := map[int][]int{}
				for i, c := range of {
					want[c] = append(want[c], i)
				}
				n := 0
				for c, members := range want {
					if len(members) < 2 {
						delete(want, c)
					}
					n += len(members)
				}
				groups := must(d.Groups(bg, Grouping[int]{Linkage: by, Prefer: prefer, Old: old}))
				if len(groups) != len(want) {
					t.Errorf("old %d, linkage %d, %s: %d groups, not %d", old, by, name, len(groups), len(want))
				}
				for _, g := range groups {
					if !slices.Equal(want[g.Keep], g.Members) {
						t.Errorf("old %d, linkage %d, %s: %v, not %v", old, by, name, g, want[g.Keep])
					}
					if g.Members[0] < old && g.Keep >= old {
						t.Errorf("old %d, linkage %d, %s: %v keeps what is not old", old, by, name, g)
					}
				}
			}
		}
	}
}

func TestDeduplicatorReadersAndWriters(t *testing.T) {
	t.Parallel()
	texts := changedTexts(t, 150)
	d, _ := NewDeduplicator[int](DeduplicatorOptions{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i, text := range texts {
				switch w {
				case 0:
					must(d.SearchAndAdd(i, text))
				case 1:
					d.Add(1000+i, text)
				case 2:
					if d.Search(text); i%3 == 0 {
						must(d.Delete(i))
					}
				default:
					if i%20 == 0 {
						for range d.Pairs(bg) {
						}
						must(d.Groups(bg, Grouping[int]{}))
						must(d.Explain(text, texts[0]))
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestSettings(t *testing.T) {
	for _, s := range []DeduplicatorOptions{{Similarity: -1}, {Similarity: 1.1}, {Similarity: math.NaN()}, {Recall: 2}, {Recall: math.NaN()},
		{Fingerprinter: Fingerprinter{Weight: Product{nil}}}} {
		if d, err := NewDeduplicator[int](s); err == nil || d != nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func TestGroupPairs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for n := range shorter(400, 100) {
		size := n % 40
		similar := map[[2]int]float64{}
		var pairs []Pair[int]
		for j := range size {
			for i := range j {
				if rnd.IntN(4) == 0 {
					s := float64(rnd.IntN(5)+1) / 5
					similar[[2]int{i, j}] = s
					pairs = append(pairs, Pair[int]{A: i, B: j, Similarity: s})
				}
			}
		}
		near := func(i, j int) (float64, bool) {
			s, ok := similar[[2]int{min(i, j), max(i, j)}]
			return s, ok
		}
		value := rnd.Perm(size + 1)
		for _, before := range []func(i, j int) bool{nil, func(i, j int) bool { return value[i]/3 < value[j]/3 }} {
			first := func(i, j int) bool { // the order that before makes
				if before != nil && (before(i, j) || before(j, i)) {
					return before(i, j)
				}
				return i < j
			}
			for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
				of := GroupPairs(size, slices.Values(pairs), by, before)
				shuffled := slices.Clone(pairs)
				rnd.Shuffle(len(pairs), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				if again := GroupPairs(size, slices.Values(shuffled), by, before); !slices.Equal(of, again) {
					t.Fatalf("linkage %d depends on the order of the pairs: %v, %v", by, of, again)
				}
				for i, c := range of {
					if of[c] != c {
						t.Fatalf("linkage %d: %d is represented by %d, and that by %d", by, i, c, of[c])
					}
					if by != Centres && first(i, c) {
						t.Fatalf("linkage %d: %d represents %d, which comes first", by, c, i)
					}
					for j := range i {
						s, linked := near(i, j)
						switch {
						case by == Centres && of[i] == i && of[j] == j && linked:
							t.Fatalf("centres %d and %d are near-duplicates", i, j)
						case by == Centres && of[j] == j && of[i] != i && linked:
							if best, _ := near(i, c); best < s {
								t.Fatalf("%d belongs to %d, and is more similar to %d", i, c, j)
							}
						case by == CompleteLinks && c == of[j] && !linked:
							t.Fatalf("%d and %d are in a group, and are no near-duplicates", i, j)
						case by == Chains && linked && c != of[j]:
							t.Fatalf("%d and %d are not in one group", i, j)
						}
					}
					if _, ok := near(i, c); by == Centres && i != c && !ok {
						t.Fatalf("%d is not near its centre %d", i, c)
					}
				}
				if by == CompleteLinks { // no two groups could be one
					for i := range size {
						for j := range i {
							if of[i] == i && of[j] == j && allLinked(of, i, j, near) {
								t.Fatalf("groups %d and %d could be one", i, j)
							}
						}
					}
				}
			}
		}
	}
}

func allLinked(of []int, a, b int, near func(i, j int) (float64, bool)) bool {
	for i, x := range of {
		for j, y := range of {
			if _, ok := near(i, j); x == a && y == b && !ok {
				return false
			}
		}
	}
	return true
}

// A chain of texts, each a little changed: only Chains makes one group of them.
func TestGroups(t *testing.T) {
	t.Parallel()
	words := func(from, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("word%d ", from+i)
		}
		return text
	}
	d, _ := NewDeduplicator[string](DeduplicatorOptions{})
	for i := range 9 {
		d.Add(fmt.Sprint("chain", i), words(i*20, 100+i))
	}
	d.Add("alone", words(5000, 80))
	d.Add("copy", words(5000, 80))
	for by, most := range map[Linkage]int{Centres: 5, CompleteLinks: 4, Chains: 9} {
		groups := must(d.Groups(bg, Grouping[string]{Linkage: by}))
		for _, g := range groups {
			if len(g.Members) > most || by == Chains && g.Members[0] == "chain0" && len(g.Members) != 9 {
				t.Errorf("linkage %d: a group of %d: %v", by, len(g.Members), g)
			}
			if last := g.Members[len(g.Members)-1]; by != Centres && g.Members[0] != "alone" && g.Keep != last { // the words of a text get longer
				t.Errorf("linkage %d keeps %s of %v", by, g.Keep, g.Members)
			}
		}
	}
	for prefer, want := range map[string][2]string{"first": {"chain0", "alone"}, "": {"chain8", "alone"}, "longest": {"chain8", "alone"}, "newest": {"chain8", "copy"}, "own": {"chain4", "alone"}} {
		g := Grouping[string]{Linkage: Chains}
		switch prefer {
		case "first":
			g.Prefer = first[string]
		case "longest":
			g.Prefer = longest[string]
		case "newest":
			g.Prefer = newest[string]
		case "own":
			g.Prefer = func(a, b Document[string]) bool { return a.ID == "chain4" && b.ID != "chain4" }
		}
		groups := must(d.Groups(bg, g))
		if len(groups) != 2 || groups[0].Keep != want[0] || groups[1].Keep != want[1] {
			t.Errorf("%s: %v, want %v to be kept", prefer, groups, want)
		}
	}
}

func first[ID comparable](a, b Document[ID]) bool { return a.Number < b.Number }

func longest[ID comparable](a, b Document[ID]) bool {
	return a.Length > b.Length || a.Length == b.Length && a.Number < b.Number
}

func newest[ID comparable](a, b Document[ID]) bool { return a.Number > b.Number }

// TestDeduplicatorReplaced: ids that are replaced again and again, and equal documents that are deleted
// in any order, leave nothing behind.
func TestDeduplicatorReplaced(t *testing.T) {
	d := must(NewDeduplicator[int](DeduplicatorOptions{}))
	const live = 100
	for i := range 20 * live {
		if err := d.Add(i%live, fmt.Sprintf("document %d of %d", i%7, i)); err != nil {
			t.Fatal(err)
		}
		if i%501 == 0 { // with a history, too
			must(d.Exists("document 5 of 5"))
		}
	}
	if d.Len() != live || len(d.docs) > live+1 || len(d.contents) > live+1 || len(d.ids) != live {
		t.Errorf("%d documents in %d slots, with %d contents", d.Len(), len(d.docs), len(d.contents))
	}
	if doc, ok, err := d.Get(7); !ok || err != nil || doc.Number != 19*live+7 {
		t.Errorf("%+v, %t, %v", doc, ok, err)
	}
	ref := must(NewDeduplicator[int](DeduplicatorOptions{})) // with the documents that are left
	for i := range live {
		ref.Add(i, fmt.Sprintf("document %d of %d", (19*live+i)%7, 19*live+i))
	}
	if got, want := sortSimilar(listed(d.Pairs(bg))), sortSimilar(listed(ref.Pairs(bg))); !slices.Equal(got, want) {
		t.Errorf("%d pairs, not %d", len(got), len(want))
	}

	// Equal documents.
	const equal = 2000
	e := must(NewDeduplicator[int](DeduplicatorOptions{}))
	left := map[int]bool{}
	for i := range equal {
		e.Add(i, "one and the same document")
		left[i] = true
	}
	for n, i := range rand.New(rand.NewPCG(8, 8)).Perm(equal) {
		if !must(e.Delete(i)) || must(e.Delete(i)) {
			t.Fatalf("Delete(%d)", i)
		}
		if delete(left, i); n%400 == 0 {
			found := must(e.SearchAndAdd(-1, "one and the same document"))
			must(e.Delete(-1))
			want := slices.Sorted(maps.Keys(left))
			if !slices.EqualFunc(found, want, func(m Match[int], id int) bool { return m.ID == id && m.Similarity == 1 }) {
				t.Fatalf("%d found, not %d", len(found), len(want))
			}
		}
	}
	if e.Len() != 0 || len(e.freed) != len(e.contents) || len(e.freeDocs) != len(e.docs) || len(e.digests) != 0 {
		t.Errorf("%d documents are left, and %d digests", e.Len(), len(e.digests))
	}
}

// BenchmarkDeduplicatorGroups groups pages of one template, by linkage.
func BenchmarkDeduplicatorGroups(b *testing.B) {
	template := corpus(b, "en")[0].Text
	template = template[:min(len(template), 3000)]
	for _, by := range []struct {
		name    string
		linkage Linkage
		n       int
	}{{"centres", Centres, 20_000}, {"chains", Chains, 10_000}} {
		b.Run(fmt.Sprintf("linkage=%s/n=%d", by.name, by.n), func(b *testing.B) {
			d := must(NewDeduplicator[int](DeduplicatorOptions{}))
			for i := range by.n {
				d.Add(i, fmt.Sprintf("%s Page %d of %d.", template, i, by.n))
			}
			for b.Loop() {
				if groups := must(d.Groups(bg, Grouping[int]{Linkage: by.linkage})); len(groups) != 1 {
					b.Fatal(len(groups))
				}
			}
		})
	}
}
