// Package lex is the lexer of the library: it cuts a text into units, which are words or
// characters, and offers runs of n units (shingles and n-grams) to tokenizers and hashes.
//
// The lexer folds letters (case, width, font), composes what is decomposed (combine.go), skips
// separators, drops ignored characters such as soft hyphens, and attaches combining marks to the
// character before them. Which character is what comes from package ucd and does not depend on the
// Go toolchain. Time is linear in the text, and memory is bounded by the longest window, whatever
// the bytes.
//
// The core is units.go. Two kinds of readers are built on it: Windows for tokenizers, whose strings
// may be kept, and Batch for hashing without allocation.
package lex

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/ucd"
)

// The lexer writes the folded units of a text side by side into a buffer, words with one space
// between them and characters with nothing. So every window of n units is one slice of the buffer:
// word shingles and character n-grams need no copying. For the words of "The  CAT, sat":
//
//	buf    t h e _ c a t _ s a t
//	start  0       4       |         complete units: start[i] and end[i] delimit unit i in buf
//	end          3       7 |
//	                       open = 8  the unit being read is buf[open:used]
//	                             used = 11
//
// The last unit stays open until the next character or the end of the text shows that it has ended,
// because a combining mark or, in a word, another letter may still belong to it.
//
// The buffer is filled in blocks. When it is full, carry moves the units that a window may still
// need to the front of a buffer, the same one or a new one. There are four ways through the text:
//
//   - 64 bytes of ASCII at once, all by a kernel, where there is one for words (blockWords);
//   - 64 bytes of ASCII at once, which foldBlock folds, with a bit mask of the letters and digits
//     (asciiWords, asciiChars);
//   - runs of the most common Han characters, which need no table (han);
//   - everything else character by character with the tables of package ucd (Next).
//
// All of them give the same units. Which way a text takes is only a matter of speed.

// units holds the units of the current block.
type units struct {
	chars      bool     // units are characters, not words
	buf        []byte   // folded text, see above
	used       int      // bytes of buf in use
	open       int      // where the unit being read starts in buf; equals used if there is none
	lone       bool     // the unit being read takes no more letters, only marks
	start, end []uint32 // complete units, as offsets in buf

	// If Offsets is set, from[i] and to[i] delimit unit i in the original text. to includes the
	// ignored characters behind the unit.
	Offsets  bool
	from, to []int
	openFrom int // where the unit being read starts in the text
	base     int // where the current piece starts in the text
}

const (
	// blockSize is the size of the buffer, unless the units of one window need more.
	blockSize = 16 << 10

	// slack is more than the free space that one step of the lexer may need. A step reads 64 bytes,
	// and the Han characters that continue a run across the end of them. The 64 bytes become about
	// 110 at worst: 22 characters of three bytes that each fold to four and get a space. One call
	// of han writes at most 23 characters with their spaces, 92 bytes. Copies of words in a block
	// of ASCII may write up to 16 bytes too far. Of 64 bytes of characters that combine, all may
	// decompose into twice as many.
	slack = 256
)

// lex appends the units of piece from pos on, until the piece ends or the block is full, and
// returns the position reached. The last unit stays open; the caller closes it at the end of the
// text. A piece must not end inside a character, unless the text does.
func (u *units) lex(piece string, pos int) int {
	if u.chars {
		return u.lexChars(Bytes(piece), pos)
	}
	return u.lexWords(Bytes(piece), pos)
}

// carry starts a new block in buf with the last keep complete units and the unit being read. All
// other units are forgotten. buf may be the current buffer. If it is less than twice as large as
// needed, carry allocates one that is, so the cost of moving is amortised over the text.
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

// full reports whether there might be no room for another step of the lexer, see slack.
func (u *units) full() bool { return len(u.buf)-u.used < slack }

// put appends r, which is folded and stands at pos in the piece, to the unit being read. It begins
// a unit if none is open.
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

// fits reports whether the unit being read is still at most MaxWord bytes long with r. A letter
// that does not fit begins a new word; a mark that does not fit is dropped.
func (u *units) fits(r rune) bool { return u.used-u.open+utf8.RuneLen(r) <= MaxWord }

// SentenceEnds are the Chinese marks that end a sentence, or a part of one that says something by itself.
const SentenceEnds = "。！？；"

// IsHan reports whether b begins with a character from U+4E00 to U+9FFF. Those are most of a
// Chinese text. Each is three bytes of UTF-8, folds to itself and is a unit of its own, so it needs
// no table.
func IsHan(b []byte) bool {
	return len(b) >= 3 && isHan(three(b))
}

