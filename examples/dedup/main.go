// Command dedup finds the near-duplicates in a collection of texts.
//
//	go run -C examples ./dedup [flags] INPUT...
//
// INPUT is a .jsonl file (fields id, text and optionally title), a .csv file with a header, a .txt
// file (one document), a directory with such files, or - for standard input. Files may be
// compressed by gzip or zstd. A title counts as part of the text.
//
// Two documents are near-duplicates if the cosine of their features is at least -similarity, or what
// the collection itself shows if that is not given, and if their kind is one of -kinds. With
// -method minhash, their Jaccard similarity must be at least -similarity. With -method simhash, the
// Hamming distance of their fingerprints must be at most -distance, and with -metadata their
// keywords or tags count too.
//
// A call takes these steps. Every step is in a file of its own:
//
//	input.go       find the input files and read items from them
//	document.go    parse an item into a document
//	corpus.go      learn common lines and statistics from all texts (-boilerplate, -weights)
//	settings.go    make the Fingerprinter from the flags
//	collection.go  load all documents, with several workers, and group them
//	method.go      compare documents with -method minhash and simhash
//	auto.go        compare documents with -method auto and cosine
//	saved.go       read and write fingerprints of earlier calls (-against, -save)
//	state.go       keep the documents of all calls (-state)
//	output.go      write pairs, groups and the cleaned collection
//	progress.go    say what is being done, and how long it will take
//	estimate.go    say what a call would cost (-estimate)
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
)

func main() {
	cli.Main("dedup", func(outs *cli.Outputs) int {
		return run(os.Args[1:], outs, os.Stdin, os.Stdout, os.Stderr)
	})
}

// options has the values of the flags.
type options struct {
	method                       method
	values, workers, maxLine     int
	tokenizer, normalize, secret string
	lines, weights, stats        string
	boilerplate                  int
	format, against              string
	pairs, clusters, out, save   string
	state                        string
	memory                       int64 // in bytes
	estimate                     bool
	set                          []string // the flags that were given and count for all calls on these inputs, as -name=value
	skipBad                      bool
	cols                         columns
	args                         []string
}

// fingerprintFiles reports whether the call reads or writes a file of saved fingerprints.
func (o *options) fingerprintFiles() bool {
	return o.save != "" || formatOf(o.against, "") == fingerprints
}

