package lex

import "encoding/binary"

// This file lowers the case of text and finds its words, 64 bytes of ASCII at a time. Text that is
// not ASCII goes another, slower way, and where there is a kernel that does all of it at once,
// words do too (kernel.Words).

// slackBytes is the number of bytes behind a folded block. A word may be copied from the block in steps
// of a fixed size, which may read so far beyond its end.
const slackBytes = 16

// foldBlock lowers the case of 64 bytes of ASCII into dst, and returns which of them are letters or
// digits: bit i of mask stands for byte i. If not all bytes are ASCII, ok is false and dst is
// unspecified. It leaves the slack of dst as it is. It works on the eight bytes of a word at a time.
// That is possible because all are below 128: adding 128−c to such a byte sets its top bit if and
// only if the byte is c or more, and carries nothing into the next byte.
func foldBlock(src *[64]byte, dst *[64 + slackBytes]byte) (mask uint64, ok bool) {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	for i := 0; i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		if x&tops != 0 {
			return 0, false
		}
		// Each of these has the top bit of the bytes from A to Z, a to z, or 0 to 9.
		upper := (x + (0x80-'A')*ones) &^ (x + (0x80-'Z'-1)*ones) & tops
		x |= upper >> 2 // 0x80 >> 2 is the bit between 'A' and 'a'
		lower := (x + (0x80-'a')*ones) &^ (x + (0x80-'z'-1)*ones)
		digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones)
		m := (lower | digit) & tops
		binary.LittleEndian.PutUint64(dst[i:], x)
		// The product moves the lowest bits of the eight bytes side by side into the top byte.
		mask |= (m >> 7 * 0x0102040810204080 >> 56) << i
	}
	return mask, true
}
