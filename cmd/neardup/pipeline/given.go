package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/output"
)

// This file decides by pairs that an earlier call has found, instead of comparing.

// GivenPairs are pairs of an earlier call.
type GivenPairs struct {
	Path   string
	Labels []string
}

// A givenPair is one of them, or a label.
type givenPair struct {
	pair
	counts bool
}

// pairColumns are those of a table of pairs without a header.
var pairColumns = []string{"a", "b", "similarity", "kind", "probability"}

// A decider has the pairs that are given, and the labels, by the numbers of the documents, the smaller one first.
type decider struct {
	c      *collection
	at     map[string]int // the documents by their ids
	all    map[[2]int]givenPair
	isSame map[[2]int]bool // the labels
	keep   []int           // documents that somebody wants to keep
}

// pair returns the numbers of two documents.
func (d *decider) pair(a, b string) (n [2]int, err error) {
	for k, id := range []string{a, b} {
		var ok bool
		if n[k], ok = d.at[id]; !ok {
			return n, fmt.Errorf("no document of the inputs has the id %q", id)
		}
	}
	slices.Sort(n[:])
	return n, nil
}

// label takes a label.
func (d *decider) label(l readLabel) error {
	if l.Keep != "" {
		n, ok := d.at[l.Keep]
		if d.keep = append(d.keep, n); !ok {
			return fmt.Errorf("no document of the inputs has the id %q", l.Keep)
		}
		return nil
	}
	n, err := d.pair(l.A, l.B)
	if err != nil {
		return err
	}
	if before, twice := d.isSame[n]; twice && before != l.Same {
		return errors.New("another file says the opposite of this pair")
	}
	if !l.Same && d.c.Doc(n[0]).content == d.c.Doc(n[1]).content {
		return errors.New("the two have the same text, so they are in one group")
	}
	if d.isSame[n] = l.Same; l.Same {
		d.all[n] = givenPair{pair{uint32(n[0]), uint32(n[1]), 1, 1, neardup.Revised}, true}
	}
	return nil
}

// read reads the labels and the pairs.
func (d *decider) read(o *Options) error {
	for _, path := range o.Given.Labels {
		labels, err := ReadLabels(path)
		if err != nil {
			return err
		}
		for _, l := range labels {
			if err := d.label(l); err != nil {
				return fmt.Errorf("%s:%d: %w", path, l.Line, err)
			}
		}
	}
	return output.ReadTable(o.Given.Path, pairColumns, func(_ int32, row map[string]string) error {
		p, counts, err := o.readPair(row)
		if err != nil {
			return err
		}
		n, err := d.pair(row["a"], row["b"])
		if same, isLabelled := d.isSame[n]; isLabelled {
			counts = same
		}
		p.i, p.j = uint32(n[0]), uint32(n[1])
		d.all[n] = givenPair{p, counts}
		return err
	})
}

// groupGiven groups the documents by the pairs of an earlier call, and by labels.
func (c *collection) groupGiven(o *Options) error {
	d := &decider{c: c, at: c.Numbers(), all: map[[2]int]givenPair{}, isSame: map[[2]int]bool{}}
	if err := d.read(o); err != nil {
		return err
	}
	of := c.contents()
	texts := func(n [2]int) [2]int { // a mark for each text
		a, b := int(c.Doc(n[0]).content.number)-1, int(c.Doc(n[1]).content.number)-1
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
			return fmt.Errorf("the labels of %q and %q contradict those of their copies", c.Doc(n[0]).ID, c.Doc(n[1]).ID)
		}
	}
	near := make([]nearPair, 0, len(d.all))
	for n, p := range d.all {
		if t := texts(n); p.counts && t[0] != t[1] && !different[t] {
			near = append(near, nearPair{t[0], t[1], p.value})
		}
	}
	slices.SortFunc(near, func(p, q nearPair) int {
		return cmp.Or(cmp.Compare(p.i, q.i), cmp.Compare(p.j, q.j), cmp.Compare(q.value, p.value))
	})
	c.groupMarks(of, slices.Values(near))
	c.keepChosen(d.keep)
	for i, root := range c.cluster {
		if found, ok := d.all[[2]int{min(i, int(root)), max(i, int(root))}]; ok {
			c.like[i] = pair{uint32(i), uint32(root), found.value, found.probability, found.kind}
		}
	}
	return nil
}

// keepChosen lets groups keep the documents that somebody has chosen, the first one of each group.
func (c *collection) keepChosen(chosen []int) {
	instead := map[int32]int32{}
	for _, i := range chosen {
		if root := c.cluster[i]; instead[root] == 0 {
			instead[root] = int32(i) + 1
		}
	}
	for i, root := range c.cluster {
		if to := instead[root] - 1; to >= 0 {
			c.cluster[i] = to
			delete(c.like, i)
		}
	}
}

// readPair reads a row of a table of pairs, and says whether it counts.
func (o *Options) readPair(row map[string]string) (p pair, counts bool, err error) {
	if row["a"] == row["b"] {
		err = errors.New("it has one document twice")
	}
	_, hasProbability := row["probability"]
	if text := row["similarity"]; err == nil && !hasProbability && !strings.Contains(text, ".") {
		err = errors.New("there is no similarity; for distances and scores, dedup decides as fast")
	}
	if err == nil {
		p.value, err = share(row["similarity"])
	}
	if err == nil && hasProbability {
		p.probability, err = share(row["probability"])
		err = cmp.Or(err, p.kind.UnmarshalText([]byte(row["kind"])))
	}
	if err != nil {
		return p, false, fmt.Errorf("not a pair to decide by: %w", err)
	}
	if hasProbability && o.Method.Least == 0 && p.probability < o.Method.Probability {
		return p, false, nil
	}
	return p, p.value >= o.Method.Least && (p.kind == 0 || p.kind&o.Method.Kinds != 0), nil
}

// share reads a similarity or a probability.
func share(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(x >= 0 && x <= 1) {
		err = fmt.Errorf("%s must be from 0 to 1", text)
	}
	return x, err
}
