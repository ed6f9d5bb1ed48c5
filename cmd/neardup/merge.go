package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/pipeline"
	"github.com/neardup/neardup/cmd/neardup/shards"
)

// This file has the command merge, which puts together what the shards of a call have done.

type mergeCommand struct {
	Parts []string `arg:"" name:"dir" help:"All directories that neardup dedup --shard has made."`
	Step  string   `group:"running" placeholder:"NAME" help:"Run one shard of one step instead of the whole merge, so that several processes can share the work: first join, which finds the documents that may be near-duplicates, and then, when all its shards are done, compare. The final merge does whatever is missing."`
	Shard string   `group:"running" placeholder:"K/N" help:"The shard of the step to run, such as 3/16."`
	runFlags
}

// Run does a step, or the rest.
func (c *mergeCommand) Run(of *call) error {
	switch {
	case (c.Step == "") != (c.Shard == ""):
		return usageError{errors.New("--step and --shard must be used together, such as --step join --shard 3/16")}
	case c.Step != "" && !slices.Contains(shards.MergeSteps, c.Step):
		return usageError{fmt.Errorf("--step %q: must be %s", c.Step, strings.Join(shards.MergeSteps, " or "))}
	}
	parts, err := shards.ReadParts(c.Parts)
	if err != nil {
		return err
	}
	var kept shardedCommand
	if err := json.Unmarshal(parts.Command(), &kept); err != nil {
		return fmt.Errorf("the flags of the shards: %w", err)
	}
	kept.Flags.runFlags = c.runFlags
	if of.given = kept.Given; of.given == nil {
		of.given = map[string]string{}
	}
	o, err := kept.Flags.options(of.given)
	if err != nil {
		return usageError{err}
	}
	if err := o.CheckLearnt(); err != nil {
		return err
	}
	o.PartFiles = parts.Files()
	if c.Step == "" {
		return pipeline.Dedup(o, parts, of.outs, of.stdin, of.stdout, of.stderr)
	}
	s, err := options.ParseShard(c.Shard)
	if err != nil {
		return usageError{err}
	}
	return parts.Step(c.Step, s, o, of.outs, of.stderr)
}
