package neardup

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
)

// TestTiers compares what the library computes with the kernels of every tier that this machine has:
// fingerprints, signatures, searches and joins.
func TestTiers(t *testing.T) {
	var want string
	kernel.EachTier(func(tier kernel.Tier) {
		got := digest(t)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%v gives %s, not %s", tier, got, want)
		}
	})
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
		fmt.Fprintln(h, Sum64(text), weighed.Sum64(Text(text)), weighed.Sum128(Text(text)))
		var set []uint64
		for range i % 40 {
			set = append(set, rnd.Uint64())
		}
		a, b := MinHash{}.Sign(set), (&Fingerprinter{}).Sign(Text(text), MinHash{Values: 100})
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
		for m, err := range ix.Search(bg, fp) {
			fmt.Fprintln(h, m, err)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// BenchmarkTiers measures whole operations with the kernels of every tier that this machine has.
func BenchmarkTiers(b *testing.B) {
	rnd := rand.New(rand.NewPCG(5, 5))
	fps := make([]Fingerprint64, 1_000_000)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
	}
	ix := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
	if err := ix.AddAll(b.Context(), slices.All(fps)); err != nil {
		b.Fatal(err)
	}
	hashes, weights := make([]uint64, 4096), make([]int64, 4096)
	for i := range hashes {
		hashes[i], weights[i] = rnd.Uint64(), rnd.Int64N(1<<40)
	}
	x, y := MinHash{}.Sign(hashes[:500]), MinHash{}.Sign(hashes[250:750])
	var few Signature
	next := windows(b, "en", 10<<10)
	text := Fingerprinter{Weight: LogCount}
	for _, w := range []struct {
		name string
		work func(i int)
	}{
		{"search=1000000", func(i int) {
			for range ix.Search(bg, fps[i*7919%len(fps)]^5) {
			}
		}},
		{"pairs=1000000", func(int) {
			for range Pairs(b.Context(), fps, 3) {
			}
		}},
		{"units=4096", func(int) {
			var a Accumulator64
			a.AddAll(hashes)
		}},
		{"weighted=4096", func(int) {
			var a Accumulator64
			a.AddWeighted(hashes, weights)
		}},
		{"weightedtext=10240", func(int) { text.Sum64(Text(next())) }},
		{"text=10240", func(int) { Sum64(next()) }},
		{"sign=10", func(i int) { few = MinHash{}.AppendSign(few[:0], hashes[i%4000:][:10]) }},
		{"permutations=10", func(i int) { few = MinHash{Permutations: true}.AppendSign(few[:0], hashes[i%4000:][:10]) }},
		{"permutations=500", func(i int) { MinHash{Permutations: true}.Sign(hashes[i%3000:][:500]) }},
		{"jaccard=128", func(int) { x.Jaccard(y) }},
	} {
		kernel.EachTier(func(tier kernel.Tier) {
			b.Run(w.name+"/tier="+tier.String(), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					w.work(i)
				}
			})
		})
	}
}
