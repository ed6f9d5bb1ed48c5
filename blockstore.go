package neardup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// A BlockStore finds, among fingerprints that are kept outside the process, all those within
// a fixed Hamming distance of a query, as an [Index] does: in Redis as S002 (§1), in a
// database as S003 (§2.3), in files larger than memory. The modules under stores/ are such
// stores, [IndexStore] makes one of an Index, stores/storetest tests your own, and
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
type BlockStore interface {
	// Put stores fingerprints. What was stored under an id is replaced. If an id comes
	// several times, the last one counts.
	Put(ctx context.Context, entries []StoreEntry) error

	// Delete removes ids. Those that are not stored are no error.
	Delete(ctx context.Context, ids []string) error

	// Search returns for each fingerprint all that are stored within the distance of it, each id
	// once, the nearest first, and of equally near ones in the order of the ids ([MergeMatches]).
	// It is what S003 calls listing.
	Search(ctx context.Context, fps []Fingerprint64) ([][]Match[string], error)

	// Exists reports for each fingerprint whether any stored one is within the distance of it.
	Exists(ctx context.Context, fps []Fingerprint64) ([]bool, error)

	// All yields what is stored, each id once, in no particular order. An error is
	// the last that it yields. What is changed meanwhile it may yield or not.
	All(ctx context.Context) iter.Seq2[StoreEntry, error]

	// Distance returns the distance of all searches.
	Distance() int

	// Close frees what the store holds, and leaves alone what the caller opened. No call
	// may be under way or come after it.
	Close() error
}

// A StoreEntry is a fingerprint in a [BlockStore].
type StoreEntry struct {
	ID          string
	Fingerprint Fingerprint64
}

// maxIDBytes is what indexes of MySQL and PostgreSQL take, and most addresses of pages need.
const maxIDBytes = 1024

// CheckEntries is for implementations of [BlockStore.Put]: it returns an error if a store must
// refuse an id, and else the entries, of those with the same id the last one only. It does not
// change the slice, but may return it.
func CheckEntries(entries []StoreEntry) ([]StoreEntry, error) {
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
	distinct := make([]StoreEntry, 0, len(last))
	for i, e := range entries {
		if last[e.ID] == i {
			distinct = append(distinct, e)
		}
	}
	return distinct, nil
}

// CheckIDs is for implementations of [BlockStore.Delete]: it returns an error if a store must
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

// MergeMatches makes of matches from several places, such as the tables of a store or several
// indexes, one list: the nearest first, and of equally near ones in the order of the ids. Of each
// id only the nearest match is left. It changes the slice and returns its beginning.
func MergeMatches[ID cmp.Ordered](matches []Match[ID]) []Match[ID] {
	if len(matches) < 2 {
		return matches
	}
	slices.SortFunc(matches, func(a, b Match[ID]) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Distance, b.Distance))
	})
	matches = slices.CompactFunc(matches, func(a, b Match[ID]) bool { return a.ID == b.ID })
	slices.SortFunc(matches, func(a, b Match[ID]) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return matches
}

// PutAll stores many fingerprints, in calls of a million, which are faster than smaller ones. An error ends it. As all
// calls are idempotent, it can be repeated from the beginning, or from any place before the error.
func PutAll(ctx context.Context, store BlockStore, fingerprints iter.Seq2[string, Fingerprint64]) error {
	const most = 1 << 20
	var batch []StoreEntry
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
		batch = append(batch, StoreEntry{id, fp})
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

// SearchAndPut stores fingerprints and returns for each what else is stored within the distance
// of it, as S003 does with new rows (§2.3). Of two that come at the same time, from any
// programs or in one call, each or the other finds its match, for they are stored first. If it fails,
// they may be stored or not; called again it finishes, and does not find them themselves. If an id comes several
// times, the last one is stored.
func SearchAndPut(ctx context.Context, store BlockStore, entries []StoreEntry) ([][]Match[string], error) {
	if err := store.Put(ctx, entries); err != nil {
		return nil, err
	}
	fps := make([]Fingerprint64, len(entries))
	for i, e := range entries {
		fps[i] = e.Fingerprint
	}
	matches, err := store.Search(ctx, fps)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		matches[i] = slices.DeleteFunc(matches[i], func(m Match[string]) bool { return m.ID == e.ID })
	}
	return matches, nil
}

// IndexStore makes a [BlockStore] of an index, in memory or in files: for tests, and for programs
// that may or may not share a store. Put and Delete are on the disk when they return, if the index
// was opened ([Index.Sync]). Closing the store closes the index.
func IndexStore(ix *Index[string, Fingerprint64]) BlockStore { return indexStore{ix} }

type indexStore struct {
	ix *Index[string, Fingerprint64]
}

func (s indexStore) Put(ctx context.Context, entries []StoreEntry) error {
	entries, err := CheckEntries(entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.ix.Add(e.ID, e.Fingerprint)
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
		s.ix.Delete(id)
	}
	return s.ix.Sync()
}

func (s indexStore) Search(ctx context.Context, fps []Fingerprint64) ([][]Match[string], error) {
	found := make([][]Match[string], len(fps))
	for i, fp := range fps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found[i] = MergeMatches(slices.Collect(s.ix.Search(fp)))
	}
	return found, s.ix.Err()
}

func (s indexStore) Exists(ctx context.Context, fps []Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	for i, fp := range fps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found[i] = s.ix.Exists(fp)
	}
	return found, s.ix.Err()
}

func (s indexStore) All(ctx context.Context) iter.Seq2[StoreEntry, error] {
	return func(yield func(StoreEntry, error) bool) {
		for id, fp := range s.ix.All() {
			if err := ctx.Err(); err != nil {
				yield(StoreEntry{}, err)
				return
			}
			if !yield(StoreEntry{id, fp}, nil) {
				return
			}
		}
		if err := errors.Join(s.ix.Err(), ctx.Err()); err != nil {
			yield(StoreEntry{}, err)
		}
	}
}

func (s indexStore) Distance() int { return s.ix.distance }

func (s indexStore) Close() error { return s.ix.Close() }
