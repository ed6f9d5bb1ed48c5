package neardup

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/race"
)

// brutePairs is the oracle of the join.
func brutePairs[F Fingerprint](fps []F, k int) map[Pair[int]]bool {
	found := map[Pair[int]]bool{}
	for j := range fps {
		for i := range j {
			if d := bruteDistance(fps[i], fps[j]); d <= k {
				found[Pair[int]{A: i, B: j, Distance: d}] = true
			}
		}
	}
	return found
}

func checkPairs[F Fingerprint](t *testing.T, fps []F, k int, want map[Pair[int]]bool) {
	t.Helper()
	found := map[Pair[int]]bool{}
	for p := range Pairs(bg, fps, k) {
		if found[p] {
			t.Fatalf("k=%d: pair %v reported twice", k, p)
		}
		found[p] = true
	}
	if !maps.Equal(found, want) {
		t.Fatalf("k=%d, %d fingerprints: %d pairs, want %d", k, len(fps), len(found), len(want))
	}
}

// TestPairsExhaustive joins all fingerprints that differ in twelve chosen bits
// only, so that every pattern of differences over the blocks occurs.
func TestPairsExhaustive(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", func(t *testing.T) {
		testPairsExhaustive[Fingerprint64](t, []int{0, 1, 15, 16, 17, 31, 32, 40, 47, 48, 62, 63})
	})
	t.Run("bits=128", func(t *testing.T) {
		testPairsExhaustive[Fingerprint128](t, []int{0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 126, 127})
	})
}

func testPairsExhaustive[F Fingerprint](t *testing.T, bits []int) {
	bits = bits[len(bits)-shorter(len(bits), 10):]
	fps := make([]F, 1<<len(bits))
	for i := range fps {
		var lo, hi uint64
		for b, bit := range bits {
			if i>>b&1 == 1 && bit < 64 {
				lo |= 1 << bit
			} else if i>>b&1 == 1 {
				hi |= 1 << (bit - 64)
			}
		}
		switch p := any(&fps[i]).(type) {
		case *Fingerprint64:
			*p = Fingerprint64(lo)
		case *Fingerprint128:
			*p = Fingerprint128{hi, lo}
		}
	}
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(fps), func(i, j int) { fps[i], fps[j] = fps[j], fps[i] })
	for _, k := range []int{0, 1, 2, 3, 4} {
		found := make(map[[2]int]bool)
		for p := range Pairs(bg, fps, k) {
			if p.A >= p.B || found[[2]int{p.A, p.B}] || bruteDistance(fps[p.A], fps[p.B]) != p.Distance || p.Distance > k {
				t.Fatalf("k=%d: wrong pair %v", k, p)
			}
			found[[2]int{p.A, p.B}] = true
		}
		want, patterns := 0, 1 // 4096 · C(12, d) / 2 pairs at distance d
		for d := 1; d <= k; d++ {
			patterns = patterns * (len(bits) - d + 1) / d
			want += len(fps) * patterns / 2
		}
		if len(found) != want {
			t.Fatalf("k=%d: %d pairs, want %d", k, len(found), want)
		}
	}
}

// TestPairsRandom joins collections with many neighbours, duplicates and shared
// blocks.
func TestPairsRandom(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", testPairsRandom[Fingerprint64])
	t.Run("bits=128", testPairsRandom[Fingerprint128])
}

func testPairsRandom[F Fingerprint](t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for _, n := range []int{0, 1, 2, 3, 65, 300, shorter(1000, 301)} {
		for _, k := range []int{-1, 0, 1, 2, 3, 5, 8, 13, 33, width[F](), 1000} {
			var fps []F
			base := randomFingerprint[F](rnd)
			for range n {
				switch rnd.IntN(4) {
				case 0: // shares most blocks
					fps = append(fps, flip(base, rnd.IntN(6), rnd))
				case 1:
					fps = append(fps, randomFingerprint[F](rnd))
				default: // a copy or a near-duplicate
					fp := base
					if len(fps) > 0 {
						fp = fps[rnd.IntN(len(fps))]
					}
					fps = append(fps, flip(fp, rnd.IntN(max(1, min(k+2, 12))), rnd))
				}
			}
			want := brutePairs(fps, k)
			checkPairs(t, fps, k, want)

			// Components are those of the pairs, whatever their order.
			edges := slices.Collect(maps.Keys(want))
			components := must(GroupPairs(n, certain(edges), SingleLinkage, nil))
			if got := must(Components(bg, fps, k)); !slices.Equal(got, components) {
				t.Fatalf("n=%d k=%d: Components %v, want %v", n, k, got, components)
			}
			for i, root := range bruteComponents(n, edges) {
				if components[i] != root {
					t.Fatalf("component of %d is %d, want %d", i, components[i], root)
				}
			}
		}
	}
}

