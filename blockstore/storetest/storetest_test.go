package storetest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
)

// Indexes in memory pass, if they are kept by name as a server would. They choose their tables
// themselves, so that they refuse nothing; here whoever opens them does.
func TestIndexStore(t *testing.T) {
	t.Run("64", func(t *testing.T) { storetest.Test(t, fingerprints[neardup.Fingerprint64]()) })
	t.Run("128", func(t *testing.T) { storetest.Test(t, fingerprints[neardup.Fingerprint128]()) })
	t.Run("MinHash", func(t *testing.T) {
		storetest.Test(t, suite(func(scheme blockstore.Scheme[neardup.Signature]) (blockstore.Store[neardup.Signature], error) {
			o := neardup.SignatureIndexOptions{}
			if scheme.Tables() == 5 {
				o.Banding = neardup.Banding{Bands: 5, Rows: 3}
			}
			ix, err := neardup.NewSignatureIndex[string](0.5, o)
			if err != nil {
				return nil, err
			}
			return blockstore.FromIndex(ix), nil
		}))
	})
}

func fingerprints[F neardup.Fingerprint]() storetest.Suite[F] {
	return suite(func(scheme blockstore.Scheme[F]) (blockstore.Store[F], error) {
		ix, err := neardup.NewIndex[string, F](scheme.Distance(), neardup.IndexOptions{})
		if err != nil {
			return nil, err
		}
		return blockstore.FromIndex(ix), nil
	})
}

// suite keeps the stores that make makes, by their names.
func suite[V any](make func(scheme blockstore.Scheme[V]) (blockstore.Store[V], error)) storetest.Suite[V] {
	type kept struct {
		blockstore.Store[V]
		scheme string
	}
	var mu sync.Mutex
	stores := map[string]kept{}
	return storetest.Suite[V]{Ageless: true, Open: func(_ context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
		mu.Lock()
		defer mu.Unlock()
		s, ok := stores[name]
		if !ok {
			made, err := make(scheme)
			if err != nil {
				return nil, err
			}
			s = kept{made, scheme.String()}
			stores[name] = s
		}
		if s.scheme != scheme.String() {
			return nil, neardup.ErrVersion
		}
		return s, nil
	}}
}
