package dedup

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/race"
)

// This file has what the tests share: made texts, and what a Deduplicator says of them in a form that can be compared to
// the last bit.

// full runs every test at its full size: go test ./dedup -full, some minutes. With -short sizes are smaller still.
var full = flag.Bool("full", false, "run every test at its full size")

var bg = context.Background()

// must returns what a call returns that cannot fail here.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// listed collects a sequence that ends without an error.
func listed[T any](seq iter.Seq2[T, error]) (out []T) {
	for x, err := range seq {
		out = append(out, must(x, err))
	}
	return out
}

// shorter returns n, or short with -short or the race detector.
func shorter(n, short int) int {
	if testing.Short() || race.Enabled {
		return short
	}
	return n
}

// larger returns n, or long with -full.
func larger(n, long int) int {
	if *full {
		return long
	}
	return n
}

// seeded returns a random generator and logs its seed. The seed is always the same unless -full is set.
func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	if *full {
		seed = rand.Uint64()
	}
	t.Log("seed", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// A language makes words. Two languages have no feature in common, neither words nor runs of three letters.
type language struct {
	word      func(i int) string
	separator string
	figure    string // the first digit of all its numbers
}

// spelled returns a language of words of three to nine of these letters.
func spelled(letters, figure string) language {
	alphabet := []rune(letters)
	return language{func(i int) string {
		rnd := rand.New(rand.NewPCG(uint64(i), 77))
		word := make([]rune, 3+rnd.IntN(7))
		for k := range word {
			word[k] = alphabet[rnd.IntN(len(alphabet))]
		}
		return string(word)
	}, " ", figure}
}

// han returns a language of Chinese characters from a place on; each is a word.
func han(from rune, figure string) language {
	return language{func(i int) string { return string(from + rune(i%2500)) }, "", figure}
}

var (
	englishA, englishB = spelled("abcdefghijklmnopqrstuvwxyz", "7"), spelled("αβγδεζηθικλμνξοπρστυφχψω", "8")
	chineseA, chineseB = han(0x5000, "5"), han(0x6000, "6")
)

// some returns n random words, of which some are frequent.
func (l language) some(rnd *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = l.word(rnd.IntN(rnd.IntN(20_000) + 10))
	}
	return out
}

func (l language) join(words []string) string { return strings.Join(words, l.separator) }

// text returns a random text of n words.
func (l language) text(rnd *rand.Rand, n int) string { return l.join(l.some(rnd, n)) }

// revised returns words of which a share is replaced by others.
func (l language) revised(rnd *rand.Rand, words []string, rate float64) []string {
	out := slices.Clone(words)
	for i := range out {
		if rnd.Float64() < rate {
			out[i] = l.word(rnd.IntN(20_000))
		}
	}
	return out
}

// collection returns n texts with everything in it: texts of all lengths, copies with few and with many changes, families, forms
// that are filled in, equal texts, texts with equal words, and texts without features.
func (l language) collection(rnd *rand.Rand, n int) (texts []string) {
	var originals [][]string
	for len(texts) < n {
		words := l.some(rnd, []int{1, 2, 3, 8, 30, 55, 80, 120, 300}[rnd.IntN(9)])
		if len(originals) > 0 && rnd.IntN(2) == 0 {
			words = originals[rnd.IntN(len(originals))]
		}
		switch rnd.IntN(9) {
		case 0, 1: // an original
			texts = append(texts, l.join(words))
		case 2, 3:
			words = l.revised(rnd, words, rnd.Float64()*rnd.Float64()*0.4)
			texts = append(texts, l.join(words))
		case 4: // a family
			for range 2 + rnd.IntN(10) {
				texts = append(texts, l.join(l.revised(rnd, words, 0.03)))
			}
		case 5: // a form with two slots and a number
			form := l.some(rnd, 30+rnd.IntN(100))
			for range 3 + rnd.IntN(8) {
				texts = append(texts, l.join(slices.Concat(form[:10], l.some(rnd, 2), form[10:20], []string{fmt.Sprint(" ", l.figure, rnd.IntN(1000), " ")}, form[20:], l.some(rnd, 1), form[:9])))
			}
		case 6: // equal words, or an equal text
			texts = append(texts, l.join(words), l.join(words)+" …", strings.ToUpper(l.join(words)))
		case 7: // a part
			texts = append(texts, l.join(words[:(len(words)*9+9)/10]), l.join(words)+l.separator+l.text(rnd, 3))
		case 8:
			texts = append(texts, []string{"", "…", "!", "\xff"}[rnd.IntN(4)])
		}
		originals = append(originals, words)
	}
	return texts[:n]
}

