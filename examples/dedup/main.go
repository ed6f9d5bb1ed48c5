// Command dedup finds the near-duplicates in collections of texts.
//
//	go run -C examples ./dedup [flags] INPUT...
//
// INPUT is a .jsonl file (fields id, text and optionally title), a .csv file
// with a header, a .txt file (one document), a directory of them, or - for
// standard input; gzip and zstd are undone. Two documents are near-duplicates if
// the cosine of their features is at least -similarity; with -method minhash that is the
// Jaccard similarity, and with -method simhash the Hamming distance of their fingerprints
// is to be at most -distance, and -metadata, keywords or tags, may decide too. A title counts
// as part of the text.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/neardup/neardup/examples/internal/cli"
)

func main() {
	cli.Main("dedup", func(outs *cli.Outputs) int {
		return run(os.Args[1:], outs, os.Stdin, os.Stdout, os.Stderr)
	})
}

// options are the flags.
type options struct {
	method                       method
	values, workers, maxLine     int
	tokenizer, normalize, secret string
	lines, weights, stats        string
	boilerplate                  int
	format, against              string
	pairs, clusters, out, save   string
	skipBad                      bool
	cols                         columns
	args                         []string
}

// fingerprintFiles reports whether fingerprints are kept or were kept.
func (o *options) fingerprintFiles() bool {
	return o.save != "" || formatOf(o.against, "") == fingerprints
}