// errUsage says that the flags are wrong. The message has already been printed.
var errUsage = errors.New("usage")

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("dedup", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.method.name, "method", "auto", "how to compare documents:\n"+
		"  auto     by exact cosine; the program chooses the features; needs no other settings\n"+
		"  cosine   by exact cosine, with the -tokenizer and -weights that you choose\n"+
		"  minhash  by MinHash signatures, which estimate the Jaccard similarity\n"+
		"  simhash  by the distance of fingerprints: the fastest, finds copies and light edits\n")
	f.IntVar(&o.method.bits, "bits", 64, "with -method simhash, the width of the fingerprints: 64 or 128 bits")
	f.IntVar(&o.method.distance, "distance", 3, "with -method simhash, the largest Hamming distance of near-duplicates, in bits")
	f.Float64Var(&o.method.least, "similarity", 0, "the smallest similarity of near-duplicates.\n"+
		"With -method auto and cosine it is the cosine; without it, the collection decides.\n"+
		"With -method minhash it is the Jaccard similarity: the number of features that both\n"+
		"documents have, divided by the number that either has; the default is 0.6")
	f.Float64Var(&o.method.recall, "recall", 0.99, "with -method auto or cosine, the share of the near-duplicates to find. With 1 all documents\n"+
		"are compared. With less, of more than some 7,000 texts of 1 KB only those are that have\n"+
		"rare features in common, which finds nearly all in a fraction of the time")
	f.Func("kinds", "with -method auto or cosine, comma-separated `NAMES` of the kinds of pairs that count:\n"+
		"identical, same-words, same-but-figures (numbers, dates, addresses), same-form (one form\n"+
		"filled in differently), contained, revised; or all. The default is all but same-form", func(names string) (err error) {
		o.method.kinds, err = neardup.ParseKinds(names)
		return err
	})
	f.StringVar(&o.method.group, "group", "centres", "with -method auto or cosine, what a group is:\n"+
		"  centres   every member is a near-duplicate of the one that is kept\n"+
		"  complete  every two members are near-duplicates of each other\n"+
		"  chains    a chain of near-duplicates connects any two members\n")
	f.StringVar(&o.method.keep, "keep", "first", "with -method auto or cosine, which document of a group to keep: first, longest or newest")
	f.IntVar(&o.values, "values", 128, "with -method minhash, the number of values of a signature.\n"+
		"The standard error of a similarity is at most 0.5/√values")
	f.StringVar(&o.cols.metadata, "metadata", "", "comma-separated `NAMES` of fields or columns with keywords, tags or references.\n"+
		"Documents are then compared by fingerprint and metadata together (Wang 2019).\n"+
		"A value is a list, or a text with commas or semicolons. A CSV file must have all columns")
	f.Float64Var(&o.method.blend.Content, "content", 0.9, "with -metadata, the weight of the content in the score, above 0 and at most 1")
	f.Float64Var(&o.method.blend.Threshold, "score", 0.25, "with -metadata, the smallest score of near-duplicates. The score is\n"+
		"content/(distance+1) + (1−content)·similarity of the metadata")
	names := ""
	for _, t := range tokenizers {
		names += fmt.Sprintf("\n  %-7s %s", t.name, t.help)
	}
	f.StringVar(&o.tokenizer, "tokenizer", tokenizers[0].name, "what to cut texts into; not with -method auto:"+names+"\n")
	f.StringVar(&o.normalize, "normalize", "", "comma-separated `STEPS` to clean the texts with. Their order is fixed:"+stepsHelp())
	f.IntVar(&o.boilerplate, "boilerplate", 0, "ignore lines that occur in at least `N` different texts, old and new.\n"+
		"Choose N larger than any group of near-duplicates. The inputs are read twice")
	f.StringVar(&o.lines, "lines", "", "`FILE` for the lines that -boilerplate finds.\n"+
		"If the file exists, its lines are ignored, and no others are looked for")
	f.StringVar(&o.weights, "weights", weightings[0].name, "the weight of a feature, by `NAME`:"+weightsHelp())
	f.StringVar(&o.stats, "stats", "", "`FILE` for the document frequencies.\n"+
		"If the file exists, they are read from it; otherwise they are counted and written to it")
	f.StringVar(&o.secret, "secret", "", "`FILE` with a secret of at least 16 bytes. It seeds the hash, so that nobody can forge\n"+
		"texts with a chosen fingerprint. Line ends after the secret do not count")
	f.StringVar(&o.format, "format", "", "format of all inputs: jsonl, csv, txt (a file is a document) or lines (a line is a\n"+
		"document). By default the name of a file tells its format; - is jsonl")
	f.StringVar(&o.pairs, "pairs", "", "`FILE` for the pairs: two ids, their distance, similarity or score, and with\n"+
		"-method auto and cosine their kind, separated by tabs\n"+
		"and sorted")
	f.StringVar(&o.clusters, "clusters", "", "`FILE` for the groups: each id, and the id of the document that its group keeps")
	f.StringVar(&o.out, "out", "", "`FILE` for the cleaned collection: the document that each group keeps, unchanged.\n"+
		"The name ends in .jsonl, .csv or .txt (one line a document), also with .gz or .zst")
	f.StringVar(&o.save, "save", "", "`FILE.fp` for the ids and fingerprints of all documents, old and new.\n"+
		"A later call can read it with -against. It must use the same settings, except -distance.\n"+
		"A new document replaces an old one with the same id. Texts without letters and digits\n"+
		"have no fingerprint to compare: a later call finds no copies of them")
	f.StringVar(&o.against, "against", "", "`FILE` or directory with an old collection, or a FILE.fp that -save wrote.\n"+
		"A new document that is near an old one is a duplicate.\n"+
		"Old documents are not compared with each other")
	f.StringVar(&o.state, "state", "", "`DIR` that keeps the documents of all calls, with -method auto and cosine. A call compares its\n"+
		"documents with each other and with those in DIR, and adds them. It is made if it is not there.\n"+
		"A document whose id is there already replaces that one. A call that was killed can be repeated:\n"+
		"it goes on where it was")
	f.StringVar(&o.cols.id, "id", "id", "`NAME` of the field or column with the id")
	f.StringVar(&o.cols.text, "text", "text", "`NAME` of the field or column with the text")
	f.StringVar(&o.cols.title, "title", "title", "`NAME` of the field or column with the title; it may be missing")
	f.Func("memory", "how much memory to use, such as 800M or 8G. What does not fit goes to temporary files, in $TMPDIR.\n"+
		"The default is half of the memory of the machine", func(text string) (err error) {
		o.memory, err = parseBytes(text)
		return err
	})
	f.BoolVar(&o.estimate, "estimate", false, "read a part of the inputs, print what each method would cost and find, and end")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "number of texts to work on at the same time; the results do not depend on it")
	f.IntVar(&o.maxLine, "max-line", 64<<20, "length of the longest line or .txt file that is accepted, in bytes")
	f.BoolVar(&o.skipBad, "skip-bad", false, "skip lines and files that cannot be read, and report and count them, instead of stopping")
	f.Usage = func() {
		fmt.Fprint(stderr, "usage: dedup [flags] INPUT...\n"+
			"INPUT is a .jsonl, .csv or .txt file (also .gz or .zst), a directory with such files,\n"+
			"or - for standard input\n\n")
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
	f.Visit(func(f *flag.Flag) {
		given[f.Name] = true
		if !slices.Contains(strings.Fields("method estimate pairs clusters out save state against format lines stats boilerplate skip-bad memory"), f.Name) {
			value := f.Value.String()
			if f.Name == "kinds" { // a function, which has no value
				value = o.method.kinds.String()
			}
			o.set = append(o.set, "-"+f.Name+"="+value)
		}
	})
	wrong := o.setMethod(given)
	switch {
	case wrong != "":
	case len(o.args) == 0:
		wrong = "there is no INPUT; -h shows the flags"
	case o.workers < 1 || o.workers > 4096:
		wrong = fmt.Sprintf("-workers %d: must be from 1 to 4096", o.workers)
	case o.maxLine < 1 || o.maxLine > 1<<30:
		wrong = fmt.Sprintf("-max-line %d: must be from 1 to %d", o.maxLine, 1<<30)
	case o.format != "" && o.format != "jsonl" && o.format != "csv" && o.format != "txt" && o.format != "lines":
		wrong = fmt.Sprintf("-format %q: must be jsonl, csv, txt or lines", o.format)
	case o.boilerplate < 0 || o.boilerplate == 1:
		wrong = fmt.Sprintf("-boilerplate %d: must be 0, or 2 or more", o.boilerplate)
	case o.lines != "" && o.boilerplate == 0:
		wrong = "-lines needs -boilerplate, which says how common a line must be"
	case o.boilerplate > 0 && o.lines == "" && o.fingerprintFiles():
		wrong = "-boilerplate with saved fingerprints needs -lines, so that the next call ignores the same lines"
	case o.state != "" && (o.against != "" || !o.method.isExact()):
		wrong = "-state can only be used with -method auto and cosine, and without -against"
	case o.state != "" && o.boilerplate > 0 && o.lines == "":
		wrong = "-boilerplate with -state needs -lines, so that the next call ignores the same lines"
	case o.save != "" && formatOf(o.save, "") != fingerprints:
		wrong = fmt.Sprintf("-save %q: the name of the file must end in .fp, .fp.gz or .fp.zst", o.save)
	case o.cols.repeat():
		wrong = "-id, -text, -title and -metadata must name different fields"
	}
	switch w, err := o.weighting(); {
	case wrong != "":
	case err != nil:
		wrong = err.Error()
	case w.statistics && o.stats == "" && o.fingerprintFiles():
		wrong = fmt.Sprintf("-weights %s with saved fingerprints needs -stats, so that the next call uses the same statistics", o.weights)
	case w.statistics && o.stats == "" && o.state != "":
		wrong = fmt.Sprintf("-weights %s with -state needs -stats, so that the next call uses the same statistics", o.weights)
	case !w.statistics && o.stats != "":
		wrong = fmt.Sprintf("-stats is not used by -weights %s, only by tfidf and logidf", o.weights)
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
			wrong = fmt.Sprintf("%s: two outputs have this name", path)
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
		wrong = "- (standard input) can be given only once"
	}
	if wrong != "" {
		fmt.Fprintln(stderr, "dedup:", wrong)
		return nil, errUsage
	}
	return &o, nil
}

