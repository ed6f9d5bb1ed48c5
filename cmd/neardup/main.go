// Command neardup finds near-duplicates among texts in files.
//
//	neardup dedup INPUT...              find them, and write the collection without them
//	neardup merge DIR...                merge the results of several processes
//	neardup records INPUT...            the same for the rows of tables
//	neardup passages INPUT...           find passages that documents share
//	neardup decontaminate TESTS INPUT... find test items in a training corpus
//	neardup review INPUT...             write a page for looking at pairs
//	neardup calibrate LABELS INPUT...   calibrate the decision with labelled pairs
//	neardup explain A B INPUT...        say why two documents are near-duplicates
//	neardup compare FILE FILE           compare two texts by every method
//	neardup diff CLUSTERS CLUSTERS      say what two calls decide differently
//	neardup rethreshold PAIRS INPUT...  decide again, without comparing
//	neardup verify AUDIT INPUT...         check an audit of what was removed
//	neardup estimate INPUT...           say what each method would cost and find
//	neardup fingerprint INPUT...        write a table of fingerprints, for a database or a warehouse
//	neardup sql DIALECT                 print the SQL that finds near-duplicates in it
//	neardup completion SHELL
//	neardup version
//
// neardup COMMAND --help has the flags. The files of the program:
//
//	main.go        the commands, and how they are called
//	call.go        what a command is given
//	dedup.go       dedup, records and estimate
//	flags.go       their flags
//	completion.go  what lets shells complete them
//	explain.go     explain, compare and calibrate
//	diff.go        compare what two calls decided
//	merge.go       divide a call among processes
//	rethreshold.go decide again from the pairs of an earlier call
//	verify.go      check an audit
//	review.go      make the page on which people look at pairs
//	passages.go    find passages, and what leaks from tests
//	fingerprint.go write fingerprints as a table, and SQL to join it
//	upgrade.go     read what an earlier version kept
//
// The stages of a call, each a package:
//
//	options/       the settings, checked
//	corpus/        the documents of a call and their sources
//	units/         make one document of all rows with the same value of a field
//	learn/         what must be known of all texts first
//	load/          read the documents, by several workers
//	group/         compare and group them
//	write/         the outputs, and what was found; cleaned/ for collections
//	pipeline/      the stages in their order
//	shards/        a call divided among processes
//	inside/        passages, and what leaks from tests
//	fingerprints/  a table of fingerprints
//	cost/          what a call would cost
//
// The packages that they use:
//
//	input/         find files, and read items, documents, records and values from them
//	reading/       read many files at once, on all processors
//	output/        write collections in any format, and tables
//	rows/          values with types, and how each format writes them; parquet/, workbook/
//	review/        the page on which people look at pairs
//	verify/        check an audit
//	cli/           files that are written as a whole or not at all, compression, what is safe to print
//	progress/      what is being done, and how much time is left
//	sealed/        small files with a checksum
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/pipeline"
)

// grammar has the commands and their flags.
type grammar struct {
	Dedup         dedupCommand         `cmd:"" help:"Find near-duplicates, and write the collection without them."`
	Merge         mergeCommand         `cmd:"" help:"Merge the shards that several dedup --shard processes have made, and write the outputs."`
	Records       recordsCommand       `cmd:"" help:"Find near-duplicates among the rows of tables."`
	Review        reviewCommand        `cmd:"" help:"Write a page for reviewing pairs side by side, with their differences and why they match."`
	Passages      passagesCommand      `cmd:"" help:"Find passages that documents share, report how much of each document occurs in others, and write the collection without the repeats."`
	Decontaminate decontaminateCommand `cmd:"" help:"Find which test items occur in the documents of a training corpus."`
	Explain       explainCommand       `cmd:"" help:"Say why two documents of a collection are near-duplicates, or not."`
	Compare       compareCommand       `cmd:"" help:"Compare the texts of two files by every method."`
	Calibrate     calibrateCommand     `cmd:"" help:"Calibrate the decision with pairs that somebody has labelled."`
	Diff          diffCommand          `cmd:"" help:"Compare the decisions of two runs, using the files that --groups wrote."`
	Rethreshold   rethresholdCommand   `cmd:"" help:"Decide again from the pairs of an earlier run, with another threshold, other kinds, other groups, or labels."`
	Verify        verifyCommand        `cmd:"" help:"Check an --audit file: whether every removed document has a near-duplicate that is kept."`
	Upgrade       upgradeCommand       `cmd:"" help:"Convert the --state directory of an earlier version to the format of this one."`
	Estimate      estimateCommand      `cmd:"" help:"Estimate the cost and recall of each method from a sample of the inputs."`
	Fingerprint   fingerprintCommand   `cmd:"" help:"Write a table of fingerprints or signatures, for a database or a warehouse."`
	SQL           sqlCommand           `cmd:"" name:"sql" help:"Print the SQL that finds near-duplicates in a table of fingerprints or signatures."`
	Completion    completionCommand    `cmd:"" help:"Print a script that makes a shell complete commands and flags."`
	Version       versionCommand       `cmd:"" help:"Print the version."`
}