// errUsage is an error in the flags that has been reported.
var errUsage = errors.New("usage")

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("dedup", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.method.name, "method", "auto", "what near-duplicates are found by:\n  auto     the exact cosine of features that follow the text: right without settings\n  cosine   the same of the features and weights that are given\n  minhash  signatures, of an estimated Jaccard similarity\n  simhash  fingerprints within a distance: the fastest, for copies and light edits\n")
	f.IntVar(&o.method.bits, "bits", 64, "with -method simhash, width of the fingerprints: 64 or 128")
	f.IntVar(&o.method.distance, "distance", 3, "with -method simhash, largest Hamming distance of near-duplicates, in bits")
	f.Float64Var(&o.method.least, "similarity", 0, "the least similarity of near-duplicates: with -method auto or cosine their cosine, by default 0.57; with minhash the Jaccard similarity, the share of their features that both have, by default 0.6")
	f.StringVar(&o.method.group, "group", "centres", "with -method auto or cosine, what a group is:\n  centres   all are near-duplicates of the one that is kept\n  complete  all are near-duplicates of each other\n  chains    what chains of near-duplicates hold together\n")
	f.StringVar(&o.method.keep, "keep", "first", "with -method auto or cosine, which document of a group is kept: first, longest or newest")
	f.IntVar(&o.values, "values", 128, "with -method minhash, the length of the signatures: the standard error of a similarity is at most 0.5/√values")
	f.StringVar(&o.cols.metadata, "metadata", "", "comma-separated `NAMES` of fields or columns with keywords, tags or references, which decide together with the fingerprints (S002); a list, or a text with commas or semicolons. A CSV file must have all of the columns")
	f.Float64Var(&o.method.blend.Content, "content", 0.9, "with -metadata, how much the content counts")
	f.Float64Var(&o.method.blend.Threshold, "score", 0.25, "with -metadata, the least score of near-duplicates: content/(distance+1) + (1−content)·similarity of the metadata")
	names := ""
	for _, t := range tokenizers {
		names += fmt.Sprintf("\n  %-7s %s", t.name, t.help)
	}
	f.StringVar(&o.tokenizer, "tokenizer", tokenizers[0].name, "what the texts are cut into, but with -method auto:"+names+"\n")
	f.StringVar(&o.normalize, "normalize", "", "comma-separated `STEPS` that rewrite the texts first, in this order:"+stepsHelp())
	f.IntVar(&o.boilerplate, "boilerplate", 0, "leave out the lines that at least `N` different texts have, old ones among them; N should be larger than any group of near-duplicates. The inputs are read twice")
	f.StringVar(&o.lines, "lines", "", "`FILE` for the lines that -boilerplate finds; if it exists, the lines in it are left out instead")
	f.StringVar(&o.weights, "weights", weightings[0].name, "how much features count, by `NAME`:"+weightsHelp())
	f.StringVar(&o.stats, "stats", "", "`FILE` for the document frequencies of the inputs, which it takes from there if it exists")
	f.StringVar(&o.secret, "secret", "", "`FILE` with a secret of at least 16 bytes that seeds the hash, for texts of people who might cheat; line ends behind it do not count")
	f.StringVar(&o.format, "format", "", "format of all inputs: jsonl, csv, txt (a file is a document) or lines (a line is one); by default by their names, and jsonl for -")
	f.StringVar(&o.pairs, "pairs", "", "`FILE` for the pairs: id, id and distance, or similarity, or score; tab-separated and sorted")
	f.StringVar(&o.clusters, "clusters", "", "`FILE` for the groups: each id with that of the first document of its group")
	f.StringVar(&o.out, "out", "", "`FILE` for the cleaned collection: the first document of each group as it stands; .jsonl, .csv or .txt (lines), also .gz or .zst")
	f.StringVar(&o.save, "save", "", "`FILE.fp` for the ids and fingerprints of all documents, old ones too, for -against another time, with the same settings but for -distance; a new document replaces an old one with its id. Texts that only bytes can compare are not in it")
	f.StringVar(&o.against, "against", "", "`FILE` or directory with an old collection, or a FILE.fp that -save wrote: new documents near an old one are duplicates, old ones are not compared with each other")
	f.StringVar(&o.cols.id, "id", "id", "`NAME` of the field or column with the id")
	f.StringVar(&o.cols.text, "text", "text", "`NAME` of the field or column with the text")
	f.StringVar(&o.cols.title, "title", "title", "`NAME` of the field or column with the title, if there is one")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "number of texts to work on at once; the results do not depend on it")
	f.IntVar(&o.maxLine, "max-line", 64<<20, "longest line, or longest .txt file, in bytes")
	f.BoolVar(&o.skipBad, "skip-bad", false, "report, count and skip lines and files that cannot be read, instead of stopping")
	f.Usage = func() {
		fmt.Fprint(stderr, "usage: dedup [flags] INPUT...\nINPUT is a .jsonl, .csv or .txt file, also .gz or .zst, a directory of them, or -\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	o.args = f.Args()
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	wrong := o.setMethod(given)
	switch {
	case wrong != "":
	case len(o.args) == 0:
		wrong = "no INPUT given; -h shows the flags"
	case o.workers < 1 || o.workers > 4096:
		wrong = fmt.Sprintf("-workers %d: 1 to 4096", o.workers)
	case o.maxLine < 1 || o.maxLine > 1<<30:
		wrong = fmt.Sprintf("-max-line %d: 1 to %d", o.maxLine, 1<<30)
	case o.format != "" && o.format != "jsonl" && o.format != "csv" && o.format != "txt" && o.format != "lines":
		wrong = fmt.Sprintf("-format %q: jsonl, csv, txt or lines", o.format)
	case o.boilerplate < 0 || o.boilerplate == 1:
		wrong = fmt.Sprintf("-boilerplate %d: 0, or at least 2", o.boilerplate)
	case o.lines != "" && o.boilerplate == 0:
		wrong = "-lines: say with -boilerplate which lines are to be found"
	case o.boilerplate > 0 && o.lines == "" && o.fingerprintFiles():
		wrong = "-boilerplate: with saved fingerprints the lines must be kept too, with -lines"
	case o.save != "" && formatOf(o.save, "") != fingerprints:
		wrong = fmt.Sprintf("-save %q: the name must end in .fp, .fp.gz or .fp.zst", o.save)
	case o.cols.repeat():
		wrong = "-id, -text, -title and -metadata must differ"
	}
	switch w, err := o.weighting(); {
	case wrong != "":
	case err != nil:
		wrong = err.Error()
	case w.statistics && o.stats == "" && o.fingerprintFiles():
		wrong = fmt.Sprintf("-weights %s: with saved fingerprints the statistics must be kept too, with -stats", o.weights)
	case !w.statistics && o.stats != "":
		wrong = fmt.Sprintf("-stats: -weights %s needs none; tfidf and logidf do", o.weights)
	}
	seen := map[string]bool{}
	for _, path := range []string{o.pairs, o.clusters, o.out, o.save, o.lines, o.stats, o.secret} {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			abs = path
		}
		if seen[abs] {
			wrong = fmt.Sprintf("%s is given twice", path)
		}
		seen[abs] = true
	}
	stdins := 0
	for _, path := range append([]string{o.against}, o.args...) {
		if path == "-" {
			stdins++
		}
	}
	if stdins > 1 {
		wrong = "- can be read only once"
	}
	if wrong != "" {
		fmt.Fprintln(stderr, "dedup:", wrong)
		return nil, errUsage
	}
	return &o, nil
}

// run is the program; it returns the exit status.
func run(args []string, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	defer outs.Discard()
	c := &collection{stderr: stderr, method: &o.method}
	if err := c.dedup(o, outs, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "dedup:", cli.Printable(err.Error(), 2000))
		return 1
	}
	return 0
}

