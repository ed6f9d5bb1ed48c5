// Package chinese is the engine behind the Segmenter of the library: it cuts Chinese into words by
// dictionary, and takes runs of letters in other scripts as words, as the lexer does.
//
// It uses the dictionary of gse (github.com/go-ego/gse), but a trie and a search of its own, which
// finds the most probable sequence of words as gse's Segment does (shortest path, no hidden
// Markov model). The differences: costs are integers, so that the words are the same on every
// platform; nothing is allocated per word, except for one that has to be folded; and text is
// processed sentence by sentence, so that a change in one sentence does not move the words of
// another.
//
// The steps for a text are:
//
//  1. Reader.Feed collects pieces until a sentence is complete (Sentence).
//  2. compose puts it into Normalization Form C, in which the words of the dictionary are.
//  3. Dictionary.shortest cuts the sentence into units, looks up the words that begin at each unit,
//     and finds the cheapest path through them (Viterbi).
//  4. Dictionary.yield turns the path into words: it skips what is not a word, joins letters and
//     marks that gse has as units of their own, and folds.
package chinese

import (
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// A Dictionary has the words of a dictionary of gse. It is made by Load, does not change, and is safe
// for concurrent use.
type Dictionary struct {
	Digest uint64 // hash of all words, costs and parts of speech, in any order

	trie  *trie     // of all words, with their costs: −log₂ of their probabilities in units of 2⁻¹⁶
	tags  []string  // the different parts of speech
	paths sync.Pool // *path
}

// A Word is a word of a text.
type Word struct {
	Text       string // folded
	POS        string // part of speech, if the word is in the dictionary
	Start, End int    // the bytes of the text that the word was made from
}

// A Reader cuts one text, in pieces, into words. Set S and nothing else. It is not safe for
// concurrent use, but many readers may share a Dictionary.
type Reader struct {
	S       *Dictionary
	base    int    // offset in the text of the first byte not cut into words yet
	pending []byte // sentence that has not ended
	scanned int    // bytes of pending known to contain no end of a sentence
}

// Feed yields the words of all sentences that the next piece of the text completes, and at the last
// piece the words of what is left. It does not keep the piece, which must not end inside a
// character unless it is the last. It returns false as soon as yield does; it must not be called
// again then, nor after the last piece. The time is linear in the text.
func (s *Reader) Feed(piece string, last bool, yield func(w Word) bool) bool {
	// A text in one piece is cut as it stands, without a copy.
	if len(s.pending) > 0 || !last {
		s.pending = append(s.pending, piece...)
		if !last {
			piece = s.ended()
		} else {
			piece, s.pending = string(s.pending), nil
		}
	}
	if piece == "" {
		return true
	}
	p := s.S.paths.Get().(*path)
	defer s.S.paths.Put(p)
	for pos := 0; pos < len(piece); {
		if isControl(piece[pos]) {
			pos++
			continue
		}
		size, _ := Sentence(piece, pos, pos)
		sentence, at := compose(piece[pos : pos+size])
		s.S.shortest(p, sentence)
		if !s.S.yield(p, sentence, s.base+pos, at, yield) {
			return false
		}
		pos += size
	}
	s.base += len(piece)
	return true
}

// ended removes the complete sentences from pending and returns them as one string. scanned keeps a
// long sentence in many pieces from being searched again with every piece.
func (s *Reader) ended() string {
	end, pos, text := 0, 0, lex.String(s.pending)
	for pos < len(text) {
		if isControl(text[pos]) {
			pos++
			end = pos
			continue
		}
		size, ended := Sentence(text, pos, max(pos, s.scanned))
		if !ended {
			break
		}
		pos += size
		end = pos
	}
	piece := string(s.pending[:end])
	s.pending = s.pending[:copy(s.pending, s.pending[end:])]
	s.scanned = len(s.pending)
	return piece
}

// A path is the working memory for one sentence. The sentence is a row of units, cut as gse cuts
// the words of its dictionary, and a word covers one or more units. So the sentence is a graph
// whose nodes are the positions between units and whose edges are words, and the search goes from
// left to right. For four units and the words A, B, C, D, AB, BC and BCD:
//
//	    A       B       C       D
//	●───────●───────●───────●───────●
//	└──────AB───────┘               │
//	        ├──────BC───────┤       │
//	        └──────────BCD──────────┘
type path struct {
	numbers []uint32 // of the units, with capitals in lower case
	ends    []int    // ends[i] is where unit i ends in the sentence, ignored characters included
	lower   []byte   // a unit with capitals, in lower case
	best    []step   // best[i] is the last word of the cheapest path that ends with unit i
	words   []step   // the words of the cheapest path through the sentence, last first
}

// A step is the last word of a path.
type step struct {
	cost        uint64 // of the whole path up to here
	tag         int32  // its part of speech, or −1 for a unit that is not in the dictionary
	first, last int32  // the units that the word covers
}

// unknown is the cost of a unit that is not a word of the dictionary: a probability of 2⁻³², as in
// gse.
const unknown = 32 << 16

// unit returns the size of the first unit of text in bytes, and whether it has ASCII capitals. A
// unit is a run of letters and digits that take at most two bytes each (Latin, Greek, Cyrillic and
// others), or any other single character. It must agree with how gse cuts words, or words are not
// found.
func unit(text string) (size int, upper bool) {
	for size < len(text) {
		c := text[size]
		n := 1
		switch {
		case c-'A' < 26:
			upper = true
		case c-'a' < 26, c-'0' < 10:
		case c < utf8.RuneSelf, c >= 0xE0: // ASCII, but no letter or digit; or three bytes and more
			n = 0
		default:
			var c lex.Class
			if _, c, n = lex.Next(lex.Bytes(text), size); c != lex.Letter {
				n = 0
			}
		}
		if n == 0 {
			if size == 0 { // a single character
				_, size = utf8.DecodeRuneInString(text)
			}
			break
		}
		size += n
	}
	return size, upper
}

// shortest finds the cheapest path through a sentence and leaves it in p.words. This is the Viterbi
// algorithm: the cheapest path that ends with unit i consists of a word that ends there and the
// cheapest path up to that word. It takes one step through the trie for each unit and each length
// of a word, so the time is linear in the sentence for a given dictionary.
//
// Of two paths with equal costs, the one found first wins, so the result is deterministic.
func (s *Dictionary) shortest(p *path, text string) {
	s.cut(p, text)
	s.extend(p)
	// Follow the path back from the end.
	p.words = p.words[:0]
	for i := len(p.best) - 1; i >= 0; i = int(p.best[i].first) - 1 {
		p.words = append(p.words, p.best[i])
	}
}

// cut cuts a sentence into units, with no path to any of them yet.
func (s *Dictionary) cut(p *path, text string) {
	p.numbers, p.ends, p.best = p.numbers[:0], p.ends[:0], p.best[:0]
	for pos := 0; pos < len(text); {
		if c := text[pos]; c >= utf8.RuneSelf && len(p.ends) > 0 && !lex.IsHan(lex.Bytes(text[pos:])) {
			if _, class, size := lex.Next(lex.Bytes(text), pos); class == lex.Ignored {
				// Part of the unit before it, and hidden from the dictionary.
				pos += size
				p.ends[len(p.ends)-1] = pos
				continue
			}
		}
		size, upper := unit(text[pos:])
		u := lex.Bytes(text[pos : pos+size])
		if upper {
			p.lower = p.lower[:0]
			for _, c := range u {
				if c-'A' < 26 {
					c += 'a' - 'A'
				}
				p.lower = append(p.lower, c)
			}
			u = p.lower
		}
		pos += size
		p.numbers = append(p.numbers, s.trie.number(u))
		p.ends = append(p.ends, pos)
		p.best = append(p.best, step{cost: math.MaxUint64})
	}
}

// extend finds the cheapest path to each unit, from left to right. When the loop reaches unit i,
// best[i−1] is final, since every word that ends with unit i−1 begins there or earlier. cost is its
// cost.
func (s *Dictionary) extend(p *path) {
	t := s.trie
	cost := uint64(0)
	for i, u := range p.numbers {
		alone := false // the unit by itself is a word
		place := t.root(u)
		for last := i; place > 0; {
			if w := &t.slots[place]; w.tag >= 0 {
				alone = alone || last == i
				if c := cost + uint64(w.cost); c < p.best[last].cost {
					p.best[last] = step{c, w.tag, int32(i), int32(last)}
				}
			}
			if last++; last == len(p.numbers) || last == i+1 && !t.begins(u, p.numbers[last]) || !t.hasChildren(place) {
				break
			}
			place = t.child(place, p.numbers[last])
		}
		if c := cost + unknown; !alone && c < p.best[i].cost {
			p.best[i] = step{c, -1, int32(i), int32(i)}
		}
		cost = p.best[i].cost // finite: either way a word ends with unit i
	}
}

// yield yields the words of the path in p through a sentence, which begins at base in the whole text. at says
// where its bytes stand in the original (compose). It returns false as soon as the function yield does.
//
// Words of separators, marks or ignored characters only are skipped. A word has no part of speech
// if more than ignored characters were joined to it, since it is no longer the word of the
// dictionary.
func (s *Dictionary) yield(p *path, text string, base int, at []int, yield func(w Word) bool) bool {
	end := func(i int) int { return p.ends[p.words[i].last] }
	for i, to := len(p.words)-1, 0; i >= 0; {
		w, from := p.words[i], to
		to = end(i)
		c, plain := ClassOf(text[from:to])
		i--
		if !isWord(c) {
			continue
		}
		// Letters of three bytes (in Vietnamese and Hangul, for example) are units of their own to
		// gse, and so are marks. Join them to the word before, as the lexer does.
		merged := false
		for i >= 0 && !lex.IsHan(lex.Bytes(text[to:])) {
			next, more := ClassOf(text[to:end(i)])
			if !joins(c, next) {
				break
			}
			to, plain = end(i), plain && more
			merged = merged || next != lex.Ignored
			i--
		}
		t := Word{Text: text[from:to], Start: base + from, End: base + to}
		if at != nil {
			t.Start, t.End = base+at[from], base+at[to]
		}
		if !plain {
			t.Text = lex.Fold(t.Text)
		}
		if w.tag >= 0 && !merged {
			t.POS = s.tags[w.tag]
		}
		if !yield(t) {
			return false
		}
	}
	return true
}

// isWord reports whether a path's word of class c is a word to the caller too.
func isWord(c lex.Class) bool { return c != lex.Separator && c != lex.Ignored && c != lex.Mark }

// joins reports whether what follows a word of class c, and is of class next, belongs to that word:
// marks and ignored characters always do, letters only if the word consists of letters.
func joins(c, next lex.Class) bool {
	return next == lex.Mark || next == lex.Ignored || next == lex.Letter && c != lex.Single
}

const (
	// maxSentence is the number of bytes after which a sentence without an end is cut, at the next
	// character. It bounds the memory for hostile input.
	maxSentence = 4096

	// maxUserWord is the length of the longest word of the user in characters.
	maxUserWord = 64
)

// Sentence returns the size in bytes of the sentence that starts at pos in text, including the mark
// that ends it. ended is false if the text ends before the sentence does. The caller knows that
// there is no end before from, and so the search begins there.
//
// A control character, such as the end of a line, ends a sentence too, but belongs to none: the
// trie of gse cannot tell NUL from the end of a word. A sentence is cut at the first character that
// starts maxSentence or more bytes behind pos.
func Sentence(text string, pos, from int) (size int, ended bool) {
	for i, r := range text[from:] {
		i += from
		switch {
		case r < utf8.RuneSelf && isControl(byte(r)), i-pos >= maxSentence:
			return i - pos, true
		case r >= 0x3000 && strings.ContainsRune(lex.SentenceEnds, r):
			return i + utf8.RuneLen(r) - pos, true
		}
	}
	return len(text) - pos, false
}

// isControl reports whether c is an ASCII control character.
func isControl(c byte) bool { return c < ' ' || c == 0x7F }

// ClassOf returns the class of a word as a whole, and whether the word is folded already:
//
//	Single     it has a character that is a word of its own, or letters and separators ("c++")
//	Letter     otherwise, if it has letters
//	Mark       otherwise, if it has marks
//	Ignored    otherwise, if it has ignored characters and no separators
//	Separator  otherwise
//
// plain is false if folding may change, compose or remove a character.
func ClassOf(s string) (c lex.Class, plain bool) {
	b := lex.Bytes(s)
	var seen [lex.Ignored + 1]bool
	plain = true
	for i := 0; i < len(b); {
		if lex.IsHan(b[i:]) {
			seen[lex.Single] = true
			i += 3
			continue
		}
		r, class, size := lex.Next(b, i)
		seen[class] = true
		if class != lex.Separator {
			same := rune(b[i])
			if same >= utf8.RuneSelf {
				same, _ = utf8.DecodeRune(b[i:])
			}
			plain = plain && r == same && class != lex.Ignored && class != lex.Mark
		}
		i += size
	}
	switch {
	case seen[lex.Single], seen[lex.Letter] && seen[lex.Separator]:
		return lex.Single, plain
	case seen[lex.Letter]:
		return lex.Letter, plain
	case seen[lex.Mark]:
		return lex.Mark, plain
	case seen[lex.Ignored] && !seen[lex.Separator]:
		return lex.Ignored, plain
	}
	return lex.Separator, plain
}
