package link

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"
)

// This file chooses the pairs that are compared. A row has parts: its values, and the words of texts. Two rows are compared if they share a part that few rows
// have, or two parts that few rows have together, and all that they share is rare enough. What more than mostRows rows have is skipped, so the number of pairs grows
// in proportion to the rows; a pair that shares only such parts is missed, and so is one that shares none of the rarest parts of long rows. In a small table all pairs are compared.

const (
	mostRows   = 40 // of a block; with 20, F1 on rec-cora falls by .024, and with 80 it rises by .008 (TestMatchQuality)
	aloneRows  = mostRows / 4
	mostAlone  = 50 // parts of a row, the rarest ones, that are a block each
	mostParts  = 14 // of a row, the rarest ones, that are joined in twos
	leastRows  = 2
	pairFactor = 0x9E3779B97F4A7C15 // makes the key of two parts; of SplitMix64, as is the next one
	mixFactor  = 0xBF58476D1CE4E5B9

	// leastShared is the least information in the parts that two rows share, in parts of what it takes to single out a row. It drops about half of the pairs of
	// rec-febrl4 and rec-music20k, and .2 % of the matches of the latter; 0.9 drops four and three of five, and 2 % of those matches.
	leastShared = 0.75
	inUnits     = 1000 // information is counted in thousandths of a nat, so that sums are exact

	smallTable = 50 // rows of which all pairs are compared

	batchRows = 1 << 17 // how many rows' blocks are in memory together
	buckets   = 256     // in which blocks and pairs are sorted, a power of two
)

// A part of a row, by a hash.
type part struct {
	key  uint64
	rows int32 // that have it
	says int32 // its information, in units; 0 if that is in its words
}

// compareParts orders parts by how rare they are.
func compareParts(a, b part) int {
	return cmp.Or(cmp.Compare(a.rows, b.rows), cmp.Compare(a.key, b.key))
}

// A posting says that a row is in a block. Rows are known by their positions among those that are compared.
type posting struct {
	key uint64
	row int32
}

// A couple is two rows that are compared, by their numbers in the table.
type couple struct{ a, b int32 }

// candidates returns the pairs to compare among rows, in order.
func (t *Table) candidates(rows []int32) []couple {
	if len(rows) <= smallTable {
		return t.allPairs(rows)
	}
	parts := t.parts(rows)
	least := int32(float64(leastShared*inUnits) * ln(float64(max(len(rows), 1))))
	batches := (len(rows) + batchRows - 1) / batchRows
	var runs [][]uint64 // pairs of positions, in order
	for batch := range batches {
		runs = append(runs, pairsIn(parts, uint64(batch), uint64(batches), least)...)
	}
	merged := make([][]couple, buckets)
	inParallel(buckets, func(n int) {
		var keys []uint64
		for _, run := range runs {
			from, _ := slices.BinarySearch(run, uint64(len(rows)*n/buckets)<<32)
			to, _ := slices.BinarySearch(run, uint64(len(rows)*(n+1)/buckets)<<32)
			keys = append(keys, run[from:to]...)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		merged[n] = make([]couple, 0, len(keys))
		for _, key := range keys {
			if a, b := rows[key>>32], rows[uint32(key)]; t.mayMatch(a, b) {
				merged[n] = append(merged[n], couple{a, b})
			}
		}
	})
	return slices.Concat(merged...)
}

// allPairs returns all pairs of rows that may match.
func (t *Table) allPairs(rows []int32) (all []couple) {
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if t.mayMatch(a, b) {
				all = append(all, couple{a, b})
			}
		}
	}
	return all
}

