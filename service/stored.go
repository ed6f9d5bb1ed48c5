package service

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/service/client"
)

// This file has collections of fingerprints in a store, which several services may share: in Redis, a database, or files of Pebble.

// A shared is an engine by a store. What a call has stored is as durable as the store says.
type shared struct {
	store         blockstore.Store
	fingerprinter neardup.Fingerprinter
	adding        sync.RWMutex // held for reading by those who add without looking before, in this service
}

// search finds nothing for a text without letters and digits, which has no fingerprint.
func (s *shared) search(ctx context.Context, text string, limit int) ([]client.Match, error) {
	return s.near(ctx, s.fingerprinter.Sum64(text), limit)
}

// near returns the first matches of a fingerprint, and one more if there are more.
func (s *shared) near(ctx context.Context, fp neardup.Fingerprint64, limit int) (all []client.Match, err error) {
	if fp == 0 {
		return nil, nil
	}
	found, err := s.store.Search(ctx, []neardup.Fingerprint64{fp}, limit+1)
	if err != nil {
		return nil, err
	}
	for _, m := range found[0] {
		all = append(all, byDistance(m))
	}
	return all, nil
}

// put stores nothing of a text without letters and digits: nothing could find it. What has the id is deleted then.
func (s *shared) put(ctx context.Context, id, text string) error {
	s.adding.RLock()
	defer s.adding.RUnlock()
	return s.set(ctx, id, s.fingerprinter.Sum64(text))
}

// set is put for whoever holds the lock.
func (s *shared) set(ctx context.Context, id string, fp neardup.Fingerprint64) error {
	if fp == 0 {
		return s.store.Delete(ctx, []string{id})
	}
	return s.store.Put(ctx, []blockstore.Entry{{ID: id, Fingerprint: fp}})
}

// putIfNew does not know what other services are about to store: two of them may both store one of two near-duplicates that come at the same
// time.
func (s *shared) putIfNew(ctx context.Context, id, text string, limit int) ([]client.Match, bool, error) {
	s.adding.Lock()
	defer s.adding.Unlock()
	if _, is, err := s.get(ctx, id); is || err != nil {
		return nil, false, err
	}
	fp := s.fingerprinter.Sum64(text)
	found, err := s.near(ctx, fp, limit)
	if err != nil || len(found) > 0 || fp == 0 {
		return found, false, err
	}
	err = s.set(ctx, id, fp)
	return nil, err == nil, err
}

func (s *shared) delete(ctx context.Context, id string) (bool, error) {
	_, was, err := s.get(ctx, id)
	if err != nil {
		return false, err
	}
	return was, s.store.Delete(ctx, []string{id}) // also what a call that was cut off has left
}

func (s *shared) get(ctx context.Context, id string) (client.Stored, bool, error) {
	found, err := s.store.Get(ctx, []string{id})
	fp, ok := found[id]
	return fingerprinted(id, fp), ok, err
}

func (s *shared) expire(context.Context, time.Time) (int, error) { return 0, errUnable }

func (s *shared) groups(context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) { yield(nil, errUnable) }
}

func (s *shared) explain(context.Context, string, string) (client.Pair, error) {
	return client.Pair{}, errUnable
}

func (s *shared) len(ctx context.Context) (n int, err error) { return -1, nil } // to count takes a walk over the store

func (s *shared) sync() error  { return nil }
func (s *shared) close() error { return s.store.Close() }

func (s *shared) err(ctx context.Context) error {
	_, err := s.store.Exists(ctx, []neardup.Fingerprint64{1})
	return err
}
