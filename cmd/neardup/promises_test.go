package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// This file tests what the program promises of any call: no file of the user's is overwritten, and nothing is passed over in silence.

// filesIn writes files into a new directory.
func filesIn(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const twoTexts = `{"id":1,"text":"hello there my friend"}` + "\n" + `{"id":2,"text":"hello there my friend"}` + "\n"

// TestOverwritesNothing: whatever is read is not written, by whatever name.
func TestOverwritesNothing(t *testing.T) {
	dir := filesIn(t, map[string]string{"in.jsonl": twoTexts, "list.csv": "in.jsonl\n", "schema.jsonl": `{"text":"words,large"}`, "secret.jsonl": "a secret of 16 bytes", "k1.csv": "id,kept\n1,1\n", "k2.csv": "id,kept\n1,1\n", "old.jsonl": "old\n"})
	for _, link := range [][2]string{{"old.jsonl", "link.jsonl"}, {"nowhere", "dangling.jsonl"}, {".", "here"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("no links: ", err)
		}
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "in.jsonl", "--state", "state"); status != 0 {
		t.Fatal(stderr)
	}
	all := map[string]string{}
	each := func(use func(name, text string)) {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if b, err := os.ReadFile(path); err == nil && d.Type().IsRegular() {
				use(path, string(b))
			}
			return nil
		})
	}
	each(func(name, text string) { all[name] = text })
	for args, want := range map[string]string{
		"dedup --files-from list.csv --groups list.csv":                            "list.csv: the same file is an input and an output",
		"records in.jsonl --schema schema.jsonl --out schema.jsonl":                "schema.jsonl: the same file is an input and an output",
		"dedup in.jsonl --method simhash --secret secret.jsonl --out secret.jsonl": "secret.jsonl: the same file is an input and an output",
		"diff k1.csv k2.csv --out k2.csv":                                          "k2.csv: the same file is an input and an output",
		"diff k1.csv k2.csv --out here/k1.csv":                                     "k1.csv: the same file is an input and an output",
		"dedup in.jsonl --state state --out state/groups":                          "state/groups: outputs cannot be written into the --state directory",
		"dedup in.jsonl --out new.jsonl --annotate here/new.jsonl":                 "here/new.jsonl: two outputs have this name",
		"dedup in.jsonl --out old.jsonl --annotate link.jsonl":                     "link.jsonl: two outputs have this name",
		"dedup in.jsonl --out dangling.jsonl":                                      "dangling.jsonl: a link to a file that does not exist",
	} {
		status, _, stderr := inDirectory(t, dir, strings.Fields(args)...)
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
		n := 0
		each(func(name, text string) {
			if n++; all[name] != text {
				t.Errorf("%s: %s is another file", args, name)
			}
		})
		if n != len(all) {
			t.Errorf("%s: there are %d files, and were %d", args, n, len(all))
		}
	}
}

