package main

import (
	"cmp"
	"slices"
)

// This file counts what a function finds: pairs of documents, as score.py does. A fit sees each pair of contents once, but a
// user who has three copies of a page gets each of the three pairs with another page.

// A count says what is found of a collection, in pairs of documents.
type count struct {
	found, hits, truths int
}

// f1 returns the harmonic mean of precision and recall, as score.py does.
func (c count) f1() float64 {
	if c.hits == 0 {
		return 0
	}
	return 2 * float64(c.hits) / float64(c.found+c.truths)
}

// precision returns the share of the found pairs that is right, 1 if there are none.
func (c count) precision() float64 {
	if c.found == 0 {
		return 1
	}
	return float64(c.hits) / float64(c.found)
}

// recall returns the share of the near-duplicates that is found, 1 if there are none.
func (c count) recall() float64 {
	if c.truths == 0 {
		return 1
	}
	return float64(c.hits) / float64(c.truths)
}

// add takes a pair of contents as found: all pairs of documents that have these contents.
func (c *count) add(p *pair) {
	c.found += int(p.n)
	c.hits += int(p.hits)
}

// count returns what a function finds above a threshold of the log odds, equal documents included.
func (e *evidence) count(m model, threshold float64) count {
	c := count{truths: len(e.truth)}
	for i := range e.equal {
		c.add(&e.equal[i])
	}
	for i := range e.pairs {
		if m.logOdds(&e.pairs[i].x) >= threshold {
			c.add(&e.pairs[i])
		}
	}
	return c
}

// best returns the highest F1 over all thresholds.
func (e *evidence) best(m model) (f1 float64) {
	c := count{truths: len(e.truth)}
	for i := range e.equal {
		c.add(&e.equal[i])
	}
	type scored struct {
		odds float64
		at   int
	}
	order := make([]scored, len(e.pairs))
	for i := range e.pairs {
		order[i] = scored{m.logOdds(&e.pairs[i].x), i}
	}
	slices.SortFunc(order, func(a, b scored) int { return cmp.Compare(b.odds, a.odds) })
	f1 = c.f1()
	for i, s := range order {
		c.add(&e.pairs[s.at])
		if i+1 == len(order) || order[i+1].odds < s.odds { // a threshold is between two values
			f1 = max(f1, c.f1())
		}
	}
	return f1
}

// recalls returns what a function finds of planted families, of those for which in is true, and how many of their pairs were
// compared at all: what is missing there is for the search of neighbours to find, not for a function.
func (e *evidence) recalls(m model, in func(p plan) bool) (c count, compared int) {
	for truth := range e.truth {
		if in(e.plans[truth[0]]) {
			c.truths++
		}
	}
	take := func(p *pair, found bool) {
		if p.hits == 0 || !in(e.plans[p.a]) {
			return
		}
		compared += int(p.hits)
		if found {
			c.found, c.hits = c.found+int(p.hits), c.hits+int(p.hits)
		}
	}
	for i := range e.equal {
		take(&e.equal[i], true)
	}
	for i := range e.pairs {
		take(&e.pairs[i], m.logOdds(&e.pairs[i].x) >= 0)
	}
	return c, compared
}

// mean returns the mean of some values.
func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v
	}
	return m / float64(max(len(values), 1))
}
