// Package variant makes near-duplicates of texts: with words, characters or sentences deleted,
// inserted, replaced and moved, with boilerplate and advertisements, with other titles, names,
// numbers and dates, and in full width. What came from what is known, so they show what settings
// find and what they miss.
//
// The same seed and the same text make the same variant, on every machine and whatever else was
// made before. (What is a letter is as the release of Go has it, and what is a word as the tokenizer.)
package variant

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/experiments/internal/planted"
)

// A Kind is a way of editing a text.
type Kind uint8

const (
	DeleteWords     Kind = iota
	InsertWords          // behind words of the text
	SubstituteWords      // by others
	SwapWords            // with the next: the rate is that of the words that move

	DeleteCharacters // letters and digits
	InsertCharacters // others of the text
	SubstituteCharacters
	SwapCharacters

	DeleteSentences
	ReorderSentences // puts each into the place of another, two at least

	AddBoilerplate    // what sites have above and below their pages, in whole lines
	AddAdvertisements // whole ones, between sentences

	ChangeTitle   // words of the first line; one of more than 100 characters, or without others below it, is no title
	ChangeNames   // of people, places and organisations: one name becomes the same other wherever it is, two become two
	ChangeNumbers // in ASCII digits, to others of as many
	ChangeDates   // such as 2014年5月6日, 5月6日, 2014-05-06, 05/06/2014, May 6, 2014 and 6 May 2014, to others of the same form

	FullWidth // letters, digits and punctuation of ASCII in full width

	Kinds // how many there are
)

var names = [Kinds]string{
	"delete-words", "insert-words", "substitute-words", "swap-words",
	"delete-characters", "insert-characters", "substitute-characters", "swap-characters",
	"delete-sentences", "reorder-sentences", "add-boilerplate", "add-advertisements",
	"change-title", "change-names", "change-numbers", "change-dates", "full-width",
}

// String returns the name, such as delete-words.
func (k Kind) String() string {
	if k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return names[k]
}

// An Edit edits a share of a text. Rate is from 0 to 1: of its words, characters, sentences,
// numbers, dates, different names, words of the title, or characters in half width, by Kind; of
// boilerplate and advertisements it is their length, as a share of that of the text, so it may be more than 1. What that comes to
// is rounded, for boilerplate and advertisements to whole lines, but at least one is edited unless Rate is 0 or there is none.
type Edit struct {
	Kind Kind
	Rate float64
}

// String returns the edit as ParseEdit reads it, such as delete-words:0.05.
func (e Edit) String() string {
	return e.Kind.String() + ":" + strconv.FormatFloat(e.Rate, 'g', -1, 64)
}

// ParseEdit reads a kind, a colon and a rate.
func ParseEdit(s string) (Edit, error) {
	name, rate, ok := strings.Cut(s, ":")
	e := Edit{Kind: Kind(max(slices.Index(names[:], name), 0))}
	if !slices.Contains(names[:], name) || !ok {
		return e, fmt.Errorf("variant: %q is no edit such as delete-words:0.05; there are %s", s, strings.Join(names[:], ", "))
	}
	var err error
	if e.Rate, err = strconv.ParseFloat(rate, 64); err != nil {
		return e, fmt.Errorf("variant: the rate of %q is no number", s)
	}
	return e, e.check()
}

func (e Edit) check() error {
	most := 1.
	if e.Kind == AddBoilerplate || e.Kind == AddAdvertisements {
		most = 100
	}
	if e.Kind >= Kinds {
		return fmt.Errorf("variant: there is no %s", e.Kind)
	}
	if !(e.Rate >= 0 && e.Rate <= most) {
		return fmt.Errorf("variant: the rate of %s is not from 0 to %g", e, most)
	}
	return nil
}

// A Generator makes variants. It may be used by several goroutines at once.
type Generator struct {
	// Words cuts a text into words: for Chinese a neardup.Segmenter, whose parts of speech also tell
	// names. nil is neardup.Words{}, to which each Chinese character is a word. Names are else the words
	// with a capital in the middle of a sentence. Tokens must have Start and End, and must not overlap.
	Words neardup.Tokenizer

	// Vocabulary is what is inserted, and what words are replaced by, Chinese ones by Chinese ones and others by
	// others; without it, the words of the text itself. Words of other texts of the collection are fairer: they say
	// something else. See SampleVocabulary.
	Vocabulary []string

	// Seed makes other variants of the same texts.
	Seed uint64
}

