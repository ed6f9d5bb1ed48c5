package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup"
)

// TestSignatureMatrix checks the worked example of Wang 2019 §2.1, after each row.
func TestSignatureMatrix(t *testing.T) {
	has := [][]bool{{true, false, true, false}, {true, true, false, false}, {false, true, false, false}, {false, true, true, true}, {false, false, true, true}}
	const o = Infinity
	want := []SignatureMatrix{
		{{1, o, 1, o}, {1, o, 1, o}}, {{1, 2, 1, o}, {1, 3, 1, o}}, {{1, 2, 1, o}, {1, 0, 1, o}},
		{{1, 2, 1, 4}, {1, 0, 1, 2}}, {{1, 2, 0, 0}, {1, 0, 1, 2}},
	}
	family := Linear(5, [2]int{1, 1}, [2]int{2, 1})
	m := NewSignatureMatrix(2, 4)
	for row := range has {
		m.Add(row, has[row], family)
		if fmt.Sprint(m) != fmt.Sprint(want[row]) {
			t.Errorf("after row %d: %v, want %v", row, m, want[row])
		}
	}
	sets := [][]int{{0, 1}, {1, 2, 3}, {0, 3, 4}, {3, 4}}
	if got := MinHash(sets, family); fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("%v, want %v", got, m)
	}
	for _, e := range []struct {
		a, b int
		want float64
	}{{0, 1, 0}, {0, 2, 0.5}, {0, 3, 0}, {1, 2, 0}, {1, 3, 0}, {2, 3, 0.5}} {
		if got := m.Estimate(e.a, e.b); got != e.want {
			t.Errorf("s%d, s%d: %g, want %g", e.a+1, e.b+1, got, e.want)
		}
	}
	// With rows from 1.
	for c := range sets {
		for i := range sets[c] {
			sets[c][i]++
		}
	}
	if got := MinHash(sets, family); fmt.Sprint(got) != "[[2 0 0 0] [0 0 1 1]]" {
		t.Errorf("rows from 1: %v", got)
	}
	if !math.IsNaN(MinHash([][]int{{}, {}}, family).Estimate(0, 1)) {
		t.Error("of empty sets it is a number")
	}
}

// TestCyclic checks how large the error of the hundred functions of Wang 2019 is.
func TestCyclic(t *testing.T) {
	family := Cyclic(100, 100)
	for _, test := range []struct {
		a, b []int
		want float64
	}{
		{[]int{0, 1}, []int{1, 2, 3}, 0.01}, {[]int{0, 3, 4}, []int{3, 4}, 0.04}, {[]int{0, 1}, []int{0, 3, 4}, 0.96},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 0.05}, {[]int{0, 50}, []int{0, 25, 50, 75}, 0.5}, {[]int{10}, []int{90}, 0},
	} {
		if got := MinHash([][]int{test.a, test.b}, family).Estimate(0, 1); got != test.want {
			t.Errorf("%v %v: %g, want %g", test.a, test.b, got, test.want)
		}
	}
	// Random rows: no bias, but an error of 0.094. Permutations have 0.052.
	rnd := rand.New(rand.NewPCG(1, 1))
	sum, squares, library := 0.0, 0.0, 0.0
	const rounds = 4000
	for round := range rounds {
		rows := rnd.Perm(100)[:20]
		e := MinHash([][]int{rows[:15], rows[5:]}, family).Estimate(0, 1) - 0.5
		sum += e
		squares += e * e
		item := func(rows []int) (hashes []uint64) {
			for _, r := range rows {
				hashes = append(hashes, neardup.SetOf(fmt.Sprint(round, r))...)
			}
			return hashes
		}
		m := neardup.MinHash{Values: 100, Permutations: true}
		e = m.Sign(item(rows[:15])).Jaccard(m.Sign(item(rows[5:]))) - 0.5
		library += e * e
	}
	deviation, ours := math.Sqrt(squares/rounds), math.Sqrt(library/rounds)
	t.Logf("bias %+.4f, deviation %.4f; of the library %.4f", sum/rounds, deviation, ours)
	if math.Abs(sum/rounds) > 3*deviation/math.Sqrt(rounds) || math.Abs(deviation-0.094) > 0.005 || math.Abs(ours-0.05) > 0.004 {
		t.Errorf("bias %f, deviation %f and %f", sum/rounds, deviation, ours)
	}
}

