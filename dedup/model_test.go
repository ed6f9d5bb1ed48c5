package dedup

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

// This file changes a Deduplicator at random and compares it, after every few changes, with a fresh one that has just the
// documents that are there.

// A model is a Deduplicator, in memory or in files, and what must be in it.
type model struct {
	t       *testing.T
	rnd     *rand.Rand
	options Options
	path    string // "" in memory
	d       *Deduplicator[string]
	texts   []string // to choose from
	ids     int
	present map[string]string
	inOrder []string // the ids that are present, in the order of adding
	added   int
}

// open opens or makes the Deduplicator.
func (m *model) open() {
	if m.path == "" {
		m.d = made[string](m.t, m.options)
		return
	}
	d, err := Open[string](m.path, m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	m.d = d
}

// put notes an addition.
func (m *model) put(id, text string) {
	m.remove(id)
	m.present[id] = text
	m.inOrder = append(m.inOrder, id)
	m.added++
}

// remove notes a deletion.
func (m *model) remove(id string) {
	delete(m.present, id)
	m.inOrder = slices.DeleteFunc(m.inOrder, func(other string) bool { return other == id })
}

// fresh returns a Deduplicator in memory with the documents that are present, but for one.
func (m *model) fresh(without string) *Deduplicator[string] {
	d := made[string](m.t, m.options)
	for _, id := range m.inOrder {
		if id != without {
			d.Add(id, neardup.Text(m.present[id]))
		}
	}
	return d
}

// add adds a document in one of several ways.
func (m *model) add(id, text string) {
	var err error
	switch m.rnd.IntN(7) {
	case 6:
		var want []neardup.Match[string]
		_, is := m.present[id]
		if !is {
			want = searched(m.fresh(id), text)
		}
		n := 1 + m.rnd.IntN(2)
		got, added, err := m.d.AddIfNew(bg, id, neardup.Text(text), n)
		if err != nil || added != (!is && len(want) == 0) || !slices.Equal(got, want[:min(n, len(want))]) {
			m.t.Errorf("AddIfNew(%q, %.60q, %d) returns %v, %t, %v, and there is such an id: %t; not the first of %v", id, text, n, got, added, err, is, want)
		}
		if !added {
			return
		}
	case 0:
		want := searched(m.fresh(id), text)
		var got []neardup.Match[string]
		if got, err = m.d.SearchAndAdd(bg, id, neardup.Text(text)); !slices.Equal(got, want) {
			m.t.Errorf("SearchAndAdd(%q, %.60q) returns %v, not %v", id, text, got, want)
		}
	case 1:
		_, err = m.d.ExistsAndAdd(bg, id, neardup.Text(text))
	case 2:
		other := made[string](m.t, m.options)
		other.Add(id, neardup.Text(text))
		err = m.d.Merge(other)
	case 3:
		err = m.d.AddAll(bg, func(yield func(string, neardup.Document) bool) { yield(id, neardup.Text(text)) })
	default:
		err = m.d.Add(id, neardup.Text(text))
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.put(id, text)
}

// searched returns what Pairs says of a text after it was added to d, in the order of Search.
func searched(d *Deduplicator[string], text string) (found []neardup.Match[string]) {
	const id = "\x00searched"
	number := map[string]int{}
	for doc := range d.All() {
		number[doc.ID] = doc.Sequence
	}
	d.Add(id, neardup.Text(text))
	for p := range d.Pairs(bg) {
		if p.B == id { // A was added before
			found = append(found, neardup.Match[string]{ID: p.A, Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind})
		}
	}
	d.Delete(id)
	slices.SortFunc(found, func(a, b neardup.Match[string]) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(b.Similarity, a.Similarity), number[a.ID]-number[b.ID])
	})
	return found
}

