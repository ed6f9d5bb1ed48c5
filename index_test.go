package neardup

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/hamming"
)

// bruteSearch is the oracle of the index.
func bruteSearch[F Fingerprint](stored map[int]F, fp F, k int) map[int]int {
	found := map[int]int{}
	for id, x := range stored {
		if d := bruteDistance(x, fp); d <= k {
			found[id] = d
		}
	}
	return found
}

// hamming counts differing bits one by one.
func bruteDistance[F Fingerprint](a, b F) int {
	alo, ahi := split(a)
	blo, bhi := split(b)
	n := 0
	for i := range 64 {
		n += int((alo^blo)>>i&1 + (ahi^bhi)>>i&1)
	}
	return n
}

// flip returns fp with n random bits changed.
func flip[F Fingerprint](fp F, n int, rnd *rand.Rand) F {
	for _, bit := range rnd.Perm(width[F]())[:n] {
		switch p := any(&fp).(type) {
		case *Fingerprint64:
			*p ^= 1 << bit
		case *Fingerprint128:
			if bit < 64 {
				p.Lo ^= 1 << bit
			} else {
				p.Hi ^= 1 << (bit - 64)
			}
		}
	}
	return fp
}

func randomFingerprint[F Fingerprint](rnd *rand.Rand) F {
	var fp F
	switch p := any(&fp).(type) {
	case *Fingerprint64:
		*p = Fingerprint64(rnd.Uint64())
	case *Fingerprint128:
		*p = Fingerprint128{rnd.Uint64(), rnd.Uint64()}
	}
	return fp
}

func collect[F Fingerprint](t *testing.T, ix *Index[int, F], fp F) map[int]int {
	t.Helper()
	found := map[int]int{}
	for m := range ix.Search(bg, fp) {
		if _, ok := found[m.ID]; ok {
			t.Fatalf("id %d reported twice", m.ID)
		}
		found[m.ID] = m.Distance
	}
	return found
}

// TestIndexModel runs random adds, replacements, deletes and searches against
// a map that is searched by brute force.
func TestIndexModel(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", testIndexModel[Fingerprint64])
	t.Run("bits=128", testIndexModel[Fingerprint128])
}

func testIndexModel[F Fingerprint](t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	steps := 1000
	if *full {
		steps = 5000
	}
	for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 10, 16, 31, 63, width[F]()} {
		ix, err := NewIndex[int, F](k, IndexOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored := map[int]F{}
		pool := make([]F, 20) // few centres, so that there are many neighbours
		for i := range pool {
			pool[i] = randomFingerprint[F](rnd)
		}
		pool[0] = *new(F)
		near := func() F {
			fp := pool[rnd.IntN(len(pool))]
			if rnd.IntN(4) == 0 {
				return fp
			}
			return flip(fp, rnd.IntN(min(k+3, width[F]())+1), rnd)
		}
		for step := range steps {
			switch op := rnd.IntN(10); {
			case op < 5:
				id, fp := rnd.IntN(800), near()
				stored[id] = fp
				ix.Add(id, fp)
			case op < 7 || step%1000 > 800:
				id := rnd.IntN(800)
				_, want := stored[id]
				delete(stored, id)
				if got := must(ix.Delete(id)); got != want {
					t.Fatalf("k=%d: Delete = %v, want %v", k, got, want)
				}
			default:
				fp := near()
				want := bruteSearch(stored, fp, k)
				if got := collect(t, ix, fp); !maps.Equal(got, want) {
					t.Fatalf("k=%d: Search found %v, want %v", k, got, want)
				}
				checkMany(t, ix, fp, near(), near(), fp)
				if got := must(ix.Exists(bg, fp)); got != (len(want) > 0) {
					t.Fatalf("k=%d: Exists = %v with %d matches", k, got, len(want))
				}
			}
			if ix.Len() != len(stored) {
				t.Fatalf("Len = %d, want %d", ix.Len(), len(stored))
			}
		}
		pairs := 0
		for p := range ix.Pairs(bg) {
			if d := bruteDistance(stored[p.A], stored[p.B]); d != p.Distance || d > k {
				t.Fatalf("k=%d: pair %v at distance %d", k, p, d)
			}
			pairs++
		}
		want := 0
		for _, fp := range stored {
			want += len(bruteSearch(stored, fp, k)) - 1
		}
		if pairs != want/2 {
			t.Fatalf("k=%d: %d pairs, want %d", k, pairs, want/2)
		}
	}
}

