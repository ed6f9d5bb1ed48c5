package neardup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// nearestVectors is what an index must find, by comparing all.
func nearestVectors[ID comparable](ids []ID, vs []Vector, v Vector, least float64) (found []Match[ID]) {
	for i, id := range ids {
		if c := v.Cosine(vs[i]); c >= least && c > 0 {
			found = append(found, Match[ID]{ID: id, Similarity: c})
		}
	}
	slices.SortStableFunc(found, func(a, b Match[ID]) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return found
}

func TestVectorIndex(t *testing.T) {
	t.Parallel()
	for name, vs := range vectorCases(t) {
		ix := newVectors[int]()
		if err := ix.AddAll(bg, slices.All(vs)); err != nil {
			t.Fatal(err)
		}
		var ids []int
		for id, v := range valuesOf(ix.All()) {
			ids = append(ids, id)
			if !slices.Equal(v, vs[id]) {
				t.Fatalf("%s: vector %d is another one", name, id)
			}
		}
		queries := append(slices.Clone(vs[:min(len(vs), shorter(60, 20))]), nil, NewVector([]Term{{Feature: 1 << 60, Weight: 1}}), NewVector([]Term{{Feature: 1, Weight: -1}, {Feature: 2, Weight: 3}, {Feature: 5, Weight: 1e-9}}))
		for n, q := range queries {
			for _, least := range []float64{0, 0.01, 0.2, 0.56, 0.9, 1, 2} {
				if got, want := must(ix.search(bg, q, least, 0, nil)), nearestVectors(ids, vs, q, least); !slices.Equal(got, want) {
					t.Fatalf("%s: query %d finds %d of at least %g, not %d", name, n, len(got), least, len(want))
				}
			}
			want := nearestVectors(ids, vs, q, 0)
			for _, k := range []int{0, 1, 2, 10, 100, 10_000} {
				if got := must(ix.Nearest(bg, q, k)); !slices.Equal(got, want[:min(k, len(want))]) {
					t.Fatalf("%s: the %d nearest to query %d: %v, not %v", name, k, n, got, want[:min(k, len(want))])
				}
			}
			if got := must(ix.search(bg, q, math.NaN(), 0, nil)); len(got) > 0 {
				t.Fatalf("%s: at least NaN: %v", name, got)
			}
		}
	}
}

// TestVectorIndexModel has random changes, in memory and in files.
func TestVectorIndexModel(t *testing.T) {
	t.Parallel()
	cases := vectorCases(t)
	for _, name := range []string{"ones", "signs", "zh", "one term"} {
		for _, inFiles := range []bool{false, true} {
			vs := cases[name]
			seed := rand.Uint64()
			rnd := rand.New(rand.NewPCG(seed, 1))
			path := filepath.Join(t.TempDir(), "vectors")
			ix := must(NewVectorIndex[string](0.5, VectorIndexOptions{}))
			open := func() {
				if !inFiles {
					return
				}
				if err := ix.Close(); err != nil {
					t.Fatal(err)
				}
				var err error
				if ix, err = OpenVectorIndex[string](path, 0.5, VectorIndexOptions{Version: "test"}); err != nil {
					t.Fatal(err)
				}
			}
			open()
			var ids []string // in the order of adding
			stored := map[string]Vector{}
			remove := func(id string) {
				if i := slices.Index(ids, id); i >= 0 {
					ids = slices.Delete(ids, i, i+1)
					delete(stored, id)
				}
			}
			for step := range shorter(3000, 800) {
				id, v := fmt.Sprint(rnd.IntN(500)), vs[rnd.IntN(len(vs))]
				switch op := rnd.IntN(1000); {
				case op < 2:
					if err := ix.Compact(bg); err != nil {
						t.Fatal(err)
					}
				case op < 5:
					open()
				case op < 8:
					some := map[string]Vector{id: v, id + "x": v}
					order := slices.Sorted(maps.Keys(some))
					if err := ix.AddAll(bg, func(yield func(string, Vector) bool) {
						for _, id := range order {
							yield(id, some[id])
						}
					}); err != nil {
						t.Fatal(err)
					}
					for _, id := range order {
						remove(id)
						ids, stored[id] = append(ids, id), some[id]
					}
				case op < 200:
					_, there := stored[id]
					if must(ix.Delete(id)) != there {
						t.Fatalf("seed %d, step %d: Delete(%s) is not %v", seed, step, id, there)
					}
					remove(id)
				case op < 400:
					remove(id)
					want := nearestVectors(ids, vectorsOf(ids, stored), v, 0.5)
					if got := must(ix.SearchAndAdd(bg, id, v)); !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d: SearchAndAdd: %v, not %v", seed, step, got, want)
					}
					ids, stored[id] = append(ids, id), v
				default:
					ix.Add(id, v)
					remove(id)
					ids, stored[id] = append(ids, id), v
				}
				if step%20 == 0 {
					all := vectorsOf(ids, stored)
					if got, want := must(ix.search(bg, v, 0.3, 0, nil)), nearestVectors(ids, all, v, 0.3); !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d: %d found, not %d", seed, step, len(got), len(want))
					}
					want := nearestVectors(ids, all, v, 0)
					if got := must(ix.Nearest(bg, v, 7)); !slices.Equal(got, want[:min(7, len(want))]) {
						t.Fatalf("seed %d, step %d: %v, not %v", seed, step, got, want[:min(7, len(want))])
					}
					if ix.Len() != len(ids) {
						t.Fatalf("seed %d, step %d: %d vectors, not %d", seed, step, ix.Len(), len(ids))
					}
				}
				if step%500 == 0 {
					all := vectorsOf(ids, stored)
					var want []Pair[string]
					for p := range VectorPairs(bg, all, 0.7) {
						want = append(want, Pair[string]{A: ids[p.A], B: ids[p.B], Similarity: p.Similarity})
					}
					if got := slices.DeleteFunc(listed(ix.Pairs(bg)), func(p Pair[string]) bool { return p.Similarity < 0.7 }); !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d: %d pairs, not %d", seed, step, len(got), len(want))
					}
				}
			}
			if inFiles {
				ix.Close()
			}
		}
	}
}

