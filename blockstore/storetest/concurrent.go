package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// The tests of this file use a store from several goroutines at once, or while its server or the
// connection fails.

// handles opens a store n times. If the store is Exclusive, it returns the same handle n times.
func (s Suite[V]) handles(t *testing.T, name string, n int) []blockstore.Store[V] {
	stores := []blockstore.Store[V]{s.open(t, name, s.schemes[0])}
	for len(stores) < n {
		if s.Exclusive {
			stores = append(stores, stores[0])
		} else {
			stores = append(stores, s.open(t, name, s.schemes[0]))
		}
	}
	return stores
}

// writersAndReaders runs two writers and two readers at once. A reader must find everything that
// had been stored when it asked, and nothing that had been removed by then. Each id belongs to one
// writer, so the counters of completed rounds tell what the reader may expect.
func (s Suite[V]) writersAndReaders(t *testing.T) {
	stores := s.handles(t, "writersandreaders", 4)
	c := &contest[V]{t: t, m: s.newModel(s.schemes[0]), rounds: max(3, s.Size/2/contestBatch)}
	var writing, reading sync.WaitGroup
	for w := range c.stored {
		writing.Go(func() { c.write(stores[w], w) })
	}
	for r := range 2 {
		reading.Go(func() { c.read(stores[2+r], uint64(r)) })
	}
	writing.Wait()
	c.stop.Store(true)
	reading.Wait()
	c.check(stores[3])
}

// A contest is the state of writersAndReaders. Every writer stores batches of entries, one batch a
// round, and in every third round removes the first entry of the oldest batch that still has it.
type contest[V any] struct {
	t       *testing.T
	m       model[V] // at the end
	rounds  int
	stored  [2]atomic.Int64 // completed rounds, by writer
	removed [2]atomic.Int64 // ids removed, by writer: the first of round 0, 1, …
	stop    atomic.Bool
}

// contestBatch is the number of entries that a writer stores in a round.
const contestBatch = 20

// fail reports an error and ends the contest.
func (c *contest[V]) fail(format string, args ...any) {
	c.t.Errorf(format, args...)
	c.stop.Store(true)
}

// entry returns the value that a writer stores as number i. Two consecutive ones are alike.
func (c *contest[V]) entry(writer, i int) blockstore.Entry[V] {
	v := c.m.base(uint64(1_000_000*(writer+1) + i/2))
	if i%2 == 1 {
		v = c.m.near(v, 0)
	}
	return blockstore.Entry[V]{ID: fmt.Sprintf("%d/%d", writer, i), Value: v}
}

// write is a writer.
func (c *contest[V]) write(store blockstore.Store[V], w int) {
	for r := 0; r < c.rounds && !c.stop.Load(); r++ {
		var entries []blockstore.Entry[V]
		for i := range contestBatch {
			entries = append(entries, c.entry(w, r*contestBatch+i))
		}
		if err := store.Put(c.t.Context(), entries); err != nil {
			c.fail("Put: %v", err)
			return
		}
		c.stored[w].Store(int64(r + 1))
		if r%3 != 2 {
			continue
		}
		old := int(c.removed[w].Load()) * contestBatch
		if err := store.Delete(c.t.Context(), []string{c.entry(w, old).ID}); err != nil {
			c.fail("Delete: %v", err)
			return
		}
		c.removed[w].Add(1)
	}
}

// read is a reader. Each query is as far away as the tests go; for fingerprints the store must find the
// entry through one table.
func (c *contest[V]) read(store blockstore.Store[V], seed uint64) {
	random := rand.New(rand.NewPCG(3, seed))
	for asked := 0; !c.stop.Load() || asked == 0; {
		w := random.IntN(2)
		// Read the counters before the search: what they count was complete when it began.
		gone, there := int(c.removed[w].Load()), int(c.stored[w].Load())
		if there == 0 {
			if c.stop.Load() {
				return // nothing could be stored
			}
			time.Sleep(time.Millisecond)
			continue
		}
		asked++
		i := random.IntN(there * contestBatch)
		e := c.entry(w, i)
		found, err := store.Search(c.t.Context(), []V{c.m.through(e.Value, asked)}, all)
		if err != nil {
			c.fail("Search: %v", err)
			return
		}
		seen := slices.ContainsFunc(found[0], func(m neardup.Match[string]) bool { return m.ID == e.ID })
		switch round := i / contestBatch; {
		case i%contestBatch == 0 && round < gone && seen:
			c.fail("%s was removed, and found", e.ID)
		case (i%contestBatch != 0 || round >= c.rounds/3+1) && !seen: // never removed
			c.fail("%s was stored, and not found: %v", e.ID, found)
		}
	}
}

// check compares the store with what the counters say, when all have finished.
func (c *contest[V]) check(store blockstore.Store[V]) {
	var queries []V
	for w := range c.stored {
		for i := range int(c.stored[w].Load()) * contestBatch {
			if i%contestBatch == 0 && i/contestBatch < int(c.removed[w].Load()) {
				continue
			}
			e := c.entry(w, i)
			c.m.values[e.ID] = e.Value
			if i < 100 {
				queries = append(queries, c.m.through(e.Value, i))
			}
		}
	}
	c.m.check(c.t, store, queries)
}

