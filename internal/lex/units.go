package lex

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/ucd"
)

// Units are the words or characters of a text, folded and side by side in a
// buffer, words with one space between them. So every window of n units is one
// slice of the buffer: word shingles and character n-grams need no copying.
// The text is worked off in blocks; carry moves what a window may still need.
//
// The unit being read is open until a character shows that it has ended, or the
// text has: a combining mark may still belong to it.
type units struct {
	chars      bool // units are characters, not words
	buf        []byte
	used       int      // bytes of buf in use
	open       int      // where the unit being read starts in buf; used if none is
	lone       bool     // the unit being read takes no more letters, only marks
	start, end []uint32 // the units in buf

	Offsets  bool // fill from and to:
	from, to []int
	openFrom int // where the unit being read starts in the text
	base     int // where the piece that is being read starts in the text
}

const (
	blockSize = 16 << 10
	slack     = 256 // more than 64 bytes of text and a run of Han can turn into
)

// lex appends the units of a piece of text from pos on, until the piece ends or
// the block is full, and returns the position reached. The last unit stays open. A
// piece must not end inside a character, unless the text does.
func (u *units) lex(piece string, pos int) int {
	if u.chars {
		return u.lexChars(Bytes(piece), pos)
	}
	return u.lexWords(Bytes(piece), pos)
}

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
	if u.Offsets {
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
		u.openFrom = u.base + pos
	}
	if uint32(r) < utf8.RuneSelf {
		u.buf[u.used] = byte(r)
		u.used++
		return
	}
	u.used += utf8.EncodeRune(u.buf[u.used:], r)
}

// fits reports whether r may be appended to the unit being read.
func (u *units) fits(r rune) bool { return u.used-u.open+utf8.RuneLen(r) <= MaxWord }

// IsHan reports whether b begins with a character from U+4E00 to U+9FFF. They
// are most of a Chinese text, and units of their own.
func IsHan(b []byte) bool {
	return len(b) >= 3 && (b[0]-0xE5 <= 0xE9-0xE5 || b[0] == 0xE4 && b[1] >= 0xB8) && b[1]&0xC0 == 0x80 && b[2]&0xC0 == 0x80
}

// han takes in the run of such characters at pos and returns where it ends. gap is
// the number of spaces after a unit. The unit being read must have been closed; the
// last character becomes the next one.
func (u *units) han(b []byte, pos, gap int) int {
	u.start, u.end = slices.Grow(u.start, 22), slices.Grow(u.end, 22)
	n := len(u.end)
	start, end := u.start[:n+22], u.end[:n+22]
	for limit := n + 22; ; n++ {
		out := u.buf[u.used : u.used+4]
		out[0], out[1], out[2], out[3] = b[pos], b[pos+1], b[pos+2], ' '
		u.openFrom = u.base + pos
		pos += 3
		if n == limit || !IsHan(b[pos:]) {
			break
		}
		start[n], end[n] = uint32(u.used), uint32(u.used+3)
		u.used += 3 + gap
		if u.Offsets {
			u.from, u.to = append(u.from, u.openFrom), append(u.to, u.base+pos)
		}
	}
	u.start, u.end = start[:n], end[:n]
	u.open = u.used
	u.used += 3
	u.lone = true
	return pos
}

// close ends the unit being read, if there is one, at position pos of the piece.
func (u *units) close(pos int) {
	u.lone = false
	if u.used == u.open {
		return
	}
	u.start = append(u.start, uint32(u.open))
	u.end = append(u.end, uint32(u.used))
	if u.Offsets {
		u.from = append(u.from, u.openFrom)
		u.to = append(u.to, u.base+pos)
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
func (u *units) lexWords(b []byte, pos int) int {
	var folded [64 + kernel.Slack]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if mask, ok := kernel.FoldBlock((*[64]byte)(b[pos:]), &folded); ok {
				u.asciiWords(&folded, mask, pos)
				pos = end
				continue
			}
		}
		for end = min(end, len(b)); pos < end; {
			if IsHan(b[pos:]) {
				u.closeWord(pos)
				pos = u.han(b, pos, 1)
				continue
			}
			r, class, size := Next(b, pos)
			switch class {
			case Separator:
				u.closeWord(pos)
			case Single:
				u.closeWord(pos)
				u.put(r, pos)
				u.lone = true
			case Letter:
				if u.lone || !u.fits(r) {
					u.closeWord(pos)
				}
				u.put(r, pos)
			case Mark: // or nothing, if there is no character to belong to
				if u.used > u.open && u.fits(r) {
					u.put(r, pos)
				}
			}
			pos += size
		}
	}
	return pos
}

