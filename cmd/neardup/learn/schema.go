package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/records"
)

// This file says how the columns of records are compared: by a --schema, or by what the columns have.

// A schema has the options of columns, in their order. See [records.ParseField].
type schema struct {
	columns []schemaColumn
	said    bool // by the user
}

type schemaColumn struct {
	name    string
	options []string
}

// readSchema reads a schema file. It has one JSON object, whose keys are columns. A value is a text
// of options for [records.ParseField], or a list of such texts for a column that is used in several
// ways.
//
//	{"name": "chars3", "born": "date,weight=3", "notes": ["large", "whole,named"]}
func readSchema(path string) (*schema, error) {
	data, err := input.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	columns, offset, err := parseSchema(data)
	if err != nil {
		line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return &schema{columns, true}, nil
}

// parseSchema returns the columns of a schema, or an error and its position in data.
func parseSchema(data []byte) (columns []schemaColumn, offset int64, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	fail := func(err error) ([]schemaColumn, int64, error) {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, syntax.Offset, err
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = errors.New("the file ends in the middle of the object")
		}
		return nil, dec.InputOffset(), err
	}
	if t, err := dec.Token(); err != nil {
		return fail(err)
	} else if t != json.Delim('{') {
		return fail(errors.New("not a JSON object with columns"))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return fail(err)
		}
		name := t.(string)
		if seen[name] {
			return fail(fmt.Errorf("column %q occurs twice; give it one list of options", name))
		}
		seen[name] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fail(err)
		}
		options := make([]string, 1)
		if err := json.Unmarshal(raw, &options[0]); err != nil {
			if err := json.Unmarshal(raw, &options); err != nil {
				return fail(fmt.Errorf("column %q: the value must be a string with options, or a list of such strings", name))
			}
		}
		c := schemaColumn{name, options}
		if _, err := c.fields(); err != nil {
			return fail(err)
		}
		columns = append(columns, c)
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fail(errors.New("unexpected data after the object"))
	}
	return columns, 0, nil
}

// fields returns the fields of a column: none if it is to be ignored.
func (c *schemaColumn) fields() (fields []neardup.Field, err error) {
	for _, o := range c.options {
		if o == "-" {
			continue
		}
		f, err := records.ParseField(c.name, o)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// fields returns the fields of all columns.
func (s *schema) fields() (fields []neardup.Field) {
	for i := range s.columns {
		f, _ := s.columns[i].fields() // readSchema has checked them
		fields = append(fields, f...)
	}
	return fields
}

// String returns the schema as JSON, as readSchema reads it.
func (s *schema) String() string {
	var b strings.Builder
	b.WriteString("{")
	for i, c := range s.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		var value any = c.options
		if len(c.options) == 1 {
			value = c.options[0]
		}
		name, _ := output.Marshal(c.name)
		options, _ := output.Marshal(value)
		fmt.Fprintf(&b, "%s: %s", name, options)
	}
	return b.String() + "}"
}

// A columnSample is what a sample of the values of a column shows.
type columnSample struct {
	name            string
	values          int // that are not empty
	words           int
	letters, digits int
	dates, phones   int
	distinct        map[string]bool
}

var (
	looksLikeDate  = regexp.MustCompile(`^\s*(\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2} \p{L}+ \d{4}|\p{L}+ \d{1,2}, \d{4})([T ][\d:.+Z-]*)?\s*$`)
	looksLikePhone = regexp.MustCompile(`^\s*\+?[\d()/. -]{7,20}\s*$`)
	namesPhone     = regexp.MustCompile(`(?i)phone|^tel|mobile|fax|电话|手机`)
	noDigit        = regexp.MustCompile(`\D`)
)

// add takes note of a value.
func (c *columnSample) add(value string) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	c.values++
	if c.distinct == nil {
		c.distinct = map[string]bool{}
	}
	c.distinct[value] = true
	for range (neardup.Words{}).Tokens(value) {
		c.words++
	}
	for _, r := range value {
		if unicode.IsDigit(r) {
			c.digits++
		} else if unicode.IsLetter(r) {
			c.letters++
		}
	}
	if looksLikeDate.MatchString(value) {
		c.dates++
	}
	if n := len(noDigit.ReplaceAllString(value, "")); looksLikePhone.MatchString(value) && n >= 7 && n <= 15 {
		c.phones++
	}
}

// isText reports whether the values are texts of more than a few words.
func (c *columnSample) isText() bool { return c.words > 8*c.values }

// options says how a column is compared, of which a sample of rows has been seen, in a table that has texts or not:
//
//	dates, if nearly all values are, and telephone numbers, if the name of the column says so too
//	words, if the table has texts: these decide, and other columns must not outweigh them
//	trigrams otherwise, which do not mind typing errors, and words as well if the values have several
func (c *columnSample) options(hasTexts bool) []string {
	nearlyAll := max(c.values*95/100, 1)
	switch {
	case c.values == 0:
		return []string{"-"}
	case c.dates >= nearlyAll:
		return []string{"date"}
	case c.phones >= nearlyAll && namesPhone.MatchString(c.name):
		return []string{"phone"}
	case hasTexts:
		return []string{"words"}
	case len(c.distinct) <= 50 && len(c.distinct)*20 <= c.values: // names of states, and the like
		return []string{"whole"}
	case c.words >= 2*c.values && c.letters > c.digits:
		return []string{"words", "chars3"}
	}
	return []string{"chars3"}
}

// schemaRows is how many rows show what the columns have.
const schemaRows = 20_000

// inferSchema returns the schema of rows. names are the columns in their order.
func inferSchema(names []string, id string, rows iter.Seq[neardup.Record]) *schema {
	samples := make([]columnSample, len(names))
	for rec := range rows {
		for i, name := range names {
			samples[i].add(rec[name])
		}
	}
	s, hasTexts := &schema{}, false
	for i, name := range names {
		samples[i].name = name
		hasTexts = hasTexts || samples[i].isText()
	}
	for i, name := range names {
		if name != id {
			s.columns = append(s.columns, schemaColumn{name, samples[i].options(hasTexts)})
		}
	}
	return s
}

// schema returns how the records are compared: as the user says, or as a sample of the rows shows.
func (c *call) schema() (*schema, error) {
	o := c.o
	if o.SchemaFile != "" {
		return readSchema(o.SchemaFile)
	}
	var sample []neardup.Record
	var names []string
	seen := map[string]bool{}
	for n := range c.Sources {
		s := &c.Sources[n]
		r, closeSource, err := s.Open(c.Stdin, io.Discard)
		if err != nil {
			return nil, err
		}
		err = s.Read(n, r, o.Cols, o.MaxLine, func(it input.Item) bool {
			_, rec, err := it.Record(s, o.Cols)
			if err != nil {
				return true // loading says it
			}
			columns := slices.Sorted(maps.Keys(rec))
			if s.Header != nil {
				columns = s.Header.Names
			}
			for _, name := range columns {
				if !seen[name] && name != o.Cols.ID {
					seen[name] = true
					names = append(names, name)
				}
			}
			sample = append(sample, rec)
			return len(sample) < schemaRows
		})
		closeSource()
		if err != nil && !o.SkipBad {
			return nil, err
		}
	}
	return inferSchema(names, o.Cols.ID, slices.Values(sample)), nil
}
