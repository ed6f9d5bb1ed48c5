//go:build (!amd64 && !arm64) || purego

package kernel

// CompareValues compares two signatures of the same length, given as words of two values each. It
// returns the number of values that are equal and not borrowed (same), and of those that are borrowed
// in both (neither). A value is borrowed if its highest bit is set.
func CompareValues(a, b []uint64) (same, neither int) { return compareGeneric(a, b) }
