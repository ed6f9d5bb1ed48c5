package neardup

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/june2013"
	"github.com/neardup/neardup/internal/race"
)

// fields is the tokenizer of the program of june 2013. It splits at white space and does nothing
// else.
type fields struct{}

func (fields) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for w := range strings.FieldsSeq(text) {
			if !yield(Token{Text: w}) {
				return
			}
		}
	}
}

func paper(tie bool) *Fingerprinter {
	return &Fingerprinter{Tokenizer: fields{}, TiesOne: tie, Hash: Hash{Sum64: june2013.Hash64, Sum128: june2013.Hash128}}
}

// accumulate adds hashes given in binary, most significant bit first.
func accumulate(weights []int64, hashes ...string) *Accumulator64 {
	var a Accumulator64
	for i, s := range hashes {
		h := uint64(0)
		for _, c := range s {
			h = h<<1 | uint64(c-'0')
		}
		a.Add(h, weights[i])
	}
	return &a
}

// msb returns the lowest n components, the highest first, and as many bits.
func msb(a *Accumulator64, n int) (v []int64, bits string) {
	all := a.Vector()
	for i := n - 1; i >= 0; i-- {
		v = append(v, all[i])
	}
	return v, a.Sum().Bits()[64-n:]
}

// TestWorkedExamples checks the examples of the source documents.
func TestWorkedExamples(t *testing.T) {
	ones := []int64{1, 1, 1, 1, 1}
	for _, test := range []struct {
		name    string
		weights []int64
		hashes  []string
		vector  string
		bits    string
	}{
		{"hyper-000", ones, []string{"1010", "1100", "1110", "1000", "0001"}, "[3 -1 -1 -3]", "1000"},
		{"hyper-001", []int64{1, 2, 0, 3, 0}, []string{"101", "011", "100", "001", "110"}, "[-4 -2 6]", "001"},
		{"merge", []int64{4, 5}, []string{"100101", "101011"}, "[9 -9 1 -1 1 9]", "101011"},
	} {
		v, bits := msb(accumulate(test.weights, test.hashes...), len(test.bits))
		if fmt.Sprint(v) != test.vector || bits != test.bits {
			t.Errorf("%s: %v %s, want %s %s", test.name, v, bits, test.vector, test.bits)
		}
	}
	if d := Fingerprint64(0b10101).Distance(0b00110); d != 3 {
		t.Errorf("ham: %d, want 3", d)
	}
}

