package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// Put implements [blockstore.Store]. It does not write again what is stored already. More than a
// quarter of a gigabyte is written in several parts, each as a whole or not at all. If the disk is
// full or fails, Pebble cannot go on, and Put panics.
func (s *Store) Put(ctx context.Context, entries []blockstore.Entry) error {
	entries, err := blockstore.CheckEntries(entries)
	if err != nil {
		return err
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, byID)
	return inParts(entries, s.blocks, idOf, func(part []blockstore.Entry) error {
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

// Delete implements [blockstore.Store].
func (s *Store) Delete(ctx context.Context, ids []string) error {
	ids, err := blockstore.CheckIDs(ids)
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

// byID orders entries by their ids.
func byID(a, b blockstore.Entry) int { return strings.Compare(a.ID, b.ID) }

// idOf returns the id of an entry.
func idOf(e blockstore.Entry) string { return e.ID }

// partBytes is about how many bytes are written at once, at the most. Pebble itself can take 4 GB.
const partBytes = 256 << 20

// inParts calls do for parts of a list. The postings of a part, in all tables, fit into a batch.
func inParts[T any](list []T, b blockstore.Blocks, id func(T) string, do func(part []T) error) error {
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

// key returns the Pebble key of an id. kind is settledKey or pendingKey.
func key(kind byte, id string) []byte { return append([]byte{kind}, id...) }

// set puts the fingerprint of an id into a batch.
func set(b *pebble.Batch, kind byte, id string, fp neardup.Fingerprint64) error {
	op := b.SetDeferred(1+len(id), 8)
	op.Key[0] = kind
	copy(op.Key[1:], id)
	binary.BigEndian.PutUint64(op.Value, uint64(fp))
	return op.Finish()
}

// change makes a change that is stored as a whole or not at all. record puts it into a batch and
// collects removals of postings in s.changes. done makes the same change to s.pending.
//
// Calls of change take turns, but they wait for the disk together. So many callers together wait
// little longer than one.
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
		} else if err == nil { // what was there already may not be on the disk yet
			err = s.db.LogData(nil, pebble.Sync)
		}
	}
	if err != nil {
		return fmt.Errorf("pebblestore: %w", err)
	}
	return nil
}

// apply applies a batch, without waiting for the disk, and calls done, which changes s.pending. If
// the batch removes postings, no search may run between the two: it would find neither the old
// document nor the new one. Otherwise searches go on while the batch is applied.
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

// find returns the fingerprint of an id, and whether it is under settledKey or pendingKey. where is
// 0 if the id is not stored. find is fastest if the ids of several calls ascend. The caller holds
// s.writing.
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

// settle lets all pending documents enter the tables. Searches meanwhile find them in memory, and
// perhaps in the tables as well. The caller holds s.writing.
func (s *Store) settle() error {
	entries := make([]blockstore.Entry, 0, s.pending.len())
	for _, doc := range s.pending.docs {
		if doc.id != "" {
			entries = append(entries, blockstore.Entry{ID: doc.id, Fingerprint: doc.fp})
		}
	}
	slices.SortFunc(entries, byID)
	err := inParts(entries, s.blocks, idOf, func(part []blockstore.Entry) error {
		b := s.db.NewBatch()
		defer b.Close()
		s.changes.reset()
		for _, e := range part {
			if err := set(b, settledKey, e.ID, e.Fingerprint); err != nil {
				return err
			}
			s.changes.add(e.ID, e.Fingerprint, false)
		}
		// A part has all documents that are pending from its first id to its last.
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