// dedup does the work of one call.
func (c *collection) dedup(o *options, outs *cli.Outputs, stdin io.Reader, stdout io.Writer) error {
	start := time.Now()
	fp, err := o.fingerprinter()
	if err != nil {
		return err
	}
	weights, err := o.weighting()
	if err != nil {
		return err
	}
	if o.against != "" {
		c.sources = findSources([]string{o.against}, o.format)
	}
	c.oldSources = len(c.sources)
	sources := findSources(o.args, o.format)
	c.sources = append(c.sources, sources...)
	for i, s := range c.sources {
		if s.err != nil && (!o.skipBad || i < c.oldSources) {
			return s.err
		}
		paths := []string{o.pairs, o.clusters}
		if i < c.oldSources { // the new collection may take the place of its input, but not of the old one
			paths = append(paths, o.out)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); path != "" && err == nil && s.regular() && os.SameFile(info, s.info) {
				return fmt.Errorf("%s: is an input and an output", path)
			}
		}
	}
	for _, s := range sources {
		if s.format == fingerprints {
			return fmt.Errorf("%s:1: fingerprints serve for -against only", s.path)
		}
	}
	var pairs, clusters, out, save *cli.Output
	summary, err := outs.CreateAll(stdout, c.stderr, cli.Path{Name: o.pairs, To: &pairs}, cli.Path{Name: o.clusters, To: &clusters},
		cli.Path{Name: o.out, To: &out}, cli.Path{Name: o.save, To: &save})
	if err != nil {
		return err
	}
	if out != nil {
		if err := checkOut(o.out, sources); err != nil {
			return err
		}
	}
	if learns := o.boilerplate > 0 && !exists(o.lines) || weights.statistics && !exists(o.stats); out != nil || learns {
		defer c.closeCopies()
		if err := c.keepCopies(stdin, learns); err != nil {
			return err
		}
	}
	if o.boilerplate > 0 {
		if err := c.boilerplate(o, fp, outs, stdin); err != nil {
			return err
		}
	}
	if err := c.weigh(o, weights, fp, outs, stdin); err != nil {
		return err
	}
	if o.fingerprintFiles() {
		if c.version, err = fp.Version(); err != nil {
			return err
		}
	}
	progress, done := c.progress("reading")
	err = c.load(o, fp, stdin, progress)
	done()
	if err != nil {
		return err
	}
	done = c.waiting()
	err = c.group(pairs != nil)
	done()
	if pairs != nil && err == nil {
		err = c.writePairs(pairs)
	}
	if clusters != nil && err == nil {
		err = c.writeClusters(clusters)
	}
	if out != nil && err == nil {
		err = c.writeOut(out, o, stdin)
	}
	if save != nil && err == nil {
		err = c.saveAll(save, o.method.bits)
	}
	if err == nil {
		err = outs.Commit()
	}
	if err == nil {
		err = c.summary(summary, time.Since(start))
	}
	return err
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// keepCopies copies the sources that cannot be read twice but have to be,
// standard input and pipes, to temporary files without a name. Old sources are read
// twice only if all are.
func (c *collection) keepCopies(stdin io.Reader, all bool) error {
	for i := range c.sources {
		s := &c.sources[i]
		if s.regular() || s.err != nil || i < c.oldSources && !all {
			continue
		}
		r := stdin
		if s.path != "-" {
			f, err := os.Open(s.path)
			if err != nil {
				s.err = cli.InFile(s.path, err)
				continue
			}
			defer f.Close()
			r = f
		}
		f, err := os.CreateTemp("", "dedup-input-*")
		if err != nil {
			return err
		}
		s.copy = f
		os.Remove(f.Name()) // it lives as long as it is open
		if _, err := io.Copy(f, r); err != nil {
			return fmt.Errorf("copying %s: %w", s.path, err)
		}
	}
	return nil
}

func (c *collection) closeCopies() {
	for _, s := range c.sources {
		if s.copy != nil {
			s.copy.Close()
		}
	}
}

// waiting shows on a terminal that the texts are being compared.
func (c *collection) waiting() (done func()) {
	f, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	fmt.Fprintf(f, "comparing %d documents…", len(c.docs))
	return func() { fmt.Fprint(f, "\r\033[K") }
}

// progress returns what the bytes read are shown by, on a terminal.
func (c *collection) progress(what string) (w io.Writer, done func()) {
	f, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return io.Discard, func() {}
	}
	total := int64(0)
	for _, s := range c.sources {
		if !s.regular() {
			total = -1
			break
		}
		total += s.info.Size()
	}
	if total == 0 {
		total = -1
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(f), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(what))
	return patient{bar}, func() { bar.Finish() }
}

// patient keeps the errors of a progress bar, say about a file that grows, from
// becoming errors of reading.
type patient struct{ io.Writer }

func (p patient) Write(b []byte) (int, error) {
	p.Writer.Write(b)
	return len(b), nil
}
