package neardup

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
)

// TestTiers compares what the library computes with the kernels of every tier that this machine has:
// fingerprints, signatures, searches and joins.
func TestTiers(t *testing.T) {
	defer kernel.Use(kernel.Tiers()[len(kernel.Tiers())-1])
	var want string
	for _, tier := range kernel.Tiers() {
		kernel.Use(tier)
		got := digest(t)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%v gives %s, not %s", tier, got, want)
		}
	}
}

// digest returns a hash of many results.
func digest(t *testing.T) string {
	rnd := rand.New(rand.NewPCG(9, 9))
	h := fnv.New64a()
	docs := corpus(t, "en")[:30]
	docs = append(docs, corpus(t, "zh")[:20]...)
	weighed := Fingerprinter{Weight: LogCount}
	for i, d := range docs {
		text := d.Text
		fmt.Fprintln(h, Sum64(text), weighed.Sum64(text), weighed.Sum128(text))
		var set []uint64
		for range i % 40 {
			set = append(set, rnd.Uint64())
		}
		a, b := MinHash{}.Sign(set), (&Fingerprinter{}).Sign(text, MinHash{Values: 100})
		fmt.Fprintln(h, a, b, a.Jaccard(MinHash{}.Sign(set[:len(set)/2])))
	}
	fps := make([]Fingerprint64, 30_000)
	wide := make([]Fingerprint128, 3_000)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
		if i%3 > 0 {
			fps[i] = flip(fps[i-1], rnd.IntN(6), rnd)
		}
	}
	for i := range wide {
		wide[i] = Fingerprint128{Hi: uint64(fps[i]), Lo: uint64(fps[i/2])}
	}
	for p := range Pairs(t.Context(), fps, 3) {
		fmt.Fprintln(h, p)
	}
	for p := range Pairs(t.Context(), wide, 6) {
		fmt.Fprintln(h, p)
	}
	ix := must(NewIndex[int, Fingerprint64](5, IndexOptions{}))
	for i, fp := range fps[:5000] {
		ix.Add(i, fp)
	}
	for _, fp := range fps[4000:7000] {
		for m, err := range ix.Search(fp) {
			fmt.Fprintln(h, m, err)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
