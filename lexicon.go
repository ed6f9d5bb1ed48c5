package neardup

import (
	"iter"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/chinese"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// A Lexicon is a set of words: stop words for a [Filter], markers for [Markers]. Words
// are compared as tokens are, folded. It does not change and is safe for concurrent use.
type Lexicon struct {
	words map[string]bool // folded

	// The words as phrases, see phraseOf, and by the first word of a phrase the lengths that
	// such phrases have.
	phrases map[string]bool
	lengths map[string][]int

	digest uint64
}

// NewLexicon returns the set of the words, without those that are empty.
func NewLexicon(words ...string) *Lexicon {
	l := &Lexicon{words: make(map[string]bool, len(words)), phrases: make(map[string]bool, len(words)), lengths: make(map[string][]int)}
	for _, w := range words {
		if w = lex.Fold(strings.TrimSpace(w)); w == "" || l.words[w] {
			continue
		}
		l.words[w] = true
		l.digest += format.Checksum(lex.Bytes(w), 0) // in any order
		phrase := phraseOf(w)
		if phrase == "" || l.phrases[phrase] {
			continue
		}
		l.phrases[phrase] = true
		first, _, _ := strings.Cut(phrase, " ")
		if !slices.Contains(l.lengths[first], len(phrase)) {
			l.lengths[first] = append(l.lengths[first], len(phrase))
		}
	}
	return l
}

// Without returns the words of l that are not in other: S004's marker words, for
// example, must not be removed as stop words.
func (l *Lexicon) Without(other *Lexicon) *Lexicon {
	var words []string
	for w := range l.words {
		if !other.Has(w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return NewLexicon(words...)
}

// Has reports whether a word is in l.
func (l *Lexicon) Has(word string) bool {
	return l != nil && (l.words[word] || l.words[lex.Fold(strings.TrimSpace(word))])
}

// Len returns the number of words.
func (l *Lexicon) Len() int {
	if l == nil {
		return 0
	}
	return len(l.words)
}

// id is what the version tells lexicons apart by.
func (l *Lexicon) id() uint64 {
	if l == nil {
		return 0
	}
	return l.digest
}

// phraseOf returns the units of a text, the words of [Words], joined by spaces.
func phraseOf(text string) string {
	var b strings.Builder
	for t := range (Words{}).Tokens(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// contained reports whether a word of l stands in a text, which may have more around
// it: in Chinese as a run of characters, elsewhere as whole words.
func (l *Lexicon) contained(text string) bool {
	if l == nil || len(l.phrases) == 0 {
		return false
	}
	return lex.ContainsPhrase(text, l.phrases, l.lengths)
}

// A Filter yields the tokens of another tokenizer but for stop words. It goes inside
// of [Shingles], which then join what is left. Tokens are looked up as they are, so a
// tokenizer of one's own has to fold them.
type Filter struct {
	Of   Tokenizer // nil means Words{}
	Stop *Lexicon  // nil is empty
}

// Tokens implements [Tokenizer].
func (f Filter) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		f.of().Tokens(text)(f.passing(yield))
	}
}

func (f Filter) of() Tokenizer {
	if f.Of == nil {
		return Words{}
	}
	return f.Of
}

// passing returns yield for all but stop words.
func (f Filter) passing(yield func(Token) bool) func(Token) bool {
	if f.Stop.Len() == 0 {
		return yield
	}
	return func(t Token) bool { return f.Stop.words[t.Text] || yield(t) }
}

type filterSource struct {
	filter Filter
	of     source
}

func (s *filterSource) feed(piece string, last bool, yield func(Token) bool) bool {
	return s.of.feed(piece, last, s.filter.passing(yield))
}

// Markers weighs features with marker words, such as 综上所述 or "in conclusion", by
// Factor and others by 1 (S004).
type Markers struct {
	Lexicon *Lexicon
	Factor  float64 // 0 means 5

	// Sentence says that every word of a sentence with a marker is weighed by Factor,
	// in whichever of its sentences it occurs; otherwise it is the features that are a
	// marker or have one in them, which is what S004 literally says. A sentence ends at
	// 。！？； and the end of a line, and at . ! ? ; before white space. One weight can
	// have only one lexicon for sentences.
	Sentence bool
}

// Weigh implements [Weight].
func (w Markers) Weigh(f *Feature) float64 {
	if w.Sentence {
		return boost(f.Marked, w.Factor)
	}
	return boost(w.Lexicon.contained(f.Text), w.Factor)
}

// A span is a part of a text.
type span struct{ start, end int }

// markedSentences returns the sentences of a text that have a word of l in them.
func (l *Lexicon) markedSentences(text string) (marked []span) {
	start := 0
	end := func(at int) {
		if l.contained(text[start:at]) {
			marked = append(marked, span{start, at})
		}
		start = at
	}
	for i, r := range text {
		switch {
		case r == '\n' || r == '\r':
			end(i + 1)
		case r == '.' || r == '!' || r == '?' || r == ';':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				end(i + 1)
			}
		case r >= 0x3000 && strings.ContainsRune(chinese.SentenceEnds, r):
			end(i + len("。"))
		}
	}
	end(len(text))
	return marked
}
