//go:build !purego

package kernel

// MinHash of 10 features takes 250 ns with it and 830 ns without (BenchmarkTiers).
//
//go:noescape
func minRowsAVX2(dst *uint8, stride int, table *uint8, rows *uint8, n int)

// MinRows sets each byte of dst to the smallest of the bytes at its place in some rows of a table. A
// row is as long as dst, a multiple of RowAlign. Without rows, all bytes are 255.
func MinRows(dst, table, rows []uint8) {
	if tier >= AVX2 && len(rows) > 0 && len(dst) > 0 {
		minRowsAVX2(&dst[0], len(dst), &table[0], &rows[0], len(rows))
		return
	}
	minRowsGeneric(dst, table, rows)
}
