package neardup

import (
	"iter"

	"github.com/neardup/neardup/internal/lex"
)

// A Tokenizer cuts a text into tokens, and the distinct tokens of a text are its features: "no, no!" has the token no
// twice and the feature no with the count 2.
//
//	               The CAT sat.                   我爱北京
//	Words          the, cat, sat                  我, 爱, 北, 京
//	Shingles       the cat, cat sat               我 爱, 爱 北, 北 京
//	NGrams of 3    the, hec, eca, cat, ats, …     我爱北, 爱北京
//
// Words, NGrams and Shingles of Words share one implementation, the lexer in internal/lex: their features are windows
// of n units in a buffer, so fingerprints can hash them in place (unitsOf). Other tokenizers yield tokens one by one.
//
// Every tokenizer of this package can also read a text in pieces, for a Stream. That is what a source is for. A
// tokenizer of the caller's own has none, because it only ever sees whole texts.

// A Token is a feature of a text: a word, a character n-gram or a shingle.
type Token struct {
	// Text is the token in the form in which it is compared. Tokenizers of this package fold it, and put one space
	// between the words of a shingle. You may keep it, but it may share its memory with about a thousand other tokens:
	// clone what you keep for long.
	Text string

	// POS is the part of speech in the tag set of the dictionary, or empty. Only a [Segmenter] sets it.
	POS string

	// Start and End delimit the bytes of the text that the token was made from, End exclusive. Ignored characters right
	// after the token, such as soft hyphens, belong to it. If a [Normalizer] rewrites the text, these are positions in
	// its result.
	Start, End int
}

// A Tokenizer cuts a text into features. Tokens must yield the same tokens for the same text every time, accept any
// bytes, and be safe for concurrent use.
//
// The tokenizers of this package keep letters, numbers, combining marks and emoji, and skip everything else, invalid
// UTF-8 included. A mark belongs to the character before it. Characters that differ only in case, width, font or code
// are the same: ＡＢＣ is abc, ς is σ, 𝐀 is a, and the radical ⼈ is 人. Canonically equivalent texts have the same tokens, in
// Normalization Form C, whether é is one character, or e and an accent, except in words of nearly 128 bytes and characters
// of more than 30 marks. Invisible characters and modifiers are ignored, such as soft hyphens, joiners, variation
// selectors, skin tones, and marks without a character before them. These classes are frozen in tables of Unicode 15.0
// and do not depend on the toolchain. The tokenizers take time linear in the text and allocate nothing per token.
type Tokenizer interface {
	Tokens(text string) iter.Seq[Token]
}

// Words yields the words of a text: runs of letters, digits and marks. Some scripts put no spaces between words: Han,
// kana, Thai, Lao, Khmer, Burmese and others of Southeast Asia, Yi, Tangut. Their characters are words of their own,
// each with its marks, and so are emoji. Use [Shingles] of Words, or a [Segmenter], to get longer features there. A
// word of more than 128 bytes is cut.
type Words struct {
	// StopWords are left out. Shingles of Words join what is left. A stop word of several words, or of several Chinese
	// characters, is never a token here, and removes nothing; use a [Segmenter] for these. nil means none.
	StopWords *Lexicon
}

// Tokens implements [Tokenizer].
func (w Words) Tokens(text string) iter.Seq[Token] { return unitTokens(false, 1, w.StopWords, text) }

// NGrams yields every run of N consecutive characters. Skipped characters are left out first: "It's" has the single
// trigram "its". A text of L characters has L−N+1 n-grams (Li 2015, after Broder et al. 1997); a text of fewer than N
// characters is itself the only one, unless it is empty. A mark counts together with the character it belongs to.
type NGrams struct {
	N int // characters; less than 1 means 3
}

// Tokens implements [Tokenizer].
func (g NGrams) Tokens(text string) iter.Seq[Token] { return unitTokens(true, g.n(), nil, text) }

func (g NGrams) n() int {
	if g.N < 1 {
		return 3
	}
	return g.N
}

// Shingles yields every run of N consecutive tokens of another tokenizer, joined by one space. A text of fewer than N
// tokens is itself the only shingle, unless it has no token. The zero value yields pairs of words and is the default
// tokenizer of this package.
type Shingles struct {
	Of Tokenizer // nil means Words{}
	N  int       // tokens; less than 1 means 2
}