func vectorsOf(ids []string, stored map[string]Vector) []Vector {
	vs := make([]Vector, len(ids))
	for i, id := range ids {
		vs[i] = stored[id]
	}
	return vs
}

func TestVectorIndexErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	ix, err := OpenVectorIndex[int](path, 0.5, VectorIndexOptions{Version: "one"})
	if err != nil {
		t.Fatal(err)
	}
	vs := vectorCases(t)["uniform"]
	if err := ix.AddAll(bg, slices.All(vs)); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenVectorIndex[int](path, 0.5, VectorIndexOptions{Version: "two"}); !errors.Is(err, ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if _, err := OpenVectorIndex[string](path, 0.5, VectorIndexOptions{Version: "one"}); !errors.Is(err, ErrVersion) {
		t.Errorf("other ids: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(data); at += 997 {
		data[at] ^= 4
		os.WriteFile(path, data, 0o600)
		if _, err := OpenVectorIndex[int](path, 0.5, VectorIndexOptions{Version: "one"}); err == nil {
			t.Fatalf("byte %d is damaged, and nobody notices", at)
		}
		data[at] ^= 4
	}
	for _, v := range []Vector{{{Feature: 2, Weight: 1}, {Feature: 1, Weight: 1}}, {{Feature: 2, Weight: 1}, {Feature: 2, Weight: 1}}, {{Feature: 0, Weight: 1}}, {{Feature: 1, Weight: float32(math.NaN())}}, {{Feature: 1, Weight: float32(math.Inf(-1))}}} {
		for name, use := range map[string]func(){
			"Add": func() { must(0, newVectors[int]().Add(1, v)) }, "Search": func() { listed(newVectors[int]().Search(bg, v)) },
			"VectorPairs": func() { VectorPairs(bg, []Vector{v}, 0.5) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s accepts %v", name, v)
					}
				}()
				use()
			}()
		}
		if doc := cosine.AppendVector(nil, asTerms(v)); cosine.CheckVector(doc) == nil {
			t.Errorf("%v is accepted from a file", v)
		}
	}
	if cosine.CheckVector([]uint64{1}) == nil || cosine.CheckVector([]uint64{1, 2, 3, 4}) == nil || cosine.CheckVector(nil) != nil {
		t.Error("the length of a document is not checked")
	}
}