// three returns three bytes, the first one lowest.
func three(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// isHan is IsHan for three bytes, the first one lowest; the fourth may be any.
func isHan(x uint32) bool {
	const first, last = 0xE4B8, 0xE9BF // the first two bytes
	return x&0xC0_C0_00 == 0x80_80_00 && bits.ReverseBytes16(uint16(x))-first <= last-first
}

// han reads a run of characters for which IsHan holds, starting at pos, and returns the position
// behind it. gap is the number of spaces after a unit: 1 for words, 0 for characters. The caller
// must have closed the unit being read. The last character read stays open, because a mark may
// follow.
//
// One call reads at most 23 characters, which bounds what it writes. 22 characters are the 64 bytes
// of a step, rounded up; the caller's loop continues a longer run.
func (u *units) han(b []byte, pos, gap int) int {
	u.start, u.end = slices.Grow(u.start, 22), slices.Grow(u.end, 22)
	n := len(u.end)
	start, end := u.start[:n+22], u.end[:n+22]
	buf, used := u.buf, u.used // not in u, where each step would wait for the one before
	x := three(b[pos:])
	for limit := n + 22; ; n++ {
		// Always write four bytes: without a gap, the next character overwrites the space.
		binary.LittleEndian.PutUint32(buf[used:], x&0xFFFFFF|' '<<24)
		if pos += 3; n == limit {
			break
		}
		switch rest := b[pos:]; {
		case len(rest) >= 4:
			x = binary.LittleEndian.Uint32(rest)
		case len(rest) == 3:
			x = three(rest)
		default:
			x = 0
		}
		if !isHan(x) {
			break
		}
		start[n], end[n] = uint32(used), uint32(used+3)
		used += 3 + gap
		if u.Offsets {
			u.from, u.to = append(u.from, u.base+pos-3), append(u.to, u.base+pos)
		}
	}
	u.start, u.end = start[:n], end[:n]
	u.openFrom, u.open, u.used = u.base+pos-3, used, used+3
	u.lone = true
	return pos
}

// close ends the unit being read, if there is one, at position pos of the piece. No unit is lone
// afterwards.
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

// closeWord is close for words: it also writes the space between this word and the next.
func (u *units) closeWord(pos int) {
	if u.used == u.open {
		return
	}
	u.close(pos)
	u.buf[u.used] = ' '
	u.used++
	u.open = u.used
}

// lexWords is lex for words. It takes steps of 64 bytes, as one block if all of them are ASCII.
func (u *units) lexWords(b []byte, pos int) int {
	var folded [64 + slackBytes]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if u.blockWords((*[64]byte)(b[pos:])) {
				pos = end
				continue
			}
			if mask, ok := foldBlock((*[64]byte)(b[pos:]), &folded); ok {
				u.asciiWords(&folded, mask, pos)
				pos = end
				continue
			}
		}
		// Some byte is not ASCII, or fewer than 64 are left.
		for end = min(end, len(b)); pos < end; {
			if IsHan(b[pos:]) {
				u.closeWord(pos)
				pos = u.han(b, pos, 1)
				continue
			}
			r, class, size := next(b, pos)
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
			case Mark: // a mark with no character before it is ignored
				if u.used > u.open && u.fits(r) {
					u.put(r, pos)
				}
			case combining:
				u.combine(r, pos)
			}
			pos += size
		}
	}
	return pos
}

// blockWords reads 64 bytes of ASCII with a kernel. It reports whether it has: there must be a kernel,
// all bytes must be ASCII, and it leaves what is rare to asciiWords, which is a unit before that
// takes no more letters, a word that may get too long, and offsets that are asked for.
func (u *units) blockWords(src *[64]byte) bool {
	if !kernel.CutsWords() || u.lone || u.Offsets || u.used-u.open > MaxWord-64 {
		return false
	}
	open := 0 // 1 if the open word may go on
	if u.used > u.open {
		open = 1
	}
	n := len(u.end)
	u.start, u.end = slices.Grow(u.start, 33), slices.Grow(u.end, 33)
	start, end := u.start[:n+33], u.end[:n+33]
	size, starts, ends, ok := kernel.Words(src, (*[64]byte)(u.buf[u.used:]), (*[32]uint32)(start[n+open:]), (*[32]uint32)(end[n:]), uint32(u.used), uint64(open))
	if !ok {
		return false
	}
	if open == 1 {
		start[n] = uint32(u.open)
	}
	u.used += size
	if u.open = u.used; open+starts > ends {
		u.open = int(start[n+ends])
	}
	u.start, u.end = start[:n+ends], end[:n+ends]
	return true
}

