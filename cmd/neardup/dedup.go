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
)

// This file has the commands with all stages of a call: dedup, records and estimate.

type dedupCommand struct {
	flags
	unitFlags
	shardFlags
}

// Run finds near-duplicates, or does the share of one process.
func (c *dedupCommand) Run(of *call) error {
	c.flags.shard, c.flags.unit = c.Shard, c.Unit
	return of.run(c.flags, func(o *options.Options) (err error) {
		if c.Shard != "" {
			o.Command, err = c.keep(of.given)
		}
		return err
	})
}

// shardFlags divide a call among processes.
type shardFlags struct {
	Shard string `group:"running" placeholder:"K/N" help:"Process only shard K of N, and write what the command merge needs to the --state directory; each shard needs its own. All other flags, including outputs, must be the same for all shards: merge writes the outputs."`
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

type recordsCommand struct {
	inputFlags
	Schema string   `group:"method" placeholder:"FILE" help:"Compare columns by this file instead of by what the table says of them: a JSON object that maps columns to options, such as {\"name\": \"chars3\", \"born\": \"date,weight=3\", \"phone\": \"phone=86\", \"notes\": \"words,large\", \"page\": \"-\"}. Options are: whole, words, words2, chars3, …; large for texts; date, mdy (month first), number, phone, exact; named (compare only with values of the same column); weight=2.5; - to ignore a column. Several options in a list use a column in several ways. With - instead of a file, the program chooses a schema from the values and prints it. With a schema, the result for two rows does not depend on the others, and tables larger than memory can be compared."`
	Link   bool     `group:"method" help:"Link the inputs: two rows of one input never match, and a row matches one row of another input at most."`
	Key    string   `group:"method" placeholder:"NAMES" help:"Columns that tell rows apart, separated by commas, such as doi or born: two rows with different values in one of them never match. A missing value differs from none."`
	Labels []string `group:"method" placeholder:"FILE" help:"Labels, as saved by the page of --report: pairs labelled same match, pairs labelled different do not, and the others are decided accordingly."`
	outputFlags
	groupFlags
	runFlags
}

// Run finds near-duplicates among rows.
func (c *recordsCommand) Run(of *call) error {
	schema := c.Schema
	if schema == "-" {
		schema = ""
	}
	f := flags{inputFlags: c.inputFlags, outputFlags: c.outputFlags, groupFlags: c.groupFlags, methodFlags: defaults[methodFlags](), runFlags: c.runFlags, schema: schema}
	for _, name := range []string{"similarity", "kinds", "linkage", "bias", "normalize"} {
		if _, isGiven := of.given[name]; isGiven && c.Schema == "" {
			return usageError{fmt.Errorf("--%s needs --schema: without it, rows are compared by weights that are learned from the table", name)}
		}
	}
	if (c.Link || c.Key != "" || len(c.Labels) > 0) && c.Schema != "" {
		return usageError{errors.New("--link, --key and --labels cannot be used with --schema")}
	}
	return of.run(f, func(o *options.Options) error {
		o.Cols.IsRecord, o.Cols.All, o.Learn, o.Link = true, true, c.Schema == "", c.Link
		o.Given.Labels = c.Labels
		if c.Key != "" {
			o.Keys = strings.Split(c.Key, ",")
		}
		return nil
	})
}

type estimateCommand struct {
	inputFlags
	textFlags
	groupFlags
	methodFlags
	runFlags
}

// Run says what each method would cost.
func (c *estimateCommand) Run(of *call) error {
	f := flags{inputFlags: c.inputFlags, textFlags: c.textFlags, groupFlags: c.groupFlags, methodFlags: c.methodFlags, runFlags: c.runFlags}
	return of.run(f, func(o *options.Options) error {
		o.Estimate = true
		return nil
	})
}
