package variant

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// A span is a part of a text, from one byte to another, as regexp has it.
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

// editUnits deletes, inserts, substitutes or swaps units, words or characters; how is the kind for words.
func editUnits(text string, units []span, how Kind, rate float64, r *source, others []string) (string, int) {
	places := len(units)
	if how == SwapWords { // with the next
		places--
	}
	var b strings.Builder
	done, n := 0, 0 // bytes of the text, places
	for _, i := range r.some(places, rate) {
		u := units[i]
		if u[0] < done { // it was swapped
			continue
		}
		unit := text[u[0]:u[1]]
		b.WriteString(text[done:u[0]])
		done = u[1]
		switch how {
		case DeleteWords:
			if strings.HasPrefix(text[done:], " ") && (u[0] == 0 || text[u[0]-1] == ' ') {
				done++
			}
		case InsertWords:
			b.WriteString(unit)
			if strings.HasPrefix(text[done:], " ") { // words are apart
				b.WriteByte(' ')
			}
			b.WriteString(others[r.below(len(others))])
		case SubstituteWords:
			b.WriteString(other(unit, others, r))
		case SwapWords:
			next := units[i+1]
			b.WriteString(text[next[0]:next[1]] + text[done:next[0]] + unit)
			done = next[1]
		}
		n++
	}
	return b.String() + text[done:], n
}

// other returns one of others that is not unit; if by chance a dozen are, unit twice.
func other(unit string, others []string, r *source) string {
	for range 12 {
		if o := others[r.below(len(others))]; o != unit {
			return o
		}
	}
	return unit + unit
}

// change replaces a share of the spans of a text.
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

// sentences cuts a text behind the ends of its sentences and lines. Together the pieces are the text.
func sentences(text string) (pieces []string) {
	start := 0
	for i, c := range text {
		end := i + utf8.RuneLen(c)
		switch c {
		case utf8.RuneError: // maybe of one byte
			continue
		case '.', '!', '?':
			if end < len(text) && text[end] != ' ' && text[end] != '\n' {
				continue
			}
		case '。', '！', '？', '；', '\n':
		default:
			continue
		}
		pieces = append(pieces, text[start:end])
		start = end
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

// numbered returns the positions of the pieces with a letter or digit.
func numbered(pieces []string) (at []int) {
	for i, p := range pieces {
		if strings.ContainsFunc(p, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			at = append(at, i)
		}
	}
	return at
}

func editSentences(text string, e Edit, r *source) (string, int) {
	pieces := sentences(text)
	at := numbered(pieces)
	if e.Kind == ReorderSentences && len(at) < 2 {
		return text, 0
	}
	chosen := r.some(len(at), e.Rate)
	for _, c := range chosen {
		if e.Kind == DeleteSentences {
			pieces[at[c]] = ""
			continue
		}
		to := r.below(len(at) - 1) // any but its own
		if to >= c {
			to++
		}
		pieces[at[c]], pieces[at[to]] = pieces[at[to]], pieces[at[c]]
	}
	return strings.Join(pieces, ""), len(chosen)
}

// changeNames replaces a share of the different names, each by another of the text or, if it has no
// other, by words of the vocabulary.
func (g *Generator) changeNames(text string, rate float64, r *source) (string, int) {
	var spans []span
	number := map[string]int{}
	var different []string
	end := 0
	for t := range g.tokens(text) {
		name := text[t.Start:t.End]
		c, _ := utf8.DecodeRuneInString(name)
		// Of a segmenter: nr people, ns places, nt organisations.
		isName := len(t.POS) > 1 && t.POS[0] == 'n' && strings.IndexByte("rst", t.POS[1]) >= 0
		if unicode.IsUpper(c) && end > 0 && !strings.ContainsAny(text[end:t.Start], ".!?\n") {
			isName = true
		}
		end = t.End
		if !isName {
			continue
		}
		if _, ok := number[name]; !ok {
			number[name] = len(different)
			different = append(different, name)
		}
		spans = append(spans, span{t.Start, t.End})
	}
	by := slices.Clone(different)
	others := different
	if len(different) < 2 {
		others = g.vocabulary(text)
	}
	chosen := r.some(len(different), rate)
	for _, i := range chosen {
		by[i] = other(different[i], others, r)
	}
	edited, _ := change(text, spans, 1, r, func(name string, _ *source) string { return by[number[name]] })
	return edited, len(chosen)
}
