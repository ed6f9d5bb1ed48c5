package storetest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
)

// An index in memory passes, if it is kept by name as a server would. It chooses its tables itself, so that
// it refuses nothing; here whoever opens it does.
func TestIndexStore(t *testing.T) {
	type kept struct {
		blockstore.Store
		blocks string
	}
	var mu sync.Mutex
	stores := map[string]kept{}
	storetest.Test(t, storetest.Suite{Open: func(_ context.Context, name string, blocks blockstore.Blocks) (blockstore.Store, error) {
		mu.Lock()
		defer mu.Unlock()
		if s, ok := stores[name]; ok {
			if s.blocks != blocks.String() {
				return nil, neardup.ErrVersion
			}
			return s, nil
		}
		ix, err := neardup.NewIndex[string, neardup.Fingerprint64](blocks.Distance(), neardup.IndexOptions{})
		if err != nil {
			return nil, err
		}
		stores[name] = kept{blockstore.FromIndex(ix), blocks.String()}
		return stores[name], nil
	}})
}
