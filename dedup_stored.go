package neardup

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
)

// This file has the form in which the files of a [Deduplicator] have a document: some words of 64 bits for the store,
// and the body, or what stands for it, for the file of the texts.

// A storedProfile is what the files have of a document.
type storedProfile struct {
	number int // how many documents were added before
	reading
	inTexts int // the length of what is in the file of the texts
}

// end returns how long the file of the texts must be.
func (s *storedProfile) end() int64 {
	if s.inTexts == 0 {
		return 0
	}
	return s.at + textfile.Bytes(s.inTexts)
}

// The words of a stored document.
const (
	storedText   = iota // the hash of the text
	storedNumber        // how many documents were added before
	storedLength        // in characters
	storedDigest        //
	storedSize          //
	storedForm          // formLevels and formRecord, joined by |
	storedPlace         // where its body or its parts begin in the file of the texts
	storedBytes         // how long they are; 0 for a document without features
	storedWords         // the number of these
)

const (
	formLevels = 1 << iota // it has a body, if it has features
	formRecord
)

// encodeDocument appends the words of a document.
func encodeDocument(doc []uint64, s storedProfile) []uint64 {
	form, place, bytes := uint64(0), uint64(0), s.storedBytes()
	if s.bytes > 0 || s.levels {
		form |= formLevels
	} else if s.record {
		form |= formRecord
	}
	if bytes > 0 {
		place = uint64(s.at)
	}
	return append(doc, s.text, uint64(s.number), uint64(s.length), s.digest, uint64(s.size), form, place, uint64(bytes))
}

// errStored is the error of words or texts that are not those of a document.
var errStored = errors.New("this is no document")

// decodeDocument is the inverse of encodeDocument. The profile is slim or has no terms yet: see readParts.
func decodeDocument(doc []uint64) (s storedProfile, err error) {
	const most = 1 << 48
	if len(doc) != storedWords || doc[storedNumber] > math.MaxInt64-1 || doc[storedLength] > math.MaxInt64 || doc[storedSize] > most ||
		doc[storedForm] > formRecord || doc[storedPlace] > most || doc[storedBytes] > math.MaxInt32 {
		return s, errStored
	}
	s.number, s.text, s.length, s.digest, s.size = int(doc[storedNumber]), doc[storedText], int(doc[storedLength]), doc[storedDigest], int(doc[storedSize])
	s.at, s.inTexts = int64(doc[storedPlace]), int(doc[storedBytes])
	if doc[storedForm] == formLevels && s.inTexts > 0 {
		s.bytes = s.inTexts
		return s, nil
	}
	s.parts = &parts{record: doc[storedForm] == formRecord}
	if doc[storedForm] == formLevels {
		s.parts.levels, s.parts.fine = true, 1
	}
	return s, nil
}

// readParts reads the parts of a profile that has no body, and does nothing for others.
func (s *storedProfile) readParts() (err error) {
	if s.inTexts == 0 {
		s.file = nil
		return nil
	}
	if s.bytes > 0 {
		return nil
	}
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	text := s.file.Read(s.at, s.inTexts, buf)
	if err := s.file.Err(); err != nil {
		return err
	}
	s.terms, s.words, err = decodeParts(lex.Bytes(text))
	return err
}

// stored calls use with what the file of the texts has of a profile with features, which is only valid
// meanwhile.
func (p *profile) stored(use func(text string)) {
	if p.bytes > 0 {
		p.readBody(use)
		return
	}
	use(lex.String(encodeParts(p.terms, p.words)))
}

// storedBytes returns how long that is, and 0 for a profile without features.
func (p *profile) storedBytes() int {
	if p.bytes > 0 || !p.hasFeatures() {
		return p.bytes
	}
	return 4 + 12*len(p.terms) + 4*len(p.words)
}

// encodeParts returns the terms and words of a profile as bytes, little-endian: the number of the terms, the
// terms, and the words.
func encodeParts(terms Vector, words wording.Wording) []byte {
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

// decodeParts is the inverse of encodeParts. It returns an error unless the terms are a vector.
func decodeParts(b []byte) (terms Vector, words wording.Wording, err error) {
	if len(b) < 4 || len(b)%4 != 0 {
		return nil, nil, errStored
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n == 0 || n > int64(len(b)/12) {
		return nil, nil, errStored
	}
	terms = make(Vector, n)
	for i := range terms {
		t := Term{Feature: binary.LittleEndian.Uint64(b), Weight: math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))}
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
