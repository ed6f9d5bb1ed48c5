package link

import (
	"cmp"
	"context"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/internal/parallel"
)

// This file is the way through: columns, pairs, weights, groups.

// A Table is what is linked. Its rows stand in an order of their own, by their content, so that nothing depends on the order in which they were given.
type Table struct {
	columns []*column
	ignored []string
	rows    int
	given   []int32 // of each row, its number as it was given
	counted []int32 // the rows by which rarity is counted
	all     float64 // how many pairs of them may match
	keys    []*column
	sources []int   // of each row, by its number as given; nil if any two rows may match
	copies  []int32 // of each row, the first row that is equal to it
	labels  map[couple]bool
	used    []source // of the row as a whole
}

// A Pair is a pair of rows that was compared.
type Pair struct {
	A, B int32   // by their numbers as given, A before B
	Odds float64 // logarithm of the odds that they are about the same thing

	Similarity float64 // of the rows as a whole; only of pairs in a result
}

// A Result is what was found.
type Result struct {
	Groups  []int32  // of each row, the first row of its group
	Ignored []string // columns that say nothing: all rows are equal in them, or no two rows are

	table  *Table
	model  *model
	scored []Pair  // by the numbers in the table; all that are not too unlikely
	of     []int32 // of each row in the table, the first row of its group
	places []int32 // of each row as given, its number in the table
}

// Rules say which rows never match.
type Rules struct {
	Sources []int    // of each row; those of one source do not match, unless this is nil
	Keys    []string // columns; rows with different values in one of them do not match
	Labels  []Label
}

// A Label says whether two rows, by their numbers as given, match.
type Label struct {
	A, B int
	Same bool
}

// isOneSource reports whether there are sources, and all rows are of the same one.
func (r *Rules) isOneSource() bool {
	return r.Sources != nil && !slices.ContainsFunc(r.Sources, func(s int) bool { return s != r.Sources[0] })
}

// Link links the rows of a table that has columns with names, each with a cell for each row. threshold is the logarithm of the odds of a match.
func Link(ctx context.Context, names []string, cells [][]string, rows int, rules Rules, threshold float64) (*Result, error) {
	t := newTable(names, cells, rows, rules)
	r := &Result{table: t, Groups: make([]int32, rows), Ignored: t.ignored, places: make([]int32, rows)}
	for row, given := range t.given {
		r.places[given] = int32(row)
		r.Groups[given] = given
	}
	if rows < 2 || len(t.columns) == 0 || rules.isOneSource() {
		return r, ctx.Err()
	}
	t.take(rules.Labels, r.places)
	firsts, seconds := t.distinct()
	t.count(firsts)
	for _, c := range t.columns {
		c.weigh()
	}
	couples := t.candidates(firsts)
	for _, row := range seconds {
		couples = append(couples, couple{t.copies[row], row})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	couples = t.withLabels(couples)
	lesson := t.lesson(couples)
	r.model = t.start(len(couples))
	if err := t.fit(ctx, r.model, lesson); err != nil {
		return nil, err
	}
	least := min(threshold, leastOdds)
	r.scored = t.score(r.model, couples, least)
	// Rarity is that among things, not rows: once more, with one row of each group.
	if heads := t.heads(firsts, r.scored); t.teaches() && len(heads) > 1 {
		t.count(heads)
		again := t.start(len(couples))
		for class := range random {
			again.levels[class], again.priors[class] = r.model.levels[class], r.model.priors[class]
		}
		r.model = again
		if err := t.fit(ctx, r.model, lesson); err != nil {
			return nil, err
		}
		r.scored = t.score(r.model, couplesOf(r.scored), least)
	}
	r.group(threshold)
	return r, nil
}

// distinct returns the first of the rows that are equal to each other, and the second if there is one.
func (t *Table) distinct() (firsts, seconds []int32) {
	for row := range t.rows {
		if first := t.copies[row]; int(first) == row {
			firsts = append(firsts, first)
		} else if len(seconds) == 0 || t.copies[seconds[len(seconds)-1]] != first {
			seconds = append(seconds, int32(row))
		}
	}
	return firsts, seconds
}

// newTable reads the columns and puts the rows in their order. Columns that say nothing are ignored.
func newTable(names []string, cells [][]string, rows int, rules Rules) *Table {
	t := &Table{rows: rows, sources: rules.Sources}
	read := make([]reading, len(names))
	inParallel(len(names), func(n int) { read[n] = readColumn(names[n], cells[n]) })
	var used []reading
	for n, of := range read {
		isKey := slices.Contains(rules.Keys, names[n]) // rows that differ in it are not equal
		if isKey {
			t.keys = append(t.keys, newColumn(of.from, of.cells, of.plain))
		}
		of.columns = slices.DeleteFunc(of.columns, func(c *column) bool { return c.filled == 0 || !isKey && !c.says() })
		if len(of.columns) == 0 {
			t.ignored = append(t.ignored, names[n])
			continue
		}
		used = append(used, of)
		t.columns = append(t.columns, of.columns...)
	}
	if len(used) == 0 {
		used, t.ignored = read, nil
	}
	if len(used) == 1 { // it is the row as a whole
		t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return c.kind == texts })
	}
	t.order(used)
	for _, of := range used {
		t.used = append(t.used, of.from)
	}
	all := slices.Concat(t.columns, t.keys)
	inParallel(len(all), func(n int) { all[n].arrange(t.given) })
	whole := t.whole(used)
	if t.columns = append(t.columns, whole); whole.filled == 0 {
		t.columns = nil
	}
	return t
}

