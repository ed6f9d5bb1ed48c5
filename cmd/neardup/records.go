package main

import (
	"io"
	"maps"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file reads records: rows of tables and objects of JSON, for the command records. The rest of the command is
// that of dedup.

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
		r, closeSource, err := s.Open(stdin, io.Discard)
		if err != nil {
			return nil, err
		}
		err = s.Read(n, r, o.cols, o.maxLine, func(it input.Item) bool {
			_, rec, err := it.Record(s, o.cols)
			if err != nil {
				return true // loading says it
			}
			columns := slices.Sorted(maps.Keys(rec))
			if s.Header != nil {
				columns = s.Header.Names
			}
			for _, name := range columns {
				if !seen[name] && name != o.cols.Id {
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
	return inferSchema(names, o.cols.Id, slices.Values(sample)), nil
}
