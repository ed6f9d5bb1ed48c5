package main

import (
	"cmp"
	"iter"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/textfile"
)

// This file joins the signatures of --method minhash within --memory. They are in a file, and indexed block by block, as many at a time
// as fit. Each signature is compared with those of its own block, and searched for in the blocks before.

// Signatures are those of texts. They are in memory, or in a temporary file as far as they do not fit there.
type signatures struct {
	minhash neardup.MinHash
	least   float64 // the smallest similarity
	memory  int64   // how much may be used
	file    *textfile.File
}

// Of --memory, a quarter is for signatures that are not written, and what documents leave, up to a third, for an index. A document takes so
// much of the program, by measuring.
const (
	signatureShare = 4
	indexShare     = 3
	leastIndexed   = 1 << 14 // signatures, however little there is: 10 MB
	documentBytes  = 220
)

// newSignatures returns no signatures. memory is how much may be used, or 0 for half of that of the machine.
func newSignatures(m *method, memory int64) *signatures {
	if memory == 0 {
		memory = cmp.Or(int64(machineMemory()/2), 1<<30)
	}
	return &signatures{minhash: m.minhash, least: m.least, memory: memory, file: textfile.Temporary(memory / signatureShare)}
}

// add signs a text, and returns the place of its signature behind the beginning, or 0 if the text has no features.
func (s *signatures) add(fp *neardup.Fingerprinter, text string) (place int64, err error) {
	signature := fp.Sign(text, s.minhash)
	if isEmptySignature(signature) {
		return 0, nil
	}
	place, err = s.file.AppendBytes(slots.Bytes(signature))
	return place + 1, err
}

// isEmptySignature reports whether a signature is that of a text without features.
func isEmptySignature(s neardup.Signature) bool { return s[0] == 1<<32-1 }

// pairs yields the pairs of marks that are similar. The function reports an error after the last one.
func (s *signatures) pairs(marks []*mark) (iter.Seq[nearPair], func() error) {
	var failed error
	layout := minhash.NewLayout(s.minhash.Values, 32, minhash.BestBanding(s.minhash.Values, s.least, minhash.Price))
	// An index has the signatures, and an entry of each band.
	each := int64(8*layout.Words + 6*layout.Bands)
	room := min(s.memory/indexShare, s.memory-s.memory/signatureShare-documentBytes*int64(len(marks)))
	block := max(int(room/each), leastIndexed)
	return func(yield func(nearPair) bool) {
		goOn := true
		for from := 0; from < len(marks) && goOn && failed == nil; from += block {
			goOn, failed = s.join(layout, marks[from:], from, min(block, len(marks)-from), yield)
		}
	}, func() error { return failed }
}

// join yields the pairs of which one is among the first end marks, and the other one there or behind them. The first mark has the number
// from.
func (s *signatures) join(layout *minhash.Layout, marks []*mark, from, end int, yield func(nearPair) bool) (goOn bool, err error) {
	docs := make([]uint64, end*layout.Words)
	s.read(layout, marks[:end], docs)
	if err := s.file.Err(); err != nil {
		return false, err
	}
	goOn = true
	take := func(a, b int, jaccard float64) bool {
		goOn = goOn && yield(nearPair{from + a, from + b, jaccard})
		return goOn
	}
	tables := minhash.NewTables(layout, docs)
	err = tables.Similar(s.least, func(uint32) bool { return true }, func() bool { return false }, func(p minhash.Similar) bool {
		return take(int(p.A), int(p.B), p.Jaccard)
	})
	queries := make([]uint64, min(atOnce, len(marks)-end)*layout.Words)
	for ; end < len(marks) && goOn && err == nil; end += atOnce {
		some := marks[end:min(end+atOnce, len(marks))]
		s.read(layout, some, queries)
		if err = s.file.Err(); err != nil {
			break
		}
		found := make([][]minhash.Similar, (len(some)+parallel.Chunk-1)/parallel.Chunk) // B is a query
		parallel.Chunks(len(some), func(number, begin, to int) {
			found[number] = tables.SimilarTo(s.least, queries[begin*layout.Words:to*layout.Words], uint32(begin))
		})
		for _, part := range found {
			for _, p := range part {
				take(int(p.A), end+int(p.B), p.Jaccard)
			}
		}
	}
	return goOn, err
}

// atOnce is how many signatures are searched for at once: enough for all processors.
const atOnce = 1 << 12

// read reads the signatures of marks into documents. If one cannot be read, the file has the error.
func (s *signatures) read(layout *minhash.Layout, marks []*mark, docs []uint64) {
	parallel.Chunks(len(marks), func(_, begin, to int) {
		var buf []byte
		signature := make(neardup.Signature, s.minhash.Values)
		for i := begin; i < to; i++ {
			copy(slots.Bytes(signature), s.file.Read(marks[i].signature-1, 4*len(signature), &buf))
			layout.Pack(docs[i*layout.Words:][:layout.Words], signature)
		}
	})
}
