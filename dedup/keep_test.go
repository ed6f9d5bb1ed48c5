package dedup

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
)

// TestKeepAgrees: what groups keep does not depend on the order of adding, also where what one keeps hinders another one.
func TestKeepAgrees(t *testing.T) {
	t.Parallel()
	texts := collections.Shapes()["chain"]
	var ids []string
	for id := range texts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = ids[:400]
	for _, by := range []neardup.Linkage{neardup.CentreLinkage, neardup.CompleteLinkage} {
		var first map[string]string
		for seed := range uint64(4) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			d, err := New[string](Options{Similarity: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if err := d.Add(id, neardup.Text(texts[id])); err != nil {
					t.Fatal(err)
				}
			}
			groups, err := d.Groups(t.Context(), Grouping[string]{Linkage: by, Prefer: func(a, b Entry[string]) bool { return a.ID < b.ID }})
			if err != nil {
				t.Fatal(err)
			}
			kept := map[string]string{}
			for _, g := range groups {
				for _, id := range g.Members {
					kept[id] = g.Keep
				}
			}
			if first == nil {
				first = kept
			}
			for id, keep := range kept {
				if first[id] != keep {
					t.Fatalf("linkage %d, order %d: for %s, %s is kept instead of %s", by, seed, id, keep, first[id])
				}
			}
		}
	}
}
