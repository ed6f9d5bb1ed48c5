// Package blockstore keeps fingerprints outside the process, where several programs can share them:
// in Redis as in Wang 2019 §1, in a database as in Li 2015 §2.3, or in files larger than memory.
//
// The modules under stores/ implement [Store]. [FromIndex] makes a Store of a neardup.Index. To
// write a Store of your own, cut fingerprints into keys with [Blocks], check arguments with
// [CheckEntries] and [CheckIDs], collect matches in [Results], and test it with package storetest.
// docs/stores.md says which store to choose.
package blockstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// A Store keeps fingerprints outside the process, and finds all of them within a fixed Hamming
// distance of a query. It maps ids to fingerprints. An id is 1 to 1024 bytes of UTF-8 without the
// byte 0; any other id is an error.
//
// Every call takes many ids or fingerprints at once. That is much faster than one by one, because
// each call waits for the store only once or a few times.
//
// Every store guarantees:
//
//   - Any number of goroutines may use a store at once, and any number of programs if it is behind
//     a server.
//   - A search misses nothing within the distance, among what it sees. It sees everything that Put
//     and Delete calls had stored and removed when they returned nil before the search began,
//     wherever they were called. Of calls that are under way or have failed it may see any part.
//     While an id is being replaced, it may find the old fingerprint, the new one, or neither.
//   - A call that failed, or never returned, has done all of its work, some of it, or none, and has
//     not touched other ids. Put and Delete are idempotent: call them again to do what is missing.
//     This also holds if only the answer was lost. The repeated call does undo what somebody else
//     has written under the same id in between.
//   - If several calls write one id at once, the result after all have returned is what one of them
//     wrote.
//   - A call that ends early because of its context returns the error of the context.
//   - What a call that returned nil has written is as durable as the documentation of the store
//     says.
type Store interface {
	// Put stores fingerprints. It replaces what was stored under the same ids. If an id occurs
	// several times in entries, the last one counts. If any id is not valid, nothing is stored.
	Put(ctx context.Context, entries []Entry) error

	// Delete removes ids. An id that is not stored is no error. If any id is not valid, nothing is
	// removed.
	Delete(ctx context.Context, ids []string) error

	// Search returns, for each of fps, the stored fingerprints within the distance, each id once:
	// at most limit of them, the nearest first, those at the same distance in the order of their
	// ids. Its memory is bounded by the limit, however many there are (see [Results]). A limit
	// below 1 is an error. Li 2015 calls this listing.
	Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error)

	// Exists reports, for each of fps, whether any stored fingerprint is within the distance.
	Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error)

	// Get returns the fingerprints of those of ids that are stored. If any id is not valid, it is an error.
	Get(ctx context.Context, ids []string) (map[string]neardup.Fingerprint64, error)

	// All yields everything that is stored, each id once, in no particular order. An entry that is
	// changed during the loop may be yielded or not. An error is the last thing yielded.
	All(ctx context.Context) iter.Seq2[Entry, error]

	// Distance returns the Hamming distance of all searches.
	Distance() int

	// Close releases what the store holds, but not what the caller opened, such as a database
	// connection. No call may be under way, and none may follow.
	Close() error
}

// An Entry is a fingerprint with its id in a [Store].
type Entry struct {
	ID          string // 1 to 1024 bytes of UTF-8 without the byte 0
	Fingerprint neardup.Fingerprint64
}

// maxIDBytes fits into the indexes of MySQL and PostgreSQL, and is enough for most web addresses.
const maxIDBytes = 1024

// CheckEntries helps to implement [Store.Put]. It returns an error if an id is not valid. Otherwise
// it returns the entries; if several have the same id, only the last of them. It does not change
// the slice, but may return it.
func CheckEntries(entries []Entry) ([]Entry, error) {
	last := make(map[string]int, len(entries))
	for i, e := range entries {
		if err := checkID(e.ID); err != nil {
			return nil, fmt.Errorf("neardup: entry %d: %w", i, err)
		}
		last[e.ID] = i
	}
	if len(last) == len(entries) {
		return entries, nil
	}
	distinct := make([]Entry, 0, len(last))
	for i, e := range entries {
		if last[e.ID] == i {
			distinct = append(distinct, e)
		}
	}
	return distinct, nil
}

// CheckIDs helps to implement [Store.Delete]. It returns an error if an id is not valid. Otherwise
// it returns the ids in a new slice, in ascending order, each once.
func CheckIDs(ids []string) ([]string, error) {
	for i, id := range ids {
		if err := checkID(id); err != nil {
			return nil, fmt.Errorf("neardup: id %d: %w", i, err)
		}
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// checkID returns an error if an id is not valid. The callers add which one it is.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("the id is empty")
	case len(id) > maxIDBytes:
		return fmt.Errorf("the id %q… has %d bytes, more than %d: use a hash of it", id[:64], len(id), maxIDBytes)
	case !utf8.ValidString(id):
		return fmt.Errorf("the id %q is not UTF-8", id)
	case strings.IndexByte(id, 0) >= 0:
		return fmt.Errorf("the id %q has a byte 0", id)
	}
	return nil
}

// Results collects the matches of a search, in any order. It helps to implement [Store.Search]. Its
// memory is bounded: it keeps at most 64 or twice the limit for each fingerprint, whichever is
// more. It is not safe for concurrent use.
type Results struct {
	limit   int
	matches [][]neardup.Match[string] // by fingerprint; not sorted, and perhaps with repetitions
}

// NewResults returns empty results of a search for n fingerprints, with at most limit matches for
// each. A limit below 1 is an error.
func NewResults(n, limit int) (*Results, error) {
	if limit < 1 {
		return nil, fmt.Errorf("neardup: a search for at most %d matches", limit)
	}
	return &Results{limit, make([][]neardup.Match[string], n)}, nil
}

