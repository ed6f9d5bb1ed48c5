package content

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
)

// This file has the form in which files have a document: seven words of 64 bits for the store, and the body,
// or the terms and words of an Own, for the file of the texts. A change of this form needs a new
// documentVersion in package dedup.
//
// Files may be damaged or made up. So whatever is decoded here is checked for what the rest of the package
// relies on: sizes that fit, places inside the file, terms that ascend and have positive weights.

// A Stored is what files have of a document.
type Stored struct {
	Number int // how many documents were added before
	Document
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

// End returns how long the file of the texts must be.
func (s *Stored) End() int64 {
	if s.bytes == 0 {
		return 0
	}
	return s.at + textfile.Bytes(s.bytes)
}

// Encode appends the words of a document.
func Encode(words []uint64, s *Stored) []uint64 {
	place := uint64(0)
	if s.bytes > 0 {
		place = uint64(s.at)
	}
	return append(words, s.Text, uint64(s.Number), uint64(s.Length), s.Digest, uint64(s.form), place, uint64(s.bytes))
}

// errStored is the error of words or texts that are not those of a document.
var errStored = errors.New("this is not a document")

// Decode is the inverse of Encode. It needs no file: [Document.Load] gives the document its signatures. It
// cannot know how long the file of the texts is, so the caller compares End with that.
func Decode(words []uint64) (s Stored, err error) {
	const most = 1 << 48
	if len(words) != StoredWords || words[storedNumber] > math.MaxInt64-1 || words[storedLength] > math.MaxInt64 ||
		words[storedForm] > uint64(mostForm) || words[StoredPlace] > most || words[storedBytes] > math.MaxInt32 {
		return s, errStored
	}
	s.Number, s.Text, s.Length, s.Digest = int(words[storedNumber]), words[storedText], int(words[storedLength]), words[storedDigest]
	s.at, s.bytes, s.form = int64(words[StoredPlace]), int(words[storedBytes]), form(words[storedForm])
	if s.bytes > 0 && s.at < s.form.bytesBefore() {
		return s, errStored
	}
	return s, nil
}

// Load gives a decoded document its signatures, which are in a file. Its text is not read.
func (d *Document) Load(file *textfile.File) error {
	if d.bytes == 0 {
		return nil
	}
	d.file = file
	d.Set = d.signatures()
	return file.Err()
}

// LoadOld returns a decoded document of a file of an earlier version, as if it had been made of its text just
// now. Documents without a text keep their features, and only their signatures are made again.
func (m *Maker) LoadOld(s *Stored, file *textfile.File) (d Document, err error) {
	if s.bytes > 0 {
		s.file = file
	}
	d = Document{Text: s.Text, Length: s.Length}
	if s.Detach(m, &d); d.HasBody() {
		m.setBody(&d, d.body)
	} else if d.HasFeatures() {
		d.Set = m.signOwn(d.own)
	}
	return d, file.Err()
}

// signatures reads the signatures of a content in a file. There are none if they cannot be read; then
// the file has the error.
func (c *Content) signatures() (set signature.Set) {
	has := c.form.signed()
	if c.readSigned(func(b string) { set = signature.Decode(has, []byte(b)) }); !c.HasFeatures() {
		return signature.Set{}
	}
	return set
}

// Signature reads a signature of the content in a slot. If it cannot be read, the file has the error.
func (s *Contents) Signature(slot uint32, l signature.Level, into *signature.Signature) {
	c := s.At(slot)
	*into = c.signatures().Of[l]
}

// bytesBefore returns how many bytes of a file the signatures before a content take.
func (f form) bytesBefore() int64 { return textfile.Bytes(signature.Bytes(f.signed())) }

// readSigned calls use with the signatures of a content in a file as bytes, unless they cannot be read. They
// end where the content begins.
func (c *Content) readSigned(use func(b string)) {
	n := signature.Bytes(c.form.signed())
	if n == 0 || c.file == nil {
		return
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	if b := c.file.Read(c.at-textfile.Bytes(n), n, buf); len(b) == n {
		use(b)
	}
}

// inFile returns how much of a file a content takes, with its signatures.
func (c *Content) inFile() int64 {
	if c.bytes == 0 {
		return 0
	}
	n := textfile.Bytes(c.bytes)
	if signed := signature.Bytes(c.form.signed()); signed > 0 {
		n += textfile.Bytes(signed)
	}
	return n
}

// bytes returns how long encodeOwn of o is, and 0 if there are no terms.
func (o *Own) bytes() int {
	if len(o.Terms) == 0 {
		return 0
	}
	return 4 + 12*len(o.Terms) + 4*len(o.Words)
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

// decodeOwn is the inverse of encodeOwn. It returns an error unless the terms are a vector: comparisons
// merge two lists of terms, which works only if features ascend. It allocates no more than the bytes
// justify, whatever they claim.
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