// oneID lets several goroutines write and remove the same three ids at once: new ids and existing
// ones, with the same fingerprint and with different ones. Whatever stands afterwards must be found
// through every table, and nothing else must be found.
func (s Suite[V]) oneID(t *testing.T) {
	stores := s.handles(t, "oneid", 3)
	values := []V{s.base(0), s.near(s.base(0), 0), s.base(1), s.base(2)}
	var queries []V
	for _, v := range values {
		for table := range 4 {
			queries = append(queries, v, s.through(v, table))
		}
	}
	for round := range max(2, min(20, s.Size/250)) {
		var wg sync.WaitGroup
		for w, store := range stores {
			wg.Go(func() { writeThree(t, store, values, round, w) })
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		// Which write won is open; All says it, and Search must agree.
		m := s.newModel(s.schemes[0])
		for e, err := range stores[0].All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			m.values[e.ID] = e.Value
		}
		if len(m.values) != 3 {
			t.Fatalf("there are %d ids: %v", len(m.values), m.values)
		}
		m.check(t, stores[1], queries)
		// The ids are new again in the next round.
		if round%2 == 0 {
			remove(t, stores[2], "id0", "id1", "id2")
			s.newModel(s.schemes[0]).check(t, stores[0], queries)
		}
	}
}

// writeThree is writer w of oneID in a round.
func writeThree[V any](t *testing.T, store blockstore.Store[V], values []V, round, w int) {
	for i := range 10 {
		e := blockstore.Entry[V]{ID: fmt.Sprint("id", i%3), Value: values[(round+i+w)%len(values)]}
		if i < 3 {
			e.Value = values[round%len(values)] // all writers store the same
		}
		if err := store.Put(t.Context(), []blockstore.Entry[V]{e}); err != nil {
			t.Errorf("Put: %v", err)
		}
		if i < 7 && (i+w)%5 == 4 {
			if err := store.Delete(t.Context(), []string{e.ID}); err != nil {
				t.Errorf("Delete: %v", err)
			}
		}
	}
}

// again repeats a call until it succeeds, for two minutes at most, and counts the failures. It gives up at once
// if the test has failed, as it does when a server does not start again.
func again(t *testing.T, failed *int, what string, call func(ctx context.Context) error) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := call(ctx)
		cancel()
		if err == nil {
			return
		}
		*failed++
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("%s fails still: %v", what, err)
		}
	}
}

// TestOutage stores values while outage stops the server and starts it again. outage runs
// once, in a goroutine of its own, and returns when the server is up again. Calls that fail are
// repeated. In the end every value must be stored, each once.
func TestOutage[V any](t *testing.T, s Suite[V], outage func() error) {
	s = s.withDefaults()
	var down sync.WaitGroup
	defer down.Wait() // also when the test has failed: nobody reports to a test that has ended
	rounds := max(6, min(100, s.Size/5))
	s.disturbed(t, "outage", rounds, func(round int) {
		switch round {
		case rounds / 3:
			down.Go(func() {
				if err := outage(); err != nil {
					t.Errorf("outage: %v", err)
				}
			})
		case rounds * 2 / 3:
			down.Wait()
		}
	})
}

// TestLostAnswers stores values while answers of the server get lost. lose(n) must make the
// n-th answer from now on get lost, by breaking the connection for example; lose(0) means that no
// more get lost. Calls that fail are repeated. In the end every value must be stored, each
// once.
func TestLostAnswers[V any](t *testing.T, s Suite[V], lose func(answer int)) {
	s = s.withDefaults()
	rounds := max(6, min(40, s.Size/5))
	s.disturbed(t, "lostanswers", rounds, func(round int) {
		switch {
		case round == rounds-1:
			lose(0) // no more
		case round%2 == 1:
			lose(1 + round/2%7)
		}
	})
}

// disturbed stores and removes values in rounds, calls disturb before each, repeats the calls
// that fail, and compares the store with a model at the end. Half of the ids of a round replace
// those of the round before.
func (s Suite[V]) disturbed(t *testing.T, name string, rounds int, disturb func(round int)) {
	store := s.open(t, name, s.schemes[0])
	m := s.newModel(s.schemes[0])
	random := rand.New(rand.NewPCG(5, 6))
	var queries []V
	batch := max(4, min(50, s.Size/25))
	failed := 0
	for r := range rounds {
		var entries []blockstore.Entry[V]
		for i := range batch {
			// Half of them replace others.
			e := blockstore.Entry[V]{ID: fmt.Sprint("id", r*batch/2+i), Value: s.base(random.Uint64())}
			entries = append(entries, e)
			m.values[e.ID] = e.Value
			queries = append(queries, s.through(e.Value, i))
		}
		disturb(r)
		again(t, &failed, "Put", func(ctx context.Context) error { return store.Put(ctx, entries) })
		if r%4 == 3 {
			id := entries[random.IntN(batch/2)].ID
			delete(m.values, id)
			again(t, &failed, "Delete", func(ctx context.Context) error { return store.Delete(ctx, []string{id}) })
		}
	}
	again(t, &failed, "Search", func(ctx context.Context) error { _, err := store.Search(ctx, queries[:1], all); return err })
	t.Logf("%d calls failed and were made again", failed)
	m.check(t, store, queries)
}
