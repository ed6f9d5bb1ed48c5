package neardup

import (
	"iter"

	"github.com/neardup/neardup/internal/lex"
)

// A Token is a feature of a text: a word, a character n-gram, a shingle.
type Token struct {
	// Text is the token as it is compared: for the tokenizers of this package
	// folded, and inside a shingle one space between words. It may be kept, but
	// may share its memory with some thousand others: clone what is kept for long.
	Text string

	// POS is the part of speech in the tag set of the dictionary, or empty.
	// Only a [Segmenter] sets it.
	POS string

	// Start and End delimit the bytes of the original text that the token was
	// made from, and of what shows nothing behind it.
	Start, End int
}

// A Tokenizer cuts a text into features. Tokens must yield the same tokens for
// the same text every time, whatever the bytes, and be safe for concurrent use.
//
// Tokenizers of this package read letters, numbers, combining marks and emoji,
// and skip everything else, invalid UTF-8 included. A mark belongs to the
// character before it. Characters that differ only in case, width, font or code
// are the same (ＡＢＣ is abc, ς is σ, 𝐀 is a, the radical ⼈ is 人), and what shows
// nothing of its own, such as soft hyphens, joiners, variation selectors, skin tones
// and marks without a character, is as if it were not there. Which characters are
// what is frozen in tables of Unicode 15.0 and independent of the toolchain. They
// take time linear in the text and allocate nothing per token.
type Tokenizer interface {
	Tokens(text string) iter.Seq[Token]
}

// Words yields the words of a text: runs of letters, digits and marks. In the
// scripts that put no spaces between words (Han, kana, Thai, Lao, Khmer, Burmese
// and others of Southeast Asia, Yi, Tangut) every character is a word of its own,
// with its marks, and so is an emoji; use [Shingles] over Words, or a
// [Segmenter], to get more. A word of more than 128 bytes is cut.
type Words struct{}

// Tokens implements [Tokenizer].
func (Words) Tokens(text string) iter.Seq[Token] { return unitTokens(false, 1, text) }

// NGrams yields every run of N consecutive characters, skipped characters
// squeezed out: "It's" has the trigrams "its". A text of L characters has L−N+1
// n-grams (S003, after Broder et al. 1997); one shorter than N is itself the only
// one. Marks count with the character they belong to.
type NGrams struct {
	N int // characters; less than 1 means 3
}

// Tokens implements [Tokenizer].
func (g NGrams) Tokens(text string) iter.Seq[Token] { return unitTokens(true, g.n(), text) }

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
	if chars, n, ok := unitsOf(s); ok {
		return unitTokens(chars, n, text)
	}
	return func(yield func(Token) bool) {
		sh := shingler{n: s.n()}
		for t := range s.Of.Tokens(text) {
			if !sh.push(t, yield) {
				return
			}
		}
		sh.finish(yield)
	}
}

// A shingler joins the tokens it is given.
type shingler struct {
	n      int
	joined []byte  // the tokens in a row; what was yielded is never overwritten
	last   []int   // where tokens start in joined
	window []Token // the tokens
	head   int     // the first of the last n tokens in both
}

// push takes in the next token and yields the shingle that it ends.
func (s *shingler) push(t Token, yield func(Token) bool) bool {
	if len(s.window)-s.head == s.n {
		s.head++
	}
	if s.head >= 64 && s.head >= s.n { // few tokens are moved, and rarely
		s.last = s.last[:copy(s.last, s.last[s.head:])]
		s.window = s.window[:copy(s.window, s.window[s.head:])]
		s.head = 0
	}
	tail := s.joined[len(s.joined):]
	if s.head < len(s.last) {
		tail = s.joined[s.last[s.head]:]
	}
	if need := len(t.Text) + 1; cap(s.joined)-len(s.joined) < need {
		// A new block begins with the tokens still in the window.
		block := make([]byte, len(tail), max(4096, 2*(len(tail)+need)))
		copy(block, tail)
		for i := len(s.last) - 1; i >= s.head; i-- {
			s.last[i] -= s.last[s.head]
		}
		s.joined = block
	}
	if s.head < len(s.last) {
		s.joined = append(s.joined, ' ')
	}
	s.last = append(s.last, len(s.joined))
	s.joined = append(s.joined, t.Text...)
	t.Text = "" // do not keep what it points into
	s.window = append(s.window, t)
	return len(s.window)-s.head < s.n || yield(shingle(s.joined[s.last[s.head]:], s.window[s.head:]))
}

// finish yields what is left at the end of the text: all of it, if it has fewer
// than n tokens.
func (s *shingler) finish(yield func(Token) bool) bool {
	if len(s.window) == 0 || len(s.window)-s.head == s.n {
		return true
	}
	return yield(shingle(s.joined[s.last[0]:], s.window))
}

func shingle(text []byte, window []Token) Token {
	return Token{Text: lex.String(text), Start: window[0].Start, End: window[len(window)-1].End}
}

// unitsOf reports whether the features of t are windows of n units, words or
// characters, that lie side by side in a buffer. It asks for the types, not for a
// method, which a caller's tokenizer might inherit.
func unitsOf(t Tokenizer) (chars bool, n int, ok bool) {
	switch t := t.(type) {
	case Words:
		return false, 1, true
	case NGrams:
		return true, t.n(), true
	case Shingles:
		if t.Of == nil || t.Of == Tokenizer(Words{}) {
			return false, t.n(), true
		}
	}
	return false, 0, false
}

// unitTokens yields the windows of n units.
func unitTokens(chars bool, n int, text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		unitSource{lex.NewWindows(chars, n)}.feed(text, true, yield)
	}
}

// A source yields the tokens of a text that comes in pieces.
type source interface {
	// feed yields the tokens that the next piece of the text completes. It must
	// not keep the piece, which must not end inside a character unless it is the
	// last. feed returns false as soon as yield does; it must not be called again
	// then, nor after the last piece.
	feed(piece string, last bool, yield func(Token) bool) bool
}

// sourceOf returns a source for t, or nil if t is not of this package: then
// nothing is known of where a text may be cut.
func sourceOf(t Tokenizer) source {
	if chars, n, ok := unitsOf(t); ok {
		return unitSource{lex.NewWindows(chars, n)}
	}
	switch t := t.(type) {
	case *Segmenter:
		return t.source()
	case Shingles:
		if of := sourceOf(t.Of); of != nil {
			return &shingleSource{shingler{n: t.n()}, of}
		}
	case Filter:
		if of := sourceOf(t.of()); of != nil {
			return &filterSource{t, of}
		}
	}
	return nil
}

type shingleSource struct {
	shingler
	of source
}

func (s *shingleSource) feed(piece string, last bool, yield func(Token) bool) bool {
	if !s.of.feed(piece, last, func(t Token) bool { return s.push(t, yield) }) {
		return false
	}
	return !last || s.finish(yield)
}

// A unitSource yields the windows of units as tokens.
type unitSource struct{ *lex.Windows }

func (s unitSource) feed(piece string, last bool, yield func(Token) bool) bool {
	return s.Windows.Feed(piece, last, func(text string, start, end int) bool {
		return yield(Token{Text: text, Start: start, End: end})
	})
}
