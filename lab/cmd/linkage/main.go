// Command linkage compares records.Match with record linkage as Splink does it, on tables whose truth is known, without labels and without settings:
//
//	go run -C lab ./cmd/linkage -data DIR [-sets rec-febrl3,rec-song]
//
// For each table it prints precision, recall and F1 of the pairs in groups, and the time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/baseline"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/records"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with a directory for each table, which has docs.jsonl.gz and truth.tsv; the default is $NEARDUP_DATA")
	sets := flag.String("sets", "rec-febrl3,rec-febrl4,rec-restaurant,rec-music20k,rec-song,rec-cora,en-records-stroke,en-records-haematology,en-records-respiratory,en-records-cytology", "comma-separated names of tables")
	flag.Parse()
	for _, set := range strings.Split(*sets, ",") {
		if err := compare(filepath.Join(*data, set)); err != nil {
			fmt.Fprintln(os.Stderr, "linkage:", err)
			os.Exit(1)
		}
	}
}

// compare prints what both find in a table.
func compare(dir string) error {
	docs, err := dataset.Read(filepath.Join(dir, "docs.jsonl.gz"))
	if err != nil {
		return err
	}
	truth, err := dataset.ReadTruth(filepath.Join(dir, "truth.tsv"), docs)
	if err != nil {
		return err
	}
	rows := make([]neardup.Record, len(docs))
	for i, d := range docs {
		rows[i] = d.Fields
	}
	start := time.Now()
	say(dir, "EM as in Splink", baseline.Link(rows), truth, start)
	start = time.Now()
	m, err := records.Match(context.Background(), rows, records.MatchOptions{})
	if err != nil {
		return err
	}
	say(dir, "records.Match", m.Groups, truth, start)
	return nil
}

// say prints how right groups are.
func say(dir, method string, groups [][]int, truth dataset.Truth, start time.Time) {
	found, right := 0, 0
	for _, g := range groups {
		for j := range g {
			for i := range j {
				if found++; truth.Has(g[i], g[j]) {
					right++
				}
			}
		}
	}
	fmt.Printf("%-24s %-16s precision %.3f recall %.3f F1 %.3f, %.1f s\n", filepath.Base(dir), method, float64(right)/float64(max(found, 1)), float64(right)/float64(len(truth)), 2*float64(right)/float64(found+len(truth)), time.Since(start).Seconds())
}
