package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/write"
)

// This file has the command diff: what two calls decide differently.

type diffCommand struct {
	A   string `arg:"" help:"The --groups file of one run."`
	B   string `arg:"" help:"The --groups file of the other run."`
	Out string `placeholder:"FILE" help:"All documents that the two runs decide differently, as .csv, .jsonl, or tab-separated without a header."`
}

// A decision is what a call says of a document: which one is kept. It is the document itself if it is not removed.
type decision struct{ id, kept string }

func (d decision) isRemoved() bool { return d.id != d.kept }

// The changes, as they are counted and written.
const (
	removedByA = "removed only by the first run"
	removedByB = "removed only by the second run"
	otherKept  = "a different document is kept instead"
	onlyInA    = "only in the first run"
	onlyInB    = "only in the second run"
)

// changeOf says what two calls decide differently of a document, or "".
func changeOf(a, b decision) string {
	switch {
	case a.isRemoved() && !b.isRemoved():
		return removedByA
	case !a.isRemoved() && b.isRemoved():
		return removedByB
	case a.kept != b.kept:
		return otherKept
	}
	return ""
}

// Run compares the decisions of two calls.
func (c *diffCommand) Run(of *call) error {
	defer of.outs.Discard()
	for _, in := range []string{c.A, c.B} {
		if c.Out != "" && c.Out != "-" && cli.Place(c.Out) == cli.Place(in) {
			return fmt.Errorf("%s: the same file is an input and an output", in)
		}
	}
	path, table, summary := c.Out, of.stdout, of.stdout
	switch path {
	case "":
		path, table = "-", io.Discard
	case "-":
		summary = of.stderr
	}
	out, err := of.outs.Create(path, table)
	if err != nil {
		return err
	}
	t := output.NewTable(out, path, "id", "change", "kept_by_first", "kept_by_second")
	w := bufio.NewWriter(summary)
	counts := map[string]int{}
	same := 0
	note := func(change, id, a, b string) error {
		if change == "" {
			same++
			return nil
		}
		counts[change]++
		return t.Row(id, change, a, b)
	}
	if err := c.compare(note); err != nil {
		return err
	}
	if err := errors.Join(t.End(), of.outs.Commit()); err != nil {
		return err
	}
	fmt.Fprintln(w, cli.Count(same, "decision is the same", "decisions are the same"))
	for _, change := range []string{removedByA, removedByB, otherKept, onlyInA, onlyInB} {
		if counts[change] > 0 {
			fmt.Fprintf(w, "%s: %s\n", cli.Count(counts[change], "document", "documents"), change)
		}
	}
	return w.Flush()
}

// compare calls note for each document, in the order of the first file, and then for those of the second file alone, in its order.
func (c *diffCommand) compare(note func(change, id, a, b string) error) error {
	second := map[string]string{}
	err := write.ReadClusters(c.B, func(id, kept string) error {
		if _, twice := second[id]; twice {
			return fmt.Errorf("the id %q occurs twice", id)
		}
		second[id] = kept
		return nil
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	err = write.ReadClusters(c.A, func(id, kept string) error {
		if seen[id] {
			return fmt.Errorf("the id %q occurs twice", id)
		}
		seen[id] = true
		b, ok := second[id]
		if !ok {
			return note(onlyInA, id, kept, "")
		}
		return note(changeOf(decision{id, kept}, decision{id, b}), id, kept, b)
	})
	if err != nil {
		return err
	}
	return write.ReadClusters(c.B, func(id, kept string) error {
		if seen[id] {
			return nil
		}
		return note(onlyInB, id, "", kept)
	})
}
