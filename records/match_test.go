package records

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

// people makes a table of n persons, a third of whom are in it twice, the second time with an error in one or two columns. It returns the pairs, too.
func people(n int, seed uint64) (rows []neardup.Record, pairs [][2]int) {
	r := rand.New(rand.NewPCG(seed, seed))
	word := func(seed, letters int) string {
		x := rand.New(rand.NewPCG(uint64(seed), 3))
		b := make([]byte, letters)
		for i := range b {
			b[i] = "bcdfghklmnprstvw"[x.IntN(16)]
			if i%2 == 1 {
				b[i] = "aeiou"[x.IntN(5)]
			}
		}
		return string(b)
	}
	for i := range n {
		row := neardup.Record{
			"first": word(r.IntN(80), 6), "last": word(1000+r.IntN(400), 8), "born": fmt.Sprintf("%d-%02d-%02d", 1930+r.IntN(80), 1+r.IntN(12), 1+r.IntN(28)),
			"street": fmt.Sprintf("%d %s street", 1+r.IntN(90), word(2000+r.IntN(300), 9)), "city": word(3000+r.IntN(40), 7), "phone": fmt.Sprint(1_000_000 + r.IntN(8_000_000)),
		}
		rows = append(rows, row)
		if i%3 > 0 {
			continue
		}
		again := neardup.Record{}
		for name, value := range row {
			again[name] = value
		}
		for range 1 + r.IntN(2) {
			name := []string{"first", "last", "street", "phone", "city"}[r.IntN(5)]
			switch at := r.IntN(len(again[name]) - 1); r.IntN(4) {
			case 0:
				delete(again, name)
			case 1:
				again[name] = again[name][:at] + again[name][at+1:]
			case 2:
				again[name] = again[name][:at] + string(again[name][at+1]) + string(again[name][at]) + again[name][at+2:]
			case 3:
				again[name] = strings.ToUpper(again[name]) + " "
			}
			if again[name] == "" {
				break
			}
		}
		pairs = append(pairs, [2]int{len(rows) - 1, len(rows)})
		rows = append(rows, again)
	}
	return rows, pairs
}

