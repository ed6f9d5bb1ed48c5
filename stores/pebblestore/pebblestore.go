// Package pebblestore keeps fingerprints in a directory, by Pebble, the storage engine of CockroachDB: the
// [blockstore.Store] for one program on one machine. It needs no server, may be larger than memory, and
// is not damaged by a crash.
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

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Blocks is the number of blocks, see [blockstore.NewBlocks]. It cannot be changed later. 0 means one more
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

// A Store is a [blockstore.Store] in a directory.
//
// When Put and Delete return nil, what they wrote is on the disk, unless [Options.NoSync] is set.
type Store struct {
	db     *pebble.DB
	blocks blockstore.Blocks
	write  *pebble.WriteOptions

	writing sync.Mutex // one Put or Delete at a time reads what it replaces
	changes changes    // of the one who writes

	mu      sync.RWMutex // for pending; only who writes changes it
	pending *pending
}

// Open opens the store in a directory, or makes one, for Hamming distances up to distance. One process can
// open it at a time. A store with another distance, other blocks or another version gives a
// [neardup.ErrVersion].
func Open(dir string, distance int, o Options) (*Store, error) {
	return open(dir, distance, o, vfs.Default)
}

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
		return fmt.Errorf("%w: %s, not %s", neardup.ErrVersion, kept, settings)
	}
	return nil
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

// Distance implements [blockstore.Store].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [blockstore.Store]. Everything is on the disk then.
func (s *Store) Close() error {
	err := errors.Join(s.db.LogData(nil, pebble.Sync), s.db.Close())
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

var _ blockstore.Store = (*Store)(nil)
