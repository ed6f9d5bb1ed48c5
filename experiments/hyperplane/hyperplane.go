// Package hyperplane has the hash of random hyperplanes (Charikar 2002; S000 §3.1, S001): a bit for each
// plane, 1 if the vector is above it. Two vectors with the angle θ differ in each bit with the probability
// θ/π. SimHash is this hash for certain planes, see OfHashes.
package hyperplane

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/neardup/neardup"
)

// Planes are normal vectors, one for each bit, of as many dimensions as the vectors to be hashed.
type Planes [][]float64

// Random returns planes in all directions alike: their coordinates are normally distributed. The same seed
// makes the same.
func Random(bits, dimensions int, seed uint64) Planes {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	r := rand.New(rand.NewChaCha8(key))
	planes := make(Planes, bits)
	for i := range planes {
		planes[i] = make([]float64, dimensions)
		for d := range planes[i] {
			planes[i][d] = r.NormFloat64()
		}
	}
	return planes
}

// OfHashes returns the planes of which the hash is the SimHash of features with these hashes, one for each
// dimension: coordinate d of plane i is 1 if bit i of hash d is set, and −1 else (S000 §3.2). There are at most 128 bits; more panic.
func OfHashes(hashes []neardup.Fingerprint128, bits int) Planes {
	if bits > 128 {
		panic("hyperplane: more than 128 bits")
	}
	planes := make(Planes, bits)
	for i := range planes {
		for _, h := range hashes {
			words := [2]uint64{h.Lo, h.Hi}
			planes[i] = append(planes[i], 2*float64(words[i/64]>>(i%64)&1)-1)
		}
	}
	return planes
}

// Products returns the dot product of a vector with each plane. It panics if their dimensions differ.
func (p Planes) Products(vector []float64) []float64 {
	products := make([]float64, len(p))
	for i, plane := range p {
		if len(plane) != len(vector) {
			panic(fmt.Sprintf("hyperplane: a vector of %d dimensions, and a plane of %d", len(vector), len(plane)))
		}
		for d, x := range vector {
			products[i] += x * plane[d]
		}
	}
	return products
}

// Sum returns the hash of a vector, up to 128 bits, that of the first plane lowest; more planes panic. tie says which bit a
// vector on the plane gets; S000 and S001 say 0 here.
func (p Planes) Sum(vector []float64, tie bool) (fp neardup.Fingerprint128) {
	if len(p) > 128 {
		panic("hyperplane: more than 128 planes")
	}
	for i, x := range p.Products(vector) {
		if x > 0 || x == 0 && tie {
			if i < 64 {
				fp.Lo |= 1 << i
			} else {
				fp.Hi |= 1 << (i - 64)
			}
		}
	}
	return fp
}
