package link

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"
)

// This file chooses the pairs that are compared. A row has parts: its values, and the words of texts. Two rows are compared if they share a part that few rows
// have, or two parts that few rows have together. What more than mostRows rows have is skipped, so the number of pairs grows in proportion to the rows; a pair
// that shares only such parts is missed.

const (
	mostRows   = 40 // of a block; with 20, F1 on rec-cora falls by .026, and with 80 it rises by .005 (TestMatchQuality)
	aloneRows  = mostRows / 4
	mostParts  = 14 // of a row, the rarest ones, that are joined in twos
	leastRows  = 2
	pairFactor = 0x9E3779B97F4A7C15 // makes the key of two parts; of SplitMix64, as is the next one
	mixFactor  = 0xBF58476D1CE4E5B9
)

// A part of a row, by a hash, and how many rows have it.
type part struct {
	key  uint64
	rows int32
}

// A posting says that a row is in a block.
type posting struct {
	key uint64
	row int32
}

// candidates returns the pairs to compare among rows, in order.
func (t *Table) candidates(rows []int32) []Pair {
	counts := map[uint64]int32{}
	parts := make([][]part, len(rows))
	for i, row := range rows {
		t.eachPart(row, func(key uint64) {
			counts[key]++
			parts[i] = append(parts[i], part{key: key})
		})
	}
	postings := make([][]posting, len(rows))
	inChunks(500, len(rows), func(from, to int) {
		for i := from; i < to; i++ {
			for k := range parts[i] {
				parts[i][k].rows = counts[parts[i][k].key]
			}
			postings[i] = postingsOf(rows[i], parts[i])
		}
	})
	all := slices.Concat(postings...)
	slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row)) })
	var keys []uint64 // of pairs
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].key == all[from].key {
			to++
		}
		if to-from <= mostRows {
			for i := from; i < to; i++ {
				for j := i + 1; j < to; j++ {
					if all[i].row != all[j].row {
						keys = append(keys, uint64(all[i].row)<<32|uint64(all[j].row))
					}
				}
			}
		}
		from = to
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	pairs := make([]Pair, len(keys))
	for i, key := range keys {
		pairs[i] = Pair{A: int32(key >> 32), B: int32(key)}
	}
	return pairs
}

// eachPart calls f with a hash of each part of a row.
func (t *Table) eachPart(row int32, f func(key uint64)) {
	for n, c := range t.columns {
		if c.whole || c.of[row] < 0 {
			continue
		}
		v := &c.values[c.of[row]]
		f(keyOf(v.glued, 2*n))
		if c.kind == texts && len(v.words) > 1 {
			for _, w := range v.words {
				f(keyOf(c.words[w], 2*n+1))
			}
		}
	}
}

// keyOf hashes a text together with the number of the part that it belongs to. The number is mixed in afterwards instead of seeding XXH3, because with seeds "aa" and
// "ab" collide under neighbouring numbers.
func keyOf(text string, of int) uint64 {
	h := (xxh3.HashString(text) ^ uint64(of+1)*pairFactor) * mixFactor
	return h ^ h>>32
}

// postingsOf returns the blocks of a row: a part that few rows have is one, and so are two of the rarest parts, unless one of them is rare enough alone.
func postingsOf(row int32, parts []part) (all []posting) {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.rows < leastRows })
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.rows, b.rows), cmp.Compare(a.key, b.key)) })
	for _, p := range parts {
		if p.rows <= mostRows {
			all = append(all, posting{p.key, row})
		}
	}
	parts = parts[:min(len(parts), mostParts)]
	for i, p := range parts {
		for _, q := range parts[:i] {
			if q.rows > aloneRows {
				all = append(all, posting{min(p.key, q.key)*pairFactor ^ max(p.key, q.key), row})
			}
		}
	}
	return all
}
