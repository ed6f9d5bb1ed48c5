package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/write"
)

// home is the directory of the package. Tests work in others.
var home, _ = os.Getwd()

// inFormats runs the program in a directory with the files of testdata/formats, which other programs have made.
func inFormats(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return inDirectory(t, formatFiles(t), args...)
}

// formatFiles returns a new directory with these files.
func formatFiles(t *testing.T) string {
	t.Helper()
	from := filepath.Join(home, "testdata/formats")
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, e.Name()), b, 0o666)
	}
	return dir
}

// inDirectory runs the program in a directory.
func inDirectory(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Chdir(dir)
	var out, errs strings.Builder
	status = run(args, &cli.Outputs{}, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// wantGroups are the groups of the letters in testdata/formats.
const wantGroups = "甲1\t甲1\n甲2\t甲2\n甲3\t甲1\n甲4\t甲4\n甲5\t甲2\n"

// TestOtherPrograms reads files that other programs have made: workbooks of LibreOffice, Parquet of DuckDB, CSV as
// Excel writes it in China, and more. What was found out about them is said.
func TestOtherPrograms(t *testing.T) {
	chinese := []string{"--id", "编号", "--title", "标题", "--text", "正文"}
	for _, test := range []struct {
		file  string
		flags []string
		said  string
	}{
		{"sheet.xlsx", chinese, ""},
		{"excel-china.csv", chinese, "neardup: excel-china.csv: read as GB18030\n"},
		{"excel-china.csv", append(chinese, "--encoding", "gbk"), "neardup: excel-china.csv: read as GB18030\n"},
		{"ascii-header-gbk.csv", nil, "neardup: ascii-header-gbk.csv: read as GB18030\n"},
		{"utf16.csv", chinese, "neardup: utf16.csv: read as UTF-16LE\n"},
		{"semicolon.csv", chinese, "neardup: semicolon.csv: columns are separated by ';'\n"},
		{"semicolon.csv", append(chinese, "--separator", ";"), ""},
		{"letters.csv.xz", chinese, ""},
		{"letters.csv.bz2", chinese, ""},
		{"duckdb.parquet", nil, ""},
	} {
		status, stdout, stderr := inFormats(t, append(append([]string{"dedup", "--groups", "groups", test.file}, test.flags...), "--json")...)
		if status != 0 || stderr != test.said || read(t, "groups") != wantGroups {
			t.Errorf("%s %q: status %d, said %q, groups %q", test.file, test.flags, status, stderr, read(t, "groups"))
		}
		var s write.Summary
		if err := json.Unmarshal([]byte(stdout), &s); err != nil || s.Documents != 5 || s.Duplicates != 2 {
			t.Errorf("%s: summary %s", test.file, stdout)
		}
	}
	// Without ids, with nested ones, with several texts, and with a list.
	for _, test := range [][3]string{
		{"duckdb-noid.parquet", "", "duckdb-noid.parquet:3\tduckdb-noid.parquet:1\n"},
		{"duckdb.parquet", "--id meta.n", "3\t1\n"},
		{"duckdb.parquet", "--text title,text", "甲3\t甲1\n"},
		{"duckdb.parquet", "--text tags", "甲3\t甲1\n"},
	} {
		status, _, stderr := inFormats(t, append([]string{"dedup", "--groups", "groups", test[0]}, strings.Fields(test[1])...)...)
		if got := read(t, "groups"); status != 0 || !strings.Contains(got, test[2]) || (test[1] == "") != strings.Contains(stderr, `5 documents have no "id"`) {
			t.Errorf("%s %s: status %d, groups %q, said %q", test[0], test[1], status, got, stderr)
		}
	}
}

// TestWithoutID: documents without ids are known by a hash of their text, if that is wanted.
func TestWithoutID(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(`{"text":"one and two"}`+"\n"+`{"text":"three"}`+"\n"+`{"text":"one and two"}`+"\n"), 0o666)
	status, stdout, stderr := inDirectory(t, dir, "dedup", "--without-id", "hash", "--groups", "-", "x.jsonl")
	id := strings.Split(stdout, "\t")[0]
	if lines := strings.Split(stdout, "\n"); status != 0 || len(id) != 32 || lines[2] != id+"-2\t"+id || !strings.Contains(stderr, "using a hash of the text instead") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "--without-id", "no", "x.jsonl"); status != 2 {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// TestWritten writes the cleaned and the annotated collection in each format, and reads them again.
func TestWritten(t *testing.T) {
	chinese := []string{"--id", "编号", "--title", "标题", "--text", "正文"}
	for _, from := range []string{"sheet.xlsx", "duckdb.parquet", "semicolon.csv"} {
		flags := chinese
		if from == "duckdb.parquet" {
			flags = nil
		}
		for _, to := range []string{"o.csv", "o.tsv.gz", "o.xlsx", "o.jsonl", "o.parquet"} {
			status, _, stderr := inFormats(t, append([]string{"dedup", "-q", "--out", to, from}, flags...)...)
			if status != 0 || stderr != "" {
				t.Fatalf("%s to %s: status %d, %q", from, to, status, stderr)
			}
			again := append([]string{"dedup", "--groups", "groups", "-q", to}, flags...)
			if status := run(again, &cli.Outputs{}, nil, &strings.Builder{}, &strings.Builder{}); status != 0 || read(t, "groups") != "甲1\t甲1\n甲2\t甲2\n甲4\t甲4\n" {
				t.Errorf("%s to %s and back: status %d, %q", from, to, status, read(t, "groups"))
			}
		}
	}
	// A copy of Parquet has the types and the row groups of the original.
	if status, _, stderr := inFormats(t, "dedup", "-q", "--out", "o.parquet", "duckdb.parquet"); status != 0 {
		t.Fatal(stderr)
	}
	types := func(path string) (string, []int64) {
		f := read(t, path)
		p, err := parquet.OpenFile(strings.NewReader(f), int64(len(f))) // of another library
		if err != nil {
			t.Fatal(err)
		}
		var rows []int64
		for _, g := range p.RowGroups() {
			rows = append(rows, g.NumRows())
		}
		return p.Schema().String(), rows
	}
	was, _ := types("duckdb.parquet")
	if is, rows := types("o.parquet"); is != was || len(rows) < 1 {
		t.Errorf("columns %s became %s; rows %v", was, is, rows)
	}
	// Formulas in what people open are harmless, and the annotations say what was found.
	if status, _, stderr := inFormats(t, "dedup", "-q", "--annotate", "a.csv", "--audit", "audit.csv", "duckdb.parquet"); status != 0 {
		t.Fatal(stderr)
	}
	annotated := read(t, "a.csv")
	for _, want := range []string{"\ufeffid,title,", ",neardup_group,neardup_size,neardup_kept,neardup_like,neardup_similarity,neardup_kind\n", ",甲1,2,no,甲1,0.9366,revised\n", "甲5,'=1+1,"} {
		if !strings.Contains(annotated, want) {
			t.Errorf("%q is not in %s", want, annotated)
		}
	}
	if audit := read(t, "audit.csv"); !strings.Contains(audit, "甲3,duckdb.parquet:3,甲1,duckdb.parquet:1,甲1,2,0.9366,revised,0.") || strings.Count(audit, "\n") != 3 {
		t.Errorf("audit %s", audit)
	}
	// Without rows there are columns, and standard input may have any format.
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.csv"), []byte("id,text\n"), 0o666)
	if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--out", "o.csv", "x.csv"); status != 0 || read(t, "o.csv") != "id,text\n" {
		t.Errorf("status %d, %q, %q", status, stderr, read(t, "o.csv"))
	}
	for _, format := range []string{"sheet.xlsx", "duckdb.parquet"} {
		f, err := os.Open(filepath.Join(home, "testdata/formats", format))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var errs strings.Builder
		args := []string{"dedup", "-q", "--format", filepath.Ext(format)[1:], "--out", "o" + filepath.Ext(format), "--groups", "groups", "-"}
		if format == "sheet.xlsx" {
			args = append(args, chinese...)
		}
		if status := run(args, &cli.Outputs{}, f, &errs, &errs); status != 0 || read(t, "groups") != wantGroups || len(read(t, "o"+filepath.Ext(format))) < 500 {
			t.Errorf("%s from standard input: status %d, %s", format, status, errs.String())
		}
	}
	// A byte order mark of an input stays.
	dir = t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.csv"), []byte("\ufeffid,text\n1,one text\n2,one text\n"), 0o666)
	if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--out", "o.csv", "x.csv"); status != 0 || read(t, "o.csv") != "\ufeffid,text\n1,one text\n" {
		t.Errorf("status %d, %q, %q", status, stderr, read(t, "o.csv"))
	}
}

