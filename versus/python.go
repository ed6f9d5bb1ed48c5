package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/neardup/neardup"
)

//go:embed cosine.py
var script string

// python measures the rows with scikit-learn, and says so if Python does not have it. The work is done
// in another process, which waits while the library works, and the other way round.
func python(interpreter string, t *texts, rounds int, only string) {
	if !strings.Contains("cosine", only) {
		return
	}
	log.Print("cosine")
	all := windows(t.en, 800)
	all = all[:min(len(all), 10_000)]
	p, err := startPython(interpreter, all)
	if err != nil {
		fmt.Printf("| cosine | | | scikit-learn | | not here: %v |\n", err)
		return
	}
	defer p.stop()

	ctx := context.Background()
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	b := neardup.StatisticsBuilder{Fingerprinter: f}
	for _, s := range all {
		b.Add(s)
	}
	f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Statistics: b.Build()}}
	vectors := make([]neardup.Vector, len(all))
	ix, err := neardup.NewVectorIndex[int](0.01, neardup.VectorIndexOptions{})
	if err != nil {
		panic(err)
	}
	for i, s := range all {
		vectors[i] = f.Vector(s)
	}
	if err := ix.AddAll(ctx, func(yield func(int, neardup.Vector) bool) {
		for i, v := range vectors {
			if !yield(i, v) {
				return
			}
		}
	}); err != nil {
		panic(err)
	}
	for _, w := range []struct {
		row
		command string
		work    func()
	}{
		{row{name: fmt.Sprintf("cosine: all pairs from 0.5 among %d English texts of 800 bytes", len(all)), unit: "a join"}, "pairs", func() {
			for range neardup.VectorPairs(ctx, vectors, 0.5) {
				sink++
			}
		}},
		{row{name: fmt.Sprintf("cosine: the ten nearest of 1,000 among %d of them", len(all)), unit: "1,000 searches"}, "nearest", func() {
			for _, v := range vectors[:min(1000, len(vectors))] {
				nearest, err := ix.Nearest(v, 10)
				if err != nil {
					panic(err)
				}
				sink += uint64(len(nearest))
			}
		}},
	} {
		var ours, theirs, ratios []float64
		for range rounds {
			runtime.GC()
			start := time.Now()
			w.work()
			own := float64(time.Since(start).Nanoseconds())
			other, err := p.ask(w.command)
			if err != nil {
				log.Fatal("versus: scikit-learn: ", err)
			}
			ours, theirs, ratios = append(ours, own), append(theirs, other), append(ratios, other/own)
		}
		print(w.row, "scikit-learn "+p.version, median(ours), median(theirs), ratios)
	}
}

// A process is a running cosine.py.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	dir     string
	version string
}

// startPython starts cosine.py with some texts.
func startPython(interpreter string, texts []string) (*process, error) {
	if out, err := exec.Command(interpreter, "-c", "import sklearn").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	dir, err := os.MkdirTemp("", "neardup-versus-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir}
	file, err := os.Create(filepath.Join(dir, "texts.jsonl"))
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(file)
	for _, s := range texts {
		if err := enc.Encode(s); err != nil {
			return nil, err
		}
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(interpreter, "-c", script, file.Name())
	p.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1") // one thread, as ours
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var hello struct{ Version string }
	if err := p.read(&hello); err != nil {
		p.stop()
		return nil, err
	}
	p.version = hello.Version
	return p, nil
}

// read reads a line of JSON.
func (p *process) read(v any) error {
	if !p.out.Scan() {
		if err := p.out.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(p.out.Bytes(), v)
}

// ask sends a command, and returns how long it took in nanoseconds.
func (p *process) ask(command string) (float64, error) {
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		return 0, err
	}
	var answer struct{ Seconds float64 }
	err := p.read(&answer)
	return answer.Seconds * 1e9, err
}

// stop ends the process and removes its files.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
	os.RemoveAll(p.dir)
}