// bruteComponents spreads the smallest label until nothing changes.
func bruteComponents(n int, edges []Pair[int]) []int {
	label := make([]int, n)
	for i := range label {
		label[i] = i
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if l := min(label[e.A], label[e.B]); label[e.A] != l || label[e.B] != l {
				label[e.A], label[e.B], changed = l, l, true
			}
		}
	}
	return label
}

// TestPairsSkew: a collection in which all share a block is not quadratic, and
// nothing is lost.
func TestPairsSkew(t *testing.T) {
	t.Parallel()
	fps := random64(200_000, 9)
	for i := range fps {
		fps[i] = fps[i]&^0xFFFF | 0xBEEF
	}
	for i := range 100 {
		fps[100_000+i] = fps[i] ^ 1<<(16+i%48) ^ 1<<(16+i*5%48)
	}
	found := map[[2]int]bool{}
	for p := range Pairs(bg, fps, 3) {
		found[[2]int{p.A, p.B}] = true
	}
	for i := range 100 {
		if !found[[2]int{i, 100_000 + i}] {
			t.Errorf("pair %d lost", i)
		}
	}
}

// TestPairsHostile: outliers, constant and biased bits, and unlucky sizes do not
// make the join quadratic. One that is would take minutes here.
func TestPairsHostile(t *testing.T) {
	const n = 300_000
	for name, change := range map[string]func(i int, fp Fingerprint64) Fingerprint64{
		"truncated": func(i int, fp Fingerprint64) Fingerprint64 { return fp.Truncate(48) },
		"outlier": func(i int, fp Fingerprint64) Fingerprint64 {
			if i == 777 {
				return ^Fingerprint64(0)
			}
			return fp.Truncate(48)
		},
		"skewed": func(i int, fp Fingerprint64) Fingerprint64 {
			if i%10 != 0 {
				return fp.Truncate(48)
			}
			return fp
		},
	} {
		fps := random64(n, 11)
		for i := range fps {
			fps[i] = change(i, fps[i])
		}
		for i := range 50 {
			fps[n/2+i] = fps[i] ^ 0b10101
		}
		found := map[[2]int]bool{}
		for p := range Pairs(bg, fps, 3) {
			found[[2]int{p.A, p.B}] = true
		}
		for i := range 50 {
			if !found[[2]int{i, n/2 + i}] {
				t.Errorf("%s: pair %d lost", name, i)
			}
		}
	}
	for range Pairs(bg, random64(4*13884, 12), 5) {
	}
	n3 := 0
	for range Pairs(bg, []Fingerprint64{1, 2, 3}, math.MaxInt) {
		n3++
	}
	if n3 != 3 {
		t.Errorf("k = MaxInt: %d pairs", n3)
	}
}

func TestPairsStop(t *testing.T) {
	fps := make([]Fingerprint64, 5000)
	n := 0
	for range Pairs(bg, fps, 3) {
		if n++; n == 10 {
			break
		}
	}
	if n != 10 {
		t.Errorf("stopped after %d pairs", n)
	}
	if got := must(Components(bg, fps, 3)); slices.Max(got) != 0 {
		t.Error("equal fingerprints are in different clusters")
	}
	if got := must(Components(bg, fps, -1)); got[4999] != 4999 {
		t.Error("a negative distance has clusters")
	}
}

