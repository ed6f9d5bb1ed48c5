// Package storetest tests whether a store does what [blockstore.Store] guarantees. Every store of
// this repository passes. Use it for your own:
//
//	func TestStore(t *testing.T) {
//		storetest.Test(t, suite[neardup.Fingerprint64]())
//		storetest.Test(t, suite[neardup.Fingerprint128]())
//		storetest.Test(t, suite[neardup.Signature]())
//	}
//
//	func suite[V any]() storetest.Suite[V] {
//		return storetest.Suite[V]{Open: func(ctx context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
//			return mystore.New(ctx, database, name, scheme)
//		}}
//	}
//
// Each test runs in a store of its own and compares it with a map (model), which is searched by
// brute force. [Test] needs a store that works; [TestOutage] and [TestLostAnswers] disturb it
// meanwhile.
package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Suite says what to test, and how thoroughly. V is a type of fingerprints, or that of signatures.
type Suite[V any] struct {
	// Open opens the store with the given name, which consists of lower-case letters and digits. If
	// there is none, Open makes it, and it is empty. Opened again under the same name, a store has
	// the same content; stores with other names have their own. Opening a store with a scheme other than the
	// one that it was made with must fail with neardup.ErrVersion.
	Open func(ctx context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error)

	// Exclusive says that a store can be open only once at a time, in one process.
	Exclusive bool

	// Ageless says that a store does not keep when its entries were added.
	Ageless bool

	// Size is the number of values in the larger tests. 0 means 5,000. With go test -short it is at
	// most 500.
	Size int

	kind[V]
}

// Test runs all tests of a store as subtests.
func Test[V any](t *testing.T, s Suite[V]) {
	s = s.withDefaults()
	t.Run("Documents", s.documents)
	t.Run("IDs", s.ids)
	t.Run("Batches", s.batches)
	t.Run("Invalid", s.invalid)
	schemes := s.schemes
	if testing.Short() {
		schemes = schemes[:2]
	}
	for i, scheme := range schemes {
		t.Run(strings.NewReplacer(" ", "", ",", "-").Replace(scheme.String()), func(t *testing.T) { s.model(t, fmt.Sprint("model", i), scheme) })
	}
	t.Run("Retry", s.retry)
	t.Run("Context", s.context)
	t.Run("Reopen", s.reopen)
	t.Run("Age", s.age)
	t.Run("AddedAgain", s.addedAgain)
	t.Run("WritersAndReaders", s.writersAndReaders)
	t.Run("OneID", s.oneID)
	t.Run("SearchAndPut", s.searchAndPut)
}

// withDefaults fills in what is not set, and makes the suite smaller for -short.
func (s Suite[V]) withDefaults() Suite[V] {
	if s.Size == 0 {
		s.Size = 5000
	}
	if testing.Short() {
		s.Size = min(s.Size, 500)
	}
	s.kind = kindOf[V]()
	if _, ok := any(s.kind).(kind[neardup.Signature]); ok {
		s.Size /= 3 // brute force takes longer
	}
	return s
}

