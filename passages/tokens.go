package passages

import (
	"errors"
	"fmt"
	"math"

	"github.com/neardup/neardup/internal/lex"
	"github.com/zeebo/xxh3"
)

// This file reads a text as tokens, and says how long a passage has to be.

// A Length says how long a run of tokens must be to count: so many words, or so many characters of a script that puts no
// spaces between words, such as Chinese. In a run of both, a word counts as 1/Words of a passage, and a character as
// 1/Characters.
type Length struct {
	Words      int // 0 stands for 50, or for 5/8 of Characters, rounded down, if these are given
	Characters int // 0 stands for 80, or for 8/5 of Words, rounded down, if these are given: as many characters as say what so many words say
}

// The usual length of a passage. Fifty words are two sentences or three: so many are rarely equal unless they were copied
// (Lee et al. 2022, Deduplicating Training Data Makes Language Models Better, section 4.2, who take 50 tokens too).
const (
	usualWords      = 50
	usualCharacters = 80
)

// mostLength bounds both, so that no sum of weights overflows 32 bits.
const mostLength = 1 << 15

// WithDefaults returns the length with what was left out. The error is that of a number that is out of range.
func (l Length) WithDefaults() (Length, error) {
	if l.Words == 0 && l.Characters == 0 {
		return Length{usualWords, usualCharacters}, nil
	}
	if l.Words == 0 {
		l.Words = max(l.Characters*usualWords/usualCharacters, 1)
	}
	if l.Characters == 0 {
		l.Characters = min(max(l.Words*usualCharacters/usualWords, 1), mostLength)
	}
	if l.Words < 1 || l.Characters < 1 || l.Words > mostLength || l.Characters > mostLength {
		return l, fmt.Errorf("passages: a length of %d words or %d characters: both must be from 1 to %d", l.Words, l.Characters, mostLength)
	}
	return l, nil
}

// tokens is how many tokens a run has at least.
func (l Length) tokens() int { return min(l.Words, l.Characters) }

// A tokenized text is its tokens in their order: words, and characters of scripts that put no spaces between words. Letters are folded
// (case, width, font), and what stands between tokens does not count.
type tokenized struct {
	hashes   []uint64 // XXH3 of the folded tokens
	single   []bool   // which are characters
	from, to []uint32 // where they stand in the text, if they were asked for; no character is cut
}

// mostBytes is how long a text may be, so that places in it are numbers of 32 bits.
const mostBytes = math.MaxInt32

var errTooLong = errors.New("passages: the text has 2 GB or more")

// read makes t the tokens of a text of up to mostBytes, in the memory that t has.
func (t *tokenized) read(text string, places bool) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	t.hashes, t.single, t.from, t.to = t.hashes[:0], t.single[:0], t.from[:0], t.to[:0]
	b.Reset(false, 1)
	b.Offsets = places
	for b.Read(text, true); b.Next(); {
		t.hashes = append(t.hashes, b.Units64()...)
		for i := range b.Size() {
			t.single = append(t.single, b.IsSingle(i))
			if places {
				_, from, to := b.Feature(i)
				t.from, t.to = append(t.from, uint32(from)), append(t.to, uint32(to))
			}
		}
	}
}

// len returns the number of tokens.
func (t *tokenized) len() int { return len(t.hashes) }

// weight returns the weight of a token: a run counts if it weighs Words times Characters.
func (l Length) weight(single bool) int {
	if single {
		return l.Words
	}
	return l.Characters
}

// A gram is the shortest run that counts, from a token on. ends appends, for each token, the end of the gram that begins with it. The last tokens begin
// none.
func (l Length) ends(t *tokenized, ends []uint32) []uint32 {
	sum, end := 0, 0
	for i := range t.hashes {
		for ; sum < l.Words*l.Characters; end++ {
			if end == t.len() {
				return ends
			}
			sum += l.weight(t.single[end])
		}
		ends = append(ends, uint32(end))
		sum -= l.weight(t.single[i])
	}
	return ends
}

// A key stands for the tokens of a gram.
type key = xxh3.Uint128

// keyOf returns the key of a run of tokens. It is another one on processors with another order of bytes, so no result may depend on it.
func keyOf(hashes []uint64) key {
	return xxh3.Hash128(bytesOf(hashes))
}

// CountTokens returns how many words, or characters of scripts that put no spaces between words, a text has. Of a text of 2 GB or more it counts none.
func CountTokens(text string) int {
	var t tokenized
	if len(text) <= mostBytes {
		t.read(text, false)
	}
	return t.len()
}
