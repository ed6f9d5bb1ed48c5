// Package progress shows what the program is doing, how fast, and how much time is left: as a bar on a terminal, and otherwise as a line
// every ten seconds, so that a log stays short.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/neardup/neardup/dedup"
)

// lineEvery is the time between two lines.
const lineEvery = 10 * time.Second

// A Bar shows one stage after the other. Its methods may be called from several goroutines.
type Bar struct {
	w          io.Writer
	isTerminal bool
	every      time.Duration

	mu          sync.Mutex
	bar         *progressbar.ProgressBar
	what, unit  string // of the stage, and of its numbers
	done, total int64  // total is 0 if it is not known
	began, said time.Time
}

// New returns a bar that writes to stderr.
func New(stderr io.Writer) *Bar {
	f, ok := stderr.(*os.File)
	return &Bar{w: stderr, isTerminal: ok && term.IsTerminal(int(f.Fd())), every: lineEvery}
}

// Begin begins a stage, and ends the one before. unit is "B" for bytes.
func (p *Bar) Begin(what string, total int64, unit string) {
	p.End()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.unit, p.done, p.total = what, unit, 0, total
	p.began = time.Now()
	if p.said.IsZero() {
		p.said = p.began // the first line comes after a while: short calls have none
	}
	if p.isTerminal {
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.w), progressbar.OptionShowBytes(unit == "B"), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(what))
	}
}

// Set says how much of the stage has been done.
func (p *Bar) Set(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = done
	if p.bar != nil {
		p.bar.Set64(done)
		return
	}
	if now := time.Now(); now.Sub(p.said) >= p.every && !p.isTerminal {
		p.said = now
		fmt.Fprintln(p.w, "neardup:", p.line(now.Sub(p.began)))
	}
}

// line describes the stage after a time.
func (p *Bar) line(took time.Duration) string {
	amount := func(n float64) string {
		if p.unit == "B" {
			return fmt.Sprintf("%.0f MB", n/1e6)
		}
		return fmt.Sprintf("%.0f", n)
	}
	line := fmt.Sprintf("%s: %s", p.what, amount(float64(p.done)))
	rate := float64(p.done) / max(took.Seconds(), 1e-9)
	if p.total > 0 {
		line = fmt.Sprintf("%s: %s of %s (%d %%)", p.what, amount(float64(p.done)), amount(float64(p.total)), p.done*100/p.total)
	}
	if line += fmt.Sprintf(", %s/s", amount(rate)); p.total > 0 && rate > 0 {
		left := time.Duration(float64(p.total-p.done) / rate * float64(time.Second))
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// End ends the stage.
func (p *Bar) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Finish()
		p.bar = nil
	}
}

// Tell shows what a Deduplicator is doing.
func (p *Bar) Tell(now dedup.Progress) {
	p.mu.Lock()
	isNew := now.Stage != p.what || now.Done == 0
	p.mu.Unlock()
	if isNew {
		p.Begin(now.Stage, int64(now.Total), "")
	}
	p.Set(int64(now.Done))
}

// A Counter counts the bytes that are written to it, for a bar if there is one. Several goroutines may write.
type Counter struct {
	Bar *Bar
	n   atomic.Int64
}

// Write counts.
func (w *Counter) Write(b []byte) (int, error) {
	n := w.n.Add(int64(len(b)))
	if w.Bar != nil {
		w.Bar.Set(n)
	}
	return len(b), nil
}

// Bytes returns how many bytes were written.
func (w *Counter) Bytes() int64 { return w.n.Load() }
