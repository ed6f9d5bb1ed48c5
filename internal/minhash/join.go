package minhash

import (
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/textfile"
)

// This file finds all similar pairs: of the documents of Tables, and of signatures that do not fit in memory.

// A Similar is two documents and their estimated similarity.
type Similar struct {
	A, B    uint32
	Jaccard float64
}

// Similar calls take with every two documents A < B that agree in a band and are at least as similar as least, each pair once, until it
// returns false. All processors look for them, but the order is always the same. Only documents for which sees returns true count. stop is
// called often, and ends the work by returning true. A file must have been verified before.
func (t *Tables) Similar(least float64, sees func(ord uint32) bool, stop func() bool, take func(s Similar) bool) error {
	const together = 256 // pairs that are handed over at once
	type result struct {
		pairs []Similar
		err   error
	}
	var failed error
	var over atomic.Bool
	parallel.InOrder(t.Bands, func() struct{} { return struct{}{} }, func(_ struct{}, band int, emit func(result) bool) {
		var r result
		looked, goOn := 0, true
		r.err = t.pairs(band, func(a, b uint32) bool {
			if looked++; looked%(1<<16) == 0 && (over.Load() || stop()) {
				goOn = false
			}
			// Tables hold a part of each key only, so a pair may not agree in the band at all. And a
			// pair that agrees in several bands is reported for the first one.
			docA, docB := t.Doc(a), t.Doc(b)
			if !sees(a) || !sees(b) || !t.IsFirst(docA, docB, band) {
				return goOn
			}
			if j := t.Jaccard(docA, docB); j >= least {
				if r.pairs = append(r.pairs, Similar{a, b, j}); len(r.pairs) == together {
					goOn = emit(r) && goOn
					r.pairs = nil
				}
			}
			return goOn
		})
		emit(r)
	}, func(r result) bool {
		for _, s := range r.pairs {
			if !take(s) {
				over.Store(true)
				return false
			}
		}
		failed = r.err
		return failed == nil
	})
	return failed
}

// Filed are signatures in memory, or in a temporary file as far as they do not fit there. They are joined block by block: a block has as many
// as an index in memory can have, and each signature is compared with those of its own block, and searched for in the blocks before.
type Filed struct {
	layout *Layout
	least  float64 // the smallest similarity
	memory int64   // how much may be used
	file   *textfile.File
}

// Of the memory, a quarter is for signatures that are not written, and what others leave, up to a third, for an index.
const (
	filedShare   = 4
	indexShare   = 3
	leastIndexed = 1 << 14 // signatures of an index, however little memory there is
)

// NewFiled returns no signatures, for pairs of at least a similarity. memory is how much they and the join may take, in bytes, or 0 for the
// usual part of the machine's.
func NewFiled(values int, least float64, memory int64) *Filed {
	memory = textfile.Budget(memory)
	layout := NewLayout(values, 32, BestBanding(values, least, Price))
	return &Filed{layout: layout, least: least, memory: memory, file: textfile.Temporary(memory / filedShare)}
}

// Add adds signatures and returns their places, which are not 0. Several goroutines may add signatures, some hundred at a time.
func (f *Filed) Add(signatures [][]uint32) (places []int64, err error) {
	size := 8 * f.layout.Words
	places, err = f.file.AppendAll(slices.Repeat([]int{size}, len(signatures)), func(i int, to []byte) {
		copy(to, slots.Bytes(f.layout.document(signatures[i])))
	})
	for i := range places {
		places[i]++
	}
	return places, err
}

// Pairs calls take with the pairs of signatures at some places that are similar, by their positions there, A < B, until it returns false.
// others is how many bytes of the memory others have. If a signature cannot be read any more, that is the error.
func (f *Filed) Pairs(places []int64, others int64, take func(a, b int, jaccard float64) bool) error {
	each := int64(8*f.layout.Words + 6*f.layout.Bands) // a signature, and an entry of each band
	room := min(f.memory/indexShare, f.memory-f.memory/filedShare-others)
	block := max(int(room/each), leastIndexed)
	for from := 0; from < len(places); from += block {
		goOn, err := f.join(places[from:], min(block, len(places)-from), func(a, b uint32, jaccard float64) bool {
			return take(from+int(a), from+int(b), jaccard)
		})
		if !goOn || err != nil {
			return err
		}
	}
	return nil
}

// join calls take with the pairs of which one is among the first end signatures, and the other one there or behind them.
func (f *Filed) join(places []int64, end int, take func(a, b uint32, jaccard float64) bool) (goOn bool, err error) {
	words := f.layout.Words
	docs := make([]uint64, end*words)
	if err := f.read(places[:end], docs); err != nil {
		return false, err
	}
	goOn = true
	tables := NewTables(f.layout, docs)
	err = tables.Similar(f.least, func(uint32) bool { return true }, func() bool { return false }, func(p Similar) bool {
		goOn = take(p.A, p.B, p.Jaccard)
		return goOn
	})
	queries := make([]uint64, min(atOnce, len(places)-end)*words)
	for ; end < len(places) && goOn && err == nil; end += atOnce {
		some := places[end:min(end+atOnce, len(places))]
		if err = f.read(some, queries); err != nil {
			break
		}
		found := make([][]Similar, (len(some)+parallel.Chunk-1)/parallel.Chunk) // B is a query
		parallel.Chunks(len(some), func(number, begin, to int) {
			found[number] = tables.similarTo(f.least, queries[begin*words:to*words], uint32(begin))
		})
		for _, part := range found {
			for _, p := range part {
				goOn = goOn && take(p.A, uint32(end)+p.B, p.Jaccard)
			}
		}
	}
	return goOn, err
}

// atOnce is how many signatures are searched for at once: enough for all processors.
const atOnce = 1 << 12

// read reads signatures into documents.
func (f *Filed) read(places []int64, docs []uint64) error {
	parallel.Chunks(len(places), func(_, begin, to int) {
		var buf []byte
		for i := begin; i < to; i++ {
			doc := slots.Bytes(docs[i*f.layout.Words:][:f.layout.Words])
			copy(doc, f.file.Read(places[i]-1, len(doc), &buf))
		}
	})
	return f.file.Err()
}
