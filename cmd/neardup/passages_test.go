package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// numbers returns n different words, of which no run stands twice.
func numbers(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", from+i)
	}
	return strings.TrimSpace(b.String())
}

// sentence returns a text with a capital at its beginning.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// inFiles runs the program in a directory with some files.
func inFiles(t *testing.T, files map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return inDirectory(t, filesIn(t, files), args...)
}

// TestPassages: a letter is quoted in another one, and copied whole into a third one.
func TestPassages(t *testing.T) {
	letter := "Dear council. " + sentence(numbers(0, 60)) + ". Yours."
	files := map[string]string{
		"in.jsonl": `{"id":"a","text":"` + letter + `","n":1.50}` + "\n" +
			`{"n":2,"id":"b","text":"They wrote: Dear council. ` + strings.ToUpper(numbers(0, 55)) + `. We think so too."}` + "\n" +
			`{"id":"c","text":"` + letter + `"}` + "\n" + `{"id":"d","text":"something else"}` + "\n",
		"as.csv":  "id;text;n\n1;\"- " + letter + "\";=1+1\n2;\"" + letter + "\";-x\n3;- other;-y\n",
		"in.csv":  "id,text\na,\"" + letter + "\"\nc,\"" + letter + "\"\n",
		"old.csv": "id,text\nold,\"" + letter + "\"\n",
		"lines":   letter + "\n" + letter + " And more.\n",
	}
	for _, c := range []struct {
		args   string
		stdout string            // contains
		out    map[string]string // the files that are written
	}{
		{"--passages p.tsv in.jsonl", "4 documents", map[string]string{
			// The letter has 2 + 60 + 1 words. Of b, 57 are in a and c.
			"p.tsv": "1\t57\t3\t3\ta\tin.jsonl:1\t0\t%A\tDear council. " + sentence(numbers(0, 55)) + "\n1\t57\t3\t3\tb\tin.jsonl:2\t12\t%B\t\n1\t57\t3\t3\tc\tin.jsonl:3\t0\t%A\t\n" +
				"2\t55\t2\t2\ta\tin.jsonl:1\t%C\t%D\t" + numbers(6, 54) + ". Yours\n2\t55\t2\t2\tc\tin.jsonl:3\t%C\t%D\t\n"}},
		{"--coverage c.tsv in.jsonl", "3 documents share a passage", map[string]string{
			"c.tsv": "a\tin.jsonl:1\t63\t63\t1.0000\tc\tin.jsonl:3\t63\t63\t63\t63\nb\tin.jsonl:2\t63\t57\t0.9048\ta\tin.jsonl:1\t57\t57\t57\t63\nc\tin.jsonl:3\t63\t63\t1.0000\ta\tin.jsonl:1\t63\t63\t63\t63\n"}},
		{"--out o.jsonl --audit a.tsv --mask […] in.jsonl", "documents cut: 2, of which dropped: 1", map[string]string{
			"o.jsonl": `{"id":"a","text":"` + letter + `","n":1.50}` + "\n" + `{"n":2,"id":"b","text":"They wrote: Dear council. […] We think so too."}` + "\n" + `{"id":"d","text":"something else"}` + "\n"}},
		{"--out o.csv in.csv", "documents cut: 1, of which dropped: 1", map[string]string{"o.csv": "id,text\na,\"" + letter + "\"\n"}},
		{"--out o.csv --least 0 in.csv", "documents cut: 1, of which dropped: 0", map[string]string{"o.csv": "id,text\na,\"" + letter + "\"\nc,\n"}},
		{"--out o.csv as.csv", "documents cut: 1,", map[string]string{"o.csv": "id;text;n\n1;\"- " + letter + "\";=1+1\n3;- other;-y\n"}},
		{"--out o.txt --cut words --format lines lines", "documents cut: 1,", map[string]string{"o.txt": letter + "\n. And more.\n"}},
		{"--against old.csv --passages p.tsv in.csv", "and 1 old document\n", map[string]string{
			"p.tsv": "1\t63\t3\t3\told\told.csv:2\t0\t%E\tDear council. " + sentence(numbers(0, 60)) + ". Yours\n1\t63\t3\t3\ta\tin.csv:2\t0\t%E\t\n1\t63\t3\t3\tc\tin.csv:3\t0\t%E\t\n"}},
		{"in.jsonl", "2 passages of at least 50 words, or 80 characters in Chinese and similar scripts, in 5 places; the longest has 57 words or characters, and the most common one is in 3 documents", nil},
		{"--documents 3 --out o.jsonl in.jsonl", "documents cut: 2, of which dropped: 0", nil},
		{"--documents 3 in.jsonl", "1 passage of at least 50 words", nil},
		{"--words 70 in.jsonl", "0 passages of at least 70 words, or 112 characters", nil},
	} {
		status, stdout, stderr := inFiles(t, files, append([]string{"passages"}, strings.Fields(c.args)...)...)
		if status != 0 || !strings.Contains(stdout, c.stdout) {
			t.Errorf("%s: status %d, %s%s, want %q", c.args, status, stdout, stderr, c.stdout)
		}
		for name, want := range c.out {
			a := len("Dear council. " + numbers(0, 55))
			for sign, n := range map[string]int{"%A": a, "%B": a + 12, "%C": strings.Index(letter, "w6 "), "%D": len(letter) - 1, "%E": len(letter) - 1} {
				want = strings.ReplaceAll(want, sign, fmt.Sprint(n))
			}
			if got := read(t, name); got != want {
				t.Errorf("%s: %s is\n%q, want\n%q", c.args, name, got, want)
			}
		}
	}
	// What is cut of the third one stands in the second one, which is not dropped though little is left of it.
	a, b := numbers(0, 60), numbers(100, 60)
	needed := map[string]string{"in.jsonl": `{"id":"1","text":"` + a + `"}` + "\n" + `{"id":"2","text":"` + a + ". " + sentence(b) + `"}` + "\n" + `{"id":"3","text":"` + b + ". " + sentence(numbers(200, 90)) + `"}` + "\n" + `{"id":"4","text":["` + a + `","` + numbers(300, 90) + `"]}` + "\n"}
	if status, stdout, stderr := inFiles(t, needed, "passages", "--least", "80", "--out", "o.jsonl", "in.jsonl"); status != 0 || !strings.Contains(stdout, "documents cut: 2, of which dropped: 0\ndocuments not cut, because their text is not the value of a single field: 1\n") {
		t.Error(stdout, stderr)
	}
	if want := `{"id":"1","text":"` + a + `"}` + "\n" + `{"id":"2","text":"` + sentence(b) + `"}` + "\n" + `{"id":"3","text":"` + sentence(numbers(200, 90)) + `"}` + "\n" + `{"id":"4","text":["` + a + `","` + numbers(300, 90) + `"]}` + "\n"; read(t, "o.jsonl") != want {
		t.Errorf("left are %s", read(t, "o.jsonl"))
	}
	if status, _, stderr := inFiles(t, map[string]string{"in.csv": "id,text\n<a>,\"五 " + letter + " 六\"\nb,\"七八 " + letter + "\"\n"}, "passages", "--report", "r.html", "in.csv"); status != 0 {
		t.Fatal(stderr)
	}
	page := read(t, "r.html")
	for _, want := range []string{"63 words or characters in 2 documents, 2 places", "<b>&lt;a&gt;</b>", "五 <mark>Dear council.", "Yours</mark>. 六", "七八 <mark>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for args, want := range map[string]string{
		"--report r.txt in.jsonl":                    "the name must end in .html",
		"--audit a.csv in.jsonl":                     "--audit can only be used with --out",
		"--least 5 in.jsonl":                         "--least can only be used with --out",
		"--out o.jsonl --cut lines in.jsonl":         "must be words, sentences or paragraphs",
		"--passages in.jsonl in.jsonl":               "is an input and an output",
		"--passages p.csv --coverage p.csv in.jsonl": "two outputs have this name",
		"--out o.jsonl --mask \x01 in.jsonl":         "without line ends",
		"--words 9999999 in.jsonl":                   "must be from 1 to",
		"--out o.jsonl --text text,n in.jsonl":       "only the text of one field can be cut",
		"--against old.fp in.jsonl":                  "saved fingerprints do not contain the texts",
		"--passages p.parquet in.jsonl":              "use .csv, .jsonl or .tsv",
		"--out in.jsonl in.jsonl":                    "is an input and an output",
		"--out o.json in.jsonl":                      "this format cannot be written",
		"":                                           "name at least one input",
	} {
		status, _, stderr := inFiles(t, files, append([]string{"passages"}, strings.Fields(args)...)...)
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s, want %q", args, status, stderr, want)
		}
	}
}

