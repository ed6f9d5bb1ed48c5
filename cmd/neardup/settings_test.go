package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// TestSaved checks that saved fingerprints can be the old collection, but only with the same
// settings.
func TestSaved(t *testing.T) {
	old := `{"id":"o1","text":"alpha beta gamma delta"}
{"id":"o2","text":"nobody comes near this one"}
{"id":"o3","text":"?!"}
`
	newer := `{"id":"n1","text":"Alpha, beta, gamma, delta"}
{"id":"n2","text":"quite new and never seen"}
{"id":"o2","text":"now it is another text altogether"}
{"id":"n3","text":"!?"}
`
	for _, bits := range []string{"64", "128"} {
		files := map[string]string{"d/old.jsonl": old, "new.jsonl": newer, "secret": "a secret of some length\n"}
		status, _, stderr := runIn(t, files, "", "--bits", bits, "--secret", "secret", "--save", "d/1.fp.gz", "d")
		if status != 0 {
			t.Fatal(stderr)
		}
		again := func(args ...string) (int, string, string) {
			var out, err strings.Builder
			status := run(append([]string{"dedup", "--method", "simhash", "--against", "d/1.fp.gz", "--pairs", "p.tsv", "--out", "o.jsonl"}, args...), &cli.Outputs{}, strings.NewReader(""), &out, &err)
			return status, out.String(), err.String()
		}
		status, stdout, stderr := again("--bits", bits, "--secret", "secret", "--save", "d/2.fp", "new.jsonl")
		if status != 0 || !strings.Contains(stdout, "3 old documents") {
			t.Fatal(stdout, stderr)
		}
		if got := read(t, "p.tsv"); got != "n1\to1\t0\n" {
			t.Errorf("pairs %q", got)
		}
		if got := read(t, "o.jsonl"); strings.Contains(got, "n1") || strings.Count(got, "\n") != 3 {
			t.Errorf("out %q", got)
		}
		// The second call saved the old and the new documents.
		status, stdout, stderr = again("--against", "d/2.fp", "--bits", bits, "--secret", "secret", "new.jsonl")
		if status != 0 || !strings.Contains(stdout, "6 old documents") || !strings.Contains(stdout, "3 duplicates") {
			t.Errorf("%s%s", stdout, stderr)
		}
		for want, args := range map[string][]string{
			"1.fp.gz:1: data was stored with different settings: tokenizer=shingles(words,2), not words; fingerprint the stored texts again": {"--bits", bits, "--secret", "secret", "--tokenizer", "words", "new.jsonl"},
			"1.fp.gz:1: data was stored with different settings: hash=xxh3-seeded:":                                                          {"--bits", bits, "new.jsonl"},
			"1.fp.gz:1: data was stored with different settings: it holds fingerprints" + bits:                                               {"--bits", map[string]string{"64": "128", "128": "64"}[bits], "--secret", "secret", "new.jsonl"},
			"1.fp.gz:1: a file of saved fingerprints can only be given to --against":                                                         {"--bits", bits, "--secret", "secret", "d/1.fp.gz"},
		} {
			status, _, stderr := again(args...)
			if status != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%q: %s; want %s", args, stderr, want)
			}
		}
	}
}

func TestNormalizeFlag(t *testing.T) {
	page := `{"id":"a","text":"<p>Read <b>http:\/\/a.b\/c<\/b> on 2026-11-21 for 12 euro.<script>x<\/script>"}
{"id":"b","text":"Read (www.other.org) on 1 May 1999, for 7 euro"}
`
	status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": page}, "", "--normalize", "html, urls,dates=remove,numbers", "x.jsonl")
	if status != 0 || !strings.Contains(stdout, "1 duplicate ") {
		t.Errorf("%s%s", stdout, stderr)
	}
	for list, want := range map[string]string{
		"urls emails": "steps are html, nfc",
		"htm":         "steps are html, nfc", "html=remove": "only in urls=remove", "urls=mask": "only in urls=remove", "nfc,nfkc": "only one of",
	} {
		if status, _, stderr := runIn(t, map[string]string{"x.jsonl": page}, "", "--normalize", list, "x.jsonl"); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s", list, status, stderr)
		}
	}
	if status, _, stderr := runIn(t, map[string]string{"x.jsonl": page, "s": "short"}, "", "--secret", "s", "x.jsonl"); status != 1 || !strings.Contains(stderr, "s:1: neardup: the secret has 5 bytes; at least 16 are needed") {
		t.Error(status, stderr)
	}
}

