// Package pebblestore keeps fingerprints in a directory, by Pebble, the storage engine of CockroachDB: the
// [neardup.BlockStore] for one program on one machine. It needs no server, may be larger than memory, and
// is not damaged by a crash.
package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/neardup/neardup"
)

// The keys, and what is at them. Numbers are big-endian.
//
//	s                       settings, as text
//	d id                    the fingerprint of an id that is in the tables, 8 bytes
//	n id                    the fingerprint of an id that is pending: in no table yet
//	t table(1) key(1 to 8)  the postings at a key of a table, see postings.go
//
// An id is under d or n, not under both. What is under n is also in memory, as a small index, and enters
// the tables when there are maxPending: so many at once are written and merged much faster than one by one, since many
// of them share keys, and the keys are in order. Opening a store reads them again.
//
// Whatever belongs together is written in one batch, which Pebble stores wholly or not at all. So the
// postings are always those of the fingerprints under d, and a call that is made again writes nothing.
const (
	settingsKey = 's'
	settledKey  = 'd'
	pendingKey  = 'n'
	tableKey    = 't'
)

// Options are the settings of a store. The zero value, or nil, is right for most.
type Options struct {
	// Blocks is the number of blocks, see [neardup.NewBlocks]. It cannot be changed later. 0 means one more
	// than the distance. For the distance 3, 5 or 6 are better from ten million fingerprints on.
	Blocks int

	// Version says how the fingerprints are made ([neardup.Fingerprinter.Version]); a store with another one is
	// not opened.
	Version string

	// NoSync lets Put and Delete return before the disk has what they wrote. If the program is killed, or the machine
	// stops, the last calls may be lost, but none before them. Close loses nothing.
	NoSync bool

	// Cache is the number of bytes for blocks of files in memory. 0 means 256 MiB.
	Cache int64
}

// A Store is a [neardup.BlockStore] in a directory.
//
// When Put and Delete return nil, what they wrote is on the disk, unless [Options.NoSync] is set.
type Store struct {
	db     *pebble.DB
	blocks neardup.Blocks
	write  *pebble.WriteOptions

	writing sync.Mutex // one Put or Delete at a time reads what it replaces
	changes changes    // of the one who writes

	mu      sync.RWMutex // for pending; only who writes changes it
	pending *pending
}

// Open opens the store in a directory, or makes one, for Hamming distances up to distance. One process can
// open it at a time. A store with another distance, other blocks or another version gives a
// [neardup.ErrVersion].
func Open(dir string, distance int, options *Options) (*Store, error) {
	return open(dir, distance, options, vfs.Default)
}

func open(dir string, distance int, options *Options, fs vfs.FS) (*Store, error) {
	var o Options
	if options != nil {
		o = *options
	}
	blocks, err := neardup.NewBlocks(distance, o.Blocks)
	if err != nil {
		return nil, err
	}
	s := &Store{blocks: blocks, write: pebble.Sync, pending: newPending(blocks)}
	if o.NoSync {
		s.write = pebble.NoSync
	}
	s.db, err = pebble.Open(dir, pebbleOptions(o.Cache, fs))
	if err != nil {
		return nil, fmt.Errorf("pebblestore: %s: %w", dir, err)
	}
	err = s.checkSettings(fmt.Sprintf("neardup store 1; %v; version %q", blocks, o.Version))
	if err == nil {
		err = s.each(context.Background(), pendingKey, pendingKey+1, func(e neardup.StoreEntry) bool {
			s.pending.add(e.ID, e.Fingerprint)
			return true
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pebblestore: %s: %w", dir, err), s.db.Close())
	}
	return s, nil
}

func pebbleOptions(cache int64, fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                         fs,
		FormatMajorVersion:         pebble.FormatNewest,
		CacheSize:                  cmp.Or(cache, 256<<20),
		Merger:                     merger,
		MemTableSize:               64 << 20,
		LBaseMaxBytes:              256 << 20,
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		Logger:                     silent{},
	}
	for i := range o.Levels {
		// Few files, large blocks and one index for each file: a search goes to places all over the store, and
		// most of its time is memory that is in no cache of the processor.
		o.TargetFileSizes[i] = 64 << 20
		o.Levels[i].BlockSize = 32 << 10
		o.Levels[i].IndexBlockSize = 4 << 20
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most ids that are put are new
		o.Levels[i].FilterType = pebble.TableFilter
	}
	return o
}

// silent keeps Pebble from writing to standard error; what matters comes back as an error.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("pebblestore: "+format, args...)) // Pebble cannot go on, and would end the program
}

