//go:build !purego

package kernel

// The Jaccard similarity of two signatures of 128 values takes 510 instructions with it and 1,290
// without, counted under emulation (BenchmarkTiers). n is a multiple of 4, above 0.
//
//go:noescape
func compareNEON(a, b *uint64, n int) (same, neither int)

// CompareValues compares two signatures of the same length, given as words of two values each. It
// returns the number of values that are equal and not borrowed (same), and of those that are borrowed
// in both (neither). A value is borrowed if its highest bit is set.
func CompareValues(a, b []uint64) (same, neither int) {
	b = b[:len(a)]
	if n := len(a) &^ 3; tier == NEON && n > 0 {
		same, neither = compareNEON(&a[0], &b[0], n)
		a, b = a[n:], b[n:]
	}
	s, t := compareGeneric(a, b)
	return same + s, neither + t
}