// asciiWords takes in the 64 bytes of ASCII at pos of the piece, as foldBlock has
// folded them: bit i of mask says that byte i belongs to a word.
func (u *units) asciiWords(folded *[64 + kernel.Slack]byte, mask uint64, pos int) {
	if mask&1 == 0 || u.lone {
		u.closeWord(pos)
	}
	if u.used != u.open { // the word being read goes on
		e := bits.TrailingZeros64(^mask)
		u.extend(folded, 0, e, pos)
		if e == 64 {
			return
		}
		u.closeWord(pos + e)
		mask &= mask + 1 // without the lowest run of ones
	}
	last := 64 - bits.LeadingZeros64(^mask) // where the word starts that may go on
	mask &= 1<<last - 1
	if u.Offsets {
		for m := mask; m != 0; m &= m + m&-m {
			s := bits.TrailingZeros64(m)
			u.from = append(u.from, u.base+pos+s)
			u.to = append(u.to, u.base+pos+s+bits.TrailingZeros64(^(m>>s)))
		}
	}
	n := len(u.end)
	u.start, u.end = slices.Grow(u.start, 32), slices.Grow(u.end, 32)
	start, end := (*[32]uint32)(u.start[n:n+32]), (*[32]uint32)(u.end[n:n+32])
	out, used := u.buf[u.used:], uint32(u.used)
	at, k := 0, 0
	for ; mask != 0; k++ {
		s := bits.TrailingZeros64(mask)
		size := bits.TrailingZeros64(^(mask >> s))
		mask &= mask + mask&-mask
		*(*[16]byte)(out[at:]) = *(*[16]byte)(folded[s:]) // words are short: this nearly always does
		if size > 16 {
			copy(out[at+16:], folded[s+16:s+size])
		}
		start[k&31] = used + uint32(at)
		at += size
		end[k&31] = used + uint32(at)
		out[at] = ' '
		at++
	}
	u.start, u.end = u.start[:n+k], u.end[:n+k]
	u.used += at
	u.open = u.used
	if last < 64 {
		u.extend(folded, last, 64, pos)
	}
}

// extend appends bytes s to e of a block of ASCII to the word being read.
func (u *units) extend(folded *[64 + kernel.Slack]byte, s, e, pos int) {
	if u.used == u.open {
		u.openFrom = u.base + pos + s
	}
	if fit := MaxWord - (u.used - u.open); e-s > fit {
		u.used += copy(u.buf[u.used:], folded[s:s+fit])
		s += fit
		u.closeWord(pos + s)
		u.openFrom = u.base + pos + s
	}
	*(*[16]byte)(u.buf[u.used:]) = *(*[16]byte)(folded[s:])
	if e-s > 16 {
		copy(u.buf[u.used+16:], folded[s+16:e])
	}
	u.used += e - s
}

// lexChars reads characters.
func (u *units) lexChars(b []byte, pos int) int {
	var folded [64 + kernel.Slack]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if mask, ok := kernel.FoldBlock((*[64]byte)(b[pos:]), &folded); ok {
				u.asciiChars(&folded, mask, pos)
				pos = end
				continue
			}
		}
		for end = min(end, len(b)); pos < end; {
			if IsHan(b[pos:]) {
				u.close(pos)
				pos = u.han(b, pos, 0)
				continue
			}
			r, class, size := Next(b, pos)
			switch class {
			case Separator:
				u.close(pos)
			case Letter, Single:
				u.close(pos)
				u.put(r, pos)
			case Mark:
				if u.used > u.open && u.fits(r) {
					u.put(r, pos)
				}
			}
			pos += size
		}
	}
	return pos
}

// asciiChars is asciiWords for characters: it writes every byte, and moves on only
// if it counts.
func (u *units) asciiChars(folded *[64 + kernel.Slack]byte, mask uint64, pos int) {
	u.close(pos)
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
	u.used += at
	u.open = u.used
	open := mask>>63 != 0
	if open { // the last one
		n--
		u.open--
		mask &^= 1 << 63
	}
	u.start, u.end = start[:n], end[:n]
	if u.Offsets {
		for ; mask != 0; mask &= mask - 1 {
			i := pos + bits.TrailingZeros64(mask)
			u.from = append(u.from, u.base+i)
			u.to = append(u.to, u.base+i+1)
		}
	}
	if open {
		u.openFrom = u.base + pos + 63
	}
}

// The classes of characters.
type Class uint8

const (
	Separator = Class(ucd.Separator) // belongs to no token
	Letter    = Class(ucd.Letter)    // part of a word
	Single    = Class(ucd.Single)    // a word of its own
	Mark      = Class(ucd.Mark)      // part of what is before it
	Ignored   = Class(ucd.Ignored)   // as if it were not there
)

// Next decodes the character at b[pos] and returns it folded, with its class and
// its size in b. Invalid UTF-8 is a separator of one byte.
func Next(b []byte, pos int) (rune, Class, int) {
	c := b[pos]
	if c < utf8.RuneSelf {
		switch {
		case c-'a' < 26 || c-'0' < 10:
			return rune(c), Letter, 1
		case c-'A' < 26:
			return rune(c + 'a' - 'A'), Letter, 1
		}
		return rune(c), Separator, 1
	}
	r, size := utf8.DecodeRune(b[pos:])
	p := ucd.Props(r)
	if p&ucd.Folds != 0 {
		r = ucd.Fold(r)
	}
	return r, Class(p & ucd.ClassMask), size
}

// Partial returns the number of bytes at the end of b that may be the beginning
// of a character.
func Partial(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

// MaxWord is the longest word in bytes; a longer run of letters is cut into
// pieces, so that the memory needed for hostile input stays bounded.
const MaxWord = 128