// paperCorpus is the corpus of the source documents.
func paperCorpus() []Fingerprint64 {
	state := uint64(42)
	next := func() uint64 {
		state += 0x9E3779B97F4A7C15
		z := state
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
	bits := func(k, base int, n uint64) (mask uint64) {
		for range k {
			for {
				bit := uint64(1) << (base + int(next()%n))
				if mask&bit == 0 {
					mask |= bit
					break
				}
			}
		}
		return mask
	}
	var f []Fingerprint64
	for range 20000 {
		f = append(f, Fingerprint64(next()))
	}
	for j := range 3000 {
		f = append(f, f[j]^Fingerprint64(bits(1+j%5, 0, 64)))
	}
	for range 2000 {
		f = append(f, Fingerprint64(next()&^0xFFFF|0xBEEF))
	}
	for j := range 200 {
		f = append(f, f[23000+j]^Fingerprint64(bits(1+j%3, 16, 48)))
	}
	return f
}

// TestPaperCorpus counts the pairs at each distance.
func TestPaperCorpus(t *testing.T) {
	f := paperCorpus()
	if len(f) != 25200 || f[0] != 0xbdd732262feb6e95 || f[20000] != 0xbdd732262feb2e95 || f[25199] != 0xf5c030108478beef {
		t.Fatal("the corpus is not that of the document")
	}
	want := [9]int{0, 667, 667, 666, 600, 600, 0, 1, 5}
	for _, k := range []int{3, 8} {
		var count [9]int
		for p := range Pairs(bg, f, k) {
			count[p.Distance]++
		}
		if !slices.Equal(count[:k+1], want[:k+1]) {
			t.Errorf("k=%d: pairs at each distance %v, want %v", k, count, want[:k+1])
		}
	}
	clusters := 0
	for i, root := range must(Components(bg, f, 3)) {
		if i == root {
			clusters++
		}
	}
	if clusters != 23200 {
		t.Errorf("%d connected components, want 23200", clusters)
	}
	ix, err := NewIndex[int, Fingerprint64](3, IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, fp := range f { // incremental processing (Li 2015): list all, then insert
		for range ix.Search(bg, fp) {
			found++
		}
		ix.Add(i, fp)
	}
	if found != 2000 {
		t.Errorf("the index found %d pairs, want 2000", found)
	}
}

// TestPaperIncremental is the incremental example of the source documents: three
// fingerprints arrive one by one; C shares one block with A, and none within
// the distance with B.
func TestPaperIncremental(t *testing.T) {
	a, b, c := Fingerprint64(0x800d8e90e45cc488), Fingerprint64(0x800d8e90e4dcc488), Fingerprint64(0x800dae90e55ce488)
	ix, _ := NewIndex[string, Fingerprint64](3, IndexOptions{})
	ix.Add("A", a)
	for m := range ix.Search(bg, b) {
		if m != (Match[string]{ID: "A", Distance: 1}) {
			t.Errorf("B finds %v", m)
		}
	}
	ix.Add("B", b)
	if found := listed(ix.Search(bg, c)); !slices.Equal(found, []Match[string]{{ID: "A", Distance: 3}}) {
		t.Errorf("C finds %v", found)
	}
}

func TestComponentsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a position outside did not panic")
		}
	}()
	GroupPairs(2, certain([]Pair[int]{{A: 0, B: 2, Distance: 1}}), SingleLinkage, nil)
}

func FuzzPairs(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x03abcdefgh"), 3)
	f.Add([]byte{0, 0, 0, 0, 1, 1, 255, 255, 7}, 1)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		// Few different bytes make for many neighbours.
		fps64 := make([]Fingerprint64, min(len(data), 120))
		fps128 := make([]Fingerprint128, len(fps64))
		for i := range fps64 {
			b := uint64(data[i])
			fps64[i] = Fingerprint64(b * 0x0101010101010101 >> (b % 9))
			fps128[i] = Fingerprint128{b << (b % 57), uint64(fps64[i])}
		}
		k = max(-1, k%20)
		checkPairs(t, fps64, k, brutePairs(fps64, k))
		checkPairs(t, fps128, k, brutePairs(fps128, k))
	})
}

func random64(n int, seed uint64) []Fingerprint64 {
	rnd := rand.New(rand.NewPCG(seed, 0))
	fps := make([]Fingerprint64, n)
	for i := range fps {
		fps[i] = Fingerprint64(rnd.Uint64())
	}
	return fps
}

// BenchmarkPairs joins collections in which one in a hundred has a near-duplicate. Say
// -cpu 1 for one processor. Ten million take a second; a hundred million 3 GB: set
// NEARDUP_LARGE.
func BenchmarkPairs(b *testing.B) {
	for _, c := range []struct{ n, distance, bits int }{{10_000, 3, 64}, {1_000_000, 3, 64}, {1_000_000, 3, 128}, {100_000, 13, 64}, {100_000, 35, 128}, {10_000_000, 3, 64}, {100_000_000, 3, 64}} {
		b.Run(fmt.Sprintf("n=%d/distance=%d/bits=%d", c.n, c.distance, c.bits), func(b *testing.B) {
			if c.n > 10_000_000 && os.Getenv("NEARDUP_LARGE") == "" {
				b.Skip("NEARDUP_LARGE is not set")
			}
			if c.bits == 64 {
				benchmarkPairs[Fingerprint64](b, c.n, c.distance)
			} else {
				benchmarkPairs[Fingerprint128](b, c.n, c.distance)
			}
		})
	}
}

