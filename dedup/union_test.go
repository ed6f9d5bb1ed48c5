package dedup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

// This file tests that an answer depends on the neighbourhood of a pair and on nothing else.

// TestUnion: of two collections that have nothing in common, together, the pairs are those of one and those of the other, and
// so are families and what is expected of the pairs.
func TestUnion(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 1)
	for round := range larger(2, 8) {
		for _, languages := range [][2]language{{englishA, englishB}, {chineseA, chineseB}, {englishA, chineseB}} {
			for _, o := range []Options{{}, {Kinds: neardup.AllKinds}, {Similarity: 0.3, Kinds: neardup.AllKinds}} {
				a, b := named("a", languages[0].collection(rnd, 60+150*(round%2))), named("b", languages[1].collection(rnd, 80))
				alone, other := of(t, o, a), of(t, o, b)
				want := sortFacts(slices.Concat(factsOf(alone.Pairs(bg)), factsOf(other.Pairs(bg))))
				both := of(t, o, a, b)
				sameFacts(t, fmt.Sprintf("round %d", round), factsOf(both.Pairs(bg)), want)
				if len(want) < 20 {
					t.Errorf("only %d pairs", len(want))
				}
				x, y, z := must(alone.Estimate(bg)), must(other.Estimate(bg)), must(both.Estimate(bg))
				if z.Pairs != x.Pairs+y.Pairs {
					t.Errorf("%d pairs of different contents, not %d and %d", z.Pairs, x.Pairs, y.Pairs)
				}
				if x.Merge(y) != z || (Estimate{}).Merge(z) != z {
					t.Errorf("%v, merged of two parts, is not %v", x.Merge(y), z)
				}
				for i, n := range z.Histogram {
					if n != x.Histogram[i]+y.Histogram[i] {
						t.Errorf("the curve has %d pairs at %d, not %d and %d", n, i, x.Histogram[i], y.Histogram[i])
					}
				}
			}
		}
	}
}

// TestDilution: texts that have nothing to do with a pair change nothing that is said of it, however many they are.
func TestDilution(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 2)
	for _, l := range [][2]language{{englishA, englishB}, {chineseA, chineseB}, {chineseB, englishA}} {
		texts := l[0].collection(rnd, 60)
		o := Options{Kinds: neardup.AllKinds}
		d := of(t, o, named("a", texts))
		want := factsOf(d.Pairs(bg))
		for n, step := 0, 0; step < 4; step++ {
			for range []int{1, 100, 400, shorter(3000, 300)}[step] {
				d.Add(fmt.Sprintf("z%d", n), neardup.Text(l[1].text(rnd, 60+rnd.IntN(100))))
				n++
			}
			got := slices.DeleteFunc(factsOf(d.Pairs(bg)), func(p fact) bool { return p.A[0] == 'z' || p.B[0] == 'z' })
			sameFacts(t, fmt.Sprintf("among %d others", n), got, want)
		}
		if len(want) < 10 {
			t.Errorf("only %d pairs", len(want))
		}
	}
}

// TestOrder: the order of adding makes no difference, nor what was there and has gone, nor whether the documents came in one
// piece or were merged.
func TestOrder(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 3)
	for name, texts := range orderTexts(t) {
		kinds := []neardup.Kind{neardup.AllKinds, 0}
		if name == "english" || *full {
			kinds = append(kinds, neardup.AllKinds&^neardup.SameWords, neardup.Revised)
		}
		for _, kinds := range kinds[:shorter(len(kinds), 1)] {
			testOrder(t, fmt.Sprint(name, ", kinds ", kinds), texts, kinds, rnd.IntN)
		}
	}
}

// orderTexts returns collections in which an order could matter. A hub is a text that is nearly equal to each of its variants,
// which are less like each other. In a chain each text is nearly equal to the next. A campaign is one form, filled in differently.
func orderTexts(t *testing.T) map[string][]string {
	rnd := seeded(t, 5)
	all := map[string][]string{"english": englishA.collection(rnd, 120), "chinese": chineseA.collection(rnd, 80)}
	original := englishA.some(rnd, 80)
	hub := []string{strings.Join(original, " ")}
	for i := range larger(50, 300) {
		variant := slices.Clone(original)
		variant[i%80] = fmt.Sprint("changed", i)
		hub = append(hub, strings.Join(variant, " "))
	}
	all["hub"] = hub
	link := englishA.some(rnd, 120)
	var chain []string
	for i := range larger(50, 200) {
		link[i%120] = fmt.Sprint("next", i)
		chain = append(chain, strings.Join(link, " "))
	}
	all["chain"] = chain
	var campaign []string
	for i := range larger(40, 1000) {
		campaign = append(campaign, formLetter(englishB.text(rnd, 2), fmt.Sprint(i%28+1, " May"), fmt.Sprintf("%c-%d", 'A'+i%26, i*7919)))
	}
	all["campaign"] = append(campaign, englishB.collection(rnd, 30)...)
	for name, texts := range all {
		slices.Sort(texts)
		all[name] = slices.Compact(texts) // of exact copies the first one is kept, which depends on the order
	}
	return all
}

