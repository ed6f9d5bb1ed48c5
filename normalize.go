package neardup

import (
	"fmt"
	"io"
	"slices"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/format"
)

// This file has what happens to a text before it is cut into tokens: the Normalizer, and the lines that many documents
// have in common. internal/clean/steps.go does the work. What every tokenizer ignores anyway is in internal/lex.

// A Normalizer rewrites a text before it is cut into tokens, so that differences that do not matter to you disappear.
// The zero value changes nothing. The steps that are set are applied in the order of the fields. All of them except HTML
// work on one line at a time; a line of more than 64 KiB is cut.
//
// The tokenizers of this package ignore case, width, punctuation, white space and canonical forms anyway. So they need
// neither FormNFC nor Fold nor Space; these are for tokenizers of your own, and for using the text itself. They need
// FormWidth only to find addresses, dates and numbers in full-width characters. What each step does to real texts:
// https://github.com/neardup/neardup/blob/main/docs/text.md.
//
// Positions of tokens refer to the result of the Normalizer. An unknown Form or Treatment is an error where a function
// can return one, as in [Fingerprinter.Version], and makes the other functions panic.
type Normalizer struct {
	// HTML reads the text as an HTML page in UTF-8 and reduces it to what the page shows, with a line for each block.
	// It leaves out scripts, styles, comments, and content for browsers without scripts, and resolves character
	// references. It reads markup as golang.org/x/net/html does.
	HTML bool

	// Form is the Unicode form of the result. É, for example, is one character in some texts and two in others.
	Form Form

	// Simplified replaces traditional Chinese characters by simplified ones, one for one, as in Unihan: both 後 and 后
	// become 后. Arabic writes ي, ى and ك as Persian does, and leaves out vowel signs. Confusables replaces letters of
	// Cyrillic and Greek by the Latin ones that they look like, in words that have Latin letters too (Unicode Technical
	// Standard #39).
	Simplified, Arabic, Confusables bool

	// Fold replaces every character as the tokenizers of this package do: by its lower case, in the usual width and
	// font.
	Fold bool

	// What to do with web addresses (http://…, www.…), e-mail addresses, dates and times (2026-11-21, 21.11.2026, 21
	// Nov 2026, 2026年11月21日, 08:52) and other numbers (1,024.5). They are recognised by ASCII characters and the
	// English names of months. A number inside a word (mp3) is part of the word.
	URLs, Emails, Dates, Numbers Treatment

	// Space replaces white space inside a line by one space, and removes it at the ends of lines, and empty lines.
	Space bool

	// Boilerplate leaves out the lines that are common in a collection. nil or an empty set leaves out none.
	Boilerplate *Boilerplate
}

// A Form is a Unicode form. In one form, equal texts have equal characters.
type Form uint8

const (
	FormAsIs  Form = iota // no change
	FormNFC               // canonical composition: loses nothing
	FormWidth             // NFC, and full-width and half-width characters become the usual ones
	FormNFKC              // compatibility composition: also ① becomes 1, x² x2, ﬁ fi, and ㎏ kg
)

// A Treatment says what happens to an address, a date or a number.
type Treatment uint8

const (
	TreatmentKeep   Treatment = iota // leave it
	TreatmentMask                    // replace it by its kind: <url>, <email>, <date> or <number>
	TreatmentRemove                  // replace it by a space
)

// Normalize returns the rewritten text. It takes time linear in the text, whatever the text is, and is safe for
// concurrent use. It panics if a Form or a Treatment is unknown.
func (n *Normalizer) Normalize(text string) string {
	return n.steps().Apply(text)
}

// check returns an error if a Form or a Treatment has no name.
func (n *Normalizer) check() error {
	if n.Form > FormNFKC {
		return fmt.Errorf("neardup: Normalizer.Form %d is not FormAsIs, FormNFC, FormWidth or FormNFKC", n.Form)
	}
	for _, t := range []Treatment{n.URLs, n.Emails, n.Dates, n.Numbers} {
		if t > TreatmentRemove {
			return fmt.Errorf("neardup: Normalizer: Treatment %d is not TreatmentKeep, TreatmentMask or TreatmentRemove", t)
		}
	}
	return nil
}

// canonical returns a copy of n without an empty Boilerplate, which has no effect. So it has no effect on versions
// either.
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

// Menus, footers and licences make different pages look alike. A BoilerplateBuilder counts in how many documents of a
// collection each line occurs, and a Normalizer then leaves the common lines out. Lines are compared by a hash of their
// words (clean.LineHash), so case, punctuation and white space do not matter.

