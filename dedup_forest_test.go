package neardup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// revisedTexts are n texts of words, of which a half are revisions of the others, from light to heavy.
func revisedTexts(n int) []string {
	rnd := rand.New(rand.NewPCG(8, 9))
	docs := zipfDocuments(n, 120)
	texts := make([]string, n)
	for i, words := range docs {
		var b strings.Builder
		if i%2 == 1 {
			copy(words, docs[i-1])
			rate := rnd.Float64() * rnd.Float64() * 0.3
			for j := range words {
				if rnd.Float64() < rate {
					words[j] = rnd.Uint32N(50_000)
				}
			}
		}
		for _, w := range words {
			b.WriteString(word(w))
			b.WriteByte(' ')
		}
		texts[i] = b.String()
	}
	return texts
}

// word spells a number.
func word(w uint32) string {
	s := ""
	for w = w*7 + 30; w > 0; w /= 20 {
		s += "bcdfghjklmnpqrstvwxz"[w%20:][:1] + "aeiou"[w%5:][:1]
	}
	return s
}

// TestLargeCollection: a collection that is joined by trees has nearly the pairs of an exact join, and
// the groups of its pairs.
func TestLargeCollection(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(shorter(6000, 2000))
	pairsOf := func(recall float64, limit int) (*Deduplicator[int], []Pair[int]) {
		d, err := NewDeduplicator[int](DeduplicatorOptions{Recall: recall, Similarity: 0.6})
		if err != nil {
			t.Fatal(err)
		}
		d.limit, d.sampled = limit, limit
		if err := d.AddAll(bg, slices.All(texts)); err != nil {
			t.Fatal(err)
		}
		return d, sortSimilar(listed(d.Pairs(bg)))
	}
	const limit = 100_000 // of 220 for each text, so the weights are of a sample
	_, exact := pairsOf(1, limit)
	large, found := pairsOf(0, limit)
	plan := must(large.Plan(bg))
	var stages []string
	last := Progress{}
	large.settings.Progress = func(p Progress) {
		if p.Stage != last.Stage {
			stages = append(stages, p.Stage)
		} else if p.Done < last.Done {
			t.Errorf("%+v after %+v", p, last)
		}
		if last = p; p.Done < 0 || p.Done > p.Total {
			t.Errorf("%+v", p)
		}
	}
	must(large.Groups(bg, Grouping[int]{}))
	if got := strings.Join(stages, ", "); got != "weighing, reading, sampling, finding forms, gathering, finding forms, comparing" || last.Done == 0 {
		t.Errorf("stages %s, the last one %+v", got, last)
	}
	of := map[[2]int]bool{}
	for _, p := range exact {
		of[[2]int{p.A, p.B}] = true
	}
	right := 0
	for _, p := range found {
		if of[[2]int{p.A, p.B}] {
			right++
		}
	}
	t.Logf("%d pairs, %d by trees, %d of them the same; %v; %v", len(exact), len(found), right, plan, must(large.Threshold(bg)))
	if plan.Trees == 0 || plan.Recall < 0.95 || plan.Sampled < 100 {
		t.Errorf("plan %+v", plan)
	}
	// The weights differ a little, so pairs at the threshold do.
	if share := float64(right) / float64(len(exact)); share < 0.97 || float64(right) < 0.97*float64(len(found)) {
		t.Errorf("of %d pairs %d are found, and %d others", len(exact), right, len(found)-right)
	}
	small, _ := NewDeduplicator[int](DeduplicatorOptions{Recall: 0.5})
	small.AddAll(bg, slices.All(texts[:100]))
	if p := must(small.Plan(bg)); p != (Plan{Recall: 1}) {
		t.Errorf("of few documents: %v", p)
	}
}

// largeDeduplicator returns a Deduplicator that joins even few documents by trees, whose weights come from
// documents of a size of at most sampled; 0 is the usual size.
func largeDeduplicator[ID comparable](t *testing.T, o DeduplicatorOptions, sampled int) *Deduplicator[ID] {
	d, err := NewDeduplicator[ID](o)
	if err != nil {
		t.Fatal(err)
	}
	d.limit, d.sampled = 1, sampled
	return d
}

