package link

import (
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/exact"
)

// This file learns how much each level of agreement says, by EM over the candidates. There are four classes of pairs:
//
//	matches    rows about the same thing
//	siblings   rows about things that agree in columns with few values, such as the articles in one issue of a journal
//	relatives  rows about things that agree in columns with many values, such as the works of an author
//	random     any two rows; their levels are those of a sample of pairs, and are not learned
//
// The classes have all pairs of rows, so a pair that is not compared belongs to the random ones. A common value says less than a rare one: at random, a
// pair is equal in a column as often as the share of rows that have the value.

const (
	matches = iota
	siblings
	relatives
	random
	classes
)

const (
	chunk  = 4096 // pairs that are counted by one goroutine
	rounds = 60   // of EM at most

	learnFrom = 100_000 // pairs, and up to twice as many, in a table of usual width
	settled   = 1e-4    // EM ends when no class changes by more than this share of it
	// siblingShare is how much of what matches have in common siblings and relatives may have at most: a class of pairs that agree nearly everywhere would be one of
	// matches with errors. With 0.5 no match is found in en-records-respiratory if its columns are joined to one; with 0.35, F1 on rec-song falls by .005.
	siblingShare = 0.4
	asBegun      = 30  // pairs of a class that are as it begins, beside those that are learned from
	smoothing    = 0.5 // pairs that every level has from the start
)

// A model has the shares of levels of each class, by column.
type model struct {
	levels [classes][][levels]float64
	priors [classes]float64 // shares of all pairs
	bias   float64          // of the log odds, by labels
	worth  float64          // of the evidence of a column

	logs  [][levels][classes]float64 // of levels, by column
	prior [classes]float64           // of priors
}

// A lesson has the pairs that weights are learned from, and their levels. Of many pairs these are some: every tenth, say. Rows are in the order of a hash, so these are
// like the others.
type lesson struct {
	couples []couple
	levels  []int8
	share   float64 // of all pairs

	labelled []couple // in order
	labels   []int8   // their levels
}

// lesson returns what is learned from pairs.
func (t *Table) lesson(couples []couple) *lesson {
	of := &lesson{share: 1}
	if step := len(couples) / t.affordable(learnFrom); step > 1 {
		some := make([]couple, 0, len(couples)/step+1)
		for i := 0; i < len(couples); i += step {
			some = append(some, couples[i])
		}
		of.share, couples = float64(len(some))/float64(len(couples)), some
	}
	of.couples, of.levels = couples, t.compare(couples)
	of.labelled = t.labelled()
	of.labels = t.compare(of.labelled)
	return of
}