// skews are collections in which fingerprints are not spread evenly.
var skews = []string{"uniform", "block", "templates", "dense", "poor", "equal"}

// skewed returns n fingerprints of a kind.
func skewed[F Fingerprint](kind string, n int, rnd *rand.Rand) []F {
	fps := make([]F, n)
	pool := make([]F, 1+n/200)
	for i := range pool {
		pool[i] = randomFingerprint[F](rnd)
	}
	for i := range fps {
		lo, hi := split(randomFingerprint[F](rnd))
		switch kind {
		case "block": // every tenth shares the lowest 16 bits, and of those every tenth 24 more
			if i%10 == 0 {
				lo = lo&^0xFFFF | 0xBEEF
			}
			if i%100 == 0 {
				lo = lo&^0xFF_FFFF_0000 | 0x12_3456_0000
			}
		case "templates": // a few pages with small changes
			lo, hi = split(flip(pool[rnd.IntN(len(pool))], rnd.IntN(6), rnd))
		case "dense": // all that fits into 14 bits, here and there
			lo, hi = lo&0x8421_0000_8421_0842|1<<20, hi&0x8001
		case "poor": // three bits out of four are nearly always 0
			lo, hi = lo&0x1111_1111_1111_1111, hi&0x1111_1111_1111_1111
			if i%20 == 0 {
				lo |= 1 << rnd.IntN(64)
			}
		case "equal": // copies, and what is near them
			lo, hi = split(pool[i%3%len(pool)])
			if i%50 == 0 {
				lo ^= 1 << rnd.IntN(64)
			}
		}
		fps[i] = fromWords[F](lo, hi)
	}
	return fps
}

// TestIndexPlans compares every kind of plan with brute force, for every kind of
// collection, also beyond the distance that the plan was made for.
func TestIndexPlans(t *testing.T) {
	t.Parallel()
	t.Run("bits=64", testIndexPlans[Fingerprint64])
	t.Run("bits=128", testIndexPlans[Fingerprint128])
}

func testIndexPlans[F Fingerprint](t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	plans := map[string]bool{}
	sizes := []int{1, 2, 300, 5000, 20_000}
	if raceDetector {
		sizes = sizes[:3]
	} else if testing.Short() {
		sizes = sizes[1:3]
	} else if !*full {
		sizes = sizes[1:4]
	}
	for _, n := range sizes {
		for _, kind := range skews {
			fps := skewed[F](kind, n, rnd)
			for _, k := range []int{0, 1, 3, 7, 12, 30} {
				for _, blocks := range []int{0, k + 1, k + 2, k + 3} {
					if blocks > 0 && (hamming.Binomial(blocks, k) > 60 || n == 5000 && k != 3) {
						continue
					}
					for _, memory := range []int{0, 500} {
						if memory > 0 && (blocks > 0 || n < 5000) {
							continue
						}
						if !*full && n == 5000 && (k != 3 || memory > 0 || blocks > 0) {
							continue
						}
						ix, err := NewIndex[int, F](k, IndexOptions{Blocks: blocks, Memory: memory})
						if err != nil {
							t.Fatal(err)
						}
						if err := ix.AddAll(bg, slices.All(fps)); err != nil {
							t.Fatal(err)
						}
						stats := must(ix.stats())
						plans[fmt.Sprint(len(stats.Tables), ix.s.View().Runs[0].Find.Nodes[0].Combos, len(stats.Tables) > 0 && stats.Tables[0].Radius > 0, stats.Tables != nil && stats.Tables[0].Split > 0)] = true
						var queries []F
						for q := range 12 {
							fp := fps[rnd.IntN(n)]
							if q < 8 {
								fp = flip(fp, min(rnd.IntN(k+3), width[F]()), rnd)
							} else if q < 10 {
								fp = randomFingerprint[F](rnd)
							}
							checkSearch(t, ix, fps, fp, k)
							if queries = append(queries, fp); q == 11 {
								checkMany(t, ix, queries...)
							}
							if t.Failed() {
								t.Fatalf("n=%d %s k=%d blocks=%d memory=%d\n%v", n, kind, k, blocks, memory, stats)
							}
						}
					}
				}
			}
		}
	}
	t.Log("plans: number of tables, combinations, radius, split:", slices.Sorted(maps.Keys(plans)))
}

