package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/pipeline"
	"github.com/neardup/neardup/cmd/neardup/shards"
)

// This file has the flag --shard of dedup, and the command merge, which puts together what the shards have done.

// shardFlags divide a call among processes.
type shardFlags struct {
	Shard string `group:"running" placeholder:"K/N" help:"Take only the share K of N of the documents, and write what the command merge needs of them into the directory --state, one for each share. The other flags must be the same for all shares, outputs included: merge writes them."`
}

type mergeCommand struct {
	Parts []string `arg:"" name:"dir" help:"The directories that neardup dedup --shard has made, all of them."`
	Step  string   `group:"running" placeholder:"NAME" help:"Do a share of one step instead of the whole, for several processes: join, which finds out which documents can matter to each other, and after all shares of it compare. What is missing is done at the end."`
	Shard string   `group:"running" placeholder:"K/N" help:"The share of the step."`
	runFlags
}

// A shardedCommand is what the parts keep of a call of dedup.
type shardedCommand struct {
	Flags flags
	Given map[string]string
}

// keep returns the flags of a call with --shard, for merge.
func (c *dedupCommand) keep(given map[string]string) ([]byte, error) {
	kept := shardedCommand{c.flags, maps.Clone(given)}
	kept.Flags.State, kept.Flags.runFlags = "", runFlags{}
	for _, name := range []string{"shard", "state", "memory", "workers"} {
		delete(kept.Given, name)
	}
	for _, value := range append(slices.Collect(maps.Values(given)), c.Inputs...) {
		if !utf8.ValidString(value) {
			return nil, usageError{fmt.Errorf("%q: with --shard all flags must be UTF-8", value)}
		}
	}
	return json.Marshal(kept)
}

// Run does a step, or the rest.
func (c *mergeCommand) Run(of *call) error {
	switch {
	case (c.Step == "") != (c.Shard == ""):
		return usageError{errors.New("--step and --shard go together: the share of a step, such as --step join --shard 3/16")}
	case c.Step != "" && !slices.Contains(shards.MergeSteps, c.Step):
		return usageError{fmt.Errorf("--step %q: must be %s", c.Step, strings.Join(shards.MergeSteps, " or "))}
	}
	parts, err := shards.ReadParts(c.Parts)
	if err != nil {
		return err
	}
	var kept shardedCommand
	if err := json.Unmarshal(parts.Command(), &kept); err != nil {
		return fmt.Errorf("the flags of the parts: %w", err)
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
