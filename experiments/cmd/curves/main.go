// Command curves shows what collections look like to a Deduplicator: how many pairs there are by
// similarity, which threshold it reads from that, and why.
//
//	go run -C experiments ./cmd/curves -data DIR [-sets zh-revisions,en-versions] [-figure FILE.svg]
//
// A collection is a file of JSON lines: docs.jsonl.gz in a directory of DIR.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/experiments/internal/dataset"
	"github.com/neardup/neardup/experiments/internal/figure"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with a directory for each set; the default is $NEARDUP_DATA")
	sets := flag.String("sets", "zh-revisions,en-versions,zh-manuals,en-records-stroke,en-newsgroups", "comma-separated `NAMES` of sets")
	out := flag.String("figure", "", "`FILE` for a figure of the curves, in SVG")
	flag.Parse()
	if err := run(*data, strings.Split(*sets, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "curves:", err)
		os.Exit(1)
	}
}

// run prints the threshold and the curve of each set, and draws them.
func run(data string, sets []string, out string) error {
	if data == "" {
		return fmt.Errorf("give -data or set NEARDUP_DATA")
	}
	plot := figure.New("Pairs by similarity, near-copies and forms left out", "cosine", "pairs, % of the most in 0.05")
	for n, set := range sets {
		t, err := threshold(filepath.Join(data, set, "docs.jsonl.gz"))
		if err != nil {
			return err
		}
		x, y := binned(t.Curve)
		fmt.Printf("%s: %v; %d of %d documents compared\n ", set, t, t.Sampled, t.Documents)
		for i := range x {
			fmt.Printf(" %.2f:%.0f", x[i]-width/2, y[i])
		}
		fmt.Println()
		most := 0.0
		for _, v := range y {
			most = max(most, v)
		}
		for i := range y {
			y[i] *= 100 / max(most, 1)
		}
		plot.Line(fmt.Sprintf("%s: from %.2f on", set, t.Similarity), n, x, y)
	}
	if out == "" {
		return nil
	}
	return plot.Save(out)
}

// threshold returns the threshold of the texts of a file.
func threshold(path string) (t neardup.Threshold, err error) {
	docs, err := dataset.Read(path)
	if err != nil {
		return t, err
	}
	var d neardup.Deduplicator[int]
	err = d.AddAll(context.Background(), func(yield func(int, string) bool) {
		for i, doc := range docs {
			if !yield(i, doc.Whole()) {
				return
			}
		}
	})
	if err != nil {
		return t, err
	}
	return d.Threshold(context.Background())
}

// width is that of a bin.
const width = 0.05

// binned returns the middle of each bin and the number of pairs in it.
func binned(curve []float64) (x, y []float64) {
	const steps = 5 // in a bin; a curve has steps of 0.01 and ends at 1
	for i := 0; i+steps <= len(curve); i += steps {
		n := 0.0
		for _, v := range curve[i : i+steps] {
			n += v
		}
		x, y = append(x, 1-0.01*float64(len(curve)-i)+width/2), append(y, n)
	}
	return x, y
}