// checkSearch compares a search, and the nearest, with brute force.
func checkSearch[F Fingerprint](t *testing.T, ix *Index[int, F], fps []F, fp F, k int) {
	t.Helper()
	lo, hi := split(fp)
	want := map[int]int{}
	all := make([]Match[int], len(fps))
	for i, x := range fps {
		xlo, xhi := split(x)
		d := bits.OnesCount64(lo^xlo) + bits.OnesCount64(hi^xhi)
		all[i] = Match[int]{ID: i, Distance: d}
		if d <= k {
			want[i] = d
		}
	}
	if got := collect(t, ix, fp); !maps.Equal(got, want) {
		t.Errorf("%v: %d found, want %d", fp, len(got), len(want))
	}
	slices.SortStableFunc(all, func(a, b Match[int]) int { return a.Distance - b.Distance })
	for _, n := range []int{1, 3, 50, 1001} {
		if got := must(ix.Nearest(bg, fp, n)); !slices.Equal(got, all[:min(n, len(all))]) {
			t.Errorf("%v: the %d nearest are %v, want %v", fp, n, got[:min(len(got), 5)], all[:min(n, len(all), 5)])
		}
	}
	for _, farther := range []int{k + 1, k + 4} { // as an index that is opened with another distance
		found := 0
		ix.search(bg, fp, farther, func(Match[int], uint64) int {
			found++
			return farther
		})
		if want := sort.Search(len(all), func(i int) bool { return all[i].Distance > farther }); found != want {
			t.Errorf("%v: %d found within %d, want %d", fp, found, farther, want)
		}
	}
}

// checkMany compares SearchMany with searches one by one.
func checkMany[F Fingerprint](t *testing.T, ix *Index[int, F], fps ...F) {
	t.Helper()
	found := must(ix.SearchMany(bg, fps))
	for i, fp := range fps {
		if want := must(ix.matches(bg, fp, ix.distance, nil)); !slices.Equal(found[i], want) {
			t.Fatalf("query %d of %d, %v: %v found, want %v", i, len(fps), fp, found[i], want)
		}
	}
}

// TestIndexTheorem proves the recall of the index for k = 3: a search depends on
// a stored fingerprint only through the bits in which it differs from the query,
// so all patterns of up to three bits, and of four, which must not be found, are
// tried, in an index so small that keys are short and in one with full keys.
func TestIndexTheorem(t *testing.T) {
	t.Parallel()
	for _, filler := range []int{0, 900_000} {
		if (!*full || raceDetector) && filler > 0 {
			continue
		}
		ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
		for i, fp := range random64(filler, 4) {
			ix.Add(i+1, fp)
		}
		stored := Fingerprint64(0x0123456789abcdef)
		ix.Add(0, stored)
		try := func(pattern Fingerprint64, n int) {
			found := -1
			for m := range ix.Search(bg, stored^pattern) {
				if m.ID == 0 {
					if found >= 0 {
						t.Fatalf("pattern %v found twice", pattern)
					}
					found = m.Distance
				}
			}
			if want := n; n <= 3 && found != want || n > 3 && found != -1 {
				t.Fatalf("pattern %v of %d bits: found at %d", pattern, n, found)
			}
		}
		try(0, 0)
		for a := range 64 {
			try(1<<a, 1)
			for b := range a {
				try(1<<a|1<<b, 2)
				for c := range b {
					try(1<<a|1<<b|1<<c, 3)
					if filler == 0 {
						for d := range c {
							try(1<<a|1<<b|1<<c|1<<d, 4)
						}
					}
				}
			}
		}
	}
}

