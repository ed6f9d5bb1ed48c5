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
