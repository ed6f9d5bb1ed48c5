package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// runIn runs the program in a directory with the given files.
func runIn(t *testing.T, files map[string]string, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, err bytes.Buffer
	if !slices.Contains(args, "--method") && !slices.Contains(args, "--help") {
		args = append([]string{"--method", "simhash"}, args...)
	}
	status = run(append([]string{"dedup"}, args...), &cli.Outputs{}, strings.NewReader(stdin), &out, &err)
	leftovers, _ := filepath.Glob(".*.tmp")
	if len(leftovers) > 0 {
		t.Errorf("left behind: %q", leftovers)
	}
	return status, out.String(), err.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const three = `{"id":"a","text":"the quick brown fox jumps over the lazy dog"}
{"id":"b","text":"something else altogether, about fish and chips"}
{"id":"c","text":"The quick, brown fox jumps over the lazy dog!"}
`

func TestFormats(t *testing.T) {
	csvText := "name,body\r\na,the quick brown fox jumps over the lazy dog\r\nb,\"fish,\nand chips\"\r\nc,\"The \"\"quick\"\", brown fox jumps over the lazy dog!\"\r\n"
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	io.WriteString(z, three)
	z.Close()
	y, _ := zstd.NewWriter(&zst)
	io.WriteString(y, three)
	y.Close()
	lines := "the quick brown fox jumps over the lazy dog\n\nfish and chips\nThe quick brown fox jumps over the lazy dog"
	for _, test := range []struct {
		name, content, stdin string
		args                 []string
		want                 string
	}{
		{"x.jsonl", three, "", []string{"x.jsonl"}, "a\tc\t0\n"},
		{"x.ndjson", "\ufeff" + strings.ReplaceAll(three, "\n", "\r\n"), "", []string{"x.ndjson"}, "a\tc\t0\n"},
		{"x.jsonl.gz", gz.String(), "", []string{"x.jsonl.gz"}, "a\tc\t0\n"},
		{"x.jsonl.zst", zst.String(), "", []string{"x.jsonl.zst"}, "a\tc\t0\n"},
		{"none", "", three, []string{"-"}, "a\tc\t0\n"},
		{"none", "", gz.String(), []string{"-"}, "a\tc\t0\n"},
		{"x.csv", "\ufeff" + csvText, "", []string{"--id", "name", "--text", "body", "x.csv"}, "a\tc\t0\n"},
		{"none", "", csvText, []string{"--format", "csv", "--id", "name", "--text", "body", "-"}, "a\tc\t0\n"},
		{"x.txt", lines, "", []string{"--format", "lines", "x.txt"}, "x.txt:1\tx.txt:4\t0\n"},
		{"d/1.txt", "one two three four", "", []string{"d"}, ""},
		{"x.csv", "id,text\nd,something else altogether about fish and chips\n", three, []string{"-", "x.csv"}, "a\tc\t0\nb\td\t0\n"},
	} {
		status, _, stderr := runIn(t, map[string]string{test.name: test.content}, test.stdin, append([]string{"--pairs", "p.tsv"}, test.args...)...)
		if status != 0 || stderr != "" {
			t.Errorf("%s %q: status %d: %s", test.name, test.args, status, stderr)
			continue
		}
		if got := read(t, "p.tsv"); got != test.want {
			t.Errorf("%s %q: pairs %q, want %q", test.name, test.args, got, test.want)
		}
	}
}

// TestBad checks that every kind of bad input is an error with its place, and that --skip-bad still
// uses the rest.
func TestBad(t *testing.T) {
	good := `{"id":"a","text":"fine words"}` + "\n"
	for _, test := range []struct {
		file, content string
		want          string // on standard error
		rest          bool   // whether there is a good document beside it
	}{
		{"x.jsonl", good + "{\"id\":", "x.jsonl:2: not JSON", true},
		{"x.jsonl", good + "\n\n[1]", "x.jsonl:4: not a JSON object", true},
		{"x.jsonl", good + "null", "x.jsonl:2: not a JSON object", true},
		{"x.jsonl", good + `{"id":"b"}`, `x.jsonl:2: no field "text"`, true},
		{"x.jsonl", good + `{"id":"b","text":5}`, `x.jsonl:2: "text" is not a string`, true},
		{"x.jsonl", good + `{"id":"","text":"b"}`, "x.jsonl:2: the id is empty", true},
		{"x.jsonl", good + good, `x.jsonl:2: the id "a" is used twice, first at x.jsonl:1; choose what to do with such documents: --same-id first, last or number`, true},
		{"x.jsonl", good + `{"id":"b","text":"` + strings.Repeat("x", 200) + `"}` + "\n" + `{"id":"c","text":"y"}`, "x.jsonl:2: longer than --max-line", true},
		{"x.csv", "id,text\na,fine words\nb,c,d\n", "x.csv:3: the row has 3 cells, but the header has 2", true},
		{"x.csv", "id,text\na,fine words\n,x\n", "x.csv:3: the id is empty", true},
		{"x.csv", "id,text\na,fine words\nb," + strings.Repeat("x", 200) + "\n", "x.csv:3: longer than --max-line", true},
		{"x.csv", "id,text\na,fine words\nb,\"x\ny,else\nz,more\n", "x.csv:3: the quote that starts here is never closed", true},
		{"x.csv", "id,text\na,fine words\nb,\"x\n" + strings.Repeat("y", 200) + "\nz\"\n", "x.csv:4: longer than --max-line", true},
		{"missing.csv/", "", "missing.csv/: this directory has no files in a known format", false},
		{"x.csv", "id,txt\na,fine words\n", `x.csv:1: no column "text"`, false},
		{"x.csv", "id,text,text\na,fine words,b\n", `x.csv:1: two columns have the name "text"`, false},
		{"x.csv", "", "x.csv:1: the file has no header", false},
		{"x.jsonl.gz", "not gzip", "x.jsonl.gz:1: ", false},
		{"x.dat", good, "x.dat: the file name does not end in a known format", false},
	} {
		files := map[string]string{test.file: test.content, "keep.tsv": "old"}
		status, _, stderr := runIn(t, files, "", "--max-line", "150", "--groups", "keep.tsv", test.file)
		if status != 1 || !strings.Contains(stderr, "neardup: "+test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d, stderr %q, want %q", test.content, status, stderr, test.want)
		}
		if got := read(t, "keep.tsv"); got != "old" {
			t.Errorf("%q: a failed call wrote %q", test.content, got)
		}
		status, stdout, stderr := runIn(t, files, "", "--max-line", "150", "--skip-bad", "--groups", "keep.tsv", test.file)
		if status != 0 || !strings.Contains(stderr, "skipped: "+test.want) || !strings.Contains(stdout, "lines or files skipped: ") {
			t.Errorf("%q with --skip-bad: status %d, stdout %q, stderr %q", test.content, status, stdout, stderr)
		}
		if got := read(t, "keep.tsv"); strings.HasPrefix(got, "a\ta\n") != test.rest || strings.Contains(got, "b") {
			t.Errorf("%q with --skip-bad: clusters %q", test.content, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--bits", "32", "x"}, {"--distance", "65", "x"}, {"--distance", "-1", "x"}, {"--workers", "0", "x"}, {"-nope", "x"},
		{"--format", "xml", "x"}, {"--id", "text", "x"}, {"--pairs", "p", "--out", "p", "x"}, {"-", "-"}, {"--max-line", "0", "x"},
	} {
		if status, stdout, stderr := runIn(t, nil, "", args...); status != 2 || stderr == "" || stdout != "" {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"missing.jsonl"}, {"--tokenizer", "nope", "x.jsonl"}, {"--against", "no.csv", "x.jsonl"}, {"--out", "o.txt", "x.jsonl"}, {"--out", "no/o.jsonl", "x.jsonl"}, {"empty"}} {
		if status, _, stderr := runIn(t, map[string]string{"x.jsonl": three, "empty/x.dat": ""}, "", args...); status != 1 || !strings.HasPrefix(stderr, "neardup: ") {
			t.Errorf("%q: status %d, stderr %q", args, status, stderr)
		}
	}
	// The old collection is never overwritten, whatever its name looks like.
	old := map[string]string{"x.jsonl": three, "old.jsonl": three}
	for _, out := range []string{"old.jsonl", "./old.jsonl"} {
		status, _, stderr := runIn(t, old, "", "--against", "old.jsonl", "--out", out, "x.jsonl")
		if status != 1 || !strings.Contains(stderr, "is an input and an output") || read(t, "old.jsonl") != three {
			t.Errorf("--against old.jsonl --out %s: status %d, %q", out, status, stderr)
		}
	}
	// An id with control characters cannot control the terminal.
	evil := `{"id": "a\u001b[2J\u009b", "text": "one and the same text"}` + "\n" + `{"id": "b\u202e", "text": "one and the same text"}` + "\n"
	if status, stdout, stderr := runIn(t, map[string]string{"evil.jsonl": evil}, "", "--pairs", "-", "evil.jsonl"); status != 0 || !strings.Contains(stdout, `a\x1b[2J\x9b`+"\t"+`b\u202e`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := runIn(t, nil, "", "no\x1b[2J.jsonl"); status != 1 || strings.Contains(stderr, "\x1b") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if status, stdout, stderr := runIn(t, nil, "", "--help"); status != 0 || stderr != "" || !strings.Contains(stdout, "--tokenizer") {
		t.Errorf("--help: status %d, %q", status, stderr)
	}
}

// TestInvalidText checks that invalid UTF-8 and control characters in a text are no error, and do
// not reach the terminal.
func TestInvalidText(t *testing.T) {
	content := "{\"id\":\"a\\u001b[31m\\tb\",\"text\":\"\xff\xfe \\u001b]\\u0007 same words here \\u202e\\ud800\"}\n{\"id\":\"c\\nd\\\\\",\"text\":\"same words here\"}\n"
	status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": content}, "", "--pairs", "p.tsv", "x.jsonl")
	if status != 0 || !strings.HasPrefix(stderr, "neardup: x.jsonl: lines or rows with bytes that are not UTF-8: 1, the first at line 1") || strings.ContainsAny(stdout+stderr, "\x1b\x07\u202e\t") || strings.Count(stdout, "\n") != 5 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if !strings.Contains(stdout, "1 duplicate in 1 group;") {
		t.Errorf("stdout %q", stdout)
	}
}

func TestEscape(t *testing.T) {
	content := `{"id":"a\tb","text":"same words here"}` + "\n" + `{"id":"c\nd\\","text":"same words here"}` + "\n"
	if status, _, stderr := runIn(t, map[string]string{"x.jsonl": content}, "", "--pairs", "p.tsv", "--groups", "c.tsv", "x.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	if got, want := read(t, "p.tsv"), "a\\tb\tc\\nd\\\\\t0\n"; got != want {
		t.Errorf("pairs %q, want %q", got, want)
	}
	if got, want := read(t, "c.tsv"), "a\\tb\ta\\tb\nc\\nd\\\\\ta\\tb\n"; got != want {
		t.Errorf("clusters %q, want %q", got, want)
	}
}

func TestOut(t *testing.T) {
	csvText := "id,text,n\na,the quick brown fox jumps over the lazy dog,1\nb,\"fish,\nand chips\",2\nc,The quick brown fox jumps over the lazy dog!,3\n"
	csvWant := "id,text,n\na,the quick brown fox jumps over the lazy dog,1\nb,\"fish,\nand chips\",2\n"
	jsonWant := three[:strings.Index(three, `{"id":"c"`)]
	for _, test := range []struct {
		files map[string]string
		stdin string
		args  []string
		out   string
		want  string
	}{
		{map[string]string{"x.jsonl": three}, "", []string{"x.jsonl"}, "o.jsonl", jsonWant},
		{nil, three, []string{"-"}, "o.jsonl", jsonWant},
		{map[string]string{"x.csv": csvText}, "", []string{"x.csv"}, "o.csv", csvWant},
		{map[string]string{"x.csv": csvText}, "", []string{"x.csv"}, "o", `{"id":"a","text":"the quick brown fox jumps over the lazy dog","n":"1"}` + "\n" + `{"id":"b","text":"fish,\nand chips","n":"2"}` + "\n"},
		{map[string]string{"d/a.txt": "fish & chips", "d/b.txt": "Fish, chips…", "d/e/c.txt": "fish chips", "d/x.dat": "no"}, "", []string{"d"}, "o.jsonl", `{"id":"d/a.txt","text":"fish & chips"}` + "\n"},
		{map[string]string{"x.txt": "one two\nthree\nOne, two"}, "", []string{"--format", "lines", "x.txt"}, "o.txt", "one two\nthree\n"},
	} {
		status, _, stderr := runIn(t, test.files, test.stdin, append([]string{"--out", test.out}, test.args...)...)
		if status != 0 {
			t.Errorf("%q: %s", test.args, stderr)
			continue
		}
		if got := read(t, test.out); got != test.want {
			t.Errorf("%q: %q, want %q", test.args, got, test.want)
		}
	}
	for _, path := range []string{"-", "/dev/stdout"} {
		status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": three}, "", "--out", path, "x.jsonl")
		if status != 0 || stdout != jsonWant || !strings.Contains(stderr, "1 duplicate ") {
			t.Errorf("to %s: status %d, %q, %q", path, status, stdout, stderr)
		}
	}
}

// TestAgainst checks that new documents are compared with old ones and with each other, and old
// ones only with new ones.
func TestAgainst(t *testing.T) {
	old := `{"id":"o1","text":"alpha beta gamma delta"}
{"id":"o2","text":"Alpha beta gamma delta"}
{"id":"o3","text":"nobody comes near this one"}
`
	files := map[string]string{"old.jsonl": old, "new.jsonl": `{"id":"o1","text":"alpha, beta, gamma, delta"}
{"id":"n2","text":"quite new and never seen"}
{"id":"n3","text":"Quite new and never seen"}
{"id":"n4","text":"alpha beta gamma delta"}
`}
	status, stdout, stderr := runIn(t, files, "", "--against", "old.jsonl", "--pairs", "p.tsv", "--groups", "c.tsv", "--out", "o.jsonl", "new.jsonl")
	if status != 0 {
		t.Fatal(stderr)
	}
	if got, want := read(t, "p.tsv"), "n2\tn3\t0\nn4\to1\t0\nn4\to1\t0\nn4\to2\t0\no1\to1\t0\no1\to2\t0\n"; got != want {
		t.Errorf("pairs %q, want %q", got, want)
	}
	if got, want := read(t, "c.tsv"), "o1\to1\nn2\tn2\nn3\tn2\nn4\to1\n"; got != want {
		t.Errorf("clusters %q, want %q", got, want)
	}
	if got, want := read(t, "o.jsonl"), `{"id":"n2","text":"quite new and never seen"}`+"\n"; got != want {
		t.Errorf("out %q, want %q", got, want)
	}
	if !strings.HasPrefix(stdout, "4 documents, 4 different texts\n3 old documents") || !strings.Contains(stdout, "3 duplicates in 2 groups; 1 document remains") {
		t.Errorf("summary %q", stdout)
	}
}

// TestNoFeatures checks that a text without letters is a duplicate only of an equal text.
func TestNoFeatures(t *testing.T) {
	content := `{"id":"1","text":"!!!"}` + "\n" + `{"id":2,"text":"???"}` + "\n" + `{"id":"3","text":"!!!"}` + "\n" + `{"id":"4","text":"","title":null}`
	status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": content}, "", "--pairs", "p.tsv", "x.jsonl")
	if got := read(t, "p.tsv"); status != 0 || got != "1\t3\t0\n" || !strings.Contains(stdout, "3 texts have no letters") {
		t.Errorf("status %d, pairs %q, stdout %q, stderr %q", status, got, stdout, stderr)
	}
}

// TestSameID: what becomes of several documents with one id is what --same-id says, with each method, from a pipe, with --state, and for rows of
// tables.
func TestSameID(t *testing.T) {
	text := `{"id":"a","text":"one two three four five six"}
{"id":"b","text":"seven eight nine ten eleven twelve"}
{"id":"a","text":"another text about the weather"}
{"id":"a-2","text":"and a third one about the moon"}
{"id":"a","text":"  "}
`
	for _, test := range []struct {
		flags, out string
		repeated   int
	}{
		{"--same-id first", `{"id":"a","text":"one two three four five six"}|{"id":"b","text":"seven eight nine ten eleven twelve"}|{"id":"a-2","text":"and a third one about the moon"}|`, 2},
		{"--same-id last", `{"id":"b","text":"seven eight nine ten eleven twelve"}|{"id":"a-2","text":"and a third one about the moon"}|{"id":"a","text":"  "}|`, 2},
		{"--same-id last --empty drop", `{"id":"b","text":"seven eight nine ten eleven twelve"}|{"id":"a","text":"another text about the weather"}|{"id":"a-2","text":"and a third one about the moon"}|`, 1},
		{"--same-id number", strings.ReplaceAll(text, "\n", "|"), 0},
	} {
		for _, method := range []string{"auto", "cosine", "minhash", "simhash", "state", "pipe"} {
			args, stdin := append(strings.Fields(test.flags), "--json", "--out", "o.jsonl"), ""
			switch method {
			case "state":
				args = append(args, "--method", "auto", "--state", "s", "x.jsonl")
			case "pipe":
				args, stdin = append(args, "-"), text
			default:
				args = append(args, "--method", method, "x.jsonl")
			}
			status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": text}, stdin, args...)
			if status != 0 {
				t.Errorf("%s, %s: status %d, %s", test.flags, method, status, stderr)
				continue
			}
			if got := strings.ReplaceAll(read(t, "o.jsonl"), "\n", "|"); got != test.out || !strings.Contains(stdout, fmt.Sprintf("\"repeated\": %d,", test.repeated)) {
				t.Errorf("%s, %s: %s, summary %s", test.flags, method, got, stdout)
			}
		}
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "x.csv"), []byte("id,name\n1,Anna Weber\n1,Anna Weber\n2,Jo Li\n"), 0o666)
	for flag, want := range map[string]string{"number": "1\t1\n1-2\t1\n2\t2\n", "last": "1\t1\n2\t2\n", "first": "1\t1\n2\t2\n"} {
		if status, stdout, stderr := inDirectory(t, dir, "records", "-q", "--same-id", flag, "--groups", "-", "x.csv"); status != 0 || stdout != want {
			t.Errorf("rows, %s: status %d, %q, %q", flag, status, stdout, stderr)
		}
	}
	if status, _, stderr := runIn(t, nil, "", "--same-id", "any", "x"); status != 2 || !strings.Contains(stderr, "error, first, last, number") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// TestWithoutText: rows without text are no duplicates of each other, with any format and method, unless they are to be dropped. Other texts
// without letters are duplicates of equal ones.
func TestWithoutText(t *testing.T) {
	files := map[string]string{
		"x.jsonl": `{"id":"a","text":""}` + "\n" + `{"id":"b","text":null}` + "\n" + `{"id":"c","text":" \t"}` + "\n" + `{"id":"d","text":[]}` + "\n" + `{"id":"e","text":["!","!"]}` + "\n" + `{"id":"f","text":"!\n!"}`,
		"x.csv":   "id,text\na,\nb,\nc,\" \"\nd,\ne,\"!\n!\"\nf,\"!\n!\"\n",
		"x.json":  `[{"id":"a","text":""},{"id":"b","text":null},{"id":"c","text":" "},{"id":"d"   ,"text":"\n"},{"id":"e","text":"!!"},{"id":"f","text":"!!"}]`,
	}
	for file := range files {
		for _, method := range []string{"auto", "cosine", "minhash", "simhash"} {
			args := []string{"--method", method, "--groups", "c.tsv", file}
			status, stdout, stderr := runIn(t, files, "", args...)
			if status != 0 {
				t.Fatal(stderr)
			}
			if got := read(t, "c.tsv"); status != 0 || got != "a\ta\nb\tb\nc\tc\nd\td\ne\te\nf\te\n" || !strings.Contains(stdout, "4 documents have no text: they are kept") ||
				!strings.Contains(stdout, "6 documents, 1 different text\n") {
				t.Errorf("%s, %s: status %d, clusters %q, %s%s", file, method, status, got, stdout, stderr)
			}
			status, stdout, stderr = runIn(t, files, "", append(args, "--empty", "drop")...)
			if got := read(t, "c.tsv"); status != 0 || got != "e\te\nf\te\n" || !strings.Contains(stdout, "4 documents without text were dropped") {
				t.Errorf("%s, %s, without empty ones: status %d, clusters %q, %s%s", file, method, status, got, stdout, stderr)
			}
		}
	}
	runIn(t, files, "", "--empty", "drop", "--out", "o.jsonl", "x.jsonl")
	if got, want := read(t, "o.jsonl"), `{"id":"e","text":["!","!"]}`+"\n"; got != want {
		t.Errorf("out %q, want %q", got, want)
	}
	if status, _, stderr := runIn(t, files, "", "--empty", "maybe", "x.jsonl"); status == 0 || !strings.Contains(stderr, "must be keep or drop") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestHints: what is missing is said with what would help.
func TestHints(t *testing.T) {
	files := map[string]string{"x.jsonl": `{"id":"a","content":"the text"}`, "long.jsonl": `{"id":"a","text":"` + strings.Repeat("long ", 100) + `"}`}
	for want, args := range map[string][]string{
		`x.jsonl:1: no field "text"; the fields are ["content" "id"]; perhaps you need --text content`: {"x.jsonl"},
		"long.jsonl:1: longer than --max-line, which is 200 bytes":                                     {"--max-line", "200", "long.jsonl"},
		"neardup: nosuch.jsonl: no such file or directory":                                             {"nosuch.jsonl"},
	} {
		if status, _, stderr := runIn(t, files, "", args...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
}

// TestTitle checks that a title counts as part of the text.
func TestTitle(t *testing.T) {
	content := `{"id":"1","text":"body of text","title":"Good news"}` + "\n" + `{"id":"2","text":"good news body of text"}`
	if status, stdout, _ := runIn(t, map[string]string{"x.jsonl": content}, "", "x.jsonl"); status != 0 || !strings.Contains(stdout, "1 duplicate ") {
		t.Errorf("status %d, %q", status, stdout)
	}
}

// TestWorkers checks that the output does not depend on the number of workers, and the groups not
// on whether pairs are written.
func TestWorkers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range 3000 {
		topic := rnd.IntN(400)
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":\"", i)
		word := rand.New(rand.NewPCG(uint64(topic), 0))
		for range 100 {
			w := word.IntN(5000)
			if rnd.IntN(200) == 0 {
				w = rnd.IntN(5000)
			}
			fmt.Fprintf(&b, "w%d ", w)
		}
		b.WriteString("\"}\n")
	}
	files := map[string]string{"x.jsonl": b.String()}
	for _, bits := range []string{"64", "128"} {
		var want [3]string
		for _, workers := range []string{"1", "2", "5", "16"} {
			status, _, stderr := runIn(t, files, "", "--bits", bits, "--distance", "6", "--workers", workers, "--pairs", "p", "--groups", "c", "--out", "o", "x.jsonl")
			if status != 0 {
				t.Fatal(stderr)
			}
			got := [3]string{read(t, "p"), read(t, "c"), read(t, "o")}
			if want[0] == "" {
				want = got
			}
			if got != want || len(got[0]) == 0 {
				t.Errorf("bits %s, %s workers: other output", bits, workers)
			}
		}
		if status, _, _ := runIn(t, files, "", "--bits", bits, "--distance", "6", "--groups", "c", "x.jsonl"); status != 0 || read(t, "c") != want[1] {
			t.Errorf("bits %s: groups depend on --pairs", bits)
		}
	}
}

// TestTruncatedGzip checks that half a file is an error, and that nothing is written.
func TestTruncatedGzip(t *testing.T) {
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	for i := range 2000 {
		fmt.Fprintf(z, "{\"id\":\"%d\",\"text\":\"word%d\"}\n", i, i*i)
	}
	z.Close()
	for _, skip := range []string{"--skip-bad=false", "--skip-bad"} {
		status, _, stderr := runIn(t, map[string]string{"x.jsonl.gz": gz.String()[:gz.Len()/2]}, "", skip, "--groups", "c", "--out", "o", "x.jsonl.gz", "missing.jsonl")
		if skip == "--skip-bad" {
			if status != 0 || strings.Count(stderr, "skipped: ") != 2 || !strings.Contains(stderr, "missing.jsonl: no such file") || strings.Count(read(t, "o"), "\n") != strings.Count(read(t, "c"), "\n") || len(read(t, "o")) < 1000 {
				t.Errorf("%s: status %d, %q", skip, status, stderr)
			}
			continue
		}
		if _, err := os.Stat("c"); status != 1 || !strings.Contains(stderr, "missing.jsonl: no such file") || err == nil {
			t.Errorf("%s: status %d, %q", skip, status, stderr)
		}
		status, _, stderr = runIn(t, map[string]string{"x.jsonl.gz": gz.String()[:gz.Len()/2]}, "", skip, "--groups", "c", "x.jsonl.gz")
		if _, err := os.Stat("c"); status != 1 || !strings.Contains(stderr, "x.jsonl.gz:") || !strings.Contains(stderr, "unexpected EOF") || err == nil {
			t.Errorf("%s: status %d, %q", skip, status, stderr)
		}
	}
}

// TestAgainstGroups checks that groups do not depend on whether pairs are written, and that a link
// to an output is followed.
func TestAgainstGroups(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	line := func(id string) string {
		return fmt.Sprintf("{\"id\":%q,\"text\":\"a%d b%d c\"}\n", id, rnd.IntN(12), rnd.IntN(3))
	}
	for range 20 {
		var old, new string
		for i := range 30 {
			old += line(fmt.Sprint("o", i))
			new += line(fmt.Sprint("n", i))
		}
		files := map[string]string{"old.jsonl": old, "new.jsonl": new, "with": ""}
		var want string
		for _, extra := range [][]string{{"--pairs", "p"}, {"--workers", "1"}} {
			args := append([]string{"--distance", "9", "--against", "old.jsonl", "--groups", "c"}, append(extra, "new.jsonl")...)
			status, _, stderr := runIn(t, files, "", args...)
			if status != 0 {
				t.Fatal(stderr)
			}
			if got := read(t, "c"); want != "" && got != want {
				t.Fatalf("groups %q, want %q", got, want)
			} else {
				want = got
			}
		}
	}
	t.Chdir(t.TempDir())
	os.WriteFile("target", nil, 0o640)
	os.Symlink("target", "link")
	os.WriteFile("x.jsonl", []byte(three), 0o644)
	if status := run([]string{"dedup", "--method", "simhash", "--groups", "link", "x.jsonl"}, &cli.Outputs{}, nil, io.Discard, io.Discard); status != 0 || len(read(t, "target")) == 0 {
		t.Error("a link was replaced")
	}
	if status := run([]string{"dedup", "--method", "simhash", "--groups", "x.jsonl", "x.jsonl"}, &cli.Outputs{}, nil, io.Discard, io.Discard); status != 1 || read(t, "x.jsonl") != three {
		t.Error("an input was overwritten")
	}
}

// FuzzSaved reads any bytes as a file of saved fingerprints.
func FuzzSaved(f *testing.F) {
	f.Add("neardup\x00\x01")
	f.Fuzz(func(t *testing.T, data string) {
		s := input.Source{Path: "x"}
		if err := corpus.ReadSaved(&s, 0, strings.NewReader(data), corpus.Saved{Version: "v=1", Bits: 64}, func(input.Item) bool { return true }); err != nil && !strings.HasPrefix(err.Error(), "x:") {
			t.Fatalf("error without a place: %v", err)
		}
	})
}
