package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/planted"
)

// This file makes the collections that the functions are fitted to.

// A collection is documents, of which it is known which are near-duplicates.
type collection struct {
	name  string
	set   string // the set from which it is made; the sets are left out one by one
	kind  kind
	texts []string
	truth dataset.Truth

	// Of tables alone, which have no texts.
	records []neardup.Record
	fields  []neardup.Field

	plans []plan // by document; empty unless the copies are planted
}

// A kind says where truth comes from.
type kind int

const (
	byPeople kind = iota // people say what is a near-duplicate, or which pages are versions of one
	silver               // a machine says it, by Jaccard
	one                  // one document of each cluster of a set with truth by people
	few                  // the same, and 1 % of the rest
	small                // planted families as people make them: two or three copies, five at most
	large                // planted families of up to 20 copies, for what two texts say alone
	columns              // tables with truth by people, compared by columns, for the function for records
	check                // planted like the two, but of other texts, and in no fit
)

// setsByPeople and setsSilver are the sets of $NEARDUP_DATA with truth; its README says where they come from.
var (
	setsByPeople = []string{
		"zh-revisions", "en-versions", "zh-laws", "zh-manuals",
		"en-records-stroke", "en-records-haematology", "en-records-respiratory", "en-records-cytology",
		"ja-manuals", "ko-manuals", "es-manuals", "pt-manuals", "fr-manuals", "uk-manuals",
	}
	setsSilver = []string{"en-newsgroups", "en-reuters", "zh-news"}
)

// collections returns all collections, always in the same order.
func collections(data string) (all []*collection, err error) {
	bySet := map[string]*collection{}
	for k, names := range [][]string{byPeople: setsByPeople, silver: setsSilver} {
		for _, name := range names {
			c, err := read(data, name, kind(k))
			if err != nil {
				return nil, err
			}
			bySet[name] = c
			all = append(all, c)
			if c.kind == byPeople {
				all = append(all, c.rare(false), c.rare(true))
			}
		}
	}
	for i := range tables {
		c, err := tables[i].read(data)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, p := range plantings {
		all = append(all, p.plant(bySet[p.from].texts))
	}
	return all, nil
}

// read reads a set.
func read(data, name string, k kind) (*collection, error) {
	// Titles and fields are not read, as the program does not read them.
	texts, err := dataset.ReadAs[struct{ ID, Text string }](filepath.Join(data, name, "docs.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	c := &collection{name: name, set: name, kind: k}
	var docs []dataset.Document
	for _, d := range texts {
		docs, c.texts = append(docs, dataset.Document{ID: d.ID}), append(c.texts, d.Text)
	}
	truth := filepath.Join(data, name, "truth.tsv")
	if k == silver {
		c.truth, err = readSilver(truth, docs)
	} else {
		c.truth, err = dataset.ReadTruth(truth, docs)
	}
	return c, err
}

// readSilver reads lines of two ids and of how similar they are, which does not count here.
func readSilver(path string, docs []dataset.Document) (dataset.Truth, error) {
	lines, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, d := range docs {
		at[d.ID] = i
	}
	truth := dataset.Truth{}
	for line := range strings.Lines(string(lines)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return nil, fmt.Errorf("%s: a line has fewer than two ids", path)
		}
		i, hasI := at[fields[0]]
		j, hasJ := at[fields[1]]
		if !hasI || !hasJ {
			return nil, fmt.Errorf("%s: no document has one of the ids %q", path, fields[:2])
		}
		truth.Add(i, j)
	}
	return truth, nil
}

// rare returns the collection of one document of each cluster, the first one; with some, it has some of the others too:
// as many as 1 % of these, and at least two.
func (c *collection) rare(some bool) *collection {
	var in, spare []int
	seen := map[int]bool{}
	for i, group := range c.truth.Groups(len(c.texts)) {
		if seen[group] {
			spare = append(spare, i)
		} else {
			in = append(in, i)
		}
		seen[group] = true
	}
	if !some {
		return c.part(c.name+":one", one, in)
	}
	random := planted.Stream(3)
	shuffle(&random, spare)
	return c.part(c.name+":few", few, append(in, spare[:min(len(spare), max(2, len(in)/100))]...))
}

// part returns a collection of some documents of c.
func (c *collection) part(name string, k kind, in []int) *collection {
	p := &collection{name: name, set: c.set, kind: k, truth: dataset.Truth{}}
	at := map[int]int{}
	for n, i := range in {
		at[i] = n
		p.texts = append(p.texts, c.texts[i])
	}
	for pair := range c.truth {
		i, hasI := at[pair[0]]
		j, hasJ := at[pair[1]]
		if hasI && hasJ {
			p.truth.Add(i, j)
		}
	}
	return p
}

// shuffle brings values into a random order.
func shuffle[T any](random *planted.Stream, values []T) {
	for i := len(values) - 1; i > 0; i-- {
		j := below(random, i+1)
		values[i], values[j] = values[j], values[i]
	}
}

// below returns a random number from 0 to n−1. For the n here it does not matter that some are a little more frequent.
func below(random *planted.Stream, n int) int { return int(random.Next() % uint64(n)) }
