package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/records"
)

// This file has the sets that are compared by columns, to which the function for records is fitted. Their columns are split as
// "neardup records --schema -" finds it. The four bibliographies are also sets of texts.

// A table is a set of records, and how columns are compared, with one of the options of records.ParseField for each field.
type table struct {
	set     string
	columns map[string][]string
}

// bibliography are the columns of a literature search.
var bibliography = map[string][]string{
	"ENTRYTYPE": {"words"}, "author": {"words"}, "journal": {"words"}, "number": {"words"}, "pages": {"words"},
	"title": {"words"}, "volume": {"words"}, "year": {"words"}, wholeText: {"words"}, wholeTitle: {"words"},
}

// The text and the title of a document are columns too, if it has them.
const wholeText, wholeTitle = "the text", "the title"

var tables = []table{
	{"rec-febrl3", map[string][]string{
		"address_1": {"words", "chars3"}, "address_2": {"chars3"}, "date_of_birth": {"chars3"}, "given_name": {"chars3"}, "postcode": {"chars3"},
		"soc_sec_id": {"chars3"}, "state": {"whole"}, "street_number": {"chars3"}, "suburb": {"chars3"}, "surname": {"chars3"},
	}},
	{"rec-restaurant", map[string][]string{"address": {"words", "chars3"}, "city": {"chars3"}, "cuisine": {"chars3"}, "name": {"words", "chars3"}}},
	{"en-records-stroke", bibliography},
	{"en-records-haematology", bibliography},
	{"en-records-respiratory", bibliography},
	{"en-records-cytology", bibliography},
}

// name returns the name of the collection, which is another one than that of its texts.
func (t *table) name() string { return t.set + ":columns" }

// namesOfTables returns the names of all tables.
func namesOfTables() (names []string) {
	for i := range tables {
		names = append(names, tables[i].name())
	}
	return names
}

// read reads the records and their truth.
func (t *table) read(data string) (*collection, error) {
	docs, err := dataset.Read(filepath.Join(data, t.set, "docs.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	c := &collection{name: t.name(), set: t.name(), kind: columns}
	for _, name := range slices.Sorted(maps.Keys(t.columns)) {
		for _, options := range t.columns[name] {
			f, err := records.ParseField(name, options)
			if err != nil {
				return nil, err
			}
			c.fields = append(c.fields, f)
		}
	}
	for _, d := range docs {
		rec := maps.Clone(d.Fields)
		if d.Text != "" {
			rec[wholeText] = d.Text
		}
		if d.Title != "" {
			rec[wholeTitle] = d.Title
		}
		c.records = append(c.records, rec)
	}
	c.truth, err = dataset.ReadTruth(filepath.Join(data, t.set, "truth.tsv"), docs)
	return c, err
}
