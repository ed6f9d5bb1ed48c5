package kernel

// This file gives the empty values of a MinHash signature those of the rows of a table: the value that lent has for the row that
// has the smallest byte at its place. [MinRows] finds the smallest bytes for whoever has no such kernel.

// BorrowAlign is what the number of values is a multiple of.
const BorrowAlign = 64