// step makes one change.
func (m *model) step() {
	id, text := fmt.Sprintf("id%03d", m.rnd.IntN(m.ids)), m.texts[m.rnd.IntN(len(m.texts))]
	switch op := m.rnd.IntN(20); {
	case op < 12:
		m.add(id, text)
	case op < 16:
		_, was := m.present[id]
		if gone, err := m.d.Delete(id); gone != was || err != nil {
			m.t.Fatalf("Delete(%q) is %t, %v; not %t", id, gone, err, was)
		}
		m.remove(id)
	case op == 16:
		want := searched(m.fresh(""), text)
		if got := listed(m.d.Search(bg, neardup.Text(text))); !slices.Equal(got, want) {
			m.t.Errorf("Search(%.60q) yields %v, not %v", text, got, want)
		}
	case m.path == "":
	case op == 17:
		if err := m.d.Compact(bg); err != nil {
			m.t.Fatal(err)
		}
	case op == 18:
		if err := m.d.Sync(); err != nil {
			m.t.Fatal(err)
		}
	case op == 19:
		if err := m.d.Close(); err != nil {
			m.t.Fatal(err)
		}
		m.open()
	}
	text, there := m.present[id]
	doc, ok, err := m.d.Get(id)
	if err != nil || ok != there || ok && (doc.ID != id || doc.Length != len([]rune(text))) {
		m.t.Fatalf("Get(%q) is %+v, %t, %v", id, doc, ok, err)
	}
	if m.d.Len() != len(m.present) || m.d.NextSequence() != m.added {
		m.t.Fatalf("%d documents of %d, not %d of %d", m.d.Len(), m.d.NextSequence(), len(m.present), m.added)
	}
}

// check compares everything.
func (m *model) check(what string) {
	want := m.fresh("")
	sameLines(m.t, what, everything(m.d), everything(want))
	var order []string
	for doc, err := range m.d.All() {
		if err != nil {
			m.t.Fatal(err)
		}
		order = append(order, doc.ID)
	}
	if !slices.Equal(order, m.inOrder) {
		m.t.Errorf("%s: All yields %v, not %v", what, order, m.inOrder)
	}
	// The order of the pairs' documents is that of adding, and pairs since some number are those with a newer document.
	numbers := map[string]int{}
	for doc := range m.d.All() {
		numbers[doc.ID] = doc.Sequence
	}
	since := m.rnd.IntN(m.added + 2)
	newer := factsOf(func(yield func(fact, error) bool) {
		for p, err := range m.d.Pairs(bg) {
			if numbers[p.A] >= numbers[p.B] {
				m.t.Errorf("%s: %v, but A has the number %d and B %d", what, p, numbers[p.A], numbers[p.B])
			}
			if numbers[p.B] >= since && !yield(p, err) {
				return
			}
		}
	})
	sameFacts(m.t, fmt.Sprintf("%s, since %d of %d", what, since, m.added), factsOf(m.d.PairsSince(bg, since)), newer)
}

func TestModel(t *testing.T) {
	t.Parallel()
	records := Options{Kinds: neardup.AllKinds, Fingerprinter: neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 3}}}
	for name, test := range map[string]struct {
		options Options
		files   bool
		l       language
	}{
		"memory":           {Options{Kinds: neardup.AllKinds}, false, englishA},
		"chinese":          {Options{Kinds: neardup.AllKinds}, false, chineseA},
		"default":          {Options{}, false, englishA},
		"similarity":       {Options{Similarity: 0.2, Kinds: neardup.AllKinds &^ neardup.Identical}, false, englishA},
		"files":            {Options{Kinds: neardup.AllKinds}, true, englishA},
		"files, chinese":   {Options{}, true, chineseA},
		"tokenizer":        {records, false, englishA},
		"files, tokenizer": {records, true, englishA},
		"bias":             {Options{Bias: 1.5, Probability: 0.7, Kinds: neardup.AllKinds}, false, englishA},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{t: t, rnd: seeded(t, 11), options: test.options, ids: 40, present: map[string]string{}}
			if test.files {
				m.path = filepath.Join(t.TempDir(), "documents")
			}
			m.texts = test.l.collection(m.rnd, 70)
			m.open()
			for i := range larger(shorter(120, 60), 2000) {
				m.step()
				if i%15 == 14 {
					m.check(fmt.Sprintf("after %d changes", i+1))
				}
				if t.Failed() {
					return
				}
			}
			if m.path != "" {
				if err := m.d.Verify(); err != nil {
					t.Error(err)
				}
				m.d.Close()
				m.open()
				m.check("opened again")
				m.d.Close()
			}
		})
	}
}