// TestIndexGroups checks groups and their representatives through deletions.
func TestIndexGroups(t *testing.T) {
	ix, _ := NewIndex[string, Fingerprint64](3, IndexOptions{})
	for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
		ix.Add(id, Fingerprint64(i/2)*0x0F0F0F0F0F0F0F0F)
	}
	ix.Add("far", 0xFFFF0000FFFF0000)
	ix.Add("chain", 0x0F0F0F0F0F0F0F0F^0b11)
	ix.Add("link", 0x0F0F0F0F0F0F0F0F^0b11100)
	check := func(want string) {
		t.Helper()
		if got := fmt.Sprint(membersOf(must(ix.Groups(bg, SingleLinkage)))); got != want {
			t.Errorf("groups %s, want %s", got, want)
		}
	}
	check("[[a b] [c d chain link] [e f]]")
	must(ix.Delete("c"))
	check("[[a b] [d chain link] [e f]]")
	ix.Add("d", 0) // replaced, and counts as added now
	check("[[a b d] [e f]]")
	must(ix.Delete("a"))
	must(ix.Delete("nobody"))
	check("[[b d] [e f]]")
	ix.Add("a", 1)
	check("[[b d a] [e f]]")
}

// TestIndexAllocates nothing, however a search goes on.
func TestIndexAllocates(t *testing.T) {
	if raceDetector || bits.UintSize == 32 {
		t.Skip("the race detector allocates, and on 32-bit machines a search is not inlined")
	}
	for _, k := range []int{3, 8, 60} {
		ix, _ := NewIndex[uint64, Fingerprint64](k, IndexOptions{})
		fps := random64(5000, 3)
		for i, fp := range fps {
			ix.Add(uint64(i), fp)
		}
		sum := 0
		if n := testing.AllocsPerRun(100, func() {
			for m := range ix.Search(bg, fps[7]^3) {
				sum += m.Distance
			}
		}); n != 0 || sum == 0 {
			t.Errorf("k=%d: a search allocates %v times", k, n)
		}
	}
}

func TestNewIndexRefuses(t *testing.T) {
	for _, c := range []struct {
		distance int
		IndexOptions
		says string
	}{
		{-1, IndexOptions{}, "distance -1"},
		{65, IndexOptions{}, "distance 65"},
		{3, IndexOptions{Blocks: 3}, "use 4 or more"},
		{3, IndexOptions{Blocks: -4}, "-4 blocks"},
		{3, IndexOptions{Blocks: 65}, "65 blocks of 64 bits"},
		{3, IndexOptions{Blocks: 21}, "1330 tables"},
		{3, IndexOptions{Memory: -1}, "-1 bytes"},
	} {
		if _, err := NewIndex[string, Fingerprint64](c.distance, c.IndexOptions); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("distance %d, %+v: %v", c.distance, c.IndexOptions, err)
		}
	}
}

// TestIndexEmpty guards against a peer's bug: an empty index that has "seen"
// fingerprint 0.
func TestIndexEmpty(t *testing.T) {
	ix, _ := NewIndex[string, Fingerprint64](3, IndexOptions{})
	if must(ix.Exists(bg, 0)) {
		t.Error("an empty index knows fingerprint 0")
	}
	ix.Add("a", 0)
	must(ix.Delete("a"))
	if must(ix.Exists(bg, 0)) {
		t.Error("a deleted fingerprint is still there")
	}
}

