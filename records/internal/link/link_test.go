package link

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// distance is the optimal string alignment distance, by its definition.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}

// TestEdits compares with the definition.
func TestEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		text := func() string {
			b := make([]byte, r.IntN(9))
			for i := range b {
				b[i] = "abc"[r.IntN(3)]
			}
			return string(b)
		}
		a, b, most := text(), text(), r.IntN(9)
		if got, want := edits(a, b, most), min(distance(a, b), most+1); got != want {
			t.Fatalf("edits(%q, %q, %d) is %d, not %d", a, b, most, got, want)
		}
	}
	if long := strings.Repeat("a", 300); edits(long, "b"+long+"b", 5) > 6 || edits(long, long, 0) != 0 {
		t.Error("long texts")
	}
}

// FuzzEdits compares with the definition.
func FuzzEdits(f *testing.F) {
	f.Add("kitten", "sitting", 3)
	f.Add("ca", "abc", 9)
	f.Fuzz(func(t *testing.T, a, b string, most int) {
		if len(a) > 60 || len(b) > 60 || most < 0 || most > 100 {
			return
		}
		if got, want := edits(a, b, most), min(distance(a, b), most+1); got != want {
			t.Fatalf("edits(%q, %q, %d) is %d, not %d", a, b, most, got, want)
		}
	})
}

// TestPlain: what means the same is written alike, and cut into words alike.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"Łukasz  WÓJCIK": "lukasz wojcik", "Brüggemann": "bruggemann", "O'Brien-Smith, Jr.": "obrien smith jr", "Ｈａｕｐｔｓｔｒａße": "hauptstrasse", "中关村大街27号": "中关村大街27号",
		"\xff\xfe x": "x", "½ kg": "1 2 kg", "": "", " .!": "", "Nguye\u0302\u0303n": "nguyen", "ПЕТРО": "петро",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
	if got := fmt.Sprint(appendWords(nil, "128gb 中关村27 b")); got != "[128 gb 中 关 村 27 b]" {
		t.Error(got)
	}
}

