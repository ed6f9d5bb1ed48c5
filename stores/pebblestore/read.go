package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// Search implements [blockstore.Store].
func (s *Store) Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error) {
	found, err := blockstore.NewResults(len(fps), limit)
	if err != nil {
		return nil, err
	}
	for i, fp := range fps {
		err := s.near(ctx, fp, func(id string, distance int) bool {
			found.Add(i, id, distance)
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("pebblestore: %w", err)
		}
	}
	return found.Matches(), nil
}

// Exists implements [blockstore.Store]. It stops at the first fingerprint that it finds.
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

// near calls yield for each document within the distance, until yield returns false. It may yield a
// document several times, once for each table that leads to it.
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
	it, err := s.db.NewIter(nil) // still locked, so that no document leaves pending unseen
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

// nearAt does the work of near for the postings that an iterator stands at.
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

// Get implements [blockstore.Store].
func (s *Store) Get(ctx context.Context, ids []string) (map[string]neardup.Fingerprint64, error) {
	ids, err := blockstore.CheckIDs(ids)
	if err != nil {
		return nil, err
	}
	snapshot := s.db.NewSnapshot() // an id may move from the pending ones to the settled ones meanwhile
	defer snapshot.Close()
	found := map[string]neardup.Fingerprint64{}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, kind := range []byte{pendingKey, settledKey} {
			fp, ok, err := fingerprintAt(snapshot, key(kind, id))
			if err != nil {
				return nil, fmt.Errorf("pebblestore: %w", err)
			}
			if ok {
				found[id] = fp
				break
			}
		}
	}
	return found, ctx.Err()
}

// fingerprintAt reads the fingerprint at a key, if there is one.
func fingerprintAt(r pebble.Reader, key []byte) (fp neardup.Fingerprint64, ok bool, err error) {
	value, closer, err := r.Get(key)
	if err == pebble.ErrNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer closer.Close()
	fp, err = fingerprintOf(key, value)
	return fp, err == nil, err
}

// fingerprintOf reads the value at a key.
func fingerprintOf(key, value []byte) (neardup.Fingerprint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: %d bytes at the key %q", neardup.ErrDamaged, len(value), key)
	}
	return neardup.Fingerprint64(binary.BigEndian.Uint64(value)), nil
}

// All implements [blockstore.Store]. It yields what was stored when the loop began.
func (s *Store) All(ctx context.Context) iter.Seq2[blockstore.Entry, error] {
	return func(yield func(blockstore.Entry, error) bool) {
		err := s.each(ctx, settledKey, pendingKey+1, func(e blockstore.Entry) bool { return yield(e, nil) })
		if err != nil {
			yield(blockstore.Entry{}, fmt.Errorf("pebblestore: %w", err))
		}
	}
}

// each calls yield for the entries under the keys that begin with the bytes from, …, to−1, until
// yield returns false.
func (s *Store) each(ctx context.Context, from, to byte, yield func(blockstore.Entry) bool) (err error) {
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

// readEntry reads the entry that an iterator stands at.
func readEntry(it *pebble.Iterator) (blockstore.Entry, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return blockstore.Entry{}, err
	}
	fp, err := fingerprintOf(it.Key(), value)
	return blockstore.Entry{ID: string(it.Key()[1:]), Fingerprint: fp}, err
}
