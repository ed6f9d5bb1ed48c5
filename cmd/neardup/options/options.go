// Package options has the settings of a call, and says what is wrong with them.
//
//	options.go   what is read and written, and the checks of the flags
//	paths.go     the names of the outputs
//	method.go    when two documents are near-duplicates
//	features.go  what documents are compared by
//	shard.go     which documents one of several processes takes
//	memory.go    how much memory a call may use, and for what
package options

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// Options has the settings of a call, by the stages that need them.
type Options struct {
	Reading
	Features
	Method Method
	Writing

	State     string   // the directory of earlier calls
	PartDir   string   // with Shard, where the part goes
	Command   []byte   // with Shard, the flags as JSON, for the command merge
	PartFiles []string // of shards, which the call reads or writes
	Estimate  bool     // only report what the call would cost
	Learn     bool     // rows are compared by what the table says of its columns (records.Match), not by a schema
	Link      bool     // and those of one input never match
	Keys      []string // nor do those that differ in one of these columns
	Given     Given    // with the method given
	Set       []string // the flags that were given and count for all calls on these inputs, as --name=value
}

// Given names the pairs of an earlier call, by which the method given decides instead of comparing.
type Given struct {
	Path   string
	Labels []string // files with labels
}

// Reading says how documents are read.
type Reading struct {
	Inputs
	Cols       input.Columns
	MaxLine    int
	SkipBad    bool
	Empty      string          // keep or drop
	SameID     string          // one of sameIDs, or AnyID
	Unit       string          // the field whose values say which rows are one document; "" if each row is one
	Shard      Shard           // the share of the documents that is read; the zero value for all
	SchemaFile string          // of records
	Fields     []neardup.Field // of records; nil for documents
	Memory     int64           // in bytes
	Workers    int
}

// Inputs say where the documents are.
type Inputs struct {
	Args              []string
	Against           string // old documents
	Format, FilesFrom string
}

// Features says what documents are compared by, as far as the user sets it.
type Features struct {
	Tokenizer, Normalize, Secret string
	Lines, Weights, Stats        string // files, but for the name of the weights
	Boilerplate                  int
}

// Writing says what is written, and where to.
type Writing struct {
	Out, Annotate, Pairs, Groups, Audit, Report, Save string // paths; "" for nothing
	Tables
	JSON, Quiet, ExitCode bool
}

// Tables are the outputs of the commands passages and decontaminate.
type Tables struct {
	Passages, Coverage, Leaks, Items string // paths; "" for nothing
}

// sameIDs has what --same-id can name.
var sameIDs = []string{"error", "first", "last", "number"}

// AnyID is how rows are loaded that have the id of their unit.
const AnyID = "any"

// FingerprintFiles reports whether the call reads or writes a file of saved fingerprints.
func (o *Options) FingerprintFiles() bool {
	return o.Save != "" || input.FormatOf(o.Against, "") == input.Fingerprints
}

// OwnFlags are those of one call, which estimate does not pass on.
var OwnFlags = strings.Fields("method pairs groups out annotate audit report features precision min-recall complete json quiet exit-code save state against format files-from lines stats boilerplate skip-bad empty memory without-id encoding separator sheet header-row workers shard")

