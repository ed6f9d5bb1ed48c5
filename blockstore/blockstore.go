// Package blockstore keeps fingerprints and MinHash signatures outside the process, where several
// programs can share them: in Redis as in Wang 2019 §1, in a database as in Li 2015 §2.3, or in
// files larger than memory.
//
// A [Scheme] says what is kept and what is found: [Hamming] for fingerprints of 64 and 128 bits,
// [MinHash] for signatures. The modules in the folders below this package implement [Store]. [FromIndex] makes a Store
// of an index of package neardup. To write a Store of your own, implement a [Backend], which only
// knows bytes and keys, and test it with package storetest. https://github.com/neardup/neardup/blob/main/docs/stores.md says which store to
// choose.
package blockstore

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/neardup/neardup"
)

// A Store keeps values outside the process, and finds those that are near a query: all fingerprints
// within a Hamming distance ([Hamming]), or signatures of similar sets ([MinHash]). It maps ids to
// values. An id is 1 to 1024 bytes of UTF-8 without the byte 0; any other id is an error.
//
// Every call takes many ids or values at once. That is much faster than one by one, because each
// call waits for the store only once or a few times.
//
// Every store guarantees:
//
//   - Any number of goroutines may use a store at once, and any number of programs if it is behind
//     a server.
//   - A search misses nothing that its scheme promises, among what it sees. It sees everything that
//     Put and Delete calls had stored and removed when they returned nil before the search began,
//     wherever they were called. Of calls that are under way or have failed it may see any part.
//     While an id is being replaced, it may find the old value, the new one, or neither.
//   - A call that failed, or never returned, has done all of its work, some of it, or none, and has
//     not touched other ids. Put and Delete are idempotent: call them again to do what is missing.
//     This also holds if only the answer was lost. But the repeated call overwrites what others have
//     written under the same id in between.
//   - If several calls write one id at once, the result after all have returned is what one of them
//     wrote.
//   - A call that ends early because of its context returns the error of the context.
//   - What a call that returned nil has written is as durable as the documentation of the store
//     says.
type Store[V any] interface {
	// Put stores values. It replaces what was stored under the same ids. If an id occurs several
	// times in entries, the last one counts. If any id or value is not valid, nothing is stored.
	Put(ctx context.Context, entries []Entry[V]) error

	// Delete removes ids. An id that is not stored is not an error. If any id is not valid, nothing is
	// removed.
	Delete(ctx context.Context, ids []string) error

	// DeleteBefore removes what was added before a time, and returns how many that was. It goes
	// through everything that is stored. What is added again meanwhile stays. If it fails, some are
	// removed; call it again. The time of an entry has a resolution of a second. A layout that keeps
	// no times returns an errors.ErrUnsupported.
	DeleteBefore(ctx context.Context, t time.Time) (int, error)

	// Search returns, for each of values, the stored ones that are near, each id once: at most limit
	// of them, the nearest first, those that are equally near in the order of their ids. Its memory
	// is bounded by the limit, however many there are. A limit below 1 is an error. Li 2015 calls
	// this listing.
	Search(ctx context.Context, values []V, limit int) ([][]neardup.Match[string], error)

	// Exists reports, for each of values, whether any stored one is near.
	Exists(ctx context.Context, values []V) ([]bool, error)

	// Get returns the entries of those of ids that are stored. If any id is not valid, it is an
	// error.
	Get(ctx context.Context, ids []string) (map[string]Entry[V], error)

	// All yields everything that is stored, each id once, in no particular order. An entry that is
	// changed during the loop may be yielded or not. An error is the last thing yielded.
	All(ctx context.Context) iter.Seq2[Entry[V], error]

	// Close releases what the store holds, but not what the caller opened, such as a database
	// connection. No call may be under way, and none may follow.
	Close() error
}

// An Entry is a value with its id in a [Store].
type Entry[V any] struct {
	ID    string // 1 to 1024 bytes of UTF-8 without the byte 0
	Value V

	// Added is when the entry counts as added, in seconds. Put takes the zero time as now. Get and
	// All return the zero time if the store keeps none: see the layouts of the stores.
	Added time.Time
}

// PutAll stores many values in calls of about a million (2²⁰), which is faster than smaller calls.
// An error ends it, and says how many had been stored before. Put is idempotent, so it can be
// repeated from the beginning, or from any place before the error.
func PutAll[V any](ctx context.Context, store Store[V], values iter.Seq2[string, V]) error {
	const most = 1 << 20
	var batch []Entry[V]
	done := 0
	put := func() error {
		if err := store.Put(ctx, batch); err != nil {
			return fmt.Errorf("neardup: PutAll, after %d entries: %w", done, err)
		}
		done += len(batch)
		batch = batch[:0]
		return nil
	}
	for id, v := range values {
		batch = append(batch, Entry[V]{ID: id, Value: v})
		if len(batch) == most {
			if err := put(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return put()
}

// SearchAndPut stores entries and returns, for each of them, the nearest other ids, at most limit,
// as Li 2015 §2.3 does with new rows.
//
// Entries are stored first and searched for afterwards. So of two near entries that arrive at the
// same time, from any programs or in one call, at least one finds the other. An entry never finds
// its own id. If an id occurs several times, the last entry is stored. A limit below 1 is an error.
//
// If SearchAndPut fails, some entries may have been stored. Call it again to finish: the result is
// the same, because entries do not find themselves.
func SearchAndPut[V any](ctx context.Context, store Store[V], entries []Entry[V], limit int) ([][]neardup.Match[string], error) {
	if _, err := newResults(0, limit); err != nil {
		return nil, err
	}
	if err := store.Put(ctx, entries); err != nil {
		return nil, err
	}
	values := make([]V, len(entries))
	for i, e := range entries {
		values[i] = e.Value
	}
	// Search for one more, because each entry also finds itself.
	matches, err := store.Search(ctx, values, min(limit, math.MaxInt-1)+1)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		others := slices.DeleteFunc(matches[i], func(m neardup.Match[string]) bool { return m.ID == e.ID })
		matches[i] = others[:min(len(others), limit)]
	}
	return matches, nil
}
