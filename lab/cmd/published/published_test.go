package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/lab/dataset"
)

// TestScore counts documents by hand: found exactly, found with another one besides, found in part, missed, taken for one, and rightly alone.
func TestScore(t *testing.T) {
	truth := [][]int{{1}, {0}, {3, 4}, {2}, {}, {}, {7}}
	found := [][]int{{1}, {0, 2}, {3}, {}, {5}, {}, {7}}
	s := scoreOf(truth, found)
	if s != (score{right: 3, wrong: 2, missed: 1, alone: 1, equal: 3}) {
		t.Errorf("%+v", s)
	}
	if s.precision() != 3./5 || s.recall() != 3./4 || s.other().precision() != 1./2 || s.other().recall() != 1./3 {
		t.Errorf("P %f, R %f; of the others %f, %f", s.precision(), s.recall(), s.other().precision(), s.other().recall())
	}
	if want := 2. / 3; math.Abs(s.f1()-want) > 1e-12 || math.Abs(s.macroF1()-(want+2./5)/2) > 1e-12 || s.accuracy() != 3./7 {
		t.Errorf("F1 %f, macro %f, accuracy %f", s.f1(), s.macroF1(), s.accuracy())
	}
}

// TestAdjustedRand has the example of the documentation of scikit-learn, and what is true of every index.
func TestAdjustedRand(t *testing.T) {
	for _, test := range []struct {
		a, b []int
		want float64
	}{
		{[]int{0, 0, 1, 2}, []int{0, 0, 1, 1}, 0.5714285714285714}, {[]int{0, 0, 1, 1}, []int{0, 0, 1, 2}, 0.5714285714285714},
		{[]int{0, 0, 1, 1}, []int{5, 5, 3, 3}, 1}, {[]int{0, 0, 0, 0}, []int{0, 1, 2, 3}, 0}, {[]int{0, 1, 2}, []int{7, 8, 9}, 1}, {nil, nil, 1},
	} {
		if got := adjustedRand(test.a, test.b); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%v and %v: %f, want %f", test.a, test.b, got, test.want)
		}
	}
}

// TestPublished runs the program on the texts of the repository in the forms of the two collections, as JSON lines and as Parquet.
func TestPublished(t *testing.T) {
	dir := t.TempDir()
	shipped := filepath.Join("..", "..", "..", "testdata")
	docs, err := dataset.Read(filepath.Join(shipped, "en.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	truth, err := dataset.ReadTruth(filepath.Join(shipped, "en.truth.tsv"), docs)
	if err != nil {
		t.Fatal(err)
	}
	type coreRow struct {
		ID       string   `json:"core_id" parquet:"core_id"`
		Title    string   `json:"processed_title" parquet:"processed_title"`
		Abstract string   `json:"processed_abstract" parquet:"processed_abstract"`
		Same     []string `json:"labelled_duplicates" parquet:"labelled_duplicates,list"`
	}
	type newsRow struct {
		Text    string `json:"article" parquet:"article"`
		Cluster int64  `json:"cluster" parquet:"cluster"`
	}
	var papers []coreRow
	var articles []newsRow
	for i, group := range truth.Groups(len(docs)) {
		p := coreRow{ID: docs[i].ID, Title: "Paper", Abstract: docs[i].Text}
		for k := range docs {
			if truth.Has(i, k) {
				p.Same = append(p.Same, docs[k].ID)
			}
		}
		papers, articles = append(papers, p), append(articles, newsRow{docs[i].Text, int64(group)})
	}
	files := [2][2]string{{filepath.Join(dir, "core.jsonl"), filepath.Join(dir, "news.jsonl")}, {filepath.Join(dir, "core.parquet"), filepath.Join(dir, "news.parquet")}}
	write := func(path string, rows any) {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		e := json.NewEncoder(f)
		switch rows := rows.(type) {
		case []coreRow:
			for _, r := range rows {
				if err := e.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
		case []newsRow:
			for _, r := range rows {
				if err := e.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write(files[0][0], papers)
	write(files[0][1], articles)
	if err := parquet.WriteFile(files[1][0], papers); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(files[1][1], articles); err != nil {
		t.Fatal(err)
	}
	var said [2]string
	for i, f := range files {
		var b strings.Builder
		if err := run(f[0], f[1], &b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) { // without the times
			if at := strings.LastIndex(strings.TrimRight(line, " |\n"), "|"); at > 0 {
				line = line[:at]
			}
			said[i] += line
		}
	}
	if said[0] != said[1] || strings.Count(said[0], "package dedup") != 2 || !strings.Contains(said[0], "| package dedup | 0.9") || !strings.Contains(said[0], "| package dedup | **0.9") {
		t.Errorf("JSON lines:\n%s\nParquet:\n%s", said[0], said[1])
	}
	if err := run("", "", &strings.Builder{}); err == nil {
		t.Error("nothing to read is no error")
	}
	for name, text := range map[string]string{
		"none": "", "other.jsonl": `{"foo":"bar"}`, "twice.jsonl": `{"core_id":1,"processed_title":"a","processed_abstract":"b","labelled_duplicates":[]}` + strings.Repeat("\n"+`{"core_id":"2","processed_title":"a","processed_abstract":"b","labelled_duplicates":null}`, 2),
		"empty.jsonl": "", "list.jsonl": `{"core_id":1,"processed_title":"a","processed_abstract":"b","labelled_duplicates":"1"}`, "null.jsonl": `{"core_id":null,"processed_title":"a","processed_abstract":"b","labelled_duplicates":[]}`, "bad.parquet": "PAR1",
	} {
		path := filepath.Join(dir, name)
		if name != "none" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range []error{run(path, "", &strings.Builder{}), run("", path, &strings.Builder{})} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	numbers := filepath.Join(dir, "numbers.jsonl") // ids may be numbers, and a paper may name itself
	if err := os.WriteFile(numbers, []byte(`{"core_id":1,"processed_title":"one two three four","processed_abstract":"","labelled_duplicates":[1,2]}
{"core_id":"2","processed_title":"one two three four","processed_abstract":"","labelled_duplicates":["1"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := run(numbers, "", &b); err != nil || !strings.Contains(b.String(), "| package dedup | 1.000 1.000 |") {
		t.Errorf("%s, %v", b.String(), err)
	}
}
