//go:build !amd64 || purego

package kernel

// Borrow sets each value of s that has all bits set to the value of lent for one of the rows: the one that has the smallest byte at its
// place. A row of the table is as long as s, and lent as rows. It reports whether it has: it needs a kernel, at least one row,
// and a multiple of BorrowAlign values.
func Borrow([]uint32, []uint8, []uint8, []uint32) bool { return false }

func hasBorrowWide() bool { return false }

func borrowWide([]uint32, []*uint16, []uint32) (done int, ok bool) { return 0, true }