// TestBoilerplateFlag checks that common lines do not count, with any number of workers, from files
// and from standard input.
func TestBoilerplateFlag(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		body := ""
		for j := range 20 {
			body += fmt.Sprintf("w%dx%d ", i, j)
		}
		fmt.Fprintf(&b, `{"id":"%d","text":"Home About Contact Imprint and a lot of other menu entries of the site\n%s\nall rights reserved by the owner of this lovely site, do not copy, do not print"}`+"\n", i, body)
	}
	for _, args := range [][]string{{"x.jsonl"}, {"--workers", "1", "x.jsonl"}, {"-"}} {
		call := func(more ...string) string {
			status, stdout, stderr := runIn(t, map[string]string{"x.jsonl": b.String()}, b.String(), append(more, args...)...)
			if status != 0 {
				t.Fatal(stderr)
			}
			return stdout
		}
		if with, without := call("--distance", "16"), call("--distance", "16", "--boilerplate", "20"); strings.Contains(with, "\n0 duplicates") || !strings.Contains(without, "\n0 duplicates") {
			t.Errorf("with %s\nwithout %s", with, without)
		}
	}
}

// TestMangledID checks that an id is refused if decoding would change it.
func TestMangledID(t *testing.T) {
	for _, id := range []string{`\ud800`, `a\udfff`, "a\xff", `\ud800\u0041`, `\\\ufffd\ud800`, `\udc00\ud800`} {
		status, _, stderr := runIn(t, map[string]string{"x.jsonl": `{"id":"` + id + `","text":"x"}`}, "", "x.jsonl")
		if status != 1 || !strings.Contains(stderr, "x.jsonl:1: \"id\" is not valid Unicode") {
			t.Errorf("%q: %d %s", id, status, stderr)
		}
	}
	for _, id := range []string{`\ud83d\ude42`, `\ufffd`, `\uFFFD`, "\ufffd", `\\\ufffd\ufffd`, `\"\ud83d\ude42\u0041`, `\\ud800`} {
		if status, _, stderr := runIn(t, map[string]string{"x.jsonl": `{"id":"` + id + `","text":"half \ud800 a pair, ` + "\xff" + `"}`}, "", "x.jsonl"); status != 0 {
			t.Errorf("%q: %d %s", id, status, stderr)
		}
	}
}

// TestLines checks that a later call uses the lines that --lines kept.
func TestLines(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":\"the menu of the site\\nbody w%d of text x%d with y%d\"}\n", i, i, i, i)
	}
	b.WriteString(strings.ReplaceAll(b.String(), `"id":"`, `"id":"copy `)) // copies count once
	dedup := func(args ...string) (int, string, string) {
		var out, err strings.Builder
		status := run(append([]string{"dedup", "--method", "simhash"}, args...), &cli.Outputs{}, strings.NewReader(""), &out, &err)
		return status, out.String(), err.String()
	}
	status, _, stderr := runIn(t, map[string]string{"x.jsonl": b.String(), "bad.lines": "bad"}, "", "--boilerplate", "30", "--lines", "l", "--save", "x.fp", "x.jsonl")
	if status != 0 {
		t.Fatal(stderr)
	}
	// A call may overwrite the saved fingerprints that it compares with.
	for range 2 {
		status, stdout, stderr := dedup("--boilerplate", "30", "--lines", "l", "--against", "x.fp", "--save", "x.fp", "x.jsonl")
		if status != 0 || !strings.Contains(stdout, "60 old documents") || !strings.Contains(stdout, "60 duplicates") {
			t.Errorf("%s%s", stdout, stderr)
		}
	}
	for want, args := range map[string][]string{
		"--boilerplate with saved fingerprints needs --lines": {"--boilerplate", "3", "--save", "y.fp", "x.jsonl"},
		"--lines needs --boilerplate":                         {"--lines", "l", "x.jsonl"},
		"normalizer=boilerplate(":                             {"--against", "x.fp", "x.jsonl"},
		"bad.lines:1: file is damaged":                        {"--boilerplate", "3", "--lines", "bad.lines", "x.jsonl"},
		"two outputs have this name":                          {"--boilerplate", "3", "--lines", "l", "--pairs", "l", "x.jsonl"},
		"none.fp: no such file":                               {"--skip-bad", "--against", "none.fp", "x.jsonl"},
		"data was stored with different settings":             {"--skip-bad", "--against", "x.fp", "x.jsonl"},
	} {
		if status, _, stderr := dedup(args...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d %s", args, status, stderr)
		}
	}
}

