package main

import "slices"

// This file has the measures with which figures on CORE and NEWS-COPY were published.

// A score counts documents (Gyawali et al. 2020). One with duplicates is right if all of them are found, whatever is found besides, and
// missed if nothing is found. One without duplicates is right if nothing is found. All others are wrong.
type score struct {
	right, wrong, missed, alone int // alone: rightly nothing
	equal                       int // what is found is exactly the duplicates
}

// scoreOf compares what is found with the duplicates of each document. What is found is in ascending order.
func scoreOf(truth, found [][]int) (s score) {
	for i, want := range truth {
		all := !slices.ContainsFunc(want, func(n int) bool {
			_, ok := slices.BinarySearch(found[i], n)
			return !ok
		})
		switch {
		case len(found[i]) == 0 && len(want) == 0:
			s.alone++
		case len(found[i]) == 0:
			s.missed++
		case len(want) > 0 && all:
			s.right++
		default:
			s.wrong++
		}
		if want := slices.Compact(slices.Sorted(slices.Values(want))); slices.Equal(want, found[i]) {
			s.equal++
		}
	}
	return s
}

// other returns the score of the class of documents without duplicates.
func (s score) other() score {
	return score{right: s.alone, wrong: s.missed, missed: s.wrong, alone: s.right, equal: s.equal}
}

func (s score) precision() float64 { return float64(s.right) / float64(max(s.right+s.wrong, 1)) }
func (s score) recall() float64    { return float64(s.right) / float64(max(s.right+s.missed, 1)) }

func (s score) f1() float64 {
	return 2 * float64(s.right) / float64(max(2*s.right+s.wrong+s.missed, 1))
}

func (s score) macroF1() float64 { return (s.f1() + s.other().f1()) / 2 }

func (s score) accuracy() float64 {
	return float64(s.equal) / float64(max(s.right+s.wrong+s.missed+s.alone, 1))
}

// adjustedRand returns the adjusted Rand index of two ways to cluster the same documents (Hubert and Arabie 1985): 1 if they are the same, and 0
// on average if one of them is random.
func adjustedRand(a, b []int) float64 {
	type cell struct{ a, b int }
	both, inA, inB := map[cell]int{}, map[int]int{}, map[int]int{}
	for i := range a {
		both[cell{a[i], b[i]}]++
		inA[a[i]]++
		inB[b[i]]++
	}
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	same, pairsA, pairsB := 0.0, 0.0, 0.0
	for _, n := range both {
		same += pairs(n)
	}
	for _, n := range inA {
		pairsA += pairs(n)
	}
	for _, n := range inB {
		pairsB += pairs(n)
	}
	all := pairs(len(a))
	expected, most := 0.0, (pairsA+pairsB)/2
	if all > 0 {
		expected = pairsA * pairsB / all
	}
	if most == expected {
		return 1 // both have one cluster, or all documents alone
	}
	return (same - expected) / (most - expected)
}
