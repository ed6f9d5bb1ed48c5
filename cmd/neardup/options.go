package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file has the settings of a call, and checks them.

// options has the values of the flags of a call.
type options struct {
	method                       method
	values, workers, maxLine     int
	tokenizer, normalize, secret string
	lines, weights, stats        string
	boilerplate                  int
	format, filesFrom, against   string
	pairs, clusters, out, save   string
	annotate, audit, report      string
	schemaFile                   string          // records
	fields                       []neardup.Field // of records; nil for documents
	json, quiet, exitCode        bool
	state                        string
	memory                       int64 // in bytes
	estimate                     bool
	given                        *givenPairs // of rethreshold
	set                          []string    // the flags that were given and count for all calls on these inputs, as --name=value
	skipBad                      bool
	empty                        string // keep or drop
	sameID                       string // one of sameIDs
	cols                         input.Columns
	args                         []string
}

// fingerprintFiles reports whether the call reads or writes a file of saved fingerprints.
func (o *options) fingerprintFiles() bool {
	return o.save != "" || input.FormatOf(o.against, "") == input.Fingerprints
}

// ownFlags are those of one call, which estimate does not pass on.
var ownFlags = strings.Fields("method pairs clusters out annotate audit report features precision min-recall complete json quiet exit-code save state against format files-from lines stats boilerplate skip-bad empty memory without-id encoding separator sheet header-row")

// check returns what is wrong with the flags, or "".
func (o *options) check(given map[string]bool) (wrong string) {
	for _, check := range []func() string{
		func() string { return o.setMethod(given) }, o.canReport, o.checkReading, o.checkMissing, o.checkKept, o.checkWeights, o.checkPaths,
	} {
		if wrong = check(); wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkReading checks how inputs are read.
func (o *options) checkReading() string {
	stdins := 0
	for _, path := range append([]string{o.against, o.filesFrom}, o.args...) {
		if path == "-" {
			stdins++
		}
	}
	switch {
	case len(o.args) == 0 && o.filesFrom == "":
		return "name at least one input: a file, a directory, a pattern such as 'pages/**/*.jsonl', or - for standard input"
	case o.workers < 1 || o.workers > 4096:
		return fmt.Sprintf("--workers %d: must be from 1 to 4096", o.workers)
	case o.maxLine < 1 || o.maxLine > 1<<30:
		return fmt.Sprintf("--max-line %d: must be from 1 to %d", o.maxLine, 1<<30)
	case o.format != "" && !isFormat(o.format):
		return fmt.Sprintf("--format %q: must be one of %s", o.format, formatNames())
	case o.cols.HeaderRow < 0:
		return fmt.Sprintf("--header-row %d: rows are counted from 1", o.cols.HeaderRow)
	case o.cols.Repeat():
		return "--id, --text, --title and --metadata must name different fields"
	case stdins > 1:
		return "- (standard input) can be given only once"
	}
	return ""
}

// checkMissing checks what becomes of documents that lack something, or have the id of another one.
func (o *options) checkMissing() string {
	switch {
	case o.cols.WithoutID != "line" && o.cols.WithoutID != "hash":
		return fmt.Sprintf("--without-id %q: must be line or hash", o.cols.WithoutID)
	case o.empty != "keep" && o.empty != "drop":
		return fmt.Sprintf("--empty %q: must be keep or drop", o.empty)
	case !slices.Contains(sameIDs, o.sameID):
		return fmt.Sprintf("--same-id %q: must be one of %s", o.sameID, strings.Join(sameIDs, ", "))
	}
	return ""
}

// checkKept checks what is kept from one call to the next: lines of boilerplate, fingerprints, the state.
func (o *options) checkKept() string {
	switch {
	case o.boilerplate < 0 || o.boilerplate == 1:
		return fmt.Sprintf("--boilerplate %d: must be 0, or 2 or more", o.boilerplate)
	case o.lines != "" && o.boilerplate == 0:
		return "--lines needs --boilerplate, which says how common a line must be"
	case o.boilerplate > 0 && o.lines == "" && o.fingerprintFiles():
		return "--boilerplate with saved fingerprints needs --lines, so that the next call ignores the same lines"
	case o.state != "" && (o.against != "" || !o.method.isExact()):
		return "--state can only be used with --method auto and cosine, and without --against"
	case o.state != "" && o.boilerplate > 0 && o.lines == "":
		return "--boilerplate with --state needs --lines, so that the next call ignores the same lines"
	case o.save != "" && input.FormatOf(o.save, "") != input.Fingerprints:
		return fmt.Sprintf("--save %q: the name of the file must end in .fp, .fp.gz or .fp.zst", o.save)
	}
	return ""
}

// checkWeights checks where the statistics of weights come from.
func (o *options) checkWeights() string {
	switch w, err := o.weighting(); {
	case err != nil:
		return err.Error()
	case !w.statistics && o.stats != "":
		return fmt.Sprintf("--stats is not used by --weights %s, only by tfidf and logidf", o.weights)
	case !w.statistics || o.stats != "":
	case o.fingerprintFiles():
		return fmt.Sprintf("--weights %s with saved fingerprints needs --stats, so that the next call uses the same statistics", o.weights)
	case o.state != "":
		return fmt.Sprintf("--weights %s with --state needs --stats, so that the next call uses the same statistics", o.weights)
	}
	return ""
}

// checkPaths checks the names of the outputs.
func (o *options) checkPaths() string {
	for _, of := range []struct{ flag, path string }{{"pairs", o.pairs}, {"clusters", o.clusters}, {"audit", o.audit}} {
		if f := input.FormatOf(of.path, ""); f != "" && !slices.Contains([]string{"csv", "tsv", "jsonl", "txt"}, f) {
			return fmt.Sprintf("--%s %q: it can be written as .csv, as .jsonl, or with tabs between, as .tsv", of.flag, of.path)
		}
	}
	seen := map[string]bool{}
	for _, path := range []string{o.pairs, o.clusters, o.out, o.annotate, o.audit, o.report, o.save, o.lines, o.stats, o.secret} {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			abs = path
		}
		if seen[abs] {
			return fmt.Sprintf("%s: two outputs have this name", path)
		}
		seen[abs] = true
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
func (o *options) canReport() string {
	switch {
	case o.report == "":
		return ""
	case !o.method.isExact():
		return "--report can only be used with --method auto and cosine"
	case o.cols.IsRecord:
		return "--report shows documents, not records"
	case !strings.HasSuffix(strings.ToLower(o.report), ".html") && o.report != "-" && o.report != os.DevNull:
		return fmt.Sprintf("--report %q: the name must end in .html", o.report)
	}
	return ""
}
