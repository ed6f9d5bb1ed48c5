package dedup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

func first[ID comparable](a, b Entry[ID]) bool { return a.Sequence < b.Sequence }

func newest[ID comparable](a, b Entry[ID]) bool { return a.Sequence > b.Sequence }

func longest[ID comparable](a, b Entry[ID]) bool { return a.Length > b.Length }

func shortest[ID comparable](a, b Entry[ID]) bool { return a.Length < b.Length }

func nobody[ID comparable](a, b Entry[ID]) bool { return false }

// TestGroupsAgree: groups are made of pairs that Pairs reports, and Matches says of each member what Pairs and Explain say. Every
// member is a near-duplicate of Keep, unless groups are chains, and no two documents that are kept are near-duplicates.
func TestGroupsAgree(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 51)
	for _, l := range []language{englishA, chineseA} {
		for _, o := range []Options{{}, {Kinds: neardup.AllKinds}, {Similarity: 0.3, Kinds: neardup.AllKinds}, {Kinds: neardup.AllKinds &^ neardup.Identical}} {
			texts := l.collection(rnd, 150)
			d := of(t, o, named("", texts))
			pairs := map[[2]string]fact{}
			for _, p := range factsOf(d.Pairs(bg)) {
				pairs[[2]string{p.A, p.B}] = p
			}
			for _, by := range linkages {
				for name, prefer := range map[string]func(a, b Entry[string]) bool{"nil": nil, "first": first[string], "newest": newest[string], "shortest": shortest[string]} {
					of := map[string]string{}
					last := ""
					for _, g := range must(d.Groups(bg, GroupOptions[string]{Linkage: by, Prefer: prefer})) {
						if len(g.Members) < 2 || !slices.Contains(g.Members, g.Keep) || !slices.IsSorted(g.Members) || len(g.Matches) != len(g.Members) || g.Members[0] <= last {
							t.Fatalf("linkage %d, %s: %+v", by, name, g)
						}
						last = g.Members[0]
						for i, id := range g.Members {
							if of[id] != "" {
								t.Fatalf("%s is in two groups", id)
							}
							of[id] = g.Keep
							m := g.Matches[i]
							p, isPair := pairs[[2]string{min(id, g.Keep), max(id, g.Keep)}]
							want := neardup.Match[string]{ID: id, Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind}
							if id == g.Keep {
								want, isPair = neardup.Match[string]{ID: id, Similarity: 1, Probability: 1, Kind: neardup.Identical}, true
							}
							if isPair && m != want {
								t.Fatalf("linkage %d, %s: %v, but Pairs says %v", by, name, m, want)
							}
							if by != neardup.SingleLinkage && !isPair {
								t.Fatalf("linkage %d, %s: %s and %s are in a group, and are no near-duplicates: %v", by, name, id, g.Keep, m)
							}
							if by == neardup.CentreLinkage && o.Similarity == 0 && m.Probability < 0.5 {
								t.Fatalf("%v around a centre", m)
							}
						}
					}
					for pair := range pairs {
						a, b := of[pair[0]], of[pair[1]]
						if (a == "" || a == pair[0]) && (b == "" || b == pair[1]) {
							t.Fatalf("linkage %d, %s: both of the near-duplicates %v are kept", by, name, pair)
						}
						if by == neardup.SingleLinkage && (a == "" || a != b) || by == neardup.CentreLinkage && a == "" && b == "" {
							t.Fatalf("linkage %d, %s: the near-duplicates %v are in the groups of %q and %q", by, name, pair, a, b)
						}
					}
				}
			}
		}
	}
}