// Add adds a match for fingerprint i, 0 ≤ i < n. The same id may come several times, since several
// tables may lead to it; its smallest distance counts.
func (r *Results) Add(i int, id string, distance int) {
	m := append(r.matches[i], neardup.Match[string]{ID: id, Distance: distance})
	if r.matches[i] = m; len(m) >= 64 && len(m)-r.limit >= r.limit {
		r.matches[i] = best(m, r.limit)
	}
}

// Reset drops the matches of the fingerprints from..to−1, so that they can be searched for again.
func (r *Results) Reset(from, to int) { clear(r.matches[from:to]) }

// Matches returns the matches of each fingerprint, as [Store.Search] must return them. Add and
// Reset must not be called afterwards.
func (r *Results) Matches() [][]neardup.Match[string] {
	for i, m := range r.matches {
		r.matches[i] = best(m, r.limit)
	}
	return r.matches
}

// best sorts matches, keeps each id once with its smallest distance, and cuts them to limit. It
// reuses the slice.
func best(matches []neardup.Match[string], limit int) []neardup.Match[string] {
	if len(matches) > 1 {
		slices.SortFunc(matches, func(a, b neardup.Match[string]) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Distance, b.Distance))
		})
		matches = slices.CompactFunc(matches, func(a, b neardup.Match[string]) bool { return a.ID == b.ID })
		slices.SortFunc(matches, func(a, b neardup.Match[string]) int {
			return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
		})
	}
	if len(matches) > limit {
		clear(matches[limit:])
		matches = matches[:limit]
	}
	return matches
}

// PutAll stores many fingerprints in calls of about a million (2²⁰), which is faster than smaller
// calls. An error ends it, and says how many had been stored before. Put is idempotent, so it can
// be repeated from the beginning, or from any place before the error.
func PutAll(ctx context.Context, store Store, fingerprints iter.Seq2[string, neardup.Fingerprint64]) error {
	const most = 1 << 20
	var batch []Entry
	done := 0
	put := func() error {
		if err := store.Put(ctx, batch); err != nil {
			return fmt.Errorf("neardup: PutAll, after %d fingerprints: %w", done, err)
		}
		done += len(batch)
		batch = batch[:0]
		return nil
	}
	for id, fp := range fingerprints {
		batch = append(batch, Entry{id, fp})
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

// SearchAndPut stores entries and returns, for each of them, the nearest other ids within the
// distance, at most limit, as Li 2015 §2.3 does with new rows.
//
// Entries are stored first and searched for afterwards. So of two near entries that arrive at the
// same time, from any programs or in one call, at least one finds the other. An entry never finds
// its own id. If an id occurs several times, the last entry is stored. A limit below 1 is an error.
//
// If SearchAndPut fails, some entries may have been stored. Call it again to finish: the result is
// the same, because entries do not find themselves.
func SearchAndPut(ctx context.Context, store Store, entries []Entry, limit int) ([][]neardup.Match[string], error) {
	if _, err := NewResults(0, limit); err != nil {
		return nil, err
	}
	if err := store.Put(ctx, entries); err != nil {
		return nil, err
	}
	fps := make([]neardup.Fingerprint64, len(entries))
	for i, e := range entries {
		fps[i] = e.Fingerprint
	}
	// Search for one more, because each entry also finds itself.
	matches, err := store.Search(ctx, fps, min(limit, math.MaxInt-1)+1)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		others := slices.DeleteFunc(matches[i], func(m neardup.Match[string]) bool { return m.ID == e.ID })
		matches[i] = others[:min(len(others), limit)]
	}
	return matches, nil
}

// FromIndex makes a [Store] of an index in memory or in files: for tests, and for programs that may
// or may not share a store. If the index was opened from files, Put and Delete return when the
// changes are on the disk ([neardup.Index.Sync]). Close closes the index.
func FromIndex(ix *neardup.Index[string, neardup.Fingerprint64]) Store { return indexStore{ix} }

// An indexStore is the Store of FromIndex.
type indexStore struct {
	ix *neardup.Index[string, neardup.Fingerprint64]
}

func (s indexStore) Put(ctx context.Context, entries []Entry) error {
	entries, err := CheckEntries(entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.ix.Add(e.ID, e.Fingerprint); err != nil {
			return err
		}
	}
	return s.ix.Sync()
}

func (s indexStore) Delete(ctx context.Context, ids []string) error {
	ids, err := CheckIDs(ids)
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

func (s indexStore) Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error) {
	found, err := NewResults(len(fps), limit)
	if err != nil {
		return nil, err
	}
	for i, fp := range fps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for m, err := range s.ix.Search(fp) {
			if err != nil {
				return nil, err
			}
			found.Add(i, m.ID, m.Distance)
		}
	}
	return found.Matches(), nil
}

func (s indexStore) Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	for i, fp := range fps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if found[i], err = s.ix.Exists(fp); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (s indexStore) Get(ctx context.Context, ids []string) (map[string]neardup.Fingerprint64, error) {
	ids, err := CheckIDs(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]neardup.Fingerprint64{}
	for _, id := range ids {
		fp, ok, err := s.ix.Get(id)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if ok {
			found[id] = fp
		}
	}
	return found, ctx.Err()
}

func (s indexStore) All(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for id, fp := range s.ix.All() {
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(Entry{id, fp}, nil) {
				return
			}
		}
		if err := errors.Join(s.ix.Err(), ctx.Err()); err != nil {
			yield(Entry{}, err)
		}
	}
}

func (s indexStore) Distance() int { return s.ix.Distance() }

func (s indexStore) Close() error { return s.ix.Close() }