// order orders the rows by their cells, and finds those that are equal.
func (t *Table) order(columns []reading) {
	hashes := make([]xxh3.Uint128, t.rows)
	isEmpty := make([]bool, t.rows)
	inChunks(1000, t.rows, func(from, to int) {
		var key []byte
		for row := from; row < to; row++ {
			key = key[:0]
			for n := range columns {
				key = append(append(key, columns[n].textOf(int32(row))...), 0)
			}
			hashes[row], isEmpty[row] = xxh3.Hash128(key), len(key) == len(columns)
		}
	})
	t.given = make([]int32, t.rows)
	for row := range t.given {
		t.given[row] = int32(row)
	}
	slices.SortStableFunc(t.given, func(i, j int32) int {
		a, b := hashes[i], hashes[j]
		return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo), t.compareSources(i, j))
	})
	t.copies = make([]int32, t.rows)
	for row, given := range t.given {
		t.copies[row] = int32(row)
		// Rows without values are not like each other. Among sources each row is for itself: an equal one may be of the same source or of another.
		if row > 0 && hashes[given] == hashes[t.given[row-1]] && !isEmpty[given] && t.sources == nil {
			t.copies[row] = t.copies[row-1]
		}
	}
}

// textOf returns the plain text of a row, by its number as given; "" if it has none.
func (r *reading) textOf(row int32) string {
	if n := r.cells.of[row]; n >= 0 {
		return r.plain[n]
	}
	return ""
}

// whole returns the rows as a whole as a column. The rows are in their order. Equal ones have one value.
func (t *Table) whole(columns []reading) *column {
	c := &column{whole: true, kind: texts, of: make([]int32, t.rows)}
	var firsts []int32
	for row, first := range t.copies {
		if int(first) == row {
			c.of[row] = int32(len(firsts))
			firsts = append(firsts, first)
		} else {
			c.of[row] = c.of[first]
		}
	}
	keys := make([]string, len(firsts))
	inChunks(1000, len(firsts), func(from, to int) {
		var key []byte
		for n := from; n < to; n++ {
			key = key[:0]
			for i := range columns {
				if text := columns[i].textOf(t.given[firsts[n]]); text != "" {
					if len(key) > 0 {
						key = append(key, ' ')
					}
					key = append(key, text...)
				}
			}
			keys[n] = string(key)
		}
	})
	c.take(keys)
	for row, n := range c.of {
		if keys[n] == "" {
			c.of[row] = -1
		} else {
			c.values[n].count++
			c.filled++
		}
	}
	for i := range c.values {
		slices.Sort(c.values[i].words)
		c.values[i].words = slices.Compact(c.values[i].words)
	}
	return c
}

// compareSources orders rows, by their numbers as given, by their sources.
func (t *Table) compareSources(i, j int32) int {
	if t.sources == nil {
		return 0
	}
	return cmp.Compare(t.sources[i], t.sources[j])
}

// inParallel calls do for n things, on all processors.
func inParallel(n int, do func(i int)) { parallel.Each(n, do) }

// inChunks calls do for pieces of n things, on all processors.
func inChunks(size, n int, do func(from, to int)) {
	parallel.ChunksOf(size, n, func(_, from, to int) { do(from, to) })
}

// mayMatch reports whether two rows are of different sources, if there are sources, differ in no key, and are not labelled as different.
func (t *Table) mayMatch(a, b int32) bool {
	if t.sources != nil && t.sources[t.given[a]] == t.sources[t.given[b]] {
		return false
	}
	if len(t.labels) > 0 {
		if same, isLabelled := t.labels[couple{min(a, b), max(a, b)}]; isLabelled && !same {
			return false
		}
	}
	for _, key := range t.keys {
		if i, j := key.of[a], key.of[b]; i != j && i >= 0 && j >= 0 && key.values[i].glued != key.values[j].glued {
			return false
		}
	}
	return true
}

