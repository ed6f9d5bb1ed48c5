// Package buckets is the index of the papers as S002 has it: four tables of 16 bits, and for overfull
// buckets of them a second level of four tables of 12 bits (§2.3). It counts what it compares. The
// library's Index chooses its tables by what is stored, splits its buckets itself, and can do much more.
package buckets

import (
	"slices"

	"github.com/neardup/neardup"
)

// Mean says over which buckets the mean size is taken.
type Mean uint8

const (
	OverAll  Mean = iota // the 65,536 of a block, the empty ones too: what the example of S002 divides by
	OverUsed             // those of the block that are not empty
)

// distance is that of the papers; the index finds all pairs within it, by the pigeonhole principle.
const distance = 3

// An Index finds fingerprints at a distance of at most 3. A bucket is overfull if it has more than (1 + Mu) times the
// mean; then only those of it are compared that are equal in one of four times 12 of the other 48 bits, too. That loses
// nothing: the at most 3 bits that differ are among the 48, so one of the four is equal. Which buckets are overfull is
// asked at each search, so it may change with every Add.
//
// The zero value has no second level. Mu and Mean must not be changed after the first Add. It is not safe for concurrent use.
type Index struct {
	Mu   float64 // 0: there is no second level; S002's example has 2
	Mean Mean

	fps    []neardup.Fingerprint64
	first  [4]map[uint16][]int32
	second map[bucket]*[4]map[uint16][]int32 // made when a bucket is first found overfull
	seen   []int32                           // the last search to compare it, plus one
	search int32
}

// A bucket is a block, bits 16·block to 16·block+15, and their value.
type bucket struct {
	block int
	value uint16
}

func blockOf(fp neardup.Fingerprint64, block int) uint16 { return uint16(fp >> (16 * block)) }

// rest is the other 48 bits: those below the block, and above them those above it.
func rest(fp neardup.Fingerprint64, block int) uint64 {
	low := uint64(1)<<(16*block) - 1
	return uint64(fp)&low | uint64(fp)>>16&^low
}

func subBlock(rest uint64, sub int) uint16 { return uint16(rest >> (12 * sub) & 0xFFF) }

// Add stores a fingerprint; its number is how many there were before.
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

// threshold is the number of fingerprints above which a bucket of a block is overfull: (1 + Mu) times the mean.
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

// split returns the second level of a bucket.
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
	Met        int // fingerprints met in buckets, those met in several of them each time
	Candidates int // different ones, which were compared
}

// Search calls found with the number of each fingerprint at a distance of at most 3, and the distance, until it returns
// false: exists stops at the first, list goes on.
func (ix *Index) Search(fp neardup.Fingerprint64, found func(i, distance int) bool) (c Counts) {
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
			if d := fp.Distance(ix.fps[i]); d <= distance {
				more = found(int(i), d)
			}
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

// Pairs returns all pairs at a distance of at most 3, by J and then I, with the work for them, which is that of a batch:
// those of each bucket are compared with each other. Overfull is the number of overfull buckets with more than one fingerprint.
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
