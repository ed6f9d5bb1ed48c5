//go:build !amd64 || purego

package kernel

// Shorter says which of up to 64 strings are shorter than each of four limits. String i is as long as
// from start[i] to end[i], below 2³¹, and bit i of masks[j] is set if that is less than limits[j].
func Shorter(start, end []uint32, limits *Limits) (masks [4]uint64) {
	return shorterGeneric(start, end, limits)
}