// TestGroupsPrefer: Prefer changes which member is kept, and no group. One that prefers nothing changes nothing at all.
func TestGroupsPrefer(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 52)
	for round := range shorter(3, 2) {
		texts := englishA.collection(rnd, 200)
		d := of(t, Options{}, named("", texts))
		for _, by := range linkages {
			want := must(d.Groups(bg, GroupOptions[string]{Linkage: by}))
			for name, prefer := range map[string]func(a, b Entry[string]) bool{"first": first[string], "newest": newest[string], "longest": longest[string], "shortest": shortest[string], "nobody": nobody[string]} {
				got := must(d.Groups(bg, GroupOptions[string]{Linkage: by, Prefer: prefer}))
				if len(got) != len(want) {
					t.Fatalf("linkage %d, %s: %d groups, not %d", by, name, len(got), len(want))
				}
				for i := range got {
					if !slices.Equal(got[i].Members, want[i].Members) {
						t.Fatalf("linkage %d, %s: members %v, not %v", by, name, got[i].Members, want[i].Members)
					}
					if by == neardup.SingleLinkage && name == "first" && got[i].Keep != got[i].Members[0] {
						t.Errorf("linkage %d keeps %s of %v", by, got[i].Keep, got[i].Members)
					}
					if name == "nobody" && got[i].Keep != want[i].Keep {
						t.Errorf("round %d, linkage %d: of %v, %s is kept if nothing is preferred, and %s without Prefer; the texts are\n%.200q\n%.200q", round, by, got[i].Members, got[i].Keep, want[i].Keep, texts[number(got[i].Keep)], texts[number(want[i].Keep)])
						return
					}
				}
			}
		}
	}
}

// number returns the number that is an id.
func number(id string) (n int) {
	n, _ = strconv.Atoi(id)
	return n
}

// TestKeepsLongest: zero GroupOptions keeps a longest member of each group.
func TestKeepsLongest(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 53)
	for range shorter(5, 2) {
		texts := englishA.collection(rnd, 200)
		shorterKept, groups := 0, 0
		for _, g := range must(of(t, Options{}, named("", texts)).Groups(bg, GroupOptions[string]{})) {
			groups++
			for _, id := range g.Members {
				if len([]rune(texts[number(id)])) > len([]rune(texts[number(g.Keep)])) {
					shorterKept++
					break
				}
			}
		}
		t.Logf("%d of %d groups keep a member that is not the longest", shorterKept, groups)
	}
}

