package link

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/neardup/neardup/internal/exact"
)

// This file learns how much each level of agreement says, by EM over the candidates. There are three classes of pairs:
//
//	matches   rows about the same thing
//	siblings  rows about things that have some columns in common, such as the articles in one issue of a journal
//	random    any two rows; their levels are those of a sample of pairs, and are not learned
//
// The classes have all pairs of rows, so a pair that is not compared belongs to the random ones. A common value says less than a rare one: at random, a
// pair is equal in a column as often as the share of rows that have the value.

const (
	matches = iota
	siblings
	random
	classes
)

const (
	sampleSize = 100_000 // pairs at random
	chunk      = 4096    // pairs that are counted by one goroutine
	rounds     = 60      // of EM at most
	settled    = 1e-4    // EM ends when no class changes by more than this share of it
	// siblingShare is how much of what matches have in common siblings may have at most: a class of pairs that agree nearly everywhere would be one of matches with
	// errors. With 0.5, F1 on rec-song falls by .015, and the other nine tables come out alike (TestMatchQuality).
	siblingShare = 0.35
	// columnsWorth is how many independent columns a row is worth. With all columns taken as independent, journal, year and volume outweigh a title: the mean
	// F1 of the ten tables is .88 instead of .95.
	columnsWorth = 4
	asBegun      = 10  // pairs of a class that are as it begins, beside those that are learned from
	smoothing    = 0.5 // pairs that every level has from the start
)

// A model has the shares of levels of each class, by column.
type model struct {
	levels [classes][][levels]float64
	priors [classes]float64 // shares of all pairs
	worth  float64          // of the evidence of a column

	logs  [classes][][levels]float64 // of levels
	prior [classes]float64           // of priors
}

