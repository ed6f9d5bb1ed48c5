package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// splitPages writes the pages of testdata, and their paragraphs in an order that mixes the pages but keeps the paragraphs of each in their order. It returns
// the pages, by id.
func splitPages(t *testing.T) (paragraphs map[string][]string) {
	source, err := filepath.Abs("../../testdata/en.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	type page struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	type paragraph struct {
		ID   int    `json:"id"`
		Page string `json:"page"`
		Text string `json:"text"`
	}
	paragraphs = map[string][]string{}
	var pages, rows strings.Builder
	random := rand.New(rand.NewPCG(7, 7))
	var order []string // of the rows: each is the next paragraph of a page
	for line := range strings.Lines(read(t, source)) {
		var p page
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		paragraphs[p.ID] = strings.Split(p.Text, "\n\n")
		for range paragraphs[p.ID] {
			order = append(order, p.ID)
		}
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	next, toPages, toRows := map[string]int{}, json.NewEncoder(&pages), json.NewEncoder(&rows)
	for n, id := range order {
		if next[id] == 0 { // the pages are in the order in which they begin
			toPages.Encode(page{id, strings.Join(paragraphs[id], "\n\n")})
		}
		toRows.Encode(paragraph{n, id, paragraphs[id][next[id]]})
		next[id]++
	}
	for name, text := range map[string]string{"pages.jsonl": pages.String(), "rows.jsonl": rows.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return paragraphs
}

// TestUnits: rows that are joined by a field are what a collection of the joined texts is: the pairs are the same, from every format, and what is written are the
// rows of the documents that are kept.
func TestUnits(t *testing.T) {
	paragraphs := splitPages(t)
	for _, format := range []string{"csv", "parquet"} {
		if status, _, stderr := callHere("dedup", "--kinds", "identical", "--empty", "keep", "rows.jsonl", "--annotate", "all."+format); status != 0 {
			t.Fatal(stderr)
		}
	}
	pairs := func(args ...string) []string {
		t.Helper()
		if status, _, stderr := callHere(append(append([]string{"dedup"}, args...), "--pairs", "pairs.tsv", "--quiet")...); status != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		return pairsOf(t, "pairs.tsv")
	}
	want := pairs("pages.jsonl")
	if len(want) < 50 {
		t.Fatalf("%d pairs", len(want))
	}
	for _, args := range [][]string{{"rows.jsonl"}, {"rows.jsonl", "--workers", "1"}, {"all.csv"}, {"all.parquet"}, {"rows.jsonl", "--method", "minhash"}, {"rows.jsonl", "--method", "simhash"}, {"rows.jsonl", "--boilerplate", "20"}} {
		whole := append([]string{"pages.jsonl"}, args[1:]...)
		if got, want := fmt.Sprint(pairs(append(args, "--unit", "page")...)), fmt.Sprint(pairs(whole...)); got != want {
			t.Errorf("%q: %s, not %s", args, got, want)
		}
	}
	// The rows of a document that is kept are all there, as they were, and in their order.
	status, _, stderr := callHere("dedup", "rows.jsonl", "--unit", "page", "--out", "out.jsonl", "--annotate", "all.jsonl", "--groups", "groups.csv", "--report", "page.html")
	if status != 0 || !strings.Contains(stderr, fmt.Sprintf("are %d documents by", len(paragraphs))) {
		t.Fatal(stderr)
	}
	kept := map[string]bool{}
	for line := range strings.Lines(read(t, "groups.csv")) {
		if cells := strings.Split(line, ","); cells[0] == cells[1] && cells[0] != "id" {
			kept[cells[0]] = true
		}
	}
	var lines strings.Builder
	n := 0
	for line := range strings.Lines(read(t, "rows.jsonl")) {
		var row struct{ Page string }
		if json.Unmarshal([]byte(line), &row); kept[row.Page] {
			lines.WriteString(line)
		}
		n++
	}
	if got := read(t, "out.jsonl"); got != lines.String() || len(kept) == len(paragraphs) {
		t.Errorf("%d bytes are kept, not %d; %d documents", len(got), lines.Len(), len(kept))
	}
	if got := strings.Count(read(t, "all.jsonl"), "neardup_kept"); got != n {
		t.Errorf("%d rows are annotated, not %d", got, n)
	}
	if report := read(t, "page.html"); !strings.Contains(report, "rows.jsonl:1") {
		t.Error("the page has no places of rows")
	}
}

// TestUnitsWithOthers: units of an old collection, of earlier calls, and of standard input.
func TestUnitsWithOthers(t *testing.T) {
	splitPages(t)
	rows := strings.SplitAfter(read(t, "rows.jsonl"), "\n")
	half := len(rows) / 2
	// A page is in one half only, so the halves are collections of their own.
	var halves [2]strings.Builder
	is := map[string]int{}
	for n, line := range rows[:len(rows)-1] {
		var row struct{ Page string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if _, isKnown := is[row.Page]; !isKnown {
			is[row.Page] = 0
			if n > half || len(is)%2 == 0 {
				is[row.Page] = 1
			}
		}
		halves[is[row.Page]].WriteString(line)
	}
	for n := range halves {
		if err := os.WriteFile(fmt.Sprintf("half%d.jsonl", n), []byte(halves[n].String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := func(args ...string) string {
		t.Helper()
		if status, _, stderr := callHere(append([]string{"dedup", "--unit", "page", "--out", "out.jsonl"}, args...)...); status != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		return read(t, "out.jsonl")
	}
	against := out("half1.jsonl", "--against", "half0.jsonl")
	if against == "" || strings.Count(against, "\n") >= strings.Count(halves[1].String(), "\n") {
		t.Errorf("%d rows are left", strings.Count(against, "\n"))
	}
	out("half0.jsonl", "--state", "state")
	if got := out("half1.jsonl", "--state", "state"); got != against {
		t.Errorf("with --state %d bytes are left, with --against %d", len(got), len(against))
	}
	status, _, stderr := runIn(t, nil, halves[1].String(), "--unit", "page", "--out", "out.jsonl", "-")
	if status != 0 || !strings.Contains(stderr, "documents by") {
		t.Error(stderr)
	}
	for _, args := range [][]string{{"--shard", "1/2", "--state", "s"}, {"--audit", "a.csv"}, {"--method", "simhash", "--metadata", "tags"}} {
		if status, _, stderr := callHere(append([]string{"dedup", "rows.jsonl", "--unit", "page"}, args...)...); status != 2 || !strings.Contains(stderr, "--unit and "+args[len(args)-2]) && !strings.Contains(stderr, "--unit and --shard") {
			t.Errorf("%q: %d, %s", args, status, stderr)
		}
	}
}

// TestUnitsOfPassages: passages of joined rows are those of the joined texts.
func TestUnitsOfPassages(t *testing.T) {
	splitPages(t)
	found := func(args ...string) string {
		t.Helper()
		if status, _, stderr := callHere(append([]string{"passages", "--coverage", "c.csv", "--quiet"}, args...)...); status != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		var ids strings.Builder // the columns but for the places
		for line := range strings.Lines(read(t, "c.csv")) {
			cells := strings.Split(line, ",")
			fmt.Fprintln(&ids, cells[0], cells[2:6], cells[7:])
		}
		return ids.String()
	}
	if got, want := found("rows.jsonl", "--unit", "page"), found("pages.jsonl"); got != want || len(got) < 1000 {
		t.Errorf("%d bytes, not %d", len(got), len(want))
	}
}
