package neardup

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Units are the words or characters of a text, folded and side by side in a
// buffer, words with one space between them. So every window of n units is one
// slice of the buffer: word shingles and character n-grams need no copying.
// The text is worked off in blocks; carry moves what a window may still need.
type units struct {
	buf        []byte
	used       int      // bytes of buf in use
	open       int      // where the unit being read starts in buf; used if none is
	start, end []uint32 // the units in buf

	offsets  bool // fill from and to:
	from, to []int
	openFrom int // where the unit being read starts in the text
}

// A lexer appends the units of text from pos on, until the text ends or the
// block is full, and returns the position reached.
type lexer func(u *units, text string, pos int) int

const (
	blockSize = 16 << 10
	slack     = 256 // more than 64 bytes of text and a rune can turn into
	copySlack = 16  // how far copies overshoot
)

// carry empties the block into buf, which may be the same, but for the last
// keep units and the one being read.
func (u *units) carry(keep int, buf []byte) {
	first := max(0, len(u.end)-keep)
	from := u.open
	if first < len(u.end) {
		from = int(u.start[first])
	}
	rest := u.used - from
	if len(buf) < 2*(rest+slack) {
		buf = make([]byte, 2*(rest+slack))
	}
	copy(buf, u.buf[from:u.used])
	n := copy(u.start, u.start[first:])
	copy(u.end, u.end[first:])
	u.start, u.end = u.start[:n], u.end[:n]
	for i := range n {
		u.start[i] -= uint32(from)
		u.end[i] -= uint32(from)
	}
	if u.offsets {
		copy(u.from, u.from[first:])
		copy(u.to, u.to[first:])
		u.from, u.to = u.from[:n], u.to[:n]
	}
	u.buf, u.used, u.open = buf, rest, u.open-from
}

// full reports that the block may not hold what 64 bytes of text turn into.
func (u *units) full() bool { return len(u.buf)-u.used < slack }

// put appends a rune that stands at pos to the unit being read.
func (u *units) put(r rune, pos int) {
	if u.used == u.open {
		u.openFrom = pos
	}
	if uint32(r) < utf8.RuneSelf {
		u.buf[u.used] = byte(r)
		u.used++
		return
	}
	u.used += utf8.EncodeRune(u.buf[u.used:], r)
}

// isHan reports whether b begins with a character from U+4E00 to U+9FFF. They
// are most of a Chinese text, and units of their own.
func isHan(b []byte) bool {
	return len(b) >= 3 && (b[0]-0xE5 <= 0xE9-0xE5 || b[0] == 0xE4 && b[1] >= 0xB8) && b[1]&0xC0 == 0x80 && b[2]&0xC0 == 0x80
}

// putHan begins a unit with such a character, which stands at pos.
func (u *units) putHan(b []byte, pos int) {
	u.openFrom = pos
	u.used += copy(u.buf[u.used:], b[:3])
}

// close ends the unit being read, if there is one, at position pos of the text.
func (u *units) close(pos int) {
	if u.used == u.open {
		return
	}
	u.start = append(u.start, uint32(u.open))
	u.end = append(u.end, uint32(u.used))
	if u.offsets {
		u.from = append(u.from, u.openFrom)
		u.to = append(u.to, pos)
	}
	u.open = u.used
}

// closeWord is close with the space between words.
func (u *units) closeWord(pos int) {
	if u.used == u.open {
		return
	}
	u.close(pos)
	u.buf[u.used] = ' '
	u.used++
	u.open = u.used
}

// lexWords reads words.
func lexWords(u *units, text string, pos int) int {
	b := bytesOf(text)
	var folded [64 + copySlack]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if mask, ok := foldBlock((*[64]byte)(b[pos:]), &folded); ok {
				u.words(&folded, mask, pos)
				pos = end
				continue
			}
		}
		for end = min(end, len(b)); pos < end; {
			if isHan(b[pos:]) {
				u.closeWord(pos)
				u.putHan(b[pos:pos+3], pos)
				pos += 3
				u.closeWord(pos)
				continue
			}
			r, class, size := next(b, pos)
			switch class {
			case separator:
				u.closeWord(pos)
			case single:
				u.closeWord(pos)
				u.put(r, pos)
				u.closeWord(pos + size)
			case letter:
				if u.used-u.open+utf8.RuneLen(r) > maxWord {
					u.closeWord(pos)
				}
				u.put(r, pos)
			}
			pos += size
		}
	}
	if pos == len(b) {
		u.closeWord(pos)
	}
	return pos
}