// TestDecontaminate looks for test items in a corpus.
func TestDecontaminate(t *testing.T) {
	files := map[string]string{
		"tests.jsonl": `{"id":"q1","question":"` + numbers(0, 20) + `","answer":"` + numbers(100, 9) + `"}` + "\n" + `{"question":"` + numbers(200, 30) + `","answer":"w9"}` + "\n",
		"tests.txt":   numbers(300, 15),
		"in.jsonl": `{"id":"a","text":"see ` + numbers(0, 20) + ` and ` + numbers(100, 9) + `"}` + "\n" + `{"id":"b","text":"` + numbers(203, 14) + `"}` + "\n" +
			`{"id":"c","text":"` + numbers(0, 12) + `"}` + "\n" + `{"id":"d","text":"` + numbers(299, 20) + `"}` + "\n",
	}
	for _, c := range []struct {
		args   string
		stdout []string
		out    map[string]string
	}{
		{"--leaks l.tsv --items i.tsv --out o.jsonl tests.jsonl in.jsonl", []string{"2 of 2 test items were found, in 2 documents\n", "answer: 1 item\n", "question: 2 items\n", "several parts of one item in one document: 1 time\n", "largest leaks, in words or characters:\n", "1 part of an item was not searched for", "2 documents remain"}, map[string]string{
			"l.tsv": "q1\ttests.jsonl:1\tquestion\t20\t20\t1.0000\ta\tin.jsonl:1\t4\t%A\t" + numbers(0, 20) + "\nq1\ttests.jsonl:1\tanswer\t9\t9\t1.0000\ta\tin.jsonl:1\t%B\t%C\t" + numbers(100, 9) + "\n" +
				"tests.jsonl:2\ttests.jsonl:2\tquestion\t30\t14\t0.4667\tb\tin.jsonl:2\t0\t%D\t" + numbers(203, 14) + "\n",
			"i.tsv":   "q1\ttests.jsonl:1\tquestion\t20\ttrue\t1\t1.0000\nq1\ttests.jsonl:1\tanswer\t9\ttrue\t1\t1.0000\ntests.jsonl:2\ttests.jsonl:2\tquestion\t30\ttrue\t1\t0.4667\ntests.jsonl:2\ttests.jsonl:2\tanswer\t1\tfalse\t0\t0.0000\n",
			"o.jsonl": `{"id":"c","text":"` + numbers(0, 12) + `"}` + "\n" + `{"id":"d","text":"` + numbers(299, 20) + `"}` + "\n"}},
		{"--share 0.5 --parts question tests.jsonl in.jsonl", []string{"1 of 2 test items were found, in 1 document\n"}, nil},
		{"--words 15 tests.jsonl in.jsonl", []string{"1 of 2 test items were found, in 1 document\n"}, nil},
		{"tests.txt in.jsonl", []string{"1 of 1 test item was found, in 1 document\n"}, nil},
	} {
		status, stdout, stderr := inFiles(t, files, append([]string{"decontaminate"}, strings.Fields(c.args)...)...)
		for _, want := range c.stdout {
			if status != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s: status %d, %s%s, want %q", c.args, status, stdout, stderr, want)
			}
		}
		a := 4 + len(numbers(0, 20))
		for name, want := range c.out {
			for sign, n := range map[string]int{"%A": a, "%B": a + 5, "%C": a + 5 + len(numbers(100, 9)), "%D": len(numbers(203, 14))} {
				want = strings.ReplaceAll(want, sign, fmt.Sprint(n))
			}
			if got := read(t, name); got != want {
				t.Errorf("%s: %s is\n%q, want\n%q", c.args, name, got, want)
			}
		}
	}
	for args, want := range map[string]string{
		"--parts prompt tests.jsonl in.jsonl":      `tests.jsonl:1: none of the fields ["prompt"] found; the fields are ["answer" "question"]`,
		"--share 2 tests.jsonl in.jsonl":           "must be from 0 to 1",
		"--out tests.jsonl tests.jsonl in.jsonl":   "tests.jsonl: the same file is an input and an output",
		"--items tests.jsonl tests.jsonl in.jsonl": "tests.jsonl: the same file is an input and an output",
		"none.jsonl in.jsonl":                      "none.jsonl",
		"tests.jsonl":                              "name at least one input",
	} {
		status, _, stderr := inFiles(t, files, append([]string{"decontaminate"}, strings.Fields(args)...)...)
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s, want %q", args, status, stderr, want)
		}
	}
}