// TestManyOld checks that equal old fingerprints cost no more than equal old texts.
func TestManyOld(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"this page cannot be found\"}\n", i)
	}
	files := map[string]string{"old.jsonl": b.String(), "new.jsonl": `{"id":"n","text":"This page cannot be found!"}`}
	if status, _, stderr := runIn(t, files, "", "--save", "old.fp", "old.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	var out, err strings.Builder
	if status := run([]string{"dedup", "--method", "simhash", "--against", "old.fp", "--pairs", "p.tsv", "new.jsonl"}, &cli.Outputs{}, strings.NewReader(""), &out, &err); status != 0 {
		t.Fatal(err.String())
	}
	if got := strings.Count(read(t, "p.tsv"), "\n"); got != 100_000 {
		t.Errorf("%d pairs", got)
	}
}

// TestWeightsFlag checks that weights from statistics tell texts apart that share only common
// words, and that a later call uses the statistics that --stats kept.
func TestWeightsFlag(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":\"%s rare%d word%d here%d\"}\n", i, strings.Repeat("the of and to in is was ", 10), i/2, i/2, i/2)
	}
	dedup := func(args ...string) (int, string, string) {
		var out, err strings.Builder
		status := run(append([]string{"dedup", "--method", "simhash"}, args...), &cli.Outputs{}, strings.NewReader(b.String()), &out, &err)
		return status, out.String(), err.String()
	}
	runIn(t, map[string]string{"x.jsonl": b.String(), "bad.stats": "bad"}, "", "x.jsonl")
	for _, w := range options.Weightings {
		args := []string{"--weights", w.Name, "--tokenizer", "words", "--distance", "5"}
		_, first, _ := dedup(append(args, "x.jsonl")...)
		for _, more := range [][]string{{"--workers", "1", "x.jsonl"}, {"--workers", "7", "-"}} {
			if status, stdout, stderr := dedup(append(args, more...)...); status != 0 || stdout[:60] != first[:60] {
				t.Errorf("%s: %d %s%s, at first %s", w.Name, status, stdout, stderr, first)
			}
		}
		want := "30 duplicates in 30 groups"
		if w.Name == "count" {
			want = "59 duplicates in 1 group;"
		}
		if w.Name != "log" && w.Name != "binary" && !strings.Contains(first, want) {
			t.Errorf("%s: %s", w.Name, first)
		}
	}
	if status, _, stderr := dedup("--weights", "logidf", "--stats", "s", "--save", "x.fp", "x.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	for range 2 {
		status, stdout, stderr := dedup("--weights", "logidf", "--stats", "s", "--against", "x.fp", "--save", "x.fp", "x.jsonl")
		if status != 0 || !strings.Contains(stdout, "60 old documents") || !strings.Contains(stdout, "60 duplicates") {
			t.Errorf("%s%s", stdout, stderr)
		}
	}
	for _, name := range []string{"s.gz", "s.zst"} { // written and read
		for range 2 {
			if status, stdout, stderr := dedup("--weights", "logidf", "--stats", name, "--boilerplate", "70", "--lines", "l"+name, "x.jsonl"); status != 0 {
				t.Error(stdout, stderr)
			}
		}
	}
	for want, args := range map[string][]string{
		"-: must be a regular file":              {"--weights", "tfidf", "--stats", "-", "x.jsonl"},
		"/dev/null: must be":                     {"--weights", "tfidf", "--stats", "/dev/null", "x.jsonl"},
		"with saved fingerprints needs --stats":  {"--weights", "tfidf", "--save", "y.fp", "x.jsonl"},
		"not used by --weights count":            {"--stats", "s", "x.jsonl"},
		"one of count, binary, log, tfidf":       {"--weights", "idf", "x.jsonl"},
		"bad.stats:1: file is damaged":           {"--weights", "tfidf", "--stats", "bad.stats", "x.jsonl"},
		"tokenizer=shingles(words,2), not words": {"--weights", "tfidf", "--stats", "s", "--tokenizer", "words", "x.jsonl"},
		"weight=(logcount*idf-smooth(":           {"--against", "x.fp", "x.jsonl"},
		"two outputs have this name":             {"--weights", "tfidf", "--stats", "p", "--pairs", "p", "x.jsonl"},
	} {
		if status, _, stderr := dedup(args...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d %s", args, status, stderr)
		}
	}
}
