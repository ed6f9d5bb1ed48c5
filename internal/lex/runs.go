package lex

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
	"github.com/zeebo/xxh3"
)

// EachRun calls take with the features that a Deduplicator extracts when the caller sets no
// tokenizer, and returns the number of units in the text.
//
// A feature is a run of three units. Where the first two are both words of their own (Han, kana,
// Thai, emoji), it is a run of two, because two such characters say about as much as three words. A
// text of n ≥ 3 units has n−2 features, and one more if its last two units are both words of their
// own. A text of one or two units is a single feature; an empty one has none.
//
//	the cat sat down    the cat sat, cat sat down
//	我爱你              我 爱, 爱 你
//
// The slice passed to take points into the buffer. It is valid only during the call.
func (b *Batch) EachRun(text string, chars bool, take func(feature []byte)) (units int) {
	windows := 0
	b.Reset(chars, 3)
	for b.Read(text, true); b.Next(); {
		b.runs(func(bytes []byte) {
			for i := range len(bytes) - 2 {
				take(bytes[i : i+3])
			}
		}, take)
		windows += b.Size()
	}
	b.lastRun(take)
	return b.Units(windows)
}

// runs calls take with the features that begin in the current batch, of runs of three units. Where every unit is one byte, it calls plain
// with all of them at once: each three are a feature.
func (b *Batch) runs(plain, take func([]byte)) {
	if b.n < 3 { // Next has made a feature of the whole short text
		take(b.buf[b.start[0]:b.end[b.n-1]])
		return
	}
	if from := int(b.start[b.first]); int(b.end[b.limit+1])-from == b.limit+2-b.first {
		// Every unit is one byte, so none is a word of its own.
		plain(b.buf[from : from+2+b.limit-b.first])
		return
	}
	// Slide over the windows. The second unit of one window is the first unit of the next, so
	// each unit is classified once per batch.
	first := b.isSelf(b.first)
	for i := b.first; i < b.limit; i++ {
		second := b.isSelf(i + 1)
		end := b.end[i+2]
		if first && second {
			end = b.end[i+1]
		}
		take(b.buf[b.start[i]:end])
		first = second
	}
}

// lastRun calls take with the last feature of a text when Next has returned false for its last piece: the last two units begin no window of
// three, but may be a run of two. Next leaves first at the first window that is not complete.
func (b *Batch) lastRun(take func([]byte)) {
	if i := b.first; b.n == 3 && len(b.end) == i+2 && b.isSelf(i) && b.isSelf(i+1) {
		take(b.buf[b.start[i]:b.end[i+1]])
	}
}

// AppendRunKeys appends [RunKey] of the features that EachRun finds, and returns the number of units in the text.
func (b *Batch) AppendRunKeys(keys []uint64, text string, chars bool, seed uint64) (all []uint64, units int) {
	windows := 0
	b.Reset(chars, 3)
	for b.Read(text, true); b.Next(); {
		keys = b.AppendKeys(keys, seed)
		windows += b.Size()
	}
	return b.AppendLastKey(keys, seed), b.Units(windows)
}

// AppendKeys appends [RunKey] of the features of the current batch, for somebody who reads a text by runs of three units himself.
func (b *Batch) AppendKeys(keys []uint64, seed uint64) []uint64 {
	b.runs(func(bytes []byte) {
		x := uint64(bytes[0])<<8 | uint64(bytes[1])<<16
		for _, c := range bytes[2:] {
			x = x>>8 | uint64(c)<<16
			keys = append(keys, shortKey(x|3<<56, seed))
		}
	}, func(feature []byte) { keys = append(keys, RunKey(feature, seed)) })
	return keys
}

// AppendLastKey is AppendKeys for what is left when Next has returned false for the last piece.
func (b *Batch) AppendLastKey(keys []uint64, seed uint64) []uint64 {
	b.lastRun(func(feature []byte) { keys = append(keys, RunKey(feature, seed)) })
	return keys
}

// Units returns how many units of a text have been read up to the end of the last piece when Next has returned false for it, if so many
// windows were handed out. One that may go on with the next piece counts.
func (b *Batch) Units(windows int) int {
	units := windows + len(b.end) - b.first
	if b.used > b.open {
		units++
	}
	return units
}

// RunKey returns the key of a feature, by which a Deduplicator tells features apart: keys are as good as random. Two features of up
// to seven bytes never have the same one.
func RunKey(feature []byte, seed uint64) uint64 {
	n := len(feature)
	if n > 7 {
		return xxh3.HashSeed(feature, seed)
	}
	x := uint64(n) << 56
	for i, c := range feature {
		x |= uint64(c) << (8 * i)
	}
	return shortKey(x, seed)
}

// shortKey mixes a number: each step can be undone, so different ones stay different.
func shortKey(x, seed uint64) uint64 {
	x = (x ^ seed) * 0x9FB21C651E98DF25
	x ^= x >> 32
	x *= 0xC2B2AE3D27D4EB4F
	return x ^ x>>29
}

// isSelf reports whether unit i is a word of its own: a character of a script without spaces, or an
// emoji.
func (u *units) isSelf(i int) bool {
	b := u.buf[u.start[i]:u.end[i]]
	if b[0] < utf8.RuneSelf {
		return false
	}
	if IsHan(b) {
		return true
	}
	r, _ := utf8.DecodeRune(b)
	return Class(ucd.Props(r)&ucd.ClassMask) == Single
}
