package baseline

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/neardup/neardup"
)

// This file has record linkage as Splink does it (Linacre et al. 2022, Splink: Free software for probabilistic record linkage at scale): the model of Fellegi and Sunter
// (1969), whose m probabilities are learned by EM without labels (Winkler 1988). Splink leaves comparisons and blocking rules to the user. Here they are what its
// tutorial begins with, the same for every column of every table, so nothing is chosen by hand.

// Linkage levels, of two values of a column.
const (
	linkMissing = iota // one of them, which says nothing
	linkDiffer
	linkSimilar // Jaro–Winkler similarity of 0.7 or more
	linkClose   // 0.92 or more
	linkEqual
	linkLevels
)

const (
	linkBlock   = 100       // rows with a value of a column, of which all pairs are compared; of more, none
	linkSample  = 1_000_000 // pairs at random, from which u is counted
	linkRounds  = 25        // of EM at most
	linkSettled = 1e-4      // the change of every m at which EM ends
)

// A Linkage has the probabilities of levels, by column.
type Linkage struct {
	rows    []neardup.Record
	columns []string
	freq    []map[string]float64 // of values, as shares of the rows that have one
	m, u    [][linkLevels]float64
	prior   float64 // that two rows match
}

// Link returns the groups of rows that match: those that pairs with a probability of one half or more connect. The pairs compared are those that are equal in a column.
func Link(rows []neardup.Record) [][]int {
	l := &Linkage{rows: rows}
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	l.columns = slices.Sorted(maps.Keys(names))
	l.m, l.u = make([][linkLevels]float64, len(l.columns)), make([][linkLevels]float64, len(l.columns))
	pairs := map[[2]int]bool{}
	blocks := make([][][2]int, len(l.columns)) // by columns, the pairs that are equal in one
	for n, name := range l.columns {
		blocks[n] = l.block(name)
		for _, p := range blocks[n] {
			pairs[p] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(pairs), func(p, q [2]int) int { return cmp.Or(p[0]-q[0], p[1]-q[1]) })
	l.countAtRandom()
	l.learn(blocks, all)
	firsts, _ := neardup.GroupPairs(len(rows), func(yield func(neardup.Pair[int], error) bool) {
		for _, p := range all {
			if l.probability(p) >= 0.5 && !yield(neardup.Pair[int]{A: p[0], B: p[1]}, nil) {
				return
			}
		}
	}, neardup.SingleLinkage, nil)
	groups := map[int][]int{}
	for i, first := range firsts {
		groups[first] = append(groups[first], i)
	}
	maps.DeleteFunc(groups, func(_ int, g []int) bool { return len(g) < 2 })
	var found [][]int
	for _, first := range slices.Sorted(maps.Keys(groups)) {
		found = append(found, groups[first])
	}
	return found
}

// valueOf returns the value of a row in a column, in lower case.
func (l *Linkage) valueOf(row int, name string) string {
	return strings.ToLower(strings.TrimSpace(l.rows[row][name]))
}

// block returns the pairs that are equal in a column, and counts its values.
func (l *Linkage) block(name string) (pairs [][2]int) {
	of := map[string][]int{}
	filled := 0
	for i := range l.rows {
		if v := l.valueOf(i, name); v != "" {
			of[v] = append(of[v], i)
			filled++
		}
	}
	freq := map[string]float64{}
	for _, v := range slices.Sorted(maps.Keys(of)) {
		freq[v] = float64(len(of[v])) / float64(filled)
		if len(of[v]) > linkBlock {
			continue
		}
		for j := range of[v] {
			for i := range j {
				pairs = append(pairs, [2]int{of[v][i], of[v][j]})
			}
		}
	}
	l.freq = append(l.freq, freq)
	return pairs
}

// level returns the level at which two rows agree in a column.
func (l *Linkage) level(p [2]int, n int) int {
	a, b := l.valueOf(p[0], l.columns[n]), l.valueOf(p[1], l.columns[n])
	switch {
	case a == "" || b == "":
		return linkMissing
	case a == b:
		return linkEqual
	}
	switch s := jaroWinkler(a, b); {
	case s >= 0.92:
		return linkClose
	case s >= 0.7:
		return linkSimilar
	}
	return linkDiffer
}

// countAtRandom sets u from pairs at random.
func (l *Linkage) countAtRandom() {
	r := rand.New(rand.NewPCG(1, 2))
	for range min(linkSample, len(l.rows)*len(l.rows)/2) {
		if p := [2]int{r.IntN(len(l.rows)), r.IntN(len(l.rows))}; p[0] != p[1] {
			for n := range l.columns {
				l.u[n][l.level(p, n)]++
			}
		}
	}
	for n := range l.u {
		normalize(&l.u[n])
	}
}

// normalize makes the shares of the levels but missing add up to 1. No level is impossible.
func normalize(of *[linkLevels]float64) {
	sum := 0.0
	for x := linkDiffer; x < linkLevels; x++ {
		of[x] = max(of[x], 0.5)
		sum += of[x]
	}
	for x := linkDiffer; x < linkLevels; x++ {
		of[x] /= sum
	}
}

// learn sets m and the prior. EM runs once over the pairs that are equal in each column, and learns the m of the others there; a column gets the mean of what is
// learned in all the runs that saw it.
func (l *Linkage) learn(blocks [][][2]int, all [][2]int) {
	runs := make([]int, len(l.columns))
	for blocked, pairs := range blocks {
		if len(pairs) < 10 || len(l.columns) == 1 {
			continue
		}
		m := l.em(pairs, blocked)
		for n := range m {
			if n != blocked {
				for x := range m[n] {
					l.m[n][x] += m[n][x]
				}
				runs[n]++
			}
		}
	}
	for n := range l.m {
		if runs[n] == 0 {
			l.m[n] = startOfEM
		}
		sum := 0.0
		for _, x := range l.m[n] {
			sum += x
		}
		for x := range l.m[n] {
			l.m[n][x] /= sum
		}
	}
	possible := float64(len(l.rows)) * float64(len(l.rows)-1) / 2
	l.prior = 1 / float64(len(l.rows))
	for range linkRounds { // the m stay
		expected := 0.0
		for _, p := range all {
			expected += l.probability(p)
		}
		l.prior = max(expected, 1) / possible
	}
}

// startOfEM are the shares with which EM begins.
var startOfEM = [linkLevels]float64{linkDiffer: 0.02, linkSimilar: 0.03, linkClose: 0.05, linkEqual: 0.9}

// em learns m from pairs that are equal in a column, which says nothing there.
func (l *Linkage) em(pairs [][2]int, blocked int) [][linkLevels]float64 {
	levels := make([]int8, len(pairs)*len(l.columns))
	for i, p := range pairs {
		for n := range l.columns {
			levels[i*len(l.columns)+n] = int8(l.level(p, n))
		}
	}
	m := make([][linkLevels]float64, len(l.columns))
	for n := range m {
		m[n] = startOfEM
	}
	prior := 0.3
	for range linkRounds {
		next, sum, change := make([][linkLevels]float64, len(m)), 0.0, 0.0
		for i := range pairs {
			odds := prior / (1 - prior)
			for n := range m {
				if x := levels[i*len(m)+n]; x != linkMissing && n != blocked {
					odds *= m[n][x] / l.u[n][x]
				}
			}
			share := odds / (1 + odds)
			if math.IsInf(odds, 1) {
				share = 1
			}
			sum += share
			for n := range m {
				next[n][levels[i*len(m)+n]] += share
			}
		}
		prior = min(max(sum/float64(len(pairs)), 1e-6), 1-1e-6)
		for n := range m {
			next[n][linkMissing] = 0
			normalize(&next[n])
			for x := range m[n] {
				change = max(change, math.Abs(next[n][x]-m[n][x]))
			}
		}
		if m = next; change < linkSettled {
			break
		}
	}
	return m
}

// probability returns the probability that two rows match. Of equal values the chance is how often the value occurs.
func (l *Linkage) probability(p [2]int) float64 {
	odds := math.Log(l.prior / (1 - l.prior))
	for n, name := range l.columns {
		x := l.level(p, n)
		if x == linkMissing {
			continue
		}
		u := l.u[n][x]
		if x == linkEqual {
			u = l.freq[n][l.valueOf(p[0], name)]
		}
		odds += math.Log(l.m[n][x] / u)
	}
	return 1 / (1 + math.Exp(-odds))
}

// jaroWinkler returns the similarity of Jaro (1989) with the prefix of Winkler (1990), by bytes.
func jaroWinkler(a, b string) float64 {
	window := max(0, max(len(a), len(b))/2-1)
	taken := make([]bool, len(b))
	var inA []byte
	for i := range len(a) {
		for j := max(0, i-window); j < min(len(b), i+window+1); j++ {
			if !taken[j] && a[i] == b[j] {
				taken[j] = true
				inA = append(inA, a[i])
				break
			}
		}
	}
	same := float64(len(inA))
	if same == 0 {
		return 0
	}
	swapped, k := 0.0, 0
	for j := range len(b) {
		if taken[j] {
			if b[j] != inA[k] {
				swapped += 0.5
			}
			k++
		}
	}
	s := (same/float64(len(a)) + same/float64(len(b)) + (same-swapped)/same) / 3
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	return s + 0.1*float64(prefix)*(1-s)
}
