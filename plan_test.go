package neardup

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/store"
)

// TestPlans makes plans for sets of all sizes and distances: each ends, and
// guarantees what it should.
func TestPlans(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var free []hamming.FreeBit
	for bit := range 128 {
		free = append(free, hamming.FreeBit{Bit: bit, Agree: 0.5})
	}
	n := shorter(3000, 500)
	for range n {
		words := 1 + rnd.IntN(2)
		bits := 1 + rnd.IntN(64*words)
		k := rnd.IntN(64 * words)
		tables := 1 + rnd.IntN(70)
		p := hamming.NewPlan(1<<rnd.IntN(28)+rnd.IntN(1000), words, k, tables, 0, free[:bits])
		if len(p.Keys) > tables {
			t.Fatalf("%d tables, at most %d", len(p.Keys), tables)
		}
		if p.Keys == nil {
			continue
		}
		seen := map[int]bool{}
		for _, key := range p.Keys {
			if len(key) > hamming.MaxKeyBits || !slices.IsSorted(key) {
				t.Fatalf("key %v", key)
			}
			for _, b := range key {
				if !p.Combos && seen[b] {
					t.Fatalf("bit %d is in two blocks", b)
				}
				seen[b] = true
			}
		}
	}
	for _, c := range []struct{ words, tables, n, k int }{{1, 4, 188_945, 34}, {1, 4, 199_020, 32}, {1, 4, 469_239, 25}, {1, 4, 10_600_000, 19}, {2, 10, 166_253, 118}, {2, 10, 7_600_000, 25}, {1, 11, 7_300_000, 15}} {
		hamming.NewPlan(c.n, c.words, c.k, c.tables, 0, free[:64*c.words]) // which never ended
	}
}

// TestIndexSlowReader: what a reader holds on to does not grow with every change, and it
// sees to its end what it saw in the beginning.
func TestIndexSlowReader(t *testing.T) {
	ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
	fps := random64(20_000, 1)
	if err := ix.AddAll(bg, slices.All(fps)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for id, fp := range valuesOf(ix.All()) {
		if n == 0 {
			for i := range 20_000 {
				must(ix.Delete(i))
				ix.Add(100_000+i%7, Fingerprint64(i))
			}
		}
		if id != n || fp != fps[n] {
			t.Fatalf("%d: %v instead of %d: %v", n, id, n, fp)
		}
		n++
	}
	if n != len(fps) || ix.Len() != 7 {
		t.Errorf("%d of %d seen; %d left", n, len(fps), ix.Len())
	}
}

// TestIndexNaN: ids that are not equal to themselves are stored, and do no harm.
func TestIndexNaN(t *testing.T) {
	ix, _ := NewIndex[float64, Fingerprint64](3, IndexOptions{})
	fps := random64(5000, 1)
	for i, fp := range fps {
		if i%3 == 0 {
			ix.Add(math.NaN(), fp)
		} else {
			ix.Add(float64(i), fp)
		}
	}
	if err := ix.Compact(bg); err != nil || ix.Len() != len(fps) {
		t.Fatalf("%d stored: %v", ix.Len(), err)
	}
	for i, fp := range fps {
		if !must(ix.Exists(bg, fp)) || i%3 > 0 && !must(ix.Delete(float64(i))) || must(ix.Delete(math.NaN())) {
			t.Fatal(i)
		}
	}
}

// TestNearestTies: of equally near ones the first, whatever part it is in and however that
// is searched.
func TestNearestTies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		ix, _ := NewIndex[int, Fingerprint64](5, IndexOptions{})
		q := Fingerprint64(rnd.Uint64())
		var old, late []Fingerprint64
		for range 601 {
			old = append(old, ^q^Fingerprint64(rnd.Uint64N(1<<20)))
		}
		for range 30_000 {
			late = append(late, ^q^Fingerprint64(rnd.Uint64N(1<<30)))
		}
		old[300] = flip(q, 8, rnd)
		late[10], late[20_000] = flip(q, 7, rnd), flip(q, 7, rnd)
		build := func(first int, fps []Fingerprint64) *store.Run[int, *hamming.Tree] {
			docs := store.NewDocuments[int](1, len(fps))
			for i, fp := range fps {
				docs.Add([]uint64{uint64(fp)}, first+i, 1)
			}
			return store.NewRunOf(&ix.s, docs)
		}
		store.SetRuns(&ix.s, build(0, old), build(1000, late))
		want := []Match[int]{{ID: 1010, Distance: 7}, {ID: 21_000, Distance: 7}, {ID: 300, Distance: 8}}
		for n := 1; n <= 3; n++ {
			if got := must(ix.Nearest(bg, q, n)); !slices.Equal(got, want[:n]) {
				t.Fatalf("the %d nearest are %v, want %v", n, got, want[:n])
			}
		}
	}
}

