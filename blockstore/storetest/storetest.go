// Package storetest tests whether a store does what [blockstore.Store] guarantees. Every store of
// this repository passes. Use it for your own:
//
//	func TestStore(t *testing.T) {
//		storetest.Test(t, storetest.Suite{Open: func(ctx context.Context, name string, b blockstore.Blocks) (blockstore.Store, error) {
//			return mystore.New(ctx, database, name, b)
//		}})
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

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Suite says what to test, and how thoroughly.
type Suite struct {
	// Open opens the store with the given name, which consists of lower-case letters and digits. If
	// there is none, Open makes it, and it is empty. Opened again under the same name, a store has
	// the same content; stores with other names have their own. Opening a store with other blocks
	// than it was made with must fail with neardup.ErrVersion.
	Open func(ctx context.Context, name string, blocks blockstore.Blocks) (blockstore.Store, error)

	// Exclusive says that a store can be open only once at a time, in one process.
	Exclusive bool

	// Size is the number of fingerprints in the larger tests. 0 means 5,000. With go test -short it
	// is at most 500.
	Size int

	// Blocks are tested in addition to the 4 blocks of the papers. nil means 5 and 6 blocks at the
	// distance 3, and the fewest blocks at the distances 0, 1 and 7. With go test -short only the
	// first of them is tested.
	Blocks []blockstore.Blocks
}

// MustBlocks is [blockstore.NewBlocks], but panics instead of returning an error.
func MustBlocks(distance, blocks int) blockstore.Blocks {
	b, err := blockstore.NewBlocks(distance, blocks)
	if err != nil {
		panic(err)
	}
	return b
}

// Test runs all tests of a store as subtests.
func Test(t *testing.T, s Suite) {
	s = s.withDefaults()
	t.Run("Documents", s.documents)
	t.Run("IDs", s.ids)
	t.Run("Batches", s.batches)
	for i, b := range append([]blockstore.Blocks{MustBlocks(3, 0)}, s.Blocks...) {
		t.Run(strings.NewReplacer(" ", "", ",", "-").Replace(b.String()), func(t *testing.T) { s.model(t, fmt.Sprint("model", i), b) })
	}
	t.Run("Retry", s.retry)
	t.Run("Context", s.context)
	t.Run("Reopen", s.reopen)
	t.Run("WritersAndReaders", s.writersAndReaders)
	t.Run("OneID", s.oneID)
	t.Run("SearchAndPut", s.searchAndPut)
}

// withDefaults fills in what is not set, and makes the suite smaller for -short.
func (s Suite) withDefaults() Suite {
	if s.Size == 0 {
		s.Size = 5000
	}
	if s.Blocks == nil {
		s.Blocks = []blockstore.Blocks{MustBlocks(3, 5), MustBlocks(3, 6), MustBlocks(0, 0), MustBlocks(1, 0), MustBlocks(7, 0)}
	}
	if testing.Short() {
		s.Size, s.Blocks = min(s.Size, 500), s.Blocks[:min(len(s.Blocks), 1)]
	}
	return s
}

