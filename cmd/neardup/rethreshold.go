package main

import (
	"errors"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file has the command rethreshold: the outputs of dedup again, from pairs that a call has found, with another threshold, other kinds, other
// groups, or labels. Nothing is compared. The inputs are only read, for their ids and for what is written of them.

type rethresholdCommand struct {
	Pairs string `arg:"" help:"The file that --pairs wrote. To be able to lower the threshold later, write the pairs with --probability 0.05 --kinds all."`
	inputFlags
	textFlags
	Labels []string `group:"method" placeholder:"FILE" help:"Labels, as saved by the page that review writes. Pairs labelled same always count, pairs labelled different never do, and documents that somebody chose to keep are kept."`
	thresholdFlags
	decisionFlags
	Workers int `group:"running" default:"${workers}" placeholder:"N" help:"Number of texts to work on at the same time."`
}

// Run decides again.
func (c *rethresholdCommand) Run(of *call) error {
	f := flags{inputFlags: c.inputFlags, textFlags: c.textFlags, methodFlags: defaults[methodFlags](), runFlags: runFlags{Workers: c.Workers},
		groupFlags: groupFlags{thresholdFlags: c.thresholdFlags}, outputFlags: outputFlags{decisionFlags: c.decisionFlags}}
	var kinds neardup.Kind
	if err := kinds.UnmarshalText([]byte(c.Kinds)); c.Kinds != "" && err == nil && kinds&neardup.Identical == 0 {
		return usageError{errors.New("--kinds: rethreshold always groups identical texts; add identical to the list, or use dedup")}
	}
	return of.run(f, func(o *options.Options) error {
		o.Given = options.Given{Path: c.Pairs, Labels: c.Labels}
		if o.Method.Kinds == 0 {
			o.Method.Kinds = neardup.AllKinds &^ neardup.SameForm
		}
		o.Method.Name = "given"
		return nil
	})
}
