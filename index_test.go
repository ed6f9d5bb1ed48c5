package neardup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/race"
	"github.com/neardup/neardup/internal/store"
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
	if race.Enabled {
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
		if (!*full || race.Enabled) && filler > 0 {
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
	if race.Enabled || bits.UintSize == 32 {
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
		{3, IndexOptions{Blocks: 65}, "65 blocks"},
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

// TestIndexLinks opens an index through a symbolic link: the lock, the journal and the snapshot are
// those of the file itself, and the link stays a link.
func TestIndexLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "seen.index"), filepath.Join(t.TempDir(), "link.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	ix.Add("a", 1)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if other, err := OpenIndex[string, Fingerprint64](link, 3, fileOptions); err == nil || !strings.Contains(err.Error(), "has the files open") {
		t.Errorf("a second writer through a link: %v, %v", other, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = mustOpen[string, Fingerprint64](t, link, 3)
	ix.Add("b", 2)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	ix.Add("c", 4)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("Compact replaced the link: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(link), "*")); len(names) != 1 {
		t.Errorf("files beside the link: %q", names)
	}
	ix = mustOpen[string, Fingerprint64](t, path, 3)
	defer ix.Close()
	if ix.Len() != 3 {
		t.Errorf("%d of 3 documents", ix.Len())
	}
}

// TestIndexFIFO: what is not a regular file is refused, and nobody waits for a writer.
func TestIndexFIFO(t *testing.T) {
	for _, name := range []string{"", ".journal", ".lock"} {
		path := filepath.Join(t.TempDir(), "seen.index")
		if err := syscall.Mkfifo(path+name, 0o600); err != nil {
			t.Skip(err)
		}
		if _, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestIndexNativeInts: an index of int is the same on platforms of 32 and of 64 bits, and one that a
// 32-bit platform wrote as signed32 before can be read.
func TestIndexNativeInts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.index")
	long := mustOpen[int64, Fingerprint64](t, path, 3)
	long.Add(-7, 1)
	if err := long.Compact(bg); err != nil {
		t.Fatal(err)
	}
	long.Add(9, 8)
	long.Close()
	native := mustOpen[int, Fingerprint64](t, path, 3)
	if fp, ok, err := native.Get(-7); fp != 1 || !ok || err != nil || native.Len() != 2 {
		t.Errorf("%v, %t, %v, %d stored", fp, ok, err, native.Len())
	}
	native.Close()
	path = filepath.Join(t.TempDir(), "seen.index")
	short := mustOpen[int32, Fingerprint64](t, path, 3)
	short.Add(-7, 1)
	short.Compact(bg)
	short.Close()
	native = mustOpen[int, Fingerprint64](t, path, 3)
	defer native.Close()
	if fp, ok, err := native.Get(-7); fp != 1 || !ok || err != nil {
		t.Errorf("of 32 bits: %v, %t, %v", fp, ok, err)
	}
}

// TestIndexReaders has one writer and several readers at once. The writer keeps what no
// reader may ever see broken: every replaced id is found exactly once, either as it was or
// as it is; ids that are added in order are there in order; what is deleted together with
// nothing else is either there or not.
func TestIndexReaders(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
		testIndexReaders(t, ix, true)
	})
	t.Run("merging", func(t *testing.T) { // parts are merged by another goroutine
		ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
		ix.s.Form.AtOnce = 200
		testIndexReaders(t, ix, false)
	})
	t.Run("files", func(t *testing.T) {
		testIndexReaders(t, mustOpen[int, Fingerprint64](t, filepath.Join(t.TempDir(), "x"), 3), true)
	})
}

func testIndexReaders(t *testing.T, ix *Index[int, Fingerprint64], compact bool) {
	const moving = 20
	at := func(id, turn int) Fingerprint64 { // always within 3 of its centre, which is far from others
		return Fingerprint64(uint64(id+1)*0x9E3779B97F4A7C15) ^ 1<<(turn%64)
	}
	for id := range moving {
		ix.Add(id, at(id, 0))
	}
	var done atomic.Bool
	var added atomic.Int64
	var wait sync.WaitGroup
	for reader := range 3 {
		wait.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(reader), 1))
			for n := 0; !done.Load(); n++ {
				id := rnd.IntN(moving)
				found := 0
				for m := range ix.Search(bg, Fingerprint64(uint64(id+1)*0x9E3779B97F4A7C15)) {
					if m.ID == id {
						found++
					}
				}
				if found != 1 {
					t.Errorf("id %d is found %d times", id, found)
					return
				}
				for _, m := range must(ix.SearchMany(bg, []Fingerprint64{1, Fingerprint64(uint64(id+1) * 0x9E3779B97F4A7C15)}))[1] {
					if m.ID == id {
						found++
					}
				}
				if found != 2 {
					t.Errorf("id %d of many is found %d times", id, found-1)
					return
				}
				if n%50 > 0 {
					continue
				}
				before := added.Load()
				next, present := moving, 0
				for id := range valuesOf(ix.All()) {
					if id < moving {
						present++
						continue
					}
					if id != next {
						t.Errorf("%d comes after %d", id, next-1)
						return
					}
					next++
				}
				if present != moving || int64(next-moving) < before {
					t.Errorf("%d of %d, %d of %d", present, moving, next-moving, before)
					return
				}
				if near := must(ix.Nearest(bg, at(id, 5), 1)); len(near) != 1 || near[0].ID != id {
					t.Errorf("nearest to %d: %v", id, near)
					return
				}
				ix.stats()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(9, 9))
	turns := shorter(30_000, 8000)
	if race.Enabled {
		turns /= 2
	}
	for turn := range turns {
		if turn%4 == 0 {
			ix.Add(moving+turn/4, Fingerprint64(rnd.Uint64()))
			added.Add(1)
		} else {
			id := rnd.IntN(moving)
			ix.Add(id, at(id, turn))
		}
		if compact && turn%2000 == 1999 {
			if err := ix.Compact(bg); err != nil {
				t.Error(err)
			}
		}
	}
	done.Store(true)
	wait.Wait()
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}

// TestIndexWriters has several goroutines that add what is near, and check before they do:
// of each group exactly one finds nothing.
func TestIndexWriters(t *testing.T) {
	ix, _ := NewIndex[string, Fingerprint64](3, IndexOptions{})
	groups := random64(shorter(2000, 500), 3)
	var first [4]int
	var found [4]int
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for g, fp := range groups {
				id := fmt.Sprint(w, " ", g)
				if w%2 == 0 {
					if near := must(ix.SearchAndAdd(bg, id, fp^1<<w)); len(near) == 0 {
						first[w]++
					} else {
						found[w] += len(near)
					}
				} else if !must(ix.ExistsAndAdd(bg, id, fp^1<<w)) {
					first[w]++
				}
			}
		})
	}
	wait.Wait()
	if sum := first[0] + first[1] + first[2] + first[3]; sum != len(groups) || ix.Len() != 4*len(groups) {
		t.Errorf("%d were first in %d groups; %d stored", sum, len(groups), ix.Len())
	}
	if len(membersOf(must(ix.Groups(bg, SingleLinkage)))) != len(groups) {
		t.Errorf("%d groups, want %d", len(membersOf(must(ix.Groups(bg, SingleLinkage)))), len(groups))
	}
	if near := must(ix.SearchAndAdd(bg, "0 0", groups[0])); slices.ContainsFunc(near, func(m Match[string]) bool { return m.ID == "0 0" }) || len(near) != 3 {
		t.Errorf("an id is near itself: %v", near)
	}
}

