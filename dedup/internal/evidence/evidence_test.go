package evidence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/neighbour"
)

var maker = content.NewMaker(&neardup.Fingerprinter{})

// textOf returns a text that is ready to be compared.
func textOf(text string) *Text {
	d, err := maker.Make(neardup.Text(text))
	if err != nil {
		panic(err)
	}
	var t Text
	t.Read(maker, &d.Content, &Buffer{})
	return &t
}

// of returns the evidence about two texts without other neighbours.
func of(a, b string) Vector {
	x, y := textOf(a), textOf(b)
	texts := []*Text{x, y}
	at := func(slot uint32) *Text { return texts[slot] }
	var c Comparer
	return c.Pair(x, y, placeOf(x, []neighbour.Near{{Slot: 1}}, at), placeOf(y, []neighbour.Near{{Slot: 0}}, at), 0, 1)
}

// words returns n words that no other call returns.
func words(prefix string, n int) []string {
	w := make([]string, n)
	for i := range w {
		w[i] = fmt.Sprintf("%s%c%c", prefix, 'a'+i/26%26, 'a'+i%26)
	}
	return w
}

// TestQuantities has texts for which the quantities of texts can be said without computing.
func TestQuantities(t *testing.T) {
	base := words("w", 100)
	with := func(change func(w []string)) string {
		w := slices.Clone(base)
		change(w)
		return strings.Join(w, " ")
	}
	plain := with(func([]string) {})
	none := math.Log(leastChange)
	for _, c := range []struct {
		name string
		b    string
		want map[int]float64 // of Texts
		copy bool
	}{
		{"equal", plain, map[int]float64{Words: logit(1), Characters: logit(1), Beginning: 0, Anywhere: none, FiguresInBoth: 0, FiguresInOne: 0, Replaced: 0}, true},
		// A word in the middle is in no run of the other text, and nor is its replacement: one of a hundred in each.
		{"a word", with(func(w []string) { w[50] = "other" }), map[int]float64{Longest: math.Log(0.01 + leastChange), Scatter: 0, Beginning: 0, Anywhere: math.Log(0.01 + leastChange), Replaced: math.Ln2, FiguresInBoth: 0}, true},
		{"a word at the beginning", with(func(w []string) { w[5] = "other" }), map[int]float64{Beginning: 0.05 / (0.05 + 0.05), Anywhere: math.Log(0.01 + leastChange)}, true},
		{"a figure in one", with(func(w []string) { w[50] = "1234" }), map[int]float64{FiguresInBoth: 0, Replaced: 0}, true},
		{"a word four times", with(func(w []string) { w[30], w[40], w[50], w[60] = "other", "other", "other", "other" }), map[int]float64{Replaced: math.Ln2, Longest: math.Log(0.01 + leastChange), Scatter: math.Log(18. / 12)}, true},
		{"six words", with(func(w []string) { copy(w[40:], words("x", 6)) }), map[int]float64{Anywhere: math.Log(0.06 + leastChange), Longest: math.Log(0.06 + leastChange), Scatter: 0}, false},
		{"six words in two places", with(func(w []string) { copy(w[30:], words("x", 2)); copy(w[70:], words("y", 4)) }), map[int]float64{Anywhere: math.Log(0.06 + leastChange), Longest: math.Log(0.04 + leastChange), Scatter: math.Log(22. / 18)}, false},
		{"nothing", strings.Join(words("y", 100), " "), map[int]float64{Words: logit(0), Beginning: 1 / 1.05, Anywhere: math.Log(mostChange + leastChange)}, false},
	} {
		v := of(plain, c.b)
		for k, want := range c.want {
			if math.Abs(v.Texts[k]-want) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", c.name, Names[k], v.Texts[k], want)
			}
		}
		if v.IsCopy != c.copy {
			t.Errorf("%s: a copy: %t", c.name, v.IsCopy)
		}
	}
	four := with(func(w []string) { w[30], w[40], w[50], w[60] = "other", "other", "other", "other" })
	third := with(func(w []string) { w[30], w[40], w[50], w[60] = "third", "third", "third", "third" })
	if v := of(four, third); math.Abs(v.Texts[Replaced]-math.Log(5)) > 1e-9 || v.IsCopy {
		t.Errorf("a word replaced four times: %g, want ln 5; a copy: %t", v.Texts[Replaced], v.IsCopy)
	}
	if v := of("we met on 3 May", "we met on 4 May"); v.Texts[FiguresInBoth] != 1 || v.Texts[FiguresInOne] != 1 {
		t.Errorf("other figures in two short texts: %g and %g", v.Texts[FiguresInBoth], v.Texts[FiguresInOne])
	}
	if v := of("we met on 3 May", "we met in May"); v.Texts[FiguresInBoth] != 0 || v.Texts[FiguresInOne] != 1 {
		t.Errorf("a figure in one of two short texts: %g and %g", v.Texts[FiguresInBoth], v.Texts[FiguresInOne])
	}
}

// A naive is a slow second way to the quantities of neighbourhoods, from their definitions.
type naive struct {
	texts []*Text
	has   []map[uint64]bool // the features of each
	near  [][]int
}

