package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/fingerprints"
	"github.com/neardup/neardup/cmd/neardup/input"
	neardupsql "github.com/neardup/neardup/sql"
)

// This file has the commands fingerprint and sql, for collections that are in a warehouse: the first writes a table
// of fingerprints or signatures, document by document, and the second the SQL that joins it.

type fingerprintCommand struct {
	inputFlags
	textFlags
	Out       string `group:"output" required:"" placeholder:"FILE" help:"The table: .parquet or .csv, which may end in .gz or .zst. Its columns are id and fingerprint (a signed integer of 64 bits), and fingerprint_high with 128 bits; with minhash they are id and signature (a list of signed integers of 32 bits; in CSV as PostgreSQL writes it, {1,2}); with auto they are id and two signatures, long and short. A text without letters, digits and emoji has none."`
	Method    string `group:"method" default:"simhash" placeholder:"NAME" help:"simhash: fingerprints. minhash: signatures. auto: the signatures that dedup uses to decide which documents to compare."`
	Normalize string `group:"method" placeholder:"STEPS" help:"Clean the texts first, by steps separated by commas: ${steps}."`
	Tokenizer string `group:"tuning" default:"words2" placeholder:"NAME" help:"What to cut texts into: ${tokenizers}."`
	Weights   string `group:"tuning" default:"count" placeholder:"NAME" help:"The weight of a feature: ${weights}."`
	Stats     string `group:"tuning" placeholder:"FILE" help:"Document frequencies. If the file exists, they are read from it; otherwise they are counted and written to it."`
	Values    int    `group:"tuning" default:"128" placeholder:"N" help:"With minhash, the number of values of a signature."`
	Bits      int    `group:"tuning" default:"64" placeholder:"N" help:"With simhash, the width of the fingerprints: 64 or 128 bits."`
	Secret    string `group:"tuning" placeholder:"FILE" help:"A secret of at least 16 bytes that seeds the hash."`
	Workers   int    `group:"running" default:"${workers}" placeholder:"N" help:"Number of texts to work on at the same time; the results do not depend on it."`
	Quiet     bool   `group:"output" short:"q" help:"Print errors only."`
}

type sqlCommand struct {
	Dialect    string  `arg:"" help:"postgresql, duckdb, clickhouse, spark or bigquery."`
	Table      string  `group:"input" required:"" placeholder:"NAME" help:"The table with the fingerprints or signatures that neardup fingerprint wrote."`
	ID         string  `group:"input" default:"id" placeholder:"NAME" help:"Column with the id."`
	Prefix     string  `group:"output" default:"neardup" placeholder:"NAME" help:"Prefix of the names of the new tables: NAME_pairs, NAME_groups, NAME_contents."`
	Method     string  `group:"method" default:"simhash" placeholder:"NAME" help:"simhash: fingerprints within a distance. minhash: signatures above a similarity. auto: the documents that dedup has to compare, in NAME_linked; all others have no near-duplicates."`
	Bits       int     `group:"tuning" default:"64" placeholder:"N" help:"With simhash, the width of the fingerprints: 64 or 128 bits."`
	Distance   int     `group:"method" default:"3" placeholder:"N" help:"With simhash, the largest distance of near-duplicates."`
	Documents  float64 `group:"tuning" placeholder:"N" help:"Approximate number of different fingerprints, which determines the number of blocks. The default is 10 million."`
	Blocks     int     `group:"tuning" placeholder:"N" help:"With simhash, the number of blocks; by default the number of documents decides."`
	Values     int     `group:"tuning" default:"128" placeholder:"N" help:"With minhash, the number of values of a signature."`
	Similarity float64 `group:"method" default:"0.6" placeholder:"X" help:"With minhash, the smallest Jaccard similarity of near-duplicates."`
}

// Run writes the script to standard output.
func (c *sqlCommand) Run(of *call) error {
	j := neardupsql.Join{Dialect: neardupsql.Dialect(c.Dialect), Table: c.Table, Prefix: c.Prefix, ID: c.ID, Bits: c.Bits, Distance: c.Distance, Documents: c.Documents, Blocks: c.Blocks}
	switch c.Method {
	case "simhash", "auto":
	case "minhash":
		j.Signature, j.Values, j.Similarity = "signature", c.Values, c.Similarity
	default:
		return usageError{fmt.Errorf("--method %q: must be auto, simhash or minhash", c.Method)}
	}
	for name := range of.given {
		simhash := slices.Contains([]string{"bits", "distance", "documents", "blocks"}, name)
		if minhash := name == "values" || name == "similarity"; simhash && c.Method != "simhash" || minhash && c.Method != "minhash" {
			return usageError{fmt.Errorf("--%s cannot be used with --method %s", name, c.Method)}
		}
	}
	switch {
	case c.Distance < 1:
		return usageError{fmt.Errorf("--distance %d: must be 1 or more; for equal fingerprints, use GROUP BY", c.Distance)}
	case c.Similarity == 0:
		return usageError{errors.New("--similarity 0: must be above 0 and at most 1")}
	}
	script := j.Script
	if c.Method == "auto" {
		script = neardupsql.Links{Dialect: j.Dialect, Table: j.Table, Prefix: j.Prefix, ID: j.ID}.Script
	}
	if err := script(of.stdout); err != nil {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), "neardupsql: "))}
	}
	return nil
}

// Run writes the table.
func (c *fingerprintCommand) Run(of *call) error {
	m := defaults[methodFlags]()
	m.Method, m.Tokenizer, m.Weights, m.Stats, m.Values, m.Bits, m.Secret = c.Method, c.Tokenizer, c.Weights, c.Stats, c.Values, c.Bits, c.Secret
	f := flags{inputFlags: c.inputFlags, textFlags: c.textFlags, methodFlags: m, outputFlags: outputFlags{decisionFlags: decisionFlags{Out: c.Out, Quiet: c.Quiet}},
		groupFlags: groupFlags{thresholdFlags: defaults[thresholdFlags](), Normalize: c.Normalize}, runFlags: runFlags{Workers: c.Workers}}
	o, err := f.options(of.given)
	switch {
	case err != nil:
		return usageError{err}
	case c.Method != "simhash" && c.Method != "minhash" && c.Method != "auto":
		return usageError{fmt.Errorf("--method %q: must be auto, simhash or minhash", c.Method)}
	case input.FormatOf(c.Out, "") != "parquet" && input.FormatOf(c.Out, "") != "csv":
		return usageError{fmt.Errorf("--out %q: the table must be .parquet or .csv", c.Out)}
	}
	return fingerprints.Write(o, of.outs, of.stdin, of.stdout, of.stderr)
}
