package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	neardupsql "github.com/neardup/neardup/sql"
)

// This file has the commands fingerprint and sql, for collections that are in a warehouse: the first writes a table
// of fingerprints or signatures, document by document, and the second the SQL that joins it.

type fingerprintCommand struct {
	inputFlags
	textFlags
	Out       string `group:"output" required:"" placeholder:"FILE" help:"The table: .parquet or .csv, which may end in .gz or .zst. Its columns are id and fingerprint (a signed integer of 64 bits), and fingerprint_high with 128 bits; with minhash they are id and signature (a list of signed integers of 32 bits; in CSV as PostgreSQL writes it, {1,2}). A text without letters, digits and emoji has none."`
	Method    string `group:"method" default:"simhash" placeholder:"NAME" help:"simhash: fingerprints. minhash: signatures."`
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
	Table      string  `group:"input" required:"" placeholder:"NAME" help:"The table that has the fingerprints or signatures; neardup fingerprint makes it."`
	ID         string  `group:"input" default:"id" placeholder:"NAME" help:"Column with the id."`
	Prefix     string  `group:"output" default:"neardup" placeholder:"NAME" help:"What the names of the new tables begin with: NAME_pairs, NAME_groups, NAME_contents."`
	Method     string  `group:"method" default:"simhash" placeholder:"NAME" help:"simhash: fingerprints within a distance. minhash: signatures above a similarity."`
	Bits       int     `group:"tuning" default:"64" placeholder:"N" help:"With simhash, the width of the fingerprints: 64 or 128 bits."`
	Distance   int     `group:"method" default:"3" placeholder:"N" help:"With simhash, the largest distance of near-duplicates."`
	Documents  float64 `group:"tuning" placeholder:"N" help:"How many different fingerprints there are, about; it chooses the number of blocks. The default is 10 million."`
	Blocks     int     `group:"tuning" placeholder:"N" help:"With simhash, the number of blocks; by default the number of documents decides."`
	Values     int     `group:"tuning" default:"128" placeholder:"N" help:"With minhash, the number of values of a signature."`
	Similarity float64 `group:"method" default:"0.6" placeholder:"X" help:"With minhash, the smallest Jaccard similarity of near-duplicates."`
}

// Run writes the script to standard output.
func (c *sqlCommand) Run(of *call) error {
	j := neardupsql.Join{Dialect: neardupsql.Dialect(c.Dialect), Table: c.Table, Prefix: c.Prefix, ID: c.ID, Bits: c.Bits, Distance: c.Distance, Documents: c.Documents, Blocks: c.Blocks}
	switch c.Method {
	case "simhash":
	case "minhash":
		j.Signature, j.Values, j.Similarity = "signature", c.Values, c.Similarity
	default:
		return usageError{fmt.Errorf("--method %q: must be simhash or minhash", c.Method)}
	}
	for name := range of.given {
		simhash := slices.Contains([]string{"bits", "distance", "documents", "blocks"}, name)
		if minhash := name == "values" || name == "similarity"; simhash && c.Method == "minhash" || minhash && c.Method == "simhash" {
			return usageError{fmt.Errorf("--%s cannot be used with --method %s", name, c.Method)}
		}
	}
	switch {
	case c.Distance < 1:
		return usageError{fmt.Errorf("--distance %d: must be 1 or more; GROUP BY finds equal fingerprints", c.Distance)}
	case c.Similarity == 0:
		return usageError{errors.New("--similarity 0: must be above 0 and at most 1")}
	}
	if err := j.Script(of.stdout); err != nil {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), "neardupsql: "))}
	}
	return nil
}

// Run writes the table.
func (c *fingerprintCommand) Run(of *call) error {
	m := usualMethod
	m.Method, m.Tokenizer, m.Weights, m.Stats, m.Values, m.Bits, m.Secret = c.Method, c.Tokenizer, c.Weights, c.Stats, c.Values, c.Bits, c.Secret
	f := flags{inputFlags: c.inputFlags, textFlags: c.textFlags, methodFlags: m, outputFlags: outputFlags{Out: c.Out, Quiet: c.Quiet},
		groupFlags: groupFlags{Group: "centres", Keep: "first", Probability: 0.5, Normalize: c.Normalize}, runFlags: runFlags{Workers: c.Workers}}
	o, err := f.options(of.given)
	switch {
	case err != nil:
		return usageError{err}
	case c.Method != "simhash" && c.Method != "minhash":
		return usageError{fmt.Errorf("--method %q: must be simhash or minhash", c.Method)}
	case input.FormatOf(c.Out, "") != "parquet" && input.FormatOf(c.Out, "") != "csv":
		return usageError{fmt.Errorf("--out %q: the table must be .parquet or .csv", c.Out)}
	}
	defer of.outs.Discard()
	return o.newCollection(of.stderr).fingerprint(o, of.outs, of.stdin)
}