// made returns a Deduplicator in memory.
func made[ID comparable](t testing.TB, o Options) *Deduplicator[ID] {
	t.Helper()
	d, err := New[ID](o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// named returns texts under ids that begin with a name.
func named(name string, texts []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i, text := range texts {
			if !yield(fmt.Sprintf("%s%04d", name, i), text) {
				return
			}
		}
	}
}

// documents yields texts as documents.
func documents[ID any](texts iter.Seq2[ID, string]) iter.Seq2[ID, neardup.Document] {
	return func(yield func(ID, neardup.Document) bool) {
		for id, text := range texts {
			if !yield(id, neardup.Text(text)) {
				return
			}
		}
	}
}

// of returns a Deduplicator in memory with some texts.
func of(t testing.TB, o Options, collections ...iter.Seq2[string, string]) *Deduplicator[string] {
	t.Helper()
	d := made[string](t, o)
	for _, texts := range collections {
		if err := d.AddAll(bg, documents(texts)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// A fact is a pair of which A is the smaller id.
type fact = neardup.Pair[string]

// factOf returns a pair with the smaller id first.
func factOf(p fact) fact {
	if p.A > p.B {
		p.A, p.B = p.B, p.A
	}
	return p
}

// sortFacts sorts facts by their ids.
func sortFacts(facts []fact) []fact {
	slices.SortFunc(facts, func(p, q fact) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return facts
}

// factsOf returns all pairs, sorted by ids.
func factsOf(pairs iter.Seq2[fact, error]) (facts []fact) {
	for p, err := range pairs {
		facts = append(facts, factOf(must(p, err)))
	}
	return sortFacts(facts)
}

// sameFacts fails unless two lists of facts are equal to the last bit.
func sameFacts(t testing.TB, what string, got, want []fact) bool {
	t.Helper()
	if slices.Equal(got, want) {
		return true
	}
	for i := 0; i < max(len(got), len(want)); i++ {
		switch {
		case i == len(got):
			t.Errorf("%s: %d pairs, not %d; the first that is missing is %v", what, len(got), len(want), want[i])
		case i == len(want):
			t.Errorf("%s: %d pairs, not %d; the first that is too many is %v", what, len(got), len(want), got[i])
		case got[i] != want[i]:
			t.Errorf("%s: %d pairs, not the same %d; the first difference is %v, not %v", what, len(got), len(want), got[i], want[i])
		default:
			continue
		}
		break
	}
	return false
}

// linkages are all linkages.
var linkages = []neardup.Linkage{neardup.CentreLinkage, neardup.CompleteLinkage, neardup.SingleLinkage}

// everything is all that a Deduplicator says of its documents and that depends on nothing but these, spelled out. Equal
// texts should have one document each, or else Groups keeps the first of them.
func everything(d *Deduplicator[string]) (all []string) {
	for _, p := range factsOf(d.Pairs(bg)) {
		all = append(all, fmt.Sprintf("pair %q %q %x %x %v", p.A, p.B, p.Similarity, p.Probability, p.Kind))
	}
	threshold := must(d.Estimate(bg))
	all = append(all, fmt.Sprintf("threshold of %d pairs, curve %v, about %.6f wrong and %.6f missed", threshold.Pairs, threshold.Histogram, threshold.Wrong, threshold.Missed))
	for _, by := range linkages {
		for _, g := range must(d.Groups(bg, GroupOptions[string]{Linkage: by})) {
			slices.Sort(g.Members)
			all = append(all, fmt.Sprintf("linkage %d keeps %q of %q", by, g.Keep, g.Members))
		}
	}
	for _, f := range must(d.Families(bg)) {
		filled := map[string]string{}
		for i, id := range f.Members {
			if f.Filled != nil {
				filled[id] = spelling(f.Filled[i])
			}
		}
		slices.Sort(f.Members)
		all = append(all, fmt.Sprintf("family %q with the form %q and %q", f.Members, spelling(f.Form), filled))
	}
	slices.Sort(all)
	return all
}

// spelling returns a text without what documents of the same words may differ in: the document that came first shows how a
// family is spelled.
func spelling(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '[' {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// sameLines fails unless two sorted lists are equal.
func sameLines(t testing.TB, what string, got, want []string) bool {
	t.Helper()
	if slices.Equal(got, want) {
		return true
	}
	cut := func(s string) string { return s[:min(len(s), 400)] }
	for i := 0; ; i++ {
		switch {
		case i == len(got):
			t.Errorf("%s: missing is %s", what, cut(want[i]))
		case i == len(want):
			t.Errorf("%s: too many is %s", what, cut(got[i]))
		case got[i] != want[i]:
			t.Errorf("%s: %s, not %s", what, cut(got[i]), cut(want[i]))
		default:
			continue
		}
		return false
	}
}
