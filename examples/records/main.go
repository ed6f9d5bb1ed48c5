// Command records finds near-duplicates among records: rows of CSV files, or of a table of a
// database.
//
//	go run -C examples ./records [flags] FILE.csv...
//	go run -C examples ./records [flags] -db FILE.sqlite -table NAME
//
// The program works in two steps. First it fingerprints all records; pairs whose fingerprints
// differ in at most -distance bits are candidates. Then it reads the records again and keeps the
// candidates whose features have a cosine of at least -similarity. A group consists of all records
// that a chain of matches connects.
//
// The files:
//
//	main.go     flags, and the steps of a call
//	schema.go   read the -schema
//	rows.go     read records from CSV files or a database
//	compare.go  find candidates, verify them, and write pairs and groups
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
)

func main() {
	cli.Main("records", func(outs *cli.Outputs) int {
		return run(os.Args[1:], outs, os.Stdin, os.Stdout, os.Stderr)
	})
}

// options has the values of the flags.
type options struct {
	schema, id               string
	driver, db, table, query string
	bits, distance, workers  int
	similarity               float64
	idf, skipBad             bool
	pairs, groups            string
	args                     []string
}

// errUsage says that the flags are wrong. The message has already been printed.
var errUsage = errors.New("usage")

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("records", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.schema, "schema", "", "`FILE` with a JSON object. Its keys are the columns to compare. A value is a text of\n"+
		"options, separated by commas:\n"+
		"  whole (the default), words, words2, chars3, …   features: the value, its words, pairs of words, trigrams\n"+
		"  small (the default), large, -                   a short value, a text, or a column to ignore\n"+
		"  text (the default), exact, number, date, mdy (month first), phone, phone=86\n"+
		"  named                                           compare only with values of the same column\n"+
		"  weight=2.5                                      the default is 2, and 1 for each word of a large text\n"+
		"A value may also be a list of such texts. Without a schema, every column except the id\n"+
		"is compared as a whole")
	f.StringVar(&o.id, "id", "id", "`COLUMN` with the id of a record")
	f.StringVar(&o.db, "db", "", "database to read instead of files: a `FILE` for sqlite, a data source name for other drivers")
	f.StringVar(&o.driver, "driver", "sqlite", "`NAME` of the database driver: sqlite, mysql or pgx (PostgreSQL)")
	f.StringVar(&o.table, "table", "", "`NAME` of the table in the database. It is quoted, so SCHEMA.NAME needs a -query")
	f.StringVar(&o.query, "query", "", "`SQL` that returns the records, instead of -table. It may be sent several times")
	f.IntVar(&o.bits, "bits", 128, "width of the fingerprints: 64 or 128 bits; 64 bits find fewer duplicates")
	f.IntVar(&o.distance, "distance", -1, "largest Hamming distance of candidates, in bits. The default is 44 of 128 bits or 20 of\n"+
		"64, and less for many records. At such distances all pairs of fingerprints are compared,\n"+
		"some hundred million a second. Up to a distance of 8 an index is used, which is fast for\n"+
		"millions of records, but finds only records that are nearly equal")
	f.Float64Var(&o.similarity, "similarity", 0.5, "smallest cosine of the features of a match, from 0 to 1.\n"+
		"With 0 every candidate is a match, and the records are read only once")
	f.BoolVar(&o.idf, "idf", false, "give rare values more weight than common ones; this reads the records once more")
	f.StringVar(&o.pairs, "pairs", "", "`FILE` for the pairs: two ids, distance and cosine, separated by tabs and sorted")
	f.StringVar(&o.groups, "clusters", "", "`FILE` for the groups: each id, and the id of the first record of its group")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "number of records to work on at the same time; the results do not depend on it")
	f.BoolVar(&o.skipBad, "skip-bad", false, "skip rows that cannot be read, and report and count them, instead of stopping")
	f.Usage = func() {
		fmt.Fprint(stderr, "usage: records [flags] FILE.csv...\n       records [flags] -db DATABASE -table NAME\nFiles may be compressed (.gz, .zst); - is standard input.\n"+
			"Example of a schema: {\"name\": \"chars3\", \"born\": \"date,weight=3\", \"phone\": \"phone=86\", \"notes\": \"large\"}\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	o.args = f.Args()
	distanceGiven := false
	f.Visit(func(f *flag.Flag) { distanceGiven = distanceGiven || f.Name == "distance" })
	wrong := ""
	switch {
	case o.db == "" && len(o.args) == 0:
		wrong = "there is no FILE.csv; -h shows the flags"
	case o.db == "" && (o.table != "" || o.query != ""):
		wrong = "-table and -query need -db"
	case o.db != "" && len(o.args) > 0:
		wrong = "give either files or -db, not both"
	case o.db != "" && (o.table == "") == (o.query == ""):
		wrong = "-db needs either -table or -query"
	case o.bits != 64 && o.bits != 128:
		wrong = fmt.Sprintf("-bits %d: must be 64 or 128", o.bits)
	case distanceGiven && (o.distance < 0 || o.distance > o.bits):
		wrong = fmt.Sprintf("-distance %d: must be from 0 to %d", o.distance, o.bits)
	case !(o.similarity >= 0 && o.similarity <= 1):
		wrong = fmt.Sprintf("-similarity %v: must be from 0 to 1", o.similarity)
	case o.workers < 1 || o.workers > 4096:
		wrong = fmt.Sprintf("-workers %d: must be from 1 to 4096", o.workers)
	}
	if wrong != "" {
		fmt.Fprintln(stderr, "records:", wrong)
		return nil, errUsage
	}
	return &o, nil
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
	if err := findRecords(o, outs, stdin, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "records:", cli.Printable(err.Error(), 2000))
		return 1
	}
	return 0
}

