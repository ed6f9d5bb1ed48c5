package neardup

import (
	"context"
	"iter"
	"time"

	"github.com/neardup/neardup/internal/store"
)

// This file has what the three indexes share: the methods that do not depend on what is stored, and
// a few helpers.

// A persistent holds the methods that [Index], [SignatureIndex] and [VectorIndex] share. Each index
// embeds one, so the methods appear as its own, and sets store when it is made. In the index it
// hides the store itself, whose other methods users should not see.
type persistent struct {
	store interface {
		Len() int
		DeleteBefore(t time.Time) (int, error)
		Compact(ctx context.Context) error
		Sync() error
		Close() error
		Err() error
		Verify() error
		Lost() error
	}
}

// made panics if the index is a zero value, which only a programming mistake can cause.
func (p *persistent) made() {
	if p.store == nil {
		panic("neardup: an index that was not made by its New or Open function")
	}
}

// Len returns the number of stored documents. Deleted and replaced ones do not count.
func (p *persistent) Len() int {
	p.made()
	return p.store.Len()
}

// DeleteBefore removes every document that was added before t, and returns how many that was. Times
// are in whole seconds by the clock of this machine. If the clock was set back in between, a
// document counts as added no earlier than the ones before it. Its time depends on how much it removes.
func (p *persistent) DeleteBefore(t time.Time) (int, error) {
	p.made()
	return p.store.DeleteBefore(t)
}

// Compact rebuilds the index as a single part, without what was deleted. This form is searched
// fastest and takes the least memory. In an index with files, it is written as a new snapshot, and
// all changes are on the disk when Compact returns nil. If Compact fails, the index is as it was. It
// checks the context before and after it builds. Searches may run meanwhile; changes wait.
func (p *persistent) Compact(ctx context.Context) error {
	p.made()
	return p.store.Compact(ctx)
}

// Sync writes to the disk all changes made by calls that have returned. If the journal then has more than 65,536 changes, and
// more than half as many as there are documents, Sync calls Compact and takes as long. It does nothing for an index in
// memory.
func (p *persistent) Sync() error {
	p.made()
	return p.store.Sync()
}

// Close writes all changes to the disk and releases the files. Afterwards the index is empty, and
// every call that can return an error returns one that wraps [os.ErrClosed], or the error that the
// index had before. A second Close returns nil. Close does nothing for an index in memory.
func (p *persistent) Close() error {
	p.made()
	return p.store.Close()
}

// err returns the first error of an index, or nil: damage in a file that a search or a change met, a
// file that could not be written, or that the index was closed. After an error the index accepts no
// more changes; Sync and Close still write those from before. Every method that returns an error
// returns this one too. An index in memory has no errors.
func (p *persistent) err() error {
	p.made()
	return p.store.Err()
}

// Verify reads the whole snapshot of an index with files and checks it. Without Verify, a block is
// checked when it is first used, and a block that is never used is never checked.
func (p *persistent) Verify() error {
	p.made()
	return p.store.Verify()
}

// Lost says what was dropped when the files were opened, or returns nil: what a killed program or a power failure left
// unfinished at the end of the journal. It was not synced, unless a disk has lost synced changes: that looks the same.
func (p *persistent) Lost() error {
	p.made()
	return p.store.Lost()
}

// collectAll calls take for each element of a sequence, until it ends or the context does. It
// returns the error of the context.
func collectAll[K, V any](ctx context.Context, seq iter.Seq2[K, V], take func(K, V)) error {
	for k, v := range seq {
		if err := ctx.Err(); err != nil {
			return err
		}
		take(k, v)
	}
	return ctx.Err()
}

// A watch looks at a context now and then: a look takes longer than some of what goes on between.
type watch struct {
	ctx context.Context
	n   int
	err error // of the context, if it has ended
}

// ended reports whether the context has ended. The first call and every 256th look.
func (w *watch) ended() bool {
	if w.n&255 == 0 {
		w.err = w.ctx.Err()
	}
	w.n++
	return w.err != nil
}

// entries yields stored documents, and the error of the index last.
func entries[ID comparable, V any](all iter.Seq[store.Entry[ID]], value func(doc []uint64) V, failed func() error) iter.Seq2[Entry[ID, V], error] {
	return func(yield func(Entry[ID, V], error) bool) {
		for d := range all {
			if !yield(entryOf(d, value), nil) {
				return
			}
		}
		if err := failed(); err != nil {
			yield(Entry[ID, V]{}, err)
		}
	}
}

// entryOf returns what the caller sees of a stored document.
func entryOf[ID comparable, V any](d store.Entry[ID], value func(doc []uint64) V) Entry[ID, V] {
	return Entry[ID, V]{ID: d.ID, Value: value(d.Doc), Added: time.Unix(int64(d.Time), 0)}
}

// deleteRule is what the store calls for a DeleteFunc.
func deleteRule[ID comparable, V any](del func(Entry[ID, V]) bool, value func(doc []uint64) V) func(store.Entry[ID]) (del, more bool) {
	return func(d store.Entry[ID]) (bool, bool) { return del(entryOf(d, value)), true }
}

// existsBut reports whether anything was found but the document with an id.
func existsBut[ID comparable](found iter.Seq2[Match[ID], error], id ID) (bool, error) {
	for m, err := range found {
		if err != nil || m.ID != id {
			return err == nil, err
		}
	}
	return false, nil
}

// matchSeq yields matches, and then the error if there is one, with an empty Match.
func matchSeq[ID comparable](matches []Match[ID], err error) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		for _, m := range matches {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(Match[ID]{}, err)
		}
	}
}
