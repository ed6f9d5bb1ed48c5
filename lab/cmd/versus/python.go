package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
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
func python(interpreter string, t *texts, rounds int, only string) error {
	if !strings.Contains("cosine", only) {
		return nil
	}
	log.Print("cosine")
	all := windows(t.en, 800)
	all = all[:min(len(all), 10_000)]
	p, err := startPython(interpreter, all)
	if err != nil {
		fmt.Printf("| cosine | | | scikit-learn | | not here: %v |\n", err)
		return nil
	}
	defer p.stop()

	ctx := context.Background()
	vectors, ix := vectorsOf(ctx, all)
	for _, w := range []struct {
		row
		command string
		work    func()
	}{
		{row{name: fmt.Sprintf("cosine: all pairs from 0.5 among %d English texts of 800 bytes", len(all)), unit: "a join"}, "pairs", func() {
			for _, err := range neardup.VectorPairs(ctx, vectors, 0.5) {
				if err != nil {
					panic(err)
				}
				sink++
			}
		}},
		{row{name: fmt.Sprintf("cosine: the ten nearest of 1,000 among %d of them", len(all)), unit: "1,000 searches"}, "nearest", func() {
			for _, v := range vectors[:min(1000, len(vectors))] {
				nearest, err := ix.Nearest(ctx, v, 10)
				if err != nil {
					panic(err)
				}
				sink += uint64(len(nearest))
			}
		}},
	} {
		if err := p.compare(w.row, w.command, rounds, w.work); err != nil {
			return fmt.Errorf("scikit-learn: %w", err)
		}
	}
	return nil
}

// vectorsOf returns the vectors of texts, weighed as scikit-learn is told to weigh them, and an index.
func vectorsOf(ctx context.Context, all []string) ([]neardup.Vector, *neardup.VectorIndex[int]) {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
	for _, s := range all {
		b.Add(neardup.Text(s))
	}
	f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: b.Build()}}
	vectors := make([]neardup.Vector, len(all))
	ix, err := neardup.NewVectorIndex[int](0.01, neardup.VectorIndexOptions{})
	if err != nil {
		panic(err)
	}
	for i, s := range all {
		vectors[i] = f.Vector(neardup.Text(s))
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
	return vectors, ix
}

// compare measures a row and prints it: in each round the library does the work, and then Python what
// the command says.
func (p *process) compare(r row, command string, rounds int, work func()) error {
	var ours, theirs, ratios []float64
	for range rounds {
		runtime.GC()
		start := time.Now()
		work()
		own := float64(time.Since(start).Nanoseconds())
		took, err := p.ask(command)
		if err != nil {
			return err
		}
		other := float64(took.Nanoseconds())
		ours, theirs, ratios = append(ours, own), append(theirs, other), append(ratios, other/own)
	}
	print(r, "scikit-learn "+p.version, median(ours), median(theirs), ratios)
	return nil
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
	cmd := exec.Command(interpreter, "-c", script, file.Name())
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1") // one thread, as ours
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	p.dir = dir
	var hello struct{ Version string }
	if err := p.read(&hello); err != nil {
		p.stop()
		return nil, err
	}
	p.version = hello.Version
	return p, nil
}