// findRecords does the work of one call, from the input to the outputs.
func findRecords(o *options, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) error {
	start := time.Now()
	if err := cli.CheckPaths(append([]string{o.schema, o.db}, o.args...), []string{o.groups, o.pairs}); err != nil {
		return err
	}
	c := &collection{o: o, stderr: stderr}
	if o.schema != "" {
		var err error
		if c.f.Fields, err = readSchema(o.schema); err != nil {
			return err
		}
	}
	files := &csvFiles{paths: o.args, stdin: stdin, id: o.id}
	if o.schema != "" {
		files.needed = func(column string) bool {
			return slices.ContainsFunc(c.f.Fields, func(f neardup.Field) bool { return f.Name == column })
		}
	}
	c.rows = files
	if o.db != "" {
		t, err := openTable(o, c.f.Fields)
		if err != nil {
			return err
		}
		c.rows = t
	}
	defer c.rows.close()
	if err := c.checkColumns(); err != nil {
		return err
	}
	var pairs, groups *cli.Output
	summary, err := outs.CreateAll(stdout, stderr, cli.Path{Name: o.pairs, To: &pairs}, cli.Path{Name: o.groups, To: &groups})
	if err != nil {
		return err
	}
	matches, of, err := c.compare()
	if err != nil {
		return err
	}
	if pairs != nil {
		err = c.writePairs(pairs, matches)
	}
	if groups != nil && err == nil {
		err = c.writeGroups(groups, of)
	}
	if err == nil {
		err = outs.Commit()
	}
	if err == nil {
		err = c.summary(summary, matches, of, time.Since(start))
	}
	return err
}

// checkColumns checks that every field of the schema has a column. Without a schema it makes every
// column except the id a field.
func (c *collection) checkColumns() error {
	names, err := c.rows.columns()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, name := range names {
		have[name] = true
		if c.o.schema == "" && name != c.o.id {
			c.f.Fields = append(c.f.Fields, neardup.Field{Name: name})
		}
	}
	for _, f := range c.f.Fields {
		if !have[f.Name] {
			return fmt.Errorf("%s: there is no column %q; the columns are %q", c.o.schema, f.Name, names)
		}
	}
	return nil
}
