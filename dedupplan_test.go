package neardup

import (
	"fmt"
	"math/rand/v2"
	"os"
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

func BenchmarkDeduplicatorPairs(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		texts := revisedTexts(n)
		for _, recall := range []float64{1, 0.95} {
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
