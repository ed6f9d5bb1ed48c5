package neardup

import (
	"context"
	"iter"
	"time"
)

// A persistent holds the methods that Index, SignatureIndex and VectorIndex share. Each index
// embeds one, so that the methods appear as its own.
type persistent struct {
	store interface {
		Len() int
		DeleteBefore(t time.Time) (int, error)
		Compact() error
		Sync() error
		Close() error
		Err() error
		Verify() error
	}
}

// made panics if the index is a zero value.
func (p *persistent) made() {
	if p.store == nil {
		panic("neardup: an index that was not made by its New or Open function")
	}
}

// Len returns the number of stored documents.
func (p *persistent) Len() int {
	p.made()
	return p.store.Len()
}

// DeleteBefore removes everything that was added before t, in whole seconds by the clock of this
// machine, and returns how many documents that was. If the clock was set back in between, a
// document counts as added no earlier than the ones before it. It takes time for what it removes.
func (p *persistent) DeleteBefore(t time.Time) (int, error) {
	p.made()
	return p.store.DeleteBefore(t)
}

// Compact rebuilds the index as a single part, without what was deleted. This form is searched
// fastest and takes the least memory. An opened index writes it as a new snapshot, and all changes
// are on the disk then. If Compact fails, the index is as it was.
func (p *persistent) Compact() error {
	p.made()
	return p.store.Compact()
}

// Sync writes all changes that have returned to the disk, if the index was opened from files. When
// the journal has more than 65,536 changes, and more than half of what is stored, Sync calls
// Compact and takes as long.
func (p *persistent) Sync() error {
	p.made()
	return p.store.Sync()
}

// Close calls Sync and releases the files. Afterwards the index is empty, and every call returns an
// error that wraps [os.ErrClosed]. Close does nothing for an index in memory.
func (p *persistent) Close() error {
	p.made()
	return p.store.Close()
}

// Err returns the first error of an opened index, or nil: damage that a search or a change met, or
// a file that could not be written. After an error the index accepts no more changes. Every method
// that returns an error returns this one too; Err is for loops over All.
func (p *persistent) Err() error {
	p.made()
	return p.store.Err()
}

// Verify reads the whole snapshot of an opened index and checks it. Without Verify, a block is
// checked when it is first used.
func (p *persistent) Verify() error {
	p.made()
	return p.store.Verify()
}

// collectAll reads a sequence until it ends or the context does.
func collectAll[K, V any](ctx context.Context, seq iter.Seq2[K, V], take func(K, V)) error {
	for k, v := range seq {
		if err := ctx.Err(); err != nil {
			return err
		}
		take(k, v)
	}
	return ctx.Err()
}

// matchSeq yields matches, and then the error if there is one.
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