// Check returns what is wrong with the flags, or "".
func (o *Options) Check(given map[string]bool) (wrong string) {
	for _, check := range []func() string{
		func() string { return o.setMethod(given) }, o.canReport, o.checkReading, o.checkMissing, o.checkKept, o.checkUnit, o.checkShard, o.checkWeights, o.CheckPaths,
	} {
		if wrong = check(); wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkReading checks how inputs are read.
func (o *Options) checkReading() string {
	switch {
	case len(o.Args) == 0 && o.FilesFrom == "":
		return "name at least one input: a file, a directory, a pattern such as 'pages/**/*.jsonl', or - for standard input"
	case o.Workers < 1 || o.Workers > 4096:
		return fmt.Sprintf("--workers %d: must be from 1 to 4096", o.Workers)
	case o.MaxLine < 1 || o.MaxLine > 1<<30:
		return fmt.Sprintf("--max-line %d: must be from 1 to %d", o.MaxLine, 1<<30)
	case o.Format != "" && !isFormat(o.Format):
		return fmt.Sprintf("--format %q: must be one of %s", o.Format, formatNames())
	case o.readsStdinTwice():
		return "- (standard input) can be given only once"
	}
	return checkColumns(&o.Cols)
}

// checkColumns checks where documents are in rows.
func checkColumns(cols *input.Columns) string {
	switch {
	case cols.HeaderRow > 0 && cols.NoHeader:
		return "--header-row and --no-header cannot be used together"
	case cols.HeaderRow < 0:
		return fmt.Sprintf("--header-row %d: rows are counted from 1", cols.HeaderRow)
	case cols.Repeat():
		return "--id, --text, --title and --metadata must name different fields"
	}
	return ""
}

// readsStdinTwice reports whether standard input is given more than once.
func (in *Inputs) readsStdinTwice() bool {
	n := 0
	for _, path := range append([]string{in.Against, in.FilesFrom}, in.Args...) {
		if path == "-" {
			n++
		}
	}
	return n > 1
}

// checkMissing checks what becomes of documents that lack something, or have the id of another one.
func (o *Options) checkMissing() string {
	switch {
	case o.Cols.WithoutID != "line" && o.Cols.WithoutID != "hash":
		return fmt.Sprintf("--without-id %q: must be line or hash", o.Cols.WithoutID)
	case o.Empty != "keep" && o.Empty != "drop":
		return fmt.Sprintf("--empty %q: must be keep or drop", o.Empty)
	case !slices.Contains(sameIDs, o.SameID):
		return fmt.Sprintf("--same-id %q: must be one of %s", o.SameID, strings.Join(sameIDs, ", "))
	}
	return ""
}

// checkUnit checks what --unit cannot be used with.
func (o *Options) checkUnit() string {
	switch {
	case o.Unit == "":
	case o.Shard.Of > 0:
		return "--unit and --shard cannot be used together: the rows of a document may be in several shards"
	case o.Audit != "":
		return "--unit and --audit cannot be used together"
	case o.Method.Source != "":
		return "--unit and --source cannot be used together"
	case o.Cols.Metadata != "":
		return "--unit and --metadata cannot be used together"
	}
	return ""
}

// checkKept checks what is kept from one call to the next: lines of boilerplate, fingerprints, the state.
func (o *Options) checkKept() string {
	switch {
	case o.State != "" && (o.Against != "" || !o.Method.IsExact()):
		return "--state can only be used with --method auto and cosine, and without --against"
	case o.Save != "" && input.FormatOf(o.Save, "") != input.Fingerprints:
		return fmt.Sprintf("--save %q: the name of the file must end in .fp, .fp.gz or .fp.zst", o.Save)
	}
	return o.checkBoilerplate()
}

// checkBoilerplate checks whether later calls will ignore the same lines.
func (o *Options) checkBoilerplate() string {
	switch {
	case o.Boilerplate < 0 || o.Boilerplate == 1:
		return fmt.Sprintf("--boilerplate %d: must be 0, or 2 or more", o.Boilerplate)
	case o.Lines != "" && o.Boilerplate == 0:
		return "--lines needs --boilerplate, which says how common a line must be"
	case o.Boilerplate == 0 || o.Lines != "":
		return ""
	case o.FingerprintFiles():
		return "--boilerplate with saved fingerprints needs --lines, so that the next run ignores the same lines"
	case o.State != "":
		return "--boilerplate with --state needs --lines, so that the next run ignores the same lines"
	}
	return ""
}

// checkShard checks what a call that is divided among processes cannot do.
func (o *Options) checkShard() string {
	if o.Shard.Of == 0 {
		return ""
	}
	switch {
	case o.PartDir == "":
		return "--shard needs --state, the directory of this shard"
	case o.Against != "" || !o.Method.IsExact():
		return "--shard can only be used with --method auto and cosine, and without --against"
	case o.Boilerplate > 0 && !cli.Exists(o.Lines):
		return "--boilerplate with --shard needs --lines and a file that has them, since no shard sees all documents"
	case o.SameID == "first" || o.SameID == "last":
		return "--shard cannot be used with --same-id " + o.SameID + ", since no shard sees all documents"
	}
	return ""
}

// CheckLearnt returns an error if a file from which the shards of a call have learnt is missing: nothing is learnt again.
func (o *Options) CheckLearnt() error {
	w, err := o.Weighting()
	if err != nil {
		return err
	}
	for _, of := range []struct {
		path   string
		needed bool
	}{{o.Lines, o.Boilerplate > 0}, {o.Stats, w.NeedsStatistics}} {
		if of.needed && !cli.Exists(of.path) {
			return fmt.Errorf("%s: the shards were made with this file, but it does not exist", of.path)
		}
	}
	return nil
}

// checkWeights checks where the statistics of weights come from.
func (o *Options) checkWeights() string {
	switch w, err := o.Weighting(); {
	case err != nil:
		return err.Error()
	case !w.NeedsStatistics && o.Stats != "":
		return fmt.Sprintf("--stats is not used by --weights %s, only by tfidf and logidf", o.Weights)
	case w.NeedsStatistics && o.Shard.Of > 0 && !cli.Exists(o.Stats):
		return fmt.Sprintf("--weights %s with --shard needs --stats and a file that has them, since no shard sees all documents", o.Weights)
	case !w.NeedsStatistics || o.Stats != "":
	case o.FingerprintFiles():
		return fmt.Sprintf("--weights %s with saved fingerprints needs --stats, so that the next run uses the same statistics", o.Weights)
	case o.State != "":
		return fmt.Sprintf("--weights %s with --state needs --stats, so that the next run uses the same statistics", o.Weights)
	}
	return ""
}

// isFormat reports whether there is a format of this name.
func isFormat(name string) bool {
	for _, f := range input.Formats {
		if f.Name == name {
			return true
		}
	}
	return false
}

// formatNames lists the formats.
func formatNames() string {
	var names []string
	for _, f := range input.Formats {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// canReport returns what is wrong with --report, or "".
func (o *Options) canReport() string {
	switch {
	case o.Report == "":
		return ""
	case !o.Method.IsExact():
		return "--report can only be used with --method auto and cosine"
	case o.Cols.IsRecord:
		return "--report shows documents, not records"
	case !strings.HasSuffix(strings.ToLower(o.Report), ".html") && o.Report != "-" && o.Report != os.DevNull:
		return fmt.Sprintf("--report %q: the name must end in .html", o.Report)
	}
	return ""
}

// Learns reports whether all inputs are read once before the documents are loaded.
func (o *Options) Learns(w *Weighting) bool {
	return o.Boilerplate > 0 && !cli.Exists(o.Lines) || w.NeedsStatistics && !cli.Exists(o.Stats) || o.Cols.IsRecord && o.SchemaFile == "" && !o.Learn
}
