package link

import (
	"math/rand/v2"
	"slices"
)

// This file has what EM begins with: what matches and siblings have in common in most tables, and what pairs at random have in this one. A small table teaches
// little beyond that.

const (
	sampleSize = 100_000 // pairs at random, in a table of usual width
	mostExact  = 5_000   // rows whose pairs are gone through to find all of those
	// columnsWorth is how many independent columns a row is worth. With all columns taken as independent, journal, year and volume outweigh a title. With 4, F1 on
	// rec-music20k and rec-song rises by .005, and falls by .05 where only title, author, journal and year of en-records-haematology are compared.
	columnsWorth = 3.5
	// leastInformation is what a column says if two rows are equal in it, in parts of what it takes to single out a row, from which on it counts as a whole column.
	leastInformation = 0.3
	leastSaid        = 1.5   // what all columns say, in the same parts, from which on a table is learned from; tables of things have 2 or more
	decay            = 0.3   // of the shares of pairs at random, from level to level of the row as a whole, where a sample has no more than the matches in it
	leastDecay       = 3     // the first such level
	manyMatches      = 0.05  // the share of candidates that match, in a table with many copies of each thing
	fewMatches       = 0.25  // of the rows, in other tables
	manySiblings     = 0.2   // of the candidates
	mostCandidates   = 20    // of a row that count for these shares: in a small table all pairs are candidates
	never            = 1e-30 // the share of a class that there is none of
)

// begins has, by kind of column, the shares of levels of matches and siblings: rounded means of the tables in TestMatchQuality.
var begins = [...][2][levels]float64{
	texts:   {{0.08, 0.10, 0.14, 0.10, 0.58}, {0.40, 0.25, 0.10, 0.05, 0.20}},
	numbers: {{0.10, 0.01, 0.01, 0.02, 0.86}, {0.50, 0.10, 0.10, 0.05, 0.25}},
	dates:   {{0.03, 0.01, 0.01, 0.03, 0.92}, {0.60, 0.15, 0.05, 0.05, 0.15}},
	codes:   {{0.08, 0.01, 0.04, 0.07, 0.80}, {0.60, 0.10, 0.10, 0.05, 0.15}},
	figures: {{0.02, 0.01, 0.02, 0.15, 0.80}, {0.60, 0.10, 0.10, 0.10, 0.10}},
}

// beginsWhole is the same for the row as a whole.
var beginsWhole = [2][levels]float64{{0.005, 0.02, 0.04, 0.07, 0.13, 0.24, 0.29, 0.205}, {0.25, 0.35, 0.20, 0.10, 0.05, 0.03, 0.015, 0.005}}

// atRandom has the shares of levels of pairs at random, by kind of column, and of the row as a whole: rounded medians of the same tables. A small table does not show them.
var atRandom = [...][levels]float64{
	texts:   {0.70, 0.27, 0.015, 0.005, 0.01},
	numbers: {0.90, 0.05, 0.02, 0.01, 0.02},
	dates:   {0.89, 0.09, 0.015, 0.004, 0.001},
	codes:   {0.88, 0.01, 0.09, 0.018, 0.002},
	figures: {0.93, 0.01, 0.03, 0.02, 0.01},
}

var atRandomWhole = [levels]float64{0.93, 0.03, 0.03, 0.006, 0.002, 0.001, 0.0007, 0.0003}

// beginsOne has the shares of levels of siblings in a table of one column: such rows are alike but for a number.
var beginsOne = [...][levels]float64{
	texts:   {0.10, 0.20, 0.20, 0.15, 0.13, 0.12, 0.07, 0.03},
	figures: {0.50, 0.15, 0.25, 0.07, 0.03},
}

// teaches reports whether the columns of a table together single out a row, so that what rows have in common is not chance. If not, as in a table of three
// categories, nothing is learned.
func (t *Table) teaches() bool {
	says := 0.0
	for _, c := range t.columns {
		if !c.whole {
			says += c.information()
		}
	}
	return t.isOne() || says >= leastSaid*ln(float64(len(t.counted)))
}