// TestPaperStrings checks the three strings of june 2013, at all widths.
func TestPaperStrings(t *testing.T) {
	texts := []string{
		"This is a test string for testing",
		"This is a test string for testing, This is a test string for testing abcdef",
		"This is a test string for testing als",
	}
	for _, test := range []struct {
		width int
		tie   bool
		want  string
		h     string
	}{
		{64, tieOne, "800d8e90e45cc488 800d8e90e4dcc488 800dae90e55ce488", "1 3 4"},
		{64, tieZero, "800d8e90e45cc488 800d8e90e4dcc488 d0c90a44cc088", "1 6 7"},
		{128, tieOne, "20302202800d8e90e45cc488 20302202800d8e90e4dcc488 20302282800dae90e55ce488", "1 4 5"},
		{128, tieZero, "20302202800d8e90e45cc488 20302202800d8e90e4dcc488 200000d0c90a44cc088", "1 11 12"},
		{50, tieOne, "18e90e45cc488 18e90e4dcc488 1ae90e55ce488", "1 3 4"},
		{50, tieZero, "18e90e45cc488 18e90e4dcc488 10c90a44cc088", "1 5 6"},
		{32, tieOne, "e45cc488 e4dcc488 e55ce488", "1 2 3"},
		{32, tieZero, "e45cc488 e4dcc488 a44cc088", "1 3 4"},
	} {
		f := paper(test.tie)
		var fp [3]Fingerprint128
		var hex []string
		for i, text := range texts {
			fp[i] = f.Sum128(Text(text)).Truncate(test.width)
			if test.width <= 64 {
				if fp64 := f.Sum64(Text(text)).Truncate(test.width); uint64(fp64) != fp[i].Lo {
					t.Errorf("width %d: Sum64 %v, Sum128 %v", test.width, fp64, fp[i])
				}
			}
			hex = append(hex, strings.TrimLeft(fp[i].String(), "0"))
		}
		if got := strings.Join(hex, " "); got != test.want {
			t.Errorf("f=%d tie=%t: %s, want %s", test.width, test.tie, got, test.want)
		}
		if got := fmt.Sprint(fp[0].Distance(fp[1]), fp[0].Distance(fp[2]), fp[1].Distance(fp[2])); got != test.h {
			t.Errorf("f=%d tie=%t: distances %s, want %s", test.width, test.tie, got, test.h)
		}
	}
	vector := func(text string) string {
		var a Accumulator64
		paper(tieZero).Accumulate64(&a, Text(text))
		return strings.Trim(fmt.Sprint(a.Vector()), "[]")
	}
	for text, want := range map[string]string{
		texts[0]: "-3 -1 -3 1 -5 -1 -1 5 -1 -1 1 -3 -3 -1 1 3 -5 -3 3 5 1 -5 1 -1 -1 -3 3 -3 -3 1 1 3 -1 -1 -1 -1 1 -1 -3 3 -3 1 3 3 -1 -1 -7 1 3 -3 3 1 -1 -3 -3 -3 -5 -3 -5 -3 -7 -3 -1 1",
		texts[2]: "-2 -2 -2 2 -4 -2 -2 4 -2 -2 0 -4 -2 0 2 2 -4 -4 2 6 0 -4 2 -2 0 -4 2 -4 -4 2 0 4 -2 -2 -2 -2 2 -2 -2 2 -4 0 2 2 -2 0 -6 0 2 -2 2 2 -2 -2 -4 -4 -6 -4 -4 -4 -6 -4 -2 0",
	} {
		if got := vector(text); got != want {
			t.Errorf("accumulator of %q:\n%s, want\n%s", text, got, want)
		}
	}
}

// TestCities checks the 20 city names of june 2013.
func TestCities(t *testing.T) {
	cities := strings.Split("北京,上海,香港,深圳,广州,台北,南京,大连,苏州,青岛,无锡,佛山,重庆,宁波,杭州,成都,武汉,澳门,天津,沈阳", ",")
	want := map[bool][]int{
		tieOne:  {5, 6, 8, 8, 11, 9, 9, 10, 14, 12},
		tieZero: {8, 8, 9, 7, 14, 11, 14, 11, 15, 14},
	}
	all := map[bool]Fingerprint64{tieOne: 0x20dabbedb772bceb, tieZero: 0x20d8abcc155284a3}
	for tie, distances := range want {
		f := paper(tie)
		whole := f.Sum64(Text(strings.Join(cities, " ")))
		if whole != all[tie] {
			t.Errorf("tie %t: all cities %v, want %v", tie, whole, all[tie])
		}
		for j, want := range distances {
			part := f.Sum64(Text(strings.Join(cities[:19-j], " ")))
			if d := whole.Distance(part); d != want {
				t.Errorf("tie %t without the last %d: H = %d, want %d", tie, j+1, d, want)
			}
		}
	}
}

// naive is the accumulator as the definition has it.
type naive struct{ v [64]int64 }

func (n *naive) add(h uint64, w int64) {
	for i := range n.v {
		if h>>i&1 == 1 {
			n.v[i] += w
		} else {
			n.v[i] -= w
		}
	}
}

func (n *naive) sum(tie bool) (fp Fingerprint64) {
	for i, v := range n.v {
		if v > 0 || v == 0 && tie == tieOne {
			fp |= 1 << i
		}
	}
	return fp
}

