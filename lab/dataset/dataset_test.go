package dataset

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if strings.HasSuffix(name, ".gz") {
		z := gzip.NewWriter(f)
		defer z.Close()
		_, err = z.Write([]byte(content))
	} else {
		_, err = f.WriteString(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	const lines = `{"id": "a", "title": "T", "text": "x"}
{"id": "b", "text": "y", "topic": "z"}
{"id": "c", "fields": {"name": "n"}}`
	for _, name := range []string{"docs.jsonl", "docs.jsonl.gz"} {
		docs, err := Read(file(t, name, lines))
		if err != nil || fmt.Sprint(docs) != "[{a  T x map[]} {b z  y map[]} {c    map[name:n]}]" || docs[0].Whole() != "T\nx" || docs[1].Whole() != "y" {
			t.Errorf("%v, %v", docs, err)
		}
	}
	for _, bad := range []string{lines + "{", `{"id": 1}`} {
		if _, err := Read(file(t, "docs.jsonl", bad)); err == nil || !strings.Contains(err.Error(), "document ") {
			t.Errorf("%v", err)
		}
	}
	if _, err := Read(file(t, "docs.jsonl", "") + ".gz"); err == nil {
		t.Error("a file that is not there")
	}
}

func TestTruth(t *testing.T) {
	docs := []Document{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	for _, test := range []struct{ lines, pairs, groups string }{
		{"a\tb\nc\tb\n", "map[[0 1]:true [1 2]:true]", "[0 0 0 1]"}, // pairs, although b occurs twice
		{"a\t1\nc\t1\r\nd\t2", "map[[0 2]:true]", "[0 1 0 2]"},
		{"", "map[]", "[0 1 2 3]"},
		{"d\tx\nb\tx\nc\tx\n", "map[[1 2]:true [1 3]:true [2 3]:true]", "[0 1 1 1]"},
	} {
		truth, err := ReadTruth(file(t, "truth.tsv", test.lines), docs)
		if err != nil || fmt.Sprint(map[[2]int]bool(truth)) != test.pairs || fmt.Sprint(truth.Groups(4)) != test.groups {
			t.Errorf("%q: %v in groups %v, %v", test.lines, truth, truth.Groups(4), err)
		}
	}
	for _, bad := range []string{"a\tb\nnone\n", "a\t1\nx\t1\n"} {
		if _, err := ReadTruth(file(t, "truth.tsv", bad), docs); err == nil || !strings.Contains(err.Error(), ":2:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	truth := Truth{}
	truth.Add(2, 1)
	truth.Add(3, 3)
	if len(truth) != 1 || !truth.Has(1, 2) || !truth.Has(2, 1) {
		t.Error(truth)
	}
}

// TestDistinct checks both limits: a fifth of all runs of four characters, and half of the runs of
// the shorter text.
func TestDistinct(t *testing.T) {
	text := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteRune(rune('一' + from + i))
		}
		return b.String()
	}
	for _, test := range []struct {
		name  string
		texts []string
		keep  string
	}{
		{"equal", []string{text(0, 50), text(0, 50), text(100, 50)}, "[0 2]"},
		// 103 characters have 100 runs. With 34 in common the texts share 34/166, with 33 only
		// 33/167.
		{"a fifth", []string{text(0, 103), text(66, 103)}, "[0]"},
		{"less", []string{text(0, 103), text(67, 103)}, "[0 1]"},
		// Half of a short text.
		{"half", []string{text(0, 503), text(490, 23)}, "[0]"},
		{"less than half", []string{text(0, 503), text(491, 23)}, "[0 1]"},
		{"no text", []string{"", "", "。"}, "[0 1 2]"},
	} {
		var docs []Document
		for i, text := range test.texts {
			docs = append(docs, Document{ID: fmt.Sprint(i), Text: text})
		}
		var keep []string
		for _, d := range Distinct(docs) {
			keep = append(keep, d.ID)
		}
		if got := fmt.Sprint(keep); got != test.keep {
			t.Errorf("%s: %s, want %s", test.name, got, test.keep)
		}
	}
}
