package dedup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
			groups, err := d.Groups(t.Context(), GroupOptions[string]{Linkage: by, Prefer: func(a, b Entry[string]) bool { return a.ID < b.ID }})
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

// TestMostTries: so many members are tried, and no more, before the one that represents the group is kept.
func TestMostTries(t *testing.T) {
	for _, c := range []struct {
		tried int
		want  int
	}{{7, 8}, {8, 99}} {
		d, err := New[int](Options{Similarity: 0.8})
		if err != nil {
			t.Fatal(err)
		}
		// text returns 800 words, of which some are others.
		text := func(from, to, by int) neardup.Text {
			var words []string
			for i := range 1000 {
				w := fmt.Sprint("w", string(rune('a'+i%26)), string(rune('a'+i/26%26)), string(rune('a'+i/676)))
				if i >= from && i < to {
					w = string(rune(97+by)) + w[1:]
				}
				words = append(words, w)
			}
			return neardup.Text(strings.Join(words, " "))
		}
		for i := 1; i <= c.tried; i++ { // like the whole text, but not like each other
			d.Add(i, text(i*100, i*100+100, i))
		}
		d.Add(c.tried+1, text(400, 401, 20))              // like all others
		d.Add(99, text(0, 0, 0)+" andthelongest of them") // represents the group
		groups, err := d.Groups(context.Background(), GroupOptions[int]{Prefer: func(a, b Entry[int]) bool { return a.ID < b.ID }})
		if err != nil || len(groups) != 1 || groups[0].Keep != c.want || len(groups[0].Members) != c.tried+2 {
			t.Errorf("%d are tried before: got %v, %v, want to keep %d", c.tried, groups, err, c.want)
			for p := range d.Pairs(context.Background()) {
				t.Log(p)
			}
		}
	}
}