// TestPlans makes plans for sets of all sizes and distances: each ends, and
// guarantees what it should.
func TestPlans(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var free []hamming.FreeBit
	for bit := range 128 {
		free = append(free, hamming.FreeBit{Bit: bit, Agree: 0.5})
	}
	n := shorter(3000, 500)
	for range n {
		words := 1 + rnd.IntN(2)
		bits := 1 + rnd.IntN(64*words)
		k := rnd.IntN(64 * words)
		tables := 1 + rnd.IntN(70)
		p := hamming.NewPlan(1<<rnd.IntN(28)+rnd.IntN(1000), words, k, tables, 0, free[:bits])
		if len(p.Keys) > tables {
			t.Fatalf("%d tables, at most %d", len(p.Keys), tables)
		}
		if p.Keys == nil {
			continue
		}
		seen := map[int]bool{}
		for _, key := range p.Keys {
			if len(key) > hamming.MaxKeyBits || !slices.IsSorted(key) {
				t.Fatalf("key %v", key)
			}
			for _, b := range key {
				if !p.Combos && seen[b] {
					t.Fatalf("bit %d is in two blocks", b)
				}
				seen[b] = true
			}
		}
	}
	for _, c := range []struct{ words, tables, n, k int }{{1, 4, 188_945, 34}, {1, 4, 199_020, 32}, {1, 4, 469_239, 25}, {1, 4, 10_600_000, 19}, {2, 10, 166_253, 118}, {2, 10, 7_600_000, 25}, {1, 11, 7_300_000, 15}} {
		hamming.NewPlan(c.n, c.words, c.k, c.tables, 0, free[:64*c.words]) // which never ended
	}
}