// BenchmarkIndexSearch searches the built form, one fingerprint or 1024 at a time. Half of the queries are random, the others
// at distances from 0 to the distance of the index, equally. With skew=block every tenth
// fingerprint has one value of a 16-bit block; with skew=inside all queries have it, too.
// With NEARDUP_LARGE there are more than a million; a hundred million take 10 GB and two minutes to build.
func BenchmarkIndexSearch(b *testing.B) {
	for _, c := range []struct {
		n, distance, bits int
		skew              string
	}{
		{10_000, 3, 64, "none"}, {1_000_000, 3, 64, "none"}, {1_000_000, 3, 64, "block"}, {1_000_000, 3, 64, "inside"},
		{1_000_000, 6, 64, "none"}, {1_000_000, 10, 64, "none"}, {1_000_000, 13, 64, "none"},
		{1_000_000, 3, 128, "none"}, {1_000_000, 12, 128, "none"}, {1_000_000, 20, 128, "none"}, {1_000_000, 35, 128, "none"},
		{10_000_000, 3, 64, "none"}, {10_000_000, 13, 64, "none"}, {100_000_000, 3, 64, "none"}, {100_000_000, 6, 64, "none"},
	} {
		if c.n > 1_000_000 && !large() {
			continue
		}
		b.Run(fmt.Sprintf("n=%d/distance=%d/bits=%d/skew=%s", c.n, c.distance, c.bits, c.skew), func(b *testing.B) {
			if c.bits == 64 {
				benchmarkIndexSearch[Fingerprint64](b, c.n, c.distance, c.skew)
			} else {
				benchmarkIndexSearch[Fingerprint128](b, c.n, c.distance, c.skew)
			}
		})
	}
}

func benchmarkIndexSearch[F Fingerprint](b *testing.B, n, distance int, skew string) {
	rnd := rand.New(rand.NewPCG(2, 2))
	fps := make([]F, n)
	share := func(fp F) F {
		lo, hi := split(fp)
		return fromWords[F](lo&^0xFFFF|0xBEEF, hi)
	}
	for i := range fps {
		if fps[i] = randomFingerprint[F](rnd); skew != "none" && i%10 == 0 {
			fps[i] = share(fps[i])
		}
	}
	queries := make([]F, 1<<16)
	for i := range queries {
		queries[i] = randomFingerprint[F](rnd)
		if i%2 == 0 {
			queries[i] = fps[rnd.IntN(n/10)*10]
		}
		if skew == "inside" {
			queries[i] = share(queries[i])
		}
		if i%2 == 0 {
			queries[i] = flip(queries[i], i/2%(distance+1), rnd)
		}
	}
	ix, _ := NewIndex[uint64, F](distance, IndexOptions{})
	ix.AddAll(bg, func(yield func(uint64, F) bool) {
		for i, fp := range fps {
			if !yield(uint64(i), fp) {
				return
			}
		}
	})
	stats := must(ix.stats())
	b.Logf("%v", stats)
	for _, at := range []int{1, 1024} { // queries at a time
		b.Run(fmt.Sprintf("queries=%d", at), func(b *testing.B) {
			i, found := 0, 0
			for b.Loop() {
				if from := i & (1<<16 - 1); at > 1 {
					for _, matches := range must(ix.SearchMany(bg, queries[from:from+at])) {
						found += len(matches)
					}
				} else {
					for m := range ix.Search(bg, queries[from]) {
						found += int(m.ID>>63) + 1
					}
				}
				i += at
			}
			if i >= len(queries) && found < i/2 {
				b.Fatal("planted fingerprints were not found")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(i), "ns/query")
			b.ReportMetric(float64(stats.Bytes)/float64(n), "B/fingerprint")
			b.ReportMetric(float64(found)/float64(i), "matches/query")
		})
	}
}

func BenchmarkIndexAdd(b *testing.B) {
	fps := random64(1_000_000, 1)
	for b.Loop() {
		ix, _ := NewIndex[uint64, Fingerprint64](3, IndexOptions{})
		for i, fp := range fps {
			ix.Add(uint64(i), fp)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(fps)), "ns/fingerprint")
}

// TestNearestComplement: the farthest fingerprint is found too when many are asked for.
func TestNearestComplement(t *testing.T) {
	ix, err := NewIndex[string, Fingerprint64](3, IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ix.Add("far", 0)
	got, err := ix.Nearest(context.Background(), ^Fingerprint64(0), 1001)
	if err != nil || len(got) != 1 || got[0].Distance != 64 {
		t.Errorf("got %v, %v", got, err)
	}
}
