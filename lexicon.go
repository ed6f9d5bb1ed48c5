package neardup

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// A Lexicon is a set of words with two uses: Words leaves its words out, and
// Markers gives more weight to features, or whole sentences, that contain one of its words.
// Words looks up whole tokens. Markers look for the words inside a text, as phrases: a word of the
// lexicon may have several units, such as "in conclusion", or 综上所述, where every character is a
// unit.

// A Lexicon is a set of words: stop words for [Words], or markers for [Markers]. Words are
// folded before they are compared, as tokens are. It does not change and is safe for concurrent
// use. A nil Lexicon is empty. Package wordlist has lists of words in Chinese and English.
type Lexicon struct {
	// The words, folded.
	words map[string]bool

	// The same words as phrases: their units joined by spaces (phraseOf). lengths has, by the first
	// unit of a phrase, the lengths in bytes of the phrases that begin with it. lex.ContainsPhrase
	// needs both.
	phrases map[string]bool
	lengths map[string][]int

	digest uint64 // of the words, in any order

	// apart is the last lexicon found to have no word of this one; see shared.
	apart atomic.Pointer[Lexicon]
}

// NewLexicon returns the set of the given words. It trims and folds them, and skips empty ones.
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

// Without returns the words of l that are not in other. Use it, for example, to
// take the marker words of Zhang 2020 out of a list of stop words, so that they are not removed.
func (l *Lexicon) Without(other *Lexicon) *Lexicon {
	var words []string
	if l != nil {
		for w := range l.words {
			if !other.Has(w) {
				words = append(words, w)
			}
		}
	}
	slices.Sort(words)
	return NewLexicon(words...)
}

// shared returns the words of l that other has too, in order. It is called for every text, so it
// keeps the answer that there are none.
func (l *Lexicon) shared(other *Lexicon) (words []string) {
	if l.Len() == 0 || other.Len() == 0 || l.apart.Load() == other {
		return nil
	}
	for w := range l.words {
		if other.words[w] {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		l.apart.Store(other)
	}
	slices.Sort(words)
	return words
}

// Has reports whether a word is in l. It trims and folds the word.
func (l *Lexicon) Has(word string) bool {
	return l != nil && (l.words[word] || l.words[lex.Fold(strings.TrimSpace(word))])
}

// Len returns the number of distinct words.
func (l *Lexicon) Len() int {
	if l == nil {
		return 0
	}
	return len(l.words)
}

// id returns a digest of the words, for versions. It is 0 if there are none.
func (l *Lexicon) id() uint64 {
	if l == nil {
		return 0
	}
	return l.digest
}

// phraseOf returns the units of a text, the tokens of [Words], joined by spaces. That is how the
// lexer spells a text in its buffer.
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

// contained reports whether the text has a word of l in it, as a run of whole units: characters in
// Chinese, whole words elsewhere.
func (l *Lexicon) contained(text string) bool {
	if l == nil || len(l.phrases) == 0 {
		return false
	}
	return lex.ContainsPhrase(text, l.phrases, l.lengths)
}

// passing returns yield, preceded by the test for stop words. Tokens are looked up as they are.
func (l *Lexicon) passing(yield func(Token) bool) func(Token) bool {
	if l.Len() == 0 {
		return yield
	}
	return func(t Token) bool { return l.words[t.Text] || yield(t) }
}

// Markers is a weight (Zhang 2020): features with marker words, such as 综上所述 or "in
// conclusion", get the weight Factor, all others 1.
type Markers struct {
	Lexicon *Lexicon // the marker words
	Factor  float64  // 0 means 5

	// Sentence extends the effect to sentences: every feature that occurs in a sentence with a
	// marker gets Factor, in all its occurrences. Without it, only a feature that is or contains a
	// marker gets Factor; that is what Zhang 2020 literally says. Then no marker may be a stop word
	// of the tokenizer, which would remove it before it is weighed: that is an error, or a panic in
	// methods that return none. [Lexicon.Without] makes such a list of stop words.
	//
	// A sentence ends at 。！？；, at the end of a line, and at . ! ? ; before a space or tab. All
	// Markers with Sentence in one weight must have the same Lexicon. They cannot weigh a text in
	// pieces ([Stream]). A record has no sentences, so there they give every feature the weight 1.
	Sentence bool
}

// Weigh implements [Weight].
func (w Markers) Weigh(f *Feature) float64 {
	if w.Sentence {
		return boost(f.Marked, w.Factor)
	}
	return boost(w.Lexicon.contained(f.Text), w.Factor)
}

// Version spells the weight out, with a digest of the words.
func (w Markers) Version() string {
	scope := "word"
	if w.Sentence {
		scope = "sentence"
	}
	return fmt.Sprintf("markers(%s,%016x,%v)", scope, w.Lexicon.id(), boost(true, w.Factor))
}

// A span is the part start..end of a text, in bytes.
type span struct{ start, end int }

// markedSentences returns the sentences of a text that have a word of l in them, in order.
func (l *Lexicon) markedSentences(text string) (marked []span) {
	lex.EachSentence(text, func(start, end int) {
		if l.contained(text[start:end]) {
			marked = append(marked, span{start, end})
		}
	})
	return marked
}