func checkAccumulator(t *testing.T, a *Accumulator64, n *naive) {
	t.Helper()
	if got := a.Vector(); got != n.v {
		t.Fatalf("Vector = %v, want %v", got, n.v)
	}
	for _, tie := range []bool{tieZero, tieOne} {
		if got := sum(a, tie); got != n.sum(tie) {
			t.Fatalf("Sum with ties %t = %v, want %v of %v", tie, got, n.sum(tie), n.v)
		}
	}
}

// TestAccumulatorModel runs random operations against the definition.
func TestAccumulatorModel(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	weights := []int64{0, 1, -1, 2, -2, 3, 7, 100, -100, 1 << 20, -1<<20 - 1, 1 << 40, -1 << 40, 1<<50 + 12345}
	for range 200 {
		var a, b Accumulator64
		var n, nb naive
		for range rnd.IntN(40) {
			switch rnd.IntN(5) {
			case 0:
				hs := make([]uint64, rnd.IntN(100))
				for i := range hs {
					hs[i] = rnd.Uint64()
					n.add(hs[i], 1)
				}
				a.AddAll(hs)
			case 1, 2:
				h, w := rnd.Uint64(), weights[rnd.IntN(len(weights))]
				a.Add(h, w)
				n.add(h, w)
			case 3:
				h, w := rnd.Uint64()&rnd.Uint64(), weights[rnd.IntN(len(weights))]
				b.Add(h, w)
				nb.add(h, w)
			case 4:
				sign := int64(1)
				if rnd.IntN(2) == 0 {
					sign = -1
					a.Subtract(&b)
				} else {
					a.Merge(&b)
				}
				for i := range n.v {
					n.v[i] += sign * nb.v[i]
				}
			}
			checkAccumulator(t, &a, &n)
			checkAccumulator(t, &b, &nb)
		}
	}
}

// TestAccumulatorOrder checks that the state, not only the result, is
// independent of order and of how the work was divided.
func TestAccumulatorOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	h := make([]uint64, 1000)
	for i := range h {
		h[i] = rnd.Uint64()
	}
	var whole, shuffled, left, right Accumulator64
	whole.AddAll(h)
	left.AddAll(h[:317])
	right.AddAll(h[317:])
	left.Merge(&right)
	rnd.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
	for _, h := range h {
		shuffled.Add(h, 3)
		shuffled.Add(h, -2)
	}
	if whole != left || whole != shuffled {
		t.Error("the sum depends on the order")
	}
	for _, h := range h {
		shuffled.Add(h, -1)
	}
	if shuffled != (Accumulator64{}) {
		t.Error("taking everything out does not leave the empty sum")
	}
}

func TestAccumulator128(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var a, b Accumulator128
	var hi, lo naive
	h, l := make([]uint64, 77), make([]uint64, 77)
	for i := range h {
		h[i], l[i] = rnd.Uint64(), rnd.Uint64()
		hi.add(h[i], 1)
		lo.add(l[i], 1)
	}
	a.AddAll(h, l)
	b.Add(h[0], l[0], 5)
	a.Merge(&b)
	a.Subtract(&b)
	v := a.Vector()
	if [64]int64(v[64:]) != hi.v || [64]int64(v[:64]) != lo.v {
		t.Error("Vector differs from the definition")
	}
	want := Fingerprint128{uint64(hi.sum(tieOne)), uint64(lo.sum(tieOne))}
	if got := a.SumTiesOne(); got != want {
		t.Errorf("Sum = %v, want %v", got, want)
	}
}

// TestEdit shows how a fingerprint follows an edit without the rest of the text.
func TestEdit(t *testing.T) {
	var f Fingerprinter
	var doc, old, new Accumulator64
	f.Accumulate64(&doc, Text("the quick brown fox jumps over the lazy dog"))
	f.Accumulate64(&doc, Text("every good boy deserves fudge"))
	f.Accumulate64(&old, Text("every good boy deserves fudge"))
	f.Accumulate64(&new, Text("every good girl deserves fudge"))
	doc.Subtract(&old)
	doc.Merge(&new)
	var want Accumulator64
	f.Accumulate64(&want, Text("every good girl deserves fudge"))
	f.Accumulate64(&want, Text("the quick brown fox jumps over the lazy dog"))
	if doc != want {
		t.Error("an edited sum differs from a new one")
	}
}

