package neardup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// bruteSearch is the oracle of the index.
func bruteSearch[F Fingerprint](stored map[int]F, fp F, k int) map[int]int {
	found := map[int]int{}
	for id, x := range stored {
		if d := hamming(x, fp); d <= k {
			found[id] = d
		}
	}
	return found
}

// hamming counts differing bits one by one.
func hamming[F Fingerprint](a, b F) int {
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
	for m := range ix.Search(fp) {
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
	t.Run("bits=64", testIndexModel[Fingerprint64])
	t.Run("bits=128", testIndexModel[Fingerprint128])
}

func testIndexModel[F Fingerprint](t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 10, 16, 31, 63, width[F]()} {
		ix, err := NewIndex[int, F](k, nil)
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
		for step := range 3000 {
			switch op := rnd.IntN(10); {
			case op < 5:
				id, fp := rnd.IntN(800), near()
				stored[id] = fp
				ix.Add(id, fp)
			case op < 7 || step%1000 > 800:
				id := rnd.IntN(800)
				_, want := stored[id]
				delete(stored, id)
				if got := ix.Delete(id); got != want {
					t.Fatalf("k=%d: Delete = %v, want %v", k, got, want)
				}
			default:
				fp := near()
				want := bruteSearch(stored, fp, k)
				if got := collect(t, ix, fp); !maps.Equal(got, want) {
					t.Fatalf("k=%d: Search found %v, want %v", k, got, want)
				}
				if got := ix.Exists(fp); got != (len(want) > 0) {
					t.Fatalf("k=%d: Exists = %v with %d matches", k, got, len(want))
				}
			}
			if ix.Len() != len(stored) {
				t.Fatalf("Len = %d, want %d", ix.Len(), len(stored))
			}
		}
		pairs := 0
		for p := range ix.Pairs() {
			if d := hamming(stored[p.A], stored[p.B]); d != p.Distance || d > k {
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

// TestIndexTheorem proves the recall of the index for k = 3: a search depends on
// a stored fingerprint only through the bits in which it differs from the query,
// so all patterns of up to three bits, and of four, which must not be found, are
// tried, in an index so small that keys are short and in one with full keys.
func TestIndexTheorem(t *testing.T) {
	for _, filler := range []int{0, 900_000} {
		if testing.Short() && filler > 0 {
			continue
		}
		ix, _ := NewIndex[int, Fingerprint64](3, nil)
		for i, fp := range random64(filler, 4) {
			ix.Add(i+1, fp)
		}
		stored := Fingerprint64(0x0123456789abcdef)
		ix.Add(0, stored)
		try := func(pattern Fingerprint64, n int) {
			found := -1
			for m := range ix.Search(stored ^ pattern) {
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
	ix, _ := NewIndex[string, Fingerprint64](3, nil)
	for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
		ix.Add(id, Fingerprint64(i/2)*0x0F0F0F0F0F0F0F0F)
	}
	ix.Add("far", 0xFFFF0000FFFF0000)
	ix.Add("chain", 0x0F0F0F0F0F0F0F0F^0b11)
	ix.Add("link", 0x0F0F0F0F0F0F0F0F^0b11100)
	check := func(want string) {
		t.Helper()
		if got := fmt.Sprint(ix.Groups()); got != want {
			t.Errorf("groups %s, want %s", got, want)
		}
	}
	check("[[a b] [c d chain link] [e f]]")
	ix.Delete("c")
	check("[[a b] [d chain link] [e f]]")
	ix.Add("d", 0) // replaced, and counts as added now
	check("[[a b d] [e f]]")
	ix.Delete("a")
	ix.Delete("nobody")
	check("[[b d] [e f]]")
	ix.Add("a", 1)
	check("[[b d a] [e f]]")
}

func TestNewIndexRefuses(t *testing.T) {
	for _, k := range []int{-1, 65} {
		if _, err := NewIndex[string, Fingerprint64](k, nil); err == nil {
			t.Errorf("NewIndex(%d) gave no error", k)
		}
	}
}

// TestIndexEmpty guards against a peer's bug: an empty index that has "seen"
// fingerprint 0.
func TestIndexEmpty(t *testing.T) {
	ix, _ := NewIndex[string, Fingerprint64](3, nil)
	if ix.Exists(0) {
		t.Error("an empty index knows fingerprint 0")
	}
	ix.Add("a", 0)
	ix.Delete("a")
	if ix.Exists(0) {
		t.Error("a deleted fingerprint is still there")
	}
}

func BenchmarkIndexSearch(b *testing.B) {
	for _, compact := range []bool{true, false} {
		for _, n := range []int{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("n=%d/distance=3/bits=64/compact=%v", n, compact), func(b *testing.B) {
				fps := random64(n, 1)
				ix, _ := NewIndex[uint64, Fingerprint64](3, nil)
				for i, fp := range fps {
					ix.Add(uint64(i), fp)
				}
				if compact {
					ix.Compact()
				}
				// Half of the queries are random, the others at distances 0 to 3.
				rnd := rand.New(rand.NewPCG(2, 2))
				queries := make([]Fingerprint64, 1<<16)
				for i := range queries {
					queries[i] = Fingerprint64(rnd.Uint64())
					if i%2 == 0 {
						queries[i] = flip(fps[rnd.IntN(n)], i/2%4, rnd)
					}
				}
				i, sum := 0, uint64(0)
				for b.Loop() {
					for m := range ix.Search(queries[i&(1<<16-1)]) {
						sum += m.ID
					}
					i++
				}
				if i >= len(queries) && sum == 0 {
					b.Fatal("nothing found")
				}
				bytes := 0
				for _, r := range ix.state.Load().runs {
					bytes += r.bytes()
				}
				b.ReportMetric(float64(bytes)/float64(n), "B/fingerprint")
			})
		}
	}
}

func BenchmarkIndexAdd(b *testing.B) {
	fps := random64(1_000_000, 1)
	for b.Loop() {
		ix, _ := NewIndex[uint64, Fingerprint64](3, nil)
		for i, fp := range fps {
			ix.Add(uint64(i), fp)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(fps)), "ns/fingerprint")
}