// TestGroupsOrder: which document is kept does not depend on the order of adding, with a Prefer that does not look at it.
func TestGroupsOrder(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 54)
	texts := englishA.collection(rnd, 120)
	for range 20 { // equally long near-duplicates
		words := englishA.some(rnd, 150)
		for range 3 {
			own := slices.Clone(words)
			own[rnd.IntN(150)] = fmt.Sprintf("w%04d", rnd.IntN(10_000))
			own[rnd.IntN(150)] = fmt.Sprintf("w%04d", rnd.IntN(10_000))
			texts = append(texts, englishA.join(own))
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	for name, prefer := range map[string]func(a, b Entry[string]) bool{"nil": nil, "longest": longest[string], "shortest": shortest[string], "nobody": nobody[string]} {
		for _, by := range linkages {
			want := map[string]string{}
			for round := range 3 {
				d := made[string](t, Options{})
				for _, i := range rnd.Perm(len(texts)) {
					d.Add(texts[i], neardup.Text(texts[i]))
				}
				keeps := map[string]string{}
				for _, g := range must(d.Groups(bg, GroupOptions[string]{Linkage: by, Prefer: prefer})) {
					slices.Sort(g.Members)
					keeps[strings.Join(g.Members, "|")] = g.Keep
				}
				if round == 0 {
					want = keeps
				}
				if !maps.Equal(keeps, want) {
					other := 0
					for members, keep := range keeps {
						if want[members] != keep {
							other++
						}
					}
					t.Errorf("Prefer %s, linkage %d: the order of adding decides which document of %d of %d groups is kept", name, by, other, len(keeps))
					break
				}
			}
		}
	}
}

// TestGroupsOld: old documents are kept, are not compared with each other, and of equal ones the first appears.
func TestGroupsOld(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 55)
	texts := englishA.collection(rnd, larger(100, 200))
	texts = append(texts, texts[:40]...)
	d := made[int](t, Options{})
	for i, text := range texts {
		d.Add(i, neardup.Text(text))
	}
	for _, old := range []int{0, 1, 60, 130, len(texts) - 10, len(texts), len(texts) + 5} {
		since := map[[2]int]bool{}
		for p := range d.PairsSince(bg, old) {
			if p.B < old {
				t.Fatalf("old %d: %v", old, p)
			}
			since[[2]int{p.A, p.B}] = true
		}
		for _, by := range linkages {
			for name, prefer := range map[string]func(a, b Entry[int]) bool{"first": first[int], "newest": newest[int], "nil": nil} {
				in := map[int]bool{}
				for _, g := range must(d.Groups(bg, GroupOptions[int]{Linkage: by, Prefer: prefer, Old: old})) {
					if g.Members[len(g.Members)-1] < old {
						t.Errorf("old %d, linkage %d, %s: no new document in %v", old, by, name, g.Members)
					}
					if g.Members[0] < old && g.Keep >= old {
						t.Errorf("old %d, linkage %d, %s: %v keeps what is not old", old, by, name, g)
					}
					olds := 0
					for _, id := range g.Members {
						in[id] = true
						if id < old {
							olds++
							for _, other := range g.Members {
								if other < id && texts[other] == texts[id] {
									t.Errorf("old %d: the equal old documents %d and %d are in a group", old, other, id)
								}
							}
						}
						if by == neardup.CentreLinkage && id != g.Keep && texts[id] != texts[g.Keep] && !since[[2]int{min(id, g.Keep), max(id, g.Keep)}] {
							t.Errorf("old %d, %s: %d and its centre %d are no pair", old, name, id, g.Keep)
						}
					}
					if by != neardup.SingleLinkage && olds > 1 {
						t.Errorf("old %d, linkage %d, %s: %d old documents in %v", old, by, name, olds, g.Members)
					}
				}
				if by == neardup.SingleLinkage {
					for pair := range since {
						if !in[pair[1]] {
							t.Errorf("old %d, %s: %v is a pair, and %d is in no group", old, name, pair, pair[1])
						}
					}
				}
			}
		}
	}
}

// TestFewNew: groups, families and pairs are the same whether the neighbours of all documents are listed or, as of a few new ones among many
// old ones, searched for. In a crowd too, old or new.
func TestFewNew(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 56)
	texts := englishA.collection(rnd, 150)
	var words []string
	for range 150 {
		words = append(words, fmt.Sprint("word", rnd.IntN(30_000)))
	}
	for i := range 270 { // versions of one page, more than are compared with each other
		version := slices.Clone(words)
		version[rnd.IntN(len(version))] = fmt.Sprint("word", i)
		texts = append(texts, strings.Join(version, " "))
	}
	for _, with := range []struct {
		name  string
		texts []string
	}{{"alone", texts[:150]}, {"crowd", texts}} {
		rnd.Shuffle(len(with.texts), func(i, j int) { with.texts[i], with.texts[j] = with.texts[j], with.texts[i] })
		n := len(with.texts)
		for _, few := range []int{1, n/fewSearched - 1} {
			of := func(isListed bool) (said []string) {
				d := made[int](t, Options{})
				for i, text := range with.texts {
					d.Add(i, neardup.Text(text))
				}
				if must(d.SearchTop(bg, neardup.Text("this sorts all of them"), 1)); isListed {
					must(d.Groups(bg, GroupOptions[int]{})) // keeps the lists
				}
				s := must(d.snapshot(n - few))
				if s.ready(bg); !s.isSearch() || (s.rank != nil) != isListed {
					t.Fatalf("%s, %d new: few: %t, neighbours are listed: %t", with.name, few, s.isSearch(), s.rank != nil)
				}
				if said = append(said, fmt.Sprint(must(d.Groups(bg, GroupOptions[int]{Old: n - few})))); with.name == "crowd" {
					return said // since Pairs compares all of it
				}
				for _, by := range linkages {
					said = append(said, fmt.Sprint(by, must(d.Groups(bg, GroupOptions[int]{Linkage: by, Old: n - few}))))
				}
				pairs := listed(d.PairsSince(bg, n-few))
				slices.SortFunc(pairs, func(p, q neardup.Pair[int]) int { return cmp.Or(p.A-q.A, p.B-q.B) })
				return append(said, fmt.Sprint(pairs))
			}
			searched, joined := of(false), of(true)
			for k := range searched {
				if searched[k] != joined[k] {
					t.Errorf("%s, %d new: when searched for\n%.2000s\nwhen listed\n%.2000s", with.name, few, searched[k], joined[k])
				}
			}
		}
	}
}

