package neardup

import (
	"math/rand/v2"
	"slices"
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
	n := 24_000
	if raceDetector || testing.Short() {
		n = 4000
	}
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
	if found, err := ix.SearchMany(nil); len(found) != 0 || err != nil {
		t.Fatal(found, err)
	}
	checkMany(t, ix, fps0[F]()...)
}

func fps0[F Fingerprint]() []F { return make([]F, 3) }
