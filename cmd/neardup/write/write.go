// Package write writes what was found: the outputs of a call, concurrently, and its summary.
//
//	write.go     the outputs
//	together.go  how they are written side by side
//	tables.go    pairs, groups, and the collections; reads groups
//	audit.go     what somebody needs to check each removed document
//	report.go    the page in which people look at pairs
//	sources.go   what becomes of each source of documents
//	summary.go   what the user is told
package write

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/output"
)

// Results are what a call has found.
type Results struct {
	*corpus.Corpus
	Options *options.Options
	Groups  *group.Groups
	Engine  group.Engine // for the page
	Version string       // of the features of documents

	sources *sources // with --source
}

// Outputs are those of a call. Those that it does not have are nil.
type Outputs struct {
	pairs, clusters, out, annotated, audit, report, save *cli.Output
	Summary                                              io.Writer
}

// Create makes the outputs, before anything is read. It returns an error if one of them cannot be written in its format.
func Create(c *corpus.Corpus, o *options.Writing, outs *cli.Outputs, stdout io.Writer) (to *Outputs, err error) {
	to = &Outputs{}
	to.Summary, err = outs.CreateAll(stdout, c.Log.Errors, cli.Path{Name: o.Pairs, To: &to.pairs}, cli.Path{Name: o.Groups, To: &to.clusters},
		cli.Path{Name: o.Out, To: &to.out}, cli.Path{Name: o.Annotate, To: &to.annotated}, cli.Path{Name: o.Audit, To: &to.audit},
		cli.Path{Name: o.Report, To: &to.report}, cli.Path{Name: o.Save, To: &to.save})
	if err != nil {
		return to, err
	}
	return to, checkFormats(c, o)
}

// WantPairs reports whether the pairs are written.
func (to *Outputs) WantPairs() bool { return to.pairs != nil }

// ReadAgain reports whether new documents are read once more, and whether old ones are too.
func (to *Outputs) ReadAgain() (anew, all bool) {
	all = to.audit != nil || to.report != nil
	return all || to.out != nil || to.annotated != nil, all
}

// checkFormats returns an error if a collection cannot be written in the format that its name says.
func checkFormats(c *corpus.Corpus, o *options.Writing) error {
	for _, path := range []string{o.Out, o.Annotate} {
		if path == "" {
			continue
		}
		if err := output.Check(path, c.NewSources()); err != nil {
			return err
		}
	}
	if o.Annotate != "" && output.FormatOf(o.Annotate) == "lines" {
		return fmt.Errorf("%s: the annotated collection must be .csv, .tsv, .xlsx, .parquet, .arrow or .jsonl", o.Annotate)
	}
	return nil
}

// Check checks outputs that will be written later, by merge: their formats, and whether their folders are there.
func Check(c *corpus.Corpus, o *options.Writing) error {
	for _, path := range o.Paths() {
		if folder := filepath.Dir(path); path != "" && path != "-" && !cli.Exists(folder) {
			return fmt.Errorf("%s: the folder %s does not exist", path, folder)
		}
	}
	return checkFormats(c, o)
}

// Write writes the outputs.
func (r *Results) Write(to *Outputs) error {
	var writes []func(r *Results) error
	for _, result := range []struct {
		to    *cli.Output
		write func(r *Results, to *cli.Output) error
	}{
		{to.pairs, (*Results).pairs},
		{to.clusters, (*Results).clusters},
		{to.out, (*Results).out},
		{to.annotated, (*Results).annotated},
		{to.audit, (*Results).audit},
		{to.report, func(r *Results, to *cli.Output) error { _, err := r.Report(to); return err }},
		{to.save, func(r *Results, to *cli.Output) error { return r.SaveAll(to) }},
	} {
		if result.to != nil {
			writes = append(writes, func(r *Results) error { return result.write(r, result.to) })
		}
	}
	return r.inTurns(writes)
}

// settings describes what was found with: the version of the features, the flags, and the threshold.
func (r *Results) settings() string {
	o := r.Options
	said := append([]string{options.ProgramVersion(), "--method=" + o.Method.Name}, o.Set...)
	switch {
	case o.Method.Name == "given":
		said[1] = "rethreshold " + o.Given.Path
	case !r.Groups.HasKinds:
		said = append(said, r.Version)
	case o.Method.Least == 0:
		said = append(said, fmt.Sprintf("threshold=%.2f", o.Method.Probability))
	}
	return strings.Join(said, " ")
}