// open opens a store and closes it after the test.
func (s Suite[V]) open(t *testing.T, name string, scheme blockstore.Scheme[V]) blockstore.Store[V] {
	t.Helper()
	store, err := s.Open(t.Context(), name, scheme)
	if err != nil {
		t.Fatalf("Open(%q, %v): %v", name, scheme, err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return store
}

// invalid puts a signature of a wrong length: then nothing is stored.
func (s Suite[V]) invalid(t *testing.T) {
	short, ok := any(make(neardup.Signature, 3)).(V)
	if !ok {
		t.Skip("all fingerprints are valid")
	}
	store := s.open(t, "invalid", s.schemes[0])
	err := store.Put(t.Context(), []blockstore.Entry[V]{{ID: "good", Value: s.base(1)}, {ID: "bad", Value: short}})
	found, getErr := store.Get(t.Context(), []string{"good", "bad"})
	if err == nil || getErr != nil || len(found) != 0 {
		t.Errorf("Put of a short signature: %v; then there is %v, %v", err, found, getErr)
	}
}

// all is a limit that no test reaches.
const all = 1 << 30

// A model is what a store should contain, by id.
type model[V any] struct {
	kind[V]
	scheme blockstore.Scheme[V]
	values map[string]V
}

// newModel returns an empty model.
func (s Suite[V]) newModel(scheme blockstore.Scheme[V]) model[V] {
	return model[V]{s.kind, scheme, map[string]V{}}
}

// search is Store.Search for one value, by brute force.
func (m model[V]) search(v V) []neardup.Match[string] {
	var found []neardup.Match[string]
	for id, other := range m.values {
		if match, ok := m.match(m.scheme, v, other); ok {
			match.ID = id
			found = append(found, match)
		}
	}
	slices.SortFunc(found, func(a, b neardup.Match[string]) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
	})
	return found
}

// check fails the test if the store answers the queries differently from m, or has another content.
func (m model[V]) check(t *testing.T, store blockstore.Store[V], queries []V) {
	t.Helper()
	m.checkSearch(t, store, queries)
	ids := append(slices.Collect(maps.Keys(m.values)), "no such id", "文")
	have, err := store.Get(t.Context(), ids)
	if err != nil || !maps.EqualFunc(have, m.values, func(e blockstore.Entry[V], v V) bool { return m.equal(e.Value, v) }) {
		t.Fatalf("Get of %d ids returns %d: %v", len(ids), len(have), err)
	}
	got := map[string]V{}
	for e, err := range store.All(t.Context()) {
		if err != nil {
			t.Fatalf("All: %v", err)
		}
		if _, twice := got[e.ID]; twice {
			t.Fatalf("All: %q comes twice", e.ID)
		}
		got[e.ID] = e.Value
	}
	for id, v := range m.values {
		if other, ok := got[id]; !ok || !m.equal(other, v) {
			t.Fatalf("All: %d entries, want %d; %q is %v (stored: %v), want %v", len(got), len(m.values), id, other, ok, v)
		}
	}
	if len(got) != len(m.values) {
		t.Fatalf("All: %d entries, want %d", len(got), len(m.values))
	}
}

// checkSearch compares the answers of Search, with and without a limit, and of Exists with those of
// the model.
func (m model[V]) checkSearch(t *testing.T, store blockstore.Store[V], queries []V) {
	t.Helper()
	found, err := store.Search(t.Context(), queries, all)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	exists, err := store.Exists(t.Context(), queries)
	if err != nil {
		t.Fatalf("Exists: %v", err)
	}
	if len(found) != len(queries) || len(exists) != len(queries) {
		t.Fatalf("%d and %d answers to %d queries", len(found), len(exists), len(queries))
	}
	for i, q := range queries {
		want := m.search(q)
		if !slices.Equal(found[i], want) {
			t.Fatalf("Search(%v): %v, want %v", q, found[i], want)
		}
		limit := 1 + i%3
		few, err := store.Search(t.Context(), []V{q}, limit)
		if err != nil || !slices.Equal(few[0], want[:min(limit, len(want))]) {
			t.Fatalf("Search(%v) with a limit of %d: %v, %v, want the first of %v", q, limit, few, err, want)
		}
		if exists[i] != (len(want) > 0) {
			t.Fatalf("Exists(%v) = %v, but there are %v", q, exists[i], want)
		}
	}
}

// put stores entries, and fails the test on an error.
func put[V any](t *testing.T, store blockstore.Store[V], entries ...blockstore.Entry[V]) {
	t.Helper()
	if err := store.Put(t.Context(), entries); err != nil {
		t.Fatalf("Put of %d: %v", len(entries), err)
	}
}

// remove deletes ids, and fails the test on an error.
func remove[V any](t *testing.T, store blockstore.Store[V], ids ...string) {
	t.Helper()
	if err := store.Delete(t.Context(), ids); err != nil {
		t.Fatalf("Delete of %d: %v", len(ids), err)
	}
}

// documents stores, replaces and removes a few values, and checks the store after each step. It
// uses no random numbers.
func (s Suite[V]) documents(t *testing.T) {
	store := s.open(t, "documents", s.schemes[0])
	m := s.newModel(s.schemes[0])
	m.check(t, store, s.edges) // of an empty store
	m.check(t, store, nil)
	put(t, store)
	remove(t, store)
	remove(t, store, "unknown")
	set := func(id string, v V) {
		t.Helper()
		put(t, store, blockstore.Entry[V]{ID: id, Value: v})
		m.values[id] = v
		m.check(t, store, s.edges)
	}
	a, b, c := s.base(0), s.near(s.base(0), 23), s.through(s.base(0), 1)
	set("A", a)
	set("B", b)
	set("C", c)
	set("A", b)         // most keys stay the same
	set("A", s.base(9)) // none stays the same
	set("A", a)         // and back
	set("A", a)
	for i, v := range s.edges {
		set(fmt.Sprint("edge", i), v)
		set(fmt.Sprint("copy", i), v)
	}
	for _, id := range []string{"B", "edge0", "copy3", "edge4"} {
		remove(t, store, id, id)
		delete(m.values, id)
		m.check(t, store, s.edges)
	}
	set("B", c)
	remove(t, store, slices.Collect(maps.Keys(m.values))...)
	clear(m.values)
	m.check(t, store, s.edges)
	set("A", c)
}

// ids stores ids that a database might confuse with each other (case, spaces, accents, numbers), or
// take for something else (wildcards, separators, SQL), and tries ids that must be refused.
func (s Suite[V]) ids(t *testing.T) {
	store := s.open(t, "ids", s.schemes[0])
	m := s.newModel(s.schemes[0])
	ids := []string{
		"a", "A", "a ", " a", "a\t", "á", "a\u0301", "ａ", "ß", "ss", "0", "00", "1e0", "-1", "null", "NULL", "true", "文", "文 ", "😀", "👨‍👩‍👧", "\x01", "\x7f", "\u0080", "\uffff", "\U0010ffff",
		"%", "_", "*", "?", "[a]", "{a}", "a:b", "a/b", `a\b`, `a'b`, `a"b`, "a\nb", "a;b", "$a", "a.b", "-- ", "'; DROP TABLE x; --", strings.Repeat("x", 1024), strings.Repeat("x", 1023), strings.Repeat("文", 341),
		"https://example.com/?q=%E6%96%87&b=1#x",
	}
	one, other := s.base(0), s.base(1)
	for i, id := range ids {
		m.values[id] = s.near(one, i%3)
		put(t, store, blockstore.Entry[V]{ID: id, Value: m.values[id]})
	}
	m.check(t, store, []V{one, other})
	for _, id := range ids[:len(ids)/2] {
		put(t, store, blockstore.Entry[V]{ID: id, Value: other})
		m.values[id] = other
	}
	m.check(t, store, []V{one, other})
	for i, id := range ids {
		if i%2 == 0 {
			remove(t, store, id)
			delete(m.values, id)
		}
	}
	m.check(t, store, []V{one, other})
	for _, id := range []string{"", strings.Repeat("x", 1025), "a\x00", "\x00", "a\xff", "\xed\xa0\x80"} {
		if err := store.Put(t.Context(), []blockstore.Entry[V]{{ID: "good", Value: one}, {ID: id, Value: one}}); err == nil {
			t.Errorf("Put(%.10q) is no error", id)
		}
		if err := store.Delete(t.Context(), []string{"文", id}); err == nil {
			t.Errorf("Delete(%.10q) is no error", id)
		}
		if _, err := store.Get(t.Context(), []string{"文", id}); err == nil {
			t.Errorf("Get(%.10q) is no error", id)
		}
	}
	// A call with an id that is not valid changes nothing.
	m.check(t, store, []V{one, other})
}

// batches stores, finds and removes many values in one call, among them many that are alike. The
// calls are larger than what most stores send at once.
func (s Suite[V]) batches(t *testing.T) {
	store := s.open(t, "batches", s.schemes[0])
	m := s.newModel(s.schemes[0])
	var entries []blockstore.Entry[V]
	var queries []V
	for i := range s.Size {
		e := blockstore.Entry[V]{ID: fmt.Sprintf("document %d", i%(s.Size-s.Size/10)), Value: s.base(uint64(100 + i))}
		if i%10 == 3 {
			e.Value = s.near(s.base(0), i%64) // of one bucket in most tables
		}
		entries = append(entries, e)
		m.values[e.ID] = e.Value // the last one counts
		if i < 1500 {
			queries = append(queries, s.near(e.Value, i%64))
		}
	}
	put(t, store, entries...)
	m.check(t, store, queries[:min(len(queries), 300)])
	m.check(t, store, slices.Concat(queries[:5], queries[:5]))
	put(t, store, entries...) // the same again
	if _, err := store.Search(t.Context(), queries, all); err != nil {
		t.Fatalf("Search of %d: %v", len(queries), err)
	}
	var ids []string
	for id := range m.values {
		if len(ids) < len(m.values)/2 {
			ids = append(ids, id)
		}
	}
	remove(t, store, ids...)
	for _, id := range ids {
		delete(m.values, id)
	}
	m.check(t, store, queries[:min(len(queries), 100)])
}

// model does random things to a store, and compares it with a map after each. Most values are near
// earlier ones, or have keys of others. The seed is logged.
func (s Suite[V]) model(t *testing.T, name string, scheme blockstore.Scheme[V]) {
	store := s.open(t, name, scheme)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m := s.newModel(scheme)
	seen := []V{s.base(seed)}
	next := func() V {
		v := s.wild(random, seen[random.IntN(len(seen))])
		seen = append(seen, v)
		return v
	}
	id := func() string { return fmt.Sprint("id", random.IntN(100)) }
	steps := min(60, s.Size/50)
	for range steps {
		switch random.IntN(3) {
		case 0, 1:
			var entries []blockstore.Entry[V]
			for range random.IntN(20) {
				e := blockstore.Entry[V]{ID: id(), Value: next()}
				entries = append(entries, e)
				m.values[e.ID] = e.Value
			}
			put(t, store, entries...)
		case 2:
			var ids []string
			for range random.IntN(10) {
				ids = append(ids, id())
				delete(m.values, ids[len(ids)-1])
			}
			remove(t, store, ids...)
		}
		queries := []V{next(), next(), next()}
		for range 20 {
			queries = append(queries, seen[random.IntN(len(seen))])
		}
		m.check(t, store, queries)
	}
}

// retry makes every change twice, like a caller who did not get the first answer.
func (s Suite[V]) retry(t *testing.T) {
	store := s.open(t, "retry", s.schemes[0])
	m := s.newModel(s.schemes[0])
	near := []V{s.base(0), s.near(s.base(0), 1), s.near(s.base(0), 63), s.near(s.base(0), 30)}
	for i, v := range near {
		for range 2 {
			put(t, store, blockstore.Entry[V]{ID: "one", Value: v}, blockstore.Entry[V]{ID: fmt.Sprint("other", i), Value: v})
		}
		m.values["one"], m.values[fmt.Sprint("other", i)] = v, v
		m.check(t, store, near)
	}
	for range 2 {
		remove(t, store, "one", "other1")
	}
	delete(m.values, "one")
	delete(m.values, "other1")
	m.check(t, store, near)
}

// context makes calls with a context that has ended: they return its error and change nothing.
func (s Suite[V]) context(t *testing.T) {
	store := s.open(t, "context", s.schemes[0])
	v := s.base(0)
	put(t, store, blockstore.Entry[V]{ID: "one", Value: v})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	errs := map[string]error{
		"Put":    store.Put(ended, []blockstore.Entry[V]{{ID: "two", Value: v}}),
		"Delete": store.Delete(ended, []string{"one"}),
	}
	if _, err := store.Search(t.Context(), []V{v}, 0); err == nil {
		t.Error("Search with a limit of 0: no error")
	}
	_, errs["Search"] = store.Search(ended, []V{v}, all)
	_, errs["Exists"] = store.Exists(ended, []V{v})
	_, errs["Get"] = store.Get(ended, []string{"one"})
	if !s.Ageless {
		_, errs["DeleteBefore"] = store.DeleteBefore(ended, time.Now().Add(time.Hour))
	}
	for _, err := range store.All(ended) {
		errs["All"] = err
	}
	for call, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", call, err, context.Canceled)
		}
	}
	m := s.newModel(s.schemes[0])
	m.values["one"] = v
	m.check(t, store, []V{v})
}

