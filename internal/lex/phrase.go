package lex

import "strings"

// ContainsPhrase reports whether the text contains one of the phrases as a run of whole words.
//
// A phrase is spelled the way the lexer spells words in its buffer: folded, with one space between
// two words. So a Chinese phrase is written with a space between any two characters. lengths maps
// the first word of a phrase to the byte lengths of all phrases that begin with that word.
//
// Because the buffer holds the words of the text in the same spelling, a phrase in the text is a
// slice of the buffer. For each word, the function looks up the few slices that start there and
// have one of the possible lengths. The time is linear in the text for a fixed set of phrases.
//
// A phrase of at most maxPhrase words is always found. A longer one may be missed where it crosses
// the end of a block.
func ContainsPhrase(text string, phrases map[string]bool, lengths map[string][]int) bool {
	b := Batches.Get().(*Batch)
	defer Batches.Put(b)
	b.Reset(false, 1)
	for pos := 0; ; {
		if b.full() {
			// A phrase may cross the end of the block, so keep the last words. They are looked up
			// again with the next block, which does no harm.
			b.carry(maxPhrase, b.buf)
		}
		pos = b.lex(text, pos)
		if pos == len(text) {
			b.close(0)
		}
		for i := range b.end {
			// The rest of the block from word i on. A match must end where a word ends: at a space
			// or at the end of the last complete word.
			rest := String(b.buf[b.start[i]:b.end[len(b.end)-1]])
			for _, n := range lengths[rest[:b.end[i]-b.start[i]]] {
				if n <= len(rest) && (n == len(rest) || rest[n] == ' ') && phrases[rest[:n]] {
					return true
				}
			}
		}
		if pos == len(text) {
			return false
		}
	}
}

// maxPhrase is the number of words that ContainsPhrase carries from one block to the next, and so
// the length in words up to which it finds every phrase.
const maxPhrase = 64

// EachSentence calls take with where each sentence of a text begins and ends, in order. A sentence ends at 。！？；, at the
// end of a line, and at . ! ? ; before a space or tab.
func EachSentence(text string, take func(start, end int)) {
	start := 0
	ends := func(at int) {
		take(start, at)
		start = at
	}
	for i, r := range text {
		switch {
		case r == '\n' || r == '\r':
			ends(i + 1)
		case r == '.' || r == '!' || r == '?' || r == ';':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				ends(i + 1)
			}
		case r >= 0x3000 && strings.ContainsRune(SentenceEnds, r):
			ends(i + len("。"))
		}
	}
	ends(len(text))
}

// TitleEnd looks for the end of the title in the next piece of a text: the end of the first line that has a letter, a digit or an
// emoji. begun says that the pieces before have a part of the title. end is −1 if it is not in the piece.
func TitleEnd(piece string, begun bool) (end int, stillBegun bool) {
	for i := 0; i < len(piece); {
		_, class, size := Next(Bytes(piece), i)
		switch {
		case class == Letter || class == Single:
			begun = true
		case (piece[i] == '\n' || piece[i] == '\r') && begun:
			return i, true
		}
		i += size
	}
	return -1, begun
}
