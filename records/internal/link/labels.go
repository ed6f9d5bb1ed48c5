package link

import (
	"cmp"
	"slices"
)

// This file learns from pairs that somebody has labelled. They are pairs of a known class among those that EM shares out: matches, or one of the others.

const (
	labelOdds  = 30 // the log odds of a pair that is labelled as the same, and less than 0 of one that is not
	biasSpread = 1
	biasRounds = 20 // of Newton's method
)

// take takes the labels. places has the numbers of rows in the table.
func (t *Table) take(labels []Label, places []int32) {
	t.labels = make(map[couple]bool, len(labels))
	for _, l := range labels {
		a, b := t.copies[places[l.A]], t.copies[places[l.B]]
		if a == b { // the second of the rows that are equal stands for the others
			b++
		}
		t.labels[couple{min(a, b), max(a, b)}] = l.Same
	}
}

// labelled returns the labelled pairs in order.
func (t *Table) labelled() []couple {
	all := make([]couple, 0, len(t.labels))
	for p := range t.labels {
		all = append(all, p)
	}
	slices.SortFunc(all, func(p, q couple) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
	return all
}

// withLabels returns pairs, and those that are labelled as the same and are not among them.
func (t *Table) withLabels(couples []couple) []couple {
	known := make(map[couple]bool, len(t.labels))
	for _, p := range couples {
		if t.labels[p] {
			known[p] = true
		}
	}
	for _, p := range t.labelled() {
		if t.labels[p] && !known[p] && t.mayMatch(p.a, p.b) {
			couples = append(couples, p)
		}
	}
	return couples
}

// bias returns what is to be added to the log odds so that they fit the labels. Before any label is known it is taken to be 0 with a standard deviation of biasSpread, so
// a few labels change little.
func (t *Table) bias(m *model, from *lesson) (bias float64) {
	odds := make([]float64, len(from.labelled))
	for i, p := range from.labelled {
		odds[i] = oddsOf(t.logs(m, p.a, t.levelsOf(from.labels, i)))
	}
	for range biasRounds {
		slope, bend := -bias/(biasSpread*biasSpread), 1/float64(biasSpread*biasSpread)
		for i, p := range from.labelled {
			share := ProbabilityOf(odds[i] + bias)
			if t.labels[p] {
				slope++
			}
			slope -= share
			bend += float64(share * (1 - share))
		}
		bias += slope / bend
	}
	return bias
}
