package main

import (
	"math"

	"github.com/neardup/neardup/dedup"
)

// This file says how many of the found pairs are wrong: by the probabilities themselves, and as a Deduplicator expects it in the
// collection (dedup.Estimate). The constants of dedup/estimate.go were chosen by the table that it prints.

// expected returns how many pairs above even odds are not near-duplicates, and how many their probabilities say. t is what a Deduplicator would
// expect of the pairs.
func (e *evidence) expected(m model) (wrong int, plain float64, t dedup.Estimate) {
	for i := range e.pairs {
		p := &e.pairs[i]
		z := m.logOdds(&p.x)
		into := &t.NotFound
		if z >= 0 {
			into = &t.Found
			wrong += int(p.n - p.hits)
			plain += float64(p.n) * sigmoid(-z)
		}
		into[min(max(int((z+6)*4), 0), len(into)-1)] += int(p.n)
	}
	return wrong, plain, t.Merge(dedup.Estimate{})
}

// isClose reports whether a number that was expected is within a factor of 1.5 of the true one, or within 5.
func isClose(expected float64, true int) bool {
	n := float64(true)
	return math.Abs(expected-n) <= 5 || expected > 0 && n > 0 && max(expected/n, n/expected) <= 1.5
}

// wrong prints how many pairs are wrong of every collection of which people know the truth, of the silver ones, and of those with
// planted copies, by what is fitted without its set.
func (r *report) wrong() {
	r.head("Wrong pairs, left out", "collection", "found", "wrong", "by the probabilities", "in the collection", "close", "likely")
	var close, likely, plainClose, n int
	for _, e := range r.lab.collections {
		if e.kind == columns || e.kind == large || e.kind == one || e.kind == check && len(e.plans) > 0 && e.large() {
			continue
		}
		m, ok := r.out[e.set]
		if !ok {
			m = r.fitted.all
		}
		wrong, plain, t := e.expected(m)
		least, most := t.Likely(t.Wrong, t.Pairs)
		isLikely := wrong >= least && wrong <= most
		n++
		if isClose(plain, wrong) {
			plainClose++
		}
		if isClose(t.Wrong, wrong) {
			close++
		}
		if isLikely {
			likely++
		}
		r.printf("| %s | %d | %d | %.1f | %.1f | %t | %t |\n", e.name, t.Pairs, wrong, plain, t.Wrong, isClose(t.Wrong, wrong), isLikely)
	}
	r.printf("\n%d collections; close by the probabilities %d, in the collection %d; likely %d\n", n, plainClose, close, likely)
}

// large reports whether there are planted families of more than five.
func (e *evidence) large() bool {
	for _, p := range e.plans {
		if p.size > 5 {
			return true
		}
	}
	return false
}
