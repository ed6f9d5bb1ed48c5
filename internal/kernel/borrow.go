package kernel

import "unsafe"

// This file gives the empty values of a MinHash signature those of the rows of a table: the value that lent has for the row that
// has the smallest byte at its place. [MinRows] finds the smallest bytes for whoever has no such kernel. Signatures of more than 256
// values have rows of 16 bits.

const (
	// BorrowAlign is what the number of values is a multiple of, for rows of bytes.
	BorrowAlign = 64

	borrowWideAlign = 32

	// Never in a row of 16 bits is greater than all that is known.
	Never = 1<<16 - 1
)

// BorrowWide sets each value of s that has all bits set to the value of lent for one of the rows: the first that has the smallest
// number at its place. There must be a row at least, and each must be as long as s; lent is as long as rows. It returns false if all
// rows may have Never at some place: then s is to be filled in another way.
func BorrowWide(s []uint32, rows []*uint16, lent []uint32) bool {
	lent = lent[:len(rows)]
	done, ok := borrowWide(s, rows, lent)
	rest := s[done:]
	for i, v := range rest {
		if v != 1<<32-1 {
			continue
		}
		least := uint32(Never) << 16
		for j, row := range rows {
			least = min(least, uint32(unsafe.Slice(row, len(s))[done+i])<<16|uint32(j))
		}
		ok = ok && least>>16 != Never
		rest[i] = lent[least&0xFFFF]
	}
	return ok
}

// BorrowsWide reports whether BorrowWide takes less time for k values than if each looks for one that is not empty, which is
// the sooner the more rows there are (BenchmarkSign).
func BorrowsWide(k, rows int) bool {
	if hasBorrowWide() {
		return rows*rows <= 60*k
	}
	return rows*rows <= 6*k
}
