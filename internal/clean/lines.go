package clean

import (
	"slices"

	"github.com/neardup/neardup/internal/lex"
)

// A Lines is a set of lines, by the hashes of their words.
type Lines struct {
	Sorted []uint64 // sorted
}

// has reports whether a line is in the set.
func (b *Lines) has(line []byte) bool {
	h, ok := LineHash(line)
	if !ok {
		return false
	}
	_, found := slices.BinarySearch(b.Sorted, h)
	return found
}

// LineHash hashes the words of a line as [Words] has them, and reports whether
// there are any.
func LineHash(line []byte) (uint64, bool) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	b.Reset(false, 1)
	b.Read(lex.String(line), true)
	sum := uint64(0)
	for b.Next() {
		for _, h := range b.Hash64() {
			sum = (sum ^ h) * 0x9E3779B97F4A7C15
			sum ^= sum >> 32
		}
	}
	return sum, b.Seen
}