// general is f on the general path: the same hash, given by the caller.
func general(f Fingerprinter) *Fingerprinter {
	f.Hash = Hash{Sum64: xxh3.HashString, Sum128: func(s string) (hi, lo uint64) {
		u := xxh3.HashString128(s)
		return u.Hi, u.Lo
	}}
	return &f
}

// TestWeights checks that a weight of n counts as n occurrences, and that only
// ratios matter.
func TestWeights(t *testing.T) {
	text := "one two two three three three four four four four"
	f := Fingerprinter{Tokenizer: Words{}}
	want := f.Sum64(Text(text))
	for _, scale := range []float64{1, 0.25, 1000, 3.7} {
		f.Weight = perToken(func(t Token) float64 { return scale })
		if got := f.Sum64(Text(text)); got != want {
			t.Errorf("scale %v: %v, want %v", scale, got, want)
		}
	}
	f.Weight = perToken(func(t Token) float64 { return float64(len(t.Text)) })
	a := f.Sum64(Text("one three"))
	f.Weight = nil
	if b := f.Sum64(Text("one three one three one three three three")); a != b {
		t.Errorf("weights 3 and 5 give %v, 3 and 5 occurrences %v", a, b)
	}
}

func TestQuantize(t *testing.T) {
	for w, want := range map[float64]int64{
		0: 0, 1: 1 << 20, -1: -1 << 20, 0.5: 1 << 19, 0x1p-21: 1, -0x1p-21: -1, 0x1p-22: 0,
		math.Inf(1): 1 << 51, math.Inf(-1): -1 << 51, 1e300: 1 << 51, math.MaxInt32: (1<<31 - 1) << 20,
	} {
		if got := exact.Quantize(w); got != want {
			t.Errorf("exact.Quantize(%v) = %d, want %d", w, got, want)
		}
	}
	if exact.Quantize(math.NaN()) != 0 {
		t.Error("NaN does not count as 0")
	}
}

// TestNoFeatures: nothing to compare is 0, and a real text is not.
func TestNoFeatures(t *testing.T) {
	for _, text := range []string{"", "  \n", "!?…。", "\xff\xfe\x80", "→©±", "\u00ad\ufe0f"} {
		if fp, fp128 := Sum64(text), new(Fingerprinter).Sum128(Text(text)); fp != 0 || fp128 != (Fingerprint128{}) {
			t.Errorf("%q has fingerprint %v, %v", text, fp, fp128)
		}
	}
	for _, text := range []string{"a", "7", "中", "中文", "한", "ก", "🙂"} {
		if fp, fp128 := Sum64(text), new(Fingerprinter).Sum128(Text(text)); fp == 0 || fp128 == (Fingerprint128{}) {
			t.Errorf("%q has no features", text)
		}
	}
}

func TestHashMissing(t *testing.T) {
	f := Fingerprinter{Hash: Hash{Sum64: june2013.Hash64}}
	f.Sum64(Text("fine"))
	defer func() {
		if recover() == nil {
			t.Error("Sum128 without Hash.Sum128 did not panic")
		}
	}()
	f.Sum128(Text("not fine"))
}