func (s Shingles) of() Tokenizer {
	if s.Of == nil {
		return Words{}
	}
	return s.Of
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
		return unitTokens(chars, n, nil, text)
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

// A shingler makes shingles of the tokens of one text.
//
// It writes the tokens side by side into a block of memory, with spaces between them, so a shingle is a slice of the
// block. Yielded strings point into the block. Therefore what is written is never overwritten: when a block is full,
// the tokens of the current window are copied to a new one.
type shingler struct {
	n      int     // tokens in a shingle
	joined []byte  // the current block
	last   []int   // where each token of window starts in joined
	window []Token // the latest tokens, without their texts
	head   int     // index in last and window of the first token of the current window
}

// push takes the next token, and yields the shingle that ends with it if there are n tokens. It returns false if yield
// did.
func (s *shingler) push(t Token, yield func(Token) bool) bool {
	if len(s.window)-s.head == s.n {
		s.head++
	}
	// Drop the tokens before the window. There are at least as many of them as tokens to move, so this costs constant
	// time per token.
	if s.head >= 64 && s.head >= s.n {
		s.last = s.last[:copy(s.last, s.last[s.head:])]
		s.window = s.window[:copy(s.window, s.window[s.head:])]
		s.head = 0
	}
	tail := s.joined[len(s.joined):]
	if s.head < len(s.last) {
		tail = s.joined[s.last[s.head]:]
	}
	// Start a new block if the token does not fit. It begins with the tokens still in the window.
	if need := len(t.Text) + 1; cap(s.joined)-len(s.joined) < need {
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
	t.Text = "" // do not keep the memory of the other tokenizer alive
	s.window = append(s.window, t)
	return len(s.window)-s.head < s.n || yield(shingle(s.joined[s.last[s.head]:], s.window[s.head:]))
}

// finish ends the text. A text of fewer than n tokens is one shingle. It returns false if yield did.
func (s *shingler) finish(yield func(Token) bool) bool {
	if len(s.window) == 0 || len(s.window)-s.head == s.n {
		return true
	}
	return yield(shingle(s.joined[s.last[0]:], s.window))
}

// shingle returns the shingle with a given text, made of the tokens in window.
func shingle(text []byte, window []Token) Token {
	return Token{Text: lex.String(text), Start: window[0].Start, End: window[len(window)-1].End}
}

// unitsOf reports whether the features of t are windows of n units that lie side by side in the buffer of the lexer.
// chars says that the units are characters, not words. It tests for concrete types and not for a method: the caller's
// tokenizer may embed one of ours, and would then inherit the method but yield other tokens.
func unitsOf(t Tokenizer) (chars bool, n int, ok bool) {
	switch t := t.(type) {
	case Words:
		return false, 1, t.StopWords.Len() == 0
	case NGrams:
		return true, t.n(), true
	case Shingles:
		if w, isWords := t.of().(Words); isWords && w.StopWords.Len() == 0 {
			return false, t.n(), true
		}
	}
	return false, 0, false
}

// unitTokens yields the windows of n units of a text, without stop words.
func unitTokens(chars bool, n int, stop *Lexicon, text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		unitSource{lex.NewWindows(chars, n), stop}.feed(text, true, yield)
	}
}

// A source yields the tokens of one text that comes in pieces.
type source interface {
	// feed yields the tokens that the next piece completes. A piece must not end inside a character unless it is the
	// last. feed does not keep it. feed returns false as soon as yield does. It must not be called again then, nor
	// after the last piece.
	feed(piece string, last bool, yield func(Token) bool) bool
}

// sourceOf returns a new source for t, or nil if t is not of this package. Nobody knows where a tokenizer of the
// caller's own would let a text be cut.
func sourceOf(t Tokenizer) source {
	if chars, n, ok := unitsOf(t); ok {
		return unitSource{lex.NewWindows(chars, n), nil}
	}
	switch t := t.(type) {
	case Words:
		return unitSource{lex.NewWindows(false, 1), t.StopWords}
	case *Segmenter:
		return t.source()
	case Shingles:
		if of := sourceOf(t.Of); of != nil {
			return &shingleSource{shingler{n: t.n()}, of}
		}
	}
	return nil
}

// A shingleSource joins the tokens of another source.
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

// A unitSource yields the windows of the lexer as tokens, without stop words.
type unitSource struct {
	*lex.Windows
	stop *Lexicon
}

func (s unitSource) feed(piece string, last bool, yield func(Token) bool) bool {
	yield = s.stop.passing(yield)
	return s.Windows.Feed(piece, last, func(text string, start, end int) bool {
		return yield(Token{Text: text, Start: start, End: end})
	})
}