// fingerprint writes the table of all documents.
func (c *collection) fingerprint(o *options, outs *cli.Outputs, stdin io.Reader) error {
	start := time.Now()
	fp, err := o.fingerprinter()
	if err != nil {
		return err
	}
	weights, err := o.weighting()
	if err != nil {
		return err
	}
	if err := c.findInputs(o, stdin); err != nil {
		return err
	}
	if weights.statistics && !exists(o.stats) {
		defer c.closeCopies()
		if err := c.keepCopies(stdin, true); err != nil {
			return err
		}
	}
	var out *cli.Output
	if _, err := outs.CreateAll(os.Stdout, c.errors, cli.Path{Name: o.out, To: &out}); err != nil {
		return err
	}
	if err := c.weigh(o, weights, fp, outs, stdin); err != nil {
		return err
	}
	version := ""
	if o.method.name == "minhash" {
		version, err = o.method.minhash.Version(fp)
	} else {
		version, err = fp.Version()
	}
	if err != nil {
		return err
	}
	w := newMarkWriter(out, o, version)
	n, without := 0, 0
	c.take = func(d *stored) error {
		n++
		if d.content.empty {
			without++
		}
		return w.write(d.id, &d.content.mark)
	}
	if err := c.load(o, fp, stdin); err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	if err := outs.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%d documents, %d of them without features; %.1f MB of text in %.2f s\n", n, without, float64(c.bytes)/1e6, time.Since(start).Seconds())
	if c.bad > 0 {
		fmt.Fprintf(c.stderr, "%d lines or files were skipped\n", c.bad)
	}
	fmt.Fprintln(c.stderr, "compare only with what was made in the same way:", version)
	return nil
}

// A markWriter writes marks as rows. A mark without features has no value.
type markWriter interface {
	write(id string, k *mark) error
	end() error
}

// newMarkWriter returns a writer for a path's format.
func newMarkWriter(w *cli.Output, o *options, version string) markWriter {
	minhash, wide := o.method.name == "minhash", o.method.bits == 128
	if input.FormatOf(o.out, "") == "csv" {
		t := &csvMarks{rows: csv.NewWriter(w), minhash: minhash, wide: wide}
		switch {
		case minhash:
			t.rows.Write([]string{"id", "signature"})
		case wide:
			t.rows.Write([]string{"id", "fingerprint", "fingerprint_high"})
		default:
			t.rows.Write([]string{"id", "fingerprint"})
		}
		return t
	}
	b := bufio.NewWriterSize(w, 1<<20)
	rows := int64(1 << 20) // of a group, which is in memory
	if minhash {
		rows = int64(1<<24) / int64(o.method.minhash.Values)
	}
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.KeyValueMetadata("neardup.version", version), parquet.MaxRowsPerRowGroup(rows)}
	switch {
	case minhash:
		return &parquetMarks[signatureRow]{b, parquet.NewGenericWriter[signatureRow](b, options...), func(id string, k *mark) (r signatureRow) {
			r.ID = id
			if !k.empty {
				r.Signature = signed(k.more.sig)
			}
			return r
		}}
	case wide:
		return &parquetMarks[wideRow]{b, parquet.NewGenericWriter[wideRow](b, options...), func(id string, k *mark) wideRow {
			if k.empty {
				return wideRow{ID: id}
			}
			low, high := int64(k.fp.Lo), int64(k.fp.Hi)
			return wideRow{id, &low, &high}
		}}
	}
	return &parquetMarks[row]{b, parquet.NewGenericWriter[row](b, options...), func(id string, k *mark) row {
		if k.empty {
			return row{ID: id}
		}
		low := int64(k.fp.Lo)
		return row{id, &low}
	}}
}

// signed returns the values of a signature as signed integers with the same bits.
func signed(sig neardup.Signature) []int32 {
	list := make([]int32, len(sig))
	for i, v := range sig {
		list[i] = int32(v)
	}
	return list
}

// The rows of Parquet files.
type (
	row struct {
		ID          string `parquet:"id"`
		Fingerprint *int64 `parquet:"fingerprint,optional"`
	}
	wideRow struct {
		ID              string `parquet:"id"`
		Fingerprint     *int64 `parquet:"fingerprint,optional"`
		FingerprintHigh *int64 `parquet:"fingerprint_high,optional"`
	}
	signatureRow struct {
		ID        string  `parquet:"id"`
		Signature []int32 `parquet:"signature,optional,list"`
	}
)

type parquetMarks[R any] struct {
	b    *bufio.Writer
	rows *parquet.GenericWriter[R]
	of   func(id string, k *mark) R
}

func (t *parquetMarks[R]) write(id string, k *mark) error {
	_, err := t.rows.Write([]R{t.of(id, k)})
	return err
}

func (t *parquetMarks[R]) end() error { return errors.Join(t.rows.Close(), t.b.Flush()) }

// csvMarks writes CSV. A signature is a list as PostgreSQL reads and writes it.
type csvMarks struct {
	rows          *csv.Writer
	minhash, wide bool
	buf           []byte
}

func (t *csvMarks) write(id string, k *mark) error {
	cells := []string{id, ""}
	if t.wide && !t.minhash {
		cells = append(cells, "")
	}
	switch {
	case k.empty:
	case t.minhash:
		t.buf = append(t.buf[:0], '{')
		for i, v := range k.more.sig {
			if i > 0 {
				t.buf = append(t.buf, ',')
			}
			t.buf = strconv.AppendInt(t.buf, int64(int32(v)), 10)
		}
		cells[1] = string(append(t.buf, '}'))
	default:
		cells[1] = strconv.FormatInt(int64(k.fp.Lo), 10)
		if t.wide {
			cells[2] = strconv.FormatInt(int64(k.fp.Hi), 10)
		}
	}
	return t.rows.Write(cells)
}

func (t *csvMarks) end() error {
	t.rows.Flush()
	return t.rows.Error()
}