// asciiWords reads the 64 bytes of ASCII at pos. folded and mask come from foldBlock: bit i
// of mask says that byte i is a letter or a digit. So every run of ones is a word:
//
//	text   e   c a t ,   a n d   d o      lowest bit on the left
//	mask   1 0 1 1 1 0 0 1 1 1 0 1 1
//	       ^   ^         ^       ^
//	       |   complete words    may go on in the next block, if it reaches bit 63
//	       goes on with the word that is open from the block before
//
// Adding the lowest set bit of a mask carries through the lowest run of ones, and a bitwise and
// with the mask then clears that run. Each loop below goes from run to run that way.
func (u *units) asciiWords(folded *[64 + slackBytes]byte, mask uint64, pos int) {
	if mask&1 == 0 || u.lone {
		u.closeWord(pos)
	}
	if u.used != u.open { // the open word goes on, so bit 0 of mask is set
		e := bits.TrailingZeros64(^mask)
		u.extend(folded, 0, e, pos)
		if e == 64 {
			return
		}
		u.closeWord(pos + e)
		mask &= mask + 1 // clear the run of ones that starts at bit 0
	}
	// last is where the word starts that reaches the end of the block, or 64. It stays open.
	last := 64 - bits.LeadingZeros64(^mask)
	mask &= 1<<last - 1
	if u.Offsets {
		for m := mask; m != 0; m &= m + m&-m {
			s := bits.TrailingZeros64(m)
			u.from = append(u.from, u.base+pos+s)
			u.to = append(u.to, u.base+pos+s+bits.TrailingZeros64(^(m>>s)))
		}
	}
	// 64 bits have at most 32 runs of ones. Arrays of 32 and the index k&31 spare the bounds
	// checks.
	n := len(u.end)
	u.start, u.end = slices.Grow(u.start, 32), slices.Grow(u.end, 32)
	start, end := (*[32]uint32)(u.start[n:n+32]), (*[32]uint32)(u.end[n:n+32])
	out, used := u.buf[u.used:], uint32(u.used)
	at, k := 0, 0
	for ; mask != 0; k++ {
		s := bits.TrailingZeros64(mask)
		size := bits.TrailingZeros64(^(mask >> s))
		mask &= mask + mask&-mask
		// Copy 16 bytes whatever the size: most words are no longer, and a copy of fixed size is
		// two instructions. What is too much is overwritten by the next word. folded ends with
		// slackBytes more bytes, so the copy may read beyond byte 63.
		*(*[16]byte)(out[at:]) = *(*[16]byte)(folded[s:])
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

// extend appends the bytes s to e−1 of a folded block to the word being read, or begins a word with
// them. A word that would get longer than MaxWord is cut there and goes on as a new one. One cut is
// enough, since a block is shorter than MaxWord.
func (u *units) extend(folded *[64 + slackBytes]byte, s, e, pos int) {
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

// lexChars is lex for characters. It differs from lexWords in that every letter is a unit, and that
// there are no spaces between units.
func (u *units) lexChars(b []byte, pos int) int {
	var folded [64 + slackBytes]byte
	for pos < len(b) && !u.full() {
		end := pos + 64
		if end <= len(b) {
			if mask, ok := foldBlock((*[64]byte)(b[pos:]), &folded); ok {
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
			r, class, size := next(b, pos)
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
			case combining:
				u.combine(r, pos)
			}
			pos += size
		}
	}
	return pos
}

// asciiChars is asciiWords for characters. It has no branch that depends on the text: it writes
// every byte and its offsets, but moves on only if the bit in mask is set, so that the next byte
// overwrites one that does not count. The last character stays open if it is at the end of the
// block.
func (u *units) asciiChars(folded *[64 + slackBytes]byte, mask uint64, pos int) {
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
	if open { // take back the unit of byte 63
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

// A Class says what the lexer does with a character. The values are those of package ucd.
type Class uint8

const (
	Separator = Class(ucd.Separator) // belongs to no token
	Letter    = Class(ucd.Letter)    // part of a word
	Single    = Class(ucd.Single)    // a word of its own
	Mark      = Class(ucd.Mark)      // part of the character before it
	Ignored   = Class(ucd.Ignored)   // skipped, without ending a word

	combining = Ignored + 1 // of any of these classes; see combine.go
)

// Next decodes the character at b[pos] and returns its folded form, its class and its size in b.
// Invalid UTF-8 is a separator of one byte.
func Next(b []byte, pos int) (rune, Class, int) {
	r, class, size := next(b, pos)
	if class == combining {
		class = Class(ucd.Props(r) & ucd.ClassMask)
	}
	return r, class, size
}

// next is Next, but the class of what combines is combining.
func next(b []byte, pos int) (rune, Class, int) {
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
	if p&(ucd.Folds|ucd.Combines) != 0 {
		if p&ucd.Folds != 0 {
			r = ucd.Fold(r)
		}
		if p&ucd.Combines != 0 {
			return r, combining, size
		}
	}
	return r, Class(p & ucd.ClassMask), size
}

// Partial returns the number of bytes at the end of b, at most three, that are an incomplete but so
// far valid character. A caller that cuts a text there never splits a character.
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

// MaxWord is the length of the longest word in bytes. A longer run of letters is cut into words of
// this length, so that hostile input cannot make a window arbitrarily large.
const MaxWord = 128