// TestLargeOrder: what is found in a large collection does not depend on the order of adding, on what was
// deleted before, or on how many processors there are.
func TestLargeOrder(t *testing.T) {
	texts := revisedTexts(shorter(600, 300))
	for i := range 30 {
		texts = append(texts, formLetter(word(uint32(i)+60_000), fmt.Sprint(i%28+1, " May"), fmt.Sprint(i)))
	}
	texts = append(texts, texts[3]+"!", texts[3]+"?", "", "...", "12", "a b")
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []string
	for round := range 4 {
		d := largeDeduplicator[string](t, DeduplicatorOptions{Kinds: AllKinds}, 20_000)
		for _, text := range texts {
			if round == 2 { // deleted again below
				d.Add("not "+text, "not "+text)
			}
			d.Add(text, text)
		}
		for _, text := range texts {
			d.Delete("not " + text)
		}
		if round == 3 {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		}
		got := allFound(d)
		if round == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %d results, not the same %d", round, len(got), len(want))
		}
		rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	}
	if len(want) < 100 {
		t.Errorf("only %d results", len(want))
	}
}

// TestLargeGroups: in a large collection groups are those of its pairs, pairs since a number those that
// involve a later document, and searches find what pairs are.
func TestLargeGroups(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(800)
	texts = append(texts, texts[0], texts[1])
	d := largeDeduplicator[int](t, DeduplicatorOptions{Similarity: 0.55}, 0)
	d.AddAll(bg, slices.All(texts))
	all := sortSimilar(listed(d.Pairs(bg)))
	if len(all) < 100 {
		t.Fatalf("only %d pairs", len(all))
	}
	later := slices.DeleteFunc(slices.Clone(all), func(p Pair[int]) bool { return p.B < 200 })
	if got := sortSimilar(listed(d.PairsSince(bg, 200))); !slices.Equal(got, later) {
		t.Errorf("%d pairs since 200, not %d", len(got), len(later))
	}
	first := func(a, b Document[int]) bool { return a.Number < b.Number }
	for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
		of := GroupPairs(len(texts), slices.Values(all), by, func(i, j int) bool { return i < j })
		for _, g := range must(d.Groups(bg, Grouping[int]{Linkage: by, Prefer: first})) {
			for _, m := range g.Members {
				if of[m] != g.Keep {
					t.Fatalf("linkage %d: %d is with %d, not %d", by, m, g.Keep, of[m])
				}
				of[m] = m // seen
			}
		}
		for i, root := range of {
			if i != root {
				t.Fatalf("linkage %d: %d is in no group, and should be with %d", by, i, root)
			}
		}
	}
	found := 0
	for _, p := range all {
		for _, m := range listed(d.Search(texts[p.A])) {
			if m.ID == p.B && m.Similarity == p.Similarity && m.Kind == p.Kind {
				found++
			}
		}
	}
	if found != len(all) {
		t.Errorf("searches find %d of %d pairs", found, len(all))
	}
}

// TestLargeFamilies: versions of one page are all found, letters of one form are no near-duplicates, and
// texts on both sides of the length from which on words count are compared by characters too.
func TestLargeFamilies(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	d := largeDeduplicator[string](t, DeduplicatorOptions{Similarity: 0.7}, 0)
	for i := range 400 { // what others write
		d.Add(fmt.Sprint("other ", i), randomWords(rnd, 20+rnd.IntN(200)))
	}
	page := strings.Fields(randomWords(rnd, 150))
	const versions = 100 // more than a bucket that is not split
	for i := range versions {
		page[i] = word(uint32(i) + 70_000)
		d.Add(fmt.Sprint("version ", i), strings.Join(page, " "))
	}
	for i := range 60 {
		d.Add(fmt.Sprint("letter ", i), formLetter(word(uint32(i)+60_000), fmt.Sprint(i%28+1, " May"), fmt.Sprint(rnd.IntN(1e6))))
	}
	for i, n := range []int{50, 51, 99, 100} {
		short := strings.Fields(randomWords(rnd, n))
		d.Add(fmt.Sprint("short ", i), strings.Join(short, " "))
		d.Add(fmt.Sprint("short ", i, " and more"), strings.Join(short, " ")+" "+word(80_000+uint32(i)))
	}
	of := map[string]int{}
	for _, p := range listed(d.Pairs(bg)) {
		a, _, _ := strings.Cut(p.A, " ")
		if b, _, _ := strings.Cut(p.B, " "); a != b {
			t.Errorf("%v", p)
		}
		of[a]++
	}
	if of["letter"] > 0 || of["other"] > 0 || of["short"] != 4 || of["version"] < versions {
		t.Errorf("pairs: %v", of)
	}
	// Neighbouring versions differ in a word.
	groups := must(d.Groups(bg, Grouping[string]{Linkage: Chains}))
	if len(groups) != 5 || len(slices.MaxFunc(groups, func(a, b Group[string]) int { return len(a.Members) - len(b.Members) }).Members) != versions {
		t.Errorf("%d groups", len(groups))
	}
}

