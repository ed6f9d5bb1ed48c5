package variant

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// This file edits units of a text: words, characters and sentences. An edit first finds the units
// and chooses some of them. Then it builds the new text from left to right, and copies what lies
// between the edited places.

// A span is a part of a text: its first byte and the byte after its last one, as in package regexp.
type span = []int

func (g *Generator) tokens(text string) func(func(neardup.Token) bool) {
	if g.Words == nil {
		return neardup.Words{}.Tokens(text)
	}
	return g.Words.Tokens(text)
}

func (g *Generator) words(text string) (spans []span) {
	for t := range g.tokens(text) {
		spans = append(spans, span{t.Start, t.End})
	}
	return spans
}

func (g *Generator) vocabulary(text string) []string {
	if len(g.Vocabulary) > 0 {
		return g.Vocabulary
	}
	return cut(text, g.words(text))
}

func cut(text string, spans []span) (pieces []string) {
	for _, s := range spans {
		pieces = append(pieces, text[s[0]:s[1]])
	}
	return pieces
}

// letters returns the letters and digits of a text.
func letters(text string) (spans []span) {
	for i, c := range text {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			spans = append(spans, span{i, i + utf8.RuneLen(c)})
		}
	}
	return spans
}

// editUnits deletes, inserts, substitutes or swaps units of a text. The units are words or
// characters, as kind says. others has the units to insert. It returns the new text and the number
// of edited places.
func editUnits(text string, units []span, kind Kind, rate float64, r *source, others []string) (string, int) {
	chosen := r.some(len(units), rate) // drawn for swaps too, or published collections would change
	if kind%DeleteCharacters == SwapWords {
		return swapUnits(text, units, r.some(len(units)-1, rate/2)) // a swap moves two units
	}
	var b strings.Builder
	done, n := 0, 0 // bytes of text that were copied, and edited places
	for _, i := range chosen {
		u := units[i]
		if u[0] < done || u[0] == u[1] { // the tokenizer does not say where it is
			continue
		}
		unit := text[u[0]:u[1]]
		switch kind % DeleteCharacters { // the kind for words
		case DeleteWords:
			b.WriteString(text[done:u[0]])
			if done = u[1]; strings.HasPrefix(text[done:], " ") && (u[0] == 0 || text[u[0]-1] == ' ') {
				done++
			}
		case InsertWords:
			o := other(unit, others, r)
			b.WriteString(text[done:u[1]])
			if done = u[1]; kind == InsertWords && !isHan(unit) && !isHan(o) {
				b.WriteByte(' ')
			}
			b.WriteString(o)
		case SubstituteWords:
			b.WriteString(text[done:u[0]] + other(unit, others, r))
			done = u[1]
		}
		n++
	}
	return b.String() + text[done:], n
}

// swapUnits swaps each of the chosen units with the next one, unless it was just swapped itself or
// the two are equal.
func swapUnits(text string, units []span, chosen []int) (string, int) {
	var b strings.Builder
	done, n := 0, 0
	for _, i := range chosen {
		u, next := units[i], units[i+1]
		unit := text[u[0]:u[1]]
		if u[0] < done || unit == "" || next[0] < u[1] || text[next[0]:next[1]] == unit {
			continue
		}
		b.WriteString(text[done:u[0]] + text[next[0]:next[1]] + text[u[1]:next[0]] + unit)
		done = next[1]
		n++
	}
	return b.String() + text[done:], n
}

func isHan(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Han, c)
}

// other draws a unit from others that differs from unit. It is Chinese if and only if unit is.
// After a hundred draws in vain it returns unit.
func other(unit string, others []string, r *source) string {
	for range 100 {
		if o := others[r.below(len(others))]; o != unit && isHan(o) == isHan(unit) {
			return o
		}
	}
	return unit
}

// change replaces a fraction rate of the spans of a text by what by returns for them.
func change(text string, spans []span, rate float64, r *source, by func(string, *source) string) (string, int) {
	var b strings.Builder
	done := 0
	chosen := r.some(len(spans), rate)
	for _, i := range chosen {
		s := spans[i]
		b.WriteString(text[done:s[0]])
		b.WriteString(by(text[s[0]:s[1]], r))
		done = s[1]
	}
	return b.String() + text[done:], len(chosen)
}

// closing has the characters that may follow the end of a sentence and still belong to it.
const closing = "”’」』）》\"')]"

// sentences cuts a text after the end of each sentence and line. The pieces together are the text.
func sentences(text string) (pieces []string) {
	start := 0
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if !strings.ContainsRune("。！？；.!?\n", c) {
			continue
		}
		end := i
		if c != '\n' {
			end = len(text) - len(strings.TrimLeft(text[i:], closing+"。！？.!?"))
		}
		if space := len(text) - len(strings.TrimLeft(text[end:], " ")); c == '.' || c == '!' || c == '?' {
			if space == end && end < len(text) && text[end] != '\n' || c == '.' && isTitle(text[start:i-1]) {
				continue // 3.5, Mr. Smith
			}
			end = space
		}
		pieces = append(pieces, text[start:end])
		start, i = end, end
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

// isTitle reports whether a text ends in a title such as Mr, so that a full stop after it does not
// end a sentence.
func isTitle(text string) bool {
	last := text[strings.LastIndexAny(text, " \n")+1:]
	return last == "Mr" || last == "Mrs" || last == "Ms" || last == "Dr" || last == "St" || last == "Prof"
}

// numbered returns the positions of the pieces that have a letter or digit.
func numbered(pieces []string) (at []int) {
	for i, p := range pieces {
		if strings.ContainsFunc(p, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			at = append(at, i)
		}
	}
	return at
}

// editSentences deletes or reorders sentences. It returns the new text and the number of sentences
// that were deleted or moved.
func editSentences(text string, e Edit, r *source) (string, int) {
	pieces := sentences(text)
	at := numbered(pieces)
	chosen := r.some(len(at), e.Rate)
	if e.Kind == ReorderSentences && len(chosen) == 1 { // a single sentence needs a second one to change places with
		if len(at) < 2 {
			return text, 0
		}
		to := r.below(len(at) - 1)
		if to >= chosen[0] {
			to++
		}
		chosen = append(chosen, to)
	}
	edited := slices.Clone(pieces)
	for i, c := range chosen {
		if e.Kind == DeleteSentences {
			edited[at[c]] = ""
		} else {
			edited[at[c]] = pieces[at[chosen[(i+1)%len(chosen)]]]
		}
	}
	return strings.Join(edited, ""), len(chosen)
}
