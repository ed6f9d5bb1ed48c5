package neardup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParseKinds(t *testing.T) {
	for k := Kind(1); k <= AllKinds; k++ {
		if got, err := ParseKinds(k.String()); got != k || err != nil {
			t.Errorf("%v: %v, %v", k, got, err)
		}
	}
	if got, err := ParseKinds("all"); got != AllKinds || err != nil {
		t.Errorf("all: %v, %v", got, err)
	}
	for _, bad := range []string{"", "Identical", "same form", "revised,", "64"} {
		if got, err := ParseKinds(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	if _, err := NewDeduplicator[int](DeduplicatorOptions{Kinds: AllKinds + 1}); err == nil {
		t.Error("a kind that there is not is allowed")
	}
	if s := fmt.Sprint(Kind(0), Kind(0x81)); s != "none identical,Kind(128)" {
		t.Error(s)
	}
}

// TestPairKinds: each pair of a small collection has the kind that a person would give it, in Pairs,
// in Search and in Explain.
func TestPairKinds(t *testing.T) {
	const text = "On 3 March 2026 the council of Leeds met in the old town hall to talk about the lorries that drive through Mill Street at night."
	for _, c := range []struct {
		other string
		want  Kind
	}{
		{text, Identical},
		{strings.ToUpper(text) + "\n", SameWords},
		{strings.Replace(text, "3 March 2026", "2026-04-05", 1), SameButFigures},
		{"Dear editor, " + text + " Please print this.", Contained},
		{strings.Replace(text, "lorries", "buses", 1), Revised},
	} {
		var d Deduplicator[string]
		d.Add("text", text)
		d.Add("other", c.other)
		pairs := listed(d.Pairs(bg))
		if len(pairs) != 1 || pairs[0].Kind != c.want {
			t.Errorf("%q: %v, want %v", c.other, pairs, c.want)
		}
		if e := must(d.Explain(text, c.other)); e.Kind != c.want || !e.Duplicate() || !strings.Contains(e.String(), c.want.String()) {
			t.Errorf("%q: %v", c.other, e)
		}
		found := listed(d.Search(c.other))
		if i := slices.IndexFunc(found, func(m Match[string]) bool { return m.ID == "text" }); i < 0 || found[i].Kind != c.want {
			t.Errorf("%q: found %v", c.other, found)
		}
		for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
			groups := must(d.Groups(bg, Grouping[string]{Linkage: by}))
			if len(groups) != 1 || groups[0].Kinds[slices.Index(groups[0].Members, groups[0].Keep)] != Identical || groups[0].Kinds[slices.IndexFunc(groups[0].Members, func(id string) bool { return id != groups[0].Keep })] != c.want {
				t.Errorf("%q: groups %v", c.other, groups)
			}
		}
		// Without the kind, nothing is found.
		without, err := NewDeduplicator[string](DeduplicatorOptions{Kinds: AllKinds &^ c.want})
		if err != nil {
			t.Fatal(err)
		}
		without.Add("text", text)
		without.Add("other", c.other)
		if pairs := listed(without.Pairs(bg)); len(pairs) > 0 {
			t.Errorf("%q: %v, though the kind is left out", c.other, pairs)
		}
		for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
			if groups := must(without.Groups(bg, Grouping[string]{Linkage: by})); len(groups) > 0 {
				t.Errorf("%q: %v, though the kind is left out", c.other, groups)
			}
		}
		if found := must(without.SearchAndAdd("third", c.other)); slices.ContainsFunc(found, func(m Match[string]) bool { return m.Kind == c.want }) {
			t.Errorf("%q: found %v, though the kind is left out", c.other, found)
		}
	}
}

// randomWords are words of a language with rare and frequent ones.
func randomWords(rnd *rand.Rand, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = word(rnd.Uint32N(rnd.Uint32N(20_000) + 10))
	}
	return strings.Join(out, " ")
}

// TestCampaigns: letters on one form, identical but for name, place and date, are no near-duplicates,
// however many they are; and if forms count, all of them are.
func TestCampaigns(t *testing.T) {
	t.Parallel()
	petition := func(name, place, date string) string {
		return "We ask the council to keep the library open on Saturdays. Signed by " + name + " who lives in " + place + " and has read this on " + date + " before the vote of the council."
	}
	letter := func(name, place, date string) string {
		return formLetter(name+" of "+place, date, "7")
	}
	for name, form := range map[string]func(name, place, date string) string{"petition": petition, "letter": letter} {
		for _, n := range []int{5, 50, 500, 5000} {
			if n > shorter(500, 50) && !*full {
				continue
			}
			rnd := rand.New(rand.NewPCG(7, uint64(n)))
			for _, kinds := range []Kind{0, AllKinds} {
				d, err := NewDeduplicator[int](DeduplicatorOptions{Kinds: kinds})
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					d.Add(i, form(fmt.Sprint(word(uint32(2*i)+50_000), " ", word(uint32(2*i)+50_001)), randomWords(rnd, 1), fmt.Sprint(i%28+1, " May")))
				}
				for i := range 40 {
					d.Add(n+i, randomWords(rnd, 60))
				}
				pairs, forms := 0, 0
				for p := range d.Pairs(bg) {
					if pairs++; p.Kind == SameForm {
						forms++
					}
				}
				groups := must(d.Groups(bg, Grouping[int]{}))
				t.Logf("%s, %d of them, kinds %v: %d pairs, %d of one form, %d groups", name, n, kinds, pairs, forms, len(groups))
				switch all := n * (n - 1) / 2; {
				case kinds == 0 && (pairs > 0 || len(groups) > 0):
					t.Errorf("%s, %d of them: %d pairs are near-duplicates", name, n, pairs)
				case kinds == AllKinds && (pairs != all || forms < all*9/10 || len(groups) != 1 || len(groups[0].Members) != n):
					t.Errorf("%s, %d of them, forms count: %d pairs of %d, %d of one form, %d groups", name, n, pairs, all, forms, len(groups))
				}
			}
		}
	}
}

