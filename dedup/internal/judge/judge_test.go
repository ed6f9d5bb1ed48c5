package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/dedup/internal/signature"
)

// A verdict is all that a judge says of two contents.
type verdict struct {
	Score
	kind neardup.Kind
}

// A world is contents in a graph, by slots.
type world struct {
	maker *content.Maker
	docs  []content.Document
	store *content.Store
	graph *neighbour.Graph
}

// worldOf returns the world of some texts.
func worldOf(texts []string) *world {
	w := &world{maker: content.NewMaker(&neardup.Fingerprinter{})}
	w.store = content.NewStore(w.maker, 1<<30)
	w.graph = neighbour.New(w.store, 1<<30)
	for _, text := range texts {
		w.add(text)
	}
	w.graph.Settle()
	return w
}

func (w *world) add(text string) {
	d, err := w.maker.Make(neardup.Text(text))
	if err != nil {
		panic(err)
	}
	w.docs = append(w.docs, d)
	b := w.store.Begin([]*content.Document{&d})
	if _, err := b.Write(); err != nil {
		panic(err)
	}
	b.Use(1)
	slot, _ := b.Slot(0)
	if int(slot) != len(w.docs)-1 {
		panic("a text is there twice")
	}
	w.graph.Add([]uint32{slot}, []*signature.Set{&d.Set})
}

// judge returns a judge that may use so many bytes.
func (w *world) judge(memory int64) *Judge {
	return New(w.maker, &w.store.Contents, w.graph, nil, 0, memory)
}

// slots returns all slots from 0 to n−1.
func slots(n int) (all []uint32) {
	for slot := range uint32(n) {
		all = append(all, slot)
	}
	return all
}

// verdicts returns what a judge says of some slots and their neighbours, by the digests of the two.
func (w *world) verdicts(j *Judge, of []uint32) map[[2]uint64]verdict {
	all, worker := map[[2]uint64]verdict{}, j.Worker()
	for _, a := range of {
		for _, n := range slices.Clone(worker.Near(a)) {
			s := worker.Score(a, n.Slot)
			x, y := worker.content(a).Digest, worker.content(n.Slot).Digest
			all[[2]uint64{min(x, y), max(x, y)}] = verdict{s, worker.Kind(a, n.Slot, s)}
		}
	}
	return all
}

// someTexts returns families of copies, forms and pages of a template, long and short ones, and no two equal texts.
func someTexts(rnd *rand.Rand) (texts []string) {
	word := func() string { return fmt.Sprintf("w%c%c%c", 'a'+rnd.IntN(26), 'a'+rnd.IntN(26), 'a'+rnd.IntN(26)) }
	for family := range 8 {
		base := make([]string, 12+rnd.IntN(150))
		for i := range base {
			base[i] = word()
		}
		for n := range 2 + rnd.IntN(8) {
			w := slices.Clone(base)
			for range 1 + rnd.IntN(1+len(w)/15) {
				w[rnd.IntN(len(w))] = word()
			}
			switch {
			case family%3 == 1: // a form
				w[len(w)/2] = fmt.Sprint(1000 + 37*n)
				w[len(w)/4] = word()
			case family%3 == 2 && n > 1: // pages of a template
				for i := range len(w) / 6 {
					w[i] = word()
				}
			}
			texts = append(texts, strings.Join(w, " "))
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return texts
}

// TestMemory: how much is kept changes nothing, and neither does which of two contents is given first.
func TestMemory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 1))
	kinds := map[neardup.Kind]int{}
	for range 2 {
		w := worldOf(someTexts(rnd))
		want := w.verdicts(w.judge(0), slots(len(w.docs)))
		back := slots(len(w.docs))
		slices.Reverse(back)
		for _, memory := range []int64{1, 1 << 20} {
			got := w.verdicts(w.judge(memory), back)
			if len(got) != len(want) {
				t.Fatalf("%d verdicts, and with %d bytes %d", len(want), memory, len(got))
			}
			for pair, v := range want {
				if got[pair] != v {
					t.Fatalf("%v, and with %d bytes %v", v, memory, got[pair])
				}
				kinds[v.kind]++
			}
		}
	}
	if kinds[neardup.SameForm] == 0 || kinds[neardup.Revised] == 0 {
		t.Errorf("only %v", kinds)
	}
}

