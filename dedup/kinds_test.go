package dedup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

// TestPairKinds: each pair of a small collection has the kind that a person would give it, in Pairs, in Search, in Groups and
// in Explain.
func TestPairKinds(t *testing.T) {
	t.Parallel()
	const text = "On 3 March 2026 the council of Leeds met in the old town hall to talk about the lorries that drive through Mill Street at night."
	for _, c := range []struct {
		other string
		want  neardup.Kind
	}{
		{text, neardup.Identical},
		{strings.ToUpper(text) + "\n", neardup.SameWords},
		{strings.Replace(text, "3 March 2026", "2026-04-05", 1), neardup.SameExceptNumbers},
		{"Dear editor, " + text + " Please print this.", neardup.Contained},
		{strings.Replace(text, "lorries", "buses", 1), neardup.Revised},
	} {
		add := func(o Options) *Deduplicator[string] {
			d := made[string](t, o)
			d.Add("text", neardup.Text(text))
			d.Add("other", neardup.Text(c.other))
			return d
		}
		d := add(Options{Similarity: 0.5})
		if pairs := listed(d.Pairs(bg)); len(pairs) != 1 || pairs[0].Kind != c.want {
			t.Errorf("%q: %v, want %v", c.other, pairs, c.want)
		}
		if e := must(d.Explain("text", "other")); e.Kind != c.want || !e.Duplicate || !e.Compared || !strings.Contains(e.String(), c.want.String()) {
			t.Errorf("%q: %v", c.other, e)
		}
		if found := listed(d.Search(bg, neardup.Text(c.other))); !slices.ContainsFunc(found, func(m neardup.Match[string]) bool { return m.ID == "text" && m.Kind == c.want }) {
			t.Errorf("%q: found %v", c.other, found)
		}
		for _, by := range linkages {
			groups := must(d.Groups(bg, GroupOptions[string]{Linkage: by}))
			if len(groups) != 1 || len(groups[0].Members) != 2 {
				t.Errorf("%q: groups %v", c.other, groups)
				continue
			}
			for i, m := range groups[0].Matches {
				want := c.want
				if m.ID == groups[0].Keep {
					want = neardup.Identical
				}
				if m.ID != groups[0].Members[i] || m.Kind != want {
					t.Errorf("%q: groups %v", c.other, groups)
				}
			}
		}
		// Without the kind, nothing is found.
		without := add(Options{Similarity: 0.5, Kinds: neardup.AllKinds &^ c.want})
		if pairs := listed(without.Pairs(bg)); len(pairs) > 0 {
			t.Errorf("%q: %v, though the kind is left out", c.other, pairs)
		}
		for _, by := range linkages {
			if groups := must(without.Groups(bg, GroupOptions[string]{Linkage: by})); len(groups) > 0 {
				t.Errorf("%q: %v, though the kind is left out", c.other, groups)
			}
		}
		if found := must(without.SearchAndAdd(bg, "third", neardup.Text(c.other))); slices.ContainsFunc(found, func(m neardup.Match[string]) bool { return m.Kind == c.want }) {
			t.Errorf("%q: found %v, though the kind is left out", c.other, found)
		}
	}
}

// TestRecordKinds: a line break in a value is no border of columns.
func TestRecordKinds(t *testing.T) {
	t.Parallel()
	d := made[int](t, Options{Similarity: 0.1, Kinds: neardup.AllKinds, Fingerprinter: neardup.Fingerprinter{
		Normalizer: neardup.Normalizer{Form: neardup.FormNFKC}, Fields: []neardup.Field{{Name: "a", Split: neardup.Words{}}, {Name: "b", Split: neardup.Words{}}}}})
	d.Add(0, neardup.Record{"a": "one two three", "b": "four five six"})
	for i, c := range []struct {
		rec  neardup.Record
		want neardup.Kind
	}{
		{neardup.Record{"a": "one two three", "b": "four five six"}, neardup.Identical},
		{neardup.Record{"a": "one two three\nfour five six", "b": ""}, neardup.Revised},
		{neardup.Record{"a": "One, two, three", "b": "four FIVE six"}, neardup.SameWords},
		{neardup.Record{"a": "one two three", "b": "four five six seven"}, neardup.Contained},
	} {
		d.Add(i+1, c.rec)
		if e := must(d.Explain(0, i+1)); e.Kind != c.want {
			t.Errorf("%v: %v, want %v", c.rec, e.Kind, c.want)
		}
		if !slices.ContainsFunc(listed(d.Pairs(bg)), func(p neardup.Pair[int]) bool { return p.A == 0 && p.B == i+1 && p.Kind == c.want }) {
			t.Errorf("%v is not found as %v", c.rec, c.want)
		}
	}
}

