package link

import (
	"cmp"
	"slices"
	"strings"
)

// This file finds the rows of a table that match a row that is not in it. The row joins the table while it is compared, as its last one, with values and words of its
// own: weights and rarity stay as they are.

const (
	mostPostings = 10_000 // rows with one part that are looked at for what they share with another; of more, none
	mostFound    = 1000   // rows that are compared, those that share most
)

// An Index finds rows by their parts.
type Index struct {
	r     *Result
	keys  []uint64 // of parts, in order
	ends  []int    // of the rows of each, among all
	rows  []int32
	words []map[string]int32 // by columns
}

// NewIndex returns an index of the rows of a result. It is nil, and finds nothing, if the table has fewer than two rows, from which no weights were learned.
func NewIndex(r *Result) *Index {
	if r.model == nil {
		return nil
	}
	t := r.table
	x := &Index{r: r, words: make([]map[string]int32, len(t.columns))}
	inParallel(len(t.columns), func(n int) {
		x.words[n] = make(map[string]int32, len(t.columns[n].words))
		for w, word := range t.columns[n].words {
			x.words[n][word] = int32(w)
		}
	})
	var all []posting
	for row := range int32(t.rows) {
		if t.copies[row] == row {
			t.eachPart(row, func(key uint64, _ bool) { all = append(all, posting{key, row}) })
		}
	}
	slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row)) })
	x.rows = make([]int32, len(all))
	for i, p := range all {
		if i == 0 || p.key != all[i-1].key {
			x.keys, x.ends = append(x.keys, p.key), append(x.ends, i)
		}
		x.rows[i] = p.row
		x.ends[len(x.ends)-1] = i + 1
	}
	return x
}

// with returns the rows that have a part.
func (x *Index) with(key uint64) []int32 {
	n, isKnown := slices.BinarySearch(x.keys, key)
	switch {
	case !isKnown:
		return nil
	case n == 0:
		return x.rows[:x.ends[0]]
	}
	return x.rows[x.ends[n-1]:x.ends[n]]
}

// Search returns the rows that match a row at least with some log odds, by their numbers as given, the likeliest first. Nothing else may use the
// result meanwhile.
func (x *Index) Search(row map[string]string, threshold float64) (found []Pair) {
	if x == nil {
		return nil
	}
	t := x.r.table
	defer x.join(row)()
	guest := int32(t.rows)
	for _, p := range t.score(x.r.model, x.candidates(guest), threshold) {
		for row := p.A; int(row) < t.rows && t.copies[row] == p.A; row++ {
			found = append(found, Pair{A: t.given[row], B: -1, Odds: p.Odds, Similarity: t.similarity(row, guest)})
		}
	}
	slices.SortFunc(found, func(p, q Pair) int { return cmp.Or(cmp.Compare(q.Odds, p.Odds), cmp.Compare(p.A, q.A)) })
	return found
}

// candidates returns the rows to compare a row with: those that share a part that few rows have, or two that few have together, the rarest first.
func (x *Index) candidates(guest int32) (couples []couple) {
	t := x.r.table
	var parts [][]int32 // the rows of each
	t.eachPart(guest, func(key uint64, _ bool) {
		if rows := x.with(key); len(rows) > 0 && len(rows) <= mostPostings {
			parts = append(parts, rows)
		}
	})
	slices.SortStableFunc(parts, func(a, b []int32) int { return len(a) - len(b) })
	shared := map[int32]float64{} // information
	alone := map[int32]bool{}
	for i, rows := range parts {
		for _, row := range rows {
			shared[row] += ln(float64(t.rows) / float64(len(rows)))
			alone[row] = alone[row] || len(rows) <= mostRows && i < mostAlone
		}
	}
	least := 0.0
	if t.rows > smallTable {
		least = leastShared * ln(float64(t.rows))
	}
	for row, information := range shared {
		if (alone[row] || t.rows <= smallTable || information >= least) && t.mayMatch(row, guest) {
			couples = append(couples, couple{row, guest})
		}
	}
	slices.SortFunc(couples, func(p, q couple) int { return cmp.Or(cmp.Compare(shared[q.a], shared[p.a]), cmp.Compare(p.a, q.a)) })
	couples = couples[:min(len(couples), mostFound)]
	slices.SortFunc(couples, func(p, q couple) int { return cmp.Compare(p.a, q.a) })
	return couples
}

// join makes a row the last one of the table, until leave is called.
func (x *Index) join(row map[string]string) (leave func()) {
	t := x.r.table
	var leaves []func()
	whole := make([]string, 0, len(t.used))
	for _, of := range t.used {
		if _, text := of.read(row[of.name]); text != "" {
			whole = append(whole, text)
		}
	}
	for n, c := range t.columns {
		key := strings.Join(whole, " ")
		if !c.whole {
			key = keyOfValue(c.read(row[c.name]))
		}
		leaves = append(leaves, c.join(key, x.words[n]))
	}
	for _, c := range t.keys {
		leaves = append(leaves, c.join(keyOfValue(c.read(row[c.name])), nil))
	}
	t.copies = append(t.copies, int32(t.rows))
	sources := t.sources
	t.sources = nil // the row may be of any
	return func() {
		for _, leave := range leaves {
			leave()
		}
		t.copies, t.sources = t.copies[:t.rows], sources
	}
}

// join gives a column one more row, with the value that has a key, until leave is called.
func (c *column) join(key string, known map[string]int32) (leave func()) {
	rows, values, words, weights := len(c.of), len(c.values), len(c.words), len(c.weight)
	leave = func() {
		c.of, c.values = c.of[:rows], c.values[:values]
		c.words, c.signs, c.weight = c.words[:words], c.signs[:words], c.weight[:weights]
	}
	if key == "" {
		c.of = append(c.of, -1)
		return leave
	}
	v, cut := valueOf(key)
	for _, word := range cut {
		w, isKnown := known[word]
		if !isKnown {
			if w = int32(words + slices.Index(c.words[words:], word)); int(w) < words {
				w = int32(len(c.words))
				c.words, c.signs, c.weight = append(c.words, word), append(c.signs, signOf(word)), append(c.weight, ln(float64(c.counted+1)))
			}
		}
		v.words = append(v.words, w)
	}
	slices.Sort(v.words)
	v.words = slices.Compact(v.words)
	if weights == words { // keys have none
		for _, w := range v.words {
			v.weight += c.weight[w]
		}
	}
	c.of, c.values = append(c.of, int32(values)), append(c.values, v)
	return leave
}
