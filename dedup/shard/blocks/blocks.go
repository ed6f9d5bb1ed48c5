// Package blocks cuts fingerprints into blocks for joins on other engines: in package beam, a key of a
// shuffle is a combination of blocks, and in package sql, a condition of a join.
//
// Two fingerprints at a distance of at most k agree on at least m−k of m blocks (Manku, Jain and Das Sarma
// 2007; june 2013 §3 for m = 4, k = 3). So there is a table for each combination of m−k blocks. A pair that
// agrees on more blocks meets in several tables; it counts only in the first one, which can be computed from the
// two fingerprints alone.
//
// The package internal/hamming chooses tables for one machine. There a random access is expensive, and memory
// limits the number of tables. On other engines, neither matters: the cost is in rows to move and candidates to
// compare.
package blocks

import (
	"fmt"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/hamming"
)

// MostTables is the largest number of tables of a plan.
const MostTables = 1024

// A Mask has a one for each bit of a fingerprint that counts; it is also a fingerprint. Those
// of 64 bits use Lo only.
type Mask struct{ Hi, Lo uint64 }

// A Table has the pairs that agree on the bits of Key. A pair also belongs to an earlier table, unless it
// differs in every one of the blocks in Skipped: those before the last block of the key that are not in it. If
// a pair agreed in one of these, it would also agree on the key that has this block instead of the last one.
type Table struct {
	Key     Mask
	Skipped []Mask
}

// Agree reports whether two fingerprints agree on the bits of a mask.
func (m Mask) Agree(a, b Mask) bool { return (a.Hi^b.Hi)&m.Hi == 0 && (a.Lo^b.Lo)&m.Lo == 0 }

// IsFirst reports whether this is the first table in which two fingerprints meet that agree on its key.
func (t *Table) IsFirst(a, b Mask) bool {
	for _, s := range t.Skipped {
		if s.Agree(a, b) {
			return false
		}
	}
	return true
}

// Check returns an error unless fingerprints of width bits, 64 or 128, can be cut into so many blocks for distance
// k, from 0 to width−1: there must be more than k blocks, at most one for each bit, and at most [MostTables] tables.
func Check(width, blocks, k int) error {
	switch {
	case width != 64 && width != 128:
		return fmt.Errorf("fingerprints of %d bits; they must have 64 or 128", width)
	case k < 0 || k >= width:
		return fmt.Errorf("distance %d; it must be from 0 to %d", k, width-1)
	case blocks <= k || blocks > width:
		return fmt.Errorf("%d blocks for distance %d; there must be from %d to %d", blocks, k, k+1, width)
	case hamming.Binomial(blocks, k) > MostTables:
		return fmt.Errorf("%d blocks for distance %d need %d tables; at most %d are possible", blocks, k, hamming.Binomial(blocks, k), MostTables)
	}
	return nil
}

// Tables returns the tables for a number of blocks. Blocks are cut from the low end, and differ by one bit at
// most. The arguments must pass Check.
func Tables(width, blocks, k int) []Table {
	of := make([]Mask, blocks)
	for i := range of {
		for bit := i * width / blocks; bit < (i+1)*width/blocks; bit++ {
			if bit < 64 {
				of[i].Lo |= 1 << bit
			} else {
				of[i].Hi |= 1 << (bit - 64)
			}
		}
	}
	var tables []Table
	for choice := range hamming.Combinations(blocks, blocks-k) {
		var t Table
		for i := range choice[len(choice)-1] + 1 {
			if slices.Contains(choice, i) {
				t.Key.Hi |= of[i].Hi
				t.Key.Lo |= of[i].Lo
			} else {
				t.Skipped = append(t.Skipped, of[i])
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// Candidates returns how many pairs of n random fingerprints agree on the key of a table, over all tables.
// Real texts have more: near-duplicates, and pairs that agree because some bits are not random.
func Candidates(n float64, width, blocks, k int) float64 {
	sum := 0.0
	for choice := range hamming.Combinations(blocks, blocks-k) {
		bits := 0
		for _, i := range choice {
			bits += (i+1)*width/blocks - i*width/blocks
		}
		sum += math.Ldexp(n*(n-1)/2, -bits)
	}
	return sum
}

// rowPrice is what a row of a table costs, in comparisons of two fingerprints: it is sent, sorted or hashed.
const rowPrice = 10

// Choose returns the number of blocks that is cheapest for n fingerprints. k must be from 0 to width−1. More
// blocks make more tables, and so more rows to move, but longer keys, and so fewer candidates. It tries all
// numbers up to [MostTables].
func Choose(n float64, width, k int) int {
	best, least := k+1, math.Inf(1)
	for m := k + 1; m <= width && hamming.Binomial(m, k) <= MostTables; m++ {
		if cost := rowPrice*n*float64(hamming.Binomial(m, k)) + Candidates(n, width, m, k); cost < least {
			best, least = m, cost
		}
		if k == 0 {
			break // one table has all
		}
	}
	return best
}
