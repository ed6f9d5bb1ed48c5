package neardup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/store"
)

// FuzzAccumulator reads operations from the input and compares with the
// definition.
func FuzzAccumulator(f *testing.F) {
	f.Add([]byte("\x00aaaaaaaabbbbbbbb\x01cccccccc\x07\x02"))
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 3, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b Accumulator64
		var na, nb naive
		word := func() uint64 {
			var w [8]byte
			data = data[copy(w[:], data):]
			return binary.LittleEndian.Uint64(w[:])
		}
		for len(data) > 0 {
			op := data[0]
			data = data[1:]
			switch op % 4 {
			case 0:
				h := make([]uint64, 5+op/4) // up to 68
				w := make([]int64, len(h))
				for i := range h {
					h[i], w[i] = word(), 1
				}
				if op&4 == 0 {
					a.AddAll(h)
				} else {
					for i := range w {
						w[i] = int64(word()) >> (op / 8)
					}
					a.AddWeighted(h, w)
				}
				for i, h := range h {
					na.add(h, w[i])
				}
			case 1:
				h, w := word(), int64(word())>>(op/4)
				a.Add(h, w)
				na.add(h, w)
			case 2:
				a, b, na, nb = b, a, nb, na
			case 3:
				a.Merge(&b)
				for i := range na.v {
					na.v[i] += nb.v[i]
				}
			}
		}
		checkAccumulator(t, &a, &na)
		a.Subtract(&a)
		if a != (Accumulator64{}) {
			t.Fatal("a sum minus itself is not empty")
		}
	})
}

// FuzzIndex reads adds, deletes and searches from the input and compares with a
// map.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("\x03a1b2c3d4e5f6\x80\x81\xc0"), 3)
	f.Add([]byte{0, 1, 0, 1, 64, 1, 128, 1}, 0)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		k = max(0, k%16)
		ix64, _ := NewIndex[int, Fingerprint64](k, IndexOptions{})
		ix128, _ := NewIndex[int, Fingerprint128](k, IndexOptions{})
		map64, map128 := map[int]Fingerprint64{}, map[int]Fingerprint128{}
		for i := 0; i+1 < min(len(data), 1000); i += 2 {
			id, b := int(data[i]%64), uint64(data[i+1])
			fp64 := Fingerprint64(b * 0x0101010101010101 >> (b % 9))
			fp128 := Fingerprint128{b << (b % 57), uint64(fp64)}
			switch data[i] / 64 {
			case 0, 1:
				ix64.Add(id, fp64)
				ix128.Add(id, fp128)
				map64[id], map128[id] = fp64, fp128
			case 2:
				if must(ix64.Delete(id)) != must(ix128.Delete(id)) {
					t.Fatal("the widths disagree on a delete")
				}
				delete(map64, id)
				delete(map128, id)
			case 3:
				if got, want := collect(t, ix64, fp64), bruteSearch(map64, fp64, k); !maps.Equal(got, want) {
					t.Fatalf("64 bits: %v, want %v", got, want)
				}
				if got, want := collect(t, ix128, fp128), bruteSearch(map128, fp128, k); !maps.Equal(got, want) {
					t.Fatalf("128 bits: %v, want %v", got, want)
				}
			}
		}
	})
}

// writeForged writes a run, whose columns it changes as data says, as a snapshot with right
// checksums and a journal. It returns what of data it did not use.
func writeForged[ID comparable, T store.Finder](t *testing.T, path, kind, version string, r *store.Run[ID, T], it *store.IDType[ID], data []byte) []byte {
	columns, err := store.RunColumns(r, it)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(data) >= 4; data = data[4:] {
		parts := columns[int(data[0])%store.FixedColumns]
		at := int(data[1])<<8 | int(data[2])
		for i, p := range parts {
			if p = bytes.Clone(p); len(p) > 0 {
				p[at%len(p)] ^= data[3]
			}
			parts[i] = p
		}
	}
	if _, err := store.WriteColumns(path, kind, version, 0, r.Len(), r.Find, it.Kind, columns, store.FixedColumns); err != nil {
		t.Fatal(err)
	}
	j, err := store.CreateJournal(path+".journal", version, kind+"-journal", 0)
	if err != nil {
		t.Fatal(err)
	}
	j.File.Close()
	return data
}

// FuzzSnapshot changes the columns of a snapshot, whose checksums are right, and uses what
// comes of it in every way; then it takes the input for a whole file.
func FuzzSnapshot(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 3))
	fps := append(skewed[Fingerprint64]("templates", 600, rnd), skewed[Fingerprint64]("block", 600, rnd)...)
	f.Add([]byte{})
	f.Add([]byte{2, 10, 0, 255, 9, 0, 0, 255, 9, 0, 1, 255, 10, 0, 0, 255, 10, 1, 0, 127, 4, 0, 200, 255, 6, 0, 0, 9, 7, 0, 0, 255})
	f.Add([]byte("neardup\x00\x01\x07index64\x03v=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		it := store.IDTypeOf[string]()
		docs := store.NewDocuments[string](1, len(fps))
		for i, fp := range fps {
			docs.Add([]uint64{uint64(fp)}, fmt.Sprint(i), 0)
		}
		r := store.NewRun(docs, false, &it, 1, func(fps store.Column) *hamming.Tree { return hamming.NewTree(1, fps.Docs, 3, 4, 0) })
		unchanged := len(data) < 4
		data = writeForged(t, path, "index64", "v=1", r, &it, data)
		use := func() {
			ix, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions)
			if err != nil {
				if unchanged {
					t.Fatal(err)
				}
				return
			}
			for i := 0; i < len(fps); i += 29 {
				for m := range ix.Search(bg, fps[i]^2) {
					if m.Distance > 3 {
						t.Fatal(m)
					}
				}
			}
			many, _ := ix.SearchMany(bg, fps)
			for i := range many {
				for _, m := range many[i] {
					if m.Distance > 3 {
						t.Fatal(m)
					}
				}
			}
			ix.Nearest(bg, 7, 3)
			ix.Delete("5")
			ix.Add("6", 6)
			ix.stats()
			ix.Groups(bg, SingleLinkage)
			ix.Verify()
			ix.DeleteBefore(time.Unix(1, 0))
			ix.Compact(bg)
			ix.Close()
		}
		use()
		unchanged = false
		os.Remove(path + ".journal")
		os.WriteFile(path, data, 0o666)
		use()
	})
}

// FuzzJournal takes the input for the changes in a frame whose checksum is right, and for
// all that follows the first frame.
func FuzzJournal(f *testing.F) {
	f.Add([]byte{store.ChangeAdd, 1, 1, 'a', 1, 2, 3, 4, 5, 6, 7, 8, store.ChangeDelete, 1, 'a'})
	f.Add([]byte{store.ChangeAdd, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 255})
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		for _, framed := range []bool{true, false} {
			j, err := store.CreateJournal(path+".journal", "v=1", "index64-journal", 0)
			if err != nil {
				t.Fatal(err)
			}
			raw := data
			if framed {
				j.Frame = append(j.Begin(), data...)
				raw = j.End()
			}
			j.File.Write(raw)
			j.File.Close()
			for range 2 { // what was opened once can be opened again
				ix, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions)
				if err != nil {
					if !errors.Is(err, ErrDamaged) {
						t.Fatal(err)
					}
					break
				}
				n := ix.Len()
				if got := len(maps.Collect(valuesOf(ix.All()))); got != n {
					t.Fatalf("%d of %d", got, n)
				}
				if err := ix.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
