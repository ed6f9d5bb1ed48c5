package service

import (
	"context"
	"iter"
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
}

// search finds nothing for a text without letters and digits, which has no fingerprint.
func (s *shared) search(ctx context.Context, text string, limit int) (all []client.Match, err error) {
	fp := s.fingerprinter.Sum64(text)
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
func (s *shared) put(ctx context.Context, id, text string) (bool, error) {
	fp := s.fingerprinter.Sum64(text)
	if fp == 0 {
		if _, is, err := s.get(ctx, id); !is || err != nil {
			return false, err
		}
		return false, s.store.Delete(ctx, []string{id})
	}
	err := s.store.Put(ctx, []blockstore.Entry{{ID: id, Fingerprint: fp}})
	return err == nil, err
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
