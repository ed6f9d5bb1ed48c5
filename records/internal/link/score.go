package link

import "slices"

// This file gives pairs their odds. Most of them are far from a match, which a few columns show: columns are compared in turn, the quickest first, until the rest cannot
// make up for what is missing.

// A scorer has what the columns of a pair can say at most.
type scorer struct {
	t     *Table
	m     *model
	least float64   // log odds
	order []int     // of columns
	most  []float64 // by columns: what values say at most that are not equal
}

// score returns the pairs whose log odds are at least so many, with their odds, in order. Of rows that are equal it returns all.
func (t *Table) score(m *model, couples []couple, least float64) []Pair {
	s := scorer{t: t, m: m, least: least, most: make([]float64, len(t.columns))}
	for n, c := range t.columns {
		s.order = append(s.order, n)
		s.most[n] = m.most(n, c)
	}
	slices.SortStableFunc(s.order, func(i, j int) int { return t.columns[i].cost() - t.columns[j].cost() })
	const size = 4000
	chunks := make([][]Pair, (len(couples)+size-1)/size)
	inChunks(size, len(couples), func(from, to int) {
		at := make([]int8, len(t.columns))
		for _, p := range couples[from:to] {
			isCopy := t.copies[p.a] == t.copies[p.b]
			isSame, isLabelled := t.labels[p]
			if !s.compare(p, at) && !isCopy && !isSame { // those two are kept whatever their odds are
				continue
			}
			odds := oddsOf(t.logs(m, p.a, at)) + m.bias
			switch {
			case isSame:
				odds = labelOdds
			case isLabelled:
				odds = -labelOdds
			}
			if odds >= least || isCopy {
				chunks[from/size] = append(chunks[from/size], Pair{A: p.a, B: p.b, Odds: odds})
			}
		}
	})
	return slices.Concat(chunks...)
}

// cost orders columns by how long it takes to compare two values.
func (c *column) cost() int {
	switch {
	case c.whole:
		return 2
	case c.kind == texts:
		return 1
	}
	return 0
}

// isQuick reports whether two values are compared in no time. They may be equal without being the same: 1.5 and 1.50.
func (c *column) isQuick() bool { return c.kind == numbers || c.kind == figures }

// most returns what a column says at most of values that are not equal: how much likelier a level is in matches than at random.
func (m *model) most(n int, c *column) (most float64) {
	for l := range m.logs[n] {
		if l != equal || c.whole {
			of := &m.logs[n][l]
			most = max(most, of[matches]-of[random])
		}
	}
	return most
}

// compare sets the levels at which two rows agree, or returns false if their log odds are too low.
func (s *scorer) compare(p couple, at []int8) bool {
	bound := 0.0 // of the sum over all columns; the odds are lower, since there are siblings and relatives too
	for n, c := range s.t.columns {
		switch a, b := c.of[p.a], c.of[p.b]; {
		case a < 0 || b < 0:
			at[n] = -1
		case c.isQuick() || !c.whole && c.isEqual(a, b):
			if at[n] = int8(c.agreement(a, b)); at[n] == equal {
				bound += s.m.logs[n][equal][matches] - c.values[a].chance
			} else {
				bound += s.m.logs[n][at[n]][matches] - s.m.logs[n][at[n]][random]
			}
		default:
			at[n] = unknown
			bound += s.most[n]
		}
	}
	least := (s.least - s.m.bias - s.m.prior[matches] + s.m.prior[random]) / s.m.worth
	for _, n := range s.order {
		if at[n] != unknown {
			continue
		}
		if bound < least {
			return false
		}
		c := s.t.columns[n]
		at[n] = int8(c.agreement(c.of[p.a], c.of[p.b]))
		of := &s.m.logs[n][at[n]]
		bound += of[matches] - of[random] - s.most[n]
	}
	return true
}

// unknown is the level of values that have not been compared.
const unknown = -2

// couplesOf returns the pairs without their odds.
func couplesOf(pairs []Pair) []couple {
	couples := make([]couple, len(pairs))
	for i, p := range pairs {
		couples[i] = couple{p.A, p.B}
	}
	return couples
}