// TestGroupsOfDocuments: where equal documents need not be in one group, old documents stay apart.
func TestGroupsOfDocuments(t *testing.T) {
	t.Parallel()
	text := complaint + "the mayor" + complained
	d := made[string](t, Options{Kinds: neardup.AllKinds &^ neardup.Identical})
	d.Add("old1", neardup.Text(strings.ToUpper(text)))
	d.Add("old2", neardup.Text(text))
	d.Add("new", neardup.Text(strings.ToUpper(text)))
	if groups := must(d.Groups(bg, GroupOptions[string]{Old: 2})); len(groups) != 1 || !slices.Equal(groups[0].Members, []string{"old2", "new"}) {
		t.Errorf("%v", groups)
	}
	old := made[string](t, Options{Similarity: 0.5})
	for i, s := range []string{"oldA", "oldB", "newA", "newB"} {
		old.Add(s, neardup.Text(complaint+[]string{"ann", "bob"}[i%2]+complained))
	}
	for _, by := range linkages {
		if groups := must(old.Groups(bg, GroupOptions[string]{Linkage: by, Old: 2})); len(groups) != 2 {
			t.Errorf("%d: %v", by, groups)
		}
	}
	if _, err := old.Groups(bg, GroupOptions[string]{Linkage: neardup.SingleLinkage + 1}); err == nil {
		t.Error("an unknown Linkage")
	}
}

// TestChain: of a chain of texts, each a little changed, only Chains makes one group.
func TestChain(t *testing.T) {
	t.Parallel()
	d := made[string](t, Options{Similarity: 0.5})
	words := func(from, n int) (text string) {
		for i := range n {
			text += englishA.word(from+i) + " "
		}
		return text
	}
	for i := range 9 {
		d.Add(fmt.Sprint("chain", i), neardup.Text(words(i*20, 100+i)))
	}
	d.Add("alone", neardup.Text(words(5000, 80)))
	d.Add("copy", neardup.Text(words(5000, 80)))
	for by, most := range map[neardup.Linkage]int{neardup.CentreLinkage: 5, neardup.CompleteLinkage: 4, neardup.SingleLinkage: 9} {
		groups := must(d.Groups(bg, GroupOptions[string]{Linkage: by}))
		for _, g := range groups {
			if len(g.Members) > most || by == neardup.SingleLinkage && g.Members[0] == "chain0" && len(g.Members) != 9 {
				t.Errorf("linkage %d: a group of %d: %v", by, len(g.Members), g)
			}
		}
	}
	for name, want := range map[string]string{"first": "chain0", "newest": "chain8", "nil": "chain8"} {
		prefer := map[string]func(a, b Entry[string]) bool{"first": first[string], "newest": newest[string]}[name]
		groups := must(d.Groups(bg, GroupOptions[string]{Linkage: neardup.SingleLinkage, Prefer: prefer}))
		if len(groups) != 2 || name != "nil" && groups[0].Keep != want {
			t.Errorf("%s: %v, want %s to be kept", name, groups, want)
		}
	}
}