// TestDirectory: what is passed over in a directory is said, patterns are found, and an output is never an input.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.jsonl": three, "b.pdf": "x", "c.json": "[" + strings.ReplaceAll(strings.TrimSpace(three), "\n", ",\n") + "]", "d.html": "<p>the <b>quick</b> brown fox jumps over the lazy dog</p>"} {
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "--groups", "-", "d.html", "c.json", "."); status != 1 || !strings.Contains(stderr, "used twice") {
		t.Errorf("status %d, %q", status, stderr)
	}
	os.Remove("c.json")
	if status, stdout, stderr := inDirectory(t, dir, "dedup", "--groups", "-", "."); status != 0 || !strings.Contains(stderr, "1 file in the directories has another format and is not read: b.pdf") || !strings.Contains(stdout, "d.html\ta\n") {
		t.Errorf("status %d, %q, %q", status, stderr, stdout)
	}
	if status, stdout, stderr := inDirectory(t, dir, "dedup", "--groups", "-", "*.html", "a.j*"); status != 0 || !strings.Contains(stdout, "a\td.html\n") {
		t.Errorf("status %d, %q, %q", status, stderr, stdout)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "--out", "./a.jsonl", "a.jsonl"); status != 1 || !strings.Contains(stderr, "is an input and an output") || read(t, "a.jsonl") != three {
		t.Errorf("status %d, %q", status, stderr)
	}
	if status, _, stderr := inDirectory(t, dir, "dedup", "*.nothing"); status != 1 || !strings.Contains(stderr, "no file matches") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if status, _, _ := inDirectory(t, dir, "dedup", "--exit-code", "-q", "a.jsonl"); status != 3 {
		t.Errorf("with --exit-code the status is %d", status)
	}
}

