//go:build !purego

package kernel

// English words of 10 KB are hashed and added up in X µs with AVX-512, in Y µs with AVX2, and in Z µs
// without (BenchmarkTiers). All are of 64 strings.

//go:noescape
func shorterAVX512(start, end *uint32, limits *uint32, masks *uint64)

//go:noescape
func shorterAVX2(start, end *uint32, limits *uint32, masks *uint64)

// Shorter says which of up to 64 strings are shorter than each of four limits. String i is as long as
// from start[i] to end[i], below 2³¹, and bit i of masks[j] is set if that is less than limits[j].
func Shorter(start, end []uint32, limits *Limits) (masks [4]uint64) {
	if tier == Generic || len(start) != 64 {
		return shorterGeneric(start, end, limits)
	}
	end = end[:64]
	if tier == AVX512 {
		shorterAVX512(&start[0], &end[0], &limits[0], &masks[0])
	} else {
		shorterAVX2(&start[0], &end[0], &limits[0], &masks[0])
	}
	return masks
}
