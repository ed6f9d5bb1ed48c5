package neardupbeam

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup"
	"github.com/zeebo/xxh3"
)

// This file makes profiles of documents, on the workers. The Data of a profile is, by method:
//
//	simhash   the fingerprint, 8 or 16 bytes, big-endian
//	minhash   the values of the signature, 4 bytes each, big-endian
//	cosine    the keys of the bands, 8 bytes each; then feature (8 bytes) and weight (4) of each term
//
// Cosine needs document frequencies first. Each worker counts the documents it sees with a
// neardup.DocumentFrequenciesBuilder, and the counts are merged. All counts are sums, so the order does not matter.
//
// Data has all that a comparison needs, so a worker that compares reads neither texts nor frequencies.
// Equal Data means equal in every later step.

// Fingerprint makes the profiles of a PCollection<Document>, as a PCollection<Profile>, and notes documents without
// features, as a PCollection<Note>. It panics if the options do not fit together (see [Options.Check]).
func Fingerprint(s beam.Scope, documents beam.PCollection, o Options) (profiles, notes beam.PCollection) {
	set := o.parts()
	s = s.Scope("neardup.Fingerprint")
	// parts has asked for the fingerprinter already, so this cannot fail.
	if f, _ := set.fingerprinter(); set.Method == Cosine && f.Weight == nil {
		frequencies := beam.Combine(s, &countFn{settings: set}, documents)
		return beam.ParDo2(s, &weighFn{profileFn{settings: set}}, documents, beam.SideInput{Input: frequencies})
	}
	return beam.ParDo2(s, &profileFn{settings: set}, documents)
}

// profileFn makes profiles that need no frequencies. The fingerprinter is a function that workers know by
// name, so Setup calls it there.
type profileFn struct {
	settings
	f *neardup.Fingerprinter
}

func (fn *profileFn) Setup() (err error) {
	fn.f, err = fn.fingerprinter()
	return err
}

// ProcessElement emits a profile without Data too: Groups must know all documents that a pair may name.
func (fn *profileFn) ProcessElement(d Document, emit func(Profile), note func(Note)) {
	p := Profile{ID: d.ID, Length: utf8.RuneCountInString(d.Text), Data: fn.data(d.Text)}
	if len(p.Data) == 0 {
		note(Note{NoFeatures, d.ID, "the text has nothing to compare, so it is kept, and has no near-duplicates"})
	}
	emit(p)
}

// data returns the Data of a text. It is empty for a text without features, which has the fingerprint 0 or
// a signature of empty values, and would be equal to all others of its kind.
func (fn *profileFn) data(text string) []byte {
	var e encoder
	switch fn.Method {
	case SimHash:
		if fn.Bits == 64 {
			if fp := fn.f.Sum64(neardup.Text(text)); fp != 0 {
				e = e.uint64(uint64(fp))
			}
		} else if fp := fn.f.Sum128(neardup.Text(text)); fp != (neardup.Fingerprint128{}) {
			e = e.uint64(fp.Hi).uint64(fp.Lo)
		}
	case MinHash:
		if sig := fn.f.Sign(neardup.Text(text), fn.MinHash); sig[0] != emptyValue {
			for _, v := range sig {
				e = binary.BigEndian.AppendUint32(e, v)
			}
		}
	case Cosine:
		vector := fn.f.Vector(neardup.Text(text))
		if len(vector) == 0 {
			return nil
		}
		// Only the bands find candidates here, so their keys go along, and not the signature. The vector
		// decides.
		sig := fn.f.Sign(neardup.Text(text), fn.MinHash)
		for band := range fn.Banding.Bands {
			e = e.uint64(bandKey(sig[band*fn.Banding.Rows:][:fn.Banding.Rows]))
		}
		for _, t := range vector {
			e = binary.BigEndian.AppendUint32(e.uint64(t.Feature), math.Float32bits(t.Weight))
		}
	}
	return e
}

// Values of a [neardup.Signature]: what the empty set has everywhere, and the bit of those that are borrowed.
const (
	emptyValue = math.MaxUint32
	borrowed   = 1 << 31
)

// bandKey returns a hash of the values of a band. Borrowed values count like own ones, as in a
// SignatureIndex. Different bands with the same hash only give one more candidate.
func bandKey(values []uint32) uint64 {
	var buf [256]byte
	b := buf[:0]
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v&^borrowed)
	}
	return xxh3.Hash(b)
}

// weighFn makes profiles with weights that depend on document frequencies. The frequencies are a side
// input: one value that every worker gets.
type weighFn struct{ profileFn }

func (fn *weighFn) ProcessElement(d Document, frequencies []byte, emit func(Profile), note func(Note)) error {
	// Side inputs come with the elements and not to Setup. They are the same for all elements, so the first
	// one is read.
	if fn.f.Weight == nil {
		statistics, err := neardup.ReadDocumentFrequencies(bytes.NewReader(frequencies), fn.f)
		if err != nil {
			return fmt.Errorf("neardupbeam: frequencies: %w", err)
		}
		fn.f.Weight = weightOf(statistics)
	}
	fn.profileFn.ProcessElement(d, emit, note)
	return nil
}

// weightOf returns the weight of features by document frequency.
func weightOf(statistics *neardup.DocumentFrequencies) neardup.Weight {
	return neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: statistics}}
}

