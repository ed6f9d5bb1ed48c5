// Command groups prints the groups of near-duplicates among documents, which it reads from files of JSON lines with an id and a text.
//
//	go run -C examples ./groups ../testdata/en.jsonl ../testdata/zh.jsonl
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "groups:", err)
		os.Exit(1)
	}
}

func run(paths []string, w io.Writer) error {
	ctx := context.Background()
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		return err
	}
	beginnings := map[string]string{} // of the texts, to show them
	for _, path := range paths {
		if err := add(ctx, d, path, beginnings); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	groups, err := d.Groups(ctx, dedup.GroupOptions[string]{Prefer: func(a, b dedup.Entry[string]) bool { return a.Sequence < b.Sequence }})
	if err != nil {
		return err
	}
	expected, err := d.Estimate(ctx)
	if err != nil {
		return err
	}
	duplicates, wrong := 0, 0.0
	for _, g := range groups {
		duplicates += len(g.Members) - 1
		for _, m := range g.Matches {
			wrong += 1 - expected.InCollection(m.Probability)
		}
	}
	least, most := expected.Likely(wrong, duplicates)
	fmt.Fprintf(w, "%d documents\n", d.Len())
	fmt.Fprintf(w, "%d duplicates in %d groups; %d documents remain without them\n", duplicates, len(groups), d.Len()-duplicates)
	fmt.Fprintf(w, "about %.0f of the %d duplicates are expected to be false positives, likely %d to %d\n", wrong, duplicates, least, most)
	fmt.Fprintln(w, "largest groups:")
	slices.SortStableFunc(groups, func(a, b neardup.Group[string]) int { return cmp.Compare(len(b.Members), len(a.Members)) })
	for _, g := range groups[:min(len(groups), 5)] {
		fmt.Fprintf(w, "%6d × %s: %s…\n", len(g.Members), g.Keep, beginnings[g.Keep])
	}
	return nil
}

// add adds the documents of a file. AddAll reads the features of texts on all processors.
func add(ctx context.Context, d *dedup.Deduplicator[string], path string, beginnings map[string]string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var wrong error
	err = d.AddAll(ctx, func(yield func(string, neardup.Document) bool) {
		documents := json.NewDecoder(f)
		for {
			var doc struct{ ID, Text string }
			if err := documents.Decode(&doc); err != nil {
				if !errors.Is(err, io.EOF) {
					wrong = err
				}
				return
			}
			text := []rune(strings.Join(strings.Fields(doc.Text), " "))
			beginnings[doc.ID] = string(text[:min(len(text), 60)])
			if !yield(doc.ID, neardup.Text(doc.Text)) {
				return
			}
		}
	})
	return errors.Join(wrong, err)
}