// TestMirrors: an article that stands on many sites, with other words before and behind it, is no
// form, and all its copies are found.
func TestMirrors(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 8))
	article := randomWords(rnd, 300)
	var d Deduplicator[int]
	const sites = 30
	for i := range sites {
		d.Add(i, randomWords(rnd, 20)+"\n"+article+"\n"+randomWords(rnd, 20))
	}
	for i := range 100 {
		d.Add(sites+i, randomWords(rnd, 300))
	}
	if groups := must(d.Groups(bg, Grouping[int]{})); len(groups) != 1 || len(groups[0].Members) != sites {
		t.Errorf("%d groups, want one of %d: %v", len(groups), sites, groups)
	}
}

const (
	complaint  = "On the third day the council of Leeds met in the old town hall to talk about the lorries that drive through Mill Street at night and keep people awake. Please write to "
	complained = " if you want to say something about it before the council votes on the new rules for all of the town and its villages."
)

// TestKindsLeftOut: leaving a kind out takes away no pair of another kind, and leaves none of its own;
// also where the same word is a figure in one text only, so that texts with the same words fill a form
// in differently.
func TestKindsLeftOut(t *testing.T) {
	fills := []string{"ann@leeds.org", "ann leeds org", "Ann Leeds ORG", "the mayor in person", "your own counsellor soon", "Bob Miller at home", "newspaper editors", "some other guy", "3 May", "5 June"}
	for kinds := Kind(1); kinds <= AllKinds; kinds++ {
		all, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.3, Kinds: AllKinds})
		some, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.3, Kinds: kinds})
		for i, fill := range append(fills, fills[0], fills[3]) {
			all.Add(i, complaint+fill+complained)
			some.Add(i, complaint+fill+complained)
		}
		kindOf := map[[2]int]Kind{}
		for p := range all.Pairs(bg) {
			kindOf[[2]int{p.A, p.B}] = p.Kind
		}
		found := 0
		for p := range some.Pairs(bg) {
			if found++; p.Kind&kinds == 0 || kindOf[[2]int{p.A, p.B}] != p.Kind {
				t.Fatalf("%v: %v, with all kinds %v", kinds, p, kindOf[[2]int{p.A, p.B}])
			}
		}
		want := 0
		for _, kind := range kindOf {
			if kind&kinds != 0 {
				want++
			}
		}
		if kinds&SameForm != 0 && found != want { // without forms, similarities are others
			t.Fatalf("%v: %d pairs, want %d", kinds, found, want)
		}
		for m := range some.Search(complaint + fills[1] + complained) {
			if m.Kind&kinds == 0 {
				t.Fatalf("%v: found %v", kinds, m)
			}
		}
	}
	var d Deduplicator[int]
	for i, fill := range fills {
		d.Add(i, complaint+fill+complained)
	}
	if pairs := listed(d.Pairs(bg)); !slices.Contains(pairs, Pair[int]{A: 0, B: 1, Similarity: 1, Kind: SameWords}) {
		t.Errorf("the same words are not found: %v", pairs)
	}
}

// TestGroupsOfDocuments: where equal documents need not be in one group, groups do not depend on the
// order of adding, and old documents stay apart.
func TestGroupsOfDocuments(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		base := strings.Fields(randomWords(rnd, 40))
		var texts []string
		for range 8 {
			w := slices.Clone(base)
			for range rnd.IntN(8) {
				w[rnd.IntN(40)] = fmt.Sprintf("x%04d", rnd.IntN(20))
			}
			texts = append(texts, strings.Join(w, " "), strings.ToUpper(strings.Join(w, " ")))
		}
		slices.Sort(texts)
		texts = slices.Compact(texts)
		for _, kinds := range []Kind{0, AllKinds &^ Identical, AllKinds &^ SameWords, Revised | SameButFigures | Contained, Revised} {
			var want []string
			for k := range 4 {
				d, _ := NewDeduplicator[string](DeduplicatorOptions{Kinds: kinds})
				for _, s := range texts {
					d.Add(s, s)
				}
				if got := allFound(d); k == 0 {
					want = got
				} else if !slices.Equal(got, want) {
					t.Fatalf("round %d, %v: %s", round, kinds, firstDifference(got, want))
				}
				rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
			}
		}
	}
	text := complaint + "the mayor" + complained
	d, _ := NewDeduplicator[string](DeduplicatorOptions{Kinds: AllKinds &^ Identical})
	d.Add("old1", strings.ToUpper(text))
	d.Add("old2", text)
	d.Add("new", strings.ToUpper(text))
	if groups := must(d.Groups(bg, Grouping[string]{Old: 2})); len(groups) != 1 || !slices.Equal(groups[0].Members, []string{"old2", "new"}) {
		t.Errorf("%v", groups)
	}
	old, _ := NewDeduplicator[string](DeduplicatorOptions{Similarity: 0.5})
	for i, s := range []string{"oldA", "oldB", "newA", "newB"} {
		old.Add(s, complaint+[]string{"ann", "bob"}[i%2]+complained)
	}
	for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
		if groups := must(old.Groups(bg, Grouping[string]{Linkage: by, Old: 2})); len(groups) != 2 {
			t.Errorf("%d: %v", by, groups)
		}
	}
}

