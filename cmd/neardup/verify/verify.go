// Package verify checks an audit of the program against the inputs: whether every document that was removed has a near-duplicate that is
// kept. It shares nothing with what found them. Of this module it uses only how inputs are read. Words are cut and counted by code of its own,
// by the definition in docs/program.md, so a mistake in the one shows in the other.
package verify

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// A Row is what an audit says of one removed document.
type Row struct {
	Removed, At, Kept, KeptAt          string
	Shared                             string // of the words of both texts, from 0 to 1, with four digits
	Text, KeptText, Source, KeptSource string // their SHA-256
}

// A Source is a file, with the name that it has in the audit, and its hash; "" for what is no file.
type Source struct {
	*input.Source
	Name, Sum string
}

// Audit checks an audit. It calls say with each source that is not the one that was read, and with each row: what is wrong with it, or "".
// least is the smallest share of words that two texts must have in common, besides being what the audit says. The error is that of a file.
func Audit(rows []Row, sources []Source, cols input.Columns, maxLine int, least float64, say func(row Row, what string)) (err error) {
	c := &checker{texts: map[string]*text{}, sums: map[string]string{}, removed: map[string]int{}}
	for _, row := range rows {
		c.texts[row.At], c.texts[row.KeptAt] = &text{}, &text{}
		c.sums[PathOf(row.At)], c.sums[PathOf(row.KeptAt)] = row.Source, row.KeptSource
		c.removed[row.At]++
	}
	if c.file, err = input.Temporary(); err != nil {
		return err
	}
	defer c.file.Close()
	c.w = bufio.NewWriter(c.file)
	for n := range sources {
		if stated := c.sums[sources[n].Name]; stated != "" && stated != sources[n].Sum {
			say(Row{Removed: sources[n].Path}, "the file has changed: its SHA-256 is different")
		}
		if err := c.source(n, sources[n], cols, maxLine); err != nil {
			return err
		}
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	for i := 0; i < len(rows) && err == nil; i++ {
		what := ""
		what, err = c.check(&rows[i], least)
		say(rows[i], what)
	}
	return err
}

// check returns what does not hold of a row, or "".
func (c *checker) check(row *Row, least float64) (what string, err error) {
	a, b := c.texts[row.At], c.texts[row.KeptAt]
	switch {
	case c.removed[row.At] > 1:
		return "it is removed twice", nil
	case !a.found:
		return "it is not among the inputs", nil
	case a.hash != row.Text:
		return "its text has changed", nil
	case !a.is(row.Removed):
		return "the document there has the id " + a.id, nil
	case row.KeptAt == "" && row.KeptText+row.Shared+row.KeptSource != "":
		return "the audit does not say where the kept document is", nil
	case row.KeptAt == "":
		return "", nil
	case c.removed[row.KeptAt] > 0:
		return row.Kept + " is removed too", nil
	case !b.found:
		return row.Kept + ", which is kept, is not among the inputs", nil
	case !b.is(row.Kept):
		return "the document at " + row.KeptAt + " has the id " + b.id, nil
	case b.hash != row.KeptText:
		return "the text of " + row.Kept + ", which is kept, has changed", nil
	}
	shared, err := c.compare(a, b)
	if text := fmt.Sprintf("%.4f", shared); text != row.Shared {
		what = fmt.Sprintf("it has %s of the words in common with %s, but the audit says %s", text, row.Kept, row.Shared)
	} else if shared < least {
		what = fmt.Sprintf("it has only %s of the words in common with %s", text, row.Kept)
	}
	return what, err
}

// is reports whether a document may have an id: its own, or that with a number behind it (--same-id number).
func (t *text) is(id string) bool {
	rest, ok := strings.CutPrefix(id, t.id)
	return ok && (t.id == "" || strings.Trim(rest, "-0123456789") == "")
}

// PathOf returns the path of the file in which a place is.
func PathOf(at string) string { return at[:max(strings.LastIndexByte(at, ':'), 0)] }

// A checker has what an audit names.
type checker struct {
	texts   map[string]*text  // by their places
	sums    map[string]string // of the files, by their paths
	removed map[string]int    // how often the document at a place is
	file    *os.File          // with the texts
	w       *bufio.Writer
	end     int64
}

type text struct {
	found    bool
	id, hash string // the id is "" if it has none of its own
	from, to int64  // in the file
}

// source takes the texts that the audit names from a source.
func (c *checker) source(n int, from Source, cols input.Columns, maxLine int) error {
	r, done, err := from.Open(os.Stdin, io.Discard)
	if err != nil {
		return err
	}
	defer done()
	var x input.Decoder
	var failed error
	err = from.Read(n, r, cols, maxLine, func(it input.Item) bool {
		t := c.texts[fmt.Sprintf("%s:%d", from.Name, it.Line)]
		if t == nil || it.Err != nil {
			return true
		}
		id, whole, err := it.WholeText(from.Source, cols, &x)
		if err != nil {
			return true // so it is not found
		}
		hash := sha256.Sum256([]byte(whole))
		*t = text{true, strings.Clone(id), hex.EncodeToString(hash[:]), c.end, c.end + int64(len(whole))}
		c.end = t.to
		_, failed = c.w.WriteString(whole)
		return failed == nil
	})
	return cmp.Or(failed, err)
}

// compare returns twice the number of words that two texts have in common, divided by the number of words of both.
func (c *checker) compare(a, b *text) (float64, error) {
	if a.hash == b.hash {
		return 1, nil
	}
	var words [2][]string
	for i, t := range []*text{a, b} {
		whole := make([]byte, t.to-t.from)
		if _, err := c.file.ReadAt(whole, t.from); err != nil {
			return 0, err
		}
		words[i] = cut(string(whole))
		slices.Sort(words[i])
	}
	x, y, common := words[0], words[1], 0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] < y[j]:
			i++
		case x[i] > y[j]:
			j++
		default:
			i, j, common = i+1, j+1, common+1
		}
	}
	return float64(2*common) / float64(max(len(x)+len(y), 1)), nil
}

// spaceless are the scripts that write words without spaces between them.
var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// cut returns the words of a text: the longest runs of letters, marks and digits, in lower case, and each character of a spaceless script.
func cut(whole string) []string {
	var b strings.Builder
	for _, r := range whole {
		switch isWord := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r); {
		case isWord && unicode.In(r, spaceless...):
			b.WriteString(" " + string(r) + " ")
		case isWord:
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}