// TestNumbers: numbers, prices and lengths of time.
func TestNumbers(t *testing.T) {
	for in, want := range map[string]float64{"1,234.5": 1234.5, "$89.90": 89.9, "1m 58sec": 118, "08:40": 520, "-3": -3, "1e3": 1000, " 7 ": 7} {
		if got, ok := numberOf(in); !ok || got != want {
			t.Errorf("%q: %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "x", "1:2", "1:234", "m", "5m", "1e999", "12a", ":10", "NaN", "-1:20", "99999999999999999999:10"} {
		if got, ok := numberOf(in); ok {
			t.Errorf("%q is %v", in, got)
		}
	}
}

// TestKinds: what a column is.
func TestKinds(t *testing.T) {
	of := func(f func(i int) string) (cells []string) {
		for i := range 400 {
			cells = append(cells, f(i))
		}
		return cells
	}
	for _, test := range []struct {
		want  string
		cells []string
	}{
		{"text", of(func(i int) string { return fmt.Sprint([]string{"red ", "blue "}[i%2], i%50) })}, {"number", of(func(i int) string { return fmt.Sprint(float64(i) * 1.37) })}, {"number", of(func(i int) string { return fmt.Sprint(1900 + i%100) })},
		{"date", of(func(i int) string { return fmt.Sprintf("19%02d-%02d-%02d", i%100, 1+i%12, 1+i%28) })}, {"date", of(func(i int) string { return fmt.Sprintf("19%02d%02d%02d", i%100, 1+i%12, 1+i%28) })},
		{"code", of(func(i int) string { return fmt.Sprint(1_000_000 + 7919*i) })}, {"code", of(func(i int) string { return fmt.Sprintf("+49 431 %06d", 7919*i%1_000_000) })}, {"text", of(func(int) string { return "" })},
	} {
		if c := readColumn("x", test.cells).columns[0]; kindNames[c.kind] != test.want {
			t.Errorf("%q is a %s, not a %s", test.cells[:3], kindNames[c.kind], test.want)
		}
	}
}

// columnOf returns cells as one column, with its rows in their order.
func columnOf(raw []string) *column {
	of := read(raw)
	c := newColumn(source{name: "x"}, of, of.each(plain))
	c.arrange(upTo(len(raw)))
	return c
}

// TestAgreement: at which level two values agree.
func TestAgreement(t *testing.T) {
	for _, test := range []struct {
		kind kind
		a, b string
		want int
	}{
		{texts, "Arnie Morton's", "arnie mortons", equal}, {texts, "catherine", "catherina", 3}, {texts, "main street", "main strete", 3}, {texts, "alpha beta gamma delta", "gamma delta epsilon zeta", 1}, {texts, "one", "two", 0},
		{numbers, "5", "5.0", equal}, {numbers, "1000", "1004", 3}, {numbers, "75", "1975", 3}, {numbers, "100", "102", 2}, {numbers, "100", "109", 1}, {numbers, "100", "300", 0}, {numbers, "10523", "10823", 2},
		{dates, "1984-03-12", "12 March 1984", equal}, {dates, "1984-03-12", "1984-03-21", 3}, {dates, "1951-11-05", "1951-05-11", 3}, {dates, "1960-02-02", "1991-07-15", 0}, {codes, "0431 555022", "0431-555022", equal}, {codes, "4155550133", "4155550134", 3}, {codes, "4155550133", "2125559876", 0},
	} {
		cells := []string{test.a, test.b}
		for i := range 300 {
			cells = append(cells, fmt.Sprintf("filler%d word%d", i, i%7))
		}
		c := columnOf(cells)
		if test.kind == dates {
			c = readColumn("x", cells[:2]).columns[0]
		}
		c.count(upTo(len(c.of)))
		c.weigh()
		c.kind = test.kind
		if got := c.agreement(c.of[0], c.of[1]); got != test.want || c.agreement(c.of[1], c.of[0]) != got {
			t.Errorf("%q and %q agree at level %d, not %d", test.a, test.b, got, test.want)
		}
	}
}

// upTo returns the numbers below n.
func upTo(n int) (all []int32) {
	for i := range int32(n) {
		all = append(all, i)
	}
	return all
}

// TestCandidates compares with the definition: rows that share a part, or two of their rarest, that few rows have, and enough information.
func TestCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var cells [3][]string
	for range 500 {
		for n, of := range []int{400, 12, 3} {
			x := r.IntN(of)
			cells[n] = append(cells[n], string([]byte{'a' + byte(x/26), 'a' + byte(x%26)})) // one word
		}
	}
	tab := newTable([]string{"a", "b", "c"}, cells[:], 500, Rules{})
	got := map[[2]int32]bool{}
	for _, p := range tab.candidates(upTo(500)) {
		got[[2]int32{p.a, p.b}] = true
	}
	for a := range int32(500) {
		for b := a + 1; b < 500; b++ {
			want := false
			for x := range 3 {
				for y := x; y < 3; y++ {
					n := 0
					for row := range 500 {
						if tab.columns[x].of[row] == tab.columns[x].of[a] && tab.columns[y].of[row] == tab.columns[y].of[a] {
							n++
						}
					}
					same := tab.columns[x].of[a] == tab.columns[x].of[b] && tab.columns[y].of[a] == tab.columns[y].of[b]
					want = want || same && n <= mostRows
				}
			}
			information := int32(0)
			for _, c := range tab.columns[:3] {
				if n := c.of[a]; n == c.of[b] {
					rows := 0
					for _, m := range c.of {
						if m == n {
							rows++
						}
					}
					information += int32(inUnits * math.Log(500/float64(rows)))
				}
			}
			want = want && information >= int32(leastShared*inUnits*math.Log(500))
			if got[[2]int32{a, b}] != want {
				t.Fatalf("%d and %d: %v", a, b, got[[2]int32{a, b}])
			}
		}
	}
}

// TestColumns: texts with numbers are two columns, and columns that say nothing are ignored.
func TestColumns(t *testing.T) {
	names := []string{"id", "street", "kind", "born", "name", "key", "hash", "part"}
	var cells [8][]string
	for i := range 60 {
		for n, cell := range []string{fmt.Sprint(1000 + i), fmt.Sprintf("%d %s Lane", i%7, []string{"Mill", "Long"}[i%2]), "person", fmt.Sprintf("%d May 19%02d", 1+i%28, i), []string{"Ann", "Bob", "Eve"}[i%3], fmt.Sprint("p", i), fmt.Sprintf("%016x", i*7919), fmt.Sprint("no. ", i%9)} {
			cells[n] = append(cells[n], cell)
		}
	}
	tab := newTable(names, cells[:], 60, Rules{})
	var got []string
	for _, c := range tab.columns {
		got = append(got, c.name+" "+kindNames[c.kind])
	}
	if want := []string{"street text", "street numbers in the text", "born date", "name text", "part code", " text"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !slices.Equal(tab.ignored, []string{"id", "kind", "key", "hash"}) {
		t.Errorf("%q are ignored", tab.ignored)
	}
	if whole := tab.columns[5]; strings.Contains(fmt.Sprint(whole.words), "person") || !slices.Contains(whole.words, "lane") {
		t.Errorf("the rows as wholes have the words %q", whole.words)
	}
	tab = newTable([]string{"x"}, [][]string{cells[1]}, 60, Rules{})
	if !tab.isOne() || len(tab.columns) != 2 || !tab.columns[1].whole {
		t.Errorf("one column: %v", tab.columns)
	}
}

// TestFigures: at which level the numbers of two texts agree.
func TestFigures(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"12 4", "4 12", equal}, {"12 4", "12", 3}, {"12 4 7", "12 4 9", 2}, {"1 2 3 4", "1 7 8 9", 1}, {"12", "21", 0}} {
		c := columnOf([]string{test.a, test.b})
		c.kind = figures
		if got := c.agreement(c.of[0], c.of[1]); got != test.want {
			t.Errorf("%q and %q agree at level %d, not %d", test.a, test.b, got, test.want)
		}
	}
}

