package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// Find implements [blockstore.Backend].
func (s *database) Find(ctx context.Context, values []string, _ bool, found func(i int, id, value string) bool) error {
	var keys []uint64
	for i, value := range values {
		if err := ctx.Err(); err != nil {
			return err
		}
		keys = s.keys.AppendKeys(keys[:0], value)
		if err := s.near(value, keys, func(id, value string) bool { return found(i, id, value) }); err != nil {
			return fmt.Errorf("pebblestore: %w", err)
		}
	}
	return nil
}

// near calls yield for each document that may be near a value, until yield returns false. It may
// yield a document several times, once for each table that leads to it.
func (s *database) near(value string, keys []uint64, yield func(id, value string) bool) error {
	s.mu.RLock()
	more := s.pending.find(keys, yield)
	it, err := s.db.NewIter(nil) // still locked, so that no document leaves pending unseen
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	var array [10]byte
	var ids []string // of documents whose values are not in the postings
	for table := 0; more && err == nil && table < len(keys); table++ {
		key := array[:keyLength(s.keys, table)]
		putKey(key, table, keys[table])
		if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
			err = it.Error()
			continue
		}
		err = nearAt(it, value, s.keys, func(id string, value []byte) bool {
			if len(value) > 0 {
				more = yield(id, string(value))
			} else {
				ids = append(ids, id)
			}
			return more
		})
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		// The records under d agree with the postings that the iterator sees.
		if !more || err != nil {
			break
		}
		if it.SeekPrefixGE(key(settledKey, id)) {
			var r blockstore.Row
			if r, err = s.readRecord(it); err == nil {
				more = yield(id, r.Value)
			}
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// nearAt does the work of near for the postings that an iterator stands at.
func nearAt(it *pebble.Iterator, query string, keys blockstore.Keys, yield func(id string, value []byte) bool) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	p, err := readPostings(value)
	if err == nil && p.size != inline(keys) {
		err = fmt.Errorf("%w: values of %d bytes", neardup.ErrDamaged, p.size)
	}
	if err == nil {
		err = p.near(query, keys.Distance(), yield)
	}
	if err != nil {
		return fmt.Errorf("key %x: %w", it.Key(), err)
	}
	return nil
}

// Get implements [blockstore.Backend].
func (s *database) Get(ctx context.Context, ids []string, yield func(blockstore.Row)) error {
	snapshot := s.db.NewSnapshot() // an id may move from the pending ones to the settled ones meanwhile
	defer snapshot.Close()
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, kind := range []byte{pendingKey, settledKey} {
			r, ok, err := s.recordAt(snapshot, key(kind, id))
			if err != nil {
				return fmt.Errorf("pebblestore: %w", err)
			}
			if ok {
				yield(r)
				break
			}
		}
	}
	return nil
}

// recordAt reads the record at a key, if there is one.
func (s *database) recordAt(r pebble.Reader, key []byte) (record blockstore.Row, ok bool, err error) {
	value, closer, err := r.Get(key)
	if err == pebble.ErrNotFound {
		return record, false, nil
	}
	if err != nil {
		return record, false, err
	}
	defer closer.Close()
	record, err = s.recordOf(key, value)
	return record, err == nil, err
}

// readRecord reads the record that an iterator stands at.
func (s *database) readRecord(it *pebble.Iterator) (blockstore.Row, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return blockstore.Row{}, err
	}
	return s.recordOf(it.Key(), value)
}

// recordOf reads the value at a key.
func (s *database) recordOf(key, value []byte) (blockstore.Row, error) {
	if len(value) != 4+s.keys.Size() {
		return blockstore.Row{}, fmt.Errorf("%w: %d bytes at the key %q", neardup.ErrDamaged, len(value), key)
	}
	return blockstore.Row{ID: string(key[1:]), Value: string(value[4:]), Added: binary.BigEndian.Uint32(value)}, nil
}

// All implements [blockstore.Backend]. It yields what was stored when the loop began.
func (s *database) All(ctx context.Context, yield func(blockstore.Row) bool) error {
	if err := s.each(ctx, settledKey, pendingKey+1, yield); err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

// each calls yield for the records under the keys that begin with the bytes from, …, to−1, until
// yield returns false.
func (s *database) each(ctx context.Context, from, to byte, yield func(blockstore.Row) bool) (err error) {
	it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: []byte{from}, UpperBound: []byte{to}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := s.readRecord(it)
		if err != nil {
			return err
		}
		if !yield(r) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return it.Error()
}
