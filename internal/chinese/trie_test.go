package chinese

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTrie compares a trie of random words with a map. Words share beginnings, repeat, and have units
// of several letters and bytes that are not UTF-8.
func TestTrie(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	units := strings.Split("中 国 人 民 大 学 生 北 京 c++ - α 𠀀 \xff \ufffd", " ")
	for _, n := range []int{0, 1, 20, 20_000} {
		var words []string
		want := map[string]int32{}
		for i := range n {
			w := ""
			for range 1 + rnd.IntN(5) {
				w += units[rnd.IntN(len(units))]
			}
			words = append(words, w)
			if _, ok := want[w]; !ok {
				want[w] = int32(i)
			}
		}
		tr := newTrie(func(yield func(text string, cost uint32, tag int32) bool) {
			for i, w := range words {
				if !yield(w, uint32(i+1), int32(i)) {
					return
				}
			}
		})
		begins := map[string]bool{} // all beginnings of words, unit by unit
		for w := range want {
			for end := 0; end < len(w); {
				size, _ := unit(w[end:])
				end += size
				begins[w[:end]] = true
			}
		}
		if tr.nodes != len(begins) {
			t.Errorf("%d words: %d nodes, want %d", n, tr.nodes, len(begins))
		}
		for range 20_000 {
			text, place, before, depth := "", uint32(0), uint32(0), 0
			for range 6 {
				u := units[rnd.IntN(len(units))]
				if last := lastUnit(text + u); last != u {
					continue // c++ is three units, and two letters are one
				}
				x := tr.number([]byte(u))
				text += u
				inner := place == 0 || tr.hasChildren(place)
				if place == 0 {
					place = tr.root(x)
				} else {
					place = tr.child(place, x)
				}
				if place > 0 != begins[text] || begins[text] && !inner {
					t.Fatalf("%d words: %q begins a word: %v, want %v", n, text, place > 0, begins[text])
				}
				if place == 0 {
					break
				}
				if depth++; depth == 2 && !tr.begins(before, x) {
					t.Fatalf("%d words: the filter does not let %q through", n, text)
				}
				tag, ok := want[text]
				if s := tr.slots[place]; s.tag >= 0 != ok || ok && (s.tag != tag || s.cost != uint32(tag)+1) {
					t.Fatalf("%d words: %q is %+v, want %d", n, text, s, tag)
				}
				before = x
			}
		}
	}
}

func lastUnit(text string) string {
	for {
		size, _ := unit(text)
		if size == len(text) {
			return text
		}
		text = text[size:]
	}
}
