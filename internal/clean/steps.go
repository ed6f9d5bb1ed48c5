// Package clean rewrites a text before it is cut into tokens, so that differences that do not
// matter to the caller disappear. It is the machinery behind the Normalizer of the library: HTML to
// text, Unicode normalisation, case folding, masking of addresses, dates and numbers, collapsing
// white space, and leaving out boilerplate lines.
//
// All of it works on a stream of pieces, in time linear in the text and with bounded memory, and
// the result does not depend on where the text is cut into pieces. HTML is a step of its own
// (html.go) that produces lines. Every later step works on one line at a time (steps.go), with the
// matchers of mask.go and date.go. Tables of characters come from package ucd, so they do not
// change with the Go toolchain.
package clean

import (
	"bytes"

	"github.com/neardup/neardup/internal/lex"
)

// Steps says what to do with a text. The steps are taken in the order of the fields. The zero value
// changes nothing.
type Steps struct {
	HTML                         bool      // the text is a page: reduce it to what the page shows
	Form                         Form      // Unicode normalisation
	Simplified                   bool      // simplified Chinese characters for traditional ones
	Arabic                       bool      // the letters of Persian for those of Arabic, without vowel signs
	Confusables                  bool      // Latin letters for others that look like them, beside Latin letters
	Fold                         bool      // replace characters as the lexer does
	URLs, Emails, Dates, Numbers Treatment // tried in the order e-mail, URL, date, number
	Space                        bool      // one space for all white space, none at the ends
	Drop                         *Lines    // lines to leave out, compared after all other steps
}

// A Form is a Unicode normalisation form.
type Form uint8

const (
	FormAsIs Form = iota // no change
	NFC                  // canonical composition
	Width                // NFC, and full-width and half-width characters become the usual ones
	NFKC                 // compatibility composition
)

// A Treatment says what happens to an address, a date or a number.
type Treatment uint8

const (
	Keep   Treatment = iota // leave it
	Mask                    // replace it by its kind: <url>, <email>, <date> or <number>
	Remove                  // replace it by a space
)

// Apply returns the text after all steps. It takes linear time and is safe for concurrent use. If
// there is nothing to do it returns text itself.
func (n Steps) Apply(text string) string {
	if n == (Steps{}) {
		return text
	}
	return lex.String(n.Stream().Write(lex.Bytes(text), true))
}

// Stream returns a new Stream that takes these steps.
func (n Steps) Stream() *Stream {
	s := &Stream{n: n}
	if n.HTML {
		s.html = &htmlText{}
	}
	return s
}

// A Stream takes the steps on one text that comes in pieces. It is not safe for concurrent use.
//
//	piece ─ html ─ page ─ cut into lines ─ line ─ form, variants, fold, mask, space (a, b) ─ drop ─ out
//
// A line of more than MaxLine bytes is processed in parts, so that memory is bounded. some, due and
// kept carry what a later part needs to know about the earlier ones.
type Stream struct {
	n    Steps
	html *htmlText         // nil without the HTML step
	line []byte            // beginning of a line that has not ended
	some bool              // an earlier part of the line left some text
	due  bool              // an earlier part ended with white space, not yet written
	kept bool              // some part of the line was not dropped
	page []byte            // text of the page, from html
	out  []byte            // result of the current call of Write
	a, b []byte            // the line before and after a step, taking turns
	Each func(line []byte) // if set, called with each line or part that is kept, less its newline
}

// MaxLine is the length in bytes up to which a line is processed as a whole.
const MaxLine = 64 << 10

// Write processes the next piece of the text and returns what can be said of the result so far. The
// rest of a line that has not ended comes with a later call. last says that there are no more
// pieces.
//
// Write does not keep the piece. The slice it returns may be part of the piece, and may be
// overwritten by the next call.
func (s *Stream) Write(piece []byte, last bool) []byte {
	if s.html != nil {
		s.page = s.html.write(s.page[:0], piece, last)
		piece = s.page
	}
	if s.n == (Steps{HTML: s.n.HTML}) && s.Each == nil {
		// No step works on lines, so there is nothing to wait for.
		return piece
	}
	s.out = s.out[:0]
	for len(piece) > 0 {
		// Look only as far as needed to see that the line is too long. So s.line never holds more
		// than MaxLine+1 bytes, and no byte is searched for a newline twice.
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

// cutLine returns where to cut a line that is too long, given its first MaxLine bytes: after the
// last space or tab of its last KiB, or else between two characters. A cut at a space does not
// split a word or an address.
func cutLine(line []byte) int {
	if i := bytes.LastIndexAny(line[len(line)-1024:], " \t"); i >= 0 {
		return len(line) - 1024 + i + 1
	}
	return len(line) - lex.Partial(line)
}

// take runs a line, or a part of a line that is too long, through the steps and appends the result
// to s.out. ends says that the line ends with it. The line may end with a newline.
func (s *Stream) take(line []byte, ends bool) {
	newline := false
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line, newline = line[:n-1], true
	}
	line = s.rewrite(line)
	if s.n.Space {
		s.some = s.some || len(line) > 0
		newline = newline && s.some // no empty lines
	}
	drop := s.n.Drop != nil && s.n.Drop.has(line)
	if !drop {
		if s.Each != nil {
			s.Each(line)
		}
		s.out = append(s.out, line...)
		s.kept = true
	}
	if newline && s.kept { // if all parts of the line were dropped, so is its newline
		s.out = append(s.out, '\n')
	}
	if ends {
		s.some, s.due, s.kept = false, false, false
	}
}

// rewrite returns a line after the steps that change it: form, fold, mask and space. The result is
// the line itself, or is valid up to the next call.
//
// Each step reads line and writes to s.a; then the buffers are swapped, so that line is the result
// and the next step writes to the other buffer. The caller's bytes are never changed.
func (s *Stream) rewrite(line []byte) []byte {
	if s.n.Form != FormAsIs {
		s.a = s.n.appendForm(s.a[:0], line)
		line, s.a, s.b = s.a, s.b, s.a
	}
	if s.n.Simplified || s.n.Arabic {
		s.a = s.n.appendVariants(s.a[:0], line)
		line, s.a, s.b = s.a, s.b, s.a
	}
	if s.n.Confusables {
		s.a = appendConfusables(s.a[:0], line)
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
	}
	return line
}