// reopen closes a store and opens it again, also with another scheme.
func (s Suite[V]) reopen(t *testing.T) {
	scheme := s.schemes[0]
	store, err := s.Open(t.Context(), "reopen", scheme)
	if err != nil {
		t.Fatal(err)
	}
	m := s.newModel(scheme)
	for i := range 100 {
		id := fmt.Sprint("id", i)
		m.values[id] = s.near(s.base(0), i)
		put(t, store, blockstore.Entry[V]{ID: id, Value: m.values[id]})
	}
	if err := store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	for _, other := range s.schemes[1:] {
		if store, err := s.Open(t.Context(), "reopen", other); !errors.Is(err, neardup.ErrVersion) {
			t.Errorf("opened with %v: %v", other, err)
			if err == nil {
				store.Close()
			}
		}
	}
	m.check(t, s.open(t, "reopen", scheme), []V{s.base(0), s.base(1)})
	if !s.Exclusive {
		m.check(t, s.open(t, "reopen", scheme), []V{s.base(0)}) // open twice at once
	}
	s.newModel(scheme).check(t, s.open(t, "reopen2", scheme), []V{s.base(0)})
}

// searchAndPut is the incremental example of Li 2015 §2.3, or one like it.
func (s Suite[V]) searchAndPut(t *testing.T) {
	store := s.open(t, "searchandput", s.schemes[0])
	m := s.newModel(s.schemes[0])
	rows := []blockstore.Entry[V]{{ID: "A", Value: s.base(0)}, {ID: "B", Value: s.near(s.base(0), 23)}, {ID: "C", Value: s.through(s.base(0), 1)}}
	for i, row := range rows {
		want := m.search(row.Value)
		m.values[row.ID] = row.Value
		// The second time the row is stored already, but must not find itself.
		for range 2 {
			found, err := blockstore.SearchAndPut(t.Context(), store, rows[i:i+1], all)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || !slices.Equal(found[0], want) {
				t.Errorf("SearchAndPut(%s) = %v, want %v", row.ID, found, want)
			}
		}
		if i > 0 && len(want) == 0 {
			t.Errorf("%s is near nothing", row.ID)
		}
	}
}
