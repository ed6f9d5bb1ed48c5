package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/experiments/dataset"
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
	var papers []paper
	var articles []article
	for i, group := range truth.Groups(len(docs)) {
		p := paper{ID: docs[i].ID, Title: "Paper", Abstract: docs[i].Text}
		for k := range docs {
			if truth.Has(i, k) {
				p.Same = append(p.Same, docs[k].ID)
			}
		}
		papers, articles = append(papers, p), append(articles, article{docs[i].Text, int64(group)})
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
		case []paper:
			for _, r := range rows {
				if err := e.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
		case []article:
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
	if err := run(filepath.Join(dir, "none"), "", &strings.Builder{}); err == nil {
		t.Error("a file that is not there is no error")
	}
	t.Log(said[0])
}