// fit learns the weights from pairs and their levels, and gives each its log odds. Pairs are counted in chunks that are added up in their order, so the sums do
// not depend on the number of processors.
func (t *Table) fit(ctx context.Context, pairs []Pair, levels []int8) (*model, error) {
	m := t.start(len(pairs))
	tallies := make([]tally, (len(pairs)+chunk-1)/chunk)
	for range rounds {
		m.takeLogs()
		inChunks(chunk, len(pairs), func(from, to int) {
			of := &tallies[from/chunk]
			of.clear(len(t.columns))
			for i := from; i < to; i++ {
				at := t.levelsOf(levels, i)
				of.add(shared(t.logs(m, &pairs[i], at)), at)
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var all tally
		all.clear(len(t.columns))
		for i := range tallies {
			all.merge(&tallies[i])
		}
		before := m.priors
		m.learn(&all, t.all())
		m.limit()
		if math.Abs(m.priors[matches]-before[matches]) < settled*before[matches] && math.Abs(m.priors[siblings]-before[siblings]) < settled*before[siblings] {
			break
		}
	}
	m.takeLogs()
	inChunks(chunk, len(pairs), func(from, to int) {
		for i := from; i < to; i++ {
			pairs[i].Odds = oddsOf(t.logs(m, &pairs[i], t.levelsOf(levels, i)))
		}
	})
	return m, nil
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

// ln is the natural logarithm, the same on every platform.
func ln(x float64) float64 { return exact.Ln(x) }

// OddsOf returns the logarithm of the odds of a probability, and ProbabilityOf the probability.
func OddsOf(probability float64) float64 { return ln(probability / (1 - probability)) }
func ProbabilityOf(odds float64) float64 { return 1 / (1 + exact.Exp(min(max(-odds, -700), 700))) }

// all returns the number of pairs of rows.
func (t *Table) all() float64 { return float64(t.rows) * float64(t.rows-1) / 2 }

// start returns a model with which EM begins: matches mostly agree, siblings sometimes.
func (t *Table) start(candidates int) *model {
	m := &model{}
	for class := range m.levels {
		m.levels[class] = make([][levels]float64, len(t.columns))
		m.logs[class] = make([][levels]float64, len(t.columns))
	}
	t.sample(m.levels[random])
	width := 0.0
	for n, c := range t.columns {
		m.levels[matches][n], m.levels[siblings][n] = begin[matches], begin[siblings]
		if !c.whole {
			width += float64(c.filled) / float64(t.rows)
		}
	}
	m.worth = min(1, columnsWorth/max(width, 1))
	m.priors = [classes]float64{float64(t.rows) / 4 / t.all(), float64(max(candidates, 1)) / 5 / t.all(), 1}
	return m
}

// sample counts the levels of pairs at random. How often two rows are equal is known exactly.
func (t *Table) sample(to [][levels]float64) {
	var pairs []Pair
	if t.all() <= sampleSize { // all pairs
		for a := range int32(t.rows) {
			for b := a + 1; b < int32(t.rows); b++ {
				pairs = append(pairs, Pair{A: a, B: b})
			}
		}
	} else {
		r := rand.New(rand.NewPCG(1, 2)) // the rows are in an order of their own
		for range sampleSize {
			a, b := r.IntN(t.rows), r.IntN(t.rows-1)
			if b >= a {
				b++
			}
			pairs = append(pairs, Pair{A: int32(a), B: int32(b)})
		}
	}
	at := t.compare(pairs)
	for n, c := range t.columns {
		both := 0.0
		for i := range pairs {
			if l := t.levelsOf(at, i)[n]; l >= 0 {
				to[n][l]++
				both++
			}
		}
		for l := range to[n] {
			to[n][l] = (to[n][l] + smoothing) / (both + smoothing*levels)
		}
		if !c.whole {
			rows, pairs := float64(c.filled), 0.0
			for _, v := range c.values {
				pairs += float64(v.count) * float64(v.count-1)
			}
			to[n][equal] = max(pairs, 1) / max(rows*(rows-1), 1)
		}
	}
}

func (m *model) takeLogs() {
	for class, x := range m.priors {
		m.prior[class] = ln(x)
	}
	for class := range m.levels {
		for n := range m.levels[class] {
			for l, x := range m.levels[class][n] {
				m.logs[class][n][l] = ln(x)
			}
		}
	}
}

// logs returns the logarithm of the prior share of each class times the likelihood of a pair in it.
func (t *Table) logs(m *model, p *Pair, at []int8) (logs [classes]float64) {
	for class := range logs {
		sum := 0.0
		for n, l := range at {
			if l >= 0 {
				sum += t.log(m, class, n, int(l), p)
			}
		}
		logs[class] = m.prior[class] + float64(m.worth*sum)
	}
	return logs
}

// shared returns the shares of the classes.
func shared(logs [classes]float64) (shares [classes]float64) {
	top, sum := slices.Max(logs[:]), 0.0
	for class, x := range logs {
		shares[class] = exact.Exp(x - top)
		sum += shares[class]
	}
	for class := range shares {
		shares[class] /= sum
	}
	return shares
}

// oddsOf returns the logarithm of the odds of a match.
func oddsOf(logs [classes]float64) float64 {
	most, least := max(logs[siblings], logs[random]), min(logs[siblings], logs[random])
	return logs[matches] - most - ln(1+exact.Exp(least-most))
}

// log returns the logarithm of the share of a level of a column.
func (t *Table) log(m *model, class, n, level int, p *Pair) float64 {
	if c := t.columns[n]; class == random && level == equal && !c.whole {
		return c.values[c.of[p.A]].chance
	}
	return m.logs[class][n][level]
}

// begin has the shares of levels with which EM begins: matches mostly agree, siblings sometimes.
var begin = [random][levels]float64{{0.05, 0.05, 0.1, 0.2, 0.15, 0.15, 0.15, 0.15}, {0.5, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05}}

// learn sets the shares of the classes from what was counted. How often pairs at random are alike as a whole is learned too, at the levels that a sample of them
// hardly has: such pairs are all among the candidates. all is how many pairs there are.
func (m *model) learn(of *tally, all float64) {
	for class := range random {
		for n, counts := range of.counts[class] {
			both := 0.0
			for _, x := range counts {
				both += x
			}
			for l, x := range counts {
				m.levels[class][n][l] = (x + float64(asBegun*begin[class][l])) / (both + asBegun)
			}
		}
		m.priors[class] = max(of.sums[class], 1) / all
	}
	whole := len(of.counts[random]) - 1
	for l := equal; l < levels; l++ {
		m.levels[random][whole][l] = (of.counts[random][whole][l] + smoothing) / all
	}
}

// limit makes siblings more like pairs at random if they have too much in common.
func (m *model) limit() {
	expected := func(class int) (sum float64) {
		for n := range m.levels[class] {
			for l, x := range m.levels[class][n] {
				sum += float64(x * ln(m.levels[matches][n][l]/m.levels[random][n][l]))
			}
		}
		return sum
	}
	allowed, has, least := siblingShare*expected(matches), expected(siblings), expected(random)
	if has <= allowed || has <= least {
		return
	}
	part := min(1, (has-allowed)/(has-least))
	for n := range m.levels[siblings] {
		for l, x := range m.levels[siblings][n] {
			m.levels[siblings][n][l] = float64((1-part)*x) + float64(part*m.levels[random][n][l])
		}
	}
}
