//go:build !amd64 || purego

package kernel

// Shorter says which of 64 strings are shorter than each of four limits. String i is as long as from
// start[i] to end[i], below 2³¹, and bit i of masks[j] is set if that is less than limits[j]. ok is
// false if there is no kernel for it; nothing is known then.
func Shorter(start, end *[64]uint32, limits *[4]uint32) (masks [4]uint64, ok bool) {
	return masks, false
}
