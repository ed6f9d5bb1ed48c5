// Package shard divides the work of a [dedup.Deduplicator] among processes that each have a part of the documents.
//
// The result of a Deduplicator for two documents depends only on these two and their neighbourhoods. So it is
// enough to find out which documents can affect each other, and to give all of these to one process. Its
// results for them are the same as those of a process that has all documents, bit for bit.
//
//	Signer.Sign    makes the signature of a document, wherever the document is
//	Signature      says in which buckets it is
//	Bucket.Link    links what can matter to each other in one bucket
//	Links          does so for many buckets in memory
//
// Documents that are linked or equal, or that a chain of such documents connects, go to one Deduplicator. In most
// collections, most documents are not linked with any other, and need not be looked at again.
package shard

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/dedup/internal/signature"
)

// A Signer makes signatures. It may be used by several goroutines.
type Signer struct{ maker *content.Maker }

// NewSigner returns a signer for a Deduplicator with these options. It returns the error that [dedup.New]
// returns. All processes must use the same Fingerprinter, or else their signatures cannot be compared.
func NewSigner(o dedup.Options) (*Signer, error) {
	// A Deduplicator that nobody uses, so that the two refuse the same options.
	if _, err := dedup.New[int](o); err != nil {
		return nil, err
	}
	return &Signer{content.NewMaker(&o.Fingerprinter)}, nil
}

// Sign returns the signature of a document. The error is that of [dedup.Deduplicator.Add], for a record.
func (s *Signer) Sign(doc neardup.Document) (Signature, error) {
	d, err := s.maker.Make(doc)
	return Signature{d.Digest, d.Set}, err
}

// A Signature says which other documents can matter to a document. The zero value is that of a document without
// features.
type Signature struct {
	Digest uint64 // of what is compared; equal contents have equal digests
	of     signature.Set
}

// IsEmpty reports whether the document has no features. Then no other one matters to it.
func (s *Signature) IsEmpty() bool { return s.of.Has == [signature.Levels]bool{} }

// EachBucket calls use with each bucket that a document is in, and with the entry for the document in that
// bucket: 42 buckets, or 84 for a text of 50 to 99 words.
func (s *Signature) EachBucket(use func(b Bucket, e Entry)) {
	neighbour.EachBucket(&s.of, func(b neighbour.Bucket, e neighbour.Entry) { use(Bucket(b), Entry{e}) })
}

// Values returns the values of the two signatures, 128 of 16 bits each, or nil for one that the document does
// not have: long texts are known by pairs of words, and short ones by runs of three characters. Every three
// consecutive values, from 0 on, are a band.
//
// Two documents are neighbours if they agree in a band of one of the signatures, and by the four lowest bits of
// each value in as many values of it as [LeastSame] says.
func (s *Signature) Values() (long, short []int32) {
	of := [signature.Levels][]int32{}
	for l, has := range s.of.Has {
		for i := 0; has && i < signature.Values; i++ {
			of[l] = append(of[l], int32(s.of.Of[l].Value(i)))
		}
	}
	return of[signature.Long], of[signature.Short]
}

// LeastSame returns the least number of values in which neighbours agree, for long signatures and for short
// ones; see [Signature.Values].
func LeastSame() (long, short int) {
	return neighbour.LeastSame(signature.Long), neighbour.LeastSame(signature.Short)
}

// AppendBinary appends the signature: the digest, a byte that says which values there are, and the values,
// 256 bytes for each level.
func (s *Signature) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, s.Digest)
	has := byte(0)
	for l, isThere := range s.of.Has {
		if isThere {
			has |= 1 << l
		}
	}
	return s.of.Append(append(b, has)), nil
}

// MostBytes is how many bytes a signature takes at most.
const MostBytes = 9 + int(signature.Levels)*signature.Values*2

// errSignature is the error of bytes that are no signature.
var errSignature = errors.New("neardup: this is not the signature of a document")

// Decode reads what AppendBinary appended, and returns the bytes after it. It never reads beyond b, and returns an
// error for bytes that are too short or name a level that there is not. It cannot tell damaged values from others.
func (s *Signature) Decode(b []byte) (rest []byte, err error) {
	const head = 9
	if len(b) < head || b[head-1] >= 1<<signature.Levels {
		return nil, errSignature
	}
	var has [signature.Levels]bool
	for l := range has {
		has[l] = b[head-1]>>l&1 > 0
	}
	end := head + signature.Bytes(has)
	if len(b) < end {
		return nil, errSignature
	}
	s.Digest, s.of = binary.LittleEndian.Uint64(b), signature.Decode(has, b[head:end])
	return b[end:], nil
}

// A Bucket is the documents that agree in a band. The number says which band it is, and in what they agree.
type Bucket uint64

// MostEntries is the largest number of documents of a bucket that are compared. If there are more, all of
// them matter to each other.
const MostEntries = int(neighbour.UsualLimit)

// An Entry is what a bucket has to know about a document.
type Entry struct{ of neighbour.Entry }

// AppendBinary implements [encoding.BinaryAppender]. It appends [EntryBytes] bytes, and never fails.
func (e *Entry) AppendBinary(b []byte) ([]byte, error) { return e.of.AppendBinary(b) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It returns an error for anything that
// AppendBinary does not write.
func (e *Entry) UnmarshalBinary(b []byte) error { return e.of.UnmarshalBinary(b) }

// EntryBytes is how many bytes an entry takes.
const EntryBytes = neighbour.EntryBytes

// Link calls link with numbers of entries of the bucket so that those that matter to each other are connected.
// With n entries, up to [MostEntries], it takes time for n² comparisons of a few nanoseconds each, and less if
// many matter to each other.
func (b Bucket) Link(entries []Entry, link func(i, j int)) {
	order, of := make([]int, len(entries)), make([]neighbour.Entry, len(entries))
	for i := range order {
		order[i], of[i] = i, entries[i].of
	}
	neighbour.LinkBucket(neighbour.Bucket(b), of, order, link)
}

// Links finds the links of many documents in memory. It takes 76 bytes for each, and 336 more for each that are
// divided among the parts. Only one goroutine may use it.
type Links struct{ of *neighbour.Links }

// NewLinks returns Links that look at one part of the buckets, with a number from 0 to parts−1: together,
// all parts find all links.
func NewLinks(part, parts int) Links { return Links{neighbour.NewLinks(part, parts)} }

// Add adds the signature of a document under a number, which its links will have.
func (l Links) Add(document uint32, s *Signature) { l.of.Add(document, &s.of) }

// Find calls link for each link, from one goroutine at a time. It uses all processors. It may be called once.
// The error is that of the context.
func (l Links) Find(ctx context.Context, link func(a, b uint32)) error { return l.of.Find(ctx, link) }
