package group

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/records"
)

// This file has the command records without a schema: the rows are kept as they are loaded, and records.Match finds those about the same thing.

// A Linked compares the rows of a call. It is an [Engine].
type Linked struct {
	*load.Feed
	corpus *corpus.Corpus
	o      *options.Options
	rows   []neardup.Record // until Find
	hashes [][16]byte       // of the rows
	source []int            // of each row, with --link
	found  *records.Matches // nil before Find
}

// leastLinked is the probability of the least likely pairs that the page counts.
const leastLinked = 0.01

// NewLinked returns a Linked without rows.
func NewLinked(c *corpus.Corpus, o *options.Options) *Linked {
	e := &Linked{corpus: c, o: o}
	e.Feed = load.NewFeed(func(documents <-chan []load.Taken) error {
		for some := range documents {
			for _, t := range some {
				e.rows, e.hashes = append(e.rows, t.Record), append(e.hashes, t.Hash)
				if o.Link {
					e.source = append(e.source, int(t.Place.Source))
				}
			}
		}
		return nil
	})
	return e
}

// Group groups the rows once all of them have been taken.
func (e *Linked) Group(wantPairs bool) (*Groups, error) {
	f, err := e.Find(wantPairs)
	if err != nil {
		return nil, err
	}
	e.sayColumns()
	return Put(e.corpus, e.o, f, wantPairs)
}

// sayColumns says what each column was taken for.
func (e *Linked) sayColumns() {
	if len(e.hashes) < 2 {
		return
	}
	var said []string
	evidence, _ := e.found.Explain(0, 1)
	for _, x := range evidence {
		if x.Column != "" {
			said = append(said, x.Column+" ("+x.Kind+")")
		}
	}
	if len(said) == 0 {
		return
	}
	fmt.Fprintf(e.corpus.Log.Notes, "neardup: columns are compared as what their values are: %s, and the row as a whole\n", strings.Join(said, ", "))
	if ignored := e.found.Ignored; len(ignored) > 0 {
		fmt.Fprintf(e.corpus.Log.Notes, "neardup: columns that say nothing are ignored, because all rows have the same value or each has one of its own: %s\n", strings.Join(ignored, ", "))
	}
}

// Find implements Engine.
func (e *Linked) Find(wantPairs bool) (*Found, error) {
	if !slices.ContainsFunc(e.rows, func(row neardup.Record) bool { return len(row) > 0 }) {
		return nil, errors.New("the records have no columns to compare")
	}
	if err := e.o.CanLink(len(e.rows), e.corpus.Read.Bytes); err != nil {
		return nil, err
	}
	if e.o.Link && len(e.corpus.Sources) < 2 {
		return nil, errors.New("--link needs two inputs or more")
	}
	labels, err := e.labels()
	if err != nil {
		return nil, err
	}
	rows := e.rows
	e.rows = nil // the matches keep no rows, so they are gone before most of the work begins
	e.found, err = records.Match(context.Background(), rows, records.MatchOptions{Sources: e.source, Keys: e.o.Keys, Labels: labels, Probability: e.threshold()})
	if err != nil {
		return nil, err
	}
	f := &Found{}
	if most := options.MostListed(e.o.Memory); wantPairs && len(e.found.Pairs) > most {
		return nil, TooManyPairs(most)
	}
	if wantPairs {
		for _, p := range e.found.Pairs {
			f.Pairs = append(f.Pairs, Pair{I: uint32(p.A), J: uint32(p.B), Value: p.Similarity, Probability: p.Probability, Kind: e.kind(p.A, p.B)})
		}
	}
	before := better(e.corpus, &e.o.Method)
	for _, members := range e.found.Groups {
		root := members[0]
		for _, i := range members[1:] {
			if before(i, root) {
				root = i
			}
		}
		for _, i := range members {
			f.Like = append(f.Like, e.pair(i, root))
		}
	}
	return f, nil
}

// labels reads what somebody has said of pairs.
func (e *Linked) labels() (labels []records.Label, err error) {
	if len(e.o.Given.Labels) == 0 {
		return nil, nil
	}
	at := numbers(e.corpus.Numbers())
	err = eachLabel(e.o.Given.Labels, func(l Label) error {
		if l.Keep != "" {
			return nil // which pairs match does not depend on it
		}
		n, err := at.pair(l.A, l.B)
		labels = append(labels, records.Label{A: n[0], B: n[1], Same: l.Same})
		return err
	})
	return labels, err
}

// threshold returns the smallest probability of a match. A match is never certain.
func (e *Linked) threshold() float64 { return min(e.o.Method.Probability, math.Nextafter(1, 0)) }

// pair returns what is found of two rows.
func (e *Linked) pair(i, j int) Pair {
	evidence, probability := e.found.Explain(i, j)
	return e.pairOf(i, j, evidence, probability)
}

// pairOf returns a pair of rows with what is known of it.
func (e *Linked) pairOf(i, j int, evidence []records.Evidence, probability float64) Pair {
	p := Pair{I: uint32(i), J: uint32(j), Value: 1, Probability: probability, Kind: e.kind(i, j)}
	for _, x := range evidence {
		if x.Column == "" && x.Kind != "" {
			p.Value = x.Similarity
		}
	}
	return p
}

// kind returns how two rows differ.
func (e *Linked) kind(i, j int) neardup.Kind {
	if e.hashes[i] == e.hashes[j] {
		return neardup.Identical
	}
	return neardup.Revised
}

// Estimate implements Engine.
func (e *Linked) Estimate() (dedup.Estimate, error) {
	t := dedup.Estimate{Probability: e.o.Method.Probability, Pairs: len(e.found.Pairs), Wrong: e.found.Wrong()}
	pairs, err := e.PairsFrom(leastLinked)
	for _, p := range pairs {
		t.Histogram[min(int(p.Probability*20), 19)]++
		if p.Probability < t.Probability {
			t.Missed += p.Probability
		}
	}
	return t, err
}

// PairsFrom implements Engine.
func (e *Linked) PairsFrom(least float64) (pairs []neardup.Pair[int], err error) {
	pairs = e.found.PairsFrom(least)
	if most := options.MostListed(e.o.Memory); len(pairs) > most {
		return nil, TooManyPairs(most)
	}
	for i := range pairs {
		pairs[i].Kind = e.kind(pairs[i].A, pairs[i].B)
	}
	return pairs, nil
}

// Explain implements Engine.
func (e *Linked) Explain(a, b int) (dedup.Explanation, error) {
	evidence, probability := e.found.Explain(a, b)
	p := e.pairOf(a, b, evidence, probability)
	x := dedup.Explanation{Similarity: p.Value, Probability: p.Probability, Kind: p.Kind, Duplicate: p.Probability >= e.threshold(), Compared: true}
	for _, of := range evidence {
		switch {
		case of.Kind == "":
			x.Constant = of.Adds
		case of.Column == "":
			x.Evidence = append(x.Evidence, dedup.Quantity{Name: "the row as a whole: " + of.Level, Value: of.Similarity, Adds: of.Adds})
		case of.Kind == "numbers in the text":
			x.Evidence = append(x.Evidence, dedup.Quantity{Name: "numbers in " + of.Column + ": " + of.Level, Adds: of.Adds})
		default:
			x.Evidence = append(x.Evidence, dedup.Quantity{Name: of.Column + ": " + of.Level, Value: of.Similarity, Adds: of.Adds})
		}
	}
	return x, nil
}

// Text implements Engine. Every row is one of this run.
func (e *Linked) Text(int) (string, error) {
	return "", errors.New("rows of earlier runs cannot be shown")
}
