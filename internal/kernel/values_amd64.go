//go:build !purego

package kernel

// The Jaccard similarity of two signatures of 128 values takes 15 ns with AVX-512, 20 ns with AVX2, and
// 84 ns without (BenchmarkTiers). n is above 0, a multiple of 4, or of 8 for AVX-512.

//go:noescape
func compareAVX512(a, b *uint64, n int) (same, neither int)

//go:noescape
func compareAVX2(a, b *uint64, n int) (same, neither int)

// CompareValues compares two signatures of the same length, given as words of two values each. It
// returns the number of values that are equal and not borrowed (same), and of those that are borrowed
// in both (neither). A value is borrowed if its highest bit is set.
func CompareValues(a, b []uint64) (same, neither int) {
	b = b[:len(a)]
	if n := len(a) &^ 7; tier == AVX512 && n > 0 {
		same, neither = compareAVX512(&a[0], &b[0], n)
		a, b = a[n:], b[n:]
	} else if n := len(a) &^ 3; tier == AVX2 && n > 0 {
		same, neither = compareAVX2(&a[0], &b[0], n)
		a, b = a[n:], b[n:]
	}
	if len(a) == 0 {
		return same, neither
	}
	s, t := compareGeneric(a, b)
	return same + s, neither + t
}