// TestRecords finds rows that are near-duplicates, says by which schema, and takes another one.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.csv"), []byte("id,name,born,notes\n1,Zhang San,1956-04-09,\n2,Li Si,1970-01-02,\n3,Zhang Sam,1956-04-09,\n"), 0o666)
	status, stdout, stderr := inDirectory(t, dir, "records", "--schema", "-", "--groups", "-", "x.csv")
	if status != 0 || !strings.Contains(stderr, `--schema: {"name": ["words","chars3"], "born": "date", "notes": "-"}`) || !strings.HasPrefix(stdout, "1\t1\n2\t2\n3\t1\n") && !strings.HasPrefix(stdout, "1\t1\n2\t2\n3\t3\n") {
		t.Errorf("status %d, %q, %q", status, stderr, stdout)
	}
	os.WriteFile("s.json", []byte(`{"name": "chars2", "born": "date,weight=4"}`), 0o666)
	if status, stdout, stderr := inDirectory(t, dir, "records", "--schema", "s.json", "--groups", "-", "x.csv"); status != 0 || !strings.HasPrefix(stdout, "1\t1\n2\t2\n3\t1\n") {
		t.Errorf("status %d, %q, %q", status, stderr, stdout)
	}
	os.WriteFile("s.json", []byte(`{"name": "chars"}`), 0o666)
	if status, _, stderr := inDirectory(t, dir, "records", "--schema", "s.json", "x.csv"); status != 1 || !strings.Contains(stderr, "s.json:1: ") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// TestLabelled: explain, calibrate and compare.
