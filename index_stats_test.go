package neardup

import (
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/neardup/neardup/internal/hamming"
)

// This file tells tests how an index is built.

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