// TestLargeRecords: records, and texts with features of the caller's, keep their features in a large
// collection, and have the same pairs.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(shorter(400, 200))
	for name, f := range map[string]Fingerprinter{
		"weight": {Weight: Count},
		"tokens": {Tokenizer: Words{}},
		"fields": {Fields: []Field{{Name: "text", Split: Words{}}}},
	} {
		var want []Pair[int]
		for _, isLarge := range []bool{false, true} {
			d := must(NewDeduplicator[int](DeduplicatorOptions{Fingerprinter: f, Similarity: 0.6}))
			if isLarge {
				d.limit = 1
			}
			for i, text := range texts {
				if f.Fields != nil {
					d.AddRecord(i, Record{"text": text})
				} else {
					d.Add(i, text)
				}
			}
			got := sortSimilar(listed(d.Pairs(bg)))
			if !isLarge {
				want = got
			} else if !slices.Equal(got, want) || len(want) < 20 {
				t.Errorf("%s: %d pairs, not %d", name, len(got), len(want))
			}
		}
	}
}

// TestUnseen compares the estimate of what no tree finds with what none finds: pairs that each tree finds
// with a probability of their own.
func TestUnseen(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	const pairs, trees, rounds = 2000, 16, 200
	covered := 0
	for range rounds {
		in := [trees + 1]int{}
		for range pairs {
			p := 0.05 + 0.9*rnd.Float64()
			n := 0
			for range trees {
				if rnd.Float64() < p {
					n++
				}
			}
			in[n]++
		}
		if unseen(in[:]) >= float64(in[0]) {
			covered++
		}
	}
	t.Logf("the bound holds in %d of %d rounds", covered, rounds)
	if covered < rounds*85/100 {
		t.Errorf("the bound holds in %d of %d rounds", covered, rounds)
	}
}

// TestLargeContext: work on a large collection ends with the context, and leaves nothing behind.
func TestLargeContext(t *testing.T) {
	t.Parallel()
	d := largeDeduplicator[int](t, DeduplicatorOptions{}, 0)
	d.AddAll(bg, slices.All(revisedTexts(300)))
	ended, cancel := context.WithCancel(bg)
	cancel()
	if _, err := d.Groups(ended, Grouping[int]{}); err != context.Canceled {
		t.Errorf("Groups: %v", err)
	}
	if _, err := d.Plan(ended); err != context.Canceled {
		t.Errorf("Plan: %v", err)
	}
	if _, err := d.Threshold(ended); err != context.Canceled {
		t.Errorf("Threshold: %v", err)
	}
	if _, err := d.Calibrate(ended, nil, Goal{}); err != context.Canceled {
		t.Errorf("Calibrate: %v", err)
	}
	for _, err := range d.Pairs(ended) {
		if err != context.Canceled {
			t.Errorf("Pairs: %v", err)
		}
	}
	if p := must(d.Plan(bg)); p.Trees == 0 || p.Sampled == 0 {
		t.Errorf("afterwards: %v", p)
	}
	if th := must(d.Threshold(bg)); th.Similarity < 0.5 {
		t.Errorf("afterwards: %v", th)
	}
}

