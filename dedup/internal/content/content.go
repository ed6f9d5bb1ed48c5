// Package content keeps what documents are compared by: their texts after the Normalizer, with a
// [signature.Set], and where the texts are. Documents with equal words and features share a content, so
// an exact copy costs no comparison.
//
//	content.go  contents, and how a text or a record becomes one
//	reading.go  the features and words of a content, for a comparison
//	store.go    all contents of a Deduplicator, by slot, and where their texts are
//	encode.go   the form in which files have a content
package content

import (
	"cmp"
	"encoding/binary"
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

// A Content is what is compared. It does not change, so snapshots share it.
//
// That of a text has a body, the normalized text, from which its features are made when they are needed. That of
// a record, or of a text with features of the caller's, has Own instead. One with neither has no features,
// and is a near-duplicate of nothing.
type Content struct {
	Own    *Own
	Digest uint64 // of what is compared; equal contents have equal digests

	body  string         // if file is nil
	file  *textfile.File // which has the body, or what stands for Own
	at    int64          // where it is in the file
	bytes int            // the length of the body; 0 if there is none

	// The signatures that stand in the file before it; none in a temporary one.
	signed [signature.Levels]bool
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
func (c *Content) HasFeatures() bool { return c.bytes > 0 || c.Own != nil && len(c.Own.Terms) > 0 }

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
	// The seed is what the hash makes of a feature that no text has.
	probe := func(h neardup.Hash) uint64 {
		if h.Sum64 != nil || h.Sum128 != nil {
			h = neardup.Hash{} // only seeds count
		}
		f := neardup.Fingerprinter{Hash: h, Tokenizer: neardup.Words{}}
		return f.Set("neardup\x00dedup")[0]
	}
	if seed := probe(f.Hash); seed != probe(neardup.Hash{}) {
		m.key = signature.Key{Seed: seed, Seeded: true}
	}
	m.signers.New = func() any { return &signature.Signer{Key: m.key} }
	return m
}

// HasLevels reports whether texts have the usual features, which are made of their bodies.
func (m *Maker) HasLevels() bool { return m.f.Tokenizer == nil && m.f.Weight == nil }

// Text returns the content of a text. Any string is a valid text.
func (m *Maker) Text(text string) (d Document) {
	d.Length, d.Text = lex.Count(text), xxh3.HashString(text)
	normalized := m.f.Normalizer.Normalize(text)
	if !m.HasLevels() {
		d.Own = &Own{Terms: m.raw.Vector(text), Words: wording.Read(normalized)}
		m.seal(&d)
		return d
	}
	words, digest := wording.Count(normalized)
	// Words are figures or not by the words beside them, but for those of addresses, which signs tell.
	clean.Addresses(normalized, func(from, to int) {
		_, address := wording.Count(normalized[from:to])
		digest = exact.SplitMix(digest ^ address)
	})
	if d.Digest = digest; words > 0 {
		d.body, d.bytes = strings.Clone(normalized), len(normalized)
		d.Set = m.sign(normalized, words)
	}
	return d
}

// sign returns the signatures of a body.
func (m *Maker) sign(body string, words int) signature.Set {
	s := m.signers.Get().(*signature.Signer)
	defer m.signers.Put(s)
	return s.Text(body, words)
}

// Record returns the content of a record. The error is that of a record that has none of the Fields.
func (m *Maker) Record(rec neardup.Record) (d Document, err error) {
	if err := m.f.CheckRecord(rec); err != nil {
		return d, err
	}
	for _, value := range rec {
		d.Length += utf8.RuneCountInString(value)
	}
	d.Own = &Own{Terms: m.raw.RecordVector(rec), Record: true}
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
			d.Own.Words = append(append(d.Own.Words, wording.Read(m.f.Normalizer.Normalize(value))...), wording.Column)
		}
	}
	d.Own.Words, d.Text = slices.Clone(d.Own.Words), text.Sum64()
	m.seal(&d)
	return d, nil
}

// seal sets the digest and the signature of a content without a body.
func (m *Maker) seal(d *Document) {
	h := xxh3.New()
	var b [12]byte
	for _, t := range d.Own.Terms {
		binary.LittleEndian.PutUint64(b[:], t.Feature)
		binary.LittleEndian.PutUint32(b[8:], math.Float32bits(t.Weight))
		h.Write(b[:])
	}
	for _, w := range d.Own.Words {
		binary.LittleEndian.PutUint32(b[:], w)
		h.Write(b[:4])
	}
	d.Digest = h.Sum64()
	d.Set = m.signOwn(d.Own)
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

// Compare orders contents by what is compared, which does not depend on when they were added. Only equal ones
// share a slot.
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
	if c.bytes > 0 && c.bytes == with.bytes {
		c.Body(func(body string) { with.Body(func(other string) { same = body == other }) })
	}
	return same
}

// Own returns the terms and words of a content, which it makes of the body if there is one.
func (m *Maker) Own(c *Content) Own {
	if c.bytes == 0 {
		if c.Own == nil {
			return Own{}
		}
		return *c.Own
	}
	r := m.Read(c)
	return Own{Terms: r.Terms, Words: r.Words}
}

// buffers are for bodies that are read from files.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Body calls use with the body, which is only valid meanwhile. A body that cannot be read is empty; the file has
// the error.
func (c *Content) Body(use func(body string)) {
	if c.file == nil {
		use(c.body)
		return
	}
	if c.bytes == 0 {
		use("")
		return
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	use(c.file.Read(c.at, c.bytes, buf))
}

// Detach sets the content of a document to a copy of c that needs no file.
func (c *Content) Detach(d *Document) {
	d.Own, d.Digest, d.bytes = c.Own, c.Digest, c.bytes
	c.Body(func(body string) { d.body = strings.Clone(body) })
}

// Words returns the words of a content in their order.
func (c *Content) Words() (words wording.Wording) {
	if c.Own != nil {
		return c.Own.Words
	}
	c.Body(func(body string) { words = wording.Read(body) })
	return words
}
