package group

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/output"
)

// This file decides by pairs that an earlier call has found, instead of comparing.

// A givenPair is one of them, or a label.
type givenPair struct {
	Pair
	counts bool
}

// pairColumns are those of a table of pairs without a header.
var pairColumns = []string{"a", "b", "similarity", "kind", "probability"}

// A decider has the pairs that are given, and the labels, by the numbers of the documents, the smaller one first.
type decider struct {
	c      *corpus.Corpus
	o      *options.Options
	at     numbers // of the documents
	all    map[[2]int]givenPair
	isSame map[[2]int]bool // the labels
	keep   []int           // documents that somebody wants to keep
}

// numbers are those of documents by their ids.
type numbers map[string]int

// pair returns the numbers of two documents, the smaller one first.
func (at numbers) pair(a, b string) (n [2]int, err error) {
	for k, id := range []string{a, b} {
		var ok bool
		if n[k], ok = at[id]; !ok {
			return n, fmt.Errorf("no document in the inputs has the id %q", id)
		}
	}
	slices.Sort(n[:])
	return n, nil
}

// label takes a label.
func (d *decider) label(l Label) error {
	if l.Keep != "" {
		n, ok := d.at[l.Keep]
		if d.keep = append(d.keep, n); !ok {
			return fmt.Errorf("no document in the inputs has the id %q", l.Keep)
		}
		return nil
	}
	n, err := d.at.pair(l.A, l.B)
	if err != nil {
		return err
	}
	if before, twice := d.isSame[n]; twice && before != l.Same {
		return errors.New("another label file contradicts this label")
	}
	if !l.Same && d.c.Doc(n[0]).Content == d.c.Doc(n[1]).Content {
		return errors.New("the two documents have the same text, so they cannot be different")
	}
	if d.isSame[n] = l.Same; l.Same {
		d.all[n] = givenPair{Pair{uint32(n[0]), uint32(n[1]), 1, 1, neardup.Revised}, true}
	}
	return nil
}

// read reads the labels and the pairs.
func (d *decider) read() error {
	if err := eachLabel(d.o.Given.Labels, d.label); err != nil {
		return err
	}
	return output.ReadTable(d.o.Given.Path, pairColumns, func(_ int32, row map[string]string) error {
		p, counts, err := d.readPair(row)
		if err != nil {
			return err
		}
		n, err := d.at.pair(row["a"], row["b"])
		if same, isLabelled := d.isSame[n]; isLabelled {
			counts = same
		}
		p.I, p.J = uint32(n[0]), uint32(n[1])
		d.all[n] = givenPair{p, counts}
		return err
	})
}

// ByGiven groups the documents by the pairs of an earlier call, and by labels.
func ByGiven(c *corpus.Corpus, o *options.Options) (*Groups, error) {
	d := &decider{c: c, o: o, at: c.Numbers(), all: map[[2]int]givenPair{}, isSame: map[[2]int]bool{}}
	if err := d.read(); err != nil {
		return nil, err
	}
	of := newTexts(c, o)
	texts := func(n [2]int) [2]int { // a mark for each text
		a, b := int(c.Doc(n[0]).Content.Number)-1, int(c.Doc(n[1]).Content.Number)-1
		return [2]int{min(a, b), max(a, b)}
	}
	different := map[[2]int]bool{} // what is said of a document counts for its copies too
	for n, same := range d.isSame {
		if !same {
			different[texts(n)] = true
		}
	}
	for n, same := range d.isSame {
		if same && different[texts(n)] {
			return nil, fmt.Errorf("the labels of %q and %q contradict those of their copies", c.Doc(n[0]).ID, c.Doc(n[1]).ID)
		}
	}
	near := make([]nearPair, 0, len(d.all))
	for n, p := range d.all {
		if t := texts(n); p.counts && t[0] != t[1] && !different[t] {
			near = append(near, nearPair{t[0], t[1], p.Value})
		}
	}
	slices.SortFunc(near, func(p, q nearPair) int {
		return cmp.Or(cmp.Compare(p.i, q.i), cmp.Compare(p.j, q.j), cmp.Compare(q.value, p.value))
	})
	of.group(slices.Values(near))
	g := of.groups
	g.keepChosen(d.keep)
	for i, root := range g.Kept {
		if found, ok := d.all[[2]int{min(i, int(root)), max(i, int(root))}]; ok {
			g.Like[i] = Pair{uint32(i), uint32(root), found.Value, found.Probability, found.Kind}
		}
	}
	return g, nil
}

// keepChosen lets groups keep the documents that somebody has chosen, the first one of each group.
func (g *Groups) keepChosen(chosen []int) {
	instead := map[int32]int32{}
	for _, i := range chosen {
		if root := g.Kept[i]; instead[root] == 0 {
			instead[root] = int32(i) + 1
		}
	}
	for i, root := range g.Kept {
		if to := instead[root] - 1; to >= 0 {
			g.Kept[i] = to
			delete(g.Like, i)
		}
	}
}

// readPair reads a row of a table of pairs, and says whether it counts.
func (d *decider) readPair(row map[string]string) (p Pair, counts bool, err error) {
	if row["a"] == row["b"] {
		err = errors.New("both ids are the same document")
	}
	_, hasProbability := row["probability"]
	if text := row["similarity"]; err == nil && !hasProbability && !strings.Contains(text, ".") {
		err = errors.New("the row has no similarity; for distances and scores, run dedup again, which is just as fast")
	}
	if err == nil {
		p.Value, err = share(row["similarity"])
	}
	if err == nil && hasProbability {
		p.Probability, err = share(row["probability"])
		err = cmp.Or(err, p.Kind.UnmarshalText([]byte(row["kind"])))
	}
	if err != nil {
		return p, false, fmt.Errorf("not a usable pair: %w", err)
	}
	if hasProbability && d.o.Method.Least == 0 && p.Probability < d.o.Method.Probability {
		return p, false, nil
	}
	return p, p.Value >= d.o.Method.Least && (p.Kind == 0 || p.Kind&d.o.Method.Kinds != 0), nil
}

// share reads a similarity or a probability.
func share(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(x >= 0 && x <= 1) {
		err = fmt.Errorf("%s must be from 0 to 1", text)
	}
	return x, err
}
