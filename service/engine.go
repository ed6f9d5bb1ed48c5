package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/service/client"
)

// This file says what a collection can do, and has the kind of collection that is a [dedup.Deduplicator].

// An engine is what finds near-duplicates in a collection. Its methods may be called from several goroutines. What put and its like have done
// is on the disk when sync has returned.
type engine interface {
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
var errUnable = errors.New("the method of this collection does not do that")

var errUnknown = errors.New(client.NoDocument)

// An auto is an engine by a Deduplicator.
type auto struct {
	d *dedup.Deduplicator[string]
}

// openAuto opens the files of a Deduplicator.
func openAuto(path string, memory int64) (engine, error) {
	d, err := dedup.Open[string](path, dedup.Options{Memory: memory})
	if err != nil {
		return nil, err
	}
	return &auto{d: d}, nil
}

func (a *auto) search(_ context.Context, text string, limit int) ([]client.Match, error) {
	found, err := a.d.Nearest(text, limit+1)
	all := make([]client.Match, len(found))
	for i, m := range found {
		all[i] = matchOf(m)
	}
	return all, err
}

func matchOf(m neardup.Match[string]) client.Match {
	return client.Match{ID: m.ID, Similarity: m.Similarity, Probability: m.Probability, Kind: m.Kind.String()}
}

func (a *auto) put(_ context.Context, id, text string) (bool, error) {
	err := a.d.Add(id, text)
	return err == nil, err
}

func (a *auto) delete(_ context.Context, id string) (bool, error) { return a.d.Delete(id) }

func (a *auto) get(_ context.Context, id string) (client.Stored, bool, error) {
	doc, ok, err := a.d.Get(id)
	if !ok || err != nil {
		return client.Stored{}, false, err
	}
	text, ok, err := a.d.Text(id)
	return client.Stored{ID: id, Number: doc.Number, Length: doc.Length, Text: text}, ok, err
}

func (a *auto) expire(_ context.Context, before time.Time) (int, error) {
	return a.d.DeleteBefore(before)
}

func (a *auto) groups(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		groups, err := a.d.Groups(ctx, dedup.Grouping[string]{})
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
	for _, q := range e.Quantities {
		p.Reasons = append(p.Reasons, client.Quantity{Name: q.Name, Value: q.Value, Adds: q.Adds})
	}
	return p, nil
}

func (a *auto) len(context.Context) (int, error) { return a.d.Len(), nil }
func (a *auto) sync() error                      { return a.d.Sync() }
func (a *auto) close() error                     { return a.d.Close() }
func (a *auto) err(context.Context) error        { _, _, err := a.d.Get(""); return err }
