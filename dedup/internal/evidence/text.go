package evidence

import (
	"math"
	"slices"

	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/wording"
)

// This file compares two texts: how similar they are, and what is in only one of them.
//
// Everything that a comparison needs of a text is a list that was sorted once, when the text was read. Two texts are
// then compared by going through their lists side by side, in linear time and without memory of its own. Entries
// have a hash in the upper half and a number in the lower one, so a list of numbers of 64 bits is sorted by hash.
//
// Two different words, or runs, with one hash of 32 bits count as equal.

// A Text is a content that is ready to be compared. It does not change.
type Text struct {
	content.Reading
	squares [2]float64 // of the terms of each level
	bag     []uint64   // the different words, ascending, in the upper halves; in the lower ones how often they occur
	runs    []uint64   // the runs of three words, ascending by a hash in the upper halves; in the lower ones where they begin
}

// Read makes t the text of a content, in the memory that t has.
func (t *Text) Read(m *content.Maker, c *content.Content, buf *Buffer) {
	m.Read(c, &t.Reading)
	t.squares = [2]float64{}
	for _, x := range t.Terms {
		t.squares[x.Feature&1] += float64(x.Weight) * float64(x.Weight)
	}
	// Words are hashes, and so are the upper halves of these keys.
	keys := buf.keys[0][:0]
	for _, w := range t.Words {
		keys = append(keys, uint64(w)<<32)
	}
	keys, buf.keys[1] = cosine.SortKeys(keys, buf.keys[1])
	t.bag = t.bag[:0]
	for i := 0; i < len(keys); {
		from := i
		for i++; i < len(keys) && keys[i] == keys[from]; i++ {
		}
		t.bag = append(t.bag, keys[from]|uint64(i-from))
	}
	keys = keys[:0]
	for i := range len(t.Words) - run + 1 {
		h := (uint64(t.Words[i])*0x9E3779B97F4A7C15+uint64(t.Words[i+1]))*0xA0761D6478BD642F + uint64(t.Words[i+2])
		h *= 0xE7037ED1A0B428DB
		keys = append(keys, h>>32<<32|uint64(i))
	}
	keys, buf.keys[1] = cosine.SortKeys(keys, buf.keys[1])
	t.runs = append(t.runs[:0], keys...)
	if buf.keys[0] = keys; cap(keys) > 1<<17 {
		*buf = Buffer{}
	}
}

// A Buffer is memory for reading texts, for one goroutine.
type Buffer struct{ keys [2][]uint64 }

// Clone returns a copy without room for more.
func (t *Text) Clone() *Text {
	c := *t
	c.Words, c.Terms, c.bag, c.runs = slices.Clone(t.Words), slices.Clone(t.Terms), slices.Clone(t.bag), slices.Clone(t.runs)
	return &c
}

// run is the number of words in a run. A word is covered if it is in a run that the other text has too.
const run = 3

// A side is what one text has and the other one has not. All of it is counted in words.
type side struct {
	words     int // of the text
	uncovered int // words in no run that the other text has
	inside    int // such words between the first and the last one that is covered
	covered   int // words from the first to the last one that is covered
	longest   int // uncovered words in a row, at most
	head      int // of the first 20 words, how many are uncovered
	figures   int // different figures that occur nowhere in the other text
	repeated  int // how often the most frequent other word occurs that occurs nowhere in the other text
}

// isCopy reports whether a text is the other one but for a few words inside, and a few before and after it.
func (s *side) isCopy() bool {
	return fewInside*(s.words-s.covered) <= s.words && fewInside*s.inside <= s.covered
}

// fewInside: one word in twenty is few.
const fewInside = 20

// beginning returns the share of the first words that are uncovered.
func (s *side) beginning() float64 { return float64(s.head) / float64(max(min(s.words, head), 1)) }

// head is how many words are the beginning of a text.
const head = 20

// Bytes returns about how many bytes a text takes.
func (t *Text) Bytes() int {
	return 200 + 16*cap(t.Terms) + 4*cap(t.Words) + 8*cap(t.bag) + 8*cap(t.runs)
}

// cover sets what is covered of two texts: inA and inB become true for the words of runs that both have. All
// places of a run are covered, however often it occurs in the other text.
func cover(a, b *Text, inA, inB []bool) {
	i, j := 0, 0
	for i < len(a.runs) && j < len(b.runs) {
		x, y := a.runs[i]>>32, b.runs[j]>>32
		switch {
		case x < y:
			i++
		case x > y:
			j++
		default:
			for ; i < len(a.runs) && a.runs[i]>>32 == x; i++ {
				mark(inA, a.runs[i])
			}
			for ; j < len(b.runs) && b.runs[j]>>32 == x; j++ {
				mark(inB, b.runs[j])
			}
		}
	}
}

func mark(in []bool, at uint64) {
	i := uint32(at)
	in[i], in[i+1], in[i+2] = true, true, true
}