// Make returns a variant of a text, with the edits one after the other, and how many places of it were
// edited; if that is 0 there were none, or what the edits made is the same text. n tells variants of one text with the same
// edits apart. An edit out of range panics; ParseEdit refuses it.
func (g *Generator) Make(text string, n uint64, edits ...Edit) (string, int) {
	original, places := text, 0
	for i, e := range edits {
		if err := e.check(); err != nil {
			panic(err)
		}
		r := source{planted.Stream(xxh3.HashStringSeed(text, g.Seed+n*0x9E3779B97F4A7C15+uint64(e.Kind)<<32+uint64(i)<<40))}
		edited, done := g.edit(text, e, &r)
		text, places = edited, places+done
	}
	if text == original {
		return text, 0
	}
	return text, places
}

func (g *Generator) edit(text string, e Edit, r *source) (string, int) {
	switch e.Kind {
	case DeleteWords, InsertWords, SubstituteWords, SwapWords:
		return editUnits(text, g.words(text), e.Kind, e.Rate, r, g.vocabulary(text))
	case DeleteCharacters, InsertCharacters, SubstituteCharacters, SwapCharacters:
		characters := letters(text)
		return editUnits(text, characters, e.Kind, e.Rate, r, cut(text, characters))
	case DeleteSentences, ReorderSentences:
		return editSentences(text, e, r)
	case AddBoilerplate, AddAdvertisements:
		return add(text, e, r)
	case ChangeTitle:
		title, rest, _ := strings.Cut(text, "\n")
		if strings.TrimSpace(rest) == "" || utf8.RuneCountInString(title) > 100 {
			return text, 0
		}
		edited, n := editUnits(title, g.words(title), SubstituteWords, e.Rate, r, g.vocabulary(text))
		return edited + text[len(title):], n
	case ChangeNames:
		return g.changeNames(text, e.Rate, r)
	case ChangeNumbers:
		return change(text, numbers.FindAllStringIndex(text, -1), e.Rate, r, otherNumber)
	case ChangeDates:
		return change(text, dates.FindAllStringIndex(text, -1), e.Rate, r, otherDate)
	}
	return change(text, halfWidth(text), e.Rate, r, fullWidth)
}

// SampleVocabulary returns words of texts, one of seven, so that frequent words are in it often. words is as in Generator.
func SampleVocabulary(words neardup.Tokenizer, texts iter.Seq[string]) (vocabulary []string) {
	n := 0
	for text := range texts {
		for t := range words.Tokens(text) {
			if n++; n%7 == 0 {
				vocabulary = append(vocabulary, text[t.Start:t.End])
			}
		}
	}
	return vocabulary
}

// A Document is a text of a collection, or a variant of one.
type Document struct {
	ID      string
	Cluster int    // the position of the text it was made of: the documents of one are near-duplicates
	Of      string // of a variant: the id of the text it was made of
	By      Edit   // of a variant
	Text    string
}

// Collection returns texts under their ids, and behind each per variants of it, for which the edits take turns. All are different:
// where an edit makes nothing new the next is taken, and if none does, four times each, a text has fewer variants. The ids of variants are those of
// the texts with ~1, ~2 and so on behind them.
func (g *Generator) Collection(texts iter.Seq2[string, string], edits []Edit, per int) (all []Document) {
	position := 0
	for id, text := range texts {
		all = append(all, Document{ID: id, Cluster: position, Text: text})
		made := map[string]bool{}
		for n, vain := 0, 0; vain < 4*len(edits) && len(made) < per; n++ { // four turns
			e := edits[(position*per+n)%len(edits)]
			edited, places := g.Make(text, uint64(n), e)
			if vain++; places > 0 && !made[edited] {
				vain, made[edited] = 0, true
				all = append(all, Document{fmt.Sprint(id, "~", len(made)), position, id, e, edited})
			}
		}
		position++
	}
	return all
}

// source draws by splitmix64, which is the same for ever.
type source struct{ planted.Stream }

// below returns a number below n, which is above 0.
func (s *source) below(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}

// some returns a share of the numbers below n, in ascending order.
func (s *source) some(n int, rate float64) []int {
	if rate == 0 || n < 1 {
		return nil
	}
	k := min(n, max(1, int(math.Round(rate*float64(n)))))
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = i
	}
	for i := range k {
		j := i + s.below(n-i)
		chosen[i], chosen[j] = chosen[j], chosen[i]
	}
	slices.Sort(chosen[:k])
	return chosen[:k]
}
