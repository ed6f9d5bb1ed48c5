package family

import (
	"strings"

	"github.com/neardup/neardup/internal/lex"
	"github.com/zeebo/xxh3"
)

// This file shows what texts of one form have in common, and what is filled in. It is for people to look at,
// and decides nothing: whether texts are of one form, family.go has found out in another way. It works on the
// texts themselves, since it shows them with their punctuation.

// A Shape is what some texts have in common: the runs of three words that all of them have.
type Shape struct {
	text string // the first one
	runs map[uint64]bool
}

// A word is the place of a word in a text.
type word struct {
	hash       uint64
	start, end int
}

// wordsOf returns the words of a text with their places.
func wordsOf(text string) (words []word) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	b.Reset(false, 1)
	b.Offsets = true
	for b.Read(text, true); b.Next(); {
		for i := range b.Size() {
			t, start, end := b.Feature(i)
			words = append(words, word{xxh3.HashString(t), start, end})
		}
	}
	return words
}

// runOf is the number of words in a run.
const runOf = 3

// hashOf returns a hash of the run that begins with a word.
func hashOf(words []word) (h uint64) {
	for _, w := range words[:runOf] {
		h = h*0x9E3779B97F4A7C15 + w.hash
	}
	return h
}

// Common returns what some texts have in common.
func Common(texts []string) *Shape {
	s := &Shape{runs: map[uint64]bool{}}
	for n, text := range texts {
		words, has := wordsOf(text), map[uint64]bool{}
		for i := 0; i+runOf <= len(words); i++ {
			has[hashOf(words[i:])] = true
		}
		if n == 0 {
			s.text, s.runs = text, has
			continue
		}
		for run := range s.runs {
			if !has[run] {
				delete(s.runs, run)
			}
		}
	}
	return s
}

// String returns the first text with […] for what is not common.
func (s *Shape) String() string {
	var b strings.Builder
	s.each(s.text, func(piece string, isCommon bool) {
		if isCommon {
			b.WriteString(piece)
		} else {
			b.WriteString("[…]")
		}
	})
	return b.String()
}

// Filled returns the pieces of a text that are not common, with a bar between two.
func (s *Shape) Filled(text string) string {
	var pieces []string
	s.each(text, func(piece string, isCommon bool) {
		if !isCommon {
			pieces = append(pieces, strings.Join(strings.Fields(piece), " "))
		}
	})
	return strings.Join(pieces, " | ")
}

// each calls take with the pieces of a text, in their order. Together they are the whole text. Whatever is
// between two words belongs to a common piece, unless neither word is common.
func (s *Shape) each(text string, take func(piece string, isCommon bool)) {
	words := wordsOf(text)
	covered := make([]bool, len(words))
	for i := 0; i+runOf <= len(words); i++ {
		if s.runs[hashOf(words[i:])] {
			covered[i], covered[i+1], covered[i+2] = true, true, true
		}
	}
	done := 0
	for i := 0; i < len(words); i++ {
		if covered[i] {
			continue
		}
		from := i
		for i+1 < len(words) && !covered[i+1] {
			i++
		}
		if words[from].start > done {
			take(text[done:words[from].start], true)
		}
		take(text[words[from].start:words[i].end], false)
		done = words[i].end
	}
	if done < len(text) {
		take(text[done:], true)
	}
}