// counts are what a worker has counted: in builder, or as bytes that came from another worker. At most one
// of the two is set; neither is for a worker that has counted nothing.
type counts struct {
	builder *neardup.DocumentFrequenciesBuilder
	merged  []byte
}

// encodeCounts changes an accumulator into bytes; build makes a builder of them again if more is to be
// counted.
func encodeCounts(c *counts) ([]byte, error) {
	err := c.flush()
	return c.merged, err
}

func decodeCounts(b []byte) *counts { return &counts{merged: bytes.Clone(b)} }

// flush turns the builder into bytes.
func (c *counts) flush() error {
	if c.builder == nil {
		return nil
	}
	var w bytes.Buffer
	_, err := c.builder.Build().WriteTo(&w)
	c.builder, c.merged = nil, w.Bytes()
	return err
}

// countFn combines documents to the document frequencies of their features. All counts are sums, as Beam
// demands of a combiner: it may merge accumulators in any order.
type countFn struct {
	settings
	f *neardup.Fingerprinter
}

func (fn *countFn) CreateAccumulator() *counts { return &counts{} }

// build makes sure that c has a builder.
func (fn *countFn) build(c *counts) error {
	if c.builder != nil {
		return nil
	}
	if fn.f == nil {
		var err error
		if fn.f, err = fn.fingerprinter(); err != nil {
			return err
		}
	}
	c.builder = &neardup.DocumentFrequenciesBuilder{Fingerprinter: *fn.f}
	if c.merged == nil {
		return nil
	}
	old, err := neardup.ReadDocumentFrequencies(bytes.NewReader(c.merged), fn.f)
	if err != nil {
		return err
	}
	c.merged = nil
	return c.builder.Merge(old)
}

func (fn *countFn) AddInput(c *counts, d Document) (*counts, error) {
	// The id decides, and not chance: a job that is repeated, or divided otherwise, counts the same
	// documents.
	if xxh3.HashString(d.ID)%uint64(fn.SampleEvery) != 0 {
		return c, nil
	}
	err := fn.build(c)
	if err == nil {
		c.builder.Add(neardup.Text(d.Text))
	}
	return c, err
}

// MergeAccumulators adds b to a. Empty ones, such as those of bundles without a sampled document, are not
// decoded.
func (fn *countFn) MergeAccumulators(a, b *counts) (*counts, error) {
	if b.builder == nil && b.merged == nil {
		return a, nil
	}
	if a.builder == nil && a.merged == nil {
		return b, nil
	}
	if err := fn.build(a); err != nil {
		return nil, err
	}
	var other *neardup.DocumentFrequencies
	if b.builder != nil {
		other = b.builder.Build()
	} else {
		var err error
		if other, err = neardup.ReadDocumentFrequencies(bytes.NewReader(b.merged), fn.f); err != nil {
			return nil, err
		}
	}
	return a, a.builder.Merge(other)
}

func (fn *countFn) ExtractOutput(c *counts) ([]byte, error) {
	if err := fn.build(c); err != nil { // no document at all
		return nil, err
	}
	err := c.flush()
	return c.merged, err
}

// compared is what two profiles of a method are compared by, read from their Data. Bands are for telling
// whether a bucket is the first that two contents share.
type compared struct {
	mask      [2]uint64 // simhash
	signature neardup.Signature
	bands     []uint64 // minhash, cosine
	vector    neardup.Vector
}

// read reads the Data of a profile. The fingerprint of 64 bits is in the low half, as blocks.Mask wants it.
// MinHash has its bands from the signature, so they need no room in Data.
func (s *settings) read(data []byte) (c compared, err error) {
	d := decoder{b: data}
	switch s.Method {
	case SimHash:
		for i := range s.Bits / 64 {
			c.mask[i] = d.uint64()
		}
		if s.Bits == 64 {
			c.mask[0], c.mask[1] = 0, c.mask[0]
		}
	case MinHash:
		if len(data) != 4*s.MinHash.Values {
			return c, errTruncated
		}
		c.signature = make(neardup.Signature, s.MinHash.Values)
		for i := range c.signature {
			c.signature[i] = binary.BigEndian.Uint32(data[4*i:])
		}
		c.bands = make([]uint64, s.Banding.Bands)
		for i := range c.bands {
			c.bands[i] = bandKey(c.signature[i*s.Banding.Rows:][:s.Banding.Rows])
		}
	case Cosine:
		c.bands = make([]uint64, s.Banding.Bands)
		for i := range c.bands {
			c.bands[i] = d.uint64()
		}
		c.vector = make(neardup.Vector, 0, len(d.b)/12)
		for len(d.b) > 0 && d.err == nil {
			feature := d.uint64()
			if len(d.b) < 4 {
				return c, errTruncated
			}
			c.vector = append(c.vector, neardup.Term{Feature: feature, Weight: math.Float32frombits(binary.BigEndian.Uint32(d.b))})
			d.b = d.b[4:]
		}
	}
	return c, d.err
}

func init() {
	register3x0((*profileFn).ProcessElement)
	register4x1((*weighFn).ProcessElement)
	register.Combiner3[*counts, Document, []byte](&countFn{})
	register.Emitter1[Profile]()
	register.Emitter1[Note]()
	beam.RegisterCoder(reflect.TypeFor[*counts](), encodeCounts, decodeCounts)
}