// TestIndexSlowReader: what a reader holds on to does not grow with every change, and it
// sees to its end what it saw in the beginning.
func TestIndexSlowReader(t *testing.T) {
	ix, _ := NewIndex[int, Fingerprint64](3, IndexOptions{})
	fps := random64(20_000, 1)
	if err := ix.AddAll(bg, slices.All(fps)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for id, fp := range valuesOf(ix.All()) {
		if n == 0 {
			for i := range 20_000 {
				must(ix.Delete(i))
				ix.Add(100_000+i%7, Fingerprint64(i))
			}
		}
		if id != n || fp != fps[n] {
			t.Fatalf("%d: %v instead of %d: %v", n, id, n, fp)
		}
		n++
	}
	if n != len(fps) || ix.Len() != 7 {
		t.Errorf("%d of %d seen; %d left", n, len(fps), ix.Len())
	}
}

// TestIndexNaN: ids that are not equal to themselves are stored, and do no harm.
func TestIndexNaN(t *testing.T) {
	ix, _ := NewIndex[float64, Fingerprint64](3, IndexOptions{})
	fps := random64(5000, 1)
	for i, fp := range fps {
		if i%3 == 0 {
			ix.Add(math.NaN(), fp)
		} else {
			ix.Add(float64(i), fp)
		}
	}
	if err := ix.Compact(bg); err != nil || ix.Len() != len(fps) {
		t.Fatalf("%d stored: %v", ix.Len(), err)
	}
	for i, fp := range fps {
		if !must(ix.Exists(bg, fp)) || i%3 > 0 && !must(ix.Delete(float64(i))) || must(ix.Delete(math.NaN())) {
			t.Fatal(i)
		}
	}
}

// TestNearestTies: of equally near ones the first, whatever part it is in and however that
// is searched.
func TestNearestTies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		ix, _ := NewIndex[int, Fingerprint64](5, IndexOptions{})
		q := Fingerprint64(rnd.Uint64())
		var old, late []Fingerprint64
		for range 601 {
			old = append(old, ^q^Fingerprint64(rnd.Uint64N(1<<20)))
		}
		for range 30_000 {
			late = append(late, ^q^Fingerprint64(rnd.Uint64N(1<<30)))
		}
		old[300] = flip(q, 8, rnd)
		late[10], late[20_000] = flip(q, 7, rnd), flip(q, 7, rnd)
		build := func(first int, fps []Fingerprint64) *store.Run[int, *hamming.Tree] {
			docs := store.NewDocuments[int](1, len(fps))
			for i, fp := range fps {
				docs.Add([]uint64{uint64(fp)}, first+i, 1)
			}
			return store.NewRunOf(&ix.s, docs)
		}
		store.SetRuns(&ix.s, build(0, old), build(1000, late))
		want := []Match[int]{{ID: 1010, Distance: 7}, {ID: 21_000, Distance: 7}, {ID: 300, Distance: 8}}
		for n := 1; n <= 3; n++ {
			if got := must(ix.Nearest(bg, q, n)); !slices.Equal(got, want[:n]) {
				t.Fatalf("the %d nearest are %v, want %v", n, got, want[:n])
			}
		}
	}
}