// words takes in the 64 bytes of ASCII at pos of the text, as foldBlock has
// folded them: bit i of mask says that byte i belongs to a word.
func (u *units) words(folded *[64 + copySlack]byte, mask uint64, pos int) {
	if mask&1 == 0 {
		u.closeWord(pos)
	}
	n := len(u.end)
	start, end := slices.Grow(u.start, 34)[:n+34], slices.Grow(u.end, 34)[:n+34] // words in 64 bytes, one of them cut
	buf, used, open := u.buf, u.used, u.open
	closeAt := func(to int) {
		start[n], end[n] = uint32(open), uint32(used)
		n++
		if u.offsets {
			u.from = append(u.from, u.openFrom)
			u.to = append(u.to, pos+to)
		}
		buf[used] = ' '
		used++
		open = used
	}
	for mask != 0 {
		s := bits.TrailingZeros64(mask)
		e := s + bits.TrailingZeros64(^(mask >> s))
		mask &^= 1<<e - 1
		if used == open {
			u.openFrom = pos + s
		}
		if cut := maxWord - (used - open); e-s > cut {
			used += copy(buf[used:], folded[s:s+cut])
			s += cut
			closeAt(s)
			u.openFrom = pos + s
		}
		// Words are short: two eights nearly always do.
		binary.LittleEndian.PutUint64(buf[used:], binary.LittleEndian.Uint64(folded[s:]))
		binary.LittleEndian.PutUint64(buf[used+8:], binary.LittleEndian.Uint64(folded[s+8:]))
		if e-s > 16 {
			copy(buf[used+16:], folded[s+16:e])
		}
		used += e - s
		if e < 64 {
			closeAt(e)
		}
	}
	u.start, u.end, u.used, u.open = start[:n], end[:n], used, open
}

// foldBlock lowers the case of 64 bytes of ASCII into dst and returns which of
// them are letters or digits, or reports that not all are ASCII. It works on
// eight bytes at a time: adding 128−c to a byte below 128 sets its top bit just
// if the byte is at least c.
func foldBlock(src *[64]byte, dst *[64 + copySlack]byte) (mask uint64, ok bool) {
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

// lexChars reads characters.
func lexChars(u *units, text string, pos int) int {
	b := bytesOf(text)
	var folded [64 + copySlack]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if mask, ok := foldBlock((*[64]byte)(b[pos:]), &folded); ok {
				u.chars(&folded, mask, pos)
				pos = end
				continue
			}
		}
		for end = min(end, len(b)); pos < end; {
			if isHan(b[pos:]) {
				u.putHan(b[pos:pos+3], pos)
				pos += 3
				u.close(pos)
				continue
			}
			r, class, size := next(b, pos)
			if class != separator {
				u.put(r, pos)
				u.close(pos + size)
			}
			pos += size
		}
	}
	return pos
}

// chars is words for characters: it writes every byte, and moves on only if it
// counts.
func (u *units) chars(folded *[64 + copySlack]byte, mask uint64, pos int) {
	n, used := len(u.end), u.used
	start, end := slices.Grow(u.start, 64)[:n+64], slices.Grow(u.end, 64)[:n+64]
	buf := u.buf[used : used+64]
	at := 0
	for i, c := range folded[:64] {
		buf[at&63] = c
		start[n], end[n] = uint32(used+at), uint32(used+at+1)
		counts := int(mask >> i & 1)
		at += counts
		n += counts
	}
	u.start, u.end, u.used, u.open = start[:n], end[:n], used+at, used+at
	if u.offsets {
		for ; mask != 0; mask &= mask - 1 {
			i := pos + bits.TrailingZeros64(mask)
			u.from = append(u.from, i)
			u.to = append(u.to, i+1)
		}
	}
}

// The classes of characters.
type class uint8

const (
	separator class = iota // belongs to no token
	letter                 // part of a word
	single                 // a word of its own
)

// next decodes the character at b[pos] and returns it in lower case with its
// class and its size in b. Invalid UTF-8 is a separator of one byte.
func next(b []byte, pos int) (rune, class, int) {
	c := b[pos]
	if c < utf8.RuneSelf {
		switch {
		case c-'a' < 26 || c-'0' < 10:
			return rune(c), letter, 1
		case c-'A' < 26:
			return rune(c + 'a' - 'A'), letter, 1
		}
		return rune(c), separator, 1
	}
	r, size := utf8.DecodeRune(b[pos:])
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF:
		return r, single, size
	case r >= 0x2000 && r <= 0x206F, r >= 0x3000 && r <= 0x3004, r >= 0x3008 && r <= 0x3020,
		r >= 0xFF01 && r <= 0xFF0F, r >= 0xFF1A && r <= 0xFF20, r == utf8.RuneError:
		return r, separator, size
	case !unicode.In(r, unicode.L, unicode.N, unicode.M):
		return r, separator, size
	case spaceless(r):
		return r, single, size
	}
	return unicode.ToLower(r), letter, size
}

// spaceless reports whether r, a letter, number or mark, belongs to a script
// that is written without spaces between words.
func spaceless(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, // Thai, Lao
		r >= 0x1000 && r <= 0x109F,   // Burmese
		r >= 0x1780 && r <= 0x17FF,   // Khmer
		r >= 0x2E80 && r <= 0x312F,   // radicals, kana, bopomofo
		r >= 0x31A0 && r <= 0x31FF,   // bopomofo, kana
		r >= 0xF900 && r <= 0xFAFF,   // compatibility ideographs
		r >= 0xFF66 && r <= 0xFF9F,   // halfwidth kana
		r >= 0x1AFF0 && r <= 0x1B16F, // kana
		r >= 0x20000 && r <= 0x3FFFF: // ideographs
		return true
	}
	return false
}