func main() {
	cli.Main("neardup", func(outs *cli.Outputs) int {
		return run(os.Args[1:], outs, os.Stdin, os.Stdout, os.Stderr)
	})
}

// run runs the program and returns the exit status: 0 if all went well, 1 after an error, 2 if the flags are
// wrong, and with --exit-code 3 if there are duplicates.
func run(args []string, outs *cli.Outputs, stdin io.Reader, out, stderr io.Writer) int {
	var g grammar
	stdout := &printer{Writer: out}
	ended := false // by the help
	parser := kong.Must(&g, kong.Name("neardup"), kong.Description("Find near-duplicate texts in files.\n\nThe exit status is 0 if all went well, 1 after an error, 2 if the flags are wrong, 3 with --exit-code if there are duplicates, and 128 or more if a signal stopped the program."), kong.Writers(stdout, stderr),
		kong.Exit(func(int) { ended = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}), kong.Vars(helpVars()), kong.ExplicitGroups(groups()), kong.KindMapper(reflect.String, kong.MapperFunc(asItIs)))
	args = twoDashes(parser, args)
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if ended {
		return 0
	}
	if err == nil {
		of := &call{outs, stdin, stdout, stderr, map[string]string{}}
		for _, p := range ctx.Path {
			if f := p.Flag; f != nil {
				of.given[f.Name] = fmt.Sprint(f.Target.Interface())
			}
		}
		err = ctx.Run(of)
	} else {
		err = usageError{fmt.Errorf("%w; neardup %s--help shows the flags", err, commandOf(parser, args))}
	}
	if stdout.err != nil {
		err = stdout.err
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, pipeline.ErrDuplicates) {
		return 3
	}
	fmt.Fprintln(stderr, "neardup:", cli.Printable(err.Error(), 2000))
	if errors.As(err, &usageError{}) {
		return 2
	}
	return 1
}

// asItIs sets a text of the command line. Kong's own way changes paths that are not UTF-8.
func asItIs(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(fmt.Sprint(t.Value))
	}
	return err
}

// commandOf returns the command in the arguments with a space behind it, or "".
func commandOf(parser *kong.Kong, args []string) string {
	for _, c := range parser.Model.Children {
		if slices.Contains(args, c.Name) {
			return c.Name + " "
		}
	}
	return ""
}

// twoDashes lets flags begin with one dash, as those of Go programs do.
func twoDashes(parser *kong.Kong, args []string) []string {
	known := map[string]bool{"help": true}
	for _, c := range parser.Model.Children {
		for _, f := range c.Flags {
			known[f.Name] = true
		}
	}
	args = slices.Clone(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(a, "-") && known[name] {
			args[i] = "-" + a
		}
	}
	return args
}

// groups returns the groups of flags for the help.
func groups() (all []kong.Group) {
	for _, g := range flagGroups {
		all = append(all, kong.Group{Key: g[0], Title: g[1] + ":"})
	}
	return all
}

// helpVars returns what the help takes from other files.
func helpVars() kong.Vars {
	var names, words []string
	for _, t := range options.Tokenizers {
		names = append(names, t.Name+" ("+t.Help+")")
	}
	for _, s := range options.Steps {
		words = append(words, s.Name+" ("+s.Help+")")
	}
	return kong.Vars{
		"tokenizers": strings.Join(names, ", "),
		"steps":      strings.Join(words, ", ") + "; urls=remove, emails=remove, dates=remove and numbers=remove remove them instead",
		"weights":    options.WeightsHelp(),
		"workers":    fmt.Sprint(runtime.GOMAXPROCS(0)),
	}
}

// A printer writes, and keeps the first error for those who print a summary without looking at it.
type printer struct {
	io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	p.err = cmp.Or(p.err, err)
	return n, err
}

type versionCommand struct{}

func (*versionCommand) Run(of *call) error {
	_, err := fmt.Fprintln(of.stdout, options.ProgramVersion(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return err
}
