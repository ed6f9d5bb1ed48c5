package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiff compares what two calls decided, in each form that --groups writes, also for ids with signs that are escaped.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	docs := `{"id":"a\tb","text":"one two three four five six seven eight nine ten"}
{"id":"=b","text":"one two three four five six seven eight nine ten eleven"}
{"id":"c","text":"one two three four five six seven eight nine"}
{"id":"d","text":"one two three four five six seven eight nine ten"}
{"id":"e","text":"something else"}
`
	os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(docs), 0o666)
	os.WriteFile(filepath.Join(dir, "y.jsonl"), []byte(strings.Join(strings.SplitAfter(docs, "\n")[1:], "")+`{"id":"f","text":"new"}`), 0o666)
	write := func(to string, args ...string) string {
		t.Helper()
		if status, _, stderr := inDirectory(t, dir, append([]string{"dedup", "-q", "--method", "simhash", "--distance", "0", "--groups", to}, args...)...); status != 0 {
			t.Fatal(stderr)
		}
		return to
	}
	for _, end := range []string{"tsv", "csv", "jsonl", "csv.gz"} {
		a, b := write("a."+end, "x.jsonl"), write("b", "--keep", "longest", "--distance", "30", "y.jsonl")
		status, stdout, stderr := inDirectory(t, dir, "diff", "--out", "d.csv", a, b)
		if status != 0 || stderr != "" || stdout != "2 decisions are the same\n1 document: removed only by the second run\n1 document: a different document is kept instead\n1 document: only in the first run\n1 document: only in the second run\n" {
			t.Errorf("%s: status %d, %q, %q", a, status, stdout, stderr)
		}
		if got, want := strings.Split(read(t, "d.csv"), "\n"), "id,change,kept_by_first,kept_by_second\na\tb,only in the first run,a\tb,"; strings.Join(got[:2], "\n") != want || len(got) != 6 {
			t.Errorf("%s: the differences are %q", a, got)
		}
	}
	if status, stdout, _ := inDirectory(t, dir, "diff", "b", "b"); status != 0 || stdout != "5 decisions are the same\n" {
		t.Errorf("the same: status %d, %q", status, stdout)
	}
	if status, stdout, stderr := inDirectory(t, dir, "diff", "--out", "-", "a.tsv", "a.tsv"); status != 0 || stdout != "" || !strings.HasPrefix(stderr, "5 decisions") {
		t.Errorf("to standard output: status %d, %q, %q", status, stdout, stderr)
	}
	os.WriteFile(filepath.Join(dir, "twice"), []byte("a\ta\na\ta\n"), 0o666)
	os.WriteFile(filepath.Join(dir, "bad"), []byte("a\ta\nb\n"), 0o666)
	for args, want := range map[string]string{"twice b": "twice:2: the id \"a\" occurs twice", "b twice": "twice:2: ", "bad b": "bad:2: not a row with two ids", "no b": "no: no such file", "b x.jsonl": "x.jsonl:1: not a row with two ids"} {
		if status, stdout, stderr := inDirectory(t, dir, append([]string{"diff", "--out", "o"}, strings.Fields(args)...)...); status != 1 || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Errorf("%s: something was written", args)
		}
	}
}
