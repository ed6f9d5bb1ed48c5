package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file writes what was found: pairs, groups and the audit, each as a table. A table is JSON lines or CSV if
// its name says so, and otherwise has values separated by tabs, without a header.

// A table writes rows.
type table struct {
	w      *cli.Output
	format string
	names  []string
	rows   *csv.Writer
	buf    []string
}

// newTable returns a table with some columns, in the format that a path says.
func newTable(w *cli.Output, path string, names ...string) *table {
	t := &table{w: w, format: formatOf(path, ""), names: names}
	if t.format == "csv" {
		t.rows = csv.NewWriter(w)
		t.rows.Write(names)
	}
	return t
}

// row writes a row. Values are strings, numbers, or nil for what is not known.
func (t *table) row(values ...any) error {
	if t.format == "jsonl" {
		for i, v := range values {
			separator := ","
			if i == 0 {
				separator = "{"
			}
			b, err := marshal(v)
			if err != nil {
				return err
			}
			fmt.Fprintf(t.w, "%s%q:%s", separator, t.names[i], b)
		}
		_, err := t.w.WriteString("}\n")
		return err
	}
	t.buf = t.buf[:0]
	for _, v := range values {
		text := ""
		if v != nil {
			text = fmt.Sprint(v)
		}
		if t.rows != nil {
			text = harmless(text)
		} else {
			text = cli.Escape(text)
		}
		t.buf = append(t.buf, text)
	}
	if t.rows != nil {
		return t.rows.Write(t.buf)
	}
	_, err := t.w.WriteString(strings.Join(t.buf, "\t") + "\n")
	return err
}

// end writes what is left.
func (t *table) end() error {
	if t.rows == nil {
		return nil
	}
	t.rows.Flush()
	return t.rows.Error()
}

// harmless returns the text of a cell so that a spreadsheet does not take it for a formula: with ' before it if it
// begins like one, and is no number.
func harmless(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if cell[0] == '-' && json.Valid([]byte(cell)) { // a number
		return cell
	}
	return "'" + cell
}

// marshal returns a value as JSON, without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// sortPairs sorts the pairs by the ids. In a pair the smaller id comes first, but a new document always comes
// before an old one.
func (c *collection) sortPairs() {
	byID := make([]uint32, c.docs.Len())
	for i := range byID {
		byID[i] = uint32(i)
	}
	slices.SortFunc(byID, func(i, j uint32) int {
		return cmp.Or(strings.Compare(c.docs.At(i).id, c.docs.At(j).id), cmp.Compare(i, j))
	})
	rank := make([]uint32, len(byID))
	for r, i := range byID {
		rank[i] = uint32(r)
	}
	for n, p := range c.pairs {
		iOld, jOld := int(p.i) < c.old, int(p.j) < c.old
		if iOld && !jOld || iOld == jOld && rank[p.i] > rank[p.j] {
			c.pairs[n].i, c.pairs[n].j = p.j, p.i
		}
	}
	slices.SortFunc(c.pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(rank[p.i], rank[q.i]), cmp.Compare(rank[p.j], rank[q.j]))
	})
}

// writePairs writes the two ids, the value and the kind of each pair.
func (c *collection) writePairs(w *cli.Output, path string) error {
	c.sortPairs()
	names := []string{"a", "b", c.method.valueName()}
	if c.exact != nil {
		names = append(names, "kind", "probability")
	}
	t := newTable(w, path, names...)
	for _, p := range c.pairs {
		values := []any{c.docs.At(p.i).id, c.docs.At(p.j).id, json.Number(c.method.show(p.value))}
		if c.exact != nil {
			values = append(values, p.kind.String(), json.Number(fmt.Sprintf("%.4f", p.probability)))
		}
		if err := t.row(values...); err != nil {
			return err
		}
	}
	return t.end()
}

// writeClusters writes the id of each new document and the id of the document that its group keeps,
// in the order of the input.
func (c *collection) writeClusters(w *cli.Output, path string) error {
	t := newTable(w, path, "id", "kept")
	for i := c.old; i < c.docs.Len(); i++ {
		if err := t.row(c.doc(i).id, c.doc(int(c.cluster[i])).id); err != nil {
			return err
		}
	}
	return t.end()
}

