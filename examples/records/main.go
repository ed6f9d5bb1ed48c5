// Command records finds the near-duplicates among records: rows of CSV files or of a table
// of a database.
//
//	go run -C examples ./records [flags] FILE.csv...
//	go run -C examples ./records [flags] -db FILE.sqlite -table NAME
//
// Fingerprints nominate candidates (-distance), of which those are kept whose features
// have a cosine of at least -similarity. A group is what chains of matches hold together.
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

// options are the flags.
type options struct {
	schema, id               string
	driver, db, table, query string
	bits, distance, workers  int
	similarity               float64
	idf, skipBad             bool
	pairs, groups            string
	args                     []string
}

// errUsage is an error in the flags that has been reported.
var errUsage = errors.New("usage")

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	var o options
	f := flag.NewFlagSet("records", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.schema, "schema", "", "`FILE` with a JSON object: for each column that counts a text of options, separated by commas,\n"+
		"  whole (the default), words, words2, chars3, …   the value is one feature, or its words, pairs of them, trigrams\n"+
		"  small (the default), large, -                   a short value, a text, or ignored\n"+
		"  text (the default), exact, number, date, mdy (month first), phone, phone=86\n"+
		"  named                                           compared within the column only\n"+
		"  weight=2.5                                      by default 2, and 1 for each word of a large text\n"+
		"or a list of such texts. Without a schema every column but the id is whole")
	f.StringVar(&o.id, "id", "id", "`COLUMN` with the id of a record")
	f.StringVar(&o.db, "db", "", "database to read instead of files: a `FILE` for sqlite, what the driver calls a data source name for others")
	f.StringVar(&o.driver, "driver", "sqlite", "`NAME` of the database driver: sqlite, mysql or pgx (PostgreSQL)")
	f.StringVar(&o.table, "table", "", "`NAME` of the table in the database; it is quoted, so for SCHEMA.NAME give a -query")
	f.StringVar(&o.query, "query", "", "`SQL` whose rows are the records, instead of -table. It may be sent several times")
	f.IntVar(&o.bits, "bits", 128, "width of the fingerprints: 64 or 128; 64 bits find fewer")
	f.IntVar(&o.distance, "distance", -1, "largest Hamming distance of candidates, in bits. By default it is up to 44 of 128 bits and 20 of 64, less for many records. At such distances all pairs of fingerprints are compared, some hundred million a second. Up to 8 an index serves for millions of records, but finds only records that are nearly equal")
	f.Float64Var(&o.similarity, "similarity", 0.5, "smallest cosine of the features of a match, from 0 to 1. 0 takes the candidates as they are, and reads the records only once")
	f.BoolVar(&o.idf, "idf", false, "weigh rare values more than common ones; reads the records twice")
	f.StringVar(&o.pairs, "pairs", "", "`FILE` for the pairs: id, id, distance and cosine, tab-separated and sorted")
	f.StringVar(&o.groups, "clusters", "", "`FILE` for the groups: each id with that of the first record of its group")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "number of records to work on at once; the results do not depend on it")
	f.BoolVar(&o.skipBad, "skip-bad", false, "report, count and skip rows that cannot be read, instead of stopping")
	f.Usage = func() {
		fmt.Fprint(stderr, "usage: records [flags] FILE.csv...\n       records [flags] -db DATABASE -table NAME\nFiles may be compressed (.gz, .zst); - is standard input.\n"+
			"A schema: {\"name\": \"chars3\", \"born\": \"date,weight=3\", \"phone\": \"phone=86\", \"notes\": \"large\"}\n\n")
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
		wrong = "no FILE.csv given; -h shows the flags"
	case o.db == "" && (o.table != "" || o.query != ""):
		wrong = "-table and -query need a -db"
	case o.db != "" && len(o.args) > 0:
		wrong = "either files or a -db"
	case o.db != "" && (o.table == "") == (o.query == ""):
		wrong = "-db: either a -table or a -query"
	case o.bits != 64 && o.bits != 128:
		wrong = fmt.Sprintf("-bits %d: 64 or 128", o.bits)
	case distanceGiven && (o.distance < 0 || o.distance > o.bits):
		wrong = fmt.Sprintf("-distance %d: 0 to %d", o.distance, o.bits)
	case !(o.similarity >= 0 && o.similarity <= 1):
		wrong = fmt.Sprintf("-similarity %v: 0 to 1", o.similarity)
	case o.workers < 1 || o.workers > 4096:
		wrong = fmt.Sprintf("-workers %d: 1 to 4096", o.workers)
	}
	if wrong != "" {
		fmt.Fprintln(stderr, "records:", wrong)
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
	if err := findRecords(o, outs, stdin, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "records:", cli.Printable(err.Error(), 2000))
		return 1
	}
	return 0
}

// findRecords does the work of one call.
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

// checkColumns sees that every field has a column, or makes fields of all columns.
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
			return fmt.Errorf("%s: no column %q; there are %q", c.o.schema, f.Name, names)
		}
	}
	return nil
}
