package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/stores/internal/server"
	"github.com/neardup/neardup/stores/storetest"
)

// client returns a client of a server.
func client(t testing.TB, s *server.Server) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.Port})
	t.Cleanup(func() { c.Close() })
	return c
}

func suite(c redis.UniversalClient, layout Layout) storetest.Suite {
	return storetest.Suite{Open: func(ctx context.Context, name string, b neardup.Blocks) (neardup.BlockStore, error) {
		s, err := New(ctx, c, b.Distance(), &Options{Blocks: b.Blocks(), Prefix: string(layout) + name, Layout: layout})
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}

func TestStore(t *testing.T) {
	s := server.ForTest(t, "redis")
	c := client(t, s)
	for _, layout := range []Layout{Hashes, S002} {
		t.Run("layout="+string(layout), func(t *testing.T) {
			storetest.Test(t, suite(c, layout))
			storetest.TestOutage(t, suite(c, layout), func() error {
				if err := s.Kill(); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
				return s.Restart()
			})
		})
	}
}
