package lex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/kernel"
)

// readWords returns the features of a text that is read in pieces of some lengths, and their hashes.
func readWords(text string, n int, pieces []int) string {
	var out strings.Builder
	b := Batches.Get().(*Batch)
	defer Batches.Put(b)
	b.Reset(false, n)
	for i := 0; ; i++ {
		size := len(text)
		if i < len(pieces) {
			size = min(size, pieces[i])
			size -= Partial([]byte(text[:size]))
		}
		last := size == len(text)
		for b.Read(text[:size], last); b.Next(); {
			hashes := b.Hash64()
			for i, h := range hashes {
				fmt.Fprintf(&out, "%s|%x ", b.Unit(i), h)
			}
		}
		if text = text[size:]; last {
			return out.String()
		}
	}
}

// checkTiers compares the features of a text in every tier.
func checkTiers(t *testing.T, text string, n int, pieces []int) {
	t.Helper()
	want := ""
	kernel.EachTier(func(tier kernel.Tier) {
		got := readWords(text, n, pieces)
		if tier == kernel.Generic {
			want = got
		}
		if got != want {
			t.Fatalf("%v, %q: %s, want %s", tier, text, got, want)
		}
	})
}

// TestBlockWords compares the ways of the tiers through texts with words of all lengths, and other characters
// now and then.
func TestBlockWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	separators := []string{" ", " ", " ", ", ", ". ", "\n", "-", "'", "  ", "中", "é", "\u0301", "\u00ad", "\xff", "文字", "ǘ"}
	for range 3000 {
		var text strings.Builder
		common := 1 + rnd.IntN(len(separators))
		for range rnd.IntN(60) {
			length := 1 + rnd.IntN(9)
			switch rnd.IntN(20) {
			case 0:
				length = rnd.IntN(300)
			case 1:
				length = 60 + rnd.IntN(10)
			case 2:
				length = 125 + rnd.IntN(8)
			}
			for range length {
				text.WriteByte("abcxyzABCXYZ0189"[rnd.IntN(16)])
			}
			text.WriteString(separators[rnd.IntN(common)])
		}
		checkTiers(t, text.String(), 1+rnd.IntN(3), []int{rnd.IntN(200), rnd.IntN(200)})
	}
}

func FuzzBlockWords(f *testing.F) {
	f.Add("The quick brown Fox jumps over 13 lazy dogs, and then it goes on and on", uint8(1), uint8(0))
	f.Add(strings.Repeat("long", 40)+" e\u0301 "+strings.Repeat("word ", 30), uint8(2), uint8(70))
	f.Fuzz(func(t *testing.T, text string, n, piece uint8) {
		checkTiers(t, text, 1+int(n%4), []int{int(piece)})
	})
}
