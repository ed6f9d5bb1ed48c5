package passages

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/internal/lex"
)

// This file says how long a passage has to be, and chooses the anchors of a text: runs of tokens by which texts
// are found that may share a passage.
//
// A gram is the shortest run that counts, from a token on; it has tokens() tokens at least. In each window of
// that many tokens, one run of two thirds as many is the anchor: the one with the smallest hash (winnowing;
// Schleimer, Wilkerson and Aiken 2003). Where a gram occurs in two places, both have the same window, and so an
// anchor with the same hash. So a gram occurs once if no anchor in its window occurs twice, and need not be
// looked at. With 50 tokens that leaves one anchor for every 9.
//
// Where several runs of a window have the smallest hash, the last one is the anchor. So if a text repeats itself
// within a window, both places have an anchor of their own.

// A Length says how long a run of tokens must be to count: a number of words, or a number of characters of a
// script that puts no spaces between words, such as Chinese. In a run of both, a word counts as 1/Words of a
// passage, and a character as 1/Characters.
type Length struct {
	Words      int // 0 means 50, or 5/8 of Characters, rounded down, if these are given
	Characters int // 0 means 80, or 8/5 of Words, rounded down, if these are given: about as much text as that many words
}

// WithDefaults returns the length with the defaults filled in. It returns an error for a number that is out of
// range.
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

// A tokenized text is its words and characters in their order.
type tokenized = lex.Tokens

// mostBytes is how long a text may be.
const mostBytes = lex.MaxText

var errTooLong = errors.New("passages: the text has 2 GB or more")

// weight returns the weight of a token: a run counts if it weighs Words times Characters.
func (l Length) weight(single bool) int {
	if single {
		return l.Words
	}
	return l.Characters
}

// ends appends, for each token, the end of the gram that begins with it. The last tokens begin none, so the
// result may be shorter than the text. Ends never descend, and one pass finds them all.
func (l Length) ends(t *tokenized, ends []uint32) []uint32 {
	sum, end := 0, 0
	for i := range t.Hashes {
		for ; sum < l.Words*l.Characters; end++ {
			if end == t.Len() {
				return ends
			}
			sum += l.weight(t.Single[end])
		}
		ends = append(ends, uint32(end))
		sum -= l.weight(t.Single[i])
	}
	return ends
}

// A key is a hash of the tokens of a gram. Grams with equal keys count as equal and are not compared again.
type key = xxh3.Uint128

// keyOf returns the key of a run of tokens.
func keyOf(hashes []uint64) key { return lex.TokensKey(hashes) }

// anchorTokens returns how many tokens an anchor has, and how many such runs are in a window. With runs of half
// the window instead of two thirds there are a third fewer anchors, but more documents share one by chance:
// 10 GB of text took 82 s instead of 79.
func (l Length) anchorTokens() (run, window int) {
	run = (2*l.tokens() + 2) / 3
	return run, l.tokens() - run + 1
}

// An anchor is a run of tokens.
type anchor struct {
	hash uint64
	at   uint32 // its first token
}

// anchors appends the anchors of a text, by their places. The hash of a run rolls on from the run before, and the
// smallest one of a window is looked for again only when it leaves the window, so a token costs a few operations
// however long a run is. An anchor depends on its window alone, and not on what is around it.
func (l Length) anchors(hashes []uint64, all []anchor) []anchor {
	run, window := l.anchorTokens()
	if len(hashes) < l.tokens() {
		return all
	}
	sum := lex.RollingSum(hashes[:run-1])
	ring := make([]uint64, 1<<bits.Len(uint(window))) // the hashes of the last runs
	mask := len(ring) - 1
	var least anchor // of the window of runs that ends with the one at a place
	for at := 0; at+run <= len(hashes); at++ {
		sum = bits.RotateLeft64(sum, 1) ^ hashes[at+run-1]
		hash := lex.RollingHash(sum)
		sum ^= bits.RotateLeft64(hashes[at], run-1)
		ring[at&mask] = hash
		switch {
		case at == 0 || hash <= least.hash:
			least = anchor{hash, uint32(at)}
		case int(least.at)+window <= at: // it has left the window
			least = anchor{hash, uint32(at)}
			for k := at - 1; k > at-window; k-- {
				if h := ring[k&mask]; h < least.hash {
					least = anchor{h, uint32(k)}
				}
			}
		case at != window-1:
			continue
		}
		if at >= window-1 { // the first window is complete
			all = append(all, least)
		}
	}
	return all
}
