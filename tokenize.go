package neardup

import (
	"iter"
	"unsafe"
)

// A Token is a feature of a text: a word, a character n-gram, a shingle.
type Token struct {
	// Text is the token as it is compared: for the tokenizers of this package
	// lower case, and inside a shingle one space between words. It may be kept.
	Text string

	// POS is the part of speech in the tag set of the dictionary, or empty.
	// Only a [Segmenter] sets it.
	POS string

	// Start and End delimit the bytes of the original text that the token was
	// made from.
	Start, End int
}

// A Tokenizer cuts a text into features. Tokens must yield the same tokens for
// the same text every time, whatever the bytes, and be safe for concurrent use.
//
// Tokenizers of this package skip everything that is neither letter, number nor
// combining mark, invalid UTF-8 included, and lower the case rune by rune.
// They take time linear in the text and allocate nothing per token. Which
// characters are letters is, for now, a matter of the unicode package of the
// toolchain.
type Tokenizer interface {
	Tokens(text string) iter.Seq[Token]
}

// maxWord is the longest word in bytes; a longer run of letters is cut into
// pieces, so that the memory needed for hostile input stays bounded.
const maxWord = 128

// Words yields the words of a text: runs of letters, digits and marks. In the
// scripts that put no spaces between words (Han, kana, Thai, Lao, Khmer,
// Burmese) every character is a word of its own; use [Shingles] over Words, or
// a [Segmenter], to get more. A run of more than 128 bytes is cut.
type Words struct{}

// Tokens implements [Tokenizer].
func (Words) Tokens(text string) iter.Seq[Token] { return unitTokens(lexWords, 1, text) }

// NGrams yields every run of N consecutive characters, skipped characters
// squeezed out: "It's" has the trigrams "its". A text of L characters has L−N+1
// n-grams (S003, after Broder et al. 1997); one shorter than N is itself the only one.
type NGrams struct {
	N int // characters; less than 1 means 3
}

// Tokens implements [Tokenizer].
func (g NGrams) Tokens(text string) iter.Seq[Token] { return unitTokens(lexChars, g.n(), text) }

func (g NGrams) n() int {
	if g.N < 1 {
		return 3
	}
	return g.N
}

// Shingles yields every run of N consecutive tokens of another tokenizer,
// joined by one space. A text of fewer than N tokens is itself the only
// shingle, if it has any token. The zero value, pairs of words, is the default
// tokenizer of this package.
type Shingles struct {
	Of Tokenizer // nil means Words{}
	N  int       // tokens; less than 1 means 2
}

func (s Shingles) n() int {
	if s.N < 1 {
		return 2
	}
	return s.N
}

// Tokens implements [Tokenizer].
func (s Shingles) Tokens(text string) iter.Seq[Token] {
	if lex, n, ok := unitsOf(s); ok {
		return unitTokens(lex, n, text)
	}
	return func(yield func(Token) bool) {
		n := s.n()
		var (
			joined []byte  // the tokens in a row; what was yielded is never overwritten
			last   []int   // where tokens start in joined
			window []Token // the tokens
			head   int     // the first of the last n tokens in both
		)
		for t := range s.Of.Tokens(text) {
			if len(window)-head == n {
				head++
			}
			if head >= 64 && head >= n { // few tokens are moved, and rarely
				last = last[:copy(last, last[head:])]
				window = window[:copy(window, window[head:])]
				head = 0
			}
			tail := joined[len(joined):]
			if head < len(last) {
				tail = joined[last[head]:]
			}
			if need := len(t.Text) + 1; cap(joined)-len(joined) < need {
				// A new block begins with the tokens still in the window.
				block := make([]byte, len(tail), max(4096, 2*(len(tail)+need)))
				copy(block, tail)
				for i := len(last) - 1; i >= head; i-- {
					last[i] -= last[head]
				}
				joined = block
			}
			if head < len(last) {
				joined = append(joined, ' ')
			}
			last = append(last, len(joined))
			window = append(window, t)
			joined = append(joined, t.Text...)
			if len(window)-head == n && !yield(shingle(joined[last[head]:], window[head:])) {
				return
			}
		}
		if len(window) > 0 && len(window) < n {
			yield(shingle(joined[last[0]:], window))
		}
	}
}

func shingle(text []byte, window []Token) Token {
	return Token{Text: stringOf(text), Start: window[0].Start, End: window[len(window)-1].End}
}

// unitsOf reports whether the features of t are windows of n units (words or
// characters) that lie side by side in a buffer, and how to read these. It asks
// for the types, not for a method, which a caller's tokenizer might inherit.
func unitsOf(t Tokenizer) (lex lexer, n int, ok bool) {
	switch t := t.(type) {
	case Words:
		return lexWords, 1, true
	case NGrams:
		return lexChars, t.n(), true
	case Shingles:
		if t.Of == nil || t.Of == Tokenizer(Words{}) {
			return lexWords, t.n(), true
		}
	}
	return nil, 0, false
}

// unitTokens yields the windows of n units.
func unitTokens(lex lexer, n int, text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		u := units{offsets: true}
		size := min(len(text)+len(text)/2+2*slack, blockSize)
		pos, seen := 0, false
		for pos < len(text) {
			u.carry(n-1, make([]byte, size)) // a new block: what was yielded may be kept
			pos = lex(&u, text, pos)
			for i := n - 1; i < len(u.end); i++ {
				seen = true
				if !yield(u.token(i-n+1, i)) {
					return
				}
			}
		}
		if len(u.end) > 0 && !seen {
			yield(u.token(0, len(u.end)-1))
		}
	}
}

func (u *units) token(first, last int) Token {
	return Token{Text: stringOf(u.buf[u.start[first]:u.end[last]]), Start: u.from[first], End: u.to[last]}
}

// reset makes b read text; see next.
func (b *batch) reset(lex lexer, n int, text string) {
	if len(b.buf) != blockSize || cap(b.end) > 2*blockSize { // new, or grown by very long shingles
		b.units = units{buf: make([]byte, blockSize)}
	}
	b.used, b.open, b.start, b.end = 0, 0, b.start[:0], b.end[:0]
	b.lex, b.n, b.text, b.pos, b.first, b.limit, b.seen = lex, n, text, 0, 0, 0, false
}

// next prepares features for hash64 or hash128 and reports whether there are
// any: windows first to limit of n units each.
func (b *batch) next() bool {
	for {
		if b.first = b.limit; b.first+b.n <= len(b.end) {
			b.limit = min(len(b.end)-b.n+1, b.first+len(b.lo))
			b.seen = true
			return true
		}
		if b.pos == len(b.text) {
			break
		}
		b.carry(b.n-1, b.buf)
		b.limit = 0
		b.pos = b.lex(&b.units, b.text, b.pos)
	}
	// A text of fewer than n units is one feature.
	if b.seen || len(b.end) == 0 {
		b.text = "" // do not keep it in the pool
		return false
	}
	b.n, b.first, b.limit, b.seen = len(b.end), 0, 1, true
	return true
}

// bytesOf returns the bytes of s, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// stringOf returns b as a string; b must not be written to any more.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
