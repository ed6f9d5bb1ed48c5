package progress

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/neardup/neardup/dedup"
)

// TestProgress: without a terminal, a line every ten seconds shows the stage, the rate and the time left.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.every = 0
	p.Begin("reading", 10e6, "B")
	p.began = time.Now().Add(-2 * time.Second)
	p.Set(4e6)
	p.Tell(dedup.Progress{Stage: "comparing", Done: 0, Total: 100})
	p.began = time.Now().Add(-time.Second)
	p.Tell(dedup.Progress{Stage: "comparing", Done: 50, Total: 100})
	p.End()
	if want := regexp.MustCompile(`^neardup: reading: 4 MB of 10 MB \(40 %\), 2 MB/s, 3s left\nneardup: comparing: 0 of 100 \(0 %\), 0/s\nneardup: comparing: 50 of 100 \(50 %\), \d+/s, 1s left\n$`); !want.MatchString(out.String()) {
		t.Errorf("it says\n%s", out.String())
	}
	out.Reset()
	p.every = time.Hour
	p.said = time.Now()
	p.Set(99)
	if out.Len() > 0 {
		t.Errorf("too soon it says %s", out.String())
	}
}
