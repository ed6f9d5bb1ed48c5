package main

import (
	"context"
	"fmt"
	"github.com/neardup/neardup"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/passages"
)

// This file compares the pairs of which one document stands in the other with the pairs of near-duplicates of package dedup.

const contained = 0.8 // so much of a document must stand in the other one

// sets prints, for some collections of the data, how many pairs both find, and one alone.
func sets(data, names string) error {
	fmt.Printf("%-16s %9s %9s %9s %12s %12s\n", "collection", "documents", "passages", "contained", "only that", "only dedup")
	for name := range strings.SplitSeq(names, ",") {
		f, err := passages.New[int](passages.Options{})
		if err != nil {
			return err
		}
		d, err := dedup.New[int](dedup.Options{})
		if err != nil {
			return err
		}
		var failed error
		documents := 0
		for i, text := range texts(filepath.Join(data, name, "docs.jsonl.gz"), &failed) {
			documents++
			if err := f.Add(i, text); err != nil {
				return err
			}
			if err := d.Add(i, neardup.Text(text)); err != nil {
				return err
			}
		}
		if failed != nil {
			return failed
		}
		runs := 0
		for _, err := range f.Passages(context.Background()) {
			if err != nil {
				return err
			}
			runs++
		}
		in := map[[2]int]bool{}
		for c, err := range f.Contained(context.Background(), contained) {
			if err != nil {
				return err
			}
			in[[2]int{min(c.Number, c.Sources[0].Number), max(c.Number, c.Sources[0].Number)}] = true
		}
		both, only := 0, 0
		for p, err := range d.Pairs(context.Background()) {
			if err != nil {
				return err
			}
			if in[[2]int{p.A, p.B}] {
				both++
			} else {
				only++
			}
		}
		fmt.Printf("%-16s %9d %9d %9d %12d %12d\n", name, documents, runs, len(in), len(in)-both, only)
	}
	return nil
}