// checkSettings compares the settings with those in the store, or stores them if it is new.
func (s *Store) checkSettings(settings string) error {
	kept, closer, err := s.db.Get([]byte{settingsKey})
	if errors.Is(err, pebble.ErrNotFound) {
		return s.db.Set([]byte{settingsKey}, []byte(settings), pebble.Sync)
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if string(kept) != settings {
		return fmt.Errorf("the store was %w: %s, not %s", neardup.ErrVersion, kept, settings)
	}
	return nil
}

// Put implements [neardup.BlockStore]. What is stored already is not written again. More than a quarter of a gigabyte is written
// in several parts. If the disk is full, or fails, Pebble cannot go on: it panics.
func (s *Store) Put(ctx context.Context, entries []neardup.StoreEntry) error {
	entries, err := neardup.CheckEntries(entries)
	if err != nil {
		return err
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b neardup.StoreEntry) int { return strings.Compare(a.ID, b.ID) })
	return inParts(entries, s.blocks, func(e neardup.StoreEntry) string { return e.ID }, func(part []neardup.StoreEntry) error {
		write := part[:0]
		return s.change(ctx, func(b *pebble.Batch, settled *pebble.Iterator) error {
			for _, e := range part {
				old, where, err := s.find(settled, e.ID)
				if err != nil {
					return err
				}
				if where != 0 && old == e.Fingerprint {
					continue
				}
				if where == settledKey {
					s.changes.add(e.ID, old, true)
					if err := b.Delete(key(settledKey, e.ID), nil); err != nil {
						return err
					}
				}
				if err := set(b, pendingKey, e.ID, e.Fingerprint); err != nil {
					return err
				}
				write = append(write, e)
			}
			return nil
		}, func() {
			for _, e := range write {
				s.pending.add(e.ID, e.Fingerprint)
			}
		})
	})
}

// Delete implements [neardup.BlockStore].
func (s *Store) Delete(ctx context.Context, ids []string) error {
	ids, err := neardup.CheckIDs(ids)
	if err != nil {
		return err
	}
	return inParts(ids, s.blocks, func(id string) string { return id }, func(part []string) error {
		return s.change(ctx, func(b *pebble.Batch, settled *pebble.Iterator) error {
			for _, id := range part {
				old, where, err := s.find(settled, id)
				if err != nil {
					return err
				}
				if where == settledKey {
					s.changes.add(id, old, true)
				}
				if where != 0 {
					if err := b.Delete(key(where, id), nil); err != nil {
						return err
					}
				}
			}
			return nil
		}, func() {
			for _, id := range part {
				s.pending.remove(id)
			}
		})
	})
}

// partBytes is about how much is written at once, at the most; Pebble can take 4 GB.
const partBytes = 256 << 20

