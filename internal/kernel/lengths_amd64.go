//go:build !purego

package kernel

// English words of 10 KB become a fingerprint in 29 µs without it (and with one string hashed at a
// time), and in 20 µs with it, on both tiers (BenchmarkSum64).

//go:noescape
func shorterAVX512(start, end *uint32, limits *uint32, masks *uint64)

//go:noescape
func shorterAVX2(start, end *uint32, limits *uint32, masks *uint64)

// Shorter says which of 64 strings are shorter than each of four limits. String i is as long as from
// start[i] to end[i], below 2³¹, and bit i of masks[j] is set if that is less than limits[j]. ok is
// false if there is no kernel for it; nothing is known then.
func Shorter(start, end *[64]uint32, limits *[4]uint32) (masks [4]uint64, ok bool) {
	switch tier {
	case AVX512:
		shorterAVX512(&start[0], &end[0], &limits[0], &masks[0])
	case AVX2:
		shorterAVX2(&start[0], &end[0], &limits[0], &masks[0])
	default:
		return masks, false
	}
	return masks, true
}
