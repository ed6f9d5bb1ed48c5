package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/dedup"
)

// This file has the command upgrade.

type upgradeCommand struct {
	Old string `arg:"" help:"The directory that an earlier version made. It stays as it is."`
	New string `arg:"" help:"The directory to make, for --state."`
}

// Run reads the documents of a directory of an earlier version, which must have been made without settings of the text.
func (c *upgradeCommand) Run(of *call) error {
	if cli.Exists(filepath.Join(c.Old, "run")) {
		return fmt.Errorf("%s:1: the last run did not finish; repeat it first, with the version that started it", filepath.Join(c.Old, "run"))
	}
	if err := os.MkdirAll(c.New, 0o777); err != nil {
		return cli.InFile(c.New, err)
	}
	n, err := dedup.Upgrade[string](filepath.Join(c.Old, "documents"), filepath.Join(c.New, "documents"), dedup.Options{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(of.stdout, "%s; use --state %s from now on\n", cli.Count(n, "document", "documents"), c.New)
	return err
}
