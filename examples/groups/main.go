// Command groups prints the groups of near-duplicates among documents, which it reads from standard input as JSON
// lines with an id and a text.
//
//	go run -C examples ./groups <testdata/en.jsonl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup/dedup"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "groups:", err)
		os.Exit(1)
	}
}

func run(r io.Reader, w io.Writer) error {
	ctx := context.Background()
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		return err
	}
	// AddAll reads the features of texts on all processors.
	var wrong error
	err = d.AddAll(ctx, func(yield func(id, text string) bool) {
		documents := json.NewDecoder(r)
		for {
			var doc struct{ ID, Text string }
			if err := documents.Decode(&doc); err != nil {
				if !errors.Is(err, io.EOF) {
					wrong = err
				}
				return
			}
			if !yield(doc.ID, doc.Text) {
				return
			}
		}
	})
	if err = errors.Join(wrong, err); err != nil {
		return err
	}
	threshold, err := d.Threshold(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, threshold)
	groups, err := d.Groups(ctx, dedup.Grouping[string]{})
	for _, g := range groups {
		fmt.Fprintf(w, "%q is kept of %q\n", g.Keep, g.Members)
	}
	return err
}
