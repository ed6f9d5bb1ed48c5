package neardup

import (
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
	if s := fmt.Sprint(Kind(0), Kind(0x81)); s != "Kind(0) identical,Kind(128)" {
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

// words are random words of a language with rare and frequent ones.
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