// start returns a model with which EM begins.
func (t *Table) start(candidates int) *model {
	m := &model{logs: make([][levels][classes]float64, len(t.columns))}
	for class := range m.levels {
		m.levels[class] = make([][levels]float64, len(t.columns))
	}
	t.sample(m.levels[random])
	var said []float64 // by columns
	width := 0.0
	for _, c := range t.columns {
		if c.whole {
			continue
		}
		x := c.information()
		said = append(said, x)
		if c.kind != figures { // it is a part of another column
			width += min(1, x/float64(leastInformation*ln(float64(t.rows)))) * float64(c.filled) / float64(t.rows)
		}
	}
	m.worth = min(1, columnsWorth/max(width, 1))
	slices.Sort(said)
	for n, c := range t.columns {
		c.begin = beginOf(c, !c.whole && c.information() < said[len(said)/2])
		if t.isOne() {
			c.begin[siblings] = beginsOne[c.kind]
		}
		for class := range random {
			m.levels[class][n] = c.begin[class]
		}
	}
	rows := float64(len(t.counted))
	some := min(float64(max(candidates, 1)), mostCandidates*rows)
	m.priors = [classes]float64{max(fewMatches*rows, manyMatches*some) / t.all, manySiblings / 2 * some / t.all, manySiblings / 2 * some / t.all, 1}
	if len(said) < 3 { // no two columns that siblings agree in, and others
		m.priors[siblings], m.priors[relatives] = 2*m.priors[siblings], never
	}
	return m
}

// beginOf returns the shares of levels with which EM begins. Siblings mostly agree in the columns that say less than the others, and relatives in those others.
func beginOf(c *column, saysLittle bool) [random][levels]float64 {
	if c.whole {
		return [random][levels]float64{beginsWhole[0], beginsWhole[1], beginsWhole[1]}
	}
	of := &begins[c.kind]
	if c.kind == figures {
		return [random][levels]float64{of[0], beginsOne[figures], beginsOne[figures]}
	}
	agree, differ := of[1], of[1]
	for l := range agree {
		agree[l] = float64(0.3*of[1][l]) + float64(0.7*of[0][l])
	}
	differ[equal] /= 2
	differ[0] += differ[equal]
	if saysLittle {
		return [random][levels]float64{of[0], agree, differ}
	}
	return [random][levels]float64{of[0], differ, agree}
}

// usualColumns is how many columns a table has at most that learns from as many pairs as any: those that the constants were chosen on have up to 13.
const usualColumns = 20

// affordable returns how many pairs a table learns from, where one of usual width learns from some: fewer in a wide one, so that time does not grow with the columns, but a tenth
// at least.
func (t *Table) affordable(pairs int) int {
	return max(pairs/10, pairs*usualColumns/max(len(t.columns), usualColumns))
}

// sample counts the levels of pairs at random. How often two rows are equal in a column is known exactly.
func (t *Table) sample(to [][levels]float64) {
	var pairs []couple
	size := t.affordable(sampleSize)
	if t.all <= float64(size) && len(t.counted) <= mostExact { // with a small source and a large one, few pairs are found in many
		pairs = t.allPairs(t.counted)
	} else {
		r := rand.New(rand.NewPCG(1, 2)) // the rows are in an order of their own
		for range size {
			a, b := r.IntN(len(t.counted)), r.IntN(len(t.counted)-1)
			if b >= a {
				b++
			}
			if p := (couple{t.counted[a], t.counted[b]}); t.mayMatch(p.a, p.b) {
				pairs = append(pairs, p)
			}
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
		usual, more := &atRandom[c.kind], c.missing()*c.missing()
		if c.whole {
			usual = &atRandomWhole
		}
		for l := range to[n] {
			to[n][l] = (to[n][l] + smoothing + float64(more*usual[l])) / (both + smoothing*levels + more)
			if c.whole && l >= leastDecay {
				to[n][l] = min(to[n][l], decay*to[n][l-1])
			}
		}
		if !c.whole {
			to[n][equal] = c.chance()
		}
	}
}