// TestTellsWhatIsMissing: with --skip-bad it is said where a file ends too early, and without it that bytes are not UTF-8.
func TestTellsWhatIsMissing(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range 5000 {
		fmt.Fprintf(z, "{\"id\":%d,\"text\":\"%x\"}\n", i, i*i*7919)
	}
	z.Close()
	dir := filesIn(t, map[string]string{
		"list.json":    `[{"id":1,"text":"a b"},` + "\n" + `{"id":2,"text":"bad",},` + "\n" + `{"id":3,"text":"c d"}]`,
		"cut.jsonl.gz": packed.String()[:packed.Len()/2],
		"twins.csv":    "id,text,text\n1,a,b\n",
		"few.csv":      "id,text\n0,fine\n1,The price of the caf\xff is high\n2,The price of the caf\x81 is high\n",
		"late.jsonl":   strings.Repeat(`{"text":"`+strings.Repeat("many words ", 100)+`"}`+"\n", 1000) + `{"text":"` + "\xcf\xf0\xe8\xe2\xe5\xf2" + `"}`,
		"fine.jsonl":   `{"id":"a","text":"中文 and \ud83d\ude00"}`,
	})
	for file, want := range map[string]string{
		"list.json":    "the rest of the file is not read",
		"cut.jsonl.gz": "the rest of the file is not read",
		"twins.csv":    "the rest of the file is not read",
		"few.csv":      "few.csv: lines or rows with bytes that are not UTF-8: 2, the first at line 3",
		"late.jsonl":   "late.jsonl: read as WINDOWS-1251",
	} {
		if status, _, stderr := inDirectory(t, dir, "dedup", "--skip-bad", file); status != 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", file, status, stderr)
		}
	}
	for _, args := range []string{"dedup fine.jsonl --text text,tilte", "dedup fine.jsonl --text text,tilte --method minhash", "passages fine.jsonl --text text,tilte", "fingerprint fine.jsonl --text text,tilte --out fp.csv"} {
		if status, _, stderr := inDirectory(t, dir, strings.Fields(args)...); status != 0 || !strings.HasPrefix(stderr, "neardup: no document has a field \"tilte\"\n") {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "fine.jsonl"); status != 0 || stderr != "" {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestPairsWithoutRoom: of n equal documents there are n²/2 pairs, for which small memories have no room. The groups need little.
func TestPairsWithoutRoom(t *testing.T) {
	dir := filesIn(t, map[string]string{"in.jsonl": strings.Repeat(`{"text":"one line that is equal to all others, of which there are many"}`+"\n", 1200)})
	for _, method := range []string{"auto", "minhash", "simhash"} {
		call := func(args ...string) (int, string) {
			status, _, stderr := inDirectory(t, dir, append([]string{"dedup", "in.jsonl", "-q", "--memory", "64M", "--method", method}, args...)...)
			return status, stderr
		}
		if status, stderr := call("--pairs", "p.csv"); status != 1 || !strings.Contains(stderr, "pairs do not fit in --memory") {
			t.Errorf("%s: status %d, %s", method, status, stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, "p.csv")); err == nil {
			t.Errorf("%s: there are pairs", method)
		}
		if status, stderr := call("--groups", "c.csv"); status != 0 {
			t.Errorf("%s: status %d, %s", method, status, stderr)
		}
	}
}

// TestAnnotatesOnce: a document has no two fields of one name.
func TestAnnotatesOnce(t *testing.T) {
	dir := filesIn(t, map[string]string{"in.jsonl": twoTexts, "word.jsonl": `{"id":1,"text":"of a \"neardup_group\""}`})
	if status, _, stderr := inDirectory(t, dir, "dedup", "in.jsonl", "--annotate", "once.jsonl", "-q"); status != 0 {
		t.Fatal(stderr)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "once.jsonl", "--annotate", "twice.jsonl", "-q"); status != 1 || !strings.Contains(stderr, `once.jsonl:1: cannot add the field "neardup_group", because it already exists`) {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "word.jsonl", "--annotate", "words.jsonl", "-q"); status != 0 {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestNested: values in many lists are written as text, and not one panics.
func TestNested(t *testing.T) {
	line := func(open, end string, n int) string {
		return `{"id":1,"text":"a","x":` + strings.Repeat(open, n) + "1" + strings.Repeat(end, n) + "}\n"
	}
	for name, text := range map[string]string{"lists": line("[", "]", 300), "objects": line(`{"y":`, "}", 300), "few": line("[", "]", 30)} {
		dir := filesIn(t, map[string]string{"in.jsonl": text})
		for _, form := range []string{"parquet", "arrow"} {
			if status, _, stderr := inDirectory(t, dir, "dedup", "in.jsonl", "-q", "--out", "out."+form); status != 0 {
				t.Errorf("%s as %s: status %d, %s", name, form, status, stderr)
			}
			if status, _, stderr := inDirectory(t, dir, "dedup", "out."+form, "-q", "--out", form+".jsonl"); status != 0 {
				t.Errorf("%s from %s: status %d, %s", name, form, status, stderr)
			}
			if back := read(t, filepath.Join(dir, form+".jsonl")); name == "few" && back != text {
				t.Errorf("%s by %s: %s", name, form, back)
			}
		}
	}
}

// A full writer is like a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestFullOutput: what cannot be printed is an error, also of a summary.
func TestFullOutput(t *testing.T) {
	dir := filesIn(t, map[string]string{"in.jsonl": twoTexts})
	in := filepath.Join(dir, "in.jsonl")
	for _, args := range [][]string{{"dedup", in}, {"compare", in, in}, {"passages", in}, {"decontaminate", in, in}, {"sql", "duckdb", "--table", "x"}, {"version"}, {"--help"}} {
		var stderr strings.Builder
		if status := run(args, &cli.Outputs{}, nil, full{}, &stderr); status != 1 || !strings.Contains(stderr.String(), "no room") {
			t.Errorf("%q: status %d, %s", args, status, stderr.String())
		}
	}
}

// TestNames: texts in files whose names are not UTF-8 have ids that are, each its own, and what was written is read again.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "t"), 0o777)
	for _, name := range []string{"b\xff.txt", "b\xfe.txt", "中\uFFFD.txt"} {
		if err := os.WriteFile(filepath.Join(dir, "t", name), []byte("one text of many words that is here again"), 0o666); err != nil {
			t.Skip("no such names: ", err)
		}
	}
	for _, args := range []string{"dedup t -q --audit audit.csv --pairs p.jsonl", "verify audit.csv t", "rethreshold p.jsonl t -q --groups k.tsv", "dedup t -q --pairs p.tsv", "rethreshold p.tsv t -q --groups k.csv"} {
		if status, _, stderr := inDirectory(t, dir, strings.Fields(args)...); status != 0 {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	if got := read(t, filepath.Join(dir, "k.csv")); got != "id,kept,group,size\n"+`t/b\xfe.txt,t/b\xfe.txt,t/b\xfe.txt,3`+"\n"+`t/b\xff.txt,t/b\xfe.txt,t/b\xfe.txt,3`+"\n"+"t/中\uFFFD.txt,"+`t/b\xfe.txt,t/b\xfe.txt,3`+"\n" {
		t.Errorf("%s", got)
	}
}