// TestWith: of a guest, a judge says what it would say if the guest had been added; without a content, what it would say if that
// one had never been there.
func TestWith(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 2))
	compared := 0
	for range 25 {
		texts := someTexts(rnd)
		guest, gone := len(texts)-1, rnd.IntN(len(texts)-1)
		with := worldOf(append(slices.Delete(slices.Clone(texts), gone, gone+1), texts[gone])[:len(texts)-1]) // the guest, but not the gone one
		own := uint32(len(with.docs) - 1)
		want := with.verdicts(with.judge(0), []uint32{own})

		w := worldOf(texts[:guest])
		d, err := w.maker.Make(neardup.Text(texts[guest]))
		if err != nil {
			panic(err)
		}
		j := w.judge(0).With(&Guest{Content: d.Content, Set: d.Set}, uint32(gone))
		got := w.verdicts(j, []uint32{neighbour.None})
		if len(got) != len(want) {
			t.Fatalf("%d neighbours as a guest, %d after an addition", len(got), len(want))
		}
		for pair, v := range want {
			if got[pair] != v {
				t.Fatalf("%v as a guest, %v after an addition", got[pair], v)
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d pairs", compared)
	}
}

// TestPlacesOfSearches: what searches have kept of places changes nothing, whatever has come and gone since.
func TestPlacesOfSearches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 3))
	page := make([]string, 60)
	for i := range page {
		page[i] = fmt.Sprint("page", i)
	}
	seen := map[string]bool{}
	version := func() string { // of one page, so that more are alike than make a place
		for {
			own := slices.Clone(page)
			for range 3 {
				own[rnd.IntN(len(own))] = fmt.Sprint("own", rnd.IntN(40))
			}
			if text := strings.Join(own, " "); !seen[text] {
				seen[text] = true
				return text
			}
		}
	}
	var texts []string
	for range neighbour.Most + 20 {
		texts = append(texts, version())
	}
	w := worldOf(texts)
	j, compared := w.judge(1<<30), 0
	for range 40 {
		for range rnd.IntN(3) {
			w.add(version())
		}
		w.graph.Settle()
		j = j.Changed()
		d, err := w.maker.Make(neardup.Text(version()))
		if err != nil {
			panic(err)
		}
		guest, without := &Guest{Content: d.Content, Set: d.Set}, neighbour.None
		if rnd.IntN(3) == 0 {
			without = uint32(rnd.IntN(len(w.docs)))
		}
		want := w.verdicts(w.judge(1<<30).With(guest, without), []uint32{neighbour.None})
		for pair, v := range w.verdicts(j.With(guest, without), []uint32{neighbour.None}) {
			if want[pair] != v {
				t.Fatalf("%v, and without what earlier searches have kept %v", v, want[pair])
			}
			compared++
		}
	}
	if kept, ok := j.before.find(0); !ok || len(kept.Near) < neighbour.Most-1 || compared < 1000 {
		t.Errorf("%d compared, and nothing is kept", compared)
	}
}

// TestAreMany: one large neighbourhood is enough.
func TestAreMany(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want bool
	}{{1, 3, true}, {3, 1, true}, {2, 2, false}, {0, 9, true}} {
		if got := areMany(c.a, c.b); got != c.want {
			t.Errorf("%d and %d neighbours: %v", c.a, c.b, got)
		}
	}
}

// TestCachePut: what is put into a cache replaces what was there.
func TestCachePut(t *testing.T) {
	c := newCache[string](1 << 20)
	c.put(1, "old", 10)
	c.put(1, "new", 10)
	if s, ok := c.find(1); s != "new" || !ok {
		t.Errorf("%q, %t", s, ok)
	}
}

// TestNearOfAll: in a crowd of many thousands, a text is near all others, not only those that stand next to it.
func TestNearOfAll(t *testing.T) {
	var shared strings.Builder
	for i := range 60 {
		fmt.Fprint(&shared, "word", i, " ")
	}
	texts := make([]string, neighbour.UsualLimit*3/2) // more than a few bands tell apart
	for i := range texts {
		texts[i] = shared.String() + fmt.Sprint(i)
	}
	w := worldOf(texts).judge(1 << 20).Worker()
	defer w.Done()
	if next, all := len(w.Near(0)), len(w.NearOfAll(0)); next >= all || all != len(texts)-1 {
		t.Errorf("%d next to it and %d in all, of %d others", next, all, len(texts)-1)
	}
}