// testOrder adds texts in several orders and in several ways, and compares all that is said.
func testOrder(t *testing.T, name string, texts []string, kinds neardup.Kind, random func(n int) int) {
	t.Helper()
	o := Options{Kinds: kinds}
	var want []string
	for round := range larger(3, 12) {
		for i := range texts {
			j := random(i + 1)
			texts[i], texts[j] = texts[j], texts[i]
		}
		d := made[string](t, o)
		parts := []*Deduplicator[string]{d, made[string](t, o), made[string](t, o)}
		for i, text := range texts {
			part := d
			if round%3 == 2 { // in three parts that are merged
				part = parts[i%3]
			}
			if round%2 == 1 && i%3 == 0 { // slots are used again, and ids are replaced
				other := fmt.Sprint("temporary ", i)
				part.Add(other, neardup.Text(text+other))
				part.Add(text, neardup.Text(other))
				part.Add(text, neardup.Text(text))
				part.Delete(other)
				continue
			}
			part.Add(text, neardup.Text(text))
		}
		for _, part := range parts {
			if err := d.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		got := everything(d)
		if round == 0 {
			want = got
		}
		if !sameLines(t, fmt.Sprintf("%s, order %d", name, round), got, want) {
			return
		}
	}
}

// TestKindsChangeNothing: what a pair is said to be does not depend on which kinds are reported.
func TestKindsChangeNothing(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 6)
	texts := named("", englishA.collection(rnd, 150))
	all := factsOf(of(t, Options{Kinds: neardup.AllKinds}, texts).Pairs(bg))
	for kinds := neardup.Kind(1); kinds <= neardup.AllKinds; kinds += neardup.Kind(shorter(3, 7)) {
		want := slices.DeleteFunc(slices.Clone(all), func(p fact) bool { return p.Kind&kinds == 0 })
		sameFacts(t, kinds.String(), factsOf(of(t, Options{Kinds: kinds}, texts).Pairs(bg)), want)
	}
	// The threshold changes only how many are reported.
	for _, threshold := range []float64{0.7, 0.9} {
		want := slices.DeleteFunc(slices.Clone(all), func(p fact) bool { return p.Probability < threshold })
		sameFacts(t, fmt.Sprint(threshold), factsOf(of(t, Options{Kinds: neardup.AllKinds, Probability: threshold}, texts).Pairs(bg)), want)
	}
}

// TestPairsOrder: the same pairs come in the same order, however often one asks.
func TestPairsOrder(t *testing.T) {
	t.Parallel()
	d := of(t, Options{Kinds: neardup.AllKinds}, named("", englishA.collection(seeded(t, 7), 300)))
	want := listed(d.Pairs(context.Background()))
	seen := map[[2]string]bool{}
	for _, p := range want {
		if p.A >= p.B { // ids ascend in the order of adding
			t.Fatalf("%v: A was not added before B", p)
		}
		if seen[[2]string{p.A, p.B}] {
			t.Fatalf("%v comes twice", p)
		}
		seen[[2]string{p.A, p.B}] = true
		if !(p.Similarity >= 0 && p.Similarity <= 1 && p.Probability >= 0.5 && p.Probability <= 1 && p.Kind != 0 && p.Kind&(p.Kind-1) == 0) {
			t.Fatalf("%v is out of range", p)
		}
	}
	for range 5 {
		if got := listed(d.Pairs(bg)); !slices.Equal(got, want) {
			t.Fatal("another order")
		}
	}
}

// TestOrderOfTwins: two texts with the same words, of which one writes some as a mail address, are different contents with
// the same digest and the same signatures. Which of the two is in a neighbourhood that has room for one does not depend on
// the order of adding.
func TestOrderOfTwins(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 8)
	base := englishA.some(rnd, 200)
	var texts []string
	for i := range 64 {
		copied := slices.Clone(base)
		copied[(3*i)%200] = fmt.Sprint("other", i)
		texts = append(texts, englishA.join(copied))
	}
	far := slices.Clone(base)
	for k := range 12 {
		far[16*k] = fmt.Sprint("far", k)
	}
	twins := []string{englishA.join(far) + " ann@leeds.org", englishA.join(far) + " ann leeds org"}
	var want []string
	for round := range 2 {
		d := made[string](t, Options{})
		for _, text := range append(slices.Clone(texts), twins...) {
			d.Add(text, neardup.Text(text))
		}
		var got []string
		for c := range d.Comparisons(bg) {
			got = append(got, fmt.Sprintf("%q %q %v %v %v", min(c.A, c.B), max(c.A, c.B), c.Similarity, c.Probability, c.Evidence))
		}
		if slices.Sort(got); round == 0 {
			want = got
		}
		different := 0
		for i := range got {
			if got[i] != want[i] {
				different++
			}
		}
		if different > 0 {
			t.Errorf("%d of %d comparisons depend on the order of adding", different, len(got))
		}
		slices.Reverse(twins)
	}
}

// TestOrderOfTies: in a family of more copies than a neighbourhood has room for, many are equally near. Which of them count does
// not depend on the order of adding.
func TestOrderOfTies(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 9)
	texts := copied{englishA, true, 90, 0.01}.texts(rnd)
	var want []string
	for round := range 3 {
		d := made[string](t, Options{})
		for _, i := range rnd.Perm(len(texts)) {
			d.Add(texts[i], neardup.Text(texts[i]))
		}
		var got []string
		for c := range d.Comparisons(bg) {
			got = append(got, fmt.Sprintf("%q %q %v %v %v", min(c.A, c.B), max(c.A, c.B), c.Similarity, c.Probability, c.Evidence))
		}
		if slices.Sort(got); round == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatal("comparisons depend on the order of adding")
		}
	}
}
