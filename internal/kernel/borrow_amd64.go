//go:build !purego

package kernel

// MinHash of 10 features takes 60 ns with the second, 150 ns with the first, and 250 ns with MinRows (BenchmarkSign, append).
//
//go:noescape
func borrowAVX512(s *uint32, k int, table *uint8, rows *uint8, n int, lent *uint32)

// fewRows is how many rows it takes at most. It needs a multiple of 128 values, and so many places in lent.
const fewRows = 32

//go:noescape
func borrowFewAVX512(s *uint32, k int, table *uint8, rows *uint8, n int, lent *uint32)

//go:noescape
func borrowWideAVX512(s *uint32, k int, rows **uint16, n int, lent *uint32) (late uint32)

func hasBorrowWide() bool { return tier >= AVX512 }

// borrowWide is BorrowWide for the first values, and returns how many these are.
func borrowWide(s []uint32, rows []*uint16, lent []uint32) (done int, ok bool) {
	done = len(s) / borrowWideAlign * borrowWideAlign
	if !hasBorrowWide() || done == 0 || len(rows) == 0 {
		return 0, true
	}
	return done, borrowWideAVX512(&s[0], done, &rows[0], len(rows), &lent[0]) == 0
}

// Borrow sets each value of s that has all bits set to the value of lent for one of the rows: the one that has the smallest byte at its
// place. A row of the table is as long as s, and lent as rows. It reports whether it has: it needs a kernel, at least one row,
// and a multiple of BorrowAlign values.
func Borrow(s []uint32, table, rows []uint8, lent []uint32) bool {
	if tier < AVX512 || len(rows) == 0 || len(lent) < len(rows) || len(s) == 0 || len(s)%BorrowAlign != 0 {
		return false
	}
	if len(rows) <= fewRows && len(lent) >= fewRows && len(s)%(2*BorrowAlign) == 0 {
		borrowFewAVX512(&s[0], len(s), &table[0], &rows[0], len(rows), &lent[0])
		return true
	}
	borrowAVX512(&s[0], len(s), &table[0], &rows[0], len(rows), &lent[0])
	return true
}