// parts returns the parts of each row that other rows have too, the rarest first.
func (t *Table) parts(rows []int32) [][]part {
	parts := make([][]part, len(rows))
	inChunks(1000, len(rows), func(from, to int) {
		var some []part
		starts := make([]int, 0, to-from)
		for _, row := range rows[from:to] {
			starts = append(starts, len(some))
			t.eachPart(row, func(key uint64, isLeaf bool) {
				says := int32(0)
				if isLeaf {
					says = 1
				}
				some = append(some, part{key: key, says: says})
			})
		}
		for i, start := range starts {
			end := len(some)
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			parts[from+i] = some[start:end:end]
		}
	})
	counts := make([]map[uint64]int32, buckets/16)
	inParallel(len(counts), func(n int) {
		counts[n] = map[uint64]int32{}
		for _, of := range parts {
			for _, p := range of {
				if int(p.key%uint64(len(counts))) == n {
					counts[n][p.key]++
				}
			}
		}
	})
	inChunks(1000, len(rows), func(from, to int) {
		for i := from; i < to; i++ {
			for k := range parts[i] {
				p := &parts[i][k]
				if p.rows = counts[p.key%uint64(len(counts))][p.key]; p.says > 0 {
					p.says = int32(inUnits * ln(float64(len(rows))/float64(p.rows)))
				}
			}
			parts[i] = slices.DeleteFunc(parts[i], func(p part) bool { return p.rows < leastRows })
			slices.SortFunc(parts[i], compareParts)
		}
	})
	return parts
}

// pairsIn returns the pairs that share a block whose key has a remainder, and at least some information, in runs with an order each. Rows are known by their
// positions.
func pairsIn(parts [][]part, remainder, of uint64, least int32) [][]uint64 {
	const size = 1000
	chunks := make([][buckets][]posting, (len(parts)+size-1)/size)
	inChunks(size, len(parts), func(from, to int) {
		in := &chunks[from/size]
		for i := from; i < to; i++ {
			eachBlock(parts[i], func(key uint64) {
				if key%of == remainder {
					n := key >> 56
					in[n] = append(in[n], posting{key, int32(i)})
				}
			})
		}
	})
	found := make([][]uint64, buckets)
	inParallel(buckets, func(n int) {
		size := 0
		for i := range chunks {
			size += len(chunks[i][n])
		}
		all := make([]posting, 0, size)
		for i := range chunks {
			all = append(all, chunks[i][n]...)
		}
		slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row)) })
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && all[to].key == all[from].key {
				to++
			}
			if to-from <= mostRows {
				found[n] = appendPairs(found[n], all[from:to], parts, least)
			}
			from = to
		}
		slices.Sort(found[n])
		found[n] = slices.Compact(found[n])
	})
	return found
}

// appendPairs appends the pairs in a block that share enough.
func appendPairs(to []uint64, block []posting, parts [][]part, least int32) []uint64 {
	for i, a := range block {
		for _, b := range block[i+1:] {
			if a.row != b.row && sharesEnough(parts[a.row], parts[b.row], least) {
				to = append(to, uint64(a.row)<<32|uint64(b.row))
			}
		}
	}
	return to
}

// sharesEnough reports whether what two rows share has enough information.
func sharesEnough(a, b []part, least int32) bool {
	shared := int32(0)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].key == b[j].key:
			if shared += a[i].says; shared >= least {
				return true
			}
			i++
			j++
		case compareParts(a[i], b[j]) < 0:
			i++
		default:
			j++
		}
	}
	return false
}

// eachPart calls f with a hash of each part of a row, and whether its information is not that of other parts.
func (t *Table) eachPart(row int32, f func(key uint64, isLeaf bool)) {
	for n, c := range t.columns {
		if c.of[row] < 0 || c.whole && !t.isOne() {
			continue
		}
		v := &c.values[c.of[row]]
		hasWords := (c.kind == texts || c.kind == figures) && len(v.words) > 1
		f(keyOf(v.glued, 2*n), !hasWords)
		if hasWords {
			for _, w := range v.words {
				f(keyOf(c.words[w], 2*n+1), true)
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

// eachBlock calls f with the blocks of a row: a part that few rows have is one, and so are two of the rarest parts, unless one of them is rare enough alone.
func eachBlock(parts []part, f func(key uint64)) {
	for i, p := range parts {
		if p.rows > mostRows || i == mostAlone {
			break
		}
		f(p.key)
	}
	parts = parts[:min(len(parts), mostParts)]
	for i, p := range parts {
		for _, q := range parts[:i] {
			if q.rows > aloneRows {
				f(min(p.key, q.key)*pairFactor ^ max(p.key, q.key))
			}
		}
	}
}
