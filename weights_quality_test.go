package neardup

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// halves divides texts into two halves without tearing a group apart: half[i] is 0
// or 1.
func halves(n int, truth map[Pair]bool) []int {
	group := Components(n, func(yield func(Pair) bool) {
		for p := range truth {
			if !yield(p) {
				return
			}
		}
	})
	half, number := make([]int, n), map[int]int{}
	for i, first := range group {
		if _, ok := number[first]; !ok {
			number[first] = len(number)
		}
		half[i] = number[first] % 2
	}
	return half
}

// A curve is precision and recall by pairs for each distance, of one half.
type curve struct {
	all, good [129]int // pairs at most so far apart
	truth     int
}

func (c *curve) at(k int) (precision, recall, f1 float64) {
	precision = float64(c.good[k]) / float64(max(c.all[k], 1))
	recall = float64(c.good[k]) / float64(max(c.truth, 1))
	return precision, recall, 2 * float64(c.good[k]) / float64(max(c.all[k]+c.truth, 1))
}

// best returns the distance of the best F1.
func (c *curve) best() (k int) {
	most := -1.0
	for i := range c.all {
		if _, _, f1 := c.at(i); f1 > most {
			k, most = i, f1
		}
	}
	return k
}

// curves compares all pairs of fingerprints inside of each half.
func curves(fps []Fingerprint128, half []int, truth map[Pair]bool) (c [2]curve) {
	for i, a := range fps {
		for j, b := range fps[:i] {
			if half[i] == half[j] {
				d := bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
				c[half[i]].all[d]++
			}
		}
	}
	for p := range truth {
		h := &c[half[p.I]]
		h.truth++
		h.good[fps[p.I].Distance(fps[p.J])]++
	}
	for h := range c {
		for d := 1; d < len(c[h].all); d++ {
			c[h].all[d] += c[h].all[d-1]
			c[h].good[d] += c[h].good[d-1]
		}
	}
	return c
}

func TestScratch(t *testing.T) {
	for _, set := range []string{"en-versions"} {
		texts, truth := labelled(t, set)
		half := halves(len(texts), truth)
		toks := map[string]Tokenizer{"words2": Shingles{}, "words3": Shingles{N: 3}, "words4": Shingles{N: 4}, "chars5": NGrams{5}, "chars8": NGrams{8}, "chars12": NGrams{12}}
		if strings.HasPrefix(set, "zh") {
			toks["gse"] = loadSegmenter(t)
			toks["gse2"] = Shingles{Of: loadSegmenter(t)}
		}
		for name, tok := range toks {
			f := Fingerprinter{Tokenizer: tok}
			b := StatisticsBuilder{Fingerprinter: f}
			for _, text := range texts {
				b.Add(text)
			}
			s := b.Build()
			for _, w := range []struct {
				name string
				w    Weight
			}{{"count", nil}, {"logcount", LogCount}, {"tfidf", Product{Count, IDF{s, false}}}, {"tfidf+", Product{Count, IDF{s, true}}}, {"ltfidf", Product{LogCount, IDF{s, false}}}, {"ltfidf+", Product{LogCount, IDF{s, true}}},
				{"bidf+", IDF{s, true}}, {"sk", Product{LogCount, Sum{Constant(1), IDF{s, true}}}}, {"idf2", Product{LogCount, IDF{s, true}, IDF{s, true}}}} {
				f.Weight = w.w
				fps := make([]Fingerprint128, len(texts))
				short := make([]Fingerprint128, len(texts))
				for i, text := range texts {
					fps[i] = f.Sum128(text)
					short[i].Lo = uint64(f.Sum64(text))
				}
				line := fmt.Sprintf("%-14s %-8s %-9s", set, name, w.name)
				for _, fps := range [][]Fingerprint128{short, fps} {
					c := curves(fps, half, truth)
					k0, k1 := c[0].best(), c[1].best()
					_, _, f0 := c[0].at(k0)
					_, _, x1 := c[1].at(k1)
					_, _, f1 := c[1].at(k0)
					line += fmt.Sprintf("   %2d %.4f  %2d %.4f  on B %.4f", k0, f0, k1, x1, f1)
				}
				fmt.Println(line)
			}
		}
	}
}