func TestLabelled(t *testing.T) {
	flags := []string{"letters.csv.xz", "--id", "编号", "--text", "正文"}
	if status, stdout, stderr := inFormats(t, append([]string{"explain", "甲1", "甲3"}, flags...)...); status != 0 || !strings.HasPrefix(stdout, "near-duplicates: the probability is 0.9") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := inFormats(t, append([]string{"explain", "甲1", "甲9"}, flags...)...); status != 1 || !strings.Contains(stderr, `no document has the id "甲9"`) {
		t.Errorf("status %d, %q", status, stderr)
	}
	for _, labels := range []string{"甲1\t甲3\tsame\n甲2\t甲5\tdifferent\n", "a,b,label\n甲1,甲3,same\n甲2,甲5,no\n", `{"a":"甲1","b":"甲3","same":true}` + "\n\n" + `{"a":"甲2","b":"甲5","same":false}` + "\n",
		`{"a":"甲1","b":"甲3","same":true}` + "\n" + `{"a":"甲1","b":"甲2","unsure":true}` + "\n甲2\t甲5\tdifferent\n甲1\t甲4\tunsure\n"} {
		inFormats(t, "version")
		os.WriteFile("labels", []byte(labels), 0o666)
		var out, errs strings.Builder
		if status := run(append([]string{"calibrate", "labels"}, flags...), &cli.Outputs{}, nil, &out, &errs); status != 0 || !strings.Contains(out.String(), "from 1 of 2 labels;") {
			t.Errorf("%q: status %d, %q, %q", labels, status, out.String(), errs.String())
		}
		os.WriteFile("labels", []byte(labels+"甲1\t甲3\tperhaps\n"), 0o666)
		errs.Reset()
		if status := run(append([]string{"calibrate", "labels"}, flags...), &cli.Outputs{}, nil, &out, &errs); status != 1 || !strings.Contains(errs.String(), "not a label") {
			t.Errorf("%q: status %d, %q", labels, status, errs.String())
		}
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one two three four"), 0o666)
	os.WriteFile(filepath.Join(dir, "b.html"), []byte("<h1>one two</h1> three four"), 0o666)
	if status, stdout, stderr := inDirectory(t, dir, "compare", "a.txt", "b.html"); status != 0 || !strings.HasPrefix(stdout, "kind        same-words\nprobability 1.0000") || !strings.Contains(stdout, "0 of 64 bits differ") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	os.WriteFile(filepath.Join(dir, "c.txt"), []byte(" \n"), 0o666)
	if status, stdout, _ := inDirectory(t, dir, "compare", "a.txt", "c.txt"); status != 0 || stdout != "c.txt has no text, so there is nothing to compare\n" {
		t.Errorf("status %d, %q", status, stdout)
	}
}

// TestCleanedName: what estimate advises keeps the format of the inputs, if they have one that keeps all.
func TestCleanedName(t *testing.T) {
	for formats, want := range map[string]string{"parquet parquet": "cleaned.parquet", "csv": "cleaned.csv", "csv tsv": "cleaned.jsonl", "jsonl": "cleaned.jsonl", "txt parquet": "cleaned.jsonl", "xlsx": "cleaned.xlsx"} {
		var sources []input.Source
		for _, f := range strings.Fields(formats) {
			sources = append(sources, input.Source{Format: f})
		}
		if got := output.CleanedName(sources); got != want {
			t.Errorf("%s: %s", formats, got)
		}
	}
}

// TestReport: the page has the pairs, and nothing of it is left after an error.
func TestReport(t *testing.T) {
	flags := []string{"--id", "编号", "--text", "正文", "letters.csv.xz"}
	if status, stdout, stderr := inFormats(t, append([]string{"review"}, flags...)...); status != 0 || stdout != "2 pairs to look at: open review.html in a browser\n" || !strings.Contains(read(t, "review.html"), `"ids":["甲1","甲2","甲3","甲5"]`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := inFormats(t, append([]string{"dedup", "-q", "--report", "r.html"}, flags...)...); status != 0 || !strings.Contains(read(t, "r.html"), "Content-Security-Policy") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if status, _, stderr := inFormats(t, "review", "--report", "r.html", "letters.csv.xz"); status != 1 || !strings.Contains(stderr, "Set --text") {
		t.Errorf("status %d, %q", status, stderr)
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.html"), []byte("<p>a page"), 0o666)
	if status, _, stderr := inDirectory(t, dir, "review", "--report", "x.html", "."); status != 1 || !strings.Contains(stderr, "is an input and an output") || read(t, "x.html") != "<p>a page" {
		t.Errorf("onto an input: status %d, %q", status, stderr)
	}
	t.Chdir(t.TempDir())
	if status, _, stderr := inFormats(t, "review", "--report", "r.html", "letters.csv.xz"); status != 1 {
		t.Errorf("status %d, %q", status, stderr)
	}
	if left, _ := filepath.Glob("*r*.html*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestScreenshots makes the pictures of docs/: NEARDUP_SCREENSHOTS=$PWD/docs/figures go test -C cmd/neardup -run Screenshots .
func TestScreenshots(t *testing.T) {
	to := os.Getenv("NEARDUP_SCREENSHOTS")
	if to == "" {
		t.Skip("NEARDUP_SCREENSHOTS does not name a directory")
	}
	page := filepath.Join(t.TempDir(), "review.html")
	if status, _, stderr := inDirectory(t, filepath.Join(home, "../../testdata"), "review", "-q", "--report", page, "zh.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	for name, flags := range map[string][]string{
		"review-light.png": {"--window-size=1280,860"},
		"review-dark.png":  {"--window-size=1280,860", "--blink-settings=preferredColorScheme=0"},
		"review-phone.png": {"--window-size=500,1100"},
	} {
		args := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000", "--screenshot=" + filepath.Join(to, name)}, flags...)
		if out, err := exec.Command("chromium", append(args, "file://"+page)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestCompletion lets bash complete commands and flags.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, test := range []struct{ words, want string }{{"neardup ca", "calibrate"}, {"neardup dedup --simi", "--similarity"}, {"neardup records x --sch", "--schema"}} {
		words := strings.Fields(test.words)
		_, script, _ := inDirectory(t, t.TempDir(), "completion", "bash")
		script += fmt.Sprintf("COMP_WORDS=(%s); COMP_CWORD=%d; _neardup; echo ${COMPREPLY[@]}", test.words, len(words)-1)
		if out, err := exec.Command(bash, "-c", script).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != test.want {
			t.Errorf("%s: %q, %v", test.words, out, err)
		}
	}
	if status, out, _ := inDirectory(t, t.TempDir(), "completion", "fish"); status != 0 || !strings.Contains(out, "-n '__fish_seen_subcommand_from dedup' -l similarity -d ") {
		t.Errorf("fish: status %d, %s", status, out)
	}
}

// TestPrivate: what is being written is nobody else's, and gets the permissions of other files when it is complete.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var outs cli.Outputs
	w, err := outs.Create("x.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("text")
	w.Flush()
	os.WriteFile("other", nil, 0o666)
	mode := func(pattern string) os.FileMode {
		names, _ := filepath.Glob(pattern)
		info, err := os.Stat(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if m := mode(".neardup-*.tmp"); m&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("a file that is being written has the mode %v", m)
	}
	if err := outs.Commit(); err != nil || mode("x.csv") != mode("other") {
		t.Errorf("error %v, mode %v, not %v", err, mode("x.csv"), mode("other"))
	}
}

// TestKeepMinHash: the longest document of a group stays, with every method.
func TestKeepMinHash(t *testing.T) {
	text := strings.Repeat("one text that is long enough to be compared ", 5)
	input := `{"id":"a","text":"` + text + `"}` + "\n" + `{"id":"b","text":"` + text + ` more"}` + "\n"
	for _, method := range []string{"auto", "minhash", "simhash"} {
		for keep, want := range map[string]string{"first": "a\ta\nb\ta\n", "longest": "a\tb\nb\tb\n", "newest": "a\tb\nb\tb\n"} {
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(input), 0o666)
			args := []string{"dedup", "--method", method, "--keep", keep, "--groups", "c", "x.jsonl"}
			if method == "simhash" {
				args = append(args, "--distance", "12")
			}
			if status, _, stderr := inDirectory(t, dir, args...); status != 0 || read(t, "c") != want {
				t.Errorf("%s, %s: status %d, %s, %q", method, keep, status, stderr, read(t, "c"))
			}
		}
	}
}

// The rows of types.parquet (DuckDB) and types.xlsx (openpyxl), which have values of all types.
var (
	typedParquet = []string{
		`{"id":"a","text":"one and the same text of eight words here","price":1.50,"big":123456789012345678901234.5,"local":"2026-11-24T15:04:05.123456","instant":"2026-11-24T13:04:05Z","day":"1969-12-31","clock":"06:07:08","flag":true,"small":42,"large":18446744073709551615,"f32":0.1,"f64":0.1,"blob":"/wA=","list":["x",null,"y"],"struct":{"k":{"deep":7,"list":[[1,2],[]]},"n":null},"map":{"k1":1,"k2":2},"uuid":"01234567-89ab-cdef-0123-456789abcdef","mood":"happy"}`,
		`{"id":"c","text":"quite another one about the weather of today","price":null,"big":null,"local":"1960-01-01T00:00:00","instant":"9999-01-01T00:00:00Z","day":"2026-02-28","clock":"00:00:00","flag":null,"small":null,"large":null,"f32":null,"f64":null,"blob":"","list":null,"struct":null,"map":null,"uuid":null,"mood":"sad"}`,
	}
	typedSheet = []string{
		`{"id":"a","text":"one and the same text of eight words here","price":1.5,"when":"2026-11-24T15:04:05","day":"2026-02-28","clock":"06:07:08","open":true,"sum":3,"note":"007"}`,
		`{"id":"c","text":"quite another one about the weather of today","price":12345678901234,"when":"1999-12-31T23:59:59","day":"2000-01-01","clock":"00:00:01","open":null,"sum":24691357802468,"note":"007"}`,
	}
)

// TestTypes: values keep their types from any format to any, as far as it has them, and come back the same.
func TestTypes(t *testing.T) {
	lines := func(want []string) string { return strings.Join(want, "\n") + "\n" }
	dir := formatFiles(t)
	convert := func(from, to string) string {
		t.Helper()
		os.Remove(filepath.Join(dir, to))
		if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--sheet", "", "--out", to, from); status != 0 || stderr != "" {
			t.Fatalf("%s to %s: status %d, %q", from, to, status, stderr)
		}
		return read(t, to)
	}
	// From each format to JSON, and back and forth.
	for from, want := range map[string][]string{"types.parquet": typedParquet, "types.xlsx": typedSheet} {
		if got := convert(from, "o.jsonl"); got != lines(want) {
			t.Errorf("%s became\n%s", from, got)
		}
		convert("o.jsonl", "back.parquet") // in which times are texts now
		if got := convert("back.parquet", "again.jsonl"); got != strings.ReplaceAll(lines(want), "1.50,", "1.5,") {
			t.Errorf("%s came back as\n%s", from, got)
		}
	}
	convert("types.parquet", "same.parquet")
	if got := convert("same.parquet", "o.jsonl"); got != lines(typedParquet) {
		t.Errorf("rows of Parquet that were copied are\n%s", got)
	}
	convert("types.xlsx", "same.xlsx")
	if got := convert("same.xlsx", "o.jsonl"); got != lines(typedSheet) {
		t.Errorf("a workbook that was copied has\n%s", got)
	}
	convert("types.xlsx", "typed.parquet") // in which dates are dates
	if got := convert("typed.parquet", "o.jsonl"); got != lines(typedSheet) {
		t.Errorf("a workbook became the Parquet file\n%s", got)
	}
	csv := convert("types.parquet", "o.csv")
	for _, want := range []string{"\ufeffid,text,price,", ",1.50,123456789012345678901234.5,2026-11-24T15:04:05.123456,2026-11-24T13:04:05Z,1969-12-31,06:07:08,true,42,", `,"[""x"",null,""y""]","{""k"":{""deep"":7,""list"":[[1,2],[]]},""n"":null}",`} {
		if !strings.Contains(csv, want) {
			t.Errorf("there is no %s in\n%s", want, csv)
		}
	}
}

// TestWorkbook: a workbook without some rows is what it was otherwise: formulas follow, and so do other sheets, widths, formats, filter and the
// header that stays.
func TestWorkbook(t *testing.T) {
	for _, flag := range []string{"--out", "--annotate"} {
		if status, _, stderr := inFormats(t, "dedup", "-q", "--sheet", "Letters", flag, "o.xlsx", "types.xlsx"); status != 0 {
			t.Fatalf("status %d, %q", status, stderr)
		}
		book, err := excelize.OpenFile("o.xlsx")
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		last := map[string]int{"--out": 3, "--annotate": 4}[flag]
		for at, want := range map[string]string{fmt.Sprint("Letters!H", last): fmt.Sprintf("C%d*2", last), "Totals!B1": fmt.Sprintf("SUM(Letters!C2:C%d)", last), "Totals!C1": fmt.Sprint("Letters!C", last)} {
			sheet, cell, _ := strings.Cut(at, "!")
			if got, err := book.GetCellFormula(sheet, cell); got != want || err != nil {
				t.Errorf("%s: %s is %s, %v", flag, at, got, err)
			}
		}
		for cell, want := range map[string]string{"C2": "1.50", "E2": "28/02/2026", fmt.Sprint("D", last): "1999-12-31 23:59:59", "I2": "007"} {
			if got, _ := book.GetCellValue("Letters", cell); got != want {
				t.Errorf("%s: %s is shown as %q, not %q", flag, cell, got, want)
			}
		}
		width, _ := book.GetColWidth("Letters", "B")
		panes, _ := book.GetPanes("Letters")
		if names := book.GetSheetList(); width != 44 || !panes.Freeze || !slices.Equal(names, []string{"Letters", "Totals"}) {
			t.Errorf("%s: width %v, panes %+v, sheets %q", flag, width, panes, names)
		}
		if flag == "--annotate" {
			if got, _ := book.GetCellValue("Letters", "M3"); got != "a" {
				t.Errorf("the second row is like %q", got)
			}
		}
	}
}

// TestFromJSON: objects become rows of every table, with all fields that any of them has.
func TestFromJSON(t *testing.T) {
	dir := t.TempDir()
	objects := `{"id":"a","text":"one and the same text of eight words here","n":1,"l":[1,2],"o":{"x":[{"y":null},{"y":1,"z":"q"}]},"any":1}` + "\n" +
		`{"id":"b","text":"one and the same text of eight words here"}` + "\n" +
		`{"id":"c","text":"quite another one about the weather of today","minus":-5,"evil":"=1+1","any":{"k":[]}}` + "\n"
	os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(objects), 0o666)
	os.WriteFile(filepath.Join(dir, "y.csv"), []byte("id,text,more\nd,something that stands in a table of text,1\n"), 0o666)
	for to, want := range map[string]string{
		"o.csv":     "\ufeffid,text,n,l,o,any,minus,evil,more\na,one and the same text of eight words here,1,\"[1,2]\",\"{\"\"x\"\":[{\"\"y\"\":null},{\"\"y\"\":1,\"\"z\"\":\"\"q\"\"}]}\",1,,,\nc,quite another one about the weather of today,,,,\"{\"\"k\"\":[]}\",-5,'=1+1,\nd,something that stands in a table of text,,,,,,,1\n",
		"o.parquet": `{"id":"a","text":"one and the same text of eight words here","n":1,"l":[1,2],"o":{"x":[{"y":null,"z":null},{"y":1,"z":"q"}]},"any":"1","minus":null,"evil":null,"more":null}`,
		"o.xlsx":    `{"id":"a","text":"one and the same text of eight words here","n":1,"l":"[1,2]","o":"{\"x\":[{\"y\":null},{\"y\":1,\"z\":\"q\"}]}","any":1,"minus":null,"evil":null,"more":null}`,
	} {
		status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--out", to, "x.jsonl", "y.csv")
		if status != 0 || stderr != "" {
			t.Errorf("to %s: status %d, %q", to, status, stderr)
			continue
		}
		got := read(t, to)
		if to != "o.csv" {
			if status, stdout, stderr := inDirectory(t, dir, "dedup", "-q", "--out", "-", to); status != 0 {
				t.Errorf("from %s: status %d, %q", to, status, stderr)
			} else {
				got, _, _ = strings.Cut(stdout, "\n")
			}
		}
		if got != want {
			t.Errorf("%s has\n%s", to, got)
		}
	}
	// With nothing in it, and with a field that is to be added.
	for _, test := range [][3]string{{"", "o.parquet", ""}, {"", "o.xlsx", ""}, {`{"id":1,"text":"a","neardup_kept":1}`, "o.parquet", "neardup_kept"}, {`{"id":1,"text":"a","neardup_kept":1}`, "o.csv", "neardup_kept"}} {
		os.WriteFile(filepath.Join(dir, "z.jsonl"), []byte(test[0]), 0o666)
		if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--annotate", test[1], "z.jsonl"); (status != 0) != (test[2] != "") || !strings.Contains(stderr, test[2]) {
			t.Errorf("%q to %s: status %d, %q", test[0], test[1], status, stderr)
		}
	}
}

// TestNothingSilent: what cannot be kept as it is, is an error that says so.
func TestNothingSilent(t *testing.T) {
	for _, test := range []struct{ file, text, args, want string }{
		{"x.json", `[{"id":1,"text":"one"}] [{"id":2,"text":"two"}]`, "dedup x.json", "x.json:2: not a JSON object"},
		{"x.json", `[{"id":1,"text":"one"}] garbage`, "dedup x.json", "x.json:1: not JSON"},
		{"x.json", `[{"id":1,"text":"one"},`, "dedup x.json", "x.json:1: the file ends in the middle"},
		{"x.csv", "id,text,neardup_kept\n1,one,a\n", "dedup --annotate o.csv x.csv", `cannot add the column "neardup_kept" to o.csv, because it already exists`},
		{"x.csv", "id,text\n1,\"a \x01 b\"\n", "dedup --out o.xlsx x.csv", "o.xlsx: row 2: the text has a control character"},
		{"x.csv", "id,text\n1,one\n", "dedup --out o.csv.xz x.csv", "o.csv.xz: this compression cannot be written"},
		{"x.csv", "id,text\n1,one\n", "dedup --out o.json x.csv", "o.json: this format cannot be written"},
		{"x.csv", "id,text\n1,one\n", "dedup --out o.xml x.csv", "o.xml: this format cannot be written"},
		{"x.csv", "id,text\n1,one\n", "dedup --out o.xlsm x.csv", "o.xlsm: a new workbook has no macros"},
		{"x.csv", "id,text\n1,one\n", "dedup --pairs p.xlsx x.csv", "--pairs \"p.xlsx\""},
		{"x.csv", "id,text\n1,one\n", "review --report p x.csv", "must end in .html"},
		{"x.csv", "id,text\n1,one\n", "records --schema s.json x.csv", "the records have no columns to compare"},
		{"x.csv", "text\none\n", "dedup --state s x.csv", "x.csv:2: with --state every document needs an id"},
	} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o666)
		os.WriteFile(filepath.Join(dir, "s.json"), []byte(`{"text":"-"}`), 0o666)
		status, _, stderr := inDirectory(t, dir, strings.Fields(test.args)...)
		if left, _ := filepath.Glob("o.*"); status == 0 || !strings.Contains(stderr, test.want) || len(left) > 0 {
			t.Errorf("%s of %q: status %d, %s, left %q", test.args, test.text, status, stderr, left)
		}
	}
	// What a quiet call passes over is said all the same, and so is the summary that is asked for.
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(three+"{\n"), 0o666)
	status, stdout, stderr := inDirectory(t, dir, "dedup", "-q", "--json", "--skip-bad", "--out", "-", "x.jsonl")
	if status != 0 || !strings.HasPrefix(stderr, "neardup: skipped: x.jsonl:4: not JSON") || !strings.Contains(stderr, `"documents": 3`) || strings.Contains(stdout, "documents") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	// Sources in several encodings are written in one.
	os.WriteFile("u.csv", []byte("id,text\n1,Школа открылась весной\n"), 0o666)
	os.WriteFile("w.csv", []byte("id,text\n2,\xcf\xe0\xf0\xee\xec \xee\xf2\xee\xf8\xb8\xeb \xee\xf2 \xef\xf0\xe8\xf1\xf2\xe0\xed\xe8\n"), 0o666)
	for _, files := range [][]string{{"u.csv", "w.csv"}, {"w.csv", "u.csv"}} {
		status, _, stderr := inDirectory(t, dir, append([]string{"dedup", "--out", "o.csv"}, files...)...)
		if out := read(t, "o.csv"); status != 0 || !strings.Contains(out, "1,Школа открылась весной\n") || !strings.Contains(out, "2,Паром отошёл от пристани\n") {
			t.Errorf("status %d, %q, %q", status, stderr, out)
		}
		os.Remove("o.csv")
	}
	// The separator of a table stays.
	os.WriteFile("y.csv", []byte("id;text\n1;one, two\n"), 0o666)
	if status, _, stderr := inDirectory(t, dir, "dedup", "-q", "--out", "o.csv", "y.csv"); status != 0 || read(t, "o.csv") != "id;text\n1;one, two\n" {
		t.Errorf("status %d, %q, %q", status, stderr, read(t, "o.csv"))
	}
}
