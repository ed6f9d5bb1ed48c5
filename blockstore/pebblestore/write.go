package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup/blockstore"
)

// Put implements [blockstore.Backend]. For a value that is stored already, it writes only the time.
// More than a quarter of a gigabyte is written in several parts, each as a whole or not at all. If the
// disk is full or fails, Pebble cannot go on, and Put panics.
func (s *database) Put(ctx context.Context, records []blockstore.Row) error {
	records = slices.Clone(records)
	slices.SortFunc(records, byID)
	return inParts(records, s.keys, idOf, func(part []blockstore.Row) error {
		pending := part[:0]
		return s.change(ctx, func(b *pebble.Batch, settled *pebble.Iterator) error {
			for _, r := range part {
				old, where, err := s.find(settled, r.ID)
				if err != nil {
					return err
				}
				same := where != 0 && old.Value == r.Value
				switch {
				case same && old.Added == r.Added:
					continue
				case same && where == settledKey:
					if err := set(b, settledKey, r); err != nil {
						return err
					}
					continue
				case where == settledKey:
					s.changes.add(old, true)
					if err := b.Delete(key(settledKey, r.ID), nil); err != nil {
						return err
					}
				}
				if err := set(b, pendingKey, r); err != nil {
					return err
				}
				pending = append(pending, r)
			}
			return nil
		}, func() {
			for _, r := range pending {
				s.pending.add(r)
			}
		})
	})
}

// Delete implements [blockstore.Backend].
func (s *database) Delete(ctx context.Context, ids []string) error {
	_, err := s.remove(ctx, ids, func(blockstore.Row) bool { return true })
	return err
}

// DeleteBefore implements [blockstore.Backend]. It goes through all ids as they are when it begins.
func (s *database) DeleteBefore(ctx context.Context, added uint32) (n int, err error) {
	old := func(r blockstore.Row) bool { return r.Added < added }
	var ids []string
	flush := func() bool {
		var removed int
		slices.Sort(ids)
		removed, err = s.remove(ctx, ids, old)
		n, ids = n+removed, ids[:0]
		return err == nil
	}
	failed := s.each(ctx, settledKey, pendingKey+1, func(r blockstore.Row) bool {
		if old(r) {
			ids = append(ids, r.ID)
		}
		return len(ids) < maxPending || flush()
	})
	if err == nil && failed == nil {
		flush()
	}
	if failed != nil {
		err = errors.Join(err, fmt.Errorf("pebblestore: %w", failed))
	}
	return n, err
}

// remove removes those of ids whose records are to go, and returns how many these are. It looks at
// the records when nobody else can change them. The ids ascend.
func (s *database) remove(ctx context.Context, ids []string, goes func(blockstore.Row) bool) (n int, err error) {
	err = inParts(ids, s.keys, func(id string) string { return id }, func(part []string) error {
		var removed []string
		return s.change(ctx, func(b *pebble.Batch, settled *pebble.Iterator) error {
			for _, id := range part {
				old, where, err := s.find(settled, id)
				if err != nil {
					return err
				}
				if where == 0 || !goes(old) {
					continue
				}
				if where == settledKey {
					s.changes.add(old, true)
				}
				if err := b.Delete(key(where, id), nil); err != nil {
					return err
				}
				removed = append(removed, id)
			}
			return nil
		}, func() {
			for _, id := range removed {
				s.pending.remove(id)
			}
			n += len(removed)
		})
	})
	return n, err
}

// byID orders records by their ids.
func byID(a, b blockstore.Row) int { return strings.Compare(a.ID, b.ID) }

// idOf returns the id of a record.
func idOf(r blockstore.Row) string { return r.ID }

// partBytes is about how many bytes are written at once, at the most. Pebble itself can take 4 GB.
const partBytes = 256 << 20

// inParts calls do for parts of a list. The postings of a part, in all tables, fit into a batch.
func inParts[T any](list []T, keys blockstore.Keys, id func(T) string, do func(part []T) error) error {
	for len(list) > 0 {
		n, bytes := 0, 0
		for n < len(list) && bytes < partBytes {
			bytes += (len(id(list[n]))+inline(keys)+24)*(keys.Tables()+1) + keys.Size()
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

// set puts a record into a batch.
func set(b *pebble.Batch, kind byte, r blockstore.Row) error {
	op := b.SetDeferred(1+len(r.ID), 4+len(r.Value))
	op.Key[0] = kind
	copy(op.Key[1:], r.ID)
	binary.BigEndian.PutUint32(op.Value, r.Added)
	copy(op.Value[4:], r.Value)
	return op.Finish()
}

// change makes a change that is stored as a whole or not at all. record puts it into a batch and
// collects removals of postings in s.changes. done makes the same change to s.pending.
//
// Calls of change take turns, but they wait for the disk together. So many callers together wait
// little longer than one.
func (s *database) change(ctx context.Context, record func(b *pebble.Batch, settled *pebble.Iterator) error, done func()) error {
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
		if err := s.changes.write(b); err != nil {
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
func (s *database) apply(b *pebble.Batch, done func()) error {
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

// find returns the record of an id, and whether it is under settledKey or pendingKey. where is 0 if
// the id is not stored. find is fastest if the ids of several calls ascend. The caller holds
// s.writing.
func (s *database) find(settled *pebble.Iterator, id string) (r blockstore.Row, where byte, err error) {
	if at, ok := s.pending.at[id]; ok {
		return s.pending.docs[at], pendingKey, nil
	}
	if !settled.SeekPrefixGE(key(settledKey, id)) {
		return r, 0, settled.Error()
	}
	r, err = s.readRecord(settled)
	return r, settledKey, err
}

// settle lets all pending documents enter the tables. Searches meanwhile find them in memory, and
// perhaps in the tables as well. The caller holds s.writing.
func (s *database) settle() error {
	records := make([]blockstore.Row, 0, s.pending.len())
	for _, doc := range s.pending.docs {
		if doc.ID != "" {
			records = append(records, doc)
		}
	}
	slices.SortFunc(records, byID)
	err := inParts(records, s.keys, idOf, func(part []blockstore.Row) error {
		b := s.db.NewBatch()
		defer b.Close()
		s.changes.reset()
		for _, r := range part {
			if err := set(b, settledKey, r); err != nil {
				return err
			}
			s.changes.add(r, false)
		}
		// A part has all documents that are pending from its first id to its last.
		err := b.DeleteRange(key(pendingKey, part[0].ID), append(key(pendingKey, part[len(part)-1].ID), 0), nil)
		if err != nil {
			return err
		}
		if err := s.changes.write(b); err != nil {
			return err
		}
		if err := s.db.Apply(b, s.write); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range part {
			s.pending.remove(r.ID)
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
