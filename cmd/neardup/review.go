package main

// This file has the command review. The page itself is made by package write.

import (
	"fmt"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

type reviewCommand struct {
	inputFlags
	textFlags
	groupFlags
	runFlags
	Report string `group:"output" placeholder:"FILE.html" help:"The page to write; by default review.html, if there is no such file."`
	Quiet  bool   `group:"output" short:"q" help:"Print errors only."`
}

// Run writes the page of a collection.
func (c *reviewCommand) Run(of *call) error {
	path := c.Report
	if path == "" {
		if path = "review.html"; cli.Exists(path) {
			return fmt.Errorf("%s: the file already exists; choose another name with --report", path)
		}
	}
	l, err := of.load(flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: defaults[methodFlags](), runFlags: c.runFlags, outputFlags: outputFlags{decisionFlags: decisionFlags{Quiet: c.Quiet}, Report: path}})
	if err != nil {
		return err
	}
	defer of.outs.Discard()
	w, err := of.outs.Create(path, of.stdout)
	if err != nil {
		return err
	}
	n, err := l.Report(w)
	if err == nil {
		err = of.outs.Commit()
	}
	if err == nil && !c.Quiet && path != "-" {
		_, err = fmt.Fprintf(of.stdout, "%s to look at: open %s in a browser\n", cli.Count(n, "pair", "pairs"), path)
	}
	return err
}
