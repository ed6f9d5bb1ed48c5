package blockstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/neardup/neardup"
)

// FromIndex makes a [Store] of any of the three indexes of package neardup, in memory or in
// files: for tests, and for programs that may or may not share a store. If the index was opened
// from files, Put and Delete return when the changes are on the disk. Close closes the index. Every
// entry counts as added when it is put, and Get and All do not say when that was.
func FromIndex[V any](ix Index[V]) Store[V] { return indexStore[V]{ix} }

// An Index is what [FromIndex] needs of an index.
type Index[V any] interface {
	Add(id string, v V) error
	Delete(id string) (bool, error)
	DeleteBefore(t time.Time) (int, error)
	Search(ctx context.Context, v V) iter.Seq2[neardup.Match[string], error]
	Exists(ctx context.Context, v V) (bool, error)
	Get(id string) (V, bool, error)
	All() iter.Seq2[neardup.Entry[string, V], error]
	Sync() error
	Close() error
}

// An indexStore is the Store of FromIndex.
type indexStore[V any] struct{ ix Index[V] }

func (s indexStore[V]) Put(ctx context.Context, entries []Entry[V]) error {
	if err := checkEntries(entries); err != nil {
		return err
	}
	// A signature of another length is not valid. So either the first one is not, and is not added, or all are.
	for i, e := range entries {
		if v, ok := any(e.Value).(neardup.Vector); ok && !isVector(v) {
			return fmt.Errorf("neardup: entry %d, id %q: the vector must have ascending features and finite weights", i, e.ID)
		}
		if sig, ok := any(e.Value).(neardup.Signature); ok {
			if first := any(entries[0].Value).(neardup.Signature); len(sig) != len(first) {
				return fmt.Errorf("neardup: entry %d, id %q: the signature has %d values, but that of entry 0 has %d", i, e.ID, len(sig), len(first))
			}
		}
	}
	for _, e := range entries {
		err := ctx.Err()
		if err == nil {
			err = s.ix.Add(e.ID, e.Value)
		}
		if err != nil {
			return errors.Join(err, s.ix.Sync())
		}
	}
	return s.ix.Sync()
}

// isVector reports whether a vector is as [neardup.Vector] demands.
func isVector(v neardup.Vector) bool {
	before := uint64(0)
	for _, t := range v {
		if t.Feature <= before || t.Weight-t.Weight != 0 {
			return false
		}
		before = t.Feature
	}
	return true
}

func (s indexStore[V]) Delete(ctx context.Context, ids []string) error {
	ids, err := checkIDs(ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := s.ix.Delete(id); err != nil {
			return err
		}
	}
	return s.ix.Sync()
}

func (s indexStore[V]) DeleteBefore(ctx context.Context, t time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.ix.DeleteBefore(t)
	return n, errors.Join(err, s.ix.Sync())
}

func (s indexStore[V]) Search(ctx context.Context, values []V, limit int) ([][]neardup.Match[string], error) {
	found, err := newResults(len(values), limit)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		for m, err := range s.ix.Search(ctx, v) {
			if err != nil {
				return nil, err
			}
			found.add(i, m)
		}
	}
	return found.sorted(), nil
}

func (s indexStore[V]) Exists(ctx context.Context, values []V) ([]bool, error) {
	exists := make([]bool, len(values))
	for i, v := range values {
		var err error
		if exists[i], err = s.ix.Exists(ctx, v); err != nil {
			return nil, err
		}
	}
	return exists, nil
}

func (s indexStore[V]) Get(ctx context.Context, ids []string) (map[string]Entry[V], error) {
	ids, err := checkIDs(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]Entry[V]{}
	for _, id := range ids {
		v, ok, err := s.ix.Get(id)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if ok {
			found[id] = Entry[V]{ID: id, Value: v}
		}
	}
	return found, ctx.Err()
}

func (s indexStore[V]) All(ctx context.Context) iter.Seq2[Entry[V], error] {
	return func(yield func(Entry[V], error) bool) {
		for e, err := range s.ix.All() {
			if err = cmp.Or(ctx.Err(), err); err != nil {
				yield(Entry[V]{}, err)
				return
			}
			if !yield(Entry[V]{ID: e.ID, Value: e.Value}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Entry[V]{}, err)
		}
	}
}

func (s indexStore[V]) Close() error { return s.ix.Close() }
