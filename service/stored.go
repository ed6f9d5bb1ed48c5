package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/service/client"
)

// This file has collections of fingerprints or signatures in a store, which several services may share: in Redis, a database, or files of
// Pebble.
//
// Nothing of the store is kept in the service, so what another service has changed is seen at once. In
// return, each call waits for the store, and there is nothing for sync to do.

// A Store opens the fingerprints or signatures of a collection in a store that only services with this
// collection use. The version says how they were made. The service closes the stores that it returns.
// Removing a collection does not remove what is in its store.
type Store interface {
	Fingerprints(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Fingerprint64], version string) (blockstore.Store[neardup.Fingerprint64], error)
	Signatures(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Signature], version string) (blockstore.Store[neardup.Signature], error)
}

// A shared is a finder by a store. What a call has stored is as durable as the store says.
type shared[V any] struct {
	store blockstore.Store[V]
	kind[V]
}

// openShared opens the store of a collection.
func openShared(ctx context.Context, store Store, collection string, set client.Settings) (finder, error) {
	if set.Method == "simhash" {
		k, err := fingerprints()
		if err != nil {
			return nil, err
		}
		scheme, err := blockstore.Hamming[neardup.Fingerprint64](set.Distance, 0)
		return sharedBy(ctx, store.Fingerprints, collection, k, scheme, err)
	}
	k, err := signatures()
	if err != nil {
		return nil, err
	}
	scheme, err := blockstore.MinHash(set.Similarity, blockstore.SignatureOptions{Bits: signatureBits})
	return sharedBy(ctx, store.Signatures, collection, k, scheme, err)
}

// sharedBy opens a store by open, unless err is not nil. A scheme that cannot be made is the fault of the
// settings, so it is a badRequest; a store that cannot be reached is not.
func sharedBy[V any](ctx context.Context, open func(context.Context, string, blockstore.Scheme[V], string) (blockstore.Store[V], error), collection string, k kind[V], scheme blockstore.Scheme[V], err error) (finder, error) {
	if err != nil {
		return nil, badRequest{fmt.Errorf("in a store: %w", err)}
	}
	s, err := open(ctx, collection, scheme, k.version)
	if err != nil {
		return nil, err
	}
	return &shared[V]{s, k}, nil
}

// search finds nothing for a text without letters and digits. All of these would have the same fingerprint,
// and be near-duplicates of each other.
func (s *shared[V]) search(ctx context.Context, text string, limit int) (all []client.Match, err error) {
	v := s.of(text)
	if s.empty(v) {
		return nil, nil
	}
	found, err := s.store.Search(ctx, []V{v}, limit+1)
	if err != nil {
		return nil, err
	}
	for _, m := range found[0] {
		all = append(all, s.match(m))
	}
	return all, nil
}

// put stores no fingerprint of a text without letters and digits: nothing could find it. What has the id is
// deleted then. Otherwise a search would go on to find the text that was replaced.
func (s *shared[V]) put(ctx context.Context, id, text string) (bool, error) {
	v := s.of(text)
	if s.empty(v) {
		if _, is, err := s.get(ctx, id); !is || err != nil {
			return false, err
		}
		return false, s.store.Delete(ctx, []string{id})
	}
	err := s.store.Put(ctx, []blockstore.Entry[V]{{ID: id, Value: v}})
	return err == nil, err
}

// delete asks before it deletes, because stores do not say what they had. Of two calls at the same time,
// both may report that the document was there.
func (s *shared[V]) delete(ctx context.Context, id string) (bool, error) {
	_, was, err := s.get(ctx, id)
	if err != nil {
		return false, err
	}
	return was, s.store.Delete(ctx, []string{id}) // also what a call that was cut off has left
}

func (s *shared[V]) get(ctx context.Context, id string) (client.Stored, bool, error) {
	found, err := s.store.Get(ctx, []string{id})
	e, ok := found[id]
	return s.stored(id, e.Value), ok, err
}

func (s *shared[V]) expire(ctx context.Context, before time.Time) (int, error) {
	n, err := s.store.DeleteBefore(ctx, before)
	// Some layouts keep no times (see blockstore.Store).
	if errors.Is(err, errors.ErrUnsupported) {
		return n, errUnable
	}
	return n, err
}

func (s *shared[V]) groups(context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) { yield(nil, errUnable) }
}

func (s *shared[V]) explain(context.Context, string, string) (client.Pair, error) {
	return client.Pair{}, errUnable
}

func (s *shared[V]) len(ctx context.Context) (n int, err error) { return -1, nil } // to count takes a walk over the store

func (s *shared[V]) sync() error  { return nil }
func (s *shared[V]) close() error { return s.store.Close() }

// err asks for something that is not there. The answer does not matter, only whether there is one.
func (s *shared[V]) err(ctx context.Context) error {
	_, err := s.store.Get(ctx, []string{"?"})
	return err
}
