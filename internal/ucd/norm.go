package ucd

import "unicode/utf8"

// maxMarks is the number of combining marks that are put into order; more of them
// on one character are taken as a new row. UAX #15 has the same limit in its
// stream-safe format. Real text stays far below.
const maxMarks = 30

// AppendNormalized appends text to dst in a form of normalisation (Unicode
// Standard Annex #15). Bytes that are not UTF-8 are copied as they stand. It
// takes time linear in the text.
func AppendNormalized(dst []byte, text []byte, form Form) []byte {
	c := composer{dst: dst, form: form}
	copied := 0 // what of text is in dst
	last := 0   // the last stable character, with which others may compose
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			last = i
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError || Props(r)&Stable != 0 {
			last = i
			i += size
			continue
		}
		// From the last stable character to the next.
		if r, size := utf8.DecodeRune(text[last:]); r == utf8.RuneError {
			last += size // no character at all, or U+FFFD, which composes with nothing
		}
		c.dst = append(c.dst, text[copied:last]...)
		for i = last; i < len(text); {
			r, size := utf8.DecodeRune(text[i:])
			if i > last && (r == utf8.RuneError || Props(r)&Stable != 0) {
				break
			}
			c.add(r)
			i += size
		}
		c.flush()
		copied, last = i, i
	}
	return append(c.dst, text[copied:]...)
}

// A composer puts characters into a form, one after the other.
type composer struct {
	dst  []byte
	form Form

	starter rune // −1 if there is none
	some    bool // anything to flush
	marks   [maxMarks]rune
	classes [maxMarks]uint8
	n       int
}

// Hangul syllables are composed of letters by arithmetic.
const (
	hangulBase, hangulCount = 0xAC00, 11172
	leadBase, leadCount     = 0x1100, 19
	vowelBase, vowelCount   = 0x1161, 21
	tailBase, tailCount     = 0x11A7, 28
)

// add decomposes r and takes it in.
func (c *composer) add(r rune) {
	if s := uint32(r) - hangulBase; s < hangulCount {
		c.put(rune(leadBase + s/(vowelCount*tailCount)))
		c.put(rune(vowelBase + s%(vowelCount*tailCount)/tailCount))
		if t := s % tailCount; t != 0 {
			c.put(rune(tailBase + t))
		}
		return
	}
	d := Decompose(r, c.form)
	if d == "" {
		c.put(r)
	}
	for _, r := range d {
		c.put(r)
	}
}

// put takes in a character that does not decompose.
func (c *composer) put(r rune) {
	if class := CombiningClass(r); class != 0 {
		if c.n == maxMarks {
			c.flush()
		}
		if !c.some {
			c.starter, c.some = -1, true
		}
		i := c.n
		for ; i > 0 && c.classes[i-1] > class; i-- {
			c.marks[i], c.classes[i] = c.marks[i-1], c.classes[i-1]
		}
		c.marks[i], c.classes[i] = r, class
		c.n++
		return
	}
	if c.some {
		c.compose()
		if c.n == 0 && c.starter >= 0 {
			if to, ok := Compose(c.starter, r); ok {
				c.starter = to
				return
			}
		}
		c.flush()
	}
	c.starter, c.some = r, true
}

// compose composes the starter with its marks.
func (c *composer) compose() {
	if c.starter < 0 {
		return
	}
	n, last := 0, uint8(0)
	for i, m := range c.marks[:c.n] {
		if c.classes[i] != last {
			if to, ok := Compose(c.starter, m); ok {
				c.starter = to
				continue
			}
		}
		last = c.classes[i]
		c.marks[n], c.classes[n] = m, last
		n++
	}
	c.n = n
}

// flush writes what there is.
func (c *composer) flush() {
	if !c.some {
		return
	}
	c.compose()
	if c.starter >= 0 {
		c.dst = utf8.AppendRune(c.dst, c.starter)
	}
	for _, m := range c.marks[:c.n] {
		c.dst = utf8.AppendRune(c.dst, m)
	}
	c.n, c.some = 0, false
}
