// Package planted makes random numbers that are the same everywhere, and a corpus of fingerprints
// whose near-duplicates are known.
package planted

import (
	"math/bits"

	"github.com/neardup/neardup"
)

// A Stream is a random number generator, splitmix64. Its value is the seed.
type Stream uint64

// Next returns the next random number.
func (s *Stream) Next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Corpus returns 25,200 fingerprints. 2,000 pairs of them differ in at most 3 bits. About 2,200
// share the lowest block of 16 bits, so its bucket is overfull.
func Corpus() (fps []neardup.Fingerprint64) {
	s := Stream(42)
	flip := func(fp uint64, k int, draw func() uint64) uint64 {
		mask := uint64(0)
		for bits.OnesCount64(mask) < k {
			mask |= 1 << draw()
		}
		return fp ^ mask
	}
	add := func(fp uint64) { fps = append(fps, neardup.Fingerprint64(fp)) }
	for range 20_000 {
		add(s.Next())
	}
	for j := range 3000 {
		add(flip(uint64(fps[j]), 1+j%5, func() uint64 { return s.Next() % 64 }))
	}
	for range 2000 {
		add(s.Next()&^0xFFFF | 0xBEEF)
	}
	for j := range 200 {
		add(flip(uint64(fps[23_000+j]), 1+j%3, func() uint64 { return 16 + s.Next()%48 }))
	}
	return fps
}
