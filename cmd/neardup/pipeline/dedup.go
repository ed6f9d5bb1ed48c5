package pipeline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
)

// This file has the command dedup: the steps of a call, from the inputs to the outputs.

// Run runs the command.
func (o *Options) Run(outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) error {
	defer outs.Discard()
	defer limitMemory(o.Memory)()
	switch {
	case o.Shard.Of > 0 || o.Parts != nil:
		defer debug.SetGCPercent(debug.SetGCPercent(rareGC))
	case o.Method.isExact() || o.Method.Name == "minhash":
		// Most of the memory is texts or signatures, which hold no pointers. So collecting garbage often
		// costs little.
		defer debug.SetGCPercent(debug.SetGCPercent(40))
	}
	return o.NewCollection(stderr).dedup(o, outs, stdin, stdout)
}

// rareGC is how much garbage there may be where little else is in memory, in per cent of that. It is limited by limitMemory too.
const rareGC = 400

// NewCollection returns a collection without documents.
func (o *Options) NewCollection(stderr io.Writer) *collection {
	c := &collection{stderr: stderr, errors: stderr, method: &o.Method, cols: o.Cols, mostListed: mostListed(o.Memory)}
	if o.Quiet {
		c.stderr = io.Discard
	}
	c.progress = newProgress(c.stderr)
	return c
}

// FindInputs finds the sources of a call. It returns an error if one of them cannot be read, or is also an output.
func (c *collection) FindInputs(o *Options, stdin io.Reader) error {
	f := input.Finder{Format: o.Format, Room: Room(o.Memory)}
	if o.Against != "" {
		f.Find(o.Against)
	}
	c.oldSources = len(f.Sources)
	for _, arg := range o.Args {
		f.Find(arg)
	}
	if o.FilesFrom != "" {
		paths, err := input.Listed(o.FilesFrom, stdin)
		if err != nil {
			return err
		}
		for _, path := range paths {
			f.Add(path)
		}
	}
	c.Sources, c.passed, c.hidden = f.Sources, f.Passed, f.Hidden
	outputs, err := o.written()
	if err != nil {
		return err
	}
	for i, s := range c.Sources {
		if s.Err != nil && (!o.SkipBad || i < c.oldSources) {
			return s.Err
		}
		if s.Format == input.Fingerprints && i >= c.oldSources {
			return fmt.Errorf("%s:1: a file of saved fingerprints can only be given to --against", s.Path)
		}
	}
	return overwritten(c.Sources, outputs)
}

// written returns what is there of that which is written, and of parts. It returns an error if something of it is also an input.
func (o *Options) written() ([]fs.FileInfo, error) {
	outputs := o.existing()
	for _, path := range o.partFiles() {
		part, err := os.Stat(path)
		if err != nil {
			continue
		}
		if isAmong(outputs, part) {
			return nil, fmt.Errorf("%s: this file of a shard is also an output", path)
		}
		outputs = append(outputs, part)
	}
	read := []string{o.FilesFrom, o.SchemaFile, o.Secret}
	if o.Given != nil {
		read = append(append(read, o.Given.Labels...), o.Given.Path)
	}
	for _, path := range read {
		if given, err := os.Stat(path); err == nil && isAmong(outputs, given) {
			return nil, bothWays(path)
		}
	}
	return outputs, nil
}

// isAmong reports whether a file is one of the outputs.
func isAmong(outputs []fs.FileInfo, file fs.FileInfo) bool {
	return slices.ContainsFunc(outputs, func(to fs.FileInfo) bool { return os.SameFile(to, file) })
}

// bothWays is the error of a file that is read and would be written.
func bothWays(path string) error {
	return fmt.Errorf("%s: the same file is an input and an output", path)
}

// overwritten returns an error if a source is also an output.
func overwritten(sources []input.Source, outputs []fs.FileInfo) error {
	for _, s := range sources {
		if s.Regular() && isAmong(outputs, s.Info) {
			return bothWays(s.Path)
		}
	}
	return nil
}

// paths returns the paths of the outputs, "" for those that are not wanted.
func (o *Writing) paths() []string {
	return []string{o.Pairs, o.Clusters, o.Out, o.Annotate, o.Audit, o.Report, o.Passages, o.Coverage, o.Leaks, o.Items}
}

// existing returns the outputs that are there already.
func (o *Writing) existing() (files []fs.FileInfo) {
	for _, path := range o.paths() {
		if info, err := os.Stat(path); path != "" && err == nil {
			files = append(files, info)
		}
	}
	return files
}

// prepare makes what does not depend on the documents, and finds the sources.
func (c *collection) prepare(o *Options, stdin io.Reader) (*neardup.Fingerprinter, *weighting, error) {
	fp, weights, err := o.features()
	if err != nil {
		return nil, nil, err
	}
	return fp, weights, c.FindInputs(o, stdin)
}

