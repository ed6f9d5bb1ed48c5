package lex

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// This file reads a text as tokens in a row, for those who look for runs of them.

// Tokens are those of a text in their order: words, and characters of scripts that put no spaces between words. Letters are folded
// (case, width, font), and what stands between tokens does not count.
type Tokens struct {
	Hashes   []uint64 // XXH3 of the folded tokens
	Single   []bool   // which are characters
	From, To []uint32 // where they stand in the text, if they were asked for; no character is cut
}

// MaxText is how many bytes a text may have, so that places in it are numbers of 32 bits.
const MaxText = math.MaxInt32

// Read makes t the tokens of a text of up to MaxText bytes, in the memory that t has.
func (t *Tokens) Read(text string, places bool) {
	b := Batches.Get().(*Batch)
	defer Batches.Put(b)
	t.Hashes, t.Single, t.From, t.To = t.Hashes[:0], t.Single[:0], t.From[:0], t.To[:0]
	b.Reset(false, 1)
	b.Offsets = places
	for b.Read(text, true); b.Next(); {
		t.Hashes = append(t.Hashes, b.Units64()...)
		for i := range b.Size() {
			t.Single = append(t.Single, b.IsSingle(i))
			if places {
				_, from, to := b.Feature(i)
				t.From, t.To = append(t.From, uint32(from)), append(t.To, uint32(to))
			}
		}
	}
}

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(t.Hashes) }

// TokensKey returns a hash of a run of tokens. It is another one on processors with another order of bytes, so no result may depend on it.
func TokensKey(hashes []uint64) xxh3.Uint128 {
	return xxh3.Hash128(memory(hashes))
}

// RollingSum returns the sum of a run: that of its tokens, each turned as far as it is from the end, so that the sum of the next run follows from
// the one before.
func RollingSum(hashes []uint64) (sum uint64) {
	for _, h := range hashes {
		sum = bits.RotateLeft64(sum, 1) ^ h
	}
	return sum
}

// RollingHash makes the hash of a run from its sum: without it, runs with a certain token would nearly always be the smallest.
func RollingHash(sum uint64) uint64 {
	sum *= 0x9E3779B97F4A7C15
	return sum ^ sum>>32
}
