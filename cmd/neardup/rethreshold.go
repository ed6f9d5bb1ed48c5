package main

import (
	"errors"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/pipeline"
)

// This file has the command rethreshold: the outputs of dedup again, from pairs that a call has found, with another border, other kinds, other
// groups, or labels. Nothing is compared. The inputs are only read, for their ids and for what is written of them.

type rethresholdCommand struct {
	Pairs string `arg:"" help:"What --pairs wrote. To be able to lower the border later, write the pairs with --probability 0.05 --kinds all."`
	inputFlags
	textFlags
	Labels      []string `group:"method" placeholder:"FILE" help:"Labels, as the page of review saves them: pairs that are the same count, whatever their probability, pairs that are different do not, and documents that somebody chose are kept."`
	Similarity  float64  `group:"method" placeholder:"X" help:"The smallest similarity of near-duplicates. It decides instead of the probability."`
	Kinds       string   `group:"method" placeholder:"NAMES" help:"The kinds of pairs that count, as for dedup."`
	Group       string   `group:"method" default:"centres" placeholder:"NAME" help:"What a group is, as for dedup: centres, complete or chains."`
	Keep        string   `group:"method" default:"first" placeholder:"NAME" help:"Which document of a group to keep: first, longest or newest."`
	Probability float64  `group:"method" default:"0.5" placeholder:"X" help:"The smallest probability that two documents are near-duplicates."`
	Out         string   `group:"output" placeholder:"FILE" help:"The cleaned collection, as for dedup."`
	Annotate    string   `group:"output" placeholder:"FILE" help:"The whole collection, with what was decided of each document."`
	Clusters    string   `group:"output" placeholder:"FILE" help:"The groups."`
	Audit       string   `group:"output" placeholder:"FILE" help:"Each document that is removed, for neardup verify."`
	JSON        bool     `group:"output" name:"json" help:"Print the summary as JSON."`
	Quiet       bool     `group:"output" short:"q" help:"Print errors only."`
	ExitCode    bool     `group:"output" help:"End with status 3 if there are duplicates."`
	Workers     int      `group:"running" default:"${workers}" placeholder:"N" help:"Number of texts to work on at the same time."`
}

// Run decides again.
func (c *rethresholdCommand) Run(of *call) error {
	f := flags{inputFlags: c.inputFlags, textFlags: c.textFlags, methodFlags: usualMethod, runFlags: runFlags{Workers: c.Workers},
		groupFlags:  groupFlags{Similarity: c.Similarity, Kinds: c.Kinds, Group: c.Group, Keep: c.Keep, Probability: c.Probability},
		outputFlags: outputFlags{Out: c.Out, Annotate: c.Annotate, Clusters: c.Clusters, Audit: c.Audit, JSON: c.JSON, Quiet: c.Quiet, ExitCode: c.ExitCode}}
	var kinds neardup.Kind
	if err := kinds.UnmarshalText([]byte(c.Kinds)); c.Kinds != "" && err == nil && kinds&neardup.Identical == 0 {
		return usageError{errors.New("--kinds: equal texts are always in one group here; name identical, or use dedup")}
	}
	return of.run(f, func(o *pipeline.Options) {
		o.Given = &pipeline.GivenPairs{Path: c.Pairs, Labels: c.Labels}
		if o.Method.Kinds == 0 {
			o.Method.Kinds = neardup.AllKinds &^ neardup.SameForm
		}
		o.Method.Name = "given"
	})
}
