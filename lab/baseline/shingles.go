package baseline

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
)

// This file has shingles, and samples of them. The shingles of a text are the set of its windows of
// N characters; a text of L characters has L−N+1 windows:
//
//	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 4}}
//	shingles := f.Set(text)
//
// (Li 2015 writes that there is a shingle "every N characters", but counts L−N+1.) The resemblance
// of two texts is Set.Jaccard, and the containment is Set.Containment. Broder compares samples to
// save time. A sample of this file is a subset, so the same measures apply.

// ModP returns the shingles whose hash is 0 mod p, about one in p; Broder takes p = 25. The sample
// of a short text may be empty. The hashes must not favour multiples of p. ModP panics if p is 0.
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

// Smallest returns the s shingles with the smallest hashes (Broder's MIN_s), or all if there are
// fewer.
func Smallest(shingles neardup.Set, s int) neardup.Set {
	return shingles[:min(len(shingles), max(s, 0))]
}

// SmallestResemblance estimates the resemblance of two texts from their samples by Smallest. It is
// the fraction of the s smallest hashes of both samples together that are in both (Broder 1997). It
// has no bias; the Jaccard similarity of the two samples has one. It is NaN if both samples are
// empty.
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

// SuperShingles returns the hashes of all windows of size consecutive elements of a sample. Two
// texts are near-duplicates if they share at least one super-shingle (DSC-SS). A sample with fewer
// than size elements has none. SuperShingles panics if size is below 1.
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
