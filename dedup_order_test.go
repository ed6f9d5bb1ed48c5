package neardup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/graph"
	"github.com/zeebo/xxh3"
)

// This file tests that what a Deduplicator finds depends on nothing but the documents: not on the
// order in which they were added, nor on what was there and was deleted.

// orderTexts returns collections in which an order could matter. A hub is a text that is nearly
// equal to each of its variants, which are less like each other. In a chain each text is nearly
// equal to the next. A campaign is one form, filled in differently.
func orderTexts(t *testing.T) map[string][]string {
	rnd := rand.New(rand.NewPCG(5, 5))
	words := func(n int) []string { return strings.Fields(randomWords(rnd, n)) }
	all := map[string][]string{"testdata": slices.Concat(corpusTexts(t, "en", "zh", "more"))}
	original := words(80)
	hub := []string{strings.Join(original, " ")}
	for i := range shorter(300, 60) {
		variant := slices.Clone(original)
		variant[i%80] = fmt.Sprint("changed", i)
		hub = append(hub, strings.Join(variant, " "))
	}
	all["hub"] = hub
	link := words(120)
	var chain []string
	for i := range shorter(200, 60) {
		link[i%120] = fmt.Sprint("next", i)
		chain = append(chain, strings.Join(link, " "))
	}
	all["chain"] = chain
	for _, n := range []int{5, 50, shorter(2000, 120)} {
		var campaign []string
		for i := range n {
			campaign = append(campaign, formLetter(strings.Join(words(2), " "), fmt.Sprint(i%28+1, " May"), fmt.Sprintf("%c-%d", 'A'+i%26, i*7919)))
		}
		for range 30 {
			campaign = append(campaign, strings.Join(words(60), " "))
		}
		all[fmt.Sprint("campaign of ", n)] = campaign
	}
	for name, texts := range all {
		slices.Sort(texts)
		all[name] = slices.Compact(texts) // of exact copies the first one is kept, which depends on the order
	}
	return all
}

// allFound is what a Deduplicator finds, spelled out so that it can be compared.
func allFound(d *Deduplicator[string]) (all []string) {
	for p := range d.Pairs(bg) {
		all = append(all, fmt.Sprintf("pair %q %q %x %v", min(p.A, p.B), max(p.A, p.B), p.Similarity, p.Kind))
	}
	all = append(all, fmt.Sprintf("threshold %+v", must(d.Threshold(bg))))
	for _, by := range []Linkage{Centres, CompleteLinks, Chains} {
		for _, g := range must(d.Groups(bg, Grouping[string]{Linkage: by})) {
			slices.Sort(g.Members)
			all = append(all, fmt.Sprintf("linkage %d keeps %q of %q", by, g.Keep, g.Members))
		}
	}
	slices.Sort(all)
	return all
}

// TestNearCopies: near-copies are what comparing all sets exactly says, except that signatures may
// miss a pair close to the border.
func TestNearCopies(t *testing.T) {
	t.Parallel()
	var d Deduplicator[int]
	f := &d.options().Fingerprinter
	for name, texts := range orderTexts(t) {
		var vectors []Vector
		for _, text := range texts {
			vectors = append(vectors, f.profile(text).terms)
		}
		near := nearCopiesOf(len(vectors), func(i int) Vector { return vectors[i] })
		exact := graph.NewForest(len(vectors)) // joined if the similarity is 0.9 or more
		several := 0
		for i, v := range vectors {
			for j, w := range vectors[:i] {
				similarity := featureSet(v).Jaccard(featureSet(w))
				if v.isAlike(w) != (similarity >= alikeSimilarity) || w.isAlike(v) != v.isAlike(w) {
					t.Errorf("%s: texts %d and %d have a similarity of %v", name, i, j, similarity)
				}
				if similarity >= alikeSimilarity {
					exact.Join(i, j)
				}
				if similarity >= 0.95 && near[i] != near[j] {
					t.Errorf("%s: texts %d and %d have a similarity of %v, and are no near-copies", name, i, j, similarity)
				}
			}
		}
		for i, first := range near {
			if exact.Find(i) != exact.Find(first) {
				t.Errorf("%s: texts %d and %d are near-copies without a chain that joins them", name, i, first)
			}
			if first != i {
				several++
			}
		}
		t.Logf("%s: %d texts are near-copies of others, by signatures", name, several)
		if (name == "hub" || name == "chain") && several != len(texts)-1 {
			t.Errorf("%s: %d of %d texts are near-copies of the first", name, several, len(texts))
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(6, 6))
	for name, texts := range orderTexts(t) {
		for _, kinds := range []Kind{0, AllKinds} {
			testOrder(t, fmt.Sprint(name, ", kinds ", kinds), texts, kinds, rnd)
		}
	}
}

// testOrder adds texts in twenty orders, and compares all that is found.
func testOrder(t *testing.T, name string, texts []string, kinds Kind, rnd *rand.Rand) {
	var want []string
	for round := range shorter(20, 3) {
		rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		d, err := NewDeduplicator[string](DeduplicatorOptions{Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if d.Add(text, text); i%3 == 0 && round%2 == 1 { // slots are reused
				other := fmt.Sprint("temporary ", i)
				d.Add(other, text+other)
				d.Delete(other)
			}
		}
		got := allFound(d)
		if round == 0 {
			want = got
			t.Logf("%s: %d texts, %d pairs and groups", name, len(texts), len(want))
		}
		pairs := 0
		for _, line := range got {
			if strings.HasPrefix(line, "pair ") {
				pairs++
			}
		}
		if n := len(texts); strings.HasPrefix(name, "hub") && pairs < n*(n-1)/2 {
			t.Errorf("%s: %d pairs of %d texts", name, pairs, n)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: order %d gives %d pairs and groups, not %d; %s", name, round, len(got), len(want), firstDifference(got, want))
		}
	}
}

// firstDifference shows what only one of two sorted lists has.
func firstDifference(got, want []string) string {
	is := maps.Collect(func(yield func(string, bool) bool) {
		for _, s := range want {
			if !yield(s, true) {
				return
			}
		}
	})
	for _, s := range got {
		if !is[s] {
			return "new is " + s
		}
	}
	return "something is missing"
}

// TestOrderQuality adds each set of the data in twenty orders, and compares all that is found to the
// last bit: the threshold, pairs with similarities and kinds, and groups. The newsgroups take ten
// minutes, and need NEARDUP_LARGE:
//
//	NEARDUP_DATA=… go test . -full -run OrderQuality -v
func TestOrderQuality(t *testing.T) {
	if raceDetector || !*full {
		t.Skip("takes long")
	}
	rnd := rand.New(rand.NewPCG(9, 9))
	sets := []string{"zh-revisions", "en-versions", "zh-laws", "zh-manuals", "en-records-stroke", "en-records-haematology"}
	if os.Getenv("NEARDUP_LARGE") != "" {
		sets = append(sets, "en-newsgroups")
	}
	for _, set := range sets {
		texts, _ := labelled(t, set)
		slices.Sort(texts)
		texts = slices.Compact(texts)
		var want uint64
		for round := range 20 {
			rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
			var d Deduplicator[string]
			d.AddAll(bg, func(yield func(string, string) bool) {
				for _, text := range texts {
					if !yield(text, text) {
						return
					}
				}
			})
			got := xxh3.HashString(strings.Join(allFound(&d), "\n"))
			if round == 0 {
				want = got
			}
			if got != want {
				t.Fatalf("%s: order %d gives something else", set, round)
			}
		}
		t.Logf("%s: twenty orders of %d texts give the same, %016x", set, len(texts), want)
	}
}
