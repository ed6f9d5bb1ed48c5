package link

import (
	"cmp"
	"slices"
)

// This file groups rows. Pairs are joined, the likeliest first, as long as the log odds of all pairs between two groups add up to more than 0, so one doubtful pair
// does not make a chain of two groups (correlation clustering, greedily).

const (
	mostOdds    = 8  // of a pair in such a sum: nothing is quite certain
	unknownOdds = -4 // of a pair that was not compared
	leastOdds   = -8 // a pair with less counts as one that was not compared
	mostMembers = 64 // of a group that are looked at; of more, the first ones
)

// groups returns, for each row, the first row of its group.
func (t *Table) groups(pairs []Pair, threshold float64) []int32 {
	of, members := make([]int32, t.rows), make([][]int32, t.rows)
	for i := range of {
		of[i], members[i] = int32(i), []int32{int32(i)}
	}
	odds := make(map[uint64]float64, len(pairs))
	var order []int
	for i := range pairs {
		p := &pairs[i]
		if t.copies[p.A] == t.copies[p.B] {
			continue // they stand together or apart, whatever others do
		}
		odds[uint64(p.A)<<32|uint64(p.B)] = max(min(p.Odds-threshold, mostOdds), -mostOdds)
		if p.Odds >= threshold {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(pairs[j].Odds, pairs[i].Odds), cmp.Compare(i, j)) })
	for _, i := range order {
		a, b := of[pairs[i].A], of[pairs[i].B]
		if a == b || t.between(members[a], members[b], odds) <= 0 {
			continue
		}
		a, b = min(a, b), max(a, b)
		for _, row := range members[b] {
			of[row] = a
		}
		members[a] = append(members[a], members[b]...)
		members[b] = nil
	}
	return of
}

// between adds up the log odds of the pairs between two groups. Groups with two rows that may not match stay apart.
func (t *Table) between(a, b []int32, odds map[uint64]float64) (sum float64) {
	for _, x := range a[:min(len(a), mostMembers)] {
		for _, y := range b[:min(len(b), mostMembers)] {
			if !t.mayMatch(x, y) {
				return -1
			}
			if o, isKnown := odds[uint64(min(x, y))<<32|uint64(max(x, y))]; isKnown {
				sum += o
			} else {
				sum += unknownOdds
			}
		}
	}
	return sum
}
