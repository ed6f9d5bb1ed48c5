package content

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
)

// This file has the form in which files have a document: some words of 64 bits for the store, and the body, or what
// stands for it, for the file of the texts.

// A Stored is what files have of a document.
type Stored struct {
	Number int // how many documents were added before
	Document
	inTexts int // the length of what is in the file of the texts
}

// The words of a stored document.
const (
	storedText   = iota // the hash of the text
	storedNumber        // how many documents were added before
	storedLength        // in characters
	storedDigest        //
	storedForm          // formLevels and formRecord, joined by |
	StoredPlace         // where its text begins in the file
	storedBytes         // how long it is; 0 for a document without features
	StoredWords         // the number of these
)

const (
	formLevels = 1 << iota // it has a body, if it has features
	formRecord
	formSigned // signature.Long; others are the bits above

	mostForm = formSigned<<signature.Levels - 1
)

// End returns how long the file of the texts must be.
func (s *Stored) End() int64 {
	if s.inTexts == 0 {
		return 0
	}
	return s.at + textfile.Bytes(s.inTexts)
}

// Encode appends the words of a document.
func Encode(words []uint64, s *Stored) []uint64 {
	form, place, bytes := uint64(0), uint64(0), s.storedBytes()
	if s.Own == nil {
		form |= formLevels
	} else if s.Own.Record {
		form |= formRecord
	}
	for l, has := range s.signed {
		if has {
			form |= formSigned << l
		}
	}
	if bytes > 0 {
		place = uint64(s.at)
	}
	return append(words, s.Text, uint64(s.Number), uint64(s.Length), s.Digest, form, place, uint64(bytes))
}

// errStored is the error of words or texts that are not those of a document.
var errStored = errors.New("this is no document")

// Decode is the inverse of Encode. [Maker.Load] gives the content its text.
func Decode(words []uint64) (s Stored, err error) {
	const most = 1 << 48
	if len(words) != StoredWords || words[storedNumber] > math.MaxInt64-1 || words[storedLength] > math.MaxInt64 ||
		words[storedForm] > mostForm || words[StoredPlace] > most || words[storedBytes] > math.MaxInt32 {
		return s, errStored
	}
	s.Number, s.Text, s.Length, s.Digest = int(words[storedNumber]), words[storedText], int(words[storedLength]), words[storedDigest]
	s.at, s.inTexts = int64(words[StoredPlace]), int(words[storedBytes])
	for l := range s.signed {
		s.signed[l] = words[storedForm]&(formSigned<<l) != 0
	}
	if words[storedForm]&formLevels != 0 {
		s.bytes = s.inTexts
	} else {
		s.Own = &Own{Record: words[storedForm]&formRecord != 0}
	}
	if s.inTexts > 0 && s.at < textfile.Bytes(signature.Bytes(s.signed)) {
		return s, errStored
	}
	return s, nil
}

// Load gives a decoded document its signatures and its text, which are in a file. The text of a body is not
// read.
func (m *Maker) Load(s *Stored, file *textfile.File) (err error) {
	if s.inTexts == 0 {
		return nil
	}
	s.file = file
	if s.Set, err = s.loadSigned(); err != nil || s.bytes > 0 {
		return err
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	text := file.Read(s.at, s.inTexts, buf)
	if err := file.Err(); err != nil {
		return err
	}
	s.Own.Terms, s.Own.Words, err = decodeOwn(lex.Bytes(text))
	return err
}

// LoadOld returns a decoded document of a file that has no signatures, as if it had been made of its text just now.
func (m *Maker) LoadOld(s *Stored, file *textfile.File) (d Document, err error) {
	if err := m.Load(s, file); err != nil {
		return d, err
	}
	d = Document{Text: s.Text, Length: s.Length}
	if s.Detach(&d); s.bytes > 0 {
		words, _ := wording.Count(d.body)
		d.Set = m.sign(d.body, words)
	} else if d.HasFeatures() {
		d.Set = m.signOwn(d.Own)
	}
	return d, file.Err()
}

// loadSigned reads the signatures of a content in a file.
func (c *Content) loadSigned() (set signature.Set, err error) {
	c.readSigned(func(b string) { set = signature.Decode(c.signed, lex.Bytes(b)) })
	return set, c.file.Err()
}

// readSigned calls use with the signatures of a content in a file as bytes, unless they cannot be read.
func (c *Content) readSigned(use func(b string)) {
	n := signature.Bytes(c.signed)
	if n == 0 {
		return
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	if b := c.file.Read(c.at-textfile.Bytes(n), n, buf); len(b) == n {
		use(b)
	}
}

// copySigned copies the signatures of a content in a file to another file.
func (c *Content) copySigned(to *textfile.File) (err error) {
	c.readSigned(func(b string) { _, err = to.Append(b) })
	return err
}

// stored calls use with what the file of the texts has of a content with features, which is only valid
// meanwhile.
func (c *Content) stored(use func(text string)) {
	if c.bytes > 0 {
		c.Body(use)
		return
	}
	use(lex.String(encodeOwn(c.Own.Terms, c.Own.Words)))
}

// storedBytes returns how long that is, and 0 for a content without features.
func (c *Content) storedBytes() int {
	if c.bytes > 0 || !c.HasFeatures() {
		return c.bytes
	}
	return 4 + 12*len(c.Own.Terms) + 4*len(c.Own.Words)
}

// inFile returns how much of a file a content takes, with its signatures.
func (c *Content) inFile() int64 {
	n := textfile.Bytes(c.storedBytes())
	if c.signed != [signature.Levels]bool{} {
		n += textfile.Bytes(signature.Bytes(c.signed))
	}
	return n
}

// encodeOwn returns terms and words as bytes, little-endian: the number of the terms, the terms, and the words.
func encodeOwn(terms neardup.Vector, words wording.Wording) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(terms)))
	for _, t := range terms {
		b = binary.LittleEndian.AppendUint64(b, t.Feature)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(t.Weight))
	}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// decodeOwn is the inverse of encodeOwn. It returns an error unless the terms are a vector.
func decodeOwn(b []byte) (terms neardup.Vector, words wording.Wording, err error) {
	if len(b) < 4 || len(b)%4 != 0 {
		return nil, nil, errStored
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n == 0 || n > int64(len(b)/12) {
		return nil, nil, errStored
	}
	terms = make(neardup.Vector, n)
	for i := range terms {
		t := neardup.Term{Feature: binary.LittleEndian.Uint64(b), Weight: math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))}
		if i > 0 && t.Feature <= terms[i-1].Feature || !(t.Weight > 0 && t.Weight <= math.MaxFloat32) {
			return nil, nil, errStored
		}
		terms[i], b = t, b[12:]
	}
	words = make(wording.Wording, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return terms, words, nil
}