func BenchmarkDeduplicatorPairs(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		texts := revisedTexts(n)
		for _, recall := range []float64{1, 0.99} {
			d, _ := NewDeduplicator[int](DeduplicatorOptions{Recall: recall})
			d.AddAll(bg, slices.All(texts))
			b.Run(fmt.Sprintf("n=%d/recall=%g", n, recall), func(b *testing.B) {
				pairs := 0
				for b.Loop() {
					pairs = 0
					for range d.Pairs(bg) {
						pairs++
					}
				}
				b.ReportMetric(float64(pairs), "pairs")
			})
		}
	}
}

// TestLargeCalibrate: labels move the threshold of a large collection too, and the pairs to label next are
// about no near-copies of each other.
func TestLargeCalibrate(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(shorter(1500, 600))
	for i := range 5 { // near-copies of a revised text
		texts = append(texts, texts[11]+fmt.Sprint(" ", i))
	}
	d := largeDeduplicator[int](t, DeduplicatorOptions{}, 0)
	d.AddAll(bg, slices.All(texts))
	var labels []Label[int]
	low := largeDeduplicator[int](t, DeduplicatorOptions{Similarity: 0.5}, 0)
	low.AddAll(bg, slices.All(texts))
	for _, p := range listed(low.Pairs(bg)) {
		labels = append(labels, Label[int]{p.A, p.B, p.Similarity >= 0.8})
	}
	cal, err := d.Calibrate(bg, labels, Goal{})
	if err != nil || cal.Point.F1 < 0.99 || cal.Options.Similarity < 0.77 || cal.Options.Similarity > 0.83 {
		t.Errorf("%v, error %v", cal, err)
	}
	plain, err := d.Calibrate(bg, nil, Goal{})
	if err != nil || len(plain.Ask) == 0 {
		t.Fatalf("%d pairs to label, error %v", len(plain.Ask), err)
	}
	seen := map[int]bool{}
	for _, p := range plain.Ask {
		for _, id := range []int{p.A, p.B} {
			if id >= len(texts)-5 {
				id = 11
			}
			if seen[id] {
				t.Errorf("%v asks about document %d again", plain.Ask, id)
			}
			seen[id] = true
		}
	}
}

// TestLargeSearch: searches find what Pairs finds, with the same similarities, also for documents that were
// added after the weighing, and not what was deleted.
func TestLargeSearch(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(shorter(6000, 2400))
	d := largeDeduplicator[int](t, DeduplicatorOptions{Similarity: 0.6}, 0)
	half := len(texts) * 2 / 3 // the rest is not enough for new weights
	d.AddAll(bg, slices.All(texts[:half]))
	found := func() map[[2]int]float64 {
		pairs := map[[2]int]float64{}
		for i, text := range texts {
			if _, ok, _ := d.Get(i); ok {
				for _, m := range listed(d.Search(text)) {
					if m.ID < i {
						pairs[[2]int{m.ID, i}] = m.Similarity
					}
				}
			}
		}
		return pairs
	}
	got, missing, n := found(), 0, 0
	for _, p := range listed(d.Pairs(bg)) {
		n++
		if s, ok := got[[2]int{p.A, p.B}]; !ok {
			missing++
		} else if s != p.Similarity {
			t.Errorf("%v: similarity %g", p, s)
		}
	}
	if n < 200 || missing*100 > n || len(got) > n {
		t.Errorf("of %d pairs searches miss %d; they find %d", n, missing, len(got))
	}
	// The rest is added one by one, with the same weights.
	before := d.known
	for i := half; i < len(texts); i++ {
		d.SearchAndAdd(i, texts[i])
		if i%3 == 0 {
			d.Delete(i - half)
		}
		if i%5 == 0 {
			d.Add(i, texts[i]) // again
		}
	}
	if d.known != before {
		t.Error("the weights have changed")
	}
	got, missing, n = found(), 0, 0
	for _, p := range listed(d.Pairs(bg)) { // with other weights
		if p.Similarity < 0.65 {
			continue
		}
		n++
		if _, ok := got[[2]int{p.A, p.B}]; !ok {
			missing++
		}
	}
	if n < 200 || missing*50 > n {
		t.Errorf("of %d pairs searches miss %d", n, missing)
	}
	for pair := range got {
		for _, id := range pair {
			if _, ok, _ := d.Get(id); !ok {
				t.Errorf("a deleted document is found: %v", pair)
			}
		}
	}
}
