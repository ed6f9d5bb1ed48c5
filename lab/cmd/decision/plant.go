package main

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/planted"
)

// This file plants copies: texts of which some words or characters were replaced, among other texts. The sets with truth
// have few families, and nearly none with known changes. What is planted is a check that nobody can argue with: two texts
// that differ in one word of twenty are near-duplicates, whatever else a function says.
//
// There are two kinds of families. Small ones are as people make them: a text, and one or two later states of it. Large
// ones are as programs make them: up to 20 copies, each with changes of its own, so two of them differ in twice as much.
// From the neighbourhood of a large one nobody can tell whether it is a letter to many or a page of a template. So
// they show only byTexts what is alike.

// A planting says how a collection is made.
type planting struct {
	name       string
	kind       kind
	from       string // the set that has the texts
	characters bool   // characters are replaced; otherwise words
	first      int    // which texts are taken, of those in random order
	sizes      []int  // of the families
	rates      []float64
	original   bool // the first copy is the text itself; otherwise every copy has changes of its own
}

// A plan says of a copy how it was made.
type plan struct {
	size int     // of its family
	rate float64 // the share of the words or characters that were replaced
}

// The sizes and rates are lists of equally probable values.
var (
	smallSizes = []int{2, 2, 2, 2, 3, 3, 5}
	largeSizes = []int{2, 2, 2, 3, 5, 5, 20}
	smallRates = []float64{0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2}
	largeRates = []float64{0.01, 0.02, 0.04, 0.07, 0.1}
)

var plantings = []planting{
	{"small-en", small, "en-newsgroups", false, 0, smallSizes, smallRates, true},
	{"small-zh", small, "zh-news", true, 0, smallSizes, smallRates, true},
	{"large-en", large, "en-newsgroups", false, 1, largeSizes, largeRates, false},
	{"large-zh", large, "zh-news", true, 1, largeSizes, largeRates, false},
	{"small-en:check", check, "en-newsgroups", false, 2, smallSizes, smallRates, true},
	{"small-zh:check", check, "zh-news", true, 2, smallSizes, smallRates, true},
	{"large-en:check", check, "en-newsgroups", false, 3, largeSizes, largeRates, false},
	{"large-zh:check", check, "zh-news", true, 3, largeSizes, largeRates, false},
}

const (
	families   = 200 // in a collection
	taken      = 650 // texts; those that are no family stand alone
	vocabulary = 300 // texts whose words replace others

	// Texts that are planted have so many bytes: less is no text, and more takes long.
	leastText, mostText = 150, 6000
)

// plant makes the collection.
func (p *planting) plant(texts []string) *collection {
	random := planted.Stream(1) // the same order for all collections of one set, so that they share no text
	var pool []string
	for _, t := range texts {
		if len(t) >= leastText && len(t) <= mostText {
			pool = append(pool, t)
		}
	}
	shuffle(&random, pool)
	e := editor{random: planted.Stream(100 + p.first), characters: p.characters}
	for _, t := range pool[:vocabulary] {
		e.vocabulary = append(e.vocabulary, e.split(t)...)
	}
	var docs []dataset.Document
	for _, t := range pool[vocabulary+p.first*taken : vocabulary+(p.first+1)*taken] {
		docs = append(docs, dataset.Document{Text: t})
	}
	c := &collection{name: p.name, set: p.name, kind: p.kind, truth: dataset.Truth{}}
	for n, d := range dataset.Distinct(docs) {
		if n < families {
			c.addFamily(p, &e, d.Text)
		} else {
			c.texts, c.plans = append(c.texts, d.Text), append(c.plans, plan{})
		}
	}
	return c
}

// addFamily adds the copies of a text.
func (c *collection) addFamily(p *planting, e *editor, text string) {
	size := p.sizes[below(&e.random, len(p.sizes))]
	rate := p.rates[below(&e.random, len(p.rates))]
	e.fresh = below(&e.random, 5) < 2
	for k := range size {
		copied := text
		if k > 0 || !p.original {
			copied = e.edit(text, rate)
		}
		for other := range k {
			c.truth.Add(len(c.texts), len(c.texts)-1-other)
		}
		c.texts, c.plans = append(c.texts, copied), append(c.plans, plan{size, rate})
	}
}

// An editor changes texts.
type editor struct {
	random     planted.Stream
	characters bool
	fresh      bool // replaces by what occurs nowhere else; otherwise by what other texts have
	vocabulary []string
}

// split returns the words or characters of a text.
func (e *editor) split(text string) []string {
	if e.characters {
		return strings.Split(text, "")
	}
	return strings.Fields(text)
}

// edit replaces a share of the words or characters, at least one.
func (e *editor) edit(text string, rate float64) string {
	parts := e.split(text)
	for range max(1, int(rate*float64(len(parts))+0.5)) {
		parts[below(&e.random, len(parts))] = e.replacement()
	}
	if e.characters {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, " ")
}

// replacement returns a word or a character.
func (e *editor) replacement() string {
	switch {
	case !e.fresh:
		return e.vocabulary[below(&e.random, len(e.vocabulary))]
	case e.characters:
		return string(rune(0x4E00 + below(&e.random, 0x9FA5-0x4E00))) // a Chinese character
	}
	return fmt.Sprintf("x%d", below(&e.random, 1e7))
}
