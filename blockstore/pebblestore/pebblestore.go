// Package pebblestore keeps fingerprints or signatures in a directory, with Pebble, the storage engine of
// CockroachDB. It is the [blockstore.Store] for one program on one machine. It needs no server, may
// be larger than memory, and survives crashes without damage.
package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Pebble database maps keys to values. These are the keys, where numbers are big-endian:
//
//	s                       the settings, as text
//	d id                    time and value of an id that is in the tables: 4 bytes and the value
//	n id                    time and value of an id that is pending: in no table yet
//	t table(1) key(1 to 8)  the postings at a key of a table, see postings.go
//
// An id has a key d or a key n, never both. Documents with a key n are also in memory, as a small
// index (pending.go). When there are maxPending of them, they all enter the tables. Many documents
// share keys, and their keys are written in order, so that is much faster than entering them one by
// one. Opening a store reads the documents with a key n again.
//
// Everything that belongs together is written in one batch, which Pebble stores as a whole or not
// at all. So the postings always agree with the values under d, and a repeated call finds its
// work done and writes nothing but the time.
const (
	settingsKey = 's'
	settledKey  = 'd'
	pendingKey  = 'n'
	tableKey    = 't'
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Version says how the values are made ([neardup.Fingerprinter.Version], or that of
	// [neardup.MinHash]). A store with another version is not opened.
	Version string

	// NoSync lets Put and Delete return before their changes are on the disk. If the program is
	// killed or the machine stops, the last calls may be lost, without gaps: if a call is lost, so
	// are all calls after it. Close loses nothing.
	NoSync bool

	// Cache is how many bytes of memory hold blocks of files. 0 means 256 MiB.
	Cache int64
}

// A Store is a [blockstore.Store] in a directory.
//
// When Put, Delete or DeleteBefore returns nil, its changes are on the disk, unless
// [Options.NoSync] is set.
type Store[V any] struct {
	blockstore.Store[V]
	db *database
}

// A database is the [blockstore.Backend] of a store.
type database struct {
	db    *pebble.DB
	keys  blockstore.Keys
	write *pebble.WriteOptions

	writing sync.Mutex // held by all that change records, because they read what they replace
	changes changes    // belongs to the holder of writing

	mu      sync.RWMutex // for pending; only the holder of writing changes it
	pending *pending
}

// Open opens the store in a directory, or makes one. Only one process at a time can open it. If the
// store has another scheme or another version, the error is a [neardup.ErrVersion].
func Open[V any](dir string, scheme blockstore.Scheme[V], o Options) (*Store[V], error) {
	db, err := open(dir, scheme.Keys, o, vfs.Default)
	if err != nil {
		return nil, err
	}
	return &Store[V]{blockstore.New(scheme, db), db}, nil
}

// open is Open in a file system; tests use one that loses data.
func open(dir string, keys blockstore.Keys, o Options, fs vfs.FS) (*database, error) {
	s := &database{keys: keys, write: pebble.Sync, changes: changes{keys: keys}, pending: newPending(keys, maxPending)}
	if o.NoSync {
		s.write = pebble.NoSync
	}
	var err error
	s.db, err = pebble.Open(dir, pebbleOptions(o.Cache, fs))
	if err != nil {
		return nil, fmt.Errorf("pebblestore: %s: %w", dir, err)
	}
	err = s.checkSettings(fmt.Sprintf("neardup store 2; %v; version %q", keys, o.Version))
	if err == nil {
		err = s.each(context.Background(), pendingKey, pendingKey+1, func(r blockstore.Row) bool {
			s.pending.add(r)
			return true
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pebblestore: %s: %w", dir, err), s.db.Close())
	}
	return s, nil
}

// pebbleOptions returns the settings of Pebble, chosen for searches.
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
		// Have few files, large blocks and one index for each file. A search goes to places all
		// over the store, and spends most of its time waiting for memory that is in no cache of the
		// processor.
		o.TargetFileSizes[i] = 64 << 20
		o.Levels[i].BlockSize = 32 << 10
		o.Levels[i].IndexBlockSize = 4 << 20
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // to find quickly that an id is new, as most ids are
		o.Levels[i].FilterType = pebble.TableFilter
	}
	return o
}

// silent keeps Pebble from writing to standard error. Whatever matters comes back as an error.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("pebblestore: "+format, args...)) // Pebble cannot go on; it would end the program
}

// checkSettings compares the settings with those in the store, or stores them if the store is new.
func (s *database) checkSettings(settings string) error {
	kept, closer, err := s.db.Get([]byte{settingsKey})
	if errors.Is(err, pebble.ErrNotFound) {
		return s.db.Set([]byte{settingsKey}, []byte(settings), pebble.Sync)
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if string(kept) != settings {
		return fmt.Errorf("%w: %s, not %s", neardup.ErrVersion, kept, settings)
	}
	return nil
}

// Compact brings the store into the form that is searched fastest and takes the least space.
// Otherwise that happens little by little. Compact writes all files again.
func (s *Store[V]) Compact(ctx context.Context) error {
	s.db.writing.Lock()
	err := s.db.settle()
	s.db.writing.Unlock()
	if err == nil {
		var done <-chan struct{}
		if done, err = s.db.db.AsyncFlush(); err == nil {
			select { // Pebble tries again and again what does not work
			case <-done:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	if err == nil {
		err = s.db.db.Compact(ctx, []byte{0}, []byte{0xff}, true)
	}
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

// Bytes returns how many bytes the tables take on the disk, without the log of the last changes.
func (s *Store[V]) Bytes() int64 { return int64(s.db.db.Metrics().Total().TablesSize) }

// Close implements [blockstore.Backend]. When it returns nil, everything is on the disk.
func (s *database) Close() error {
	err := errors.Join(s.db.LogData(nil, pebble.Sync), s.db.Close())
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}
