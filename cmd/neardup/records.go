package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// This file reads records: rows of tables and objects of JSON, for the command records. The rest of the command is
// that of dedup.

// record returns the id and the record of an item. The fields of objects within objects have the names of both
// with a point between.
func (it *item) record(s *source, cols columns) (d document, rec neardup.Record, err error) {
	if it.err != nil {
		return d, nil, it.err
	}
	rec = neardup.Record{}
	switch {
	case it.row != nil:
		for i, name := range s.header.names {
			rec[name] = it.row[i]
		}
	case s.format == "jsonl" || s.format == "json":
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(it.raw, &fields); err != nil {
			return d, nil, fmt.Errorf("not a JSON object: %w", err)
		}
		if err := flatten(rec, "", fields); err != nil {
			return d, nil, err
		}
	default:
		return d, nil, fmt.Errorf("a file of the format %s has no records", s.format)
	}
	id, ok := rec[cols.id]
	switch {
	case !ok && cols.idGiven:
		return d, nil, fmt.Errorf("there is no %q among the fields %q", cols.id, slices.Sorted(maps.Keys(rec)))
	case !utf8.ValidString(id):
		return d, nil, errors.New("the id is not UTF-8")
	}
	d.id, d.byPlace = id, !ok
	delete(rec, cols.id)
	return d, rec, it.identify(&d, s)
}

// flatten sets the columns of a record to the fields of an object.
func flatten(rec neardup.Record, before string, fields map[string]json.RawMessage) error {
	for name, raw := range fields {
		name = before + name
		switch text := string(raw); {
		case text == "null":
			rec[name] = ""
		case raw[0] == '{':
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(raw, &inner); err != nil {
				return err
			}
			if err := flatten(rec, name+".", inner); err != nil {
				return err
			}
		case raw[0] == '"':
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			rec[name] = text
		case raw[0] == '[':
			var list []string
			if json.Unmarshal(raw, &list) == nil {
				text = strings.Join(list, "\n")
			}
			rec[name] = text
		default:
			rec[name] = text
		}
	}
	return nil
}

// schema returns how the records are compared: as the user says, or as a sample of the rows shows.
func (c *collection) schema(o *options, stdin io.Reader) (*schema, error) {
	if o.schemaFile != "" {
		return readSchema(o.schemaFile)
	}
	var sample []neardup.Record
	var names []string
	seen := map[string]bool{}
	for n := range c.sources {
		s := &c.sources[n]
		r, closeSource, err := s.open(stdin, io.Discard)
		if err != nil {
			return nil, err
		}
		err = s.read(n, r, o.cols, o.maxLine, func(it item) bool {
			_, rec, err := it.record(s, o.cols)
			if err != nil {
				return true // loading says it
			}
			columns := slices.Sorted(maps.Keys(rec))
			if s.header != nil {
				columns = s.header.names
			}
			for _, name := range columns {
				if !seen[name] && name != o.cols.id {
					seen[name] = true
					names = append(names, name)
				}
			}
			sample = append(sample, rec)
			return len(sample) < schemaRows
		})
		closeSource()
		if err != nil && !o.skipBad {
			return nil, err
		}
	}
	return inferSchema(names, o.cols.id, slices.Values(sample)), nil
}

// textOf returns the columns of a record as one text. Equal records have equal ones.
func textOf(rec neardup.Record) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rec)) {
		fmt.Fprintf(&b, "%d:%s%d:%s", len(name), name, len(rec[name]), rec[name])
	}
	return b.String()
}
