package neardup

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/hamming"
)

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
	case raceDetector:
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
					if want = got; k == 3 && kind == "block" && !raceDetector && *full && !slices.Equal(sortPairs(slices.Clone(got)), quickPairs(fps, nil, k)) {
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
	if raceDetector {
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
