//go:build (!amd64 && !arm64) || purego

package kernel

// MinRows sets each byte of dst to the smallest of the bytes at its place in some rows of a table. A
// row is as long as dst, a multiple of RowAlign. Without rows, all bytes are 255.
func MinRows(dst, table, rows []uint8) { minRowsGeneric(dst, table, rows) }
