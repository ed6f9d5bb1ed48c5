package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/dedup"
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
	for _, want := range []string{`in 3 files, about 403 documents; estimated from 403 of them`, `(?m)^auto +\S+s +\d+ MB +0 MB +1\.000$`, `(?m)^minhash +\S+s +\d+ MB +0 MB +[01]\.\d{3}$`, `(?m)^simhash +\S+s +\d+ MB +0 MB +[01]\.\d{3}$`, `This machine is enough, in about .*\n  neardup dedup a.jsonl b.csv c.jsonl`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if leftovers, _ := os.ReadDir("."); len(leftovers) != 3 {
		t.Errorf("left behind: %v", leftovers)
	}
	if out, err := exec.Command(program, "estimate", "-").CombinedOutput(); err == nil || !strings.Contains(string(out), "estimate needs files") {
		t.Errorf("of standard input: %v\n%s", err, out)
	}
}

// TestAdvice: a collection gets the smallest engine that can hold it, and commands that exist.
func TestAdvice(t *testing.T) {
	costs := func(seconds, bytes float64) []cost {
		return []cost{{"auto", 10 * seconds, 4 * bytes, "1.000"}, {"minhash", 2 * seconds, 2 * bytes, "0.920"}, {"simhash", seconds, bytes / 4, "0.200"}}
	}
	for _, c := range []struct {
		documents float64
		costs     []cost
		has, not  string
	}{
		{1e6, costs(6, 1e9), "neardup dedup 'my file.jsonl' b --out cleaned.csv", "neardup-beam"},
		{2e7, costs(200, 20e9), "This machine is enough, in about 33m20s", "neardup sql"}, // auto keeps texts in files
		{1e8, costs(600, 100e9), "--method simhash", "too small"},
		{1e9, costs(20_000, 1000e9), "neardup-beam -input 'my file.jsonl',b -output cleaned/ -method minhash -documents 1e+09", "neardup dedup"},
		{1e9, costs(20_000, 1000e9), "neardup sql bigquery --table fingerprints --documents 1000000000", "neardup dedup"},
	} {
		var out bytes.Buffer
		advise(&out, c.costs, c.documents, 32e9, []string{"my file.jsonl", "b"}, "cleaned.csv")
		if has := strings.TrimSuffix(c.has, "*"); !strings.Contains(out.String(), has) || strings.Contains(out.String(), c.not) {
			t.Errorf("%g documents: it says\n%s", c.documents, out.String())
		}
	}
}

// TestProgress: where there is no terminal, a line says now and then what is being done and what is left.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.every = 0
	p.begin("reading", 10e6, "B")
	p.began = time.Now().Add(-2 * time.Second)
	p.set(4e6)
	p.tell(dedup.Progress{Stage: "comparing", Done: 0, Total: 100})
	p.began = time.Now().Add(-time.Second)
	p.tell(dedup.Progress{Stage: "comparing", Done: 50, Total: 100})
	p.end()
	if want := regexp.MustCompile(`^neardup: reading: 4 MB of 10 MB \(40 %\), 2 MB/s, 3s left\nneardup: comparing: 0 of 100 \(0 %\), 0/s\nneardup: comparing: 50 of 100 \(50 %\), \d+/s, 1s left\n$`); !want.MatchString(out.String()) {
		t.Errorf("it says\n%s", out.String())
	}
	out.Reset()
	p.every = time.Hour
	p.said = time.Now()
	p.set(99)
	if out.Len() > 0 {
		t.Errorf("too soon it says %s", out.String())
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