// fit learns the weights. Pairs are counted in chunks that are added up in their order, so the sums do not depend on the number of processors.
func (t *Table) fit(ctx context.Context, m *model, from *lesson) error {
	some := len(from.couples)
	tallies := make([]tally, (some+chunk-1)/chunk)
	most := rounds
	if !t.teaches() {
		most = 0
	}
	for range most {
		m.takeLogs()
		inChunks(chunk, some, func(first, end int) {
			of := &tallies[first/chunk]
			of.clear(len(t.columns))
			for i := first; i < end; i++ {
				at := t.levelsOf(from.levels, i)
				of.add(shared(t.logs(m, from.couples[i].a, at)), at)
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		var all tally
		all.clear(len(t.columns))
		for i := range tallies {
			all.merge(&tallies[i])
		}
		all.scale(1 / from.share)
		before := m.priors
		t.learn(m, &all)
		t.limit(m)
		isSettled := true
		for class, x := range before {
			isSettled = isSettled && math.Abs(m.priors[class]-x) <= settled*x
		}
		if isSettled {
			break
		}
	}
	m.takeLogs()
	m.bias = t.bias(m, from)
	return nil
}

// A tally is what is counted of pairs: the shares of the classes, and of each level of each column in them.
type tally struct {
	counts [classes][][levels]float64
	sums   [classes]float64
}

// clear sets everything to 0.
func (a *tally) clear(columns int) {
	for class := range a.counts {
		if a.counts[class] == nil {
			a.counts[class] = make([][levels]float64, columns)
		}
		clear(a.counts[class])
	}
	a.sums = [classes]float64{}
}

// add counts a pair.
func (a *tally) add(shares [classes]float64, at []int8) {
	for class, share := range shares {
		if share == 0 {
			continue
		}
		a.sums[class] += share
		counts := a.counts[class]
		for n, l := range at {
			if l >= 0 {
				counts[n][l] += share
			}
		}
	}
}

// merge adds another tally.
func (a *tally) merge(b *tally) {
	for class := range a.counts {
		a.sums[class] += b.sums[class]
		for n := range a.counts[class] {
			for l, x := range b.counts[class][n] {
				a.counts[class][n][l] += x
			}
		}
	}
}

// scale multiplies everything.
func (a *tally) scale(by float64) {
	for class := range a.counts {
		a.sums[class] *= by
		for n := range a.counts[class] {
			for l := range a.counts[class][n] {
				a.counts[class][n][l] *= by
			}
		}
	}
}

// ln is the natural logarithm, the same on every platform.
func ln(x float64) float64 { return exact.Ln(x) }

// OddsOf returns the logarithm of the odds of a probability, and ProbabilityOf the probability.
func OddsOf(probability float64) float64 { return ln(probability / (1 - probability)) }
func ProbabilityOf(odds float64) float64 { return 1 / (1 + exact.Exp(min(max(-odds, -700), 700))) }

func (m *model) takeLogs() {
	for class, x := range m.priors {
		m.prior[class] = ln(x)
	}
	for class := range m.levels {
		for n := range m.levels[class] {
			for l, x := range m.levels[class][n] {
				m.logs[n][l][class] = ln(x)
			}
		}
	}
}

// logs returns the logarithm of the prior share of each class times the likelihood of a pair in it, of which one row is given.
func (t *Table) logs(m *model, row int32, at []int8) (logs [classes]float64) {
	for n, l := range at {
		if l < 0 {
			continue
		}
		of := &m.logs[n][l]
		for class := range random {
			logs[class] += of[class]
		}
		if c := t.columns[n]; l == equal && !c.whole {
			logs[random] += c.values[c.of[row]].chance
		} else {
			logs[random] += of[random]
		}
	}
	for class := range logs {
		logs[class] = m.prior[class] + float64(m.worth*logs[class])
	}
	return logs
}

// negligible is the logarithm of the share of a class that counts as none.
const negligible = -30

// shared returns the shares of the classes.
func shared(logs [classes]float64) (shares [classes]float64) {
	top, sum := slices.Max(logs[:]), 0.0
	for class, x := range logs {
		switch {
		case x == top:
			shares[class] = 1
		case x-top > negligible:
			shares[class] = exact.Exp(x - top)
		}
		sum += shares[class]
	}
	for class := range shares {
		shares[class] /= sum
	}
	return shares
}

// oddsOf returns the logarithm of the odds of a match.
func oddsOf(logs [classes]float64) float64 {
	others := logs[matches+1:]
	most, sum := slices.Max(others), 0.0
	for _, x := range others {
		sum += exact.Exp(x - most)
	}
	return logs[matches] - most - ln(sum)
}

// learn sets the shares of the classes from what was counted. How often pairs at random are alike as a whole is learned too, at the levels that a sample of them
// hardly has: such pairs are all among the candidates. In a table of one column nothing else would hold it in place.
func (t *Table) learn(m *model, of *tally) {
	for class := range random {
		for n, counts := range of.counts[class] {
			both := 0.0
			for _, x := range counts {
				both += x
			}
			for l, x := range counts {
				m.levels[class][n][l] = (x + float64(asBegun*t.columns[n].begin[class][l])) / (both + asBegun)
			}
		}
		m.priors[class] = max(of.sums[class], 1) / t.all
	}
	if len(t.columns) < 3 {
		return
	}
	whole := len(t.columns) - 1
	for l := equal; l < levels; l++ {
		m.levels[random][whole][l] = (of.counts[random][whole][l] + smoothing) / t.all
	}
}

// limit makes siblings and relatives more like pairs at random if they have too much in common.
func (t *Table) limit(m *model) {
	expected := func(class int) (sum float64) {
		for n, c := range t.columns {
			filled, of := float64(c.filled)/float64(t.rows), 0.0
			for l, x := range m.levels[class][n] {
				of += float64(x * ln(m.levels[matches][n][l]/m.levels[random][n][l]))
			}
			sum += float64(filled * filled * of)
		}
		return sum
	}
	allowed, least := siblingShare*expected(matches), expected(random)
	for class := siblings; class < random; class++ {
		has := expected(class)
		if has <= allowed || has <= least {
			continue
		}
		part := min(1, (has-allowed)/(has-least))
		for n := range m.levels[class] {
			for l, x := range m.levels[class][n] {
				m.levels[class][n][l] = float64((1-part)*x) + float64(part*m.levels[random][n][l])
			}
		}
	}
}
