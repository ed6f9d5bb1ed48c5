package lex

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestUnits64: the hashes of the units are those of features of one unit, for texts of any length and for several batches.
func TestUnits64(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	words := []string{"a", "cat", "I'll", "西游记", "e\u0301", "…", "\xff", "ภาษา", strings.Repeat("x", 300), "EP01"}
	for round := range 400 {
		var text strings.Builder
		for range rnd.IntN(1 + round*10) {
			text.WriteString(words[rnd.IntN(len(words))])
			text.WriteString(strings.Repeat(" ", rnd.IntN(2)))
		}
		for _, n := range []int{2, 3} {
			var want, got []uint64
			b := &Batch{}
			b.Reset(false, 1)
			for b.Read(text.String(), true); b.Next(); {
				want = append(want, b.Hash64()...)
			}
			b.Reset(false, n)
			for b.Read(text.String(), true); b.Next(); {
				got = append(got, b.Units64()...)
			}
			got = append(got, b.Units64()...)
			if len(want) < n { // a short text is one feature of all units, of which only the first is asked for
				want, got = want[:min(len(want), 1)], got[:min(len(got), 1)]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q with features of %d: %d units, not %d", text.String(), n, len(got), len(want))
			}
		}
	}
}
