package pebblestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
)

func TestStore(t *testing.T) {
	t.Run("64", testStore[neardup.Fingerprint64])
	t.Run("128", testStore[neardup.Fingerprint128])
	t.Run("MinHash", testStore[neardup.Signature])
}

func testStore[V any](t *testing.T) {
	for _, test := range []struct {
		name string
		max  int // how many documents may be pending
	}{{"pending", maxPending}, {"settled", 1}, {"both", 37}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			storetest.Test(t, storetest.Suite[V]{
				Exclusive: true,
				Size:      3000,
				Open: func(_ context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
					s, err := Open(filepath.Join(dir, name), scheme, Options{NoSync: true})
					if err != nil {
						return nil, err
					}
					s.db.pending.max = test.max
					return s, nil
				},
			})
		})
	}
}

// hamming3 is the scheme of most tests.
func hamming3(t *testing.T) blockstore.Scheme[neardup.Fingerprint64] {
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

// entry returns the entry with a number.
func entry(i int) blockstore.Entry[neardup.Fingerprint64] {
	return blockstore.Entry[neardup.Fingerprint64]{ID: fmt.Sprint("document ", i), Value: neardup.Fingerprint64(rand.NewPCG(9, uint64(i)).Uint64())}
}

// checkEntries fails the test unless the store holds exactly the first n entries and finds all of
// them.
func checkEntries(t *testing.T, s *Store[neardup.Fingerprint64], n int) {
	t.Helper()
	stored := map[string]neardup.Fingerprint64{}
	for e, err := range s.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		stored[e.ID] = e.Value
	}
	if len(stored) != n {
		t.Fatalf("%d entries, want %d", len(stored), n)
	}
	for i := range n {
		e := entry(i)
		if fp, ok := stored[e.ID]; !ok || fp != e.Value {
			t.Fatalf("%s is not stored", e.ID)
		}
		for _, bit := range []int{0, 20, 40, 60} {
			found, err := s.Search(t.Context(), []neardup.Fingerprint64{e.Value ^ 0x7<<bit}, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(found[0], neardup.Match[string]{ID: e.ID, Distance: 3}) {
				t.Fatalf("%s is not found: %v", e.ID, found)
			}
		}
	}
}

// A program is killed while it stores fingerprints. All calls that had returned must be in the
// store. The next call must be there as a whole or not at all. With NoSync the last calls may be
// lost.
func TestKilled(t *testing.T) {
	const batch = 10
	if dir := os.Getenv("NEARDUP_TEST_PUT"); dir != "" {
		s, err := Open(dir, hamming3(t), Options{NoSync: os.Getenv("NEARDUP_TEST_NOSYNC") != ""})
		if err != nil {
			t.Fatal(err)
		}
		s.db.pending.max = 100
		for i := 0; ; i += batch {
			var entries []blockstore.Entry[neardup.Fingerprint64]
			for j := range batch {
				entries = append(entries, entry(i+j))
			}
			if err := s.Put(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
			fmt.Println("stored", i+batch)
		}
	}
	for _, noSync := range []string{"", "1"} {
		dir := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
		child.Env = append(os.Environ(), "NEARDUP_TEST_PUT="+dir, "NEARDUP_TEST_NOSYNC="+noSync)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		stored := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, ok := strings.CutPrefix(lines.Text(), "stored ")
			if !ok {
				continue
			}
			if stored, err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
			if stored >= 1230 {
				child.Process.Kill() // the loop still reads what the child has printed
			}
		}
		child.Wait()
		if stored < 1230 {
			t.Fatalf("the program ended after %d", stored)
		}
		s, err := Open(dir, hamming3(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n := 0
		for range s.All(t.Context()) {
			n++
		}
		if n%batch != 0 || n > stored+batch || n < stored && noSync == "" {
			t.Fatalf("NoSync=%q: %d calls had returned, and %d are left", noSync, stored/batch, n/batch)
		}
		checkEntries(t, s, n)
		var all []blockstore.Entry[neardup.Fingerprint64]
		for i := range n + 50 {
			all = append(all, entry(i))
		}
		if err := s.Put(t.Context(), all); err != nil { // store everything again
			t.Fatal(err)
		}
		checkEntries(t, s, n+50)
	}
}

// The machine stops, and loses everything that was not on the disk. Without NoSync no call may be
// lost. With NoSync the last calls may be, without gaps.
func TestMachineStops(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		fs := vfs.NewCrashableMem()
		open := func(fs vfs.FS) *Store[neardup.Fingerprint64] {
			db, err := open("dir", hamming3(t).Keys, Options{NoSync: noSync}, fs)
			if err != nil {
				t.Fatal(err)
			}
			return &Store[neardup.Fingerprint64]{blockstore.New(hamming3(t), db), db}
		}
		s := open(fs)
		s.db.pending.max = 40
		const batch, n = 7, 700
		for i := 0; i < n; i += batch {
			var entries []blockstore.Entry[neardup.Fingerprint64]
			for j := range batch {
				entries = append(entries, entry(i+j))
			}
			if err := s.Put(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
		}
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(after)
		stored := 0
		for _, err := range s.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			stored++
		}
		if !noSync && stored != n || stored%batch != 0 {
			t.Errorf("NoSync=%v: %d of %d are left", noSync, stored, n)
		}
		checkEntries(t, s, stored)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Entries that were replaced and removed leave nothing in the tables, once these are compacted.
func TestNothingLeft(t *testing.T) {
	s, err := Open(t.TempDir(), hamming3(t), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.db.pending.max = 10
	for round := range 5 {
		for i := range 100 {
			e := entry(i)
			e.Value ^= neardup.Fingerprint64(round) << (i % 60)
			if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{e}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 100 {
		if err := s.Delete(t.Context(), []string{entry(i).ID}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	it, err := s.db.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if key := it.Key(); key[0] == tableKey {
			if p, err := readPostings(it.Value()); err != nil || p.n != 0 {
				t.Errorf("%d postings at %x, %v", p.n, key, err)
			}
		} else if key[0] != settingsKey {
			t.Errorf("key %q", key)
		}
	}
}

// Damage gives an error that says where it is.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, hamming3(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := entry(1)
	value, err := hamming3(t).Value(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, keyLength(s.db.keys, 2))
	putKey(key, 2, s.db.keys.AppendKeys(nil, value)[2])
	if err := s.db.db.Set(key, []byte{0, 8, 200, 1, 1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Search(t.Context(), []neardup.Fingerprint64{e.Value}, 1<<20); !errors.Is(err, neardup.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("%x", key)) {
		t.Errorf("Search: %v", err)
	}
	if err := s.db.db.Set([]byte("dsomeone"), []byte{1, 2, 3}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{{ID: "someone"}}); !errors.Is(err, neardup.ErrDamaged) {
		t.Errorf("Put: %v", err)
	}
	if _, err := Open(dir, hamming3(t), Options{}); err == nil {
		t.Error("opened twice")
	}
}
