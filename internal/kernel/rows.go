package kernel

import "encoding/binary"

// This file finds, for every place, the smallest byte that some rows of a table have there. MinHash
// finds by it from which bin each empty one borrows.

// RowAlign is what the length of a row is a multiple of.
const RowAlign = 32

// minRowsGeneric is [MinRows] in portable Go, on the eight bytes of a word at a time.
func minRowsGeneric(dst, table, rows []uint8) {
	const tops = 0x8080808080808080
	for i := 0; i < len(dst); i += 8 {
		least := ^uint64(0)
		for _, r := range rows {
			x := binary.LittleEndian.Uint64(table[int(r)*len(dst)+i:])
			// The top bit of each byte of ge says whether the byte of least is at least that of x.
			ge := (least&^x | ^(least^x)&((least|tops)-(x&^tops))) & tops
			mask := ge >> 7 * 0xFF // all bits of these bytes
			least = x&mask | least&^mask
		}
		binary.LittleEndian.PutUint64(dst[i:], least)
	}
}
