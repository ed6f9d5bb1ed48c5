package neardup

import (
	"context"
	"flag"
	"iter"
	"slices"
)

// full runs every test at its full size: go test . -full, some four minutes. Without it, soak, quality
// and model tests are smaller, or skipped; with -short they are smaller still.
var full = flag.Bool("full", false, "run every test at its full size")

var bg = context.Background()

// must returns what a call returns that cannot fail here.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// entriesOf yields the entries of a map.
func entriesOf[ID comparable, V any](of map[ID]V) iter.Seq2[Entry[ID, V], error] {
	return func(yield func(Entry[ID, V], error) bool) {
		for id, v := range of {
			if !yield(Entry[ID, V]{ID: id, Value: v}, nil) {
				return
			}
		}
	}
}

// valuesOf collects entries, in the order in which they come.
func valuesOf[ID comparable, V any](all iter.Seq2[Entry[ID, V], error]) iter.Seq2[ID, V] {
	return func(yield func(ID, V) bool) {
		for e, err := range all {
			if err != nil {
				panic(err)
			}
			if !yield(e.ID, e.Value) {
				return
			}
		}
	}
}

// membersOf returns the members of groups.
func membersOf[ID comparable](groups []Group[ID]) (out [][]ID) {
	for _, g := range groups {
		out = append(out, g.Members)
	}
	return out
}

// chained returns the ids of the groups of two or more with the same label.
func chained[ID comparable](label []int, ids []ID) [][]ID {
	groups := must(makeGroups(label, func(n uint32) (ID, error) { return ids[n], nil }, func(int, int) (m Match[ID]) { return m }))
	return membersOf(groups)
}

// certain yields pairs that have no errors.
func certain(pairs []Pair[int]) iter.Seq2[Pair[int], error] {
	return func(yield func(Pair[int], error) bool) {
		for _, p := range pairs {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// listed collects a sequence that ends without an error.
func listed[T any](seq iter.Seq2[T, error]) (out []T) {
	for x, err := range seq {
		out = append(out, must(x, err))
	}
	return out
}

// newVectors returns an index for any similarity.
func newVectors[ID comparable]() *VectorIndex[ID] {
	return must(NewVectorIndex[ID](1e-300, VectorIndexOptions{}))
}

// The two ways to decide ties.
const (
	tieZero = false
	tieOne  = true
)

// sum returns the fingerprint of an accumulator with a way to decide ties.
func sum[F any](a interface {
	Sum() F
	SumTiesOne() F
}, tiesOne bool) F {
	if tiesOne {
		return a.SumTiesOne()
	}
	return a.Sum()
}

func sortedFunc[T any](s []T, compare func(a, b T) int) []T {
	slices.SortFunc(s, compare)
	return s
}
