package main

import "math"

// This file says how many of the found pairs are wrong, as a Deduplicator does (dedup/estimate.go): by the probabilities
// themselves, and corrected for the share of near-duplicates in the collection (Saerens, Latinne and Decaestecker 2002).

// The constants of dedup/estimate.go, which were chosen by the table that this file prints.
const (
	usualShare = 0.4
	usualPairs = 10
)

// expected returns how many pairs above even odds are none, and how many are expected to be: by their probabilities, and in the
// collection.
func (e *evidence) expected(m model) (found, wrong int, plain, corrected float64) {
	odds := make([]float64, len(e.pairs)) // of the pairs that are no near-duplicates
	all := float64(usualPairs)
	for i := range e.pairs {
		p := &e.pairs[i]
		z := m.logOdds(&p.x)
		odds[i] = math.Exp(-z)
		if all += float64(p.n); z >= 0 {
			found += int(p.n)
			wrong += int(p.n - p.hits)
			plain += float64(p.n) * sigmoid(-z)
		}
	}
	factor, share := 1.0, usualShare
	for range 200 {
		factor = share / (1 - share) * (1 - usualShare) / usualShare
		next := usualPairs * usualShare
		for i := range e.pairs {
			next += float64(e.pairs[i].n) * factor / (factor + odds[i])
		}
		share = min(max(next/all, 1e-6), 1-1e-6)
	}
	for i := range e.pairs {
		if odds[i] <= 1 {
			corrected += float64(e.pairs[i].n) * odds[i] / (factor + odds[i])
		}
	}
	return found, wrong, plain, corrected
}

// isClose reports whether a number that was expected is within a factor of 1.5 of the true one, or within 5.
func isClose(expected float64, true int) bool {
	n := float64(true)
	return math.Abs(expected-n) <= 5 || expected > 0 && n > 0 && max(expected/n, n/expected) <= 1.5
}

// isLikely reports whether a true number is within the range that dedup.Estimate.Likely gives.
func isLikely(expected float64, true int) bool {
	n := float64(true)
	return n >= expected/2-5 && n <= 2*expected+10
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
		found, wrong, plain, corrected := e.expected(m)
		n++
		if isClose(plain, wrong) {
			plainClose++
		}
		if isClose(corrected, wrong) {
			close++
		}
		if isLikely(corrected, wrong) {
			likely++
		}
		r.printf("| %s | %d | %d | %.1f | %.1f | %t | %t |\n", e.name, found, wrong, plain, corrected, isClose(corrected, wrong), isLikely(corrected, wrong))
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