// TestPlantedKinds: copies that are planted among other texts, each with one sort of edit, are found and have the kind of the
// edit, at least 19 of 20 of them.
func TestPlantedKinds(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 31)
	for name, l := range map[string]language{"english": englishA, "chinese": chineseA} {
		for _, c := range []struct {
			want neardup.Kind
			edit func(words []string) string
		}{
			{neardup.SameWords, func(w []string) string { return "— " + strings.ToUpper(l.join(w)) + "!" }},
			{neardup.SameExceptNumbers, func(w []string) string {
				w = slices.Clone(w)
				w[40], w[90] = " 1234 ", " 77 "
				return l.join(w)
			}},
			{neardup.Contained, func(w []string) string { return l.join(w) + l.separator + l.text(rnd, 8) }},
			{neardup.Revised, func(w []string) string { return l.join(l.revised(rnd, w, 0.03)) }},
		} {
			for _, own := range []int{150, 400} {
				d := made[string](t, Options{})
				n := larger(40, 200)
				for i := range n {
					words := l.some(rnd, own)
					words[40], words[90] = " 12 ", " 5.5 "
					d.Add(fmt.Sprint(i, "a"), neardup.Text(l.join(words)))
					d.Add(fmt.Sprint(i, "b"), neardup.Text(c.edit(words)))
				}
				is := 0
				for p := range d.Pairs(bg) {
					switch {
					case p.A[:len(p.A)-1] != p.B[:len(p.B)-1]:
						t.Errorf("%s: %v", name, p)
					case p.Kind == c.want:
						is++
					}
				}
				t.Logf("%s, %d words: %d of %d %v", name, own, is, n, c.want)
				if is*20 < n*19 {
					t.Errorf("%s, %d words: %d of %d are found as %v", name, own, is, n, c.want)
				}
			}
		}
	}
}

// TestMirrors: an article that stands on many sites, with a few other words before and behind it, is no form, and all its copies
// are found.
func TestMirrors(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 32)
	article := englishA.text(rnd, 300)
	const sites = 30
	d := made[int](t, Options{})
	for i := range sites {
		d.Add(i, neardup.Text(englishA.text(rnd, 5)+"\n"+article+"\n"+englishA.text(rnd, 5)))
	}
	for i := range 100 {
		d.Add(sites+i, neardup.Text(englishA.text(rnd, 300)))
	}
	groups := must(d.Groups(bg, GroupOptions[int]{}))
	if len(groups) != 1 || len(groups[0].Members) != sites {
		t.Errorf("%d groups, want one of %d", len(groups), sites)
	}
	if families := must(d.Families(bg)); len(families) > 0 {
		t.Errorf("%d families", len(families))
	}
}

// TestKindsLeftOut: leaving a kind out takes away no pair of another kind, and leaves none of its own; also where the same
// word is a figure in one text only, so that texts with the same words fill a form in differently.
func TestKindsLeftOut(t *testing.T) {
	t.Parallel()
	fills := []string{"ann@leeds.org", "ann leeds org", "Ann Leeds ORG", "the mayor in person", "your own counsellor soon", "Bob Miller at home", "newspaper editors", "some other guy", "3 May", "5 June"}
	fills = append(fills, fills[0], fills[3])
	add := func(o Options) *Deduplicator[string] {
		d := made[string](t, o)
		for i, fill := range fills {
			d.Add(fmt.Sprint(i), neardup.Text(complaint+fill+complained))
		}
		return d
	}
	all := factsOf(add(Options{Similarity: 0.3, Kinds: neardup.AllKinds}).Pairs(bg))
	for kinds := neardup.Kind(1); kinds <= neardup.AllKinds; kinds++ {
		some := add(Options{Similarity: 0.3, Kinds: kinds})
		want := slices.DeleteFunc(slices.Clone(all), func(p fact) bool { return p.Kind&kinds == 0 })
		sameFacts(t, kinds.String(), factsOf(some.Pairs(bg)), want)
		for m := range some.Search(bg, neardup.Text(complaint+fills[1]+complained)) {
			if m.Kind&kinds == 0 {
				t.Fatalf("%v: found %v", kinds, m)
			}
		}
	}
	if pairs := factsOf(add(Options{}).Pairs(bg)); !slices.ContainsFunc(pairs, func(p fact) bool { return p.A == "0" && p.B == "1" && p.Kind == neardup.SameWords }) {
		t.Errorf("the same words are not found: %v", pairs)
	}
}

