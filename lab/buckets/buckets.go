// Package buckets is the index of the papers in the form of Wang 2019 §2.3, and counts its
// comparisons. There are four tables, each for one block of 16 bits. An overfull bucket gets a
// second level: four tables of 12 bits, for the other 48 bits. The library's Index is faster: it
// chooses its tables by what is stored, and splits its own buckets.
package buckets

import (
	"slices"

	"github.com/neardup/neardup"
)

// A Mean says over which buckets the mean size is taken.
type Mean uint8

const (
	OverAll  Mean = iota // all 65,536 buckets of a block, as in the example of Wang 2019
	OverUsed             // the buckets of the block that are not empty
)

// distance is the distance of the papers. By the pigeonhole principle the index finds all pairs
// within it.
const distance = 3

// An Index finds all fingerprints at a distance of at most 3. The zero value has no second level.
// Do not change Mu and Mean after the first Add. An Index is not safe for concurrent use.
//
// A bucket is overfull if it has more than (1 + Mu) times the mean number of fingerprints. A search
// then compares only the fingerprints of the bucket that also agree in one of the four parts of the
// other 48 bits. This loses nothing: at most 3 of the 48 bits differ, so at least one of the four
// parts is equal. Every search decides anew which buckets are overfull, so this may change with
// every Add.
type Index struct {
	Mu   float64 // 0 means no second level; the example of Wang 2019 has 2
	Mean Mean

	fps    []neardup.Fingerprint64
	first  [4]map[uint16][]int32
	second map[bucket]*[4]map[uint16][]int32 // made when a search first finds the bucket overfull
	seen   []int32                           // for each fingerprint, the number of the last search that compared it
	search int32
}

// A bucket is a block and a value of it. The block has the bits from 16·block to 16·block+15.
type bucket struct {
	block int
	value uint16
}

func blockOf(fp neardup.Fingerprint64, block int) uint16 { return uint16(fp >> (16 * block)) }

// rest returns the other 48 bits, without a gap.
func rest(fp neardup.Fingerprint64, block int) uint64 {
	low := uint64(1)<<(16*block) - 1
	return uint64(fp)&low | uint64(fp)>>16&^low
}

func subBlock(rest uint64, sub int) uint16 { return uint16(rest >> (12 * sub) & 0xFFF) }

// Add stores a fingerprint. Its number is the number of fingerprints before it.
func (ix *Index) Add(fp neardup.Fingerprint64) {
	i := int32(len(ix.fps))
	ix.fps = append(ix.fps, fp)
	ix.seen = append(ix.seen, 0)
	for b := range ix.first {
		if ix.first[b] == nil {
			ix.first[b] = map[uint16][]int32{}
		}
		v := blockOf(fp, b)
		ix.first[b][v] = append(ix.first[b][v], i)
		if s := ix.second[bucket{b, v}]; s != nil {
			addTo(s, rest(fp, b), i)
		}
	}
}

func addTo(s *[4]map[uint16][]int32, rest uint64, i int32) {
	for sub := range s {
		v := subBlock(rest, sub)
		s[sub][v] = append(s[sub][v], i)
	}
}

// threshold returns how many fingerprints a bucket of a block may have before it is overfull.
func (ix *Index) threshold(block int) float64 {
	of := 1 << 16
	if ix.Mean == OverUsed {
		of = max(len(ix.first[block]), 1)
	}
	return (1 + ix.Mu) * float64(len(ix.fps)) / float64(of)
}

func (ix *Index) overfull(b int, members []int32) bool {
	return ix.Mu > 0 && float64(len(members)) > ix.threshold(b)
}

// split returns the second level of a bucket. It builds the second level if there is none.
func (ix *Index) split(k bucket, members []int32) *[4]map[uint16][]int32 {
	if ix.second[k] == nil {
		s := new([4]map[uint16][]int32)
		for sub := range s {
			s[sub] = map[uint16][]int32{}
		}
		for _, i := range members {
			addTo(s, rest(ix.fps[i], k.block), i)
		}
		if ix.second == nil {
			ix.second = map[bucket]*[4]map[uint16][]int32{}
		}
		ix.second[k] = s
	}
	return ix.second[k]
}

// Counts is the work of searches.
type Counts struct {
	Met        int // fingerprints found in buckets; one found in several buckets counts several times
	Candidates int // distinct fingerprints among them, which were compared
}

// Search calls found with the number and the distance of each fingerprint at a distance of at most
// 3, until found returns false. To ask whether there is any (exists), return false at the first; to
// get all (list), return true.
func (ix *Index) Search(fp neardup.Fingerprint64, found func(i, distance int) bool) Counts {
	return ix.Candidates(fp, func(i int) bool {
		d := fp.Distance(ix.fps[i])
		return d > distance || found(i, d)
	})
}

// Candidates calls visit once with the number of each fingerprint that a search compares, at
// whatever distance it is, until visit returns false.
func (ix *Index) Candidates(fp neardup.Fingerprint64, visit func(i int) bool) (c Counts) {
	ix.search++
	more := true
	compare := func(members []int32) {
		for _, i := range members {
			if !more {
				return
			}
			c.Met++
			if ix.seen[i] == ix.search {
				continue
			}
			ix.seen[i] = ix.search
			c.Candidates++
			more = visit(int(i))
		}
	}
	for b := range ix.first {
		k := bucket{b, blockOf(fp, b)}
		members := ix.first[b][k.value]
		if !ix.overfull(b, members) {
			compare(members)
			continue
		}
		for sub, table := range ix.split(k, members) {
			compare(table[subBlock(rest(fp, b), sub)])
		}
	}
	return c
}

// Pairs returns all pairs at a distance of at most 3, sorted by the second number and then by the
// first. It compares the fingerprints of each bucket with each other, so Counts is the work of a
// batch. overfull is the number of overfull buckets with more than one fingerprint.
func (ix *Index) Pairs() (pairs []neardup.Pair[int], c Counts, overfull int) {
	var met []uint64 // j·2³² + i
	within := func(members []int32) {
		for n, j := range members {
			for _, i := range members[:n] {
				met = append(met, uint64(j)<<32|uint64(i))
			}
		}
	}
	for b := range ix.first {
		for v, members := range ix.first[b] {
			if !ix.overfull(b, members) {
				within(members)
				continue
			}
			if len(members) > 1 {
				overfull++
			}
			for _, table := range ix.split(bucket{b, v}, members) {
				for _, members := range table {
					within(members)
				}
			}
		}
	}
	c.Met = len(met)
	slices.Sort(met)
	met = slices.Compact(met)
	c.Candidates = len(met)
	for _, m := range met {
		j, i := int(m>>32), int(uint32(m))
		if d := ix.fps[i].Distance(ix.fps[j]); d <= distance {
			pairs = append(pairs, neardup.Pair[int]{A: i, B: j, Distance: d})
		}
	}
	return pairs, c, overfull
}
