package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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
	rows   []neardup.Record
	source []int            // of each row, with --link
	found  *records.Matches // nil before Find
	less   *records.Matches // with pairs from leastLinked on; nil until the page asks for them
}

// leastLinked is the probability of the least likely pairs that the page counts.
const leastLinked = 0.01

// NewLinked returns a Linked without rows.
func NewLinked(c *corpus.Corpus, o *options.Options) *Linked {
	e := &Linked{corpus: c, o: o}
	e.Feed = load.NewFeed(func(documents <-chan []load.Taken) error {
		for some := range documents {
			for _, t := range some {
				delete(t.Record, o.Cols.ID)
				e.rows = append(e.rows, t.Record)
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
	if len(e.rows) < 2 {
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
	if most := options.MostRows(e.o.Memory); len(e.rows) > most {
		return nil, fmt.Errorf("all rows and their pairs are kept in memory: at most %d rows fit in --memory, and there are %d; raise it, or compare by a fixed schema, --schema -", most, len(e.rows))
	}
	if e.o.Link && len(e.corpus.Sources) < 2 {
		return nil, errors.New("--link needs two inputs or more")
	}
	var err error
	if e.found, err = e.match(e.threshold()); err != nil {
		return nil, err
	}
	f := &Found{}
	if most := options.MostListed(e.o.Memory); wantPairs && len(e.found.Pairs) > most {
		return nil, TooManyPairs(most)
	}
	if wantPairs {
		for _, p := range e.found.Pairs {
			f.Pairs = append(f.Pairs, e.pair(p.A, p.B))
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

// match finds the pairs with at least a probability.
func (e *Linked) match(probability float64) (*records.Matches, error) {
	return records.Match(context.Background(), e.rows, records.MatchOptions{Sources: e.source, Keys: e.o.Keys, Probability: probability})
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
	if maps.Equal(e.rows[i], e.rows[j]) {
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

// PairsFrom implements Engine. The weights do not depend on the probability, so one more search serves every call.
func (e *Linked) PairsFrom(least float64) (pairs []neardup.Pair[int], err error) {
	if e.less == nil {
		if e.less, err = e.match(leastLinked); err != nil {
			return nil, err
		}
	}
	most := options.MostListed(e.o.Memory)
	for _, p := range e.less.Pairs {
		if p.Probability < least {
			continue
		}
		if len(pairs) == most {
			return nil, TooManyPairs(most)
		}
		of := e.pair(p.A, p.B)
		p.Similarity, p.Kind = of.Value, of.Kind
		pairs = append(pairs, p)
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
