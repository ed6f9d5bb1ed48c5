package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

func main() {
	begin := time.Now()
	if f := os.Getenv("PROF"); f != "" {
		o, _ := os.Create(f)
		pprof.StartCPUProfile(o)
		defer pprof.StopCPUProfile()
	}
	o := dedup.Options{}
	if len(os.Args) > 3 {
		o.Kinds, _ = neardup.ParseKinds(os.Args[3])
	}
	d, err := dedup.New[string](o)
	if err != nil {
		panic(err)
	}
	f, _ := os.Open(os.Args[1])
	var r io.Reader = f
	if strings.HasSuffix(os.Args[1], ".gz") {
		r, _ = gzip.NewReader(f)
	}
	dec := json.NewDecoder(bufio.NewReader(r))
	err = d.AddAll(context.Background(), func(yield func(string, string) bool) {
		for {
			var x struct {
				ID   any    `json:"id"`
				Text string `json:"text"`
			}
			if dec.Decode(&x) != nil || !yield(fmt.Sprint(x.ID), x.Text) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "added", d.Len(), time.Since(begin))
	out, _ := os.Create(os.Args[2])
	w := bufio.NewWriter(out)
	n := 0
	for p, err := range d.Pairs(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "%s\t%s\t%.4f\t%.4f\t%v\n", p.A, p.B, p.Similarity, p.Probability, p.Kind)
		n++
	}
	w.Flush()
	fmt.Fprintln(os.Stderr, "pairs", n, time.Since(begin))
	if os.Getenv("ALL") != "" {
		g, err := d.Groups(context.Background(), dedup.Grouping[string]{})
		fmt.Fprintln(os.Stderr, "groups", len(g), err, time.Since(begin))
		t, err := d.Threshold(context.Background())
		fmt.Fprintln(os.Stderr, t, err, time.Since(begin))
		fs, err := d.Families(context.Background())
		fmt.Fprintln(os.Stderr, "families", len(fs), err, time.Since(begin))
		for _, f := range fs[:min(3, len(fs))] {
			fmt.Fprintf(os.Stderr, "%d %.300q %.200q\n", len(f.Members), f.Form, f.Filled[:2])
		}
	}
}