// parseBytes returns a number of bytes: a number with K, M, G or T behind it, for powers of 1024, or without.
func parseBytes(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			number, shift = number[:n-1], 10*(i+1)
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if bytes := x * float64(int64(1)<<shift); err == nil && bytes >= 64<<20 && bytes < 1<<60 {
		return int64(bytes), nil
	}
	return 0, errors.New("must be at least 64M, such as 800M or 8G")
}

// run runs the program and returns the exit status: 0 if all went well, 1 after an error, 2 if the
// flags are wrong.
func run(args []string, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	defer outs.Discard()
	if o.memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(o.memory * 95 / 100))
	}
	if o.method.isExact() || o.method.name == "minhash" {
		// Most of the memory is texts or signatures, which hold no pointers. So collecting garbage often
		// costs little.
		defer debug.SetGCPercent(debug.SetGCPercent(40))
	}
	c := &collection{stderr: stderr, method: &o.method, cols: o.cols, progress: newProgress(stderr)}
	if err := c.dedup(o, outs, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "dedup:", cli.Printable(err.Error(), 2000))
		return 1
	}
	return 0
}

// dedup does the work of one call, from the inputs to the outputs.
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
		if i < c.oldSources { // -out may replace an input, but not the old collection
			paths = append(paths, o.out)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); path != "" && err == nil && s.regular() && os.SameFile(info, s.info) {
				return fmt.Errorf("%s: the same file is an input and an output", path)
			}
		}
	}
	for _, s := range sources {
		if s.format == fingerprints {
			return fmt.Errorf("%s:1: a file of saved fingerprints can only be given to -against", s.path)
		}
	}
	if o.estimate {
		return c.estimate(o, stdout)
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
	defer func() {
		if c.exact != nil && c.exact.state != nil {
			c.exact.state.d.Close() // after an error; otherwise it is closed already
		}
	}()
	progress, done := c.reading("reading")
	err = c.load(o, fp, stdin, progress)
	done()
	if err != nil {
		return err
	}
	c.progress.begin(fmt.Sprintf("comparing %d documents", len(c.docs)), 0, "")
	err = c.group(pairs != nil)
	c.progress.end()
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
	if err == nil && o.state != "" {
		err = c.exact.state.end()
	}
	return err
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// keepCopies copies standard input and pipes to temporary files, because they cannot be read twice.
// The files have no name, so they vanish when the program ends. Old sources are copied only if all
// is set; otherwise they are read once.
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
		os.Remove(f.Name()) // the file stays as long as it is open
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
