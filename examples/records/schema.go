package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
	"github.com/neardup/neardup/records"
)

// This file reads a -schema: the fields to compare.

// readSchema reads a schema file. It has one JSON object, whose keys are columns. A value is a text
// of options for [records.ParseField], or a list of such texts for a column that is used in several
// ways.
//
//	{"name": "chars3", "born": "date,weight=3", "notes": ["large", "whole,named"]}
func readSchema(path string) ([]neardup.Field, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	fields, offset, err := parseSchema(data)
	if err != nil {
		line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return fields, nil
}

// parseSchema returns the fields of a schema, or an error and its position in data.
func parseSchema(data []byte) (fields []neardup.Field, offset int64, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	fail := func(err error) ([]neardup.Field, int64, error) {
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
				return fail(fmt.Errorf("column %q: the value must be a text with options, or a list of such texts", name))
			}
		}
		for _, o := range options {
			if o == "-" { // ignore the column
				continue
			}
			f, err := records.ParseField(name, o)
			if err != nil {
				return fail(errors.New(plain(err)))
			}
			fields = append(fields, f)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fail(errors.New("there is something after the object"))
	}
	return fields, 0, nil
}
