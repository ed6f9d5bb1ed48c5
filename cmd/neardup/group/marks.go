package group

import (
	"context"
	"iter"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file has the methods minhash and simhash: pairs of marks whose signatures or fingerprints are near. With metadata, simhash pairs get a combined
// score.

// ByMarks groups the documents by their marks. It also finds the pairs if they are wanted. signatures has those of the method minhash; nil with simhash.
func ByMarks(c *corpus.Corpus, o *options.Options, signatures *load.Signatures, wantPairs bool) (*Groups, error) {
	b := &byMarks{o, signatures}
	t := newTexts(c, o)
	near, failed := b.pairs(t.marks)
	if wantPairs {
		var all []nearPair
		most := options.MostListed(o.Memory)
		for p := range near {
			if all = append(all, p); len(all) > most {
				return nil, TooManyPairs(most)
			}
		}
		near = slices.Values(all)
		if err := t.listPairs(near, most); err != nil {
			return nil, err
		}
	}
	t.group(near)
	return t.groups, failed()
}

// byMarks compares marks.
type byMarks struct {
	o          *options.Options
	signatures *load.Signatures
}

// A nearPair is two marks by number, and the value to print with them: a distance, a similarity or
// a score.
type nearPair struct {
	i, j  int
	value float64
}

// pairs yields the pairs of near-duplicates among marks. The function reports an error after the last one.
func (b *byMarks) pairs(marks []*corpus.Mark) (iter.Seq[nearPair], func() error) {
	m := &b.o.Method
	if b.signatures != nil {
		var failed error
		return func(yield func(nearPair) bool) {
			places := make([]int64, len(marks))
			for i, k := range marks {
				places[i] = k.Signature
			}
			failed = b.signatures.Pairs(places, documentBytes*int64(len(marks)), func(a, b int, jaccard float64) bool {
				return yield(nearPair{a, b, jaccard})
			})
		}, func() error { return failed }
	}
	near := neardup.Pairs(context.Background(), fingerprints64(marks), m.Distance)
	if m.Bits == 128 {
		near = neardup.Pairs(context.Background(), fingerprints128(marks), m.Distance)
	}
	return func(yield func(nearPair) bool) {
		for p := range near {
			value := float64(p.Distance)
			if !m.ByContent {
				value = m.Blend.Score(p.Distance, marks[p.A].More.Metadata.Jaccard(marks[p.B].More.Metadata))
				if !m.Blend.Similar(value) {
					continue
				}
			}
			if !yield(nearPair{p.A, p.B, value}) {
				return
			}
		}
	}, func() error { return nil }
}

// documentBytes is how much of the program a document takes, by measuring.
const documentBytes = 220

// fingerprints64 returns the fingerprints of marks, as 64 bits.
func fingerprints64(marks []*corpus.Mark) []neardup.Fingerprint64 {
	fps := make([]neardup.Fingerprint64, len(marks))
	for i, k := range marks {
		fps[i] = neardup.Fingerprint64(k.Fingerprint.Lo)
	}
	return fps
}

// fingerprints128 returns the fingerprints of marks, as 128 bits.
func fingerprints128(marks []*corpus.Mark) []neardup.Fingerprint128 {
	fps := make([]neardup.Fingerprint128, len(marks))
	for i, k := range marks {
		fps[i] = k.Fingerprint
	}
	return fps
}
