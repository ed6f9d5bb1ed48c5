package neardup

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// TestMerge changes indexes whose parts are merged by another goroutine all the time, and compares them with a
// map: what was replaced or deleted while its part was merged must stay so.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{false, true} {
		ix := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
		if files {
			ix = mustOpen[int, Fingerprint64](t, filepath.Join(t.TempDir(), "x"), 3)
		}
		ix.s.Form.AtOnce = 600
		rnd := rand.New(rand.NewPCG(uint64(len(t.Name())), 8))
		stored := map[int]Fingerprint64{}
		check := func() {
			t.Helper()
			if got := maps.Collect(valuesOf(ix.All())); !maps.Equal(got, stored) || ix.Len() != len(stored) {
				t.Fatalf("%d stored, Len %d, want %d", len(got), ix.Len(), len(stored))
			}
			for range 20 {
				id := rnd.IntN(20_000)
				fp, ok := stored[id]
				if got, is, err := ix.Get(id); got != fp || is != ok || err != nil {
					t.Fatalf("%d: %v %v %v, want %v %v", id, got, is, err, fp, ok)
				}
				if ok && must(ix.Nearest(bg, fp, 1))[0].Distance != 0 {
					t.Fatalf("%d is not found", id)
				}
			}
		}
		largest := 0
		changes := shorter(120_000, 120_000) // fewer than 40,000 fill no part that is merged
		for i := range changes {
			switch id := rnd.IntN(20_000); {
			case i%3 == 0:
				_, want := stored[id]
				if got := must(ix.Delete(id)); got != want {
					t.Fatalf("%d: deleted %v, want %v", id, got, want)
				}
				delete(stored, id)
			default:
				fp := Fingerprint64(rnd.Uint64())
				ix.Add(id, fp)
				stored[id] = fp
			}
			switch {
			case i%10_000 == 9_999:
				check()
			case i == changes/2:
				if n, err := ix.DeleteFunc(func(e Entry[int, Fingerprint64]) bool { return e.ID%5 == 0 }); n == 0 || err != nil {
					t.Fatal(n, err)
				}
				maps.DeleteFunc(stored, func(id int, _ Fingerprint64) bool { return id%5 == 0 })
			}
		}
		for _, r := range ix.s.View().Runs {
			largest = max(largest, r.Len())
		}
		if largest < 5*ix.s.Form.AtOnce {
			t.Errorf("the largest part has %d: nothing was merged", largest)
		}
		ix.s.Settle()
		check()
		if err := ix.Compact(bg); err != nil {
			t.Fatal(err)
		}
		check()
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergeOpen opens an index whose journal is so long that parts are merged while it is replayed.
func TestMergeOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	ix := mustOpen[int, Fingerprint64](t, path, 3)
	fps := random64(12_000, 3)
	for i, fp := range fps {
		ix.Add(i, fp)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	for range shorter(40, 10) {
		ix := must(newIndex[int, Fingerprint64](3, fileOptions))
		ix.s.Form.AtOnce = 500
		if err := ix.s.Open(path, fileOptions.Version); err != nil {
			t.Fatal(err)
		}
		n := 0
		for id, fp := range valuesOf(ix.All()) {
			if id != n || fp != fps[n] {
				t.Fatalf("%d %v is stored as number %d", id, fp, n)
			}
			n++
		}
		if n != len(fps) || ix.Len() != n {
			t.Fatalf("%d stored, Len %d, want %d", n, ix.Len(), len(fps))
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
