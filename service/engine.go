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

// An engine is what finds near-duplicates in a collection. Its methods may be called from several
// goroutines, but not after close. What put and its like have done is on the disk when sync has returned.
// The collection calls sync through its committer, so in files no other method has to wait for the disk.
type engine interface {
	finder

	// putIfNew stores a text unless it has near-duplicates, of which it returns up to limit+1. If a
	// document with the id is there, it returns neither matches nor added: a request that is repeated must
	// not find its own text. Of two calls at the same time, one finds the other's document.
	putIfNew(ctx context.Context, id, text string, limit int) (found []client.Match, added bool, err error)

	// isOnDisk reports whether it is known that a document is on the disk. It may say false of one that is,
	// which only costs a wait.
	isOnDisk(id string) bool
}

// A finder is all of an engine but putIfNew, which [looking] adds.
type finder interface {
	// search returns up to limit+1 matches, the best first, so that foundOf knows whether there are more.
	search(ctx context.Context, text string, limit int) ([]client.Match, error)
	// put reports stored=false without an error for a text of which a store keeps nothing.
	put(ctx context.Context, id, text string) (stored bool, err error)
	delete(ctx context.Context, id string) (was bool, err error)
	get(ctx context.Context, id string) (doc client.Stored, ok bool, err error)
	expire(ctx context.Context, before time.Time) (int, error)
	groups(ctx context.Context) iter.Seq2[[]string, error]
	explain(ctx context.Context, a, b string) (client.Pair, error)
	// len returns -1 if only a walk over all documents could tell.
	len(ctx context.Context) (int, error)
	sync() error
	close() error
	// err returns the error that would make the other methods fail, and changes nothing. /readyz calls it
	// for each collection.
	err(ctx context.Context) error
}

// errUnable is for what a method cannot do.
var errUnable = errors.New("the method of this collection does not support this operation")

// The text of errUnknown is a constant of package client, which tells by it that the document is missing
// and not the collection: both are 404.
var errUnknown = errors.New(client.NoDocument)

// A looking makes an engine of a finder. It has a lock for putIfNew, which a Deduplicator does not need.
// The lock is in this process, so two services that share a store do not see each other's additions in
// progress, and may both store one of two near-duplicates.
type looking struct {
	finder
	adding sync.RWMutex // held for reading by those who put without looking before
	puts   atomic.Int64 // how many puts have ended, failed ones included: they may have stored something
}

func (l *looking) put(ctx context.Context, id, text string) (bool, error) {
	l.adding.RLock()
	defer l.adding.RUnlock()
	// Deferred calls run in reverse order, so this one counts before RUnlock: whoever gets the lock for
	// writing has all puts in the count.
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
	// The number is taken before the first look: a put that ends after it is counted, and makes the second
	// look necessary.
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
	// Nobody else puts now, and the last look has seen everything that was put before.
	added, err = l.finder.put(ctx, id, text)
	return nil, added, err
}

// isOnDisk knows nothing. So an answer about a collection of this kind always waits for a commit.
func (l *looking) isOnDisk(string) bool { return false }

// An auto is an engine by a Deduplicator. AddIfNew of that lets calls search side by side, and makes one
// wait only for another that may be about to add its near-duplicate. So it needs no lock of its own.
type auto struct {
	d      *dedup.Deduplicator[string]
	onDisk atomic.Int64 // how many of those that were ever added are on the disk, at least
}

// openAuto opens the files of a Deduplicator. With a memory of 0, each collection may take what
// [dedup.Options] gives to one Deduplicator, however many there are.
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
	// The document may be deleted between the two calls. Then ok is false, and it counts as missing.
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

// explain gets both documents first, since the answer has their texts, and a missing one must give 404 with
// its id.
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

// sync asks for the next sequence before it writes. Documents that are added while Sync runs may be on the
// disk or not, so they must not count.
func (a *auto) sync() error {
	added := int64(a.d.NextSequence())
	err := a.d.Sync()
	if err == nil {
		a.onDisk.Store(added) // of two at the same time, the smaller number may stay
	}
	return err
}

// isOnDisk compares the sequence of a document, which is never used again: one that replaces another counts
// as new.
func (a *auto) isOnDisk(id string) bool {
	doc, ok, err := a.d.Get(id)
	return ok && err == nil && int64(doc.Sequence) < a.onDisk.Load()
}

// err asks for an id that checkID never lets in. Only the error of the files matters.
func (a *auto) err(context.Context) error { _, _, err := a.d.Get(""); return err }