// features returns how texts become features, and the weights that are still to be learnt.
func (o *Options) features() (*neardup.Fingerprinter, *weighting, error) {
	fp, err := o.fingerprinter()
	if err != nil {
		return nil, nil, err
	}
	weights, err := o.weighting()
	return fp, weights, err
}

// dedup does the work of one call, from the inputs to the outputs.
func (c *collection) dedup(o *Options, outs *cli.Outputs, stdin io.Reader, stdout io.Writer) (err error) {
	start := time.Now()
	fp, weights, err := c.prepare(o, stdin)
	if err != nil {
		return err
	}
	if o.Estimate {
		return c.estimate(o, stdout)
	}
	if o.Shard.Of > 0 {
		return c.writePart(o, fp, weights, outs, stdin)
	}
	to, err := c.createResults(&o.Writing, outs, stdout)
	if err != nil {
		return err
	}
	defer c.closeCopies()
	if err := c.keepNeeded(to, o.learns(weights), stdin); err != nil {
		return err
	}
	if err := c.learn(o, fp, weights, outs, stdin); err != nil {
		return err
	}
	defer func() { err = c.rollBack(err) }()
	load := func() error { return c.load(o, fp, stdin) }
	if o.Parts != nil {
		load = func() error { return c.loadParts(o, fp) }
	}
	if err := load(); err != nil {
		return err
	}
	c.progress.begin(fmt.Sprintf("comparing %d documents", c.docs.Len()), 0, "")
	err = c.Group(o, to.pairs != nil)
	c.progress.end()
	if err != nil {
		return err
	}
	if err := c.writeResults(to, o, fp, stdin); err != nil {
		return err
	}
	return c.finish(to, o, outs, start)
}

// keepNeeded copies the inputs that are read more than once and cannot be. learns says that all are, before they are loaded.
func (c *collection) keepNeeded(to results, learns bool, stdin io.Reader) error {
	all := learns || to.audit != nil || to.report != nil
	if !all && to.out == nil && to.annotated == nil {
		return nil
	}
	return c.keepCopies(stdin, all)
}

// learns reports whether all inputs are read once before the documents are loaded.
func (o *Options) learns(w *weighting) bool {
	return o.Boilerplate > 0 && !Exists(o.Lines) || w.statistics && !Exists(o.Stats) || o.Cols.IsRecord && o.SchemaFile == ""
}

// rollBack takes back what a call with an error has added to its state, and returns the error.
func (c *collection) rollBack(err error) error {
	if err == nil || err == ErrDuplicates || c.exact == nil || c.exact.state == nil {
		return err
	}
	return errors.Join(err, c.exact.state.rollBack())
}

// finish gives the outputs their names, prints the summary and ends the state.
func (c *collection) finish(to results, o *Options, outs *cli.Outputs, start time.Time) error {
	if err := outs.Commit(); err != nil {
		return err
	}
	if err := c.summary(to.summary, &o.Writing, time.Since(start)); err != nil {
		return err
	}
	if o.State != "" {
		if err := c.writeGroups(o.State, c.exact.state.numbers); err != nil {
			return err
		}
		if err := c.exact.state.end(); err != nil {
			return err
		}
	}
	if o.ExitCode && c.duplicates() > 0 {
		return ErrDuplicates
	}
	return nil
}

// results are the outputs of a call. Those that it does not have are nil.
type results struct {
	pairs, clusters, out, annotated, audit, report, save *cli.Output
	summary                                              io.Writer
}

// createResults makes the outputs, before anything is read. It returns an error if one of them cannot be written in its format.
func (c *collection) createResults(o *Writing, outs *cli.Outputs, stdout io.Writer) (to results, err error) {
	to.summary, err = outs.CreateAll(stdout, c.errors, cli.Path{Name: o.Pairs, To: &to.pairs}, cli.Path{Name: o.Clusters, To: &to.clusters},
		cli.Path{Name: o.Out, To: &to.out}, cli.Path{Name: o.Annotate, To: &to.annotated}, cli.Path{Name: o.Audit, To: &to.audit},
		cli.Path{Name: o.Report, To: &to.report}, cli.Path{Name: o.Save, To: &to.save})
	if err != nil {
		return to, err
	}
	return to, c.checkFormats(o)
}

// checkFormats returns an error if a collection cannot be written in the format that its name says.
func (c *collection) checkFormats(o *Writing) error {
	for _, path := range []string{o.Out, o.Annotate} {
		if path == "" {
			continue
		}
		if err := output.Check(path, c.Sources[c.oldSources:]); err != nil {
			return err
		}
	}
	if o.Annotate != "" && output.FormatOf(o.Annotate) == "lines" {
		return fmt.Errorf("%s: the annotated collection must be .csv, .tsv, .xlsx, .parquet, .arrow or .jsonl", o.Annotate)
	}
	return nil
}

