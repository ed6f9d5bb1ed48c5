package main

import (
	"io"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/pipeline"
)

// This file has what commands get besides their flags, and what they do with it.

// A call is what a command gets besides its flags.
type call struct {
	outs           *cli.Outputs
	stdin          io.Reader
	stdout, stderr io.Writer
	given          map[string]string // the flags that the user set, and their values
}

// run checks the flags and runs a command, after change has changed the options.
func (of *call) run(f flags, change func(*options.Options) error) error {
	o, err := f.options(of.given)
	if err != nil {
		return usageError{err}
	}
	if err := change(o); err != nil {
		return err
	}
	return pipeline.Dedup(o, nil, of.outs, of.stdin, of.stdout, of.stderr)
}

// load reads the inputs of a call.
func (of *call) load(f flags) (*pipeline.Loaded, error) {
	o, err := f.options(of.given)
	if err != nil {
		return nil, usageError{err}
	}
	return pipeline.Load(o, of.stdin, of.stderr)
}

// A usageError says that the flags are wrong.
type usageError struct{ error }
