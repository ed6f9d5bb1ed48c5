package neardup

import (
	"fmt"

	"github.com/neardup/neardup/internal/clean"
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
// and Treatment that are not named are an error where there is one, as in
// [Fingerprinter.Version], and panic in Normalize.
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
	return n.steps().Apply(text)
}

// check returns an error if a Form or a Treatment is none of those named.
func (n *Normalizer) check() error {
	if n.Form > NFKC {
		return fmt.Errorf("neardup: Normalizer.Form %d is not AsIs, NFC, Width or NFKC", n.Form)
	}
	for _, t := range []Treatment{n.URLs, n.Emails, n.Dates, n.Numbers} {
		if t > Remove {
			return fmt.Errorf("neardup: Normalizer: Treatment %d is not Keep, Mask or Remove", t)
		}
	}
	return nil
}

// canonical returns a copy of n without an empty set of lines, which has no effect.
func (n *Normalizer) canonical() Normalizer {
	c := *n
	if c.Boilerplate != nil && c.Boilerplate.Len() == 0 {
		c.Boilerplate = nil
	}
	return c
}

// steps returns what n does.
func (n *Normalizer) steps() clean.Steps {
	if err := n.check(); err != nil {
		panic(err.Error())
	}
	u := n.canonical()
	s := clean.Steps{HTML: u.HTML, Form: clean.Form(u.Form), Fold: u.Fold, Space: u.Space,
		URLs: clean.Treatment(u.URLs), Emails: clean.Treatment(u.Emails), Dates: clean.Treatment(u.Dates), Numbers: clean.Treatment(u.Numbers)}
	if u.Boilerplate != nil {
		s.Drop = &u.Boilerplate.Lines
	}
	return s
}
