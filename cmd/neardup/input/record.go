package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

// This file reads records: rows of tables and objects of JSON.

// Record returns the id and the record of an item. The fields of objects within objects have the names of both
// with a point between.
func (it *Item) Record(s *Source, cols Columns) (d Document, rec neardup.Record, err error) {
	if it.Err != nil {
		return d, nil, it.Err
	}
	rec = neardup.Record{}
	switch {
	case it.Row != nil:
		for i, name := range s.Header.Names {
			rec[name] = it.Row[i]
		}
	case s.Format == "jsonl" || s.Format == "json":
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(it.Raw, &fields); err != nil {
			return d, nil, fmt.Errorf("not a JSON object: %w", err)
		}
		if err := flatten(rec, "", fields); err != nil {
			return d, nil, err
		}
	default:
		return d, nil, fmt.Errorf("a file of the format %s has no records", s.Format)
	}
	id, ok := rec[cols.ID]
	switch {
	case !ok && cols.IDGiven:
		return d, nil, fmt.Errorf("no field %q; the fields are %q", cols.ID, slices.Sorted(maps.Keys(rec)))
	case !utf8.ValidString(id):
		return d, nil, errors.New("the id is not UTF-8")
	}
	d.ID, d.ByPlace = id, !ok
	delete(rec, cols.ID)
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

// TextOf returns the columns of a record as one text. Equal records have equal ones.
func TextOf(rec neardup.Record) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rec)) {
		fmt.Fprintf(&b, "%d:%s%d:%s", len(name), name, len(rec[name]), rec[name])
	}
	return b.String()
}

// WholeText returns the id of an item, "" if it has none of its own, and its text with the title, or its record as one text. They are only valid until
// the next call with x.
func (it *Item) WholeText(s *Source, cols Columns, x *Decoder) (id, text string, err error) {
	var d Document
	if cols.IsRecord {
		var rec neardup.Record
		d, rec, err = it.Record(s, cols)
		text = TextOf(rec)
	} else {
		d, err = it.Parse(s, cols, x)
		text = d.Whole()
	}
	if !d.ByPlace && d.ID != s.id() { // which is the id of a text in a file of its own
		id = d.ID
	}
	return id, text, err
}
