package kernel

import (
	"encoding/binary"
)

// Slack is how far copies of words may overshoot.
const Slack = 16

// FoldBlockGeneric lowers the case of 64 bytes of ASCII into dst and returns which
// of them are letters or digits, or reports that not all are ASCII. It works on
// eight bytes at a time: adding 128−c to a byte below 128 sets its top bit just
// if the byte is at least c.
func FoldBlockGeneric(src *[64]byte, dst *[64 + Slack]byte) (mask uint64, ok bool) {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	for i := 0; i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		if x&tops != 0 {
			return 0, false
		}
		upper := (x + (0x80-'A')*ones) &^ (x + (0x80-'Z'-1)*ones) & tops
		x |= upper >> 2 // 0x80 >> 2 is the bit between 'A' and 'a'
		lower := (x + (0x80-'a')*ones) &^ (x + (0x80-'z'-1)*ones)
		digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones)
		m := (lower | digit) & tops
		binary.LittleEndian.PutUint64(dst[i:], x)
		mask |= (m >> 7 * 0x0102040810204080 >> 56) << i
	}
	return mask, true
}