// checkOutputs checks the outputs that will be written later, by merge: their formats, and whether their folders are there.
func (c *collection) checkOutputs(o *Writing) error {
	for _, path := range o.paths() {
		if folder := filepath.Dir(path); path != "" && path != "-" && !Exists(folder) {
			return fmt.Errorf("%s: there is no folder %s", path, folder)
		}
	}
	return c.checkFormats(o)
}

// learn finds out what must be known before the documents are loaded: how records are compared, which lines are boilerplate, how
// frequent features are, and the version of the fingerprints.
func (c *collection) learn(o *Options, fp *neardup.Fingerprinter, weights *weighting, outs *cli.Outputs, stdin io.Reader) (err error) {
	if o.Cols.IsRecord {
		if err := c.learnSchema(&o.Reading, stdin); err != nil {
			return err
		}
	}
	if o.Boilerplate > 0 {
		if err := c.boilerplate(o, fp, outs, stdin); err != nil {
			return err
		}
	}
	if err := c.weigh(o, weights, fp, outs, stdin); err != nil {
		return err
	}
	if o.fingerprintFiles() {
		c.version, err = fp.Version()
	}
	return err
}

// learnSchema sets how the columns are compared.
func (c *collection) learnSchema(o *Reading, stdin io.Reader) error {
	schema, err := c.schema(o, stdin)
	if err != nil {
		return err
	}
	if o.fields = schema.fields(); len(o.fields) == 0 {
		return errors.New("the records have no columns to compare")
	}
	if !schema.said {
		fmt.Fprintf(c.stderr, "neardup: columns are compared by this schema, which you can change and give as --schema: %s\n", schema)
	}
	return nil
}

// writeResults writes the outputs that the call has.
func (c *collection) writeResults(to results, o *Options, fp *neardup.Fingerprinter, stdin io.Reader) error {
	var writes []func(c *collection) error
	for _, result := range []struct {
		to    *cli.Output
		write func(c *collection, to *cli.Output) error
	}{
		{to.pairs, func(c *collection, to *cli.Output) error { return c.writePairs(to, o.Pairs) }},
		{to.clusters, func(c *collection, to *cli.Output) error { return c.writeClusters(to, o.Clusters) }},
		{to.out, func(c *collection, to *cli.Output) error { return c.writeOut(to, o, stdin) }},
		{to.annotated, func(c *collection, to *cli.Output) error { return c.writeAnnotated(to, o, stdin) }},
		{to.audit, func(c *collection, to *cli.Output) error { return c.writeAudit(to, o, c.settings(o, fp), stdin) }},
		{to.report, func(c *collection, to *cli.Output) error { _, err := c.WriteReport(to, o, stdin); return err }},
		{to.save, func(c *collection, to *cli.Output) error { return c.saveAll(to, o.Method.Bits) }},
	} {
		if result.to != nil {
			writes = append(writes, func(c *collection) error { return result.write(c, result.to) })
		}
	}
	return c.inTurns(writes, o.Workers, o.Memory)
}

// ErrDuplicates tells run to end with a status of its own.
var ErrDuplicates = errors.New("there are duplicates")

// settings describes what was found with: the version of the features, the flags, and the threshold.
func (c *collection) settings(o *Options, fp *neardup.Fingerprinter) string {
	version, err := fp.Version()
	if err != nil {
		version = err.Error()
	}
	said := append([]string{ProgramVersion(), "--method=" + o.Method.Name}, o.Set...)
	if o.Given != nil {
		said[1] = "rethreshold " + o.Given.Path
		return strings.Join(said, " ")
	}
	if c.exact != nil {
		if c.method.Least == 0 {
			said = append(said, fmt.Sprintf("threshold=%.2f", c.method.Probability))
		}
	} else {
		said = append(said, version)
	}
	return strings.Join(said, " ")
}

// Exists reports whether there is something at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// keepCopies copies standard input and pipes to temporary files, because they cannot be read twice.
// The files have no name, so they vanish when the program ends. Old sources are copied only if all
// is set; otherwise they are read once.
func (c *collection) keepCopies(stdin io.Reader, all bool) error {
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.Regular() || s.Copy != nil || s.Err != nil || i < c.oldSources && !all {
			continue
		}
		r := stdin
		if s.Path != "-" {
			f, err := os.Open(s.Path)
			if err != nil {
				s.Err = cli.InFile(s.Path, err)
				continue
			}
			defer f.Close()
			r = f
		}
		var err error
		if s.Copy, err = input.TemporaryCopy(r); err != nil {
			return fmt.Errorf("copying %s: %w", s.Path, err)
		}
	}
	return nil
}

func (c *collection) closeCopies() {
	for _, s := range c.Sources {
		if s.Copy != nil {
			s.Copy.Close()
		}
	}
}
