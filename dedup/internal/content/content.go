// Package content keeps what documents are compared by: their texts after the Normalizer, with a
// [signature.Set], and where the texts are. Documents with equal words and features share a content, so
// an exact copy costs no comparison.
//
//	content.go  contents, and how a text or a record becomes one
//	reading.go  the features and words of a content, for a comparison
//	store.go    all contents of a Deduplicator, by slot, and where their texts are
//	batch.go    how documents are added to them, many at a time
//	encode.go   the form in which files have a content
package content

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
	"github.com/zeebo/xxh3"
)

// A Content is what is compared. It does not change.
//
// That of a text has a body, the normalized text, from which its features are made when they are needed. That
// of a record, or of a text with features of the caller's, has an [Own] instead. One with neither has no
// features, and is a near-duplicate of nothing. A body or an Own is in memory when it has been made, and in a
// file when it is stored.
type Content struct {
	Digest uint64 // of what is compared; equal contents have equal digests

	form  form
	bytes int            // the length of what a file has of it; 0 for a content without features
	file  *textfile.File // nil before it is stored
	at    int64          // where it is in the file
	body  string         // if file is nil
	own   *Own           // if file is nil and there is no body
}

// A form says what a content is, and which signatures are in the file before it. It is stored with documents,
// so its bits must keep their meaning.
type form uint8

const (
	formLevels form = 1 << iota // it has a body, if it has features
	formRecord
	formSigned // signature.Long; others are the bits above

	mostForm = formSigned<<signature.Levels - 1
)

// signed returns the levels of the signatures that are in the file before the content.
func (f form) signed() (has [signature.Levels]bool) {
	for l := range has {
		has[l] = f&(formSigned<<l) != 0
	}
	return has
}

// signedForm returns the bits of a form for the signatures of a set.
func signedForm(of *signature.Set) (f form) {
	for l, has := range of.Has {
		if has {
			f |= formSigned << l
		}
	}
	return f
}

// An Own is what a content without a body is compared by.
type Own struct {
	Terms  neardup.Vector  // with raw weights
	Words  wording.Wording // all words in their order
	Record bool            // it is of a record
}

// A Document is a content with what is known of the document that has it.
type Document struct {
	Content
	Set    signature.Set
	Text   uint64 // a hash of the text, before it was normalized
	Length int    // of the text in characters
}

// HasFeatures reports whether there is anything to compare.
func (c *Content) HasFeatures() bool { return c.bytes > 0 }

// Size returns how many bytes a file has of the content.
func (c *Content) Size() int { return c.bytes }

// HasBody reports whether the features come from a body.
func (c *Content) HasBody() bool { return c.bytes > 0 && c.form&formLevels != 0 }

// A Maker makes contents. It may be used by several goroutines.
type Maker struct {
	f       neardup.Fingerprinter
	raw     neardup.Fingerprinter // with weights that do not depend on other documents
	key     signature.Key
	signers sync.Pool
}

// NewMaker returns a maker for the features of f, which must be right.
func NewMaker(f *neardup.Fingerprinter) *Maker {
	m := &Maker{f: *f, raw: *f}
	if f.Weight == nil {
		m.raw.Weight = neardup.LogCount
	}
	// A seeded hash does not tell its seed. So the hash of a feature that no text has is taken as the seed
	// here, since it depends on that seed. If it is the same as without a seed, there is none.
	probe := func(h neardup.Hash) uint64 {
		if h.Sum64 != nil || h.Sum128 != nil {
			h = neardup.Hash{} // only seeds count
		}
		f := neardup.Fingerprinter{Hash: h, Tokenizer: neardup.Words{}}
		return f.Set(neardup.Text("neardup\x00dedup"))[0]
	}
	if seed := probe(f.Hash); seed != probe(neardup.Hash{}) {
		m.key = signature.Key{Seed: seed, Seeded: true}
	}
	m.signers.New = func() any { return &signature.Signer{Key: m.key} }
	return m
}

// HasLevels reports whether texts have the usual features, which are made of their bodies.
func (m *Maker) HasLevels() bool { return m.f.Tokenizer == nil && m.f.Weight == nil }

// Make returns the content of a document. It needs nothing but the document, so it may run on any goroutine
// without a lock. It may keep a reference to its text until it is stored. The error is that of a record that
// has none of the Fields, or that there is no document.
func (m *Maker) Make(doc neardup.Document) (Document, error) {
	switch doc := doc.(type) {
	case neardup.Text:
		return m.text(string(doc)), nil
	case neardup.Record:
		return m.record(doc)
	}
	return Document{}, errors.New("dedup: no document: nil")
}

func (m *Maker) text(text string) (d Document) {
	d.Length, d.Text = lex.Count(text), xxh3.HashString(text)
	normalized := m.f.Normalizer.Normalize(text)
	if !m.HasLevels() {
		m.seal(&d, &Own{Terms: m.raw.Vector(neardup.Text(text)), Words: wording.Read(normalized)})
		return d
	}
	m.setBody(&d, normalized)
	return d
}

// setBody gives a document its body, and all that is made of it. A text without words gets no body: it has a
// digest, but no features, and is never compared.
func (m *Maker) setBody(d *Document, normalized string) {
	set, words, digest := m.sign(normalized)
	// The digest is that of the words alone, and two contents with equal words must also agree in which words
	// are figures. The words around a word say whether it is one, except in addresses, where the punctuation
	// does. So addresses count in the digest a second time, as they are.
	clean.Addresses(normalized, func(from, to int) {
		_, address := wording.Count(normalized[from:to])
		digest = exact.SplitMix(digest ^ address)
	})
	if d.Digest, d.form = digest, formLevels; words > 0 {
		d.body, d.bytes, d.Set = normalized, len(normalized), set
	}
}

