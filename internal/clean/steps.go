package clean

import (
	"bytes"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/ucd"
)

// A Steps says what to do with a text, in the order of its fields. The zero value changes nothing.
type Steps struct {
	HTML                         bool
	Form                         Form
	Fold                         bool
	URLs, Emails, Dates, Numbers Treatment
	Space                        bool
	Drop                         *Lines // lines to leave out
}

// A Form is a form of Unicode.
type Form uint8

const (
	AsIs Form = iota
	NFC
	Width
	NFKC
)

// A Treatment says what becomes of something in a text.
type Treatment uint8

const (
	Keep Treatment = iota
	Mask
	Remove
)

// Apply returns a text as the steps make it, in linear time.
func (n Steps) Apply(text string) string {
	if n == (Steps{}) {
		return text
	}
	return lex.String(n.Stream().Write(lex.Bytes(text), true))
}

func (n Steps) Stream() *Stream {
	s := &Stream{n: n}
	if n.HTML {
		s.html = &htmlText{}
	}
	return s
}

// A Stream is the state of steps in a text that comes in pieces.
type Stream struct {
	n    Steps
	html *htmlText
	line []byte // a line that has not ended
	some bool   // of the part of it that was cut off, some is left
	due  bool   // and behind that was white space
	kept bool   // not all of it was boilerplate
	page []byte // what HTML shows
	out  []byte
	a, b []byte            // a line between two steps
	Each func(line []byte) // sees the lines that are left
}

// MaxLine is the longest line that the steps look at, in bytes.
const MaxLine = 64 << 10

// Write returns what the next piece of the text becomes. The piece is not kept.
// What is returned may be overwritten by the next call.
func (s *Stream) Write(piece []byte, last bool) []byte {
	if s.html != nil {
		s.page = s.html.write(s.page[:0], piece, last)
		piece = s.page
	}
	if s.n == (Steps{HTML: s.n.HTML}) && s.Each == nil {
		return piece
	}
	s.out = s.out[:0]
	for len(piece) > 0 {
		// No more is looked at than shows that the line is too long.
		head := piece[:min(len(piece), MaxLine+1-len(s.line))]
		end := bytes.IndexByte(head, '\n') + 1
		if end > 0 {
			head = head[:end]
		}
		line := head
		if len(s.line) > 0 {
			s.line = append(s.line, head...)
			line = s.line
		}
		piece = piece[len(head):]
		switch {
		case end > 0:
			s.take(line, true)
			line = nil
		case len(line) > MaxLine:
			cut := cutLine(line[:MaxLine])
			s.take(line[:cut], false)
			line = line[cut:]
		}
		s.line = append(s.line[:0], line...)
	}
	if last {
		s.take(s.line, true)
		s.line = nil
	}
	return s.out
}

// cutLine returns where to cut a line that is too long: after the last space of
// its last KiB, or else between two characters.
func cutLine(line []byte) int {
	if i := bytes.LastIndexAny(line[len(line)-1024:], " \t"); i >= 0 {
		return len(line) - 1024 + i + 1
	}
	return len(line) - lex.Partial(line)
}

// take appends to out what becomes of a line, or of a part of one that is too
// long.
func (s *Stream) take(line []byte, ends bool) {
	newline := false
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line, newline = line[:n-1], true
	}
	if s.n.Form != AsIs {
		s.a = ucd.AppendNormalized(s.a[:0], line, ucd.Form(s.n.Form-NFC))
		line, s.a, s.b = s.a, s.b, s.a
	}
	if s.n.Fold {
		s.a = appendFolded(s.a[:0], line)
		line, s.a, s.b = s.a, s.b, s.a
	}
	if s.n.URLs != Keep || s.n.Emails != Keep || s.n.Dates != Keep || s.n.Numbers != Keep {
		s.a = s.n.appendMasked(s.a[:0], line)
		line, s.a, s.b = s.a, s.b, s.a
	}
	if s.n.Space {
		s.a, s.due = appendSpaced(s.a[:0], line, s.some, s.due)
		line, s.a, s.b = s.a, s.b, s.a
		s.some = s.some || len(line) > 0
		newline = newline && s.some
	}
	drop := s.n.Drop != nil && s.n.Drop.has(line)
	if !drop {
		if s.Each != nil {
			s.Each(line)
		}
		s.out = append(s.out, line...)
		s.kept = true
	}
	if newline && s.kept {
		s.out = append(s.out, '\n')
	}
	if ends {
		s.some, s.due, s.kept = false, false, false
	}
}

// appendFolded appends a line with every character folded.
func appendFolded(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf {
			if c-'A' < 26 {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if ucd.Props(r)&ucd.Folds != 0 {
			dst = utf8.AppendRune(dst, ucd.Fold(r))
		} else {
			dst = append(dst, line[i:i+size]...)
		}
		i += size
	}
	return dst
}

// appendSpaced appends a line with one space for all white space between words.
// some says that the line has begun before, and due that it had white space at its
// end; returned is whether it has.
func appendSpaced(dst, line []byte, some, due bool) ([]byte, bool) {
	for i := 0; i < len(line); {
		c, size := line[i], 1
		white := lex.IsSpace(c)
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(line[i:])
			white = isWideSpace(r)
		}
		if !white {
			if due && some {
				dst = append(dst, ' ')
			}
			dst = append(dst, line[i:i+size]...)
			some = true
		}
		due = white
		i += size
	}
	return dst, due
}

// isWideSpace reports whether r is white space beyond ASCII.
func isWideSpace(r rune) bool {
	switch r {
	case 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