func TestShingles(t *testing.T) {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 2}}
	a, b := f.Set(neardup.Text("相似文本识别技术")), f.Set(neardup.Text("相似文档识别技术"))
	if len(a) != 7 || a.Jaccard(b) != 5./9 || a.Containment(b) != 5./7 {
		t.Errorf("%d shingles, resemblance %g, containment %g", len(a), a.Jaccard(b), a.Containment(b))
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	random := func(n int) (h []uint64) {
		for range n {
			h = append(h, rnd.Uint64())
		}
		return h
	}
	sampled, naive := 0.0, 0.0
	const rounds = 400
	for range rounds {
		common := random(500)
		x, y := neardup.NewSet(append(random(250), common...)), neardup.NewSet(append(random(250), common...))
		p := ModP(x, 25)
		for _, h := range x {
			if _, in := slices.BinarySearch(p, h); in != (h%25 == 0) {
				t.Fatalf("%d is in the sample: %t", h, in)
			}
		}
		sx, sy := Smallest(x, 100), Smallest(y, 100)
		if len(sx) != 100 || sx[99] != x[99] {
			t.Fatal("not the smallest")
		}
		sampled += SmallestResemblance(sx, sy, 100) / rounds
		naive += ModP(x, 5).Jaccard(ModP(y, 5)) / rounds
	}
	if math.Abs(sampled-0.5) > 3*0.05/math.Sqrt(rounds) || math.Abs(naive-0.5) > 3*0.05/math.Sqrt(rounds) {
		t.Errorf("MIN_s estimates %f and mod p %f, want 0.5", sampled, naive)
	}
	set := neardup.NewSet([]uint64{5, 1, 3, 9})
	super := SuperShingles(set, 2)
	if len(super) != 3 || len(SuperShingles(set, 4)) != 1 || len(SuperShingles(set, 5)) != 0 {
		t.Errorf("%d super-shingles", len(super))
	}
	other := SuperShingles(neardup.NewSet([]uint64{1, 3, 4, 5, 9}), 2) // 1 3, 5 9 in common
	if !ShareAny(super, other) || super.Containment(other) != 2./3 {
		t.Errorf("share %g", super.Containment(other))
	}
	if ShareAny(super, SuperShingles(neardup.NewSet([]uint64{1, 5, 10}), 2)) || ShareAny(nil, nil) {
		t.Error("share what they do not have")
	}
	if !math.IsNaN(SmallestResemblance(nil, nil, 10)) || len(Smallest(set, -1)) != 0 {
		t.Error("of nothing")
	}
}

func TestIMatch(t *testing.T) {
	terms := (&IMatch{}).Terms("Hash; duplicate hash, ALGORITHM")
	for _, test := range []struct{ got, want string }{
		{fmt.Sprint(terms), "[algorithm duplicate hash]"},
		{SHA1(terms, ""), "f2653d41f5f4d5d736ad4be7ab8904836d61007d"},
		{SHA1(terms, "\x00"), "bbc801f20b3165e1d8f317b213af6baf983fbde4"},
		{SHA1(nil, ""), ""}, {Sum(nil), ""},
		{Sum([]string{"a", "b", "c"}), Sum([]string{"c", "a", "b"})},
	} {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
	if Sum([]string{"a"}) == Sum([]string{"b"}) {
		t.Error("the sums of two terms are equal")
	}
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
	for _, text := range []string{"the cat sat", "the dog sat", "the bird flew", "the cat slept"} {
		b.Add(neardup.Text(text))
	}
	m := IMatch{Statistics: b.Build(), Low: 0.5, High: 1}
	if got := fmt.Sprint(m.Terms("the cat sat and the unicorn flew")); got != "[cat sat]" { // their idf is ln 2; the others have ln 4 or 0, or are unknown
		t.Error(got)
	}
	m.Low, m.High = math.Log(2), math.Log(2) // both ends belong to the window
	if got := fmt.Sprint(m.Terms("the cat sat and flew")); got != "[cat sat]" {
		t.Error(got)
	}
	m.MaxCount = 1
	if got := fmt.Sprint(m.Terms("cat cat sat")); got != "[sat]" {
		t.Error(got)
	}
}
