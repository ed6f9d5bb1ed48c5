package blocks

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Every pair within the distance meets in some table, and exactly one of these is the first.
func TestTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ width, blocks, k int }{{64, 4, 3}, {64, 5, 3}, {64, 6, 3}, {64, 1, 0}, {64, 9, 5}, {128, 4, 3}, {128, 7, 4}, {128, 11, 8}} {
		if err := Check(c.width, c.blocks, c.k); err != nil {
			t.Fatal(err)
		}
		tables := Tables(c.width, c.blocks, c.k)
		all := Mask{}
		for _, table := range tables {
			all.Hi, all.Lo = all.Hi|table.Key.Hi, all.Lo|table.Key.Lo
		}
		if bits.OnesCount64(all.Hi)+bits.OnesCount64(all.Lo) != c.width {
			t.Fatalf("%v: not all bits are in a table", c)
		}
		for range 2000 {
			a := Mask{r.Uint64(), r.Uint64()}
			b := a
			for range r.IntN(c.k + 3) {
				if bit := r.IntN(c.width); bit < 64 {
					b.Lo ^= 1 << bit
				} else {
					b.Hi ^= 1 << (bit - 64)
				}
			}
			if c.width == 64 {
				b.Hi = a.Hi
			}
			first, met := 0, 0
			for i := range tables {
				if tables[i].Key.Agree(a, b) {
					met++
					if tables[i].IsFirst(a, b) {
						first++
					}
				}
			}
			if d := bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo); d <= c.k && met == 0 || met > 0 && first != 1 {
				t.Fatalf("%v: distance %d, met in %d tables, first in %d", c, d, met, first)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ width, blocks, k int }{{63, 4, 3}, {64, 3, 3}, {64, 65, 3}, {64, 4, -1}, {64, 64, 64}, {64, 40, 5}} {
		if Check(c.width, c.blocks, c.k) == nil {
			t.Errorf("%v passes", c)
		}
	}
}

// The expected number of candidates is that of random fingerprints.
func TestCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 20_000
	fps := make([]uint64, n)
	for i := range fps {
		fps[i] = r.Uint64()
	}
	for _, m := range []int{4, 5} {
		found := 0.0
		for _, table := range Tables(64, m, 3) {
			of := map[uint64]int{}
			for _, fp := range fps {
				found += float64(of[fp&table.Key.Lo])
				of[fp&table.Key.Lo]++
			}
		}
		if want := Candidates(n, 64, m, 3); found < want*0.9-20 || found > want*1.1+20 {
			t.Errorf("%d blocks: %.0f candidates, expected %.0f", m, found, want)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		n     float64
		k, is int
	}{{1e3, 3, 4}, {1e7, 3, 5}, {1e8, 3, 5}, {1e9, 3, 6}, {1e10, 3, 6}, {1e6, 0, 1}} {
		if got := Choose(c.n, 64, c.k); got != c.is {
			t.Errorf("%g fingerprints within %d: %d blocks, want %d", c.n, c.k, got, c.is)
		}
	}
}
