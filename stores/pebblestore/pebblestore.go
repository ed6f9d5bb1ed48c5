// Package pebblestore keeps fingerprints in a directory, with Pebble, the storage engine of
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
//	d id                    the fingerprint of an id that is in the tables, 8 bytes
//	n id                    the fingerprint of an id that is pending: in no table yet
//	t table(1) key(1 to 8)  the postings at a key of a table, see postings.go
//
// An id has a key d or a key n, never both. Documents with a key n are also in memory, as a small
// index (pending.go). When there are maxPending of them, they all enter the tables. Many documents
// share keys, and their keys are written in order, so that is much faster than entering them one by
// one. Opening a store reads the documents with a key n again.
//
// Everything that belongs together is written in one batch, which Pebble stores as a whole or not
// at all. So the postings always agree with the fingerprints under d, and a repeated call finds its
// work done and writes nothing.
const (
	settingsKey = 's'
	settledKey  = 'd'
	pendingKey  = 'n'
	tableKey    = 't'
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Blocks is the number of blocks, see [blockstore.NewBlocks]. It cannot be changed later. 0
	// means one more than the distance. For the distance 3, 5 or 6 blocks are better from ten
	// million fingerprints on.
	Blocks int

	// Version says how the fingerprints are made ([neardup.Fingerprinter.Version]). A store with
	// another version is not opened.
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
// When Put or Delete returns nil, its changes are on the disk, unless [Options.NoSync] is set.
type Store struct {
	db     *pebble.DB
	blocks blockstore.Blocks
	write  *pebble.WriteOptions

	writing sync.Mutex // held by Put and Delete, because they read what they replace
	changes changes    // belongs to the holder of writing

	mu      sync.RWMutex // for pending; only the holder of writing changes it
	pending *pending
}

// Open opens the store in a directory, or makes one, for Hamming distances up to distance. Only one
// process at a time can open it. If the store has another distance, other blocks or another
// version, the error is a [neardup.ErrVersion].
func Open(dir string, distance int, o Options) (*Store, error) {
	return open(dir, distance, o, vfs.Default)
}

// open is Open in a file system; tests use one that loses data.
func open(dir string, distance int, o Options, fs vfs.FS) (*Store, error) {
	blocks, err := blockstore.NewBlocks(distance, o.Blocks)
	if err != nil {
		return nil, err
	}
	s := &Store{blocks: blocks, write: pebble.Sync, pending: newPending(blocks, maxPending)}
	if o.NoSync {
		s.write = pebble.NoSync
	}
	s.db, err = pebble.Open(dir, pebbleOptions(o.Cache, fs))
	if err != nil {
		return nil, fmt.Errorf("pebblestore: %s: %w", dir, err)
	}
	err = s.checkSettings(fmt.Sprintf("neardup store 1; %v; version %q", blocks, o.Version))
	if err == nil {
		err = s.each(context.Background(), pendingKey, pendingKey+1, func(e blockstore.Entry) bool {
			s.pending.add(e.ID, e.Fingerprint)
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
		return fmt.Errorf("%w: %s, not %s", neardup.ErrVersion, kept, settings)
	}
	return nil
}

// Compact brings the store into the form that is searched fastest and takes the least space.
// Otherwise that happens little by little. Compact writes all files again.
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

// Bytes returns how many bytes the tables take on the disk, without the log of the last changes.
func (s *Store) Bytes() int64 { return int64(s.db.Metrics().Total().TablesSize) }

// Distance implements [blockstore.Store].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [blockstore.Store]. When it returns nil, everything is on the disk.
func (s *Store) Close() error {
	err := errors.Join(s.db.LogData(nil, pebble.Sync), s.db.Close())
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

var _ blockstore.Store = (*Store)(nil)