// open opens a store and closes it after the test.
func (s Suite) open(t *testing.T, name string, blocks blockstore.Blocks) blockstore.Store {
	t.Helper()
	store, err := s.Open(t.Context(), name, blocks)
	if err != nil {
		t.Fatalf("Open(%q, %v): %v", name, blocks, err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if got := store.Distance(); got != blocks.Distance() {
		t.Fatalf("Distance() = %d, want %d", got, blocks.Distance())
	}
	return store
}

// all is a limit that no test reaches.
const all = 1 << 30

// A model is what a store should contain, by id.
type model map[string]neardup.Fingerprint64

// search is Store.Search for one fingerprint, by brute force.
func (m model) search(fp neardup.Fingerprint64, distance int) []neardup.Match[string] {
	var found []neardup.Match[string]
	for id, other := range m {
		if d := fp.Distance(other); d <= distance {
			found = append(found, neardup.Match[string]{ID: id, Distance: d})
		}
	}
	slices.SortFunc(found, func(a, b neardup.Match[string]) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return found
}

// check fails the test if the store answers the queries differently from m, or has another content.
func (m model) check(t *testing.T, store blockstore.Store, queries []neardup.Fingerprint64) {
	t.Helper()
	m.checkSearch(t, store, queries)
	ids := append(slices.Collect(maps.Keys(m)), "no such id", "文")
	have, err := store.Get(t.Context(), ids)
	if err != nil || !maps.Equal(have, m) {
		t.Fatalf("Get of %d ids returns %d: %v", len(ids), len(have), err)
	}
	got := model{}
	for e, err := range store.All(t.Context()) {
		if err != nil {
			t.Fatalf("All: %v", err)
		}
		if _, twice := got[e.ID]; twice {
			t.Fatalf("All: %q comes twice", e.ID)
		}
		got[e.ID] = e.Fingerprint
	}
	if maps.Equal(got, m) {
		return
	}
	for id, fp := range m {
		if other, ok := got[id]; !ok || other != fp {
			t.Fatalf("All: %d entries, want %d; %q is %016x (stored: %v), want %016x", len(got), len(m), id, uint64(other), ok, uint64(fp))
		}
	}
	t.Fatalf("All: %d entries, want %d", len(got), len(m))
}

// checkSearch compares the answers of Search, with and without a limit, and of Exists with those of
// the model.
func (m model) checkSearch(t *testing.T, store blockstore.Store, queries []neardup.Fingerprint64) {
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
		want := m.search(q, store.Distance())
		if !slices.Equal(found[i], want) {
			t.Fatalf("Search(%016x): %v, want %v", uint64(q), found[i], want)
		}
		limit := 1 + i%3
		few, err := store.Search(t.Context(), []neardup.Fingerprint64{q}, limit)
		if err != nil || !slices.Equal(few[0], want[:min(limit, len(want))]) {
			t.Fatalf("Search(%016x) with a limit of %d: %v, %v, want the first of %v", uint64(q), limit, few, err, want)
		}
		if exists[i] != (len(want) > 0) {
			t.Fatalf("Exists(%016x) = %v, but there are %v", uint64(q), exists[i], want)
		}
	}
}

// through flips one bit in three of the four blocks of MustBlocks(3, 0). So only the given table,
// modulo 4, leads from the result back to fp.
func through(fp neardup.Fingerprint64, table int) neardup.Fingerprint64 {
	for other := range 4 {
		if other != table%4 {
			fp ^= 1 << (63 - 16*other - table%16)
		}
	}
	return fp
}

// put stores entries, and fails the test on an error.
func put(t *testing.T, store blockstore.Store, entries ...blockstore.Entry) {
	t.Helper()
	if err := store.Put(t.Context(), entries); err != nil {
		t.Fatalf("Put of %d: %v", len(entries), err)
	}
}

// remove deletes ids, and fails the test on an error.
func remove(t *testing.T, store blockstore.Store, ids ...string) {
	t.Helper()
	if err := store.Delete(t.Context(), ids); err != nil {
		t.Fatalf("Delete of %d: %v", len(ids), err)
	}
}

// documents stores, replaces and removes a few fingerprints, and checks the store after each step.
// It uses no random numbers. The edge cases have bits at the borders of words and blocks.
func (s Suite) documents(t *testing.T) {
	store := s.open(t, "documents", MustBlocks(3, 0))
	// The example of Li 2015 §2.3: A and B differ in 1 bit, A and C in 3, B and C in 4.
	const a, b, c = 0x800d8e90e45cc488, 0x800d8e90e4dcc488, 0x800dae90e55ce488
	edges := []neardup.Fingerprint64{0, 1, 1 << 63, 1<<63 - 1, 1<<64 - 1, 1<<64 - 2, 0x8000800080008000, 0x7fff7fff7fff7fff, a, b, c}
	m := model{}
	m.check(t, store, edges) // of an empty store
	m.check(t, store, nil)
	put(t, store)
	remove(t, store)
	remove(t, store, "unknown")
	set := func(id string, fp neardup.Fingerprint64) {
		t.Helper()
		put(t, store, blockstore.Entry{ID: id, Fingerprint: fp})
		m[id] = fp
		m.check(t, store, edges)
	}
	set("A", a)
	set("B", b)
	set("C", c)
	set("A", b)   // three blocks stay the same
	set("A", ^fp) // none stays the same
	set("A", a)   // and back
	set("A", a)
	for i, fp := range edges {
		set(fmt.Sprint("edge", i), fp)
		set(fmt.Sprint("copy", i), fp)
	}
	for _, id := range []string{"B", "edge0", "copy3", "edge4"} {
		remove(t, store, id, id)
		delete(m, id)
		m.check(t, store, edges)
	}
	set("B", c)
	remove(t, store, slices.Collect(maps.Keys(m))...)
	clear(m)
	m.check(t, store, edges)
	set("A", c)
}

// fp is a fingerprint without special properties.
const fp neardup.Fingerprint64 = 0x800d8e90e45cc488

// ids stores ids that a database might confuse with each other (case, spaces, accents, numbers), or
// take for something else (wildcards, separators, SQL), and tries ids that must be refused.
func (s Suite) ids(t *testing.T) {
	store := s.open(t, "ids", MustBlocks(3, 0))
	m := model{}
	ids := []string{
		"a", "A", "a ", " a", "a\t", "á", "a\u0301", "ａ", "ß", "ss", "0", "00", "1e0", "-1", "null", "NULL", "true", "文", "文 ", "😀", "👨‍👩‍👧", "\x01", "\x7f", "\u0080", "\uffff", "\U0010ffff",
		"%", "_", "*", "?", "[a]", "{a}", "a:b", "a/b", `a\b`, `a'b`, `a"b`, "a\nb", "a;b", "$a", "a.b", "-- ", "'; DROP TABLE x; --", strings.Repeat("x", 1024), strings.Repeat("x", 1023), strings.Repeat("文", 341),
		"https://example.com/?q=%E6%96%87&b=1#x",
	}
	for i, id := range ids {
		put(t, store, blockstore.Entry{ID: id, Fingerprint: fp ^ 1<<(i%3)})
		m[id] = fp ^ 1<<(i%3)
	}
	m.check(t, store, []neardup.Fingerprint64{fp, ^fp})
	for _, id := range ids[:len(ids)/2] {
		put(t, store, blockstore.Entry{ID: id, Fingerprint: ^fp})
		m[id] = ^fp
	}
	m.check(t, store, []neardup.Fingerprint64{fp, ^fp})
	for i, id := range ids {
		if i%2 == 0 {
			remove(t, store, id)
			delete(m, id)
		}
	}
	m.check(t, store, []neardup.Fingerprint64{fp, ^fp})
	for _, id := range []string{"", strings.Repeat("x", 1025), "a\x00", "\x00", "a\xff", "\xed\xa0\x80"} {
		good := blockstore.Entry{ID: "good", Fingerprint: fp}
		if err := store.Put(t.Context(), []blockstore.Entry{good, {ID: id, Fingerprint: fp}}); err == nil {
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
	m.check(t, store, []neardup.Fingerprint64{fp, ^fp})
}

// batches stores, finds and removes many fingerprints in one call, among them many that are alike.
// The calls are larger than what most stores send at once.
func (s Suite) batches(t *testing.T) {
	store := s.open(t, "batches", MustBlocks(3, 0))
	random := rand.New(rand.NewPCG(1, 2))
	m := model{}
	var entries []blockstore.Entry
	var queries []neardup.Fingerprint64
	for i := range s.Size {
		e := blockstore.Entry{ID: fmt.Sprintf("document %d", i%(s.Size-s.Size/10)), Fingerprint: neardup.Fingerprint64(random.Uint64())}
		if i%10 == 3 {
			e.Fingerprint = fp ^ 1<<(i%64) // of one bucket in most tables
		}
		entries = append(entries, e)
		m[e.ID] = e.Fingerprint // the last one counts
		if i < 1500 {
			queries = append(queries, e.Fingerprint^1<<(i%64))
		}
	}
	put(t, store, entries...) // the same again
	m.check(t, store, queries[:min(len(queries), 300)])
	m.check(t, store, slices.Concat(queries[:5], queries[:5]))
	put(t, store, entries...) // the same again
	if _, err := store.Search(t.Context(), queries, all); err != nil {
		t.Fatalf("Search of %d: %v", len(queries), err)
	}
	var ids []string
	for id := range m {
		if len(ids) < len(m)/2 {
			ids = append(ids, id)
		}
	}
	remove(t, store, ids...)
	for _, id := range ids {
		delete(m, id)
	}
	m.check(t, store, queries[:min(len(queries), 100)])
}

// model does random things to a store, and compares it with a map after each. Half of the
// fingerprints are near earlier ones, and some have many zeros, so that keys collide. The seed is
// logged.
func (s Suite) model(t *testing.T, name string, blocks blockstore.Blocks) {
	store := s.open(t, name, blocks)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m := model{}
	var seen []neardup.Fingerprint64
	// next returns a fingerprint, often within the distance of an earlier one, or just outside it.
	next := func() neardup.Fingerprint64 {
		f := neardup.Fingerprint64(random.Uint64())
		switch random.IntN(4) {
		case 0:
			f &= 0xFFFF // three blocks of zeros
		case 1:
			f = 0
		}
		if len(seen) > 0 && random.IntN(2) == 0 {
			f = seen[random.IntN(len(seen))]
		}
		for range random.IntN(blocks.Distance() + 3) {
			f ^= 1 << random.IntN(64)
		}
		seen = append(seen, f)
		return f
	}
	id := func() string { return fmt.Sprint("id", random.IntN(100)) }
	steps := min(60, s.Size/50)
	for range steps {
		switch random.IntN(3) {
		case 0, 1:
			var entries []blockstore.Entry
			for range random.IntN(20) {
				e := blockstore.Entry{ID: id(), Fingerprint: next()}
				entries = append(entries, e)
				m[e.ID] = e.Fingerprint
			}
			put(t, store, entries...)
		case 2:
			var ids []string
			for range random.IntN(10) {
				ids = append(ids, id())
				delete(m, ids[len(ids)-1])
			}
			remove(t, store, ids...)
		}
		queries := []neardup.Fingerprint64{next(), next(), next()}
		for range 20 {
			queries = append(queries, seen[random.IntN(len(seen))])
		}
		m.check(t, store, queries)
	}
}

// retry makes every change twice, like a caller who did not get the first answer.
func (s Suite) retry(t *testing.T) {
	store := s.open(t, "retry", MustBlocks(3, 0))
	m := model{}
	near := []neardup.Fingerprint64{fp, fp ^ 1, fp ^ 1<<63, fp ^ 3<<30}
	for i, f := range near {
		for range 2 {
			put(t, store, blockstore.Entry{ID: "one", Fingerprint: f}, blockstore.Entry{ID: fmt.Sprint("other", i), Fingerprint: f})
		}
		m["one"], m[fmt.Sprint("other", i)] = f, f
		m.check(t, store, near)
	}
	for range 2 {
		remove(t, store, "one", "other1")
	}
	delete(m, "one")
	delete(m, "other1")
	m.check(t, store, near)
}

// context makes calls with a context that has ended: they return its error and change nothing.
func (s Suite) context(t *testing.T) {
	store := s.open(t, "context", MustBlocks(3, 0))
	put(t, store, blockstore.Entry{ID: "one", Fingerprint: fp})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	errs := map[string]error{
		"Put":    store.Put(ended, []blockstore.Entry{{ID: "two", Fingerprint: fp}}),
		"Delete": store.Delete(ended, []string{"one"}),
	}
	if _, err := store.Search(t.Context(), []neardup.Fingerprint64{fp}, 0); err == nil {
		t.Error("Search with a limit of 0: no error")
	}
	_, errs["Search"] = store.Search(ended, []neardup.Fingerprint64{fp}, all)
	_, errs["Exists"] = store.Exists(ended, []neardup.Fingerprint64{fp})
	_, errs["Get"] = store.Get(ended, []string{"one"})
	for _, err := range store.All(ended) {
		errs["All"] = err
	}
	for _, name := range []string{"Put", "Delete", "Search", "Exists", "Get", "All"} {
		if !errors.Is(errs[name], context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, errs[name])
		}
	}
	m := model{"one": fp}
	m.check(t, store, []neardup.Fingerprint64{fp})
	for range store.All(t.Context()) {
		// The loop may be left early, and the store used further.
		break
	}
	m.check(t, store, []neardup.Fingerprint64{fp})
}

// reopen closes a store and opens it again, which keeps the content. Opening it with other blocks
// must be refused.
func (s Suite) reopen(t *testing.T) {
	blocks := MustBlocks(3, 0)
	store, err := s.Open(t.Context(), "reopen", blocks)
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	for i := range 100 {
		id := fmt.Sprint("id", i)
		m[id] = fp ^ 1<<(i%64)
		put(t, store, blockstore.Entry{ID: id, Fingerprint: m[id]})
	}
	if err := store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	for _, other := range []blockstore.Blocks{MustBlocks(2, 0), MustBlocks(3, 5)} {
		if store, err := s.Open(t.Context(), "reopen", other); !errors.Is(err, neardup.ErrVersion) {
			t.Errorf("opened with %v: %v", other, err)
			if err == nil {
				store.Close()
			}
		}
	}
	m.check(t, s.open(t, "reopen", blocks), []neardup.Fingerprint64{fp, ^fp})
	if !s.Exclusive {
		m.check(t, s.open(t, "reopen", blocks), []neardup.Fingerprint64{fp}) // open twice at once
	}
	model{}.check(t, s.open(t, "reopen2", blocks), []neardup.Fingerprint64{fp})
}

// searchAndPut is the incremental example of Li 2015 §2.3.
func (s Suite) searchAndPut(t *testing.T) {
	store := s.open(t, "searchandput", MustBlocks(3, 0))
	rows := []blockstore.Entry{{ID: "A", Fingerprint: 0x800d8e90e45cc488}, {ID: "B", Fingerprint: 0x800d8e90e4dcc488}, {ID: "C", Fingerprint: 0x800dae90e55ce488}}
	want := [][]neardup.Match[string]{nil, {{ID: "A", Distance: 1}}, {{ID: "A", Distance: 3}}}
	for i, row := range rows {
		// The second time the row is stored already, but must not find itself.
		for range 2 {
			found, err := blockstore.SearchAndPut(t.Context(), store, rows[i:i+1], all)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || !slices.Equal(found[0], want[i]) {
				t.Errorf("SearchAndPut(%s) = %v, want %v", row.ID, found, want[i])
			}
		}
	}
}