// ended fails unless a context that ends is the error of a call.
func ended(t *testing.T, what string, call func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panics: %v", what, r)
		}
	}()
	if err := call(ctx); err != context.Canceled {
		t.Errorf("%s: %v", what, err)
	}
}

// TestEnded: a context that ends is the error of every method that has one, in time, also among equal documents.
func TestEnded(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, kinds := range []neardup.Kind{0, neardup.Revised, neardup.SameWords, neardup.AllKinds} {
		d := made[int](t, Options{Kinds: kinds})
		for i := range 4000 {
			d.Add(i, neardup.Text(complaint))
		}
		for i := range 100 {
			d.Add(i+5000, neardup.Text(complaint+fmt.Sprint("name", i)+complained+englishA.text(rnd, 3)))
		}
		for _, by := range linkages {
			ended(t, fmt.Sprint(kinds, " groups ", by), func(ctx context.Context) error {
				_, err := d.Groups(ctx, GroupOptions[int]{Linkage: by})
				return err
			})
		}
		last := func(seq func(yield func(neardup.Pair[int], error) bool)) (err error) {
			for _, err = range seq {
			}
			return err
		}
		ended(t, "Pairs", func(ctx context.Context) error { return last(d.Pairs(ctx)) })
		ended(t, "PairsSince", func(ctx context.Context) error { return last(d.PairsSince(ctx, 4050)) })
		ended(t, "Threshold", func(ctx context.Context) error { _, err := d.Estimate(ctx); return err })
		want := must(d.Estimate(bg))
		over, end := context.WithCancel(bg)
		end()
		if got, err := d.Estimate(over); err != nil || got != want { // it is known
			t.Errorf("Estimate again: %+v, %v, want %+v", got, err, want)
		}
		ended(t, "Families", func(ctx context.Context) error { _, err := d.Families(ctx); return err })
		ended(t, "Calibrate", func(ctx context.Context) error { _, err := d.Calibrate(ctx, nil, Target{}); return err })
		ended(t, "Comparisons", func(ctx context.Context) (err error) {
			for _, err = range d.Comparisons(ctx) {
			}
			return err
		})
		ended(t, "AddAll", func(ctx context.Context) error {
			return d.AddAll(ctx, func(yield func(int, neardup.Document) bool) { yield(1, neardup.Text("x")) })
		})
		// A context that ends during the loop.
		ctx, cancel := context.WithCancel(bg)
		n := 0
		var err error
		for _, err = range d.Pairs(ctx) {
			n++
			cancel()
		}
		if n > 2100 || n > 0 && err == nil {
			t.Errorf("%v: %d pairs after the context has ended, %v", kinds, n, err)
		}
		cancel()
	}
}

// TestRecordValues: a value belongs to its column, also if it has no words.
func TestRecordValues(t *testing.T) {
	d := made[int](t, Options{Kinds: neardup.AllKinds, Fingerprinter: neardup.Fingerprinter{
		Fields: []neardup.Field{{Name: "a", Split: neardup.Words{}}, {Name: "b", Split: neardup.Words{}}, {Name: "c", Split: neardup.Words{}}}}})
	d.Add(0, neardup.Record{"a": "!", "c": "one two three four five six"})
	d.Add(1, neardup.Record{"b": "!", "c": "one two three four five six"})
	if e := must(d.Explain(0, 1)); e.Kind != neardup.SameWords {
		t.Errorf("%v", e.Kind)
	}
}