// inParts calls do with parts of a list whose postings in all tables are not too much for a batch.
func inParts[T any](list []T, b neardup.Blocks, id func(T) string, do func(part []T) error) error {
	for len(list) > 0 {
		n, bytes := 0, 0
		for n < len(list) && bytes < partBytes {
			bytes += (len(id(list[n])) + 32) * (b.Tables() + 1)
			n++
		}
		if err := do(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func key(kind byte, id string) []byte { return append([]byte{kind}, id...) }

// set writes the fingerprint of an id into a batch.
func set(b *pebble.Batch, kind byte, id string, fp neardup.Fingerprint64) error {
	op := b.SetDeferred(1+len(id), 8)
	op.Key[0] = kind
	copy(op.Key[1:], id)
	binary.BigEndian.PutUint64(op.Value, uint64(fp))
	return op.Finish()
}

// change stores what record puts into the batch, and the removals that it collects, and then what it does to what is
// pending. Two of them take turns, but wait for the disk together.
func (s *Store) change(ctx context.Context, record func(b *pebble.Batch, settled *pebble.Iterator) error, done func()) error {
	b := s.db.NewBatch()
	defer b.Close()
	applied := false
	err := func() error {
		s.writing.Lock()
		defer s.writing.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		settled, err := s.db.NewIter(nil)
		if err != nil {
			return err
		}
		s.changes.reset()
		if err := errors.Join(record(b, settled), settled.Close()); err != nil {
			return err
		}
		if b.Empty() {
			return nil
		}
		if err := s.changes.write(b, s.blocks); err != nil {
			return err
		}
		if err := s.apply(b, done); err != nil {
			return err
		}
		applied = true
		if len(s.pending.docs) >= s.pending.max {
			return s.settle()
		}
		return nil
	}()
	if s.write.Sync {
		if applied {
			err = errors.Join(err, b.SyncWait())
		} else if err == nil { // what is there already may not be on the disk yet
			err = s.db.LogData(nil, pebble.Sync)
		}
	}
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

// apply applies a batch, without waiting for the disk, and what it does to what is pending. If it removes postings, no search
// sees it between the two.
func (s *Store) apply(b *pebble.Batch, done func()) error {
	locked := len(s.changes.list) > 0
	if locked {
		s.mu.Lock()
	}
	var err error
	if s.write.Sync {
		err = s.db.ApplyNoSyncWait(b, s.write)
	} else {
		err = s.db.Apply(b, s.write)
	}
	if !locked {
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if err == nil {
		done()
	}
	return err
}

// find returns what is stored for an id, and under which key, or 0. It is fastest if the ids ascend. Only who
// writes may call it.
func (s *Store) find(settled *pebble.Iterator, id string) (fp neardup.Fingerprint64, where byte, err error) {
	if at, ok := s.pending.at[id]; ok {
		return s.pending.docs[at].fp, pendingKey, nil
	}
	if !settled.SeekPrefixGE(key(settledKey, id)) {
		return 0, 0, settled.Error()
	}
	e, err := readEntry(settled)
	return e.Fingerprint, settledKey, err
}

// readEntry reads the entry at which an iterator is.
func readEntry(it *pebble.Iterator) (neardup.StoreEntry, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return neardup.StoreEntry{}, err
	}
	if len(value) != 8 {
		return neardup.StoreEntry{}, fmt.Errorf("%w: %d bytes at the key %q", neardup.ErrDamaged, len(value), it.Key())
	}
	return neardup.StoreEntry{ID: string(it.Key()[1:]), Fingerprint: neardup.Fingerprint64(binary.BigEndian.Uint64(value))}, nil
}

// settle lets what is pending enter the tables. Searches meanwhile find it in memory, and perhaps in the tables, too.
func (s *Store) settle() error {
	entries := make([]neardup.StoreEntry, 0, s.pending.len())
	for _, doc := range s.pending.docs {
		if doc.id != "" {
			entries = append(entries, neardup.StoreEntry{ID: doc.id, Fingerprint: doc.fp})
		}
	}
	slices.SortFunc(entries, func(a, b neardup.StoreEntry) int { return strings.Compare(a.ID, b.ID) })
	err := inParts(entries, s.blocks, func(e neardup.StoreEntry) string { return e.ID }, func(part []neardup.StoreEntry) error {
		b := s.db.NewBatch()
		defer b.Close()
		s.changes.reset()
		for _, e := range part {
			if err := set(b, settledKey, e.ID, e.Fingerprint); err != nil {
				return err
			}
			s.changes.add(e.ID, e.Fingerprint, false)
		}
		// A part is all that is pending from its first id to its last.
		err := b.DeleteRange(key(pendingKey, part[0].ID), append(key(pendingKey, part[len(part)-1].ID), 0), nil)
		if err != nil {
			return err
		}
		if err := s.changes.write(b, s.blocks); err != nil {
			return err
		}
		if err := s.db.Apply(b, s.write); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range part {
			s.pending.remove(e.ID)
		}
		return nil
	})
	s.changes.reset()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.pending.clear()
	s.mu.Unlock()
	return nil
}

// Search implements [neardup.BlockStore].
func (s *Store) Search(ctx context.Context, fps []neardup.Fingerprint64) ([][]neardup.Match[string], error) {
	found := make([][]neardup.Match[string], len(fps))
	for i, fp := range fps {
		err := s.near(ctx, fp, func(id string, distance int) bool {
			found[i] = append(found[i], neardup.Match[string]{ID: id, Distance: distance})
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("pebblestore: %w", err)
		}
		found[i] = neardup.MergeMatches(found[i])
	}
	return found, nil
}

// Exists implements [neardup.BlockStore]. It looks no further once it has found something.
func (s *Store) Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	for i, fp := range fps {
		err := s.near(ctx, fp, func(string, int) bool {
			found[i] = true
			return false
		})
		if err != nil {
			return nil, fmt.Errorf("pebblestore: %w", err)
		}
	}
	return found, nil
}

// near calls yield with what is within the distance, for each table in which it is found, until that returns false.
func (s *Store) near(ctx context.Context, fp neardup.Fingerprint64, yield func(id string, distance int) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	more := true
	found := func(id string, distance int) bool {
		more = yield(id, distance)
		return more
	}
	s.mu.RLock()
	s.pending.near(fp, found)
	it, err := s.db.NewIter(nil) // while no pending document can go
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	var array [10]byte
	for table := 0; more && err == nil && table < s.blocks.Tables(); table++ {
		key := array[:keyLength(s.blocks, table)]
		putKey(key, table, s.blocks.Key(table, fp))
		if it.SeekGE(key) && bytes.Equal(it.Key(), key) {
			err = nearAt(it, fp, s.blocks.Distance(), found)
		} else {
			err = it.Error()
		}
	}
	return errors.Join(err, it.Close())
}

// nearAt is near for the postings at which an iterator is.
func nearAt(it *pebble.Iterator, fp neardup.Fingerprint64, distance int, yield func(id string, distance int) bool) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	p, err := readPostings(value)
	if err == nil {
		err = p.near(fp, distance, yield)
	}
	if err != nil {
		return fmt.Errorf("key %x: %w", it.Key(), err)
	}
	return nil
}

// All implements [neardup.BlockStore]: what was stored when the loop began.
func (s *Store) All(ctx context.Context) iter.Seq2[neardup.StoreEntry, error] {
	return func(yield func(neardup.StoreEntry, error) bool) {
		err := s.each(ctx, settledKey, pendingKey+1, func(e neardup.StoreEntry) bool { return yield(e, nil) })
		if err != nil {
			yield(neardup.StoreEntry{}, fmt.Errorf("pebblestore: %w", err))
		}
	}
}

// each calls yield with the entries under some keys, until that returns false.
func (s *Store) each(ctx context.Context, from, to byte, yield func(neardup.StoreEntry) bool) (err error) {
	it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: []byte{from}, UpperBound: []byte{to}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := readEntry(it)
		if err != nil {
			return err
		}
		if !yield(e) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return it.Error()
}

// Compact brings the store into the form that is searched fastest and takes least space, which otherwise comes
// about little by little. It writes all files again.
func (s *Store) Compact(ctx context.Context) error {
	s.writing.Lock()
	err := s.settle()
	s.writing.Unlock()
	if err == nil {
		err = s.db.Flush()
	}
	if err == nil {
		err = s.db.Compact(ctx, []byte{0}, []byte{0xff}, true)
	}
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

// Bytes returns how much the tables on the disk take, without the log of the last changes.
func (s *Store) Bytes() int64 { return int64(s.db.Metrics().Total().TablesSize) }

// Distance implements [neardup.BlockStore].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [neardup.BlockStore]. Everything is on the disk then.
func (s *Store) Close() error {
	err := errors.Join(s.db.LogData(nil, pebble.Sync), s.db.Close())
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

var _ neardup.BlockStore = (*Store)(nil)