// hundredth returns fingerprints of which one in a hundred has a near-duplicate.
func hundredth[F Fingerprint](n int) []F {
	rnd := rand.New(rand.NewPCG(1, 0))
	fps := make([]F, n)
	for i := range fps {
		fps[i] = randomFingerprint[F](rnd)
	}
	for i := range n / 100 {
		fps[n-1-i] = flip(fps[i], i%4, rnd)
	}
	return fps
}

// BenchmarkClusters is BenchmarkPairs for clusters.
func BenchmarkClusters(b *testing.B) {
	fps := hundredth[Fingerprint64](10_000_000)
	for b.Loop() {
		if _, err := Components(bg, fps, 3); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkPairs[F Fingerprint](b *testing.B, n, distance int) {
	fps := hundredth[F](n)
	for b.Loop() {
		found := 0
		for range Pairs(bg, fps, distance) {
			found++
		}
		if found < n/100 {
			b.Fatal("lost pairs", found)
		}
	}
}

// quickPairs is brutePairs for larger collections, in order; those between a and b if b is
// not nil.
func quickPairs[F Fingerprint](a, b []F, k int) []Pair[int] {
	var found []Pair[int]
	for i, x := range a {
		xlo, xhi := split(x)
		others, first := b, 0
		if b == nil {
			others, first = a[i+1:], i+1
		}
		for j, y := range others {
			ylo, yhi := split(y)
			if d := hamming.Distance([2]uint64{xlo, xhi}, [2]uint64{ylo, yhi}); d <= k {
				found = append(found, Pair[int]{A: i, B: first + j, Distance: d})
			}
		}
	}
	return found
}

func sortPairs(pairs []Pair[int]) []Pair[int] {
	slices.SortFunc(pairs, func(a, b Pair[int]) int {
		if a.A != b.A {
			return a.A - b.A
		}
		return a.B - b.B
	})
	return pairs
}

// TestPairsBetween joins two collections of every kind, of sizes for one processor and for
// several, with few and with many differing bits.
func TestPairsBetween(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", testPairsBetween[Fingerprint64])
	t.Run("bits=128", testPairsBetween[Fingerprint128])
}

func testPairsBetween[F Fingerprint](t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	ctx := context.Background()
	sizes := [][2]int{{0, 5}, {5, 0}, {1, 1}, {3, 700}, {2500, 1200}, {34_000, 500}}
	switch {
	case !*full:
		sizes = append(sizes[:4], [2]int{900, 400})
	case race.Enabled:
		sizes = sizes[:5]
	}
	for _, size := range sizes {
		for _, kind := range skews {
			all := skewed[F](kind, size[0]+size[1], rnd)
			rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if kind == "equal" && len(all) > 3000 { // there would be very many
				all = append(skewed[F](kind, 500, rnd), skewed[F]("uniform", len(all)-500, rnd)...)
			}
			a, b := all[:size[0]], all[size[0]:]
			for _, k := range []int{-1, 0, 3, 9, 25} {
				if k > 3 && (kind == "dense" || kind == "poor") {
					continue // nearly all are near
				}
				got := listed(PairsBetween(ctx, a, b, k))
				if want := quickPairs(a, append([]F{}, b...), k); !slices.Equal(sortPairs(got), want) {
					t.Fatalf("%v %s k=%d: %d pairs, want %d", size, kind, k, len(got), len(want))
				}
				if got := listed(PairsBetween(ctx, a, nil, k)); got != nil {
					t.Fatalf("%d pairs with nothing", len(got))
				}
			}
		}
	}
}

// TestPairsOrder: the pairs and their order do not depend on the number of processors.
func TestPairsOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rnd := rand.New(rand.NewPCG(1, 1))
	const n = 34_000
	kinds := []string{"block", "uniform", "templates", "poor"}
	if !*full {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		fps := skewed[Fingerprint64](kind, n, rnd)
		for i := range n / 20 {
			fps[n-1-i] = flip(fps[i], i%4, rnd)
		}
		for _, k := range []int{3, 12} {
			if k > 3 && kind != "uniform" {
				continue
			}
			var want []Pair[int]
			for _, workers := range []int{1, 2, 5} {
				runtime.GOMAXPROCS(workers)
				got := listed(Pairs(bg, fps, k))
				if workers == 1 {
					if want = got; k == 3 && kind == "block" && !race.Enabled && *full && !slices.Equal(sortPairs(slices.Clone(got)), quickPairs(fps, nil, k)) {
						t.Fatalf("%s k=%d: %d pairs are not all", kind, k, len(got))
					}
				} else if !slices.Equal(got, want) {
					t.Fatalf("%s k=%d: %d pairs with %d workers, or in another order than the %d with one", kind, k, len(got), workers, len(want))
				}
			}
		}
	}
}

// TestPairsEnds: a loop that is left, and a context that is done, end all work.
func TestPairsEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	before := runtime.NumGoroutine()
	fps := make([]Fingerprint64, 200_000) // 20 thousand million pairs
	n := 0
	for range Pairs(bg, fps, 3) {
		if n++; n == 100_000 {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var last error
	for _, last = range Pairs(ctx, fps, 3) {
		if n++; n == 200_000 {
			cancel()
		}
	}
	if last != context.Canceled || n > 400_000 {
		t.Errorf("%d pairs, %v", n, last)
	}
	for _, last = range Pairs(ctx, fps, 3) {
		if last != context.Canceled {
			t.Fatal("a pair of a context that is done")
		}
	}
	func() {
		defer func() { recover() }()
		for range Pairs(bg, append(random64(1_000_000, 1), 1, 1), 25) { // for minutes, if it goes on
			panic("enough")
		}
	}()
	// Many equal ones on one side are not compared with each other.
	for range PairsBetween(context.Background(), append(random64(40_000, 1), fps...), []Fingerprint64{77}, 3) {
	}
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for _, last = range Pairs(ctx, random64(2_000_000, 1), 20) { // hours, and hardly a pair
	}
	if last != context.DeadlineExceeded {
		t.Errorf("%v after hours", last)
	}
	for _, last = range PairsBetween(ctx, fps, random64(100, 1), 60) {
	}
	if last != context.DeadlineExceeded {
		t.Errorf("%v of pairs between", last)
	}
	for i := 0; runtime.NumGoroutine() > before+1 && i < 100; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before+1 {
		t.Errorf("%d goroutines are left of %d", now-before, now)
	}
}

// TestPairsMemory: three times the input, the input included, whatever the fingerprints.
func TestPairsMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes more")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rnd := rand.New(rand.NewPCG(1, 1))
	const n = 1_000_000
	for _, kind := range []string{"uniform", "block", "templates"} {
		fps := skewed[Fingerprint64](kind, n, rnd)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		next, stop := iter.Pull2(Pairs(bg, fps, 3))
		for range 1000 {
			next()
		}
		stop()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*8*n {
			t.Errorf("%s: %d bytes for %d", kind, took, 8*n)
		}
	}
}

func TestCombinations(t *testing.T) {
	for n := range 9 {
		for k := range n + 1 {
			seen := map[string]bool{}
			for c := range hamming.Combinations(n, k) {
				for i := range c {
					if c[i] < 0 || c[i] >= n || i > 0 && c[i] <= c[i-1] {
						t.Fatalf("%d of %d: %v", k, n, c)
					}
				}
				seen[string(slices.Collect(func(yield func(rune) bool) {
					for _, x := range c {
						yield(rune('a' + x))
					}
				}))] = true
			}
			if len(seen) != hamming.Binomial(n, k) {
				t.Errorf("%d of %d: %d combinations, want %d: %v", k, n, len(seen), hamming.Binomial(n, k), slices.Sorted(maps.Keys(seen)))
			}
		}
	}
	for _, c := range []struct{ m, k, sum int }{{1, 0, 0}, {4, 3, 0}, {3, 3, 0}, {2, 13, 0}, {8, 20, 0}, {5, 1, 0}, {7, 127, 0}} {
		sum := 0
		for i := range c.m {
			if r := hamming.Radius(i, c.m, c.k); r >= 0 {
				sum += r + 1
			}
			if i > 0 && hamming.Radius(i, c.m, c.k) > hamming.Radius(i-1, c.m, c.k) {
				t.Errorf("radii of %d blocks for %d rise", c.m, c.k)
			}
		}
		if sum != c.k+1 {
			t.Errorf("%d blocks for %d: radii add up to %d", c.m, c.k, sum)
		}
	}
}
