package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/blockstore"
)

// The tests of this file are about when entries were added, and about removing those that are too old.

// age stores entries of several ages, makes one of them young again, and removes the old ones.
func (s Suite[V]) age(t *testing.T) {
	store := s.open(t, "age", s.schemes[0])
	m := s.newModel(s.schemes[0])
	day := time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)
	var entries []blockstore.Entry[V]
	for i := range 60 {
		e := blockstore.Entry[V]{ID: fmt.Sprint("id", i), Value: s.near(s.base(uint64(i/20)), i), Added: day.AddDate(0, 0, i)}
		entries, m.values[e.ID] = append(entries, e), e.Value
	}
	put(t, store, entries...)
	if s.Ageless {
		if n, err := store.DeleteBefore(t.Context(), day.AddDate(0, 0, 40)); n != 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("DeleteBefore removes %d, %v", n, err)
		}
		m.check(t, store, []V{s.base(0), s.base(1)})
		return
	}
	s.renew(t, store, m, day)
	for _, test := range []struct{ days, removed int }{{-1, 0}, {40, 39}, {40, 0}, {1000, 19}} {
		n, err := store.DeleteBefore(t.Context(), day.AddDate(0, 0, test.days))
		if want := test.removed; err != nil || n != want {
			t.Fatalf("DeleteBefore day %d removes %d, %v, want %d", test.days, n, err, want)
		}
		for i := range min(test.days, 60) {
			if i != 3 && i != 4 {
				delete(m.values, fmt.Sprint("id", i))
			}
		}
		if test.days > 0 {
			delete(m.values, "id59")
		}
		m.check(t, store, []V{s.base(0), s.base(1), s.base(2)})
	}
}

// renew makes two of the entries of age young, one of them with another value, and one older. Get and All
// must say so.
func (s Suite[V]) renew(t *testing.T, store blockstore.Store[V], m model[V], day time.Time) {
	now := time.Now().Truncate(time.Second)
	put(t, store, blockstore.Entry[V]{ID: "id3", Value: m.values["id3"]})                                 // the same again, now
	put(t, store, blockstore.Entry[V]{ID: "id4", Value: s.base(1)})                                       // another, now
	put(t, store, blockstore.Entry[V]{ID: "id59", Value: m.values["id59"], Added: day.AddDate(0, 0, -1)}) // made older
	m.values["id4"] = s.base(1)
	got, err := store.Get(t.Context(), []string{"id3", "id4", "id5", "id59"})
	if err != nil || got["id3"].Added.Before(now) || got["id4"].Added.Before(now) || got["id3"].ID != "id3" ||
		!got["id5"].Added.Equal(day.AddDate(0, 0, 5)) || !got["id59"].Added.Equal(day.AddDate(0, 0, -1)) {
		t.Errorf("Get: %v, %v", got, err)
	}
	for e, err := range store.All(t.Context()) {
		if err != nil || e.ID == "id7" && !e.Added.Equal(day.AddDate(0, 0, 7)) {
			t.Errorf("All: %v, %v", e, err)
		}
	}
}

// addedAgain adds entries again while DeleteBefore removes old ones: what was added again stays.
func (s Suite[V]) addedAgain(t *testing.T) {
	if s.Ageless {
		t.Skip("the store keeps no times")
	}
	stores := s.handles(t, "addedagain", 2)
	m := s.newModel(s.schemes[0])
	var old, again []blockstore.Entry[V]
	for i := range min(s.Size/10, 100) {
		e := blockstore.Entry[V]{ID: fmt.Sprint("id", i), Value: s.near(s.base(0), i), Added: time.Unix(1_000_000_000, 0)}
		old = append(old, e)
		if e.Added = (time.Time{}); i%2 == 0 {
			again = append(again, e)
			m.values[e.ID] = e.Value
		}
	}
	for range 3 {
		put(t, stores[0], old...)
		var wg sync.WaitGroup
		wg.Go(func() {
			for chunk := range slices.Chunk(again, 5) {
				if err := stores[0].Put(t.Context(), chunk); err != nil {
					t.Errorf("Put: %v", err)
				}
			}
		})
		wg.Go(func() {
			for range 3 {
				if _, err := stores[1].DeleteBefore(t.Context(), time.Unix(1_000_000_001, 0)); err != nil {
					t.Errorf("DeleteBefore: %v", err)
				}
			}
		})
		wg.Wait()
		if _, err := stores[1].DeleteBefore(t.Context(), time.Unix(1_000_000_001, 0)); err != nil {
			t.Fatal(err)
		}
		m.check(t, stores[1], []V{s.base(0), s.near(s.base(0), 1)})
	}
}
