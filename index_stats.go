package neardup

import (
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/neardup/neardup/internal/hamming"
)

// IndexStats describes how an index searches, see [Index.Stats].
type IndexStats struct {
	Fingerprints int // stored, those that were deleted not counted
	Parts        int // built; up to 512 of the last changes are in none
	Bytes        int // that the parts take, without what ids point to

	// Of the largest part:
	Reach  int          // the distance up to which tables are used; farther, all fingerprints are compared
	Tables []TableStats // none if it is so small that all are compared in any case
}

// TableStats describes a table: how many fingerprints share a value of its key. S002 calls
// a bucket overfull if it has more than (1+μ) times the mean over all buckets.
type TableStats struct {
	KeyBits int
	Radius  int // a search looks at all keys that differ in so many bits
	Buckets int // 2^KeyBits
	Used    int // that are not empty
	Entries int // in all buckets: the different fingerprints
	Largest int // entries of the largest bucket
	Split   int // buckets that have tables of their own
	// Sizes[i] is the number of buckets with 2^(i−1) to 2^i−1 entries; Sizes[0] of empty
	// ones.
	Sizes [32]int
}

// Mean returns the mean number of entries over all buckets, or over those in use.
func (t TableStats) Mean(used bool) float64 {
	if used {
		return float64(t.Entries) / float64(max(1, t.Used))
	}
	return float64(t.Entries) / float64(max(1, t.Buckets))
}

// Stats describes how the index searches. It takes time for all buckets.
func (ix *Index[ID, F]) Stats() IndexStats {
	st := ix.s.View()
	s := IndexStats{Fingerprints: ix.Len(), Parts: len(st.Runs), Reach: -1}
	var largest *hamming.Tree
	for _, r := range st.Runs {
		s.Bytes += r.Bytes()
		if largest == nil || r.Len() > largest.Len() {
			largest = r.Find
		}
	}
	if largest == nil || largest.Len() == 0 {
		return s
	}
	s.Reach = largest.Reach
	root := &largest.Nodes[0]
	for i := range root.Tables {
		t := &root.Tables[i]
		if err := largest.File.Check(unsafe.Pointer(&t.Starts[0]), 4*len(t.Starts)); err != nil {
			ix.s.Fail(err)
			return s
		}
		ts := TableStats{KeyBits: t.Bits, Buckets: 1 << t.Bits, Radius: max(0, root.Radius(i, ix.distance))}
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
	return s
}

// String returns the statistics in a few lines.
func (s IndexStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d fingerprints in %d parts, %d bytes; tables up to distance %d", s.Fingerprints, s.Parts, s.Bytes, s.Reach)
	for _, t := range s.Tables {
		fmt.Fprintf(&b, "\n%d bits, radius %d: %d of %d buckets used, mean %.1f, largest %d, %d split", t.KeyBits, t.Radius, t.Used, t.Buckets, t.Mean(false), t.Largest, t.Split)
	}
	return b.String()
}