// readClusters calls use with each id in a file that writeClusters wrote, and with that of the document which is kept, both escaped as in a table
// without a header.
func readClusters(path string, use func(id, kept string) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return cli.InFile(path, err)
	}
	s := source{path: path, format: formatOf(path, ""), info: info}
	cols := columns{id: "id", idGiven: true, text: "kept"}
	if s.format != "csv" && s.format != "jsonl" {
		s.format = "lines"
	}
	r, finish, err := s.open(nil, io.Discard)
	if err != nil {
		return err
	}
	defer finish()
	var x decoder
	var wrong error
	err = s.read(0, r, cols, maxID*8, func(it item) bool {
		d, err := it.parse(&s, cols, &x)
		if err == nil && s.format == "lines" {
			var isRow bool
			if d.id, d.text, isRow = strings.Cut(d.text, "\t"); !isRow {
				err = errors.New("not two ids with a tab between, as --clusters writes them")
			}
		} else if err == nil {
			d.id, d.text = cli.Escape(unharmed(d.id)), cli.Escape(unharmed(d.text))
		}
		if err == nil {
			err = use(strings.Clone(d.id), strings.Clone(d.text))
		}
		if err != nil {
			wrong = fmt.Errorf("%s:%d: %w", path, it.line, err)
		}
		return err == nil
	})
	return cmp.Or(wrong, err)
}

// unharmed returns a cell as it was before harmless.
func unharmed(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && rest != harmless(rest) {
		return rest
	}
	return cell
}

// writeAudit writes a row for each document that is removed: which one is kept in its place, how similar they are,
// and from which files and with which settings that was found. The similarity is not known if other documents
// connect the two (--group chains), and the place is not known of a document of an earlier call.
func (c *collection) writeAudit(w *cli.Output, path, settings string) error {
	sums := make(map[int32]any, len(c.sources))
	for i := range c.sources {
		if sum, err := c.sources[i].sum(); err != nil {
			return err
		} else if sum != "" {
			sums[int32(i)] = sum
		}
	}
	t := newTable(w, path, "removed", "at", "kept", "kept_at", c.method.valueName(), "kind", "probability", "sha256", "kept_sha256", "settings")
	for i := c.old; i < c.docs.Len(); i++ {
		root := int(c.cluster[i])
		if root == i {
			continue
		}
		doc, kept := c.doc(i), c.doc(root)
		var value, kind, probability any
		if p, ok := c.like[i]; ok && p.probability > 0 {
			value, kind, probability = json.Number(c.method.show(p.value)), p.kind.String(), json.Number(fmt.Sprintf("%.4f", p.probability))
		} else if ok && c.exact == nil {
			value = json.Number(c.method.show(p.value))
		}
		var keptAt any
		if kept.place != noPlace {
			keptAt = c.at(kept.place)
		}
		if err := t.row(doc.id, c.at(doc.place), kept.id, keptAt, value, kind, probability, sums[doc.source], sums[kept.source], settings); err != nil {
			return err
		}
	}
	return t.end()
}

// sum returns the SHA-256 of a file, or "" for what is no file.
func (s *source) sum() (string, error) {
	if !s.regular() {
		return "", nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return "", cli.InFile(s.path, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", cli.InFile(s.path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// withFields adds fields with texts to a JSON object.
func withFields(object []byte, names, values []string) []byte {
	line := slices.Clone(bytes.TrimRight(object, " \t\r\n"))
	line = bytes.TrimRight(line[:len(line)-1], " \t\r\n")
	for i, name := range names {
		if len(line) > 1 || i > 0 {
			line = append(line, ',')
		}
		line = rows.AppendJSON(append(rows.AppendJSON(line, name), ':'), values[i])
	}
	return append(line, '}')
}

// oneLine returns a JSON value without the line ends between its parts.
func oneLine(value []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}
