package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// persons writes a table of persons, every fourth of whom is in it twice with an error, and returns how many are.
func persons(t *testing.T, path string, n int) (twice int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, r := csv.NewWriter(file), rand.New(rand.NewPCG(4, 4))
	name := func(kinds, letters int) string {
		x := rand.New(rand.NewPCG(uint64(r.IntN(kinds)), uint64(letters)))
		b := make([]byte, letters)
		for i := range b {
			b[i] = []string{"bdfgklmnprst", "aeiou"}[i%2][x.IntN(12-7*(i%2))]
		}
		return string(b)
	}
	w.Write([]string{"id", "first", "last", "born", "town"})
	for i := range n {
		row := []string{fmt.Sprint("p", i), name(60, 6), name(300, 8), fmt.Sprintf("19%02d-%02d-%02d", r.IntN(100), 1+r.IntN(12), 1+r.IntN(28)), name(30, 7)}
		w.Write(row)
		if i%4 == 0 {
			last := row[2]
			w.Write([]string{row[0] + "-again", strings.ToUpper(row[1]), last[:3] + last[4:], row[3], row[4]})
			twice++
		}
	}
	w.Flush()
	return twice
}

// TestLinked: records finds planted pairs, in all outputs alike, and says what the columns are.
func TestLinked(t *testing.T) {
	t.Chdir(t.TempDir())
	twice := persons(t, "in.csv", 600)
	status, stdout, stderr := callHere("records", "in.csv", "--pairs", "pairs.tsv", "--groups", "groups.csv", "--out", "out.csv", "--annotate", "all.csv", "--report", "page.html", "--audit", "audit.csv")
	if status != 0 || !strings.Contains(stderr, "born (date), first (text), last (text), town (text)") || strings.Contains(stderr, "schema") {
		t.Fatalf("%d: %s%s", status, stdout, stderr)
	}
	right := 0
	pairs := strings.Split(strings.TrimSpace(read(t, "pairs.tsv")), "\n")
	for _, line := range pairs {
		if cells := strings.Split(line, "\t"); cells[1] == cells[0]+"-again" {
			right++
		}
	}
	if right < twice*98/100 || len(pairs) > twice+3 {
		t.Errorf("%d of %d pairs are found, and %d are wrong", right, twice, len(pairs)-right)
	}
	if kept := strings.Count(read(t, "out.csv"), "\n"); kept != 600+twice+1-len(pairs) {
		t.Errorf("%d rows are kept after %d pairs", kept-1, len(pairs))
	}
	page := readPage(t, "page.html")
	if len(page.A) < right || len(page.Why) == 0 {
		t.Errorf("the page has %d pairs", len(page.A))
	}
	if !strings.Contains(fmt.Sprint(page.Why), "born: equal") {
		t.Errorf("the page does not say why: %.300v", page.Why)
	}
	for _, flag := range []string{"--similarity=0.5", "--kinds=all", "--linkage=single", "--bias=1", "--normalize=urls"} {
		if status, _, stderr := callHere("records", "in.csv", flag); status != 2 || !strings.Contains(stderr, "needs --schema: ") {
			t.Errorf("%s: %d, %s", flag, status, stderr)
		}
	}
	if err := os.WriteFile("one.csv", []byte("id,a\n1,x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"one.csv"}, {"--probability=1", "in.csv"}, {"--probability=0.9", "--keep=longest", "--json", "in.csv"}} {
		if status, _, stderr := callHere(append([]string{"records"}, args...)...); status != 0 {
			t.Errorf("%q: %d, %s", args, status, stderr)
		}
	}
	persons(t, "large.csv", 34_000)
	if status, _, stderr := callHere("records", "--memory=64M", "large.csv"); status != 1 || !strings.Contains(stderr, "--schema -") {
		t.Errorf("%d, %s", status, stderr)
	}
	if status, _, stderr := callHere("records", "--schema=-", "--similarity=0.5", "in.csv"); status != 0 || !strings.Contains(stderr, "compared by this schema") {
		t.Errorf("%d, %s", status, stderr)
	}
}

// TestSmallTable: two rows about one person are found among three and four rows, from which there is nothing to learn.
func TestSmallTable(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, table := range []string{"id,name,born\n1,Zhang San,1956-04-09\n2,San Zhang,9 April 1956\n3,Wang Wu,1980-01-01\n", "id,name,city\n1,Anna Berg,Kiel\n2,Anna Bergg,Kiel\n3,Tom Ott,Kiel\n4,Ulf Mann,Bonn\n"} {
		if err := os.WriteFile("in.csv", []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
		if status, stdout, stderr := callHere("records", "--pairs", "-", "in.csv"); status != 0 || !strings.HasPrefix(stdout, "1\t2\t") || strings.Count(stdout, "\n") > 1 {
			t.Errorf("%q: %d, %s%s", table, status, stdout, stderr)
		}
	}
}

// TestLink: two rows of one input never match, even if they are equal, and a row matches one of the other at most.
func TestLink(t *testing.T) {
	t.Chdir(t.TempDir())
	persons(t, "all.csv", 400)
	a, b := "", ""
	twice := 0
	for i, line := range strings.SplitAfter(read(t, "all.csv"), "\n") {
		if i == 0 || strings.Contains(line, "-again") {
			b += line
			twice++
		}
		if !strings.Contains(line, "-again") {
			a += line
			if i > 0 && i < 20 && line != "" { // twice in one input
				a += "x" + line
			}
		}
	}
	for name, text := range map[string]string{"a.csv": a, "b.csv": b} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	status, _, stderr := callHere("records", "--link", "a.csv", "b.csv", "--pairs", "pairs.tsv")
	if status != 0 {
		t.Fatalf("%d: %s", status, stderr)
	}
	right := 0
	pairs := strings.Split(strings.TrimSpace(read(t, "pairs.tsv")), "\n")
	for _, line := range pairs {
		cells := strings.Split(line, "\t")
		if strings.HasSuffix(cells[0], "-again") == strings.HasSuffix(cells[1], "-again") {
			t.Errorf("a pair of one input: %s", line)
		}
		if cells[1] == strings.TrimPrefix(cells[0], "x")+"-again" {
			right++
		}
	}
	if right < (twice-1)*97/100 || len(pairs) > twice+2 {
		t.Errorf("%d pairs, %d of %d are right", len(pairs), right, twice-1)
	}
	if status, _, stderr := callHere("records", "--key=born,last", "a.csv", "b.csv", "--pairs", "keys.tsv"); status != 0 {
		t.Errorf("%d: %s", status, stderr)
	} else if text := read(t, "keys.tsv"); strings.Contains(text, "-again") || text == "" {
		t.Errorf("rows with different names match, or none do: %.200s", text)
	}
	if status, _, stderr := callHere("records", "--key=doi", "a.csv"); status != 1 || !strings.Contains(stderr, `the key "doi" is none of the columns`) {
		t.Errorf("%d: %s", status, stderr)
	}
	for _, args := range [][]string{{"a.csv"}, {"--schema=-", "a.csv", "b.csv"}} {
		if status, _, stderr := callHere(append([]string{"records", "--link"}, args...)...); status == 0 || !strings.Contains(stderr, "--link") {
			t.Errorf("%q: %d, %s", args, status, stderr)
		}
	}
}

// TestLinkedLabels: pairs that are labelled are decided by their labels, and a label for no row is an error with its place.
func TestLinkedLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	persons(t, "in.csv", 300)
	if status, _, stderr := callHere("records", "--pairs", "before.tsv", "in.csv"); status != 0 {
		t.Fatal(stderr)
	}
	first, _, _ := strings.Cut(read(t, "before.tsv"), "\n")
	ids := strings.Split(first, "\t")[:2]
	if err := os.WriteFile("labels.tsv", fmt.Appendf(nil, "%s\t%s\tdifferent\n", ids[0], ids[1]), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := callHere("records", "--labels", "labels.tsv", "--pairs", "after.tsv", "in.csv"); status != 0 {
		t.Fatal(stderr)
	}
	if strings.Contains(read(t, "after.tsv"), ids[0]+"\t"+ids[1]+"\t") {
		t.Error("the pair that is labelled as different is found")
	}
	if err := os.WriteFile("labels.tsv", []byte("# nobody\nnobody\tnowhere\tsame\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := callHere("records", "--labels", "labels.tsv", "in.csv"); status != 1 || !strings.Contains(stderr, `labels.tsv:2: no document in the inputs has the id "nobody"`) {
		t.Errorf("%d, %s", status, stderr)
	}
	if status, _, stderr := callHere("records", "--schema=-", "--labels", "labels.tsv", "in.csv"); status != 2 || !strings.Contains(stderr, "cannot be used with --schema") {
		t.Errorf("%d, %s", status, stderr)
	}
}
