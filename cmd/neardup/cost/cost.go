// Package cost estimates what a call would cost (the command estimate), and says where it should be made.
package cost

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/progress"
)

// This file estimates the cost. It takes a sample of the inputs, runs every method
// on a half of the sample and on all of it, and draws a line through the two. The recall of a method is that
// among the pairs of auto in the sample.

// sampleBytes is the size of the sample. In a smaller one, the methods that compare all documents do so at
// another price than later.
const sampleBytes = 48 << 20

// A trial is what a method cost for a sample.
type trial struct {
	seconds float64
	peak    float64 // bytes
	pairs   map[string]bool
}

// Estimate prints what each method would cost for all inputs.
func Estimate(c *corpus.Corpus, o *options.Options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "neardup-estimate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	total, err := sizeOf(c)
	if err != nil {
		return err
	}
	half, all := filepath.Join(dir, "half.jsonl"), filepath.Join(dir, "all.jsonl")
	read, documents, err := sample(c, o, half, all, total)
	if err != nil {
		return err
	}
	if documents < 2 {
		return errors.New("the inputs have fewer than two documents")
	}
	share := float64(total) / float64(read) // of all to the sample
	fmt.Fprintf(stdout, "%.0f MB in %s, about %.0f documents; estimated from %d of them\n", float64(total)/1e6, cli.Count(len(c.Sources), "file", "files"), share*float64(documents), documents)
	w := bufio.NewWriter(stdout)
	fmt.Fprintf(w, "%-9s %10s %10s %10s %8s\n", "method", "time", "memory", "disk", "recall")
	t := &trials{o: o, dir: dir, half: half, all: all, share: share}
	var costs []cost
	for _, method := range options.Methods {
		if method == "cosine" && !slices.ContainsFunc(o.Set, func(f string) bool { return strings.HasPrefix(f, "--tokenizer=") || strings.HasPrefix(f, "--weights=") }) {
			continue // it would be a slower auto
		}
		of, err := t.cost(method)
		if err != nil {
			return err
		}
		costs = append(costs, of)
		peak, disk := of.peak, 0.0
		if limit := float64(o.Memory); o.Method.IsExact() && limit > 0 && peak > limit && method != "minhash" && method != "simhash" {
			disk, peak = peak-limit, limit // texts and keys of trees go to files
		}
		fmt.Fprintf(w, "%-9s %10v %7.0f MB %7.0f MB %8s\n", method, time.Duration(of.seconds*float64(time.Second)).Round(time.Second/10), peak/1e6, disk/1e6, of.recall)
	}
	fmt.Fprintf(w, "recall: of the %s that %s finds in the sample, the share that each method finds\n", cli.Count(len(t.truth), "pair", "pairs"), options.Methods[0])
	advise(w, costs, share*float64(documents), options.MachineMemory(), o.Args, output.CleanedName(c.Sources))
	return w.Flush()
}

// sizeOf returns the size of all inputs, which must be files.
func sizeOf(c *corpus.Corpus) (total int64, err error) {
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.Err != nil {
			return 0, s.Err
		}
		if !s.Regular() {
			return 0, fmt.Errorf("%s: estimate reads samples of files, so this input must be a file", s.Path)
		}
		total += s.Info.Size()
	}
	return total, nil
}

// trials try methods on a sample.
type trials struct {
	o              *options.Options
	dir, half, all string          // files of a sample
	share          float64         // of all inputs to the sample
	truth          map[string]bool // the pairs of the first method
}

// cost returns what a method would cost for all inputs.
func (t *trials) cost(method string) (of cost, err error) {
	small, err := try(t.o, t.dir, method, t.half)
	if err != nil {
		return of, err
	}
	large, err := try(t.o, t.dir, method, t.all)
	if err != nil {
		return of, err
	}
	if t.truth == nil {
		t.truth = large.pairs
	}
	grow := func(a, b float64) float64 { return max(b+(b-a)*2*(t.share-1), b) }
	return cost{method, grow(small.seconds, large.seconds), grow(small.peak, large.peak), recallOf(large.pairs, t.truth)}, nil
}

