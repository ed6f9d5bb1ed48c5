package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

func suite[V any](c redis.UniversalClient, layout Layout) storetest.Suite[V] {
	return storetest.Suite[V]{Open: func(ctx context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
		s, err := New(ctx, c, scheme, Options{Prefix: fmt.Sprint(string(layout), scheme.Size(), name), Layout: layout})
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}

// hamming3 is the scheme of most tests.
func hamming3(t *testing.T) blockstore.Scheme[neardup.Fingerprint64] {
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestStore(t *testing.T) {
	s := server.ForTest(t, "redis")
	t.Run("64", func(t *testing.T) { testStore[neardup.Fingerprint64](t, s, Hashes) })
	t.Run("64"+string(SignatureSets), func(t *testing.T) { testStore[neardup.Fingerprint64](t, s, SignatureSets) })
	t.Run("128", func(t *testing.T) { testStore[neardup.Fingerprint128](t, s, Hashes) })
	t.Run("MinHash", func(t *testing.T) { testStore[neardup.Signature](t, s, Hashes) })
}

func testStore[V any](t *testing.T, s *server.Server, layout Layout) {
	c := client(t, "127.0.0.1:"+s.Port)
	proxy := server.ProxyForTest(t, s.Port)
	throughProxy := suite[V](client(t, proxy.Addr), layout)
	storetest.Test(t, suite[V](c, layout))
	storetest.TestOutage(t, suite[V](c, layout), func() error {
		if err := s.Kill(); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		return s.Restart()
	})
	storetest.TestLostAnswers(t, throughProxy, proxy.LoseAnswer)
	for _, name := range []string{"lostanswers", "oneid"} {
		keys := c.Keys(t.Context(), fmt.Sprintf("%s*%s:settings", layout, name)).Val()
		if len(keys) == 0 {
			t.Errorf("no store %q", name)
		}
		for _, key := range keys {
			nothingLeft(t, c, strings.TrimSuffix(key, ":settings"))
		}
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
	ids, postings, signatures, tables := 0, 0, 0, 4
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
				if settings := c.Get(ctx, prefix+":settings").Val(); strings.Contains(settings, "values") {
					tables = 32
				} else if len(record) != 4+8+4 && len(record) != 4+16+4 {
					t.Errorf("record of %s: %q", id, record)
				}
			}
		case kind == "s":
			signatures += int(c.HLen(ctx, key).Val())
		case kind != "settings" && c.Type(ctx, key).Val() == "hash":
			postings += int(c.HLen(ctx, key).Val())
		}
	}
	if signatures > 0 {
		postings = tables * signatures
	}
	if ids == 0 || postings != tables*ids {
		t.Errorf("%s: %d ids have %d postings", prefix, ids, postings)
	}
}

const (
	removedState = state("\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x01")
	sevenState   = state("\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x02")
	seven        = "\x00\x00\x00\x00\x00\x00\x00\x07"
)

func TestRecords(t *testing.T) {
	s := &backend{keys: hamming3(t).Keys}
	record := "\x00\x00\x00\x05" + string(removedState+sevenState)
	states, time, err := s.readRecord(record)
	if err != nil || len(states) != 2 || time != 5 {
		t.Fatal(states, time, err)
	}
	if !states[0].removed() {
		t.Error("a removed id has a fingerprint")
	}
	if states[1].value() != seven || states[1].removed() {
		t.Errorf("value %q", states[1].value())
	}
	if id := idOf(states[1].member("someone")); id != "someone" {
		t.Errorf("id %q", id)
	}
	for _, damaged := range []string{"", "x", record[:4], record[:11], record[:len(record)-1], record + "x"} {
		if _, _, err := s.readRecord(damaged); !errors.Is(err, neardup.ErrDamaged) {
			t.Errorf("record %q: %v", damaged, err)
		}
	}
}

// Sweep removes the postings that no record knows, and only these.
func TestSweep(t *testing.T) {
	c := client(t, "127.0.0.1:"+server.ForTest(t, "redis").Port)
	for _, layout := range []Layout{Hashes, SignatureSets} {
		s, err := New(t.Context(), c, hamming3(t), Options{Layout: layout, Prefix: "sweep" + string(layout)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{{ID: "known", Value: 7}, {ID: "other", Value: 1 << 40}}); err != nil {
			t.Fatal(err)
		}
		if err := s.backend.layout.add(t.Context(), []posting{{seven, sevenState.member("nobody")}, {seven, sevenState.member("known")}}); err != nil {
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

// TestCutOff: a DeleteBefore that was cut off after its first step is finished by the next one, and so is a Delete.
func TestCutOff(t *testing.T) {
	ctx, c := t.Context(), client(t, "127.0.0.1:"+server.ForTest(t, "redis").Port)
	for _, layout := range []Layout{Hashes, SignatureSets} {
		for _, kind := range []kind{removes, expires} {
			s, err := New(ctx, c, hamming3(t), Options{Layout: layout, Prefix: fmt.Sprint("cut", layout, kind)})
			if err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-time.Hour)
			if err := s.Put(ctx, []blockstore.Entry[neardup.Fingerprint64]{{ID: "old", Value: 7, Added: old}, {ID: "new", Value: 7}}); err != nil {
				t.Fatal(err)
			}
			changes := []change{{kind: kind, id: "old", time: uint32(time.Now().Add(-time.Minute).Unix())}}
			if err := s.backend.script(ctx, begin, bucketsOf(changes), (*change).text, func([]*change, []any) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.DeleteBefore(ctx, time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			found, err := s.Search(ctx, []neardup.Fingerprint64{7}, 10)
			if err != nil || len(found[0]) != 1 || found[0][0].ID != "new" {
				t.Errorf("%s, %c: found %v, %v", layout, kind, found, err)
			}
			n, err := s.Sweep(ctx)
			left := c.HLen(ctx, fmt.Sprint("cut", layout, kind, ":id:", fmt.Sprintf("%04x", bucketOf("old")))).Val()
			if err != nil || n != 0 || left != 1 { // the counter
				t.Errorf("%s, %c: %d postings and %d fields are left, %v", layout, kind, n, left, err)
			}
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("time" + string(removedState+sevenState))
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x00\xff")
	f.Fuzz(func(t *testing.T, record string) {
		states, time, err := (&backend{keys: hamming3(t).Keys}).readRecord(record)
		if err != nil {
			return
		}
		whole := string(binary.BigEndian.AppendUint32(nil, time))
		for _, s := range states {
			_, _, _ = s.value(), s.removed(), s.member("id") // none may panic
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
	s, err := New(t.Context(), c, hamming3(t), Options{Prefix: "wang", Layout: SignatureSets})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{{ID: "A", Value: 0x800d8e90e45cc488}, {ID: "B", Value: 0x800d8e90e4dcc488}}); err != nil {
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