// TestCrowded: of more versions of one page than are compared with each other there is one group, with the longest as its centre, and
// more pages of one template than that are a family, and no group. Other texts are grouped as if the crowd were not there.
func TestCrowded(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 12)
	words := func(n int) (w []string) {
		for range n {
			w = append(w, fmt.Sprint("word", rnd.IntN(30_000)))
		}
		return w
	}
	const n = 256 + 24 // more than are compared with each other
	others := englishA.collection(rnd, 60)
	d, alone := of(t, Options{}, named("other", others)), of(t, Options{}, named("other", others))
	page, template := words(150), words(150)
	for i := range n {
		version := slices.Clone(page)
		version[rnd.IntN(len(version))] = fmt.Sprint("word", i)
		if i == 7 {
			version = append(version, "and", "one", "more")
		}
		d.Add(fmt.Sprint("version ", i), neardup.Text(strings.Join(version, " ")))
		d.Add(fmt.Sprint("page ", i), neardup.Text(strings.Join(slices.Concat(template[:75], words(60), template[75:], words(40)), " ")))
	}
	for _, old := range []int{0, len(others) / 2} {
		groups := must(d.Groups(bg, GroupOptions[string]{Old: old}))
		want := must(alone.Groups(bg, GroupOptions[string]{Old: old}))
		last := len(groups) - 1
		if len(want) == 0 || fmt.Sprint(groups[:last]) != fmt.Sprint(want) {
			t.Errorf("%d old: beside a crowd there are %d groups\n%v\nand alone %d\n%v", old, last, groups[:last], len(want), want)
		}
		if len(groups[last].Members) != n || groups[last].Keep != "version 7" {
			t.Errorf("%d old: the last group has %d members", old, len(groups[last].Members))
		}
	}
	families, want := must(d.Families(bg)), must(alone.Families(bg))
	if len(families[0].Members) != n || !strings.HasPrefix(families[0].Members[0], "page") {
		t.Errorf("%d families, the first one of %d", len(families), len(families[0].Members))
	}
	if len(want) == 0 || fmt.Sprint(families[1:]) != fmt.Sprint(want) {
		t.Errorf("beside a crowd there are families\n%v\nand alone\n%v", families[1:], want)
	}
}

// TestLargeCrowd: of more versions of one page than are compared with each other in a band there is one group, with the longest as its
// centre, in whatever order they come, and the pages of a template that are as many are in none.
func TestLargeCrowd(t *testing.T) {
	t.Parallel()
	if !*full {
		t.Skip("takes a minute; run with -full")
	}
	rnd := seeded(t, 13)
	words := func(n int) (w []string) {
		for range n {
			w = append(w, letters(rnd.IntN(30_000)))
		}
		return w
	}
	const n = 12_000
	page, template := words(200), words(200)
	texts := map[string]string{}
	for i := range n {
		version := slices.Clone(page)
		version[rnd.IntN(len(version))] = letters(i)
		if i == 7 {
			version = append(version, "and", "one", "more")
		}
		texts[fmt.Sprint("version ", i)] = strings.Join(version, " ")
		texts[fmt.Sprint("page ", i)] = strings.Join(slices.Concat(template[:100], words(60), template[100:], words(40)), " ")
	}
	for order := range 2 {
		d := made[string](t, Options{})
		ids := slices.Sorted(maps.Keys(texts))
		rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			d.Add(id, neardup.Text(texts[id]))
		}
		groups := must(d.Groups(bg, GroupOptions[string]{}))
		if len(groups) != 1 || len(groups[0].Members) != n || groups[0].Keep != "version 7" {
			t.Errorf("order %d: %d groups, the first one of %d", order, len(groups), len(groups[0].Members))
		}
	}
}

// letters returns a word for a number.
func letters(n int) (word string) {
	for ; n > 0 || len(word) < 3; n /= 20 {
		word += string("bcdfghjklmnpqrstvwxz"[n%20]) + string("aeiou"[n%5])
	}
	return word
}