// TestAllocations: no allocation per text once the buffers are there.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	text := strings.Repeat("The quick brown fox 跳过了懒狗。 ", 500)
	for _, tok := range []Tokenizer{nil, Words{}, NGrams{3}} {
		f := Fingerprinter{Tokenizer: tok}
		if n := testing.AllocsPerRun(20, func() { f.Sum64(Text(text)); f.Sum128(Text(text)) }); n > 0.5 {
			t.Errorf("%T: %v allocations for a fingerprint", tok, n)
		}
		b := DocumentFrequenciesBuilder{Fingerprinter: f}
		b.Add(Text(text))
		for _, w := range []Weight{Product{Count, IDF{Frequencies: b.Build(), Smooth: true}}, LogCount, Product{Count, termLength{}}} {
			f.Weight = w
			if n := testing.AllocsPerRun(20, func() { f.Sum64(Text(text)); f.Sum128(Text(text)) }); n > 0.5 {
				t.Errorf("%T: %v allocations for a fingerprint with weight %s", tok, n, weightVersion(w))
			}
		}
		var got float64
		tok := f.tokenizer()
		got = testing.AllocsPerRun(5, func() {
			for range tok.Tokens(text) {
			}
		})
		if got > 100 { // for blocks, not for the thousands of tokens
			t.Errorf("%T: %v allocations for the tokens of a text", tok, got)
		}
	}
}

// TestSumOf: features with weights have the fingerprint of a text that has them so often, in both widths, with a secret and
// either way to decide ties.
func TestSumOf(t *testing.T) {
	seeded, err := SeededHash([]byte("a secret that is none"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{"fish": 3, "and": 1, "chips": 2, "peas": 2}
	text := Text("fish chips, peas and fish; chips, peas, fish")
	for _, f := range []Fingerprinter{{}, {TiesOne: true}, {Hash: seeded}} {
		f.Tokenizer = Words{}
		if got, want := f.Sum64Of(counts), f.Sum64(text); got != want {
			t.Errorf("%v, and of a text %v", got, want)
		}
		if got, want := f.Sum128Of(counts), f.Sum128(text); got != want {
			t.Errorf("%v, and of a text %v", got, want)
		}
		if got, want := f.Sum64Of(nil), f.Sum64(Text("")); got != want {
			t.Errorf("nothing has %v, and an empty text %v", got, want)
		}
	}
	var f Fingerprinter
	// Less than half of 2⁻²⁰ counts for nothing; signs count.
	if got, want := f.Sum64Of(map[string]float64{"a": 0.4 / (1 << 20), "b": 0.6 / (1 << 20)}), f.Sum64Of(map[string]float64{"b": 1}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := f.Sum64Of(map[string]float64{"a": -2, "b": 1}), ^f.Sum64Of(map[string]float64{"a": 2, "b": -1}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// FuzzAccumulator reads operations from the input and compares with the
// definition.
func FuzzAccumulator(f *testing.F) {
	f.Add([]byte("\x00aaaaaaaabbbbbbbb\x01cccccccc\x07\x02"))
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 3, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b Accumulator64
		var na, nb naive
		word := func() uint64 {
			var w [8]byte
			data = data[copy(w[:], data):]
			return binary.LittleEndian.Uint64(w[:])
		}
		for len(data) > 0 {
			op := data[0]
			data = data[1:]
			switch op % 4 {
			case 0:
				h := make([]uint64, 5+op/4) // up to 68
				w := make([]int64, len(h))
				for i := range h {
					h[i], w[i] = word(), 1
				}
				if op&4 == 0 {
					a.AddAll(h)
				} else {
					for i := range w {
						w[i] = int64(word()) >> (op / 8)
					}
					a.AddWeighted(h, w)
				}
				for i, h := range h {
					na.add(h, w[i])
				}
			case 1:
				h, w := word(), int64(word())>>(op/4)
				a.Add(h, w)
				na.add(h, w)
			case 2:
				a, b, na, nb = b, a, nb, na
			case 3:
				a.Merge(&b)
				for i := range na.v {
					na.v[i] += nb.v[i]
				}
			}
		}
		checkAccumulator(t, &a, &na)
		a.Subtract(&a)
		if a != (Accumulator64{}) {
			t.Fatal("a sum minus itself is not empty")
		}
	})
}