// TestSigns: signs never show that words that are alike are not, nor more edits than there are.
func TestSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcde0123\xe4\xb8"[r.IntN(11)]
		}
		return string(b)
	}
	for range 20_000 {
		a := word(1 + r.IntN(12))
		b := word(1 + r.IntN(12))
		if r.IntN(2) == 0 {
			b = a[:r.IntN(len(a)+1)] + word(1+r.IntN(2)) + a[r.IntN(len(a)):]
		}
		if d := edits(a, b, 64); leastEdits(signOf(a), signOf(b)) > d {
			t.Fatalf("%q and %q are %d edits apart, not %d or more", a, b, d, leastEdits(signOf(a), signOf(b)))
		}
		if a != b && unlike(signOf(a), signOf(b)) && alike(a, b) > 0 {
			t.Fatalf("%q and %q are alike", a, b)
		}
	}
}

// TestGroups: a doubtful pair does not join two groups whose other pairs speak against it.
func TestGroups(t *testing.T) {
	tab := &Table{rows: 7, copies: []int32{0, 1, 2, 3, 4, 5, 6}}
	pairs := []Pair{{A: 0, B: 1, Odds: 5}, {A: 1, B: 2, Odds: 4}, {A: 0, B: 2, Odds: -1}, {A: 3, B: 4, Odds: 6}, {A: 2, B: 3, Odds: 0.5}, {A: 5, B: 6, Odds: -0.1}}
	if got, want := tab.groups(pairs, 0), []int32{0, 0, 0, 3, 3, 5, 6}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if got, want := tab.groups(pairs, 4.5), []int32{0, 0, 2, 3, 3, 5, 6}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestSiblings: articles of one issue have journal, year and volume in common, and are not the same.
func TestSiblings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	names := []string{"title", "author", "journal", "year", "volume"}
	var cells [5][]string
	add := func(row [5]string) {
		for n, cell := range row {
			cells[n] = append(cells[n], cell)
		}
	}
	title := func() string {
		var w []string
		for range 6 {
			w = append(w, fmt.Sprint("word", r.IntN(900)))
		}
		return strings.Join(w, " ")
	}
	want := 0
	for i := range 1000 {
		row := [5]string{title(), fmt.Sprintf("author%d, author%d", r.IntN(300), r.IntN(300)), fmt.Sprint("journal of ", i/12%20), fmt.Sprint(1990 + i/12%7), fmt.Sprint(1 + i/12%29)}
		add(row)
		if i%5 == 0 {
			row[0] += "."
			row[1] = strings.Replace(row[1], "author", "a", 1)
			add(row)
			want++
		}
	}
	result, err := Link(context.Background(), names, cells[:], len(cells[0]), Rules{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[int32]int{}
	for _, g := range result.Groups {
		groups[g]++
	}
	n := 0
	for _, size := range groups {
		if size == 2 {
			n++
		} else if size > 2 {
			t.Errorf("a group of %d", size)
		}
	}
	if math.Abs(float64(n-want)) > 3 {
		t.Errorf("%d groups, not %d", n, want)
	}
}
