package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEstimate runs the program itself with --estimate, on several formats.
func TestEstimate(t *testing.T) {
	program := t.TempDir() + "/dedup"
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(t.TempDir())
	lines := revisions(3, 400)
	os.WriteFile("a.jsonl", []byte(strings.Join(lines[:200], "\n")+"\n{\n"), 0o666)
	os.WriteFile("b.csv", []byte("id,text\n1,one text that is here\n2,one text that was here\n"), 0o666)
	os.WriteFile("c.jsonl", []byte(strings.Join(lines[200:], "\n")+"\n"), 0o666)
	out, err := exec.Command(program, "estimate", "--similarity", "0.5", "--kinds", "revised,contained", "a.jsonl", "b.csv", "c.jsonl").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`in 3 files, about 403 documents; estimated from 403 of them`, `(?m)^auto +\S+s +\d+ MB +0 MB +1\.000$`, `(?m)^minhash +\S+s +\d+ MB +0 MB +[01]\.\d{3}$`, `(?m)^simhash +\S+s +\d+ MB +0 MB +[01]\.\d{3}$`, `This machine is enough, and needs about .*\n  neardup dedup a.jsonl b.csv c.jsonl`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if leftovers, _ := os.ReadDir("."); len(leftovers) != 3 {
		t.Errorf("left behind: %v", leftovers)
	}
	if out, err := exec.Command(program, "estimate", "-").CombinedOutput(); err == nil || !strings.Contains(string(out), "estimate reads samples of files") {
		t.Errorf("of standard input: %v\n%s", err, out)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"8G": 8 << 30, "800M": 800 << 20, "1.5g": 3 << 29, "4GiB": 4 << 30, "4gb": 4 << 30, "100000000": 100_000_000, "1T": 1 << 40} {
		if got, err := parseBytes(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "G", "-8G", "8X", "1M", "NaN", "infG", "99999999T"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}
