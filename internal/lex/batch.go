package lex

import (
	"sync"

	"github.com/zeebo/xxh3"
)

// A Batch hashes the features of a text some thousand at a time.
type Batch struct {
	units
	n            int    // units in a feature
	Seed         uint64 // of the hashes, if seeded
	Seeded       bool
	piece        string
	pos          int  // what of piece is lexed
	last         bool // there are no more pieces
	first, limit int  // the features to hash next
	Seen         bool // any feature
	hi, lo       [MaxFeatures]uint64
}

// MaxFeatures is the number of features that are hashed at a time.
const MaxFeatures = 1024

// Batches keeps the buffers between calls.
var Batches = sync.Pool{New: func() any { return new(Batch) }}

// Reset makes b ready for a text; see read.
func (b *Batch) Reset(chars bool, n int) {
	if len(b.buf) != blockSize || cap(b.end) > 2*blockSize { // new, or grown by very long shingles
		b.units = units{buf: make([]byte, blockSize)}
	}
	b.chars, b.used, b.open, b.lone, b.start, b.end = chars, 0, 0, false, b.start[:0], b.end[:0]
	b.Offsets, b.base, b.from, b.to = false, 0, b.from[:0], b.to[:0]
	b.n, b.Seed, b.Seeded, b.first, b.limit, b.Seen = n, 0, false, 0, 0, false
}

// Read makes b read the next piece of the text, perhaps its last; see next.
func (b *Batch) Read(piece string, last bool) { b.piece, b.pos, b.last = piece, 0, last }

// Next prepares features for hash64 or hash128 and reports whether there are
// any: windows first to limit of n units each. Before the last piece, it keeps
// what may become a feature with the next one.
func (b *Batch) Next() bool {
	for {
		if b.first = b.limit; b.first+b.n <= len(b.end) {
			b.limit = min(len(b.end)-b.n+1, b.first+len(b.lo))
			b.Seen = true
			return true
		}
		if b.pos == len(b.piece) {
			break
		}
		if b.full() {
			b.carry(len(b.end)-b.first, b.buf)
			b.limit = 0
		}
		b.pos = b.lex(b.piece, b.pos)
	}
	if b.last {
		b.close(b.pos)
	}
	b.base += b.pos
	b.piece, b.pos = "", 0 // do not keep it
	if !b.last {
		return false
	}
	if b.first+b.n <= len(b.end) { // the last unit was open
		b.limit, b.Seen = b.first+1, true
		return true
	}
	// A text of fewer than n units is one feature.
	if b.Seen || len(b.end) == 0 {
		return false
	}
	b.n, b.first, b.limit, b.Seen = len(b.end), 0, 1, true
	return true
}

// Feature returns the text of feature i of those that next has prepared, and where it stands,
// if offsets are kept. It is good until the next call.
func (b *Batch) Feature(i int) (text string, start, end int) {
	return b.window(b.first+i, b.first+i+b.n-1)
}

// Size returns the number of features that next has prepared.
func (b *Batch) Size() int { return b.limit - b.first }

// Hash64 returns the hashes of the features that next has prepared.
func (b *Batch) Hash64() []uint64 {
	out := b.lo[:b.limit-b.first]
	start, end := b.start[b.first:][:len(out)], b.end[b.first+b.n-1:][:len(out)]
	if b.Seeded {
		for i := range out {
			out[i] = xxh3.HashSeed(b.buf[start[i]:end[i]], b.Seed)
		}
		return out
	}
	for i := range out {
		out[i] = xxh3.Hash(b.buf[start[i]:end[i]])
	}
	return out
}

// Hash128 is hash64 for 128 bits.
func (b *Batch) Hash128() (hi, lo []uint64) {
	hi, lo = b.hi[:b.limit-b.first], b.lo[:b.limit-b.first]
	start, end := b.start[b.first:], b.end[b.first+b.n-1:]
	if b.Seeded {
		for i := range lo {
			u := xxh3.Hash128Seed(b.buf[start[i]:end[i]], b.Seed)
			hi[i], lo[i] = u.Hi, u.Lo
		}
		return hi, lo
	}
	for i := range lo {
		u := xxh3.Hash128(b.buf[start[i]:end[i]])
		hi[i], lo[i] = u.Hi, u.Lo
	}
	return hi, lo
}
