// Package hyperplane has the hash by random hyperplanes (Charikar 2002; Wang 2016 §3.1; june 2013).
// There is a bit for each plane; it is 1 if the vector is on the upper side of the plane. Two
// vectors at the angle θ differ in each bit with the probability θ/π. SimHash is this hash for
// certain planes; see OfHashes.
package hyperplane

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/neardup/neardup"
)

// Planes are normal vectors, one for each bit. They have as many dimensions as the vectors to hash.
type Planes [][]float64

// Random returns planes in random directions. Their coordinates are normally distributed, so no
// direction is preferred. The same seed gives the same planes.
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

// OfHashes returns the planes for which the hash of a vector is the SimHash of features with these
// hashes, one feature for each dimension. Coordinate d of plane i is 1 if bit i of hash d is set,
// otherwise −1 (Wang 2016 §3.2). It panics if bits is more than 128.
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

// Products returns the dot product of a vector with each plane. It panics if their dimensions
// differ.
func (p Planes) Products(vector []float64) []float64 {
	products := make([]float64, len(p))
	for i, plane := range p {
		if len(plane) != len(vector) {
			panic(fmt.Sprintf("hyperplane: the vector has %d dimensions, and the plane has %d", len(vector), len(plane)))
		}
		for d, x := range vector {
			products[i] += x * plane[d]
		}
	}
	return products
}

// Sum returns the hash of a vector, with at most 128 bits. The bit of the first plane is the
// lowest. If the vector lies on a plane, the bit is 1 if tie is true; Wang 2016 and june 2013 give
// 0. Sum panics if there are more than 128 planes, or if dimensions differ.
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
