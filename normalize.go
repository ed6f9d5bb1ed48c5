package neardup

import (
	"bytes"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// A Normalizer rewrites a text before it is cut into tokens, so that differences
// that do not matter to the caller disappear. The zero value changes nothing. Its
// steps are taken in the order of the fields, each where it is set; all of them
// but HTML work on one line at a time, and a line of more than 64 KiB is cut.
//
// The tokenizers of this package see neither case nor width, punctuation or white
// space in any case: they need no Fold and no Space, which are for tokenizers of the
// caller and for the text itself, and Width only where full-width addresses, dates
// or numbers are to be found. What each step does to real texts is in docs/text.md.
//
// The offsets of tokens refer to the text that the Normalizer makes. Values of Form
// and Treatment that are not named count as zero.
type Normalizer struct {
	// HTML takes the text for a page in UTF-8 and reduces it to what the page
	// shows, with a line for each block. Scripts, styles, comments and what is
	// only for browsers without scripts are left out, character references
	// resolved. It reads markup as golang.org/x/net/html does.
	HTML bool

	// Form is the form of Unicode: É is one character in some texts and two in
	// others.
	Form Form

	// Fold replaces every character as the tokenizers of this package do: by its
	// lower case, in the usual width and font.
	Fold bool

	// What to do with addresses of pages (http://…, www.…), e-mail addresses,
	// dates and times (2026-11-21, 21.11.2026, 21 Nov 2026, 2026年11月21日, 08:52)
	// and other numbers (1,024.5). They are found by ASCII characters and English
	// names of months. A number inside a word (mp3) is part of the word.
	URLs, Emails, Dates, Numbers Treatment

	// Space makes all white space in a line one space, takes it away at both ends
	// of the line, and empty lines with it.
	Space bool

	// Boilerplate leaves out the lines that are common in a collection.
	Boilerplate *Boilerplate
}

// A Form is a form of Unicode in which equal texts have equal characters.
type Form uint8

const (
	AsIs  Form = iota // no change
	NFC               // canonical composition: loses nothing
	Width             // NFC, and full-width and half-width characters become usual ones
	NFKC              // compatibility composition: also ① is 1, x² is x2, ﬁ is fi, ㎏ is kg
)

// A Treatment says what becomes of something in a text.
type Treatment uint8

const (
	Keep   Treatment = iota // it stays
	Mask                    // its kind stands for it: <url>, <email>, <date> or <number>
	Remove                  // a space stands for it
)

// Normalize returns the text as n makes it. It takes time linear in the text,
// whatever that is. It is safe for concurrent use.
func (n *Normalizer) Normalize(text string) string {
	if n.usual() == (Normalizer{}) {
		return text
	}
	return stringOf(n.stream().write(bytesOf(text), true))
}

// A normalizing is the state of a Normalizer in a text that comes in pieces.
type normalizing struct {
	n    Normalizer
	html *htmlText
	line []byte // a line that has not ended
	some bool   // of the part of it that was cut off, some is left
	due  bool   // and behind that was white space
	kept bool   // not all of it was boilerplate
	page []byte // what HTML shows
	out  []byte
	a, b []byte            // a line between two steps
	each func(line []byte) // sees the lines that are left
}

// usual returns n without what does nothing: values that are none of those named,
// and an empty set of lines.
func (n *Normalizer) usual() Normalizer {
	u := *n
	if u.Form > NFKC {
		u.Form = AsIs
	}
	for _, t := range []*Treatment{&u.URLs, &u.Emails, &u.Dates, &u.Numbers} {
		if *t > Remove {
			*t = Keep
		}
	}
	if u.Boilerplate != nil && len(u.Boilerplate.lines) == 0 {
		u.Boilerplate = nil
	}
	return u
}

func (n *Normalizer) stream() *normalizing {
	s := &normalizing{n: n.usual()}
	if n.HTML {
		s.html = &htmlText{}
	}
	return s
}

// maxLine is the longest line that the steps look at, in bytes.
const maxLine = 64 << 10

// write returns what the next piece of the text becomes. The piece is not kept.
// What is returned may be overwritten by the next call.
func (s *normalizing) write(piece []byte, last bool) []byte {
	if s.html != nil {
		s.page = s.html.write(s.page[:0], piece, last)
		piece = s.page
	}
	if s.n == (Normalizer{HTML: s.n.HTML}) && s.each == nil {
		return piece
	}
	s.out = s.out[:0]
	for len(piece) > 0 {
		// No more is looked at than shows that the line is too long.
		head := piece[:min(len(piece), maxLine+1-len(s.line))]
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
		case len(line) > maxLine:
			cut := cutLine(line[:maxLine])
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
	return len(line) - partial(line)
}

// take appends to out what becomes of a line, or of a part of one that is too
// long.
func (s *normalizing) take(line []byte, ends bool) {
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
	drop := s.n.Boilerplate != nil && s.n.Boilerplate.has(line)
	if !drop {
		if s.each != nil {
			s.each(line)
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
		white := isSpace(c)
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