// isOne reports whether the table has one column, which is the row as a whole then.
func (t *Table) isOne() bool {
	return !slices.ContainsFunc(t.columns, func(c *column) bool { return !c.whole && c.kind != figures })
}

// count counts how rare values are among some rows.
func (t *Table) count(rows []int32) {
	t.counted = rows
	t.all = float64(len(rows)) * float64(len(rows)-1) / 2
	if t.sources != nil {
		before := map[int]float64{}
		for _, row := range rows {
			source := t.sources[t.given[row]]
			t.all -= before[source]
			before[source]++
		}
	}
	t.all = max(t.all, 1)
	inParallel(len(t.columns), func(n int) { t.columns[n].count(rows) })
}

// heads returns the rows that are the first ones of their groups.
func (t *Table) heads(rows []int32, pairs []Pair) (heads []int32) {
	of := t.groups(pairs, 0)
	for _, row := range rows {
		if of[row] == row {
			heads = append(heads, row)
		}
	}
	return heads
}

// compare returns the levels at which pairs agree, one for each column of each pair; -1 if one of the two has no value.
func (t *Table) compare(pairs []couple) []int8 {
	all := make([]int8, len(t.columns)*len(pairs))
	inChunks(500, len(pairs), func(from, to int) {
		for i := from; i < to; i++ {
			p, at := pairs[i], t.levelsOf(all, i)
			for n, c := range t.columns {
				at[n] = c.levelOf(p)
			}
		}
	})
	return all
}

// levelOf returns the level at which two rows agree, -1 if one of them has no value.
func (c *column) levelOf(p couple) int8 {
	if a, b := c.of[p.a], c.of[p.b]; a >= 0 && b >= 0 {
		return int8(c.agreement(a, b))
	}
	return -1
}

// levelsOf returns the levels of the pair with a number.
func (t *Table) levelsOf(all []int8, i int) []int8 {
	return all[i*len(t.columns) : (i+1)*len(t.columns)]
}

// group groups the rows. Equal rows are in one group if the first two of them are.
func (r *Result) group(threshold float64) {
	t := r.table
	r.of = t.groups(r.scored, threshold)
	least := make([]int32, t.rows) // of each group, its first row as given
	for row := range least {
		least[row] = int32(t.rows)
	}
	apart := make(map[int32]bool) // equal rows that do not match each other, by the first of them
	for _, p := range r.scored {
		if t.copies[p.A] == t.copies[p.B] && p.Odds < threshold {
			apart[p.A] = true
		}
	}
	group := func(row int32) int32 {
		if first := t.copies[row]; !apart[first] {
			return r.of[first]
		}
		return r.of[row]
	}
	for row := range int32(t.rows) {
		g := group(row)
		least[g] = min(least[g], t.given[row])
	}
	for row := range int32(t.rows) {
		r.Groups[t.given[row]] = least[group(row)]
	}
}

// Pairs returns the pairs whose log odds are at least a threshold, in order. Those that are unlikelier than all that was kept are not there.
func (r *Result) Pairs(threshold float64) (pairs []Pair) {
	t := r.table
	for _, p := range r.scored {
		switch {
		case p.Odds < threshold, t.sources != nil && r.of[p.A] != r.of[p.B]: // another row of the source matches better
		case t.copies[p.A] != t.copies[p.B]:
			pairs = append(pairs, r.named(p))
		default: // of each of the equal rows and the first one
			for b := p.B; int(b) < t.rows && t.copies[b] == p.A; b++ {
				p.B = b
				pairs = append(pairs, r.named(p))
			}
		}
	}
	slices.SortFunc(pairs, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return pairs
}

// named returns a pair with the numbers as given, and how alike the rows are as a whole.
func (r *Result) named(p Pair) Pair {
	t := r.table
	p.Similarity = t.similarity(p.A, p.B)
	a, b := t.given[p.A], t.given[p.B]
	p.A, p.B = min(a, b), max(a, b)
	return p
}

// similarity returns how alike two rows are as a whole.
func (t *Table) similarity(a, b int32) float64 {
	whole := t.columns[len(t.columns)-1]
	if i, j := whole.of[a], whole.of[b]; i >= 0 && j >= 0 {
		return whole.similarity(&whole.values[i], &whole.values[j], 0)
	}
	return 0
}