// TestKindsEnded: a context that ends is an error of Pairs and Groups, in time, also among equal
// documents.
func TestKindsEnded(t *testing.T) {
	t.Parallel()
	for _, kinds := range []Kind{0, Revised, SameWords, AllKinds} {
		d, _ := NewDeduplicator[int](DeduplicatorOptions{Kinds: kinds})
		for i := range 4000 {
			d.Add(i, complaint)
		}
		for i := range 100 {
			d.Add(i+5000, complaint+fmt.Sprint("name", i)+complained)
		}
		for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			if _, err := d.Groups(ctx, Grouping[int]{Linkage: by}); err == nil {
				t.Errorf("%v, %d: no error", kinds, by)
			}
		}
		ctx, cancel := context.WithCancel(bg)
		n := 0
		var last error
		for _, err := range d.Pairs(ctx) {
			n++
			last = err
			cancel()
		}
		if n > 2100 || n > 0 && last == nil {
			t.Errorf("%v: %d pairs after the context has ended, %v", kinds, n, last)
		}
		cancel()
	}
}

// TestDeletedForm: what was deleted shows no form any more.
func TestDeletedForm(t *testing.T) {
	var d Deduplicator[int]
	fills := []string{"the mayor in person", "your own counsellor soon", "Bob Miller at home", "newspaper editors", "some other guy"}
	for i, fill := range fills {
		d.Add(i, complaint+fill+complained)
	}
	if found := listed(d.Search(complaint + fills[0] + complained)); len(found) != 1 {
		t.Errorf("of five letters it finds %v", found)
	}
	for i := 2; i < 5; i++ {
		d.Delete(i)
	}
	if found := listed(d.Search(complaint + fills[0] + complained)); len(found) != 2 || found[1].Kind != Revised {
		t.Errorf("of the two that are left it finds %v", found)
	}
}

// TestRecordKinds: a line break in a value is no border of columns.
func TestRecordKinds(t *testing.T) {
	d, err := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.1, Kinds: AllKinds, Fingerprinter: Fingerprinter{Normalizer: Normalizer{Form: NFKC}, Fields: []Field{{Name: "a", Split: Words{}}, {Name: "b", Split: Words{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	one := Record{"a": "one two three", "b": "four five six"}
	d.AddRecord(0, one)
	for i, c := range []struct {
		rec  Record
		want Kind
	}{
		{Record{"a": "one two three", "b": "four five six"}, Identical},
		{Record{"a": "one two three\nfour five six", "b": ""}, Revised},
		{Record{"a": "One, two, three", "b": "four FIVE six"}, SameWords},
		{Record{"a": "one two three", "b": "four five six seven"}, Contained},
	} {
		d.AddRecord(i+1, c.rec)
		if e := must(d.ExplainRecords(one, c.rec)); e.Kind != c.want {
			t.Errorf("%v: %v, want %v", c.rec, e.Kind, c.want)
		}
		found := false
		for p := range d.Pairs(bg) {
			if p.A == 0 && p.B == i+1 {
				if found = true; p.Kind != c.want {
					t.Errorf("%v: %v, want %v", c.rec, p, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%v is not found", c.rec)
		}
	}
}

// BenchmarkCampaign groups the letters of one form, and searches with one more.
func BenchmarkCampaign(b *testing.B) {
	for _, n := range []int{2000, 4000, 8000} {
		var d Deduplicator[int]
		rnd := rand.New(rand.NewPCG(4, 4))
		for i := range n {
			d.Add(i, formLetter(randomWords(rnd, 2)+" of "+randomWords(rnd, 1), fmt.Sprint(i%28+1, " May"), "7"))
		}
		for _, by := range []struct {
			name string
			Linkage
		}{{"centres", Centres}, {"chains", Chains}} {
			b.Run(fmt.Sprintf("n=%d/%s", n, by.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := d.Groups(bg, Grouping[int]{Linkage: by.Linkage}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("n=%d/search", n), func(b *testing.B) {
			letter := formLetter("Ann Smith of York", "3 May", "7")
			listed(d.Search(letter))
			b.ResetTimer()
			for b.Loop() {
				listed(d.Search(letter))
			}
		})
	}
}
