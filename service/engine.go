package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/service/client"
)

// This file says what a collection can do, and has the kind of collection that is a [dedup.Deduplicator].

// An engine is what finds near-duplicates in a collection. Its methods may be called from several goroutines. What put and its like have done
// is on the disk when sync has returned.
type engine interface {
	finder

	// putIfNew stores a text unless it has near-duplicates, some of which it returns, or a document with the id is there. Of two calls at the same
	// time, one finds the other's document.
	putIfNew(ctx context.Context, id, text string, limit int) (found []client.Match, added bool, err error)

	// isOnDisk reports whether it is known that a document is on the disk.
	isOnDisk(id string) bool
}

// A finder is all of an engine but putIfNew, which [looking] adds.
type finder interface {
	search(ctx context.Context, text string, limit int) ([]client.Match, error)
	put(ctx context.Context, id, text string) (stored bool, err error)
	delete(ctx context.Context, id string) (was bool, err error)
	get(ctx context.Context, id string) (doc client.Stored, ok bool, err error)
	expire(ctx context.Context, before time.Time) (int, error)
	groups(ctx context.Context) iter.Seq2[[]string, error]
	explain(ctx context.Context, a, b string) (client.Pair, error)
	len(ctx context.Context) (int, error)
	sync() error
	close() error
	err(ctx context.Context) error
}

// errUnable is for what a method cannot do.
var errUnable = errors.New("the method of this collection does not support this operation")

var errUnknown = errors.New(client.NoDocument)

// A looking makes an engine of a finder. Two services that share a store do not see each other's additions in progress.
type looking struct {
	finder
	adding sync.RWMutex // held for reading by those who put without looking before
	puts   atomic.Int64 // how many texts were put
}

func (l *looking) put(ctx context.Context, id, text string) (bool, error) {
	l.adding.RLock()
	defer l.adding.RUnlock()
	defer l.puts.Add(1)
	return l.finder.put(ctx, id, text)
}

// putIfNew looks beside others first, so that those who find something need not wait, and again, alone, if something was put meanwhile.
func (l *looking) putIfNew(ctx context.Context, id, text string, limit int) (found []client.Match, added bool, err error) {
	look := func() (isNew bool) {
		var is bool
		if _, is, err = l.get(ctx, id); err == nil && !is {
			found, err = l.search(ctx, text, limit)
		}
		return err == nil && !is && len(found) == 0
	}
	before := l.puts.Load()
	if !look() {
		return found, false, err
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	if l.puts.Load() != before && !look() {
		return found, false, err
	}
	defer l.puts.Add(1)
	added, err = l.finder.put(ctx, id, text)
	return nil, added, err
}

// isOnDisk knows nothing.
func (l *looking) isOnDisk(string) bool { return false }

// An auto is an engine by a Deduplicator.
type auto struct {
	d      *dedup.Deduplicator[string]
	onDisk atomic.Int64 // how many of those that were ever added are on the disk, at least
}

// openAuto opens the files of a Deduplicator.
func openAuto(path string, memory int64) (engine, error) {
	d, err := dedup.Open[string](path, dedup.Options{Memory: memory})
	if err != nil {
		return nil, err
	}
	return &auto{d: d}, nil
}

func (a *auto) search(ctx context.Context, text string, limit int) ([]client.Match, error) {
	found, err := a.d.SearchTop(ctx, neardup.Text(text), limit+1)
	return matchesOf(found), err
}

func matchesOf(found []neardup.Match[string]) []client.Match {
	all := make([]client.Match, len(found))
	for i, m := range found {
		all[i] = client.Match{ID: m.ID, Similarity: m.Similarity, Probability: m.Probability, Kind: m.Kind.String()}
	}
	return all
}

func (a *auto) putIfNew(ctx context.Context, id, text string, limit int) ([]client.Match, bool, error) {
	found, added, err := a.d.AddIfNew(ctx, id, neardup.Text(text), limit+1)
	return matchesOf(found), added, err
}

func (a *auto) put(_ context.Context, id, text string) (bool, error) {
	err := a.d.Add(id, neardup.Text(text))
	return err == nil, err
}

func (a *auto) delete(_ context.Context, id string) (bool, error) { return a.d.Delete(id) }

func (a *auto) get(_ context.Context, id string) (client.Stored, bool, error) {
	doc, ok, err := a.d.Get(id)
	if !ok || err != nil {
		return client.Stored{}, false, err
	}
	text, ok, err := a.d.Text(id)
	return client.Stored{ID: id, Number: doc.Sequence, Length: doc.Length, Text: text}, ok, err
}

func (a *auto) expire(_ context.Context, before time.Time) (int, error) {
	return a.d.DeleteBefore(before)
}

func (a *auto) groups(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		groups, err := a.d.Groups(ctx, dedup.GroupOptions[string]{})
		for _, g := range groups {
			// The document that stands for the group comes first.
			if !yield(append([]string{g.Keep}, slices.DeleteFunc(g.Members, func(id string) bool { return id == g.Keep })...), nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (a *auto) explain(ctx context.Context, x, y string) (p client.Pair, err error) {
	for _, side := range []struct {
		id string
		to *client.Stored
	}{{x, &p.A}, {y, &p.B}} {
		doc, ok, err := a.get(ctx, side.id)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %q", errUnknown, side.id)
		}
		if err != nil {
			return client.Pair{}, err
		}
		*side.to = doc
	}
	e, err := a.d.Explain(x, y)
	if err != nil {
		return client.Pair{}, err
	}
	p.Duplicate, p.Compared, p.Similarity, p.Probability, p.Kind, p.Constant = e.Duplicate, e.Compared, e.Similarity, e.Probability, e.Kind.String(), e.Constant
	for _, q := range e.Evidence {
		p.Reasons = append(p.Reasons, client.Quantity{Name: q.Name, Value: q.Value, Adds: q.Adds})
	}
	return p, nil
}

func (a *auto) len(context.Context) (int, error) { return a.d.Len(), nil }
func (a *auto) close() error                     { return a.d.Close() }

func (a *auto) sync() error {
	added := int64(a.d.NextSequence())
	err := a.d.Sync()
	if err == nil {
		a.onDisk.Store(added) // of two at the same time, the smaller number may stay
	}
	return err
}

func (a *auto) isOnDisk(id string) bool {
	doc, ok, err := a.d.Get(id)
	return ok && err == nil && int64(doc.Sequence) < a.onDisk.Load()
}

func (a *auto) err(context.Context) error { _, _, err := a.d.Get(""); return err }
