package neardup

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/store"
)

// TestSignatureIndexBlocks has damage in each block of a file: a search that comes upon it
// says so.
func TestSignatureIndexBlocks(t *testing.T) {
	if !*full {
		t.Skip("where files are read, and not mapped, they are checked at once")
	}
	o := SignatureIndexOptions{Version: "v=1"}
	path := filepath.Join(t.TempDir(), "x")
	ix, err := OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	sigs := signatures(3000, 128, 1)
	err = ix.AddAll(bg, slices.All(sigs))
	if err := errors.Join(err, ix.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lazily := 0
	for at := 1 << 15; at < len(good); at += 1 << 16 {
		bad := bytes.Clone(good)
		for i := at; i < min(at+1<<14, len(bad)); i++ {
			bad[i] ^= 0x41
		}
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"search", "one band", "pairs"} {
			ix, err := OpenSignatureIndex[int](path, 0.5, o)
			if err != nil {
				continue
			}
			lazily++
			switch way {
			case "pairs":
				for range ix.Pairs(bg) {
				}
				if !errors.Is(ix.err(), ErrDamaged) {
					t.Errorf("byte %d: Pairs: %v", at, ix.err())
				}
			default:
				for i, s := range sigs {
					if way == "one band" { // at the end of the tables
						s = append(slices.Clone(sigs[(i+1)%len(sigs)][:124]), s[124:]...)
					}
					ok := false
					for c := range ix.Candidates(bg, s) {
						ok = ok || c.ID == i && c.Similarity == estimated(s, sigs[i], 32)
					}
					if !ok && ix.err() == nil {
						t.Fatalf("byte %d, %s: %d is lost", at, way, i)
					}
				}
			}
			if err := ix.err(); err != nil && !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			ix.Close()
		}
	}
	if lazily == 0 {
		t.Error("nothing is checked lazily")
	}
}

func TestSignatureIndexErrors(t *testing.T) {
	for _, test := range []struct {
		similarity float64
		o          SignatureIndexOptions
	}{
		{0, SignatureIndexOptions{}}, {1.01, SignatureIndexOptions{}}, {math.NaN(), SignatureIndexOptions{}}, {-1, SignatureIndexOptions{}},
		{0.5, SignatureIndexOptions{Values: 15}}, {0.5, SignatureIndexOptions{Values: 5000}}, {0.5, SignatureIndexOptions{Bits: 3}}, {0.5, SignatureIndexOptions{Bits: 64}},
		{0.5, SignatureIndexOptions{Banding: Banding{32, 5}}}, {0.5, SignatureIndexOptions{Banding: Banding{-1, -4}}}, {0.5, SignatureIndexOptions{Banding: Banding{0, 4}}},
		{0.5, SignatureIndexOptions{Banding: Banding{math.MaxInt, 2}}},
	} {
		if _, err := NewSignatureIndex[int](test.similarity, test.o); err == nil {
			t.Errorf("%g %+v: no error", test.similarity, test.o)
		}
	}
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, errExists := ix.Exists(bg, nil)
	_, errSearch := ix.SearchAndAdd(bg, 1, make(Signature, 64))
	errAll := ix.AddAll(bg, maps.All(map[int]Signature{1: {1}}))
	for _, err := range []error{ix.Add(1, Signature{}), errExists, errSearch, errAll} {
		if err == nil || ix.Len() != 0 {
			t.Errorf("a signature of another length: %v", err)
		}
	}
	for _, err := range ix.Search(bg, Signature{1}) {
		if err == nil {
			t.Error("a signature of another length is searched for")
		}
	}
}

// forgedSignatures returns the columns of a small index.
func forgedSignatures(bits int) (*SignatureIndex[int], *store.Run[int, *minhash.Tables]) {
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
	if err != nil {
		panic(err)
	}
	ix.AddAll(bg, slices.All(similarSets(60, 16, rand.New(rand.NewPCG(1, 1)))))
	return ix, ix.s.View().Runs[0]
}

