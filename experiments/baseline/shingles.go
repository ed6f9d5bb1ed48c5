package baseline

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
)

// The shingles of a text are the set of its windows of N characters, L−N+1 of a text of L:
//
//	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 4}}
//	shingles := f.Set(text)
//
// S003 writes "every N characters one", but counts L−N+1. Their resemblance is Set.Jaccard,
// and their containment Set.Containment. To save time Broder compares samples of them:
// those here are a part of the set, so the same measures apply.

// ModP returns the shingles whose hash is 0 mod p, about one in p; Broder takes 25. Texts
// with few shingles may have none. Hashes should not be a multiple of anything more often
// than of anything else. p of 0 panics.
func ModP(shingles neardup.Set, p uint64) neardup.Set {
	if p == 0 {
		panic("baseline: ModP of 0")
	}
	var sample []uint64
	for _, h := range shingles {
		if h%p == 0 {
			sample = append(sample, h)
		}
	}
	return neardup.NewSet(sample)
}

// Smallest returns the s shingles with the smallest hashes, or all if there are fewer (MIN_s).
func Smallest(shingles neardup.Set, s int) neardup.Set {
	return shingles[:min(len(shingles), max(s, 0))]
}

// SmallestResemblance estimates the resemblance of two texts from what Smallest returned for
// them: the share of the s smallest of both together that are in both (Broder 1997). Unlike
// the Jaccard similarity of the two samples it is unbiased. It is NaN if both are empty.
func SmallestResemblance(a, b neardup.Set, s int) float64 {
	sample := Smallest(neardup.NewSet(slices.Concat(a, b)), s)
	both := 0
	for _, h := range sample {
		_, inA := slices.BinarySearch(a, h)
		_, inB := slices.BinarySearch(b, h)
		if inA && inB {
			both++
		}
	}
	if len(sample) == 0 {
		return math.NaN()
	}
	return float64(both) / float64(len(sample))
}

// SuperShingles returns the hashes of the windows of size elements of a sample, which is in
// ascending order: two texts are near-duplicates if they share at least one (DSC-SS). A
// sample of fewer elements has none.
func SuperShingles(sample neardup.Set, size int) neardup.Set {
	if size < 1 {
		panic("baseline: SuperShingles of no shingle")
	}
	var super []uint64
	var window []byte
	for i := range len(sample) - size + 1 {
		window = window[:0]
		for _, h := range sample[i : i+size] {
			window = binary.BigEndian.AppendUint64(window, h)
		}
		super = append(super, xxh3.Hash(window))
	}
	return neardup.NewSet(super)
}

// ShareAny reports whether two sets have an element in common.
func ShareAny(a, b neardup.Set) bool { return a.Containment(b) > 0 }