// FuzzVectorTables has forged columns that no index wrote: they are an error, or are searched without
// going wrong.
func FuzzVectorTables(f *testing.F) {
	f.Add(uint16(0), uint64(0))
	for i := range uint16(40) {
		f.Add(i*7, uint64(1)<<i)
	}
	var docs store.Column
	vs := []Vector{{{Feature: 1, Weight: 1}, {Feature: 5, Weight: 2}, {Feature: 9, Weight: 3}}, {}, {{Feature: 5, Weight: 1}}, {{Feature: 1, Weight: 1}, {Feature: 9, Weight: -2}}, {{Feature: 5, Weight: 1}, {Feature: 7, Weight: 1}}}
	for _, v := range vs {
		docs.Put(cosine.AppendVector(nil, asTerms(v)))
	}
	f.Fuzz(func(t *testing.T, at uint16, flip uint64) {
		changed := store.Column{Docs: slices.Clone(docs.Docs), Ends: slices.Clone(docs.Ends)}
		var columns store.FinderColumns[[]byte]
		for i, parts := range cosine.NewTables(docs).Columns() {
			columns[i] = slices.Concat(parts...)
		}
		all := [][]byte{store.AsBytes(changed.Docs), store.AsBytes(changed.Ends), columns[0], columns[1], columns[2], columns[3], columns[4]}
		n := 0
		for _, b := range all {
			n += len(b)
		}
		for pos := int(at) % n; ; {
			if pos < len(all[0]) {
				for i := range min(8, len(all[0])-pos) {
					all[0][pos+i] ^= byte(flip >> (8 * i))
				}
				break
			}
			pos -= len(all[0])
			all = all[1:]
		}
		tables := &cosine.Tables{}
		if err := tables.Attach(changed, nil, columns); err != nil {
			return
		}
		for _, v := range vs {
			q := &cosine.Query{}
			q.Set(asTerms(v), 0.1, 0)
			tables.Search(q, 0, func(uint32) bool { return true })
			q.Set(asTerms(v), 0, 2)
			tables.Search(q, 0, func(uint32) bool { return true })
		}
	})
}

func BenchmarkVectorIndexNearest(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		vs := zipfVectors(n, 200)
		ix := newVectors[int]()
		ix.AddAll(bg, slices.All(vs))
		for _, k := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				b.ReportAllocs()
				found := 0
				for i := 0; b.Loop(); i++ {
					found += len(must(ix.Nearest(bg, vs[i*7919%n], k)))
				}
				b.ReportMetric(float64(found)/float64(b.N), "found")
			})
		}
		b.Run(fmt.Sprintf("n=%d/cosine=0.5", n), func(b *testing.B) {
			found := 0
			for i := 0; b.Loop(); i++ {
				found += len(must(ix.search(bg, vs[i*7919%n], 0.5, 0, nil)))
			}
			b.ReportMetric(float64(found)/float64(b.N), "found")
		})
	}
}

// BenchmarkVectorIndexBuild makes an index of texts: tokens, weights, vectors, lists.
func BenchmarkVectorIndexBuild(b *testing.B) {
	const n = 10_000
	texts := zipfTexts(n, 200)
	sb := DocumentFrequenciesBuilder{Fingerprinter: Fingerprinter{Tokenizer: Words{}}}
	for _, text := range texts {
		sb.Add(Text(text))
	}
	f := sb.Fingerprinter
	f.Weight = Product{LogCount, IDF{sb.Build(), true}}
	b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
		for b.Loop() {
			ix := newVectors[int]()
			ix.AddAll(bg, func(yield func(int, Vector) bool) {
				for i, text := range texts {
					yield(i, f.Vector(Text(text)))
				}
			})
			if ix.Len() != n {
				b.Fatal(ix.Len())
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/document")
	})
	b.Run("one by one", func(b *testing.B) {
		ix := newVectors[int]()
		for i := 0; b.Loop(); i++ {
			ix.Add(i, f.Vector(Text(texts[i%n])))
		}
	})
}

// TestVectorIndexFileGolden: files are the same on every platform, and those of before can be read.
func TestVectorIndexFileGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	ix, err := OpenVectorIndex[string](path, 0.5, VectorIndexOptions{Version: "golden"})
	if err != nil {
		t.Fatal(err)
	}
	ix.s.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	f := Fingerprinter{Weight: LogCount}
	if err := ix.AddAll(bg, func(yield func(string, Vector) bool) {
		for i, text := range corpusTexts(t, "en", "zh")[:60] {
			yield(fmt.Sprint("id", i), f.Vector(Text(text)))
		}
		yield("none", nil)
	}); err != nil {
		t.Fatal(err)
	}
	ix.Add("new", f.Vector(Text("one two three")))
	ix.Add("empty", nil)
	must(ix.Delete("id7"))
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		path string
		want uint64
	}{{path, 0x39093c0db07dd9ac}, {path + ".journal", 0x29ff6af73d80c19e}} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := format.Checksum(data, 0); got != f.want {
			t.Errorf("%s: %d bytes with the checksum %#x, want %#x", filepath.Ext(f.path), len(data), got, f.want)
		}
	}
}