// A Comparer compares texts, for one goroutine.
type Comparer struct {
	in      [2][]bool
	n       int          // neighbours, for which
	weights [2][]float64 // has the weights of the features of each level
}

// sides returns what each of two texts has alone, and the cosine of their words.
func (c *Comparer) sides(a, b *Text) (x, y side, words float64) {
	for k, t := range []*Text{a, b} {
		c.in[k] = append(c.in[k][:0], make([]bool, len(t.Words))...)
	}
	if len(a.runs) == 0 || len(b.runs) == 0 {
		c.coverWords(a, b)
	} else {
		cover(a, b, c.in[0], c.in[1])
	}
	x, y = sideOf(c.in[0]), sideOf(c.in[1])
	dot, aa, bb := 0.0, 0.0, 0.0
	for i, j := 0, 0; i < len(a.bag) || j < len(b.bag); {
		switch {
		case j == len(b.bag) || i < len(a.bag) && a.bag[i]>>32 < b.bag[j]>>32:
			aa += x.alone(a.bag[i])
			i++
		case i == len(a.bag) || b.bag[j]>>32 < a.bag[i]>>32:
			bb += y.alone(b.bag[j])
			j++
		default:
			v, w := logCount(a.bag[i]), logCount(b.bag[j])
			dot, aa, bb = dot+float64(v*w), aa+float64(v*v), bb+float64(w*w)
			i++
			j++
		}
	}
	return x, y, cosine.Of(dot, aa, bb)
}

// alone takes a word that the other text does not have, and returns the square of its weight.
func (s *side) alone(word uint64) float64 {
	if word>>32&wording.Figure != 0 {
		s.figures++
	} else {
		s.repeated = max(s.repeated, int(uint32(word)))
	}
	w := logCount(word)
	return float64(w * w)
}

// logCount returns the weight of a word by how often it occurs.
func logCount(word uint64) float64 { return float64(content.LogCount(int(uint32(word)))) }

// coverWords is cover for texts of which one has fewer than three words, and so no run: a word is covered if
// the other text has it.
func (c *Comparer) coverWords(a, b *Text) {
	has := func(t *Text, w uint32) bool {
		i, _ := slices.BinarySearch(t.bag, uint64(w)<<32)
		return i < len(t.bag) && t.bag[i]>>32 == uint64(w)
	}
	for i, w := range a.Words {
		c.in[0][i] = has(b, w)
	}
	for i, w := range b.Words {
		c.in[1][i] = has(a, w)
	}
}

// sideOf returns what is not covered.
func sideOf(in []bool) (s side) {
	s.words = len(in)
	first, last := len(in), -1
	row := 0
	for i, is := range in {
		if is {
			row = 0
			first, last = min(first, i), i
		} else {
			s.uncovered++
			row++
			s.longest = max(s.longest, row)
			if i < head {
				s.head++
			}
		}
	}
	if s.covered = max(last-first+1, 0); s.covered > 0 {
		s.inside = s.uncovered - first - (len(in) - 1 - last)
	}
	return s
}

// Similarity returns the cosine of two texts. Each level of a text is a unit vector times the square root of its
// share, so it is the mean of the cosines of the levels, weighted by the shares. It depends on the two texts alone.
func Similarity(a, b *Text) float64 { return compare(a, b, nil).similarity }

// cosines are the similarity of two texts, and the cosine of each level; without levels, the similarity for both.
type cosines struct {
	similarity float64
	levels     [2]float64
}

// compare returns how similar two texts are. It counts in have the terms of a that b has, unless have is nil.
func compare(a, b *Text, have []uint16) (c cosines) {
	var dots [2]float64
	x, y := a.Terms, b.Terms
	for i, j := 0, 0; i < len(x) && j < len(y); {
		f, g := x[i].Feature, y[j].Feature
		if f == g {
			dots[f&1] += float64(x[i].Weight) * float64(y[j].Weight)
			if have != nil {
				have[i]++
			}
		}
		// Whichever is smaller goes on. A processor cannot predict which one that is, so it is
		// chosen without a branch.
		next, other := i, j
		if f <= g {
			next = i + 1
		}
		if g <= f {
			other = j + 1
		}
		i, j = next, other
	}
	if !a.Levels || !b.Levels {
		s := cosine.Of(dots[0]+dots[1], a.squares[0]+a.squares[1], b.squares[0]+b.squares[1])
		return cosines{s, [2]float64{s, s}}
	}
	shares := [2]float64{math.Sqrt(float64((1 - a.Fine) * (1 - b.Fine))), math.Sqrt(float64(a.Fine * b.Fine))}
	for l := range dots {
		c.levels[l] = cosine.Of(dots[l], a.squares[l], b.squares[l])
		c.similarity += float64(shares[l] * c.levels[l])
	}
	c.similarity = min(c.similarity, 1)
	return c
}
