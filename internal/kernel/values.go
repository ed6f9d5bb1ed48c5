package kernel

// This file compares MinHash signatures.

// compareGeneric is [CompareValues] in portable Go. It counts in the two halves of a word at once.
func compareGeneric(a, b []uint64) (same, neither int) {
	const high = 1<<63 | 1<<31 // bits of values
	b = b[:len(a)]
	s, n := uint64(0), uint64(0) // each counts in two halves
	for i, x := range a {
		y := b[i]
		// A half of d is 0 if and only if the values are equal and not borrowed.
		d := x ^ y | x&high
		s += ^((d&^high + ^uint64(high)) | d) & high >> 31 // adds 1 in each half of d that is 0
		n += x & y & high >> 31
	}
	return int(uint32(s) + uint32(s>>32)), int(uint32(n) + uint32(n>>32))
}
