package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// TestFind finds files in a tree, by patterns, and from lists.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"book/one.md": "the first page of a book", "book/deep/two.rst": "the second page of a book", "book/deep/main.go": "package main of a book", "book/.git/x.txt": "hidden",
		"book/.notes.txt": "hidden", "data/README.md": "what is in the data", "data/a.jsonl": `{"id":"a","text":"a document"}`, "data/part-0": `{"id":"b","text":"another document"}`,
		"list": "book/one.md\r\n\nbook/deep/main.go\n", "zeros": "book/one.md\x00book/deep/two.rst\x00", "empty/.x": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o777)
		os.WriteFile(path, []byte(text), 0o666)
	}
	for _, test := range []struct{ args, want, said string }{
		{"book", "book/deep/two.rst book/one.md", "1 file in the directories has another format and is not read: book/deep/main.go\nneardup: 2 hidden files and folders are not read: book/.git, book/.notes.txt\n"},
		{"--format txt book", "book/deep/main.go book/deep/two.rst book/one.md", "2 hidden files and folders are not read"},
		{"data", "a", "2 files in the directories have other formats and are not read: data/part-0, data/README.md\n"},
		{"data data/README.md", "a data/README.md", "2 files in the directories"},
		{"--format jsonl data/a.jsonl data/part-0", "a b", ""},
		{"book/**/*.md", "book/one.md", ""},
		{"book/**/*.{md,rst}", "book/deep/two.rst book/one.md", ""},
		{"--format txt book/**", "book/deep/main.go book/deep/two.rst book/one.md", ""},
		{"**/*.jsonl", "a", ""},
		{"--format txt --files-from list", "book/one.md book/deep/main.go", ""},
		{"--files-from zeros data/a.jsonl", "a book/one.md book/deep/two.rst", ""},
		{"--files-from -", "book/deep/two.rst", ""},
	} {
		t.Chdir(dir)
		var out, errs strings.Builder
		status := run(append([]string{"dedup", "--method", "simhash", "--groups", "-"}, strings.Fields(test.args)...), &cli.Outputs{}, strings.NewReader("book/deep/two.rst\n"), &out, &errs)
		var ids []string
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			id, _, _ := strings.Cut(line, "\t")
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); status != 0 || got != test.want || !strings.Contains(errs.String(), test.said) || test.said == "" && strings.Contains(errs.String(), "not read") {
			t.Errorf("%s: status %d, found %s, said %q", test.args, status, got, errs.String())
		}
	}
	for args, want := range map[string]string{
		"": "name at least one input", "--files-from empty/.x": "empty/.x: the list of inputs is empty", "--files-from no": "no: no such file", "--files-from - -": "only once",
		"empty": "no files in a known format", "nothing/**": "no file matches", "book/[": "book/[", "--files-from list": "book/deep/main.go: the file name does not end in a known format",
	} {
		t.Chdir(dir)
		var out, errs strings.Builder
		if status := run(append([]string{"dedup"}, strings.Fields(args)...), &cli.Outputs{}, strings.NewReader(""), &out, &errs); status == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %q", args, status, errs.String())
		}
	}
}

// TestOtherPaths: paths need not be UTF-8.
func TestOtherPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "\xd6\xd0.jsonl"), []byte(three), 0o666); err != nil {
		t.Skip(err)
	}
	if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--out", "\xd6\xd1.jsonl", "\xd6\xd0.jsonl"); status != 0 || read(t, "\xd6\xd1.jsonl") == "" {
		t.Error(errs)
	}
}