// TestForgedSnapshot has files with right checksums that no index wrote.
func TestForgedSnapshot(t *testing.T) {
	fps := make([]uint64, 6000)
	for i := range fps {
		fps[i] = rand.Uint64()&^0xFFFF | 0xBEEF&uint64(i%2*0xFFFF)
		if i%100 == 99 {
			fps[i] = fps[i-1]
		}
	}
	it := store.IDTypeOf[int]()
	forge := func(change func(tr *hamming.Tree)) error {
		path := filepath.Join(t.TempDir(), "x")
		docs := store.NewDocuments[int](1, len(fps))
		for i, fp := range fps {
			docs.Add([]uint64{fp}, i, 0)
		}
		r := store.NewRun(docs, false, &it, 1, func(fps store.Column) *hamming.Tree { return hamming.NewTree(1, fps.Docs, 3, 4, 4) })
		if len(r.Find.Nodes) < 2 || len(r.Find.Copies.All) == 0 {
			t.Fatal("no bucket is split, or nothing is equal")
		}
		change(r.Find)
		if _, err := store.WriteSnapshot(path, "v=1", 0, r, &store.Form[*hamming.Tree]{Kind: "index64", Words: 1}, &it); err != nil {
			t.Fatal(err)
		}
		j, err := store.CreateJournal(path+".journal", "v=1", "index64-journal", 0)
		if err != nil {
			t.Fatal(err)
		}
		j.File.Close()
		ix := mustOpen[int, Fingerprint64](t, path, 3)
		defer ix.Close()
		for i, fp := range fps {
			for m, err := range ix.Search(bg, Fingerprint64(fp)) {
				if err == nil && m.Distance != Fingerprint64(fps[m.ID]).Distance(Fingerprint64(fp)) {
					t.Fatalf("a wrong match %v of %d", m, i)
				}
			}
		}
		return ix.err()
	}
	if err := forge(func(*hamming.Tree) {}); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(tr *hamming.Tree){
		"a copy that is none": func(tr *hamming.Tree) { tr.Copies.All[0] = 17 },
		"copies far away":     func(tr *hamming.Tree) { tr.Copies.Start[1] = 1<<32 - 5 },
		"another parent":      func(tr *hamming.Tree) { tr.Nodes[1].Under++ },
		"another key":         func(tr *hamming.Tree) { tr.Nodes[1].Value[0] ^= 1 },
		"a bucket far away": func(tr *hamming.Tree) {
			starts := tr.Nodes[0].Tables[2].Starts
			for i := 1; i < len(starts); i += 2 {
				starts[i] = 1<<31 - 1
			}
		},
	} {
		if err := forge(change); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestIndexMissing: a journal that is gone is not taken for an empty one, and files that
// only look like leftovers stay.
func TestIndexMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, p := range []string{path, path + ".new"} {
		ix := mustOpen[int, Fingerprint64](t, p, 3)
		ix.AddAll(bg, maps.All(map[int]Fingerprint64{1: 1, 2: 2}))
		ix.Close()
	}
	mustOpen[int, Fingerprint64](t, path, 3).Close()
	if ix := mustOpen[int, Fingerprint64](t, path+".new", 3); ix.Len() != 2 {
		t.Errorf("%d stored", ix.Len())
	}
	os.Remove(path + ".journal")
	if _, err := OpenIndex[int, Fingerprint64](path, 3, fileOptions); err == nil {
		t.Error("the journal is missing, and nobody says so")
	}
	if os.Geteuid() == 0 {
		return // who may do anything
	}
	ix := mustOpen[int, Fingerprint64](t, path+".new", 3)
	os.Chmod(filepath.Dir(path), 0o300)
	err := ix.Compact(bg)
	os.Chmod(filepath.Dir(path), 0o700)
	if err == nil {
		t.Error("a directory that cannot be read, and no error")
	}
	ix.Add(3, 3)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if ix := mustOpen[int, Fingerprint64](t, path+".new", 3); ix.Len() != 3 {
		t.Errorf("%d stored", ix.Len())
	}
}
