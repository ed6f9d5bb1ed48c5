package neardup

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSearchMany searches for more fingerprints than one goroutine takes, in an index with several parts, a
// tail and deleted fingerprints, of every kind of collection.
func TestSearchMany(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", testSearchMany[Fingerprint64])
	t.Run("bits=128", testSearchMany[Fingerprint128])
}

func testSearchMany[F Fingerprint](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	n := shorter(24_000, 4000)
	for _, kind := range skews {
		fps := skewed[F](kind, n, rnd)
		for _, k := range []int{3, 6} {
			ix := must(NewIndex[int, F](k, IndexOptions{}))
			if err := ix.AddAll(bg, slices.All(fps[:n*3/4])); err != nil {
				t.Fatal(err)
			}
			for i := n * 3 / 4; i < n; i++ {
				ix.Add(i, fps[i])
			}
			for i := 0; i < n; i += 7 {
				ix.Delete(i)
			}
			var queries []F
			for i := range 700 {
				queries = append(queries, flip(fps[rnd.IntN(n)], i%(k+2), rnd))
			}
			checkMany(t, ix, queries...)
			if t.Failed() {
				t.Fatalf("%s, k=%d", kind, k)
			}
		}
	}
	ix := must(NewIndex[int, F](3, IndexOptions{}))
	if found, err := ix.SearchMany(bg, nil); len(found) != 0 || err != nil {
		t.Fatal(found, err)
	}
	checkMany(t, ix, make([]F, 3)...)
}

// TestSignatureSearchMany compares SearchMany with searches one by one, for several numbers of bands and of
// bits, in an index with several parts, a tail and deleted signatures.
func TestSignatureSearchMany(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	n := 3000
	sigs := signatures(n, 128, 7)
	for i := range sigs {
		switch i % 10 {
		case 1, 2:
			copy(sigs[i], planted(sigs[rnd.IntN(i)], rnd))
		case 3:
			sigs[i] = MinHash{}.Sign(nil)
		case 4:
			copy(sigs[i], sigs[rnd.IntN(i)])
		}
	}
	for _, options := range []SignatureIndexOptions{{}, {Banding: Banding{64, 2}, Bits: 8}, {Banding: Banding{20, 3}}, {Banding: Banding{3, 5}, Bits: 1}} {
		ix := must(NewSignatureIndex[int](0.5, options))
		if err := ix.AddAll(bg, slices.All(sigs[:n*3/4])); err != nil {
			t.Fatal(err)
		}
		for i := n * 3 / 4; i < n; i++ {
			ix.Add(i, sigs[i])
		}
		for i := 0; i < n; i += 7 {
			ix.Delete(i)
		}
		all := 0
		for i, found := range must(ix.SearchMany(bg, sigs)) {
			var want []Match[int]
			for m, err := range ix.Search(bg, sigs[i]) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, m)
			}
			slices.SortFunc(want, func(a, b Match[int]) int {
				return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
			})
			if all += len(want); !slices.Equal(found, want) {
				t.Fatalf("%+v, query %d: %v found, want %v", options, i, found, want)
			}
		}
		if all < n {
			t.Fatalf("%+v: only %d matches in all", options, all)
		}
		if found, err := ix.SearchMany(bg, append(sigs[:3:3], sigs[0][:9])); found != nil || err == nil || !strings.Contains(err.Error(), "signature 3") {
			t.Fatal(found, err)
		}
	}
}

func TestVectorSearchMany(t *testing.T) {
	t.Parallel()
	ix := must(NewVectorIndex[int](0.3, VectorIndexOptions{}))
	var vectors []Vector
	for i, d := range corpus(t, "en") {
		if vectors = append(vectors, (&Fingerprinter{}).Vector(Text(d.Text))); i%3 > 0 {
			ix.Add(i, vectors[i])
		}
	}
	for i, found := range must(ix.SearchMany(bg, vectors)) {
		var want []Match[int]
		for m, err := range ix.Search(bg, vectors[i]) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, m)
		}
		if !slices.Equal(found, want) {
			t.Fatalf("query %d: %v found, want %v", i, found, want)
		}
	}
	if found, err := ix.SearchMany(bg, []Vector{vectors[0], {{Feature: 2, Weight: 1}, {Feature: 1, Weight: 1}}}); found != nil || err == nil || !strings.Contains(err.Error(), "vector 1") {
		t.Fatal(found, err)
	}
}

// TestSearchManyApart: what a caller appends to the matches of one query does not change those of the next.
func TestSearchManyApart(t *testing.T) {
	ix := must(NewIndex[string, Fingerprint64](0, IndexOptions{}))
	ix.Add("a", 1)
	ix.Add("b", 1<<63|0xFF)
	found := must(ix.SearchMany(bg, []Fingerprint64{1, 1<<63 | 0xFF}))
	_ = append(found[0], Match[string]{ID: "mine"})
	if found[1][0].ID != "b" {
		t.Errorf("the second query finds %v", found[1])
	}
}

// TestOrderOfAdding: of equally near documents, the one that was added first comes first, wherever the index has them.
func TestOrderOfAdding(t *testing.T) {
	ix := must(NewIndex[string, Fingerprint64](3, IndexOptions{}))
	ix.Add("far", 0xFFFF<<40)
	ix.Add("farther", 0xFFFFF<<20)
	ix.Add("old", 5)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	ix.Add("new", 5)
	want := []Match[string]{{ID: "old"}, {ID: "new"}}
	if got := must(ix.Nearest(bg, 5, 2)); !slices.Equal(got, want) {
		t.Errorf("Nearest: %v", got)
	}
	if got := must(ix.SearchAndAdd(bg, "newest", 5)); !slices.Equal(got, want) {
		t.Errorf("SearchAndAdd: %v", got)
	}
}
