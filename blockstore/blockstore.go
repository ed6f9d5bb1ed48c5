// Package blockstore keeps fingerprints outside the process, where several programs can share them:
// in Redis as Wang 2019 (§1), in a database as Li 2015 (§2.3), or in files larger than memory.
//
// The modules under stores/ implement [Store]; [FromIndex] makes a Store of a neardup.Index, and
// package storetest tests a Store of your own. docs/stores.md says which one to choose.
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

// A Store finds, among fingerprints that are kept outside the process, all those within
// a fixed Hamming distance of a query, as an [Index] does: in Redis as S002 (§1), in a
// database as S003 (§2.3), in files larger than memory. The modules under stores/ are such
// stores, [FromIndex] makes one of an Index, stores/storetest tests your own, and
// docs/stores.md says which to choose.
//
// A store maps ids to fingerprints. An id is 1 to 1024 bytes of UTF-8 without the byte 0;
// others are an error. All calls take many of them at once, which is much faster
// than one by one, since each call waits for the store once or a few times.
//
// What every store guarantees:
//
//   - Any number of goroutines may use a store at once, and any number of programs if it is
//     behind a server. Within the distance a search misses nothing of what it sees.
//   - A search sees all that Put and Delete had stored and removed when they returned nil, wherever
//     they were called, before it began. Of calls that are under way, or have failed, it sees
//     any part: of an id that is just being replaced it may find the old fingerprint, the new one, or neither.
//   - A call that failed, or never returned, has done all of its work, some, or none. Called
//     again it does what is missing, and no harm (unless somebody else has written the id meanwhile, which it
//     undoes): Put and Delete are idempotent, also if only the answer was lost. It never touches other ids.
//   - If several calls write one id at once, what one of them wrote stands when all have returned.
//   - When a call ends early because of its context, that is its error.
//   - What returned nil is as safe as the store makes it; each says so.
type Store interface {
	// Put stores fingerprints. What was stored under an id is replaced. If an id comes
	// several times, the last one counts.
	Put(ctx context.Context, entries []Entry) error

	// Delete removes ids. Those that are not stored are no error.
	Delete(ctx context.Context, ids []string) error

	// Search returns for each fingerprint the stored ones within the distance of it, each id once:
	// the nearest limit of them, the nearest first and equally near ones in the order of the ids.
	// It keeps no more in memory, however many are within the distance; see [Results]. A limit
	// below 1 is an error. It is what Li 2015 calls listing.
	Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error)

	// Exists reports for each fingerprint whether any stored one is within the distance of it.
	Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error)

	// All yields what is stored, each id once, in no particular order. An error is
	// the last that it yields. What is changed meanwhile it may yield or not.
	All(ctx context.Context) iter.Seq2[Entry, error]

	// Distance returns the distance of all searches.
	Distance() int

	// Close frees what the store holds, and leaves alone what the caller opened. No call
	// may be under way or come after it.
	Close() error
}

// A Entry is a fingerprint in a [Store].
type Entry struct {
	ID          string
	Fingerprint neardup.Fingerprint64
}

// maxIDBytes is what indexes of MySQL and PostgreSQL take, and most addresses of pages need.
const maxIDBytes = 1024

// CheckEntries is for implementations of [Store.Put]: it returns an error if a store must
// refuse an id, and else the entries, of those with the same id the last one only. It does not
// change the slice, but may return it.
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

// CheckIDs is for implementations of [Store.Delete]: it returns an error if a store must
// refuse an id, and else the ids in ascending order, each once.
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

// Results collects what a Search finds, in whatever order, and in bounded memory: it keeps at most
// a few times the limit for each fingerprint. It is for implementations of [Store].
type Results struct {
	limit   int
	matches [][]neardup.Match[string]
}

// NewResults returns the results of a search for n fingerprints, of at most limit matches each. A
// limit below 1 is an error.
func NewResults(n, limit int) (*Results, error) {
	if limit < 1 {
		return nil, fmt.Errorf("neardup: a search for at most %d matches", limit)
	}
	return &Results{limit, make([][]neardup.Match[string], n)}, nil
}

// Add takes in a match of fingerprint i. The same match may come several times, from several tables.
func (r *Results) Add(i int, id string, distance int) {
	m := append(r.matches[i], neardup.Match[string]{ID: id, Distance: distance})
	if r.matches[i] = m; len(m) >= 64 && len(m)-r.limit >= r.limit {
		r.matches[i] = best(m, r.limit)
	}
}

// Reset forgets the matches of fingerprints from to to−1, so that they can be searched for again.
func (r *Results) Reset(from, to int) { clear(r.matches[from:to]) }

// Matches returns the matches of each fingerprint. Nothing may be added after it.
func (r *Results) Matches() [][]neardup.Match[string] {
	for i, m := range r.matches {
		r.matches[i] = best(m, r.limit)
	}
	return r.matches
}

// best returns the nearest limit of some matches, each id once with its smallest distance.
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

// PutAll stores many fingerprints, in calls of a million, which are faster than smaller ones. An error ends it. As all
// calls are idempotent, it can be repeated from the beginning, or from any place before the error.
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

// SearchAndPut stores fingerprints and returns for each the nearest limit others that are stored
// within the distance of it, as Li 2015 (§2.3) does with new rows. Entries are stored first, so of
// two that come at the same time, from any programs or in one call, at least one finds the other. If
// it fails, entries may be stored or not; called again it finishes, and does not find them
// themselves. If an id comes several times, the last one is stored.
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
	matches, err := store.Search(ctx, fps, min(limit, math.MaxInt-1)+1) // and itself
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		others := slices.DeleteFunc(matches[i], func(m neardup.Match[string]) bool { return m.ID == e.ID })
		matches[i] = others[:min(len(others), limit)]
	}
	return matches, nil
}

// FromIndex makes a [Store] of an index, in memory or in files: for tests, and for programs
// that may or may not share a store. Put and Delete are on the disk when they return, if the index
// was opened ([Index.Sync]). Closing the store closes the index.
func FromIndex(ix *neardup.Index[string, neardup.Fingerprint64]) Store { return indexStore{ix} }

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
