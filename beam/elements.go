package neardupbeam

import (
	"cmp"
	"encoding/binary"
	"math"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/neardup/neardup"
)

// This file has the elements of collections, and how they are stored between workers: strings with their
// lengths in front, numbers as varints. Between the transforms of this package, keys and values are bytes, so
// that runners in other languages pass them on as they are.
//
// Beam compares keys by their encoded bytes, and needs coders that always give the same ones. What is
// encoded here is written in one way only.
//
// A change of a form needs no care for old data: nothing stores it longer than a job runs, and all workers
// of a job have the same program.

// A Document is an input. Ids should differ; documents with the same id are noted, and kept or dropped together.
type Document struct {
	ID, Text string
	Raw      string // the line to write if the document is kept; "" means the id and the text, as JSON
}

// A Profile is what a document is compared by. Two documents with equal Data count as equal, so it must
// depend on nothing else than what is compared.
type Profile struct {
	ID     string
	Length int    // of the text, in characters
	Data   []byte // empty if the text has no features; it is near no other text then
}

// A Pair is two near-duplicates, A < B. Distance is set with SimHash, Similarity with the other methods, and with Auto also
// Probability and Kind.
type Pair struct {
	A, B        string
	Distance    int
	Similarity  float64
	Probability float64
	Kind        neardup.Kind
}

// A Member is a document of a group of two or more. Keep is the document that represents the group.
type Member struct{ ID, Keep string }

// A Family is documents of one form that is filled in differently, as in package dedup; only Auto finds them. The members are sorted.
type Family struct {
	Members []string
	Form    string
	Filled  []string // for each member, or empty
}

// A Note says what a reader of the results should know: Kind is one of the constants, ID is the document or
// the place. One document that cannot be read or compared gets a note, and does not end the job.
type Note struct{ Kind, ID, Text string }

// The kinds of notes.
const (
	NoFeatures = "no features" // the document has nothing to compare
	RepeatedID = "repeated id" // several documents have this id
	HotBucket  = "hot bucket"  // so many contents share a band or blocks that their comparison was split
	BadInput   = "bad input"   // a line, a row or a file could not be read, and was skipped
)

// An encoder appends fields to bytes. It is a value: each method returns the longer one, as append does.
type encoder []byte

func (e encoder) int(x int) encoder { return binary.AppendUvarint(e, uint64(x)) }
func (e encoder) text(s string) encoder {
	return append(e.int(len(s)), s...)
}
func (e encoder) bytes(b []byte) encoder   { return append(e.int(len(b)), b...) }
func (e encoder) float(x float64) encoder  { return e.uint64(math.Float64bits(x)) }
func (e encoder) uint64(x uint64) encoder  { return binary.BigEndian.AppendUint64(e, x) }
func (e encoder) pair(a, b []byte) encoder { return e.bytes(a).bytes(b) }
func (e encoder) value(x float64, distance int) encoder {
	return e.float(x).uint64(uint64(distance))
}

// A decoder reads what an encoder wrote. After an error it returns zeros. So callers read all fields, and
// look at err once. It trusts no length: nothing is allocated by a number before the bytes for it are there
// (FuzzElements).
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() { d.b, d.err = nil, errTruncated }

func (d *decoder) int() int {
	x, n := binary.Uvarint(d.b)
	if n <= 0 || x > math.MaxInt {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return int(x)
}

// bytes returns a part of what is decoded, which must not be changed.
func (d *decoder) bytes() []byte {
	n := d.int()
	if n > len(d.b) {
		d.fail()
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) uint64() uint64 {
	if len(d.b) < 8 {
		d.fail()
		return 0
	}
	x := binary.BigEndian.Uint64(d.b)
	d.b = d.b[8:]
	return x
}

func (d *decoder) float() float64 { return math.Float64frombits(d.uint64()) }

func encodeDocument(d Document) []byte { return encoder(nil).text(d.ID).text(d.Text).text(d.Raw) }
func decodeDocument(b []byte) (Document, error) {
	d := decoder{b: b}
	return Document{d.text(), d.text(), d.text()}, d.err
}

func encodeProfile(p Profile) []byte { return encoder(nil).text(p.ID).int(p.Length).bytes(p.Data) }
func decodeProfile(b []byte) (Profile, error) {
	d := decoder{b: b}
	return Profile{d.text(), d.int(), d.bytes()}, d.err
}

func encodePair(p Pair) []byte {
	return encoder(nil).text(p.A).text(p.B).value(p.Similarity, p.Distance).float(p.Probability).int(int(p.Kind))
}
func decodePair(b []byte) (p Pair, err error) {
	d := decoder{b: b}
	p.A, p.B, p.Similarity, p.Distance = d.text(), d.text(), d.float(), int(d.uint64())
	p.Probability, p.Kind = d.float(), neardup.Kind(d.int())
	return p, d.err
}

func encodeFamily(f Family) []byte {
	e := encoder(nil).text(f.Form)
	for _, all := range [2][]string{f.Members, f.Filled} {
		e = e.int(len(all))
		for _, text := range all {
			e = e.text(text)
		}
	}
	return e
}
func decodeFamily(b []byte) (f Family, err error) {
	d := decoder{b: b}
	f.Form = d.text()
	for _, to := range [2]*[]string{&f.Members, &f.Filled} {
		// Each text takes at least a byte, so a number that is too large ends with the bytes.
		for n := d.int(); n > 0 && d.err == nil; n-- {
			*to = append(*to, d.text())
		}
	}
	return f, d.err
}

func encodeMember(m Member) []byte { return encoder(nil).text(m.ID).text(m.Keep) }
func decodeMember(b []byte) (Member, error) {
	d := decoder{b: b}
	return Member{d.text(), d.text()}, d.err
}

func encodeNote(n Note) []byte { return encoder(nil).text(n.Kind).text(n.ID).text(n.Text) }
func decodeNote(b []byte) (Note, error) {
	d := decoder{b: b}
	return Note{d.text(), d.text(), d.text()}, d.err
}

// A rank is what decides which document of a group is kept: the smaller one.
type rank struct {
	id     string
	length int
}

func (r rank) encode(e encoder) encoder { return e.text(r.id).int(r.length) }

func decodeRank(d *decoder) rank { return rank{d.text(), d.int()} }

// compare is negative if r is kept rather than q.
func (r rank) compare(q rank, keepFirst bool) int {
	// Ids decide in the end, so the order is the same wherever and in whatever order documents come. Only
	// documents with the same id and length are equal in it.
	if keepFirst {
		return strings.Compare(r.id, q.id)
	}
	return cmp.Or(cmp.Compare(q.length, r.length), strings.Compare(r.id, q.id))
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[Document](), encodeDocument, decodeDocument)
	beam.RegisterCoder(reflect.TypeFor[Profile](), encodeProfile, decodeProfile)
	beam.RegisterCoder(reflect.TypeFor[Pair](), encodePair, decodePair)
	beam.RegisterCoder(reflect.TypeFor[Member](), encodeMember, decodeMember)
	beam.RegisterCoder(reflect.TypeFor[Family](), encodeFamily, decodeFamily)
	beam.RegisterCoder(reflect.TypeFor[Note](), encodeNote, decodeNote)
}