// recallOf says which share of the true pairs were found.
func recallOf(pairs, truth map[string]bool) string {
	if len(truth) == 0 {
		return "-"
	}
	found := 0
	for p := range truth {
		if pairs[p] {
			found++
		}
	}
	return fmt.Sprintf("%.3f", float64(found)/float64(len(truth)))
}

// sample writes a sample of the inputs, and the first half of it. It returns how many bytes of the inputs the
// sample is of, and its documents. It reads each input from its beginning, as far as its share goes.
func sample(c *corpus.Corpus, o *options.Options, half, all string, total int64) (read int64, documents int, err error) {
	var outs cli.Outputs
	defer outs.Discard()
	w, err := outs.Create(all, io.Discard)
	if err != nil {
		return 0, 0, err
	}
	var ends []int64 // of the documents in the sample
	written := int64(0)
	for n := range c.Sources {
		s := &c.Sources[n]
		count := &progress.Counter{}
		r, closeSource, err := s.Open(nil, count)
		if err != nil {
			return 0, 0, err
		}
		size := s.Info.Size()
		most := int64(float64(size)*min(1, sampleBytes/float64(total))) + 1
		taken := int64(0)
		var failed error
		err = s.Read(n, r, o.Cols, o.MaxLine, func(it input.Item) bool {
			if it.Err != nil {
				return true // the call itself says it
			}
			var line []byte
			if line, failed = output.JSONLine(&it, s, o.Cols); failed != nil {
				return false
			}
			taken += int64(len(line)) + 1
			written += int64(len(line)) + 1
			ends = append(ends, written)
			_, failed = fmt.Fprintf(w, "%s\n", line)
			return failed == nil && taken < most
		})
		closeSource()
		if err = errors.Join(err, failed); err != nil {
			return 0, 0, err
		}
		if s.Format == "jsonl" && !s.IsCompressed() {
			read += min(taken, count.Bytes()) // without what was read ahead
		} else {
			read += count.Bytes()
		}
	}
	if err := outs.Commit(); err != nil {
		return 0, 0, err
	}
	b, err := os.ReadFile(all)
	if err != nil || len(ends) == 0 {
		return read, 0, err
	}
	return read, len(ends), os.WriteFile(half, b[:ends[len(ends)/2]], 0o666)
}

// try runs the program with a method and the flags of the call.
func try(o *options.Options, dir, method, input string) (t trial, err error) {
	program, err := os.Executable()
	if err != nil {
		return t, err
	}
	pairs := filepath.Join(dir, "pairs")
	args := []string{"dedup", "--method=" + method, "--pairs=" + pairs, "--skip-bad"}
	for _, f := range o.Set {
		name, _, _ := strings.Cut(f[2:], "=")
		if slices.Contains(options.MethodsOf(name), method) {
			args = append(args, f)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), program, append(args, input)...)
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return t, fmt.Errorf("--method %s on a sample: %w: %s", method, err, cli.Printable(stderr.String(), 500))
	}
	t.seconds, t.peak = time.Since(start).Seconds(), peakOf(cmd.ProcessState)
	b, err := os.ReadFile(pairs)
	if err != nil {
		return t, err
	}
	t.pairs = map[string]bool{}
	for line := range strings.Lines(string(b)) {
		a, rest, _ := strings.Cut(line, "\t")
		b, _, _ := strings.Cut(rest, "\t")
		t.pairs[min(a, b)+"\t"+max(a, b)] = true
	}
	return t, nil
}

// peakOf returns the most memory that a process had, in bytes, or 0 if the system does not say.
func peakOf(p *os.ProcessState) float64 {
	kilobytes := maxRSS(p)
	if runtime.GOOS == "darwin" { // which counts bytes
		return float64(kilobytes)
	}
	return float64(kilobytes) * 1024
}
