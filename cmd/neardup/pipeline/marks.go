package pipeline

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup/shard"
)

// This file writes a table of fingerprints or signatures.

// Fingerprint writes the table of all documents.
func (c *collection) Fingerprint(o *Options, outs *cli.Outputs, stdin io.Reader) error {
	start := time.Now()
	fp, weights, err := c.prepare(o, stdin)
	if err != nil {
		return err
	}
	if weights.statistics && !Exists(o.Stats) {
		defer c.closeCopies()
		if err := c.keepCopies(stdin, true); err != nil {
			return err
		}
	}
	var out *cli.Output
	if _, err := outs.CreateAll(os.Stdout, c.errors, cli.Path{Name: o.Out, To: &out}); err != nil {
		return err
	}
	if err := c.weigh(o, weights, fp, outs, stdin); err != nil {
		return err
	}
	version, err := c.markVersion(o, fp)
	if err != nil {
		return err
	}
	w, err := newMarkWriter(out, o, version)
	if err != nil {
		return err
	}
	n, without := 0, 0
	c.take = func(d *stored, _ *batch, _ int) error {
		n++
		if d.content.isFeatureless() {
			without++
		}
		return w.write(d.ID, &d.content.mark)
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

// markVersion returns what marks depend on, and makes the signer if there is to be one.
func (c *collection) markVersion(o *Options, fp *neardup.Fingerprinter) (version string, err error) {
	switch o.Method.Name {
	case "auto":
		c.signer, err = shard.NewSigner(o.deduplicator(fp, nil))
		return "auto " + ProgramVersion(), err
	case "minhash":
		return o.Method.minhash.Version(fp)
	}
	return fp.Version()
}

// isFeatureless reports whether a content has nothing to compare.
func (t *content) isFeatureless() bool {
	return t.empty || t.more != nil && t.more.levels != nil && t.more.levels.IsEmpty()
}

// A markWriter writes marks as rows. A mark without features has no value.
type markWriter interface {
	write(id string, k *mark) error
	end() error
}

// newMarkWriter returns a writer for a path's format.
func newMarkWriter(w *cli.Output, o *Options, version string) (markWriter, error) {
	minhash, wide, auto := o.Method.Name == "minhash", o.Method.Bits == 128, o.Method.Name == "auto"
	if input.FormatOf(o.Out, "") == "csv" {
		t := &csvMarks{rows: csv.NewWriter(w), minhash: minhash, wide: wide, auto: auto}
		switch {
		case auto:
			t.rows.Write([]string{"id", "long", "short"})
		case minhash:
			t.rows.Write([]string{"id", "signature"})
		case wide:
			t.rows.Write([]string{"id", "fingerprint", "fingerprint_high"})
		default:
			t.rows.Write([]string{"id", "fingerprint"})
		}
		return t, nil
	}
	return newParquetMarks(w, o, version)
}

// Signed returns the values of a signature as signed integers with the same bits.
func Signed(sig neardup.Signature) []int32 {
	list := make([]int32, len(sig))
	for i, v := range sig {
		list[i] = int32(v)
	}
	return list
}

// csvMarks writes CSV. A signature is a list as PostgreSQL reads and writes it.
type csvMarks struct {
	rows                *csv.Writer
	minhash, wide, auto bool
	buf                 []byte
}

func (t *csvMarks) write(id string, k *mark) error {
	cells := []string{id, ""}
	if t.wide && !t.minhash || t.auto {
		cells = append(cells, "")
	}
	switch {
	case t.auto:
		long, short := k.more.levels.Values()
		cells[1], cells[2] = t.list(long), t.list(short)
	case k.empty:
	case t.minhash:
		cells[1] = t.list(Signed(k.more.sig))
	default:
		cells[1] = strconv.FormatInt(int64(k.fp.Lo), 10)
		if t.wide {
			cells[2] = strconv.FormatInt(int64(k.fp.Hi), 10)
		}
	}
	return t.rows.Write(cells)
}

// list writes a list, or nothing for one that is not there.
func (t *csvMarks) list(values []int32) string {
	if values == nil {
		return ""
	}
	t.buf = append(t.buf[:0], '{')
	for i, v := range values {
		if i > 0 {
			t.buf = append(t.buf, ',')
		}
		t.buf = strconv.AppendInt(t.buf, int64(v), 10)
	}
	return string(append(t.buf, '}'))
}

func (t *csvMarks) end() error {
	t.rows.Flush()
	return t.rows.Error()
}
