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

// TestDeduplicatorPlan: with less recall the plan is a cheaper generator, which finds at least as
// much as was asked for, and what is found is right.
func TestDeduplicatorPlan(t *testing.T) {
	if !*full || raceDetector {
		t.Skip("takes long")
	}
	texts := revisedTexts(4000)
	d, err := NewDeduplicator[int](DeduplicatorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.AddAll(bg, slices.All(texts))
	all := sortSimilar(listed(d.Pairs(bg)))
	if len(all) < len(texts)/3 {
		t.Fatalf("only %d pairs", len(all))
	}
	differ := 0 // pairs of texts with different features
	for _, p := range all {
		if p.Similarity < 1 {
			differ++
		}
	}
	used := map[string]bool{}
	for _, recall := range []float64{0.1, 0.6, 0.95, 0.999} {
		d.settings.Recall = recall
		c := d.collect(0)
		least := c.least(bg)
		c.numbered = nil // without fingerprints
		plan := c.plan(c.number(0), least, recall, 0)
		used[plan.String()[:10]] = true
		var found []Pair[int]
		for p := range c.pairs(bg, least, recall, 0, d.settings.Kinds) {
			for _, i := range c.contents[p.A].docs {
				for _, j := range c.contents[p.B].docs {
					found = append(found, Pair[int]{A: min(i, j), B: max(i, j), Similarity: p.Similarity, Kind: c.kind(p.A, p.B)})
				}
			}
		}
		sortSimilar(found)
		right := 0
		for _, p := range found {
			if i, ok := slices.BinarySearchFunc(all, p, func(a, b Pair[int]) int {
				if a.B != b.B {
					return a.B - b.B
				}
				return a.A - b.A
			}); !ok || all[i] != p {
				t.Fatalf("recall %g: %v was found, and is not similar enough", recall, p)
			}
			right++
		}
		got := float64(right) / float64(differ)
		t.Logf("recall %g: %v; found %.4f", recall, plan, got)
		if got < recall-0.02 || plan.Recall < recall {
			t.Errorf("recall %g: %v; found %.4f", recall, plan, got)
		}
	}
	if len(used) != 3 {
		t.Errorf("not every generator was used: %v", used)
	}
	// Few documents are compared exactly at once.
	few, _ := NewDeduplicator[int](DeduplicatorOptions{Recall: 0.5})
	few.AddAll(bg, slices.All(texts))
	if p := few.Plan(); p != (Plan{Recall: 1}) || !strings.Contains(p.String(), "exactly") {
		t.Errorf("of few documents: %v", p)
	}
	if got := sortSimilar(listed(few.Pairs(bg))); !slices.Equal(got, all) {
		t.Errorf("of few documents %d pairs, not %d", len(got), len(all))
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
