package blockstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// This file makes a Store of a Backend. A backend knows bytes and keys; everything that needs to
// know what the bytes mean is here, once for all databases: which arguments are valid, whether what
// was found is near, and which matches are the nearest.

// A Backend keeps records in a database and finds those that share a key with a query. [New] makes
// a [Store] of it, which gives it only valid arguments, and verifies what it finds. The backend must
// provide everything that a Store guarantees about concurrency, repeated calls and durability.
type Backend interface {
	// Put stores records. All ids are distinct, and Added is never 0.
	Put(ctx context.Context, records []Row) error

	// Delete removes ids, which are distinct and in ascending order.
	Delete(ctx context.Context, ids []string) error

	// DeleteBefore removes records that were added before a time in seconds, and returns how many.
	// If the backend keeps no times, the error is an errors.ErrUnsupported.
	DeleteBefore(ctx context.Context, added uint32) (int, error)

	// Find calls found at least for each stored record that has a key in common with one of values,
	// with the number of that value. It may leave out fingerprints that are not near. It may call
	// found several times for one record. found returns whether more is wanted for this value;
	// otherwise Find may end the search for it. If one is true, a single near record of each value is
	// wanted, which may help a database that can verify. The calls of found come one at a time, and
	// not after Find has returned. Every value has keys.
	Find(ctx context.Context, values []string, one bool, found func(i int, id, value string) (more bool)) error

	// Get calls yield for those of ids that are stored. The ids are distinct and in ascending order.
	Get(ctx context.Context, ids []string, yield func(Row)) error

	// All calls yield for everything that is stored, each id once, until yield returns false.
	All(ctx context.Context, yield func(Row) bool) error

	// Close is [Store.Close].
	Close() error
}

// A Row is an entry as a [Backend] keeps it.
type Row struct {
	ID    string
	Value string // of as many bytes as [Keys.Size]
	Added uint32 // seconds since 1970; 0 if the backend keeps no times
}

// New makes a [Store] of a backend.
func New[V any](scheme Scheme[V], backend Backend) Store[V] { return store[V]{scheme, backend} }

// A store is the Store of New.
type store[V any] struct {
	scheme  Scheme[V]
	backend Backend
}

// now is the time of entries that have none, in seconds. Tests change it.
var now = time.Now

// seconds returns a time as backends keep it: at least 1, at most that of the year 2106.
func seconds(t time.Time) uint32 { return uint32(min(max(t.Unix(), 1), 1<<32-1)) }

func (s store[V]) Put(ctx context.Context, entries []Entry[V]) error {
	if err := checkEntries(entries); err != nil {
		return err
	}
	last := make(map[string]int, len(entries))
	for i, e := range entries {
		last[e.ID] = i
	}
	records := make([]Row, 0, len(last))
	added := seconds(now())
	for i, e := range entries {
		value, err := s.scheme.encode(e.Value)
		if err != nil {
			return fmt.Errorf("neardup: entry %d, id %q: %w", i, e.ID, err)
		}
		if last[e.ID] != i {
			continue
		}
		records = append(records, Row{e.ID, value, added})
		if !e.Added.IsZero() {
			records[len(records)-1].Added = seconds(e.Added)
		}
	}
	return s.backend.Put(ctx, records)
}

func (s store[V]) Delete(ctx context.Context, ids []string) error {
	ids, err := checkIDs(ids)
	if err != nil {
		return err
	}
	return s.backend.Delete(ctx, ids)
}

// DeleteBefore leaves what was added within the second of the time: it may have been added after it.
func (s store[V]) DeleteBefore(ctx context.Context, t time.Time) (int, error) {
	return s.backend.DeleteBefore(ctx, seconds(t))
}

func (s store[V]) Search(ctx context.Context, values []V, limit int) ([][]neardup.Match[string], error) {
	found, err := newResults(len(values), limit)
	if err != nil {
		return nil, err
	}
	err = s.find(ctx, values, false, func(i int, m neardup.Match[string]) bool {
		found.add(i, m)
		return true
	})
	if err != nil {
		return nil, err
	}
	return found.sorted(), nil
}