// useSignatures uses an index in all ways.
func useSignatures(ix *SignatureIndex[int]) {
	sets := similarSets(10, ix.layout.Values, rand.New(rand.NewPCG(1, 1)))
	ix.SearchMany(bg, sets)
	for _, s := range sets {
		for range ix.Search(bg, s) {
		}
		ix.Add(3, s)
	}
	for range ix.Pairs(bg) {
	}
	for range ix.All() {
	}
	ix.Delete(1)
	ix.Compact(bg)
}

// FuzzSignatureSnapshot changes the columns of a snapshot of signatures, whose checksums are
// right, and uses what comes of it in every way.
func FuzzSignatureSnapshot(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 255, 6, 0, 9, 255, 7, 0, 3, 127, 7, 0, 40, 255, 6, 0, 64, 1})
	all := []byte{} // every ordinal of the entries, to more than there are
	for at := range 64 {
		all = append(all, 7, 0, byte(4*at), 63)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		bits := 32
		if len(data)%2 == 1 {
			bits = 4
		}
		ix, r := forgedSignatures(bits)
		path := filepath.Join(t.TempDir(), "x")
		version := fmt.Sprintf("v=1 values=16 bits=%d bands=4x4", bits)
		writeForged(t, path, "signatures", version, r, &ix.s.IDs, data)
		forged, err := OpenSignatureIndex[int](path, 0.5, SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		useSignatures(forged)
		forged.Close()
	})
}

// TestSignatureIndexDamaged flips bytes of the file of an index: it is noticed, or what is
// found is what was stored.
func TestSignatureIndexDamaged(t *testing.T) {
	o := SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Version: "v=1"}
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	ix, err := OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	sigs := similarSets(60, 16, rand.New(rand.NewPCG(1, 1)))
	for i, s := range sigs {
		ix.Add(i, s)
	}
	if err := errors.Join(ix.Compact(bg), ix.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := func(ix *SignatureIndex[int]) (n int) {
		for range ix.Pairs(bg) {
			n++
		}
		for _, s := range sigs {
			for range ix.Search(bg, s) {
				n++
			}
		}
		return n
	}
	ix, err = OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	want := found(ix)
	ix.Close()
	for at := 0; at < len(good); at += 1 + at%shorter(13, 101) {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		ix, err := OpenSignatureIndex[int](path, 0.5, o)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", at, err)
			}
			continue
		}
		if n := found(ix); n != want && !errors.Is(ix.err(), ErrDamaged) {
			t.Fatalf("byte %d: found %d, want %d: %v", at, n, want, ix.err())
		}
		if err := ix.Verify(); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: Verify: %v", at, err)
		}
		ix.Close()
	}
}

// TestSignatureIndexStops: a loop over an index that has an error may be left, and Exists returns the error.
func TestSignatureIndexStops(t *testing.T) {
	s := MinHash{}.Sign([]uint64{HashFeature("a"), HashFeature("b")})
	full := errors.New("no space left on device")
	for _, search := range []func(*SignatureIndex[int]) iter.Seq2[Match[int], error]{
		func(ix *SignatureIndex[int]) iter.Seq2[Match[int], error] { return ix.Search(bg, s) },
		func(ix *SignatureIndex[int]) iter.Seq2[Match[int], error] { return ix.Candidates(bg, s) },
	} {
		ix := must(OpenSignatureIndex[int](filepath.Join(t.TempDir(), "x"), 0.5, SignatureIndexOptions{Version: "v=1"}))
		if err := ix.AddAll(bg, func(yield func(int, Signature) bool) { yield(1, s) }); err != nil {
			t.Fatal(err)
		}
		for m, err := range search(ix) {
			if m.ID != 1 || err != nil {
				t.Errorf("%v, %v", m, err)
			}
			ix.s.Fail(full)
			break
		}
		if found, err := ix.Exists(bg, s); found || !errors.Is(err, full) {
			t.Errorf("%v, %v", found, err)
		}
		ix.Close()
	}
}