func match(t testing.TB, rows []neardup.Record, o MatchOptions) *Matches {
	t.Helper()
	m, err := Match(t.Context(), rows, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMatch finds planted pairs, and says how many of what it finds is wrong.
func TestMatch(t *testing.T) {
	rows, want := people(1500, 1)
	m := match(t, rows, MatchOptions{})
	found := map[[2]int]bool{}
	for _, p := range m.Pairs {
		found[[2]int{p.A, p.B}] = true
		if !(p.Probability >= 0.5 && p.Probability <= 1) {
			t.Errorf("%+v", p)
		}
	}
	hit := 0
	for _, p := range want {
		if found[p] {
			hit++
		}
	}
	if wrong := len(found) - hit; hit < len(want)*99/100 || wrong > 5 || m.Wrong() > 20 {
		t.Errorf("%d of %d pairs are found, and %d wrong ones, of which %.1f were expected", hit, len(want), wrong, m.Wrong())
	}
	if len(m.Groups) < len(want)*99/100 || len(m.Groups) > len(want)+5 {
		t.Errorf("%d groups", len(m.Groups))
	}
	// What is explained adds up, for pairs and for others.
	for _, p := range append(m.Pairs[:20:20], neardup.Pair[int]{A: 0, B: 77}) {
		evidence, probability := m.Explain(p.B, p.A)
		sum := 0.0
		for _, e := range evidence {
			sum += e.Adds
		}
		if x := 1 / (1 + math.Exp(-sum)); math.Abs(x-probability) > 1e-9 || p.Probability > 0 && math.Abs(probability-p.Probability) > 1e-9 || len(evidence) != 9 {
			t.Errorf("%v: %v adds up to %v, and not %v", p, evidence, x, probability)
		}
	}
}

// TestMatchIsInvariant: the order of the rows and the number of processors change nothing.
func TestMatchIsInvariant(t *testing.T) {
	rows, _ := people(400, 2)
	for i := range rows {
		rows[i]["id"] = fmt.Sprint(7919 * i % 10007) // which is ignored
	}
	want := match(t, rows, MatchOptions{})
	order := rand.New(rand.NewPCG(5, 5)).Perm(len(rows))
	mixed := make([]neardup.Record, len(rows))
	for i, at := range order {
		mixed[at] = rows[i]
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := match(t, mixed, MatchOptions{})
	back := make([]int, len(rows))
	for i, at := range order {
		back[at] = i
	}
	var pairs []neardup.Pair[int]
	for _, p := range m.Pairs {
		p.A, p.B = back[p.A], back[p.B]
		if p.A > p.B {
			p.A, p.B = p.B, p.A
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(p, q neardup.Pair[int]) int { return 10000*(p.A-q.A) + p.B - q.B })
	if !reflect.DeepEqual(pairs, want.Pairs) || len(pairs) < 100 {
		t.Errorf("%d pairs, and %d", len(pairs), len(want.Pairs))
	}
	var groups [][]int
	for _, g := range m.Groups {
		var of []int
		for _, at := range g {
			of = append(of, back[at])
		}
		slices.Sort(of)
		groups = append(groups, of)
	}
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	if !reflect.DeepEqual(groups, want.Groups) {
		t.Errorf("%v, not %v", groups, want.Groups)
	}
}

// TestMatchSources: rows of one source do not match, not even equal ones, and a row has one match in each other source.
func TestMatchSources(t *testing.T) {
	rows, pairs := people(900, 6)
	sources := make([]int, len(rows))
	for _, p := range pairs {
		sources[p[1]] = 1
	}
	for i := range 20 { // each of these is twice in the first source
		rows, sources = append(rows, rows[pairs[i][0]]), append(sources, 0)
	}
	m := match(t, rows, MatchOptions{Sources: sources})
	hit := 0
	for _, p := range m.Pairs {
		if slices.Contains(pairs, [2]int{p.A, p.B}) {
			hit++
		}
		if sources[p.A] == sources[p.B] {
			t.Errorf("%d and %d are of one source", p.A, p.B)
		}
	}
	if hit < len(pairs)*96/100 || len(m.Pairs) > len(pairs)+3 {
		t.Errorf("%d of %d pairs are found, and %d others", hit, len(pairs), len(m.Pairs)-hit)
	}
	seen := map[int]bool{}
	for _, p := range m.Pairs {
		if seen[p.A] || seen[p.B] {
			t.Errorf("%d or %d is in two pairs", p.A, p.B)
		}
		seen[p.A], seen[p.B] = true, true
	}
	for _, g := range m.Groups {
		if len(g) != 2 || sources[g[0]] == sources[g[1]] {
			t.Errorf("the group %v", g)
		}
	}
	if m := match(t, rows, MatchOptions{Sources: make([]int, len(rows))}); len(m.Pairs)+len(m.Groups) > 0 {
		t.Errorf("%d pairs within one source", len(m.Pairs))
	}
	if _, err := Match(t.Context(), rows, MatchOptions{Sources: sources[1:]}); err == nil {
		t.Error("a row without a source is accepted")
	}
}

// TestMatchKeys: rows with different keys never match, directly or by a third row; rows without a key may.
func TestMatchKeys(t *testing.T) {
	rows, pairs := people(900, 7)
	for i, p := range pairs {
		if i%3 < 2 {
			rows[p[0]]["number"] = fmt.Sprint("N", 1000+i)
			rows[p[1]]["number"] = fmt.Sprint("n ", 1000+i+i%3)
		}
		if i%3 == 1 { // a row without a key that is like both
			third := maps.Clone(rows[p[0]])
			delete(third, "number")
			rows = append(rows, third)
		}
	}
	m := match(t, rows, MatchOptions{Keys: []string{"number"}})
	of := map[int]int{}
	for n, g := range m.Groups {
		for _, row := range g {
			of[row] = n + 1
		}
	}
	right := 0
	for i, p := range pairs {
		together := of[p[0]] > 0 && of[p[0]] == of[p[1]]
		if i%3 == 1 && together {
			t.Errorf("%v and %v are in one group", rows[p[0]], rows[p[1]])
		} else if together {
			right++
		}
	}
	if right < len(pairs)*2/3*97/100 {
		t.Errorf("%d of %d pairs with one key or without are found", right, len(pairs)*2/3)
	}
	dated := []neardup.Record{{"name": "Zhang San", "born": "1956-04-09"}, {"name": "San Zhang", "born": "9 April 1956"}, {"name": "Wang Wu", "born": "1980-01-01"}}
	if m := match(t, dated, MatchOptions{Keys: []string{"born"}}); len(m.Pairs) != 1 {
		t.Errorf("one day written in two ways is not one key: %v", m.Pairs)
	}
	if _, err := Match(t.Context(), rows, MatchOptions{Keys: []string{"doi"}}); err == nil {
		t.Error("an unknown key is accepted")
	}
}

// TestMatchOneGroup: a table whose rows are all about one thing is explained by the weights with which it was matched.
func TestMatchOneGroup(t *testing.T) {
	for n := 2; n < 9; n++ {
		var rows []neardup.Record
		for i := range n {
			rows = append(rows, neardup.Record{"name": "Anna Maria Berg", "city": "Kiel am Strand", "born": fmt.Sprint("1984-03-0", 1+i%2), "street": string(rune('a'+i)) + " long lane"})
		}
		m := match(t, rows, MatchOptions{})
		if len(m.Groups) != 1 || len(m.Groups[0]) != n {
			t.Errorf("%d rows: %v", n, m.Groups)
		}
		for _, p := range m.Pairs {
			if _, probability := m.Explain(p.A, p.B); math.Abs(probability-p.Probability) > 1e-9 {
				t.Errorf("%d rows: %v is explained by %v", n, p, probability)
			}
		}
	}
}

// TestMatchBadTables: tables from which there is nothing to learn.
func TestMatchBadTables(t *testing.T) {
	of := func(n int, row func(i int) neardup.Record) (rows []neardup.Record) {
		for i := range n {
			rows = append(rows, row(i))
		}
		return rows
	}
	for name, rows := range map[string][]neardup.Record{
		"none":       nil,
		"one":        {{"a": "x"}},
		"empty":      of(50, func(int) neardup.Record { return neardup.Record{} }),
		"no values":  of(50, func(int) neardup.Record { return neardup.Record{"a": " ", "b": "!"} }),
		"all equal":  of(3000, func(int) neardup.Record { return neardup.Record{"a": "the same", "b": "1"} }),
		"one column": of(300, func(i int) neardup.Record { return neardup.Record{"a": fmt.Sprint("value ", i)} }),
		"500 columns": of(60, func(i int) neardup.Record {
			r := neardup.Record{}
			for k := range 500 {
				r[fmt.Sprint("c", k)] = fmt.Sprint(i * k % 97)
			}
			return r
		}),
		"ids": of(500, func(i int) neardup.Record {
			return neardup.Record{"id": fmt.Sprint(i), "state": []string{"a", "b"}[i%2]}
		}),
		"bytes": of(300, func(i int) neardup.Record {
			return neardup.Record{"a": string([]byte{byte(i), 0xff, byte(i * 7), 'x'}), "b": strings.Repeat("\xe4\xb8", i%5)}
		}),
		"two languages": of(300, func(i int) neardup.Record {
			return neardup.Record{"name": []string{"中关村大街27号", "Hauptstraße 7"}[i%2] + fmt.Sprint(i/2), "n": fmt.Sprint(i)}
		}),
		"long values": of(40, func(i int) neardup.Record {
			return neardup.Record{"a": strings.Repeat(fmt.Sprint("word", i%7, " "), 5000)}
		}),
	} {
		m := match(t, rows, MatchOptions{})
		seen := map[int]bool{}
		for _, g := range m.Groups {
			for _, row := range g {
				if row < 0 || row >= len(rows) || seen[row] || len(g) < 2 {
					t.Fatalf("%s: %v", name, g)
				}
				seen[row] = true
			}
		}
		for _, p := range m.Pairs {
			if p.A >= p.B || p.A < 0 || p.B >= len(rows) || !(p.Probability >= 0.5) {
				t.Fatalf("%s: %+v", name, p)
			}
		}
		if len(rows) > 1 {
			if _, p := m.Explain(0, 1); !(p >= 0 && p <= 1) {
				t.Errorf("%s: probability %v", name, p)
			}
		}
	}
	for _, o := range []MatchOptions{{Probability: -1}, {Probability: 1}, {Probability: math.NaN()}, {Columns: []string{"b"}}} {
		if _, err := Match(t.Context(), []neardup.Record{{"a": "x"}}, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows, _ := people(50, 3)
	if _, err := Match(ctx, rows, MatchOptions{}); err != context.Canceled {
		t.Error(err)
	}
}

// tables are those of NEARDUP_DATA with the least F1 of pairs in groups that is expected. A table of pairs has true as its last value.
var tables = []struct {
	name    string
	f1      float64
	isPairs bool
}{
	{"rec-febrl3", 0.999, false}, {"rec-febrl4", 0.999, false}, {"rec-restaurant", 0.925, false}, {"rec-music20k", 0.97, true}, {"rec-song", 0.945, true}, {"rec-cora", 0.87, true},
	{"en-records-stroke", 0.995, false}, {"en-records-haematology", 0.92, false}, {"en-records-respiratory", 0.98, false}, {"en-records-cytology", 0.995, false},
}

// TestMatchQuality measures the tables with truth.
func TestMatchQuality(t *testing.T) {
	data := os.Getenv("NEARDUP_DATA")
	if data == "" {
		t.Skip("NEARDUP_DATA does not name the collections")
	}
	for _, table := range tables {
		if testing.Short() && table.name == "rec-music20k" {
			continue
		}
		rows, truth := readTable(t, filepath.Join(data, table.name), table.isPairs)
		m := match(t, rows, MatchOptions{})
		hit, found := 0, 0
		for _, g := range m.Groups {
			for i := range g {
				for j := range i {
					found++
					if truth[[2]int{g[j], g[i]}] {
						hit++
					}
				}
			}
		}
		right := 0
		for _, p := range m.Pairs {
			if truth[[2]int{p.A, p.B}] {
				right++
			}
		}
		f1 := 2 * float64(hit) / float64(found+len(truth))
		t.Logf("%-24s precision %.3f recall %.3f F1 %.4f; of %d pairs %.0f are expected to be wrong, and %d are", table.name, float64(hit)/float64(found), float64(hit)/float64(len(truth)), f1, len(m.Pairs), m.Wrong(), len(m.Pairs)-right)
		if f1 < table.f1 {
			t.Errorf("%s: F1 is %.4f, and not %.4f", table.name, f1, table.f1)
		}
	}
}

// readTable reads a table and its truth: pairs of ids, or ids and clusters.
func readTable(t testing.TB, dir string, isPairs bool) (rows []neardup.Record, truth map[[2]int]bool) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "docs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for d := json.NewDecoder(bufio.NewReader(z)); d.More(); {
		var doc struct {
			ID     string
			Fields map[string]any
		}
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		at[doc.ID] = len(rows)
		row := neardup.Record{}
		for name, value := range doc.Fields {
			row[name] = fmt.Sprint(value)
		}
		rows = append(rows, row)
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	truth = map[[2]int]bool{}
	clusters := map[string][]int{}
	add := func(a, b int) { truth[[2]int{min(a, b), max(a, b)}] = true }
	for line := range strings.Lines(string(text)) {
		a, b, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if isPairs {
			add(at[a], at[b])
		} else {
			clusters[b] = append(clusters[b], at[a])
		}
	}
	for _, c := range clusters {
		for i := range c {
			for j := range i {
				add(c[i], c[j])
			}
		}
	}
	return rows, truth
}

// FuzzMatch matches tables of any bytes.
func FuzzMatch(f *testing.F) {
	f.Add("a,b\nc,d\na,b", uint8(2))
	f.Add("1m 58sec\n08:40\n118\n1e309\n\xff\n中关村27号\n中關村２７号", uint8(1))
	f.Fuzz(func(t *testing.T, text string, columns uint8) {
		if len(text) > 2000 {
			return
		}
		var rows []neardup.Record
		for line := range strings.SplitSeq(text, "\n") {
			row := neardup.Record{}
			for n, cell := range strings.SplitN(line, ",", int(columns%5)+1) {
				row[fmt.Sprint(n)] = cell
			}
			rows = append(rows, row)
		}
		m := match(t, rows, MatchOptions{})
		for _, p := range m.Pairs {
			if _, probability := m.Explain(p.A, p.B); math.Abs(probability-p.Probability) > 1e-9 {
				t.Errorf("%v, %v", p, probability)
			}
		}
	})
}

// BenchmarkMatch is a row of six columns.
func BenchmarkMatch(b *testing.B) {
	rows, _ := people(15_000, 4)
	b.ReportAllocs()
	for b.Loop() {
		match(b, rows, MatchOptions{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}

// TestMatchLabels: labels decide the pairs they name, keep groups apart, and move the others a little.
func TestMatchLabels(t *testing.T) {
	rows, pairs := people(200, 4)
	plain := match(t, rows, MatchOptions{})
	wrong, right := pairs[0], [2]int{pairs[1][0], pairs[2][0]}
	m := match(t, rows, MatchOptions{Labels: []Label{{A: wrong[1], B: wrong[0]}, {A: right[0], B: right[1], Same: true}}})
	has := func(m *Matches, pair [2]int) (isPair, isGroup bool) {
		isPair = slices.ContainsFunc(m.Pairs, func(p neardup.Pair[int]) bool { return p.A == pair[0] && p.B == pair[1] })
		isGroup = slices.ContainsFunc(m.Groups, func(g []int) bool { return slices.Contains(g, pair[0]) && slices.Contains(g, pair[1]) })
		return isPair, isGroup
	}
	if isPair, isGroup := has(plain, wrong); !isPair || !isGroup {
		t.Fatal("the pair is not found without labels")
	}
	if isPair, isGroup := has(m, wrong); isPair || isGroup {
		t.Error("a pair labelled as different is found")
	}
	if isPair, isGroup := has(m, right); !isPair || !isGroup {
		t.Error("a pair labelled as the same is not found")
	}
	_, before := plain.Explain(pairs[5][0], pairs[5][1])
	var labels []Label
	for _, p := range pairs[10:40] {
		labels = append(labels, Label{A: p[0], B: p[1]})
	}
	if _, after := match(t, rows, MatchOptions{Labels: labels}).Explain(pairs[5][0], pairs[5][1]); !(after < before) {
		t.Errorf("the probability of another pair was %g, and is %g after many pairs like it were labelled different", before, after)
	}
	for _, l := range []Label{{A: 1, B: 1}, {A: -1, B: 2}, {A: 0, B: len(rows)}} {
		if _, err := Match(t.Context(), rows, MatchOptions{Labels: []Label{l}}); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
	same := []neardup.Record{{"a": "x y"}, {"a": "x y"}, {"a": "p q"}}
	if m := match(t, same, MatchOptions{Labels: []Label{{A: 0, B: 1}}}); len(m.Pairs) > 0 || len(m.Groups) > 0 {
		t.Errorf("equal rows that are labelled as different are found: %v", m.Groups)
	}
}

// TestMatchSearch: a row that is in the table is found with the odds that it has there, a row that is not changes nothing, and most rows that match are found.
func TestMatchSearch(t *testing.T) {
	rows, pairs := people(900, 5)
	known, left := rows[:0:0], map[int]neardup.Record{}
	for i, row := range rows {
		if i%7 == 3 {
			left[i] = row
		} else {
			known = append(known, row)
		}
	}
	at := func(i int) int { return i - (i+3)/7 } // of a row that is known
	m := match(t, known, MatchOptions{})
	before := fmt.Sprint(m.Explain(0, 1))
	found, wanted := 0, 0
	for _, p := range pairs {
		for _, p := range [][2]int{p, {p[1], p[0]}} {
			row, isLeft := left[p[0]]
			if _, both := left[p[1]]; !isLeft || both {
				continue
			}
			wanted++
			got := m.Search(row)
			if slices.ContainsFunc(got, func(x neardup.Match[int]) bool { return x.ID == at(p[1]) }) {
				found++
			}
			if len(got) > 3 || !slices.IsSortedFunc(got, func(a, b neardup.Match[int]) int { return cmp.Compare(b.Probability, a.Probability) }) {
				t.Fatal(got)
			}
		}
	}
	if wanted < 50 || found < wanted*97/100 {
		t.Errorf("%d of %d rows are found", found, wanted)
	}
	if after := fmt.Sprint(m.Explain(0, 1)); after != before {
		t.Errorf("a search changed how two rows are explained: %s, %s", before, after)
	}
	for _, p := range m.Pairs[:50] {
		got := m.Search(known[p.A])
		i := slices.IndexFunc(got, func(x neardup.Match[int]) bool { return x.ID == p.B })
		if i < 0 || math.Abs(got[i].Probability-p.Probability) > 1e-9 {
			t.Fatalf("%v is not found with its own row: %v", p, got)
		}
	}
	for _, row := range []neardup.Record{nil, {}, {"first": ""}, {"other": "x"}, {"born": "\xff", "first": strings.Repeat("word ", 5000)}} {
		if got := m.Search(row); len(got) > 0 {
			t.Errorf("%.50q is like %v", row, got)
		}
	}
	if got := match(t, rows[:1], MatchOptions{}).Search(rows[0]); got != nil {
		t.Error(got)
	}
	small := match(t, []neardup.Record{{"n": "Ann Lee", "b": "1956"}, {"n": "Lee, Ann", "b": "1956"}, {"n": "Tom Ott", "b": "1980"}}, MatchOptions{Keys: []string{"b"}})
	if got := small.Search(neardup.Record{"n": "ann lee", "b": "1956"}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := small.Search(neardup.Record{"n": "ann lee", "b": "1957"}); len(got) != 0 {
		t.Errorf("rows with another key match: %v", got)
	}
}

func BenchmarkMatchSearch(b *testing.B) {
	rows, _ := people(20_000, 5)
	m := match(b, rows, MatchOptions{})
	m.Search(rows[0])
	b.ResetTimer()
	for i := range b.N {
		m.Search(rows[i%len(rows)])
	}
}
