package redisstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
	"github.com/neardup/neardup/internal/server"
)

// client returns a client of a server. It does not repeat calls by itself.
func client(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}

func suite(c redis.UniversalClient, layout Layout) storetest.Suite {
	return storetest.Suite{Open: func(ctx context.Context, name string, b blockstore.Blocks) (blockstore.Store, error) {
		s, err := New(ctx, c, b.Distance(), Options{Blocks: b.Blocks(), Prefix: string(layout) + name, Layout: layout})
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}

func TestStore(t *testing.T) {
	s := server.ForTest(t, "redis")
	c := client(t, "127.0.0.1:"+s.Port)
	proxy := server.ProxyForTest(t, s.Port)
	throughProxy := client(t, proxy.Addr)
	for _, layout := range []Layout{Hashes, SignatureSets} {
		t.Run("layout="+string(layout), func(t *testing.T) {
			storetest.Test(t, suite(c, layout))
			storetest.TestOutage(t, suite(c, layout), func() error {
				if err := s.Kill(); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
				return s.Restart()
			})
			storetest.TestLostAnswers(t, suite(throughProxy, layout), proxy.LoseAnswer)
			nothingLeft(t, c, string(layout)+"lostanswers")
			nothingLeft(t, c, string(layout)+"oneid")
		})
	}
}

// nothingLeft fails the test if there are postings of anything that is not stored. It expects each
// id in each table once, and one state in each record.
func nothingLeft(t *testing.T, c *redis.Client, prefix string) {
	t.Helper()
	ctx := t.Context()
	keys, err := c.Keys(ctx, prefix+":*").Result()
	if err != nil {
		t.Fatal(err)
	}
	ids, postings, signatures := 0, 0, 0
	for _, key := range keys {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, prefix+":"), ":")
		switch {
		case kind == "id":
			records, err := c.HGetAll(ctx, key).Result()
			if err != nil {
				t.Fatal(err)
			}
			for id, record := range records {
				if id == counterField {
					continue
				}
				ids++
				if states, err := readRecord(record); err != nil || len(states) != 1 {
					t.Errorf("record of %s: %v, %v", id, states, err)
				}
			}
		case kind == "s":
			signatures += int(c.HLen(ctx, key).Val())
		case kind != "settings" && c.Type(ctx, key).Val() == "hash":
			postings += int(c.HLen(ctx, key).Val())
		}
	}
	if signatures > 0 {
		postings = 4 * signatures
	}
	if ids == 0 || postings != 4*ids {
		t.Errorf("%s: %d ids have %d postings", prefix, ids, postings)
	}
}

const (
	removedState = state("\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x01")
	sevenState   = state("\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x02")
)

func TestRecords(t *testing.T) {
	record := string(removedState + sevenState)
	states, err := readRecord(record)
	if err != nil || len(states) != 2 {
		t.Fatal(states, err)
	}
	if _, ok := states[0].fingerprint(); ok {
		t.Error("a removed id has a fingerprint")
	}
	if fp, ok := states[1].fingerprint(); !ok || fp != 7 {
		t.Errorf("fingerprint %v, %v", fp, ok)
	}
	if id := idOf(states[1].member("someone")); id != "someone" {
		t.Errorf("id %q", id)
	}
	for _, damaged := range []string{"", "x", record[:11], record[:len(record)-1], record + "x"} {
		if _, err := readRecord(damaged); !errors.Is(err, neardup.ErrDamaged) {
			t.Errorf("record %q: %v", damaged, err)
		}
	}
}

// Sweep removes the postings that no record knows, and only these.
func TestSweep(t *testing.T) {
	c := client(t, "127.0.0.1:"+server.ForTest(t, "redis").Port)
	for _, layout := range []Layout{Hashes, SignatureSets} {
		s, err := New(t.Context(), c, 3, Options{Layout: layout, Prefix: "sweep" + string(layout)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), []blockstore.Entry{{ID: "known", Fingerprint: 7}, {ID: "other", Fingerprint: 1 << 40}}); err != nil {
			t.Fatal(err)
		}
		if err := s.layout.add(t.Context(), []posting{{7, sevenState.member("nobody")}, {7, sevenState.member("known")}}); err != nil {
			t.Fatal(err)
		}
		n, err := s.Sweep(t.Context())
		if want := map[Layout]int{Hashes: 8, SignatureSets: 2}[layout]; err != nil || n != want {
			t.Errorf("Sweep removes %d, %v, want %d", n, err, want)
		}
		found, err := s.Search(t.Context(), []neardup.Fingerprint64{7, 1 << 40}, 1<<20)
		if err != nil || len(found[0]) != 1 || len(found[1]) != 1 || found[0][0].ID != "known" {
			t.Errorf("found %v, %v", found, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(string(removedState + sevenState))
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x00\xff")
	f.Fuzz(func(t *testing.T, record string) {
		states, err := readRecord(record)
		if err != nil {
			return
		}
		whole := ""
		for _, s := range states {
			s.fingerprint()
			s.member("id")
			whole += string(s)
		}
		if whole != record {
			t.Errorf("%q is %q", record, whole)
		}
	})
}

// TestLayoutOfWang looks at the keys of the layout SignatureSets. As in Wang 2019 §1, a key is a part of 16 bits, with the number of the
// part before it, and its value is the set of the signatures that have it. The two of Li 2015 §2.3 differ in the third part.
func TestLayoutOfWang(t *testing.T) {
	c := client(t, "127.0.0.1:"+server.ForTest(t, "redis").Port)
	s, err := New(t.Context(), c, 3, Options{Prefix: "wang", Layout: SignatureSets})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blockstore.Entry{{ID: "A", Fingerprint: 0x800d8e90e45cc488}, {ID: "B", Fingerprint: 0x800d8e90e4dcc488}}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range c.Keys(t.Context(), "wang:[1-9]:*").Val() {
		signatures := c.SMembers(t.Context(), key).Val()
		slices.Sort(signatures)
		got[key] = strings.Join(signatures, " ")
	}
	const a, b = "-9219556109199817592", "-9219556109191428984" // as signed numbers
	const both = b + " " + a
	want := map[string]string{"wang:1:800d": both, "wang:2:8e90": both, "wang:3:e45c": a, "wang:3:e4dc": b, "wang:4:c488": both}
	if !maps.Equal(got, want) {
		t.Errorf("the keys are %v, not %v", got, want)
	}
}