// Boilerplate is a set of lines that are common in a collection: menus, footers, licences, letterheads. A [Normalizer]
// leaves them out. [BoilerplateBuilder.Build] and [Boilerplate.ReadFrom] make one. It does not change, and is safe for
// concurrent use. The zero value is the empty set.
//
// A line is stored as a 64-bit hash of its words, which takes eight bytes. So a line is wrongly taken for a common one
// with a probability of 2⁻⁶⁴ times the number of lines. The hash has no secret. Lines are compared as the earlier steps
// of the Normalizer leave them, so a set fits only the settings it was made with.
type Boilerplate struct{ lines clean.Lines }

// A BoilerplateBuilder counts in how many documents each line occurs. The zero value is ready to use. It takes about 40
// bytes of memory for each distinct line; for a very large collection, add a sample. It is not safe for concurrent use:
// give each worker its own and merge them.
type BoilerplateBuilder struct {
	// Normalizer is applied to the documents. Set it to the one that will leave the lines out, because its earlier
	// steps change the lines. Its own Boilerplate is ignored.
	Normalizer Normalizer

	documents uint32
	lines     map[uint64]lineCount // by hash
}

// A lineCount counts the documents that have a line. last is the number of the latest of them, so that a document
// counts once even if it has the line several times.
type lineCount struct{ documents, last uint32 }

// Add counts the lines of a document. The order of the documents does not matter. There may be up to 2³²−1 of them. It
// panics if the Normalizer is not valid.
func (b *BoilerplateBuilder) Add(text string) {
	if b.lines == nil {
		b.lines = make(map[uint64]lineCount)
	}
	b.documents++
	n := b.Normalizer
	n.Boilerplate = nil
	lines := n.steps().Stream()
	lines.Each = func(line []byte) {
		if h, ok := clean.LineHash(line); ok {
			if c := b.lines[h]; c.last != b.documents {
				b.lines[h] = lineCount{c.documents + 1, b.documents}
			}
		}
	}
	// Write in pieces, so that the rewritten text, which nobody needs, stays small.
	for len(text) > 0 {
		piece := text[:min(len(text), maxPiece)]
		text = text[len(piece):]
		lines.Write([]byte(piece), false)
	}
	lines.Write(nil, true)
}

// Merge adds the counts of other, which must have seen other documents, with the same Normalizer.
func (b *BoilerplateBuilder) Merge(other *BoilerplateBuilder) {
	if b.lines == nil {
		b.lines = make(map[uint64]lineCount)
	}
	for h, c := range other.lines {
		b.lines[h] = lineCount{documents: b.lines[h].documents + c.documents}
	}
	b.documents += other.documents
}

// Documents returns the number of documents added so far.
func (b *BoilerplateBuilder) Documents() int { return int(b.documents) }

// Build returns the lines that occur in at least min documents. A min below 2 means 2. The builder stays usable.
//
// Copies of one document have all lines in common. So min should be larger than the largest group of near-duplicates
// you expect, and equal texts should be added only once.
func (b *BoilerplateBuilder) Build(min int) *Boilerplate {
	common := &Boilerplate{}
	for h, c := range b.lines {
		if int64(c.documents) >= int64(max(min, 2)) {
			common.lines.Sorted = append(common.lines.Sorted, h)
		}
	}
	slices.Sort(common.lines.Sorted)
	return common
}

// Len returns the number of lines.
func (b *Boilerplate) Len() int { return len(b.lines.Sorted) }

// WriteTo writes b for [Boilerplate.ReadFrom], in a checksummed binary form of eight bytes a line.
func (b *Boilerplate) WriteTo(w io.Writer) (int64, error) {
	f := format.NewWriter(w, "boilerplate", fmt.Sprintf("neardup=%d", lexVersion))
	for _, h := range b.lines.Sorted {
		f.Uint64(h)
		f.EndRecord()
	}
	err := f.Close()
	return f.To.N, err
}

// ReadFrom reads what [Boilerplate.WriteTo] wrote, in place of what b has. It reads r to the end. The errors are those
// of [ReadFingerprints]: an [ErrDamaged], or an [ErrVersion] if another version of this package wrote the file. After an
// error, b is unchanged. The file does not say which Normalizer it was made for.
func (b *Boilerplate) ReadFrom(r io.Reader) (int64, error) {
	read := format.Counter{W: io.Discard}
	f, err := format.NewReader(io.TeeReader(r, &read), "boilerplate", fmt.Sprintf("neardup=%d", lexVersion), "collect the lines again")
	if err != nil {
		return read.N, err
	}
	var sorted []uint64
	for f.Next() {
		h := f.Uint64()
		if n := len(sorted); n > 0 && h <= sorted[n-1] {
			f.Fail("lines are not in order")
			break
		}
		sorted = append(sorted, h)
	}
	if f.Err == nil {
		b.lines.Sorted = sorted
	}
	return read.N, f.Err
}