// local returns the cosine of a level, where a feature that df of n neighbours have, the text included, weighs ln((prior+n)/df).
func (o *naive) local(a, b int, level uint64, prior float64) float64 {
	have := func(of int, feature uint64) float64 {
		df := 1.0
		for _, k := range o.near[of] {
			if o.has[k][feature] {
				df++
			}
		}
		return df
	}
	n := float64(max(len(o.near[a]), len(o.near[b])))
	weight := func(df float64) float64 { w := max(math.Log((prior+n)/df), 0.01); return w * w }
	inB := map[uint64]float64{}
	var dot, aa, bb float64
	for _, x := range o.texts[b].Terms {
		if x.Feature&1 == level {
			inB[x.Feature] = float64(x.Weight)
		}
	}
	for _, x := range o.texts[a].Terms {
		if x.Feature&1 != level {
			continue
		}
		v := float64(x.Weight)
		if w, both := inB[x.Feature]; both {
			of := weight(max(have(a, x.Feature), have(b, x.Feature)))
			dot, aa, bb = dot+v*w*of, aa+v*v*of, bb+w*w*of
			delete(inB, x.Feature)
		} else {
			aa += v * v * weight(have(a, x.Feature))
		}
	}
	for feature, w := range inB {
		bb += w * w * weight(have(b, feature))
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// crowd counts the neighbours of both that are a third as close as the two, or closer.
func (o *naive) crowd(a, b int) (n int) {
	distance := func(x, y int) float64 { return 1 - Similarity(o.texts[x], o.texts[y]) }
	for _, side := range [][2]int{{a, b}, {b, a}} {
		for _, k := range o.near[side[0]] {
			if k != side[1] && distance(side[0], k)+0.01 <= 3*(distance(a, b)+0.01) {
				n++
			}
		}
	}
	return n
}

// TestPlaces compares the quantities of neighbourhoods with their definitions, in families of texts of all lengths, and both ways
// round.
func TestPlaces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	for round := range 40 {
		n := 3 + rnd.IntN(8)
		length := 10 + rnd.IntN(200)
		if round%10 == 0 {
			length = 1100 // no characters
		}
		base := make([]string, length)
		for i := range base {
			base[i] = fmt.Sprintf("w%c%c", 'a'+rnd.IntN(26), 'a'+rnd.IntN(26))
		}
		o := &naive{}
		for i := range n {
			w := slices.Clone(base)
			for range rnd.IntN(1 + length/8) {
				w[rnd.IntN(length)] = fmt.Sprint("other", rnd.IntN(20))
			}
			if i > 5 {
				w = w[rnd.IntN(length/2):]
			}
			text, has := textOf(strings.Join(w, " ")), map[uint64]bool{}
			for _, x := range text.Terms {
				has[x.Feature] = true
			}
			o.texts, o.has = append(o.texts, text), append(o.has, has)
		}
		places := make([]*Place, n)
		for i := range n {
			var near []neighbour.Near
			o.near = append(o.near, nil)
			for k := range n {
				if k != i && (round%2 == 0 || (i+k)%3 != 0) {
					near, o.near[i] = append(near, neighbour.Near{Slot: uint32(k)}), append(o.near[i], k)
				}
			}
			places[i] = placeOf(o.texts[i], near, func(slot uint32) *Text { return o.texts[slot] })
		}
		var c Comparer
		for a := range n {
			for b := range a {
				v := c.Pair(o.texts[a], o.texts[b], places[a], places[b], uint32(a), uint32(b))
				w := c.Pair(o.texts[b], o.texts[a], places[b], places[a], uint32(b), uint32(a))
				want := [FromPlaces]float64{
					LocalRuns: logit(o.local(a, b, 0, priorWords)), LocalCharacters: logit(o.local(a, b, 1, priorCharacters)),
					Crowd: math.Log(1 + float64(max(o.crowd(a, b)-usualCrowd, 0))),
				}
				for k := range want {
					if math.Abs(v.Places[k]-want[k]) > 1e-6 {
						t.Fatalf("round %d, %d and %d: %s is %g, want %g", round, a, b, Names[FromTexts+k], v.Places[k], want[k])
					}
				}
				if v != w {
					t.Fatalf("round %d, %d and %d: %+v, and the other way round %+v", round, a, b, v, w)
				}
			}
		}
	}
}

// placeOf returns a place.
func placeOf(t *Text, near []neighbour.Near, text func(slot uint32) *Text) *Place {
	var p Place
	p.Read(t, near, text)
	return &p
}

// TestIsCopy: few words may differ, inside as well as before and behind.
func TestIsCopy(t *testing.T) {
	for _, c := range []struct {
		side
		want bool
	}{
		{side{words: 200, covered: 190, inside: 9}, true},
		{side{words: 200, covered: 190, inside: 10}, false},
		{side{words: 200, covered: 189, inside: 0}, false},
		{side{words: 200, covered: 200, inside: 10}, true},
	} {
		if got := c.isCopy(); got != c.want {
			t.Errorf("%+v: %v", c.side, got)
		}
	}
}

// TestChangeTaken: a known place is of no use once another text has the slot of a neighbour that was removed.
func TestChangeTaken(t *testing.T) {
	texts := []*Text{textOf("one two three four"), textOf("one two three five"), textOf("one two three six")}
	digests := []uint64{10, 11, 12}
	at, digest := func(slot uint32) *Text { return texts[slot] }, func(slot uint32) uint64 { return digests[slot] }
	was := placeOf(texts[0], []neighbour.Near{{Slot: 1}, {Slot: 2}}, at).Known(digest)
	var p Place
	if n, ok := p.Change(texts[0], was, []neighbour.Near{{Slot: 1}}, digest, at); n != 1 || !ok {
		t.Errorf("a removed neighbour: %d changed, %t", n, ok)
	}
	texts[2], digests[2] = textOf("something else"), 13
	if _, ok := p.Change(texts[0], was, []neighbour.Near{{Slot: 1}}, digest, at); ok {
		t.Error("the text in the slot of a removed neighbour was taken for it")
	}
}