// sign returns the signatures of a body, the number of its words and a digest of them.
func (m *Maker) sign(body string) (set signature.Set, words int, digest uint64) {
	s := m.signers.Get().(*signature.Signer)
	defer m.signers.Put(s)
	return s.Text(body)
}

func (m *Maker) record(rec neardup.Record) (d Document, err error) {
	if err := rec.Check(m.f.Fields); err != nil {
		return d, err
	}
	for _, value := range rec {
		d.Length += utf8.RuneCountInString(value)
	}
	own := &Own{Terms: m.raw.Vector(rec), Record: true}
	// The words of a record are those of the columns that count, in the order of the Fields.
	text := xxh3.New()
	var size [8]byte
	seen := map[string]bool{}
	for i := range m.f.Fields {
		if name := m.f.Fields[i].Name; !seen[name] {
			seen[name] = true
			value := rec[name]
			binary.LittleEndian.PutUint64(size[:], uint64(len(value))) // so that no value runs into the next
			text.Write(size[:])
			text.WriteString(value)
			own.Words = append(append(own.Words, wording.Read(m.f.Normalizer.Normalize(value))...), wording.Column)
		}
	}
	d.Text = text.Sum64()
	m.seal(&d, own)
	return d, nil
}

// seal makes the content of a document without a body, and its signature. The digest is made
// of all that is compared.
func (m *Maker) seal(d *Document, own *Own) {
	h := xxh3.New()
	var b [12]byte
	for _, t := range own.Terms {
		binary.LittleEndian.PutUint64(b[:], t.Feature)
		binary.LittleEndian.PutUint32(b[8:], math.Float32bits(t.Weight))
		h.Write(b[:])
	}
	for _, w := range own.Words {
		binary.LittleEndian.PutUint32(b[:], w)
		h.Write(b[:4])
	}
	d.Digest, d.own, d.bytes = h.Sum64(), own, own.bytes()
	if own.Record {
		d.form = formRecord
	}
	d.Set = m.signOwn(own)
}

// signOwn returns the signatures of a content without a body.
func (m *Maker) signOwn(own *Own) signature.Set {
	s := m.signers.Get().(*signature.Signer)
	defer m.signers.Put(s)
	return s.Features(func(yield func(uint64) bool) {
		for _, t := range own.Terms {
			if !yield(t.Feature) {
				return
			}
		}
	})
}

// Compare orders contents by what is compared, which does not depend on when they were added. Only equal ones share
// a slot. It is 0 for equal contents only: where digests are equal it reads both texts, unless they are in one
// place, so a collision of digests joins nothing. Texts that are equal byte for byte need not be cut into words.
func (m *Maker) Compare(a, b *Content) int {
	if a.Digest != b.Digest || a.file != nil && a.file == b.file && a.at == b.at || a.hasBody(b) {
		return cmp.Compare(a.Digest, b.Digest)
	}
	x, y := m.Own(a), m.Own(b)
	return cmp.Or(slices.CompareFunc(x.Terms, y.Terms, func(t, u neardup.Term) int {
		return cmp.Or(cmp.Compare(t.Feature, u.Feature), cmp.Compare(t.Weight, u.Weight))
	}), slices.Compare(x.Words, y.Words))
}

// hasBody reports whether two contents have a body, and the same one.
func (c *Content) hasBody(with *Content) (same bool) {
	if c.HasBody() && with.HasBody() && c.bytes == with.bytes {
		c.Body(func(body string) { with.Body(func(other string) { same = body == other }) })
	}
	return same
}

// Own returns the terms and words of a content, which it makes of the body if there is one.
func (m *Maker) Own(c *Content) (own Own) {
	switch {
	case c.HasBody():
		r := m.Reading(c)
		own.Terms, own.Words = r.Terms, r.Words
	case c.own != nil:
		own = *c.own
	case c.bytes > 0:
		own.Record = c.form&formRecord != 0
		c.stored(func(b string) {
			if b == "" { // the file has an error
				return
			}
			var err error
			if own.Terms, own.Words, err = decodeOwn(lex.Bytes(b)); err != nil {
				c.file.Fail(err)
			}
		})
	}
	return own
}

// buffers are for what is read from files. One that has grown beyond mostBuffer for a long text is dropped.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Body calls use with the body, which is only valid meanwhile. It is empty if there is none, or if it cannot be
// read; then the file has the error.
func (c *Content) Body(use func(body string)) {
	if !c.HasBody() {
		use("")
		return
	}
	c.stored(use)
}

// stored calls use with what a file has of a content with features, or will have, which is only valid meanwhile.
func (c *Content) stored(use func(text string)) {
	switch {
	case c.file != nil:
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		use(c.file.Read(c.at, c.bytes, buf))
		if cap(*buf) > mostBuffer {
			*buf = nil
		}
	case c.own != nil:
		use(lex.String(encodeOwn(c.own.Terms, c.own.Words)))
	default:
		use(c.body)
	}
}

// mostBuffer is the largest buffer that is kept for the next text.
const mostBuffer = 1 << 20

// Detach sets the content and the signatures of a document to a copy of c that needs no file, so that it
// can be added to another store. The copy has no bits for signatures in its form: those say what a file
// has, and no file has it yet.
func (c *Content) Detach(m *Maker, d *Document) {
	d.Content = Content{Digest: c.Digest, form: c.form & (formLevels | formRecord), bytes: c.bytes}
	if c.HasBody() {
		c.Body(func(body string) { d.body = strings.Clone(body) })
	} else if c.bytes > 0 {
		own := m.Own(c)
		d.own = &own
	}
	d.Set = c.signatures()
}
