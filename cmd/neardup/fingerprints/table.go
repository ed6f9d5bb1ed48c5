// Package fingerprints writes a table of fingerprints or signatures (the command fingerprint), for a database or a warehouse.
package fingerprints

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/learn"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup/shard"
)

// Write writes the table of all documents.
func Write(o *options.Options, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) error {
	defer outs.Discard()
	start := time.Now()
	fp, err := o.Fingerprinter()
	if err != nil {
		return err
	}
	weights, err := o.Weighting()
	if err != nil {
		return err
	}
	c, err := corpus.Open(o, stdin, stderr)
	if err != nil {
		return err
	}
	if weights.NeedsStatistics && !cli.Exists(o.Stats) {
		defer c.CloseCopies()
		if err := c.KeepCopies(true); err != nil {
			return err
		}
	}
	var out *cli.Output
	if _, err := outs.CreateAll(stdout, c.Log.Errors, cli.Path{Name: o.Out, To: &out}); err != nil {
		return err
	}
	if err := learn.Weight(c, o, fp, outs); err != nil {
		return err
	}
	marker := load.Marker{Method: &o.Method, Fingerprinter: fp}
	version, err := sign(&marker, o)
	if err != nil {
		return err
	}
	w, err := newMarkWriter(out, o, version)
	if err != nil {
		return err
	}
	without, err := writeAll(w, &load.Loader{Corpus: c, Options: o, Marker: marker, Drops: true})
	if err != nil {
		return err
	}
	if err := outs.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(c.Log.Notes, "%s, %d of them without features; %.1f MB of text in %.2f s\n", cli.Count(c.Docs.Len(), "document", "documents"), without, float64(c.Read.Bytes)/1e6, time.Since(start).Seconds())
	if c.Read.Bad > 0 {
		fmt.Fprintf(c.Log.Notes, "lines or files skipped: %d\n", c.Read.Bad)
	}
	fmt.Fprintln(c.Log.Notes, "compare only with fingerprints or signatures of the same version:", version)
	return nil
}

// writeAll loads the documents, and writes their marks. It returns how many have no features.
func writeAll(w markWriter, l *load.Loader) (without int, err error) {
	l.Take = func(some []load.Taken) error {
		for _, d := range some {
			if d.Content.IsFeatureless() {
				without++
			}
			if err := w.write(d.ID, &d.Content.Mark); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.Run(); err != nil {
		return 0, err
	}
	return without, w.end()
}

// sign returns what marks depend on, and lets the marker make the signatures of the method auto.
func sign(m *load.Marker, o *options.Options) (version string, err error) {
	switch o.Method.Name {
	case "auto":
		m.Signer, err = shard.NewSigner(o.Deduplicator(m.Fingerprinter, nil))
		return "auto " + options.ProgramVersion(), err
	case "minhash":
		return o.Method.MinHash.Version(m.Fingerprinter)
	}
	return m.Fingerprinter.Version()
}

// A markWriter writes marks as rows. A mark without features has no value.
type markWriter interface {
	write(id string, k *corpus.Mark) error
	end() error
}

// newMarkWriter returns a writer for a path's format.
func newMarkWriter(w *cli.Output, o *options.Options, version string) (markWriter, error) {
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

func (t *csvMarks) write(id string, k *corpus.Mark) error {
	cells := []string{id, ""}
	if t.wide && !t.minhash || t.auto {
		cells = append(cells, "")
	}
	switch {
	case t.auto:
		long, short := k.More.Levels.Values()
		cells[1], cells[2] = t.list(long), t.list(short)
	case k.Empty:
	case t.minhash:
		cells[1] = t.list(Signed(k.More.Signature))
	default:
		cells[1] = strconv.FormatInt(int64(k.Fingerprint.Lo), 10)
		if t.wide {
			cells[2] = strconv.FormatInt(int64(k.Fingerprint.Hi), 10)
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
