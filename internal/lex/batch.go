package lex

import (
	"sync"

	"github.com/zeebo/xxh3"
)

// A Batch is how the library hashes a text: it cuts the text into features (windows of n units) and
// hands them out up to MaxFeatures at a time. Working in batches keeps the lexer, the hash and the
// accumulator each in a tight loop of its own, and nothing is allocated per feature.
//
// A Batch is used like this:
//
//	b := Batches.Get().(*Batch)
//	b.Reset(chars, n)
//	for each piece of the text {
//		for b.Read(piece, last); b.Next(); {
//			use(b.Hash64())
//		}
//	}
//	Batches.Put(b)

// A Batch hashes the features of one text after another. It is not safe for concurrent use.
type Batch struct {
	units
	n            int    // units in a feature
	Seed         uint64 // of the hashes, if Seeded
	Seeded       bool   // use Seed; without it the hashes are unseeded XXH3
	piece        string // the piece being read
	pos          int    // bytes of piece already lexed
	last         bool   // piece is the last one
	first, limit int    // current features: the windows that begin with unit first to limit−1
	Seen         bool   // the text has at least one feature so far
	hi, lo       [MaxFeatures]uint64
}

// MaxFeatures is the largest number of features in a batch.
const MaxFeatures = 1024

// Batches pools Batch values, and with them their buffers. Call Reset on what Get returns.
var Batches = sync.Pool{New: func() any { return new(Batch) }}

// Reset prepares b for a new text, whose features are runs of n characters, or of n words. It
// clears Offsets, Seed and Seeded, so set those after Reset. A buffer that grew because of very
// long shingles is dropped, so that the pool does not hold on to it.
func (b *Batch) Reset(chars bool, n int) {
	if len(b.buf) != blockSize || cap(b.end) > 2*blockSize {
		b.units = units{buf: make([]byte, blockSize)}
	}
	b.chars, b.used, b.open, b.lone, b.start, b.end = chars, 0, 0, false, b.start[:0], b.end[:0]
	b.Offsets, b.base, b.from, b.to = false, 0, b.from[:0], b.to[:0]
	b.n, b.Seed, b.Seeded, b.first, b.limit, b.Seen = n, 0, false, 0, 0, false
}

// Read sets the next piece of the text. The caller then calls Next until it returns false. A piece
// must not end inside a character unless it is the last. b does not keep it once Next has returned
// false.
func (b *Batch) Read(piece string, last bool) { b.piece, b.pos, b.last = piece, 0, last }

// Next moves on to the next batch of features and reports whether there is one. Between pieces it
// keeps the units that may become part of a feature with the next piece. A text of fewer than n
// units is one feature, if it has any unit.
func (b *Batch) Next() bool {
	for {
		// Hand out the windows that are complete but not yet used.
		if b.first = b.limit; b.first+b.n <= len(b.end) {
			b.limit = min(len(b.end)-b.n+1, b.first+len(b.lo))
			b.Seen = true
			return true
		}
		if b.pos == len(b.piece) {
			break
		}
		if b.full() {
			// Fewer than n units are left, and no more are needed.
			b.carry(len(b.end)-b.first, b.buf)
			b.limit = 0
		}
		b.pos = b.lex(b.piece, b.pos)
	}
	if b.last {
		b.close(b.pos)
	}
	b.base += b.pos
	b.piece, b.pos = "", 0 // let go of the caller's text
	if !b.last {
		return false
	}
	if b.first+b.n <= len(b.end) {
		// close has ended the last unit, which completes exactly one more window.
		b.limit, b.Seen = b.first+1, true
		return true
	}
	// A text of fewer than n units is one feature. All of its units are still in the buffer.
	if b.Seen || len(b.end) == 0 {
		return false
	}
	b.n, b.first, b.limit, b.Seen = len(b.end), 0, 1, true
	return true
}

// Feature returns the text of feature i of the current batch, 0 ≤ i < Size, and the bytes of the
// text that it was made from. It needs Offsets. The string is valid until the next call of Next.
func (b *Batch) Feature(i int) (text string, start, end int) {
	return b.window(b.first+i, b.first+i+b.n-1)
}

// Unit returns the text of the first unit of feature i of the current batch, 0 ≤ i < Size. It
// belongs to b, and is valid until the next call of Next.
func (b *Batch) Unit(i int) []byte { return b.buf[b.start[b.first+i]:b.end[b.first+i]] }

// IsSingle reports whether the first unit of feature i of the current batch is a character of a script without spaces, or an emoji,
// and no word of letters.
func (b *Batch) IsSingle(i int) bool { return b.isSelf(b.first + i) }

// Size returns the number of features in the current batch, at most MaxFeatures.
func (b *Batch) Size() int { return b.limit - b.first }

// Hash64 returns the 64-bit XXH3 hashes of the features in the current batch, in the order of the
// text. The slice belongs to b: the next call of Hash64, Hash128 or Next overwrites it.
func (b *Batch) Hash64() []uint64 {
	// Feature i is buf[start[i]:end[i]], from the start of its first unit to the end of its last.
	// The units of a window lie side by side, so there is nothing to join or copy.
	out := b.lo[:b.limit-b.first]
	start, end := b.start[b.first:][:len(out)], b.end[b.first+b.n-1:][:len(out)]
	if b.Seeded {
		for i := range out {
			out[i] = xxh3.HashSeed(b.buf[start[i]:end[i]], b.Seed)
		}
		return out
	}
	hashAll(out, b.buf, start, end, b.chars)
	return out
}

// Units64 returns the 64-bit XXH3 hashes of the first units of the features in the current batch, without the seed. When Next has
// returned false for the last piece, it returns those of the units with which no feature begins. The slice belongs to b: the next
// call of Units64, Hash128 or Next overwrites it.
func (b *Batch) Units64() []uint64 {
	to := b.limit
	if b.limit <= b.first { // Next has returned false
		to = len(b.end)
	}
	out := b.hi[:to-b.first]
	hashAll(out, b.buf, b.start[b.first:][:len(out)], b.end[b.first:][:len(out)], b.chars)
	return out
}

// Hash128 is Hash64 for 128-bit hashes. lo shares its memory with the result of Hash64.
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
