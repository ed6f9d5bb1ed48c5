package lex

import (
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
	"github.com/zeebo/xxh3"
)

// TestHashAll compares with the package xxh3, for all lengths and numbers of strings, with what is around
// them changed.
func TestHashAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 20_000)
	for i := range buf {
		buf[i] = byte(rnd.Uint32())
	}
	for n := range 300 {
		start, end := make([]uint32, n), make([]uint32, n)
		for i := range start {
			length := 1 + rnd.IntN(1+rnd.IntN(40)) + rnd.IntN(20)/19*rnd.IntN(300)
			if n == 299 {
				length = 1 + i
			}
			start[i] = uint32(rnd.IntN(len(buf) - length + 1))
			end[i] = start[i] + uint32(length)
		}
		kernel.EachTier(func(tier kernel.Tier) {
			out := make([]uint64, n)
			hashAll(out, buf, start, end, false)
			for i, h := range out {
				if want := xxh3.Hash(buf[start[i]:end[i]]); h != want {
					t.Fatalf("%v, string %d of %d, %d bytes: %x, want %x", tier, i, n, end[i]-start[i], h, want)
				}
			}
		})
	}
}

func FuzzHashAll(f *testing.F) {
	f.Add([]byte("a word, and another one that is longer than the others"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, most uint8) {
		var start, end []uint32
		for i := range data {
			start, end = append(start, uint32(i)), append(end, uint32(min(len(data), i+1+int(data[i])%(1+int(most)))))
		}
		out := make([]uint64, len(start))
		hashAll(out, data, start, end, false)
		for i, h := range out {
			if want := xxh3.Hash(data[start[i]:end[i]]); h != want {
				t.Fatalf("%q: %x, want %x", data[start[i]:end[i]], h, want)
			}
		}
	})
}