// TestPassageFormats cuts documents of each format, and writes them in each.
func TestPassageFormats(t *testing.T) {
	dir := t.TempDir()
	must := func(args ...string) {
		t.Helper()
		if status, _, stderr := inDirectory(t, dir, args...); status != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
	}
	files := map[string]string{
		"in.jsonl": `{"id":"a","text":"` + numbers(0, 20) + `","n":1.50}` + "\n" + `{"id":"b","text":"Before. ` + sentence(numbers(0, 20)) + `. Behind. <b>=1</b>","n":2.25}` + "\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	formats := []string{"jsonl", "csv", "tsv", "xlsx", "parquet", "arrow"}
	for _, format := range formats[1:] {
		must("dedup", "-q", "--similarity", "1", "--out", "in."+format, "in.jsonl")
	}
	for _, from := range formats {
		must("dedup", "-q", "--similarity", "1", "--out", "want-"+from+".csv", "in."+from)
		want := strings.ReplaceAll(read(t, "want-"+from+".csv"), sentence(numbers(0, 20))+". Behind", "Behind")
		for _, to := range formats {
			must("passages", "-q", "--words", "10", "--out", "out."+to, "in."+from)
			must("dedup", "-q", "--similarity", "1", "--out", "got.csv", "out."+to)
			if got := read(t, "got.csv"); strings.ReplaceAll(got, "1.50", "1.5") != strings.ReplaceAll(want, "1.50", "1.5") {
				t.Errorf("%s to %s:\n%s, want\n%s", from, to, got, want)
			}
		}
	}
}
