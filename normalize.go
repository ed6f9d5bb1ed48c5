package neardup

import (
	"fmt"

	"github.com/neardup/neardup/internal/clean"
)

// internal/clean does the work. This file checks the settings and translates them.

// A Normalizer rewrites a text before it is cut into tokens, so that differences that do not matter
// to you disappear. The zero value changes nothing. The steps that are set are taken in the order
// of the fields. All of them except HTML work on one line at a time; a line of more than 64 KiB is
// cut.
//
// The tokenizers of this package ignore case, width, punctuation, white space and canonical forms anyway. So they need neither NFC
// nor Fold nor Space; these are for tokenizers of your own, and for using the text itself. They need Width only to find addresses, dates
// and numbers in full-width characters. docs/text.md says what each step does to real texts.
//
// Positions of tokens refer to the result of the Normalizer. A Form or Treatment without a name is an error where a function can
// return one, as in [Fingerprinter.Version], and makes the others panic.
type Normalizer struct {
	// HTML reads the text as an HTML page in UTF-8 and reduces it to what the page shows, with a line for each block. It leaves out
	// scripts, styles, comments, and content for browsers without scripts, and resolves character references. It reads markup as
	// golang.org/x/net/html does.
	HTML bool

	// Form is the Unicode form of the result. É, for example, is one character in some texts and two in others.
	Form Form

	// Simplified replaces traditional Chinese characters by simplified ones, one for one, as Unihan has them: 後 becomes 后, as 后 is. Arabic
	// writes ي, ى and ك as Persian does, and leaves out vowel signs. Confusables replaces letters of Cyrillic and Greek by the Latin ones
	// that they look like, in words that have Latin letters too (Unicode Technical Standard #39).
	Simplified, Arabic, Confusables bool

	// Fold replaces every character as the tokenizers of this package do: by its lower case, in the usual width and font.
	Fold bool

	// What to do with web addresses (http://…, www.…), e-mail addresses, dates and times
	// (2026-11-21, 21.11.2026, 21 Nov 2026, 2026年11月21日, 08:52) and other numbers (1,024.5).
	// They are recognised by ASCII characters and the English names of months. A number inside a
	// word (mp3) is part of the word.
	URLs, Emails, Dates, Numbers Treatment

	// Space replaces white space inside a line by one space, and removes it at the ends of lines, and empty lines.
	Space bool

	// Boilerplate leaves out the lines that are common in a collection. nil or an empty set leaves out none.
	Boilerplate *Boilerplate
}

// A Form is a Unicode form. In one form, equal texts have equal characters.
type Form uint8

const (
	AsIs  Form = iota // no change
	NFC               // canonical composition: loses nothing
	Width             // NFC, and full-width and half-width characters become the usual ones
	NFKC              // compatibility composition: also ① becomes 1, x² x2, ﬁ fi, and ㎏ kg
)

// A Treatment says what happens to an address, a date or a number.
type Treatment uint8

const (
	Keep   Treatment = iota // leave it
	Mask                    // replace it by its kind: <url>, <email>, <date> or <number>
	Remove                  // replace it by a space
)

// Normalize returns the rewritten text. It takes time linear in the text, whatever the text is, and
// is safe for concurrent use. It panics if a Form or a Treatment has no name.
func (n *Normalizer) Normalize(text string) string {
	return n.steps().Apply(text)
}

// check returns an error if a Form or a Treatment has no name.
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

// canonical returns a copy of n without an empty Boilerplate, which has no effect. So it has no
// effect on versions either.
func (n *Normalizer) canonical() Normalizer {
	c := *n
	if c.Boilerplate != nil && c.Boilerplate.Len() == 0 {
		c.Boilerplate = nil
	}
	return c
}

// steps returns the settings in the form of package clean. It panics if n is wrong.
func (n *Normalizer) steps() clean.Steps {
	if err := n.check(); err != nil {
		panic(err.Error())
	}
	u := n.canonical()
	s := clean.Steps{HTML: u.HTML, Form: clean.Form(u.Form), Simplified: u.Simplified, Arabic: u.Arabic, Confusables: u.Confusables, Fold: u.Fold, Space: u.Space,
		URLs: clean.Treatment(u.URLs), Emails: clean.Treatment(u.Emails), Dates: clean.Treatment(u.Dates), Numbers: clean.Treatment(u.Numbers)}
	if u.Boilerplate != nil {
		s.Drop = &u.Boilerplate.lines
	}
	return s
}
