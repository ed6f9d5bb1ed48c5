package hamming

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// find returns how many fingerprints a search finds within a distance, and how many there are.
func find(t *Tree, query uint64, distance int) (found, want int) {
	for _, fp := range t.fps {
		if bits.OnesCount64(fp^query) <= distance {
			want++
		}
	}
	t.Search(query, 0, distance, func(uint32, int) int { found++; return distance })
	return found, want
}

// TestSplitBorder pins what an overfull bucket is: one with more than three times the entries of an
// average bucket. A table of 8 bits gets one bucket of exactly that size, and of one entry more.
func TestSplitBorder(t *testing.T) {
	const n = 1_000_000
	const limit = perBucketOfPaper * n >> 8 // well above fullest
	for _, members := range []int{limit, limit + 1} {
		r := rand.New(rand.NewPCG(1, 2))
		fps := make([]uint64, n)
		for i := range fps {
			fps[i] = r.Uint64() &^ 0xff
			if i >= members {
				fps[i] |= 1 + uint64(i%255) // any key but 0
			}
		}
		tree := NewTree(1, fps, 7, 8, 8)
		if len(tree.Nodes[0].Tables) != 8 || tree.Nodes[0].Tables[0].Bits != 8 {
			t.Fatalf("not eight tables of 8 bits: the test is to be changed")
		}
		if want := members - limit; len(tree.Nodes)-1 != want {
			t.Errorf("a bucket of %d entries: %d buckets were split, want %d", members, len(tree.Nodes)-1, want)
		}
		for _, query := range []uint64{fps[0], fps[members-1] ^ 7, fps[n-1]} {
			if found, want := find(tree, query, 7); found != want {
				t.Errorf("found %d of %d", found, want)
			}
		}
	}
}

// TestSplitAgain checks that buckets are split at every level, and not only at the root. The set has
// clusters within clusters: seven of eight fingerprints agree in 8 bits, seven of eight of those in 8
// more, and so on. Without splits below the root a bucket keeps an eighth of the set.
func TestSplitAgain(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(3, 4))
	fps := make([]uint64, n)
	for i := range fps {
		fps[i] = r.Uint64()
		for at := 0; at < 64 && r.IntN(8) > 0; at += 8 {
			fps[i] &^= 0xff << at
		}
	}
	tree := NewTree(1, fps, 3, 1024, 0)
	deepest, largest := 0, 0
	for i := range tree.Nodes {
		depth := 0
		for at := i; at != 0; at = tree.Nodes[at].parent {
			depth++
		}
		deepest = max(deepest, depth)
		for j := range tree.Nodes[i].Tables {
			starts := tree.Nodes[i].Tables[j].Starts
			for key := range len(starts) - 1 {
				if starts[key]&SplitBit == 0 {
					largest = max(largest, int(starts[key+1]&^SplitBit-starts[key]))
				}
			}
		}
	}
	t.Logf("%d nodes, %d levels below the root, the largest bucket has %d entries", len(tree.Nodes), deepest, largest)
	if largest > n/50 {
		t.Error("a large bucket was not split")
	}
	if deepest < 2 {
		t.Error("no bucket of a node below the root was split")
	}
	for i := 0; i < n; i += n / 100 {
		if found, want := find(tree, fps[i]^1<<(i%64), 3); found != want {
			t.Errorf("found %d of %d", found, want)
		}
	}
}

// perBucketOfPaper is 1+μ of Wang 2019, with its μ = 2.
const perBucketOfPaper = 3
