package pipeline

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/dedup"
)

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
