package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jsonl")
	input := `{"id": "a", "title": "Ships", "text": "Ships sail on the sea. They carry goods from one port to another, and people too."}
{"id": "b", "text": "住房公积金的调整由有关部门决定。他们说三月开始。"}
{"id": "c", "text": "。"}
{"id": "d", "text": "住房公积金的调整由有关部门决定。他们说四月开始。"}
`
	if err := os.WriteFile(in, []byte(input), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	report, err := run(in, out, "change-numbers:1,full-width:1,delete-words:0.1", 2, 1)
	if err != nil || !strings.HasPrefix(report, "3 documents and 4 variants are in ") || !strings.HasSuffix(report, "; 1 documents were left out because they share much text with another; 2 variants are missing because there was nothing new to edit") {
		t.Fatalf("%s, %v", report, err)
	}
	truth, err := os.ReadFile(filepath.Join(out, "truth.tsv"))
	if err != nil || string(truth) != "a\t0\na~1\t0\na~2\t0\nb\t1\nb~1\t1\nb~2\t1\n" {
		t.Errorf("%q, %v", truth, err)
	}
	page, err := os.ReadFile(filepath.Join(out, "docs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	texts := map[string]string{}
	for l := range strings.Lines(string(page)) {
		var d line
		if err := json.Unmarshal([]byte(l), &d); err != nil {
			t.Fatal(err)
		}
		got = append(got, d.ID+" "+d.Of+" "+d.Edit)
		texts[d.ID] = d.Text
	}
	if s := strings.Join(got, "|"); s != "a  |a~1 a full-width:1|a~2 a delete-words:0.1|b  |b~1 b delete-words:0.1|b~2 b delete-words:0.1|c  " {
		t.Error(s)
	}
	if texts["a"] != "Ships\nShips sail on the sea. They carry goods from one port to another, and people too." || texts["b~1"] == texts["b~2"] || !strings.HasPrefix(texts["a~1"], "Ｓｈｉｐｓ\n") {
		t.Errorf("%q", texts)
	}
	for _, test := range []struct{ in, edits, want string }{
		{"", "delete-words:0.1", "required"}, {in, "delete-words", "is not an edit"}, {filepath.Join(dir, "none"), "delete-words:0.1", "no such file"},
		{write1(t, dir, `{"id": "", "text": "x"}`), "delete-words:0.1", "document 1"}, {write1(t, dir, `{"id": "x", "text": "x"}{"id": "x", "text": "y"}`), "delete-words:0.1", "document 2"},
		{write1(t, dir, `{"id": "x", "text": "a b"}{"id": "x~1", "text": "c d"}`), "delete-words:0.1", "a variant would get"}, {write1(t, dir, `{"id": " x", "text": "a"}`), "delete-words:0.1", "spaces"}, {write1(t, dir, `{"id": "x"}`), "delete-words:0.1", "no text"}, {write1(t, dir, `{"id": 1}`), "delete-words:0.1", "document 1"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := run(test.in, out, test.edits, 1, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.want, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: something is written", test.want)
		}
	}
}

func write1(t *testing.T, dir, content string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