// TestModelLarge has so many documents and deletions that signatures are sorted in several runs and get new numbers.
func TestModelLarge(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 12)
	o := Options{Kinds: neardup.AllKinds}
	n := larger(1500, 8000)
	texts := englishA.collection(rnd, n)
	d := made[string](t, o)
	present := map[string]string{}
	for i := range 3 * n {
		id := fmt.Sprint(rnd.IntN(n))
		if rnd.IntN(3) == 0 {
			d.Delete(id)
			delete(present, id)
		} else {
			text := texts[rnd.IntN(n)]
			d.Add(id, neardup.Text(text))
			present[id] = text
		}
		if i%400 == 0 { // so that runs are made
			for range d.Search(bg, neardup.Text(texts[i%n])) {
			}
		}
	}
	fresh := made[string](t, o)
	for id, text := range present {
		fresh.Add(id, neardup.Text(text))
	}
	want := factsOf(fresh.Pairs(bg))
	sameFacts(t, "many", factsOf(d.Pairs(bg)), want)
	t.Logf("%d documents, %d pairs", len(present), len(want))
	for range 20 {
		text := texts[rnd.IntN(n)]
		got, want := listed(d.Search(bg, neardup.Text(text))), listed(fresh.Search(bg, neardup.Text(text)))
		byID := func(a, b neardup.Match[string]) int { return cmp.Compare(a.ID, b.ID) }
		slices.SortFunc(got, byID)
		slices.SortFunc(want, byID)
		if !slices.Equal(got, want) {
			t.Errorf("Search(%.50q): %v, not %v", text, got, want)
		}
	}
	// Nothing is left when all has gone.
	for id := range present {
		d.Delete(id)
	}
	if n := len(listed(d.Pairs(bg))) + len(listed(d.Search(bg, neardup.Text(texts[0])))) + d.Len(); n != 0 || d.docs.Len() > 1024 {
		t.Errorf("%d are left", n)
	}
}

// TestReplaced: ids that are replaced again and again, and equal documents that are deleted in any order, leave nothing behind.
func TestReplaced(t *testing.T) {
	t.Parallel()
	d := made[int](t, Options{})
	const live = 100
	for i := range 20 * live {
		if err := d.Add(i%live, neardup.Text(fmt.Sprintf("document %d of %d", i%7, i))); err != nil {
			t.Fatal(err)
		}
	}
	if d.Len() != live || d.docs.Len() > 2*live+1024 || d.contents.Len() > live+1 || d.live != live {
		t.Errorf("%d documents in %d slots, with %d contents", d.Len(), d.docs.Len(), d.contents.Len())
	}
	const equal = 1000
	e := made[int](t, Options{})
	left := map[int]bool{}
	for i := range equal {
		e.Add(i, neardup.Text("one and the same document"))
		left[i] = true
	}
	for n, i := range seeded(t, 8).Perm(equal) {
		if !must(e.Delete(i)) || must(e.Delete(i)) {
			t.Fatalf("Delete(%d)", i)
		}
		if delete(left, i); n%200 == 0 {
			found := must(e.SearchAndAdd(bg, -1, neardup.Text("one and the same document")))
			must(e.Delete(-1))
			for k, m := range found {
				if !left[m.ID] || m.Similarity != 1 || m.Probability != 1 || m.Kind != neardup.Identical || k > 0 && found[k-1].ID >= m.ID {
					t.Fatalf("%v found", m)
				}
			}
			if len(found) != len(left) {
				t.Fatalf("%d found, not %d", len(found), len(left))
			}
		}
	}
	if e.Len() != 0 || e.docs.Len() > 2048 {
		t.Errorf("%d documents are left", e.Len())
	}
}

// TestMergeErrors: parts with other features cannot be merged, and a part merged with itself changes nothing.
func TestMergeErrors(t *testing.T) {
	t.Parallel()
	d := of(t, Options{}, named("a", []string{"one text", "another text", "one text"}))
	if err := d.Merge(d); err != nil || d.Len() != 3 || d.NextSequence() != 3 {
		t.Errorf("merged with itself: %v, %d documents", err, d.Len())
	}
	for _, o := range []Options{
		{Fingerprinter: neardup.Fingerprinter{Tokenizer: neardup.Words{}}},
		{Fingerprinter: neardup.Fingerprinter{Normalizer: neardup.Normalizer{Numbers: neardup.TreatmentMask}}},
	} {
		if err := d.Merge(made[string](t, o)); err == nil || !strings.Contains(err.Error(), "cannot be merged") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := d.Merge(made[string](t, Options{Similarity: 0.3, Bias: 2, Memory: 1 << 20})); err != nil {
		t.Error(err)
	}
}