func (s store[V]) Exists(ctx context.Context, values []V) ([]bool, error) {
	exists := make([]bool, len(values))
	err := s.find(ctx, values, true, func(i int, _ neardup.Match[string]) bool {
		exists[i] = true
		return false
	})
	if err != nil {
		return nil, err
	}
	return exists, nil
}

// find calls yield for everything that is near, perhaps several times.
func (s store[V]) find(ctx context.Context, values []V, one bool, yield func(i int, m neardup.Match[string]) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var asked []string
	var number []int // of each value asked
	var near []matcher
	for i, v := range values {
		value, err := s.scheme.encode(v)
		if err != nil {
			return fmt.Errorf("neardup: value %d: %w", i, err)
		}
		if m := s.scheme.matcher(value); m != nil {
			asked, number, near = append(asked, value), append(number, i), append(near, m)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	var damaged error
	err := s.backend.Find(ctx, asked, one, func(i int, id, value string) bool {
		if damaged = cmp.Or(damaged, s.check(id, value)); damaged != nil {
			return false
		}
		m, ok := near[i](value)
		if !ok {
			return true
		}
		m.ID = id
		return yield(number[i], m)
	})
	return errors.Join(err, damaged)
}

// check returns an error for a stored value that cannot be one.
func (s store[V]) check(id, value string) error {
	if size := s.scheme.Size(); len(value) != size {
		return fmt.Errorf("%w: the value of id %q has %d bytes, not %d", neardup.ErrDamaged, id, len(value), size)
	}
	return nil
}

func (s store[V]) Get(ctx context.Context, ids []string) (map[string]Entry[V], error) {
	ids, err := checkIDs(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]Entry[V]{}
	var damaged error
	err = s.backend.Get(ctx, ids, func(r Row) {
		e, err := s.entry(r)
		found[r.ID], damaged = e, cmp.Or(damaged, err)
	})
	if err = errors.Join(err, damaged, ctx.Err()); err != nil {
		return nil, err
	}
	return found, nil
}

// entry returns the entry of a record.
func (s store[V]) entry(r Row) (e Entry[V], err error) {
	if err := s.check(r.ID, r.Value); err != nil {
		return e, err
	}
	e = Entry[V]{ID: r.ID, Value: s.scheme.decode(r.Value)}
	if r.Added != 0 {
		e.Added = time.Unix(int64(r.Added), 0)
	}
	return e, nil
}

func (s store[V]) All(ctx context.Context) iter.Seq2[Entry[V], error] {
	return func(yield func(Entry[V], error) bool) {
		var damaged error
		isEnded := false
		err := s.backend.All(ctx, func(r Row) bool {
			var e Entry[V]
			if e, damaged = s.entry(r); damaged != nil {
				return false
			}
			isEnded = !yield(e, nil)
			return !isEnded
		})
		if err = errors.Join(err, damaged); err != nil && !isEnded {
			yield(Entry[V]{}, err)
		}
	}
}

func (s store[V]) Close() error { return s.backend.Close() }

// maxIDBytes fits into the indexes of MySQL and PostgreSQL, and is enough for most web addresses.
const maxIDBytes = 1024

// checkIDs returns an error if an id is not valid. Otherwise it returns the ids in a new slice, in
// ascending order, each once.
func checkIDs(ids []string) ([]string, error) {
	for i, id := range ids {
		if err := checkID(id); err != nil {
			return nil, fmt.Errorf("neardup: id %d: %w", i, err)
		}
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// checkEntries returns an error if an id of entries is not valid.
func checkEntries[V any](entries []Entry[V]) error {
	for i, e := range entries {
		if err := checkID(e.ID); err != nil {
			return fmt.Errorf("neardup: entry %d: %w", i, err)
		}
	}
	return nil
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
		return fmt.Errorf("the id %q contains a NUL byte", id)
	}
	return nil
}