// TestForgedSnapshot has files with right checksums that no index wrote.
func TestForgedSnapshot(t *testing.T) {
	fps := make([]uint64, 6000)
	for i := range fps {
		fps[i] = rand.Uint64()&^0xFFFF | 0xBEEF&uint64(i%2*0xFFFF)
		if i%100 == 99 {
			fps[i] = fps[i-1]
		}
	}
	it := store.IDTypeOf[int]()
	forge := func(change func(tr *hamming.Tree)) error {
		path := filepath.Join(t.TempDir(), "x")
		docs := store.NewDocuments[int](1, len(fps))
		for i, fp := range fps {
			docs.Add([]uint64{fp}, i, 0)
		}
		r := store.NewRun(docs, false, &it, 1, func(fps store.Column) *hamming.Tree { return hamming.NewTree(1, fps.Docs, 3, 4, 4) })
		if len(r.Find.Nodes) < 2 || len(r.Find.Copies.All) == 0 {
			t.Fatal("no bucket is split, or nothing is equal")
		}
		change(r.Find)
		if _, err := store.WriteSnapshot(path, "v=1", 0, r, &store.Form[*hamming.Tree]{Kind: "index64", Words: 1}, &it); err != nil {
			t.Fatal(err)
		}
		j, err := store.CreateJournal(path+".journal", "v=1", "index64-journal", 0)
		if err != nil {
			t.Fatal(err)
		}
		j.File.Close()
		ix := mustOpen[int, Fingerprint64](t, path, 3)
		defer ix.Close()
		for i, fp := range fps {
			for m, err := range ix.Search(bg, Fingerprint64(fp)) {
				if err == nil && m.Distance != Fingerprint64(fps[m.ID]).Distance(Fingerprint64(fp)) {
					t.Fatalf("a wrong match %v of %d", m, i)
				}
			}
		}
		return ix.err()
	}
	if err := forge(func(*hamming.Tree) {}); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(tr *hamming.Tree){
		"a copy that is none": func(tr *hamming.Tree) { tr.Copies.All[0] = 17 },
		"copies far away":     func(tr *hamming.Tree) { tr.Copies.Start[1] = 1<<32 - 5 },
		"another parent":      func(tr *hamming.Tree) { tr.Nodes[1].Under++ },
		"another key":         func(tr *hamming.Tree) { tr.Nodes[1].Value[0] ^= 1 },
		"a bucket far away": func(tr *hamming.Tree) {
			starts := tr.Nodes[0].Tables[2].Starts
			for i := 1; i < len(starts); i += 2 {
				starts[i] = 1<<31 - 1
			}
		},
	} {
		if err := forge(change); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestIndexMissing: a journal that is gone is not taken for an empty one, and files that
// only look like leftovers stay.
func TestIndexMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, p := range []string{path, path + ".new"} {
		ix := mustOpen[int, Fingerprint64](t, p, 3)
		ix.AddAll(bg, maps.All(map[int]Fingerprint64{1: 1, 2: 2}))
		ix.Close()
	}
	mustOpen[int, Fingerprint64](t, path, 3).Close()
	if ix := mustOpen[int, Fingerprint64](t, path+".new", 3); ix.Len() != 2 {
		t.Errorf("%d stored", ix.Len())
	}
	os.Remove(path + ".journal")
	if _, err := OpenIndex[int, Fingerprint64](path, 3, fileOptions); err == nil {
		t.Error("the journal is missing, and nobody says so")
	}
	if os.Geteuid() == 0 {
		return // who may do anything
	}
	ix := mustOpen[int, Fingerprint64](t, path+".new", 3)
	os.Chmod(filepath.Dir(path), 0o300)
	err := ix.Compact(bg)
	os.Chmod(filepath.Dir(path), 0o700)
	if err == nil {
		t.Error("a directory that cannot be read, and no error")
	}
	ix.Add(3, 3)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if ix := mustOpen[int, Fingerprint64](t, path+".new", 3); ix.Len() != 3 {
		t.Errorf("%d stored", ix.Len())
	}
}

// indexStats describes how an index searches; see Index.stats.
type indexStats struct {
	Fingerprints int // stored ones, without deleted ones
	Parts        int // parts that have been built; up to 512 of the last changes are in none
	Bytes        int // memory of the parts, without what ids point to

	// Reach describes the part with the most fingerprints, as Tables does: the largest distance at
	// which a search uses tables. Beyond it, a search compares all fingerprints. −1 means that it
	// always does, or that no part has been built.
	Reach int
	// Tables has the tables of that part. There are none if the part is so small that all its
	// fingerprints are always compared.
	Tables []tableStats
}

// tableStats describes a table: how many fingerprints share a value of its key, which leads to
// their bucket. Wang 2019 §2.3 calls a bucket overfull if it has more than (1+μ) times the mean
// over all buckets.
type tableStats struct {
	KeyBits int // bits of the key
	Radius  int // a search looks up all keys that differ from its own in at most so many bits
	Buckets int // 2^KeyBits
	Used    int // buckets that are not empty
	Entries int // entries of all buckets: the distinct fingerprints
	Largest int // entries of the largest bucket
	Split   int // overfull buckets, which have tables of their own
	// Sizes[0] is the number of empty buckets, and Sizes[i] the number of buckets with 2^(i−1) to
	// 2^i−1 entries.
	Sizes [32]int
}

// Mean returns the mean number of entries of a bucket, over the buckets that are not empty if used
// is true, and over all buckets otherwise. It is 0 without buckets.
func (t tableStats) Mean(used bool) float64 {
	if used {
		return float64(t.Entries) / float64(max(1, t.Used))
	}
	return float64(t.Entries) / float64(max(1, t.Buckets))
}

// stats describes how the index searches. It looks at every bucket of the largest part, so it takes
// time for all of them. After an error, that of the index, the tables are incomplete.
func (ix *Index[ID, F]) stats() (indexStats, error) {
	st := ix.s.View()
	s := indexStats{Fingerprints: ix.Len(), Parts: len(st.Runs), Reach: -1}
	var largest *hamming.Tree
	for _, r := range st.Runs {
		s.Bytes += r.Bytes()
		if largest == nil || r.Len() > largest.Len() {
			largest = r.Find
		}
	}
	if largest == nil || largest.Len() == 0 {
		return s, ix.err()
	}
	s.Reach = largest.Reach
	root := &largest.Nodes[0]
	for i := range root.Tables {
		t := &root.Tables[i]
		if err := largest.File.Check(unsafe.Pointer(&t.Starts[0]), 4*len(t.Starts)); err != nil {
			ix.s.Fail(err)
			return s, ix.err()
		}
		ts := tableStats{KeyBits: t.Bits, Buckets: 1 << t.Bits, Radius: max(0, root.Radius(i, ix.distance))}
		// The highest bit of a start says that the bucket was split; then it leads to tables of its
		// own.
		for key := range ts.Buckets {
			n := int(t.Starts[key+1]&^hamming.SplitBit) - int(t.Starts[key]&^hamming.SplitBit)
			if t.Starts[key]&hamming.SplitBit != 0 {
				ts.Split++
				n = largest.ChildCount(t, int(t.Starts[key]&^hamming.SplitBit))
			}
			if n <= 0 {
				ts.Sizes[0]++
				continue
			}
			ts.Used++
			ts.Entries += n
			ts.Largest = max(ts.Largest, n)
			ts.Sizes[min(bits.Len(uint(n)), len(ts.Sizes)-1)]++
		}
		s.Tables = append(s.Tables, ts)
	}
	return s, ix.err()
}

// String returns a line about the index, and one for each table.
func (s indexStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d fingerprints in %d parts, %d bytes; tables up to distance %d", s.Fingerprints, s.Parts, s.Bytes, s.Reach)
	for _, t := range s.Tables {
		fmt.Fprintf(&b, "\n%d bits, radius %d: %d of %d buckets used, mean %.1f, largest %d, %d split", t.KeyBits, t.Radius, t.Used, t.Buckets, t.Mean(false), t.Largest, t.Split)
	}
	return b.String()
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

// TestIndexSearchEnds: a search whose context ends on the way stops soon, and says so.
func TestIndexSearchEnds(t *testing.T) {
	ix := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
	if err := ix.AddAll(bg, slices.All(make([]Fingerprint64, 1000))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	n, last := 0, error(nil)
	for _, err := range ix.Search(ctx, Fingerprint64(0)) {
		cancel()
		n, last = n+1, err
	}
	if !errors.Is(last, context.Canceled) || n >= 1000 {
		t.Errorf("%d matches, and last %v", n, last)
	}
}
