// Package variant makes near-duplicates of texts, to measure what settings find and what they miss.
// An edit deletes, inserts, replaces or moves words, characters or sentences; adds boilerplate or
// advertisements; changes the title, names, numbers or dates; or makes letters full width. Because
// the edits are known, so is the truth.
//
// The same seed and the same text give the same variant, on every machine, whatever was made
// before. (The Unicode tables of the Go release decide what a letter is, and the tokenizer what a
// word is.)
//
// The file edits.go edits words, characters and sentences; content.go adds lines and changes
// numbers, dates and width; names.go finds and changes names.
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
	"github.com/neardup/neardup/lab/planted"
)

// A Kind is a kind of edit.
type Kind uint8

const (
	DeleteWords     Kind = iota
	InsertWords          // after words of the text
	SubstituteWords      // by other words
	SwapWords            // with the next word; the rate counts all words that move

	DeleteCharacters // letters and digits
	InsertCharacters // other characters of the text
	SubstituteCharacters
	SwapCharacters

	DeleteSentences
	ReorderSentences // moves each chosen sentence to the place of another; at least two

	AddBoilerplate    // whole lines as sites have them above and below their pages
	AddAdvertisements // whole advertisements, between sentences

	// ChangeTitle replaces words of the title. The title is the first line, if it has at most 100
	// characters and other lines follow.
	ChangeTitle

	// ChangeNames replaces names of people, places and organisations. A name becomes the same new
	// name everywhere in the text, and different names become different names.
	ChangeNames

	// ChangeNumbers replaces numbers of ASCII digits by other numbers with as many digits.
	ChangeNumbers

	// ChangeDates replaces dates by other dates in the same form. It knows forms such as 2014年5月6日,
	// 5月6日, 2014-05-06, 05/06/2014, May 6, 2014 and 6 May 2014.
	ChangeDates

	FullWidth // replaces letters, digits and punctuation of ASCII by their full-width forms

	Kinds // the number of kinds
)

var names = [Kinds]string{
	"delete-words", "insert-words", "substitute-words", "swap-words",
	"delete-characters", "insert-characters", "substitute-characters", "swap-characters",
	"delete-sentences", "reorder-sentences", "add-boilerplate", "add-advertisements",
	"change-title", "change-names", "change-numbers", "change-dates", "full-width",
}

// String returns the name of the kind, such as delete-words.
func (k Kind) String() string {
	if k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return names[k]
}

// An Edit edits a part of a text. Rate is a fraction from 0 to 1. Which units it counts depends on
// Kind: words, characters, sentences, numbers, dates, distinct names, words of the title, or
// characters in half width. For boilerplate and advertisements it is the length of what is added,
// divided by the length of the text, so it may be above 1.
//
// The number of edits is rounded, for boilerplate and advertisements to whole lines. At least one
// place is edited, unless Rate is 0 or the text has nothing to edit.
type Edit struct {
	Kind Kind
	Rate float64
}

// String returns the edit in the form that ParseEdit reads, such as delete-words:0.05.
func (e Edit) String() string {
	return e.Kind.String() + ":" + strconv.FormatFloat(e.Rate, 'g', -1, 64)
}

// ParseEdit parses a kind, a colon and a rate. It returns an error if there is no such kind or the
// rate is out of range.
func ParseEdit(s string) (Edit, error) {
	name, rate, ok := strings.Cut(s, ":")
	e := Edit{Kind: Kind(max(slices.Index(names[:], name), 0))}
	if !slices.Contains(names[:], name) || !ok {
		return e, fmt.Errorf("variant: %q is not an edit such as delete-words:0.05; the kinds are %s", s, strings.Join(names[:], ", "))
	}
	var err error
	if e.Rate, err = strconv.ParseFloat(rate, 64); err != nil {
		return e, fmt.Errorf("variant: the rate of %q is not a number", s)
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
		return fmt.Errorf("variant: the rate of %s must be from 0 to %g", e, most)
	}
	return nil
}

// A Generator makes variants. Several goroutines may use it at the same time.
type Generator struct {
	// Words cuts a text into words. For Chinese use a neardup.Segmenter, whose parts of speech also
	// tell which words are names. nil means neardup.Words{}, for which every Chinese character is a
	// word. Without parts of speech, words with a capital letter in the middle of a sentence are
	// names. Tokens must have Start and End, and must not overlap.
	Words neardup.Tokenizer

	// Vocabulary has the words that are inserted, or put in place of others. A Chinese word is
	// replaced by a Chinese one, any other by one that is not Chinese. nil means the words of the
	// text itself. Words of other texts of the collection make a fairer test, because they say
	// something else; see SampleVocabulary.
	Vocabulary []string

	// A different Seed makes different variants of the same texts.
	Seed uint64
}

// Make returns a variant of a text, and how many places were edited. It makes the edits one after
// the other. If the number is 0, there was nothing to edit, or the result is equal to the text. A
// different n makes a different variant of the same text with the same edits. Make panics if an
// edit is out of range; ParseEdit never returns such an edit.
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

// SampleVocabulary returns every seventh word of texts, so frequent words are in it often. words is
// the tokenizer, as in Generator.
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
	Cluster int    // the position of the original text; documents of a cluster are near-duplicates
	Of      string // the id of the original text, if this is a variant
	By      Edit   // the edit that was made, if this is a variant
	Text    string
}

// Collection returns texts with their variants. Every text is followed by per variants of it; the
// edits take turns. All variants of a text are different: if an edit makes nothing new, the next
// one is tried, up to four times each, so a text may have fewer variants. The id of a variant is
// the id of its text with ~1, ~2 and so on appended.
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

// source draws random numbers by splitmix64, so they are the same everywhere and in every release.
type source struct{ planted.Stream }

// below returns a number from 0 to n−1. n must be above 0.
func (s *source) below(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}

// some chooses a fraction rate of the numbers from 0 to n−1, at least one if rate is above 0, and
// returns them in ascending order.
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
