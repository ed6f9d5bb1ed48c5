package input

import (
	"errors"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file gives the fields of an item with their types.

// Typed returns the fields of an item with their values.
func (it *Item) Typed(s *Source, cols Columns) (fields rows.Struct, err error) {
	switch {
	case it.changed != nil:
		fields = it.changed
	case it.Parquet != nil:
		reader, err := s.Header.Parquet.reader()
		if err != nil {
			return nil, err
		}
		for i, v := range reader.Read(it.Parquet) {
			fields = append(fields, rows.Field{Name: s.Header.Fields[i], Value: v})
		}
	case it.values != nil:
		for i, name := range s.Header.Fields {
			fields = append(fields, rows.Field{Name: name, Value: it.values[i]})
		}
	case it.Row != nil:
		for i, name := range s.Header.Names {
			fields = append(fields, rows.Field{Name: name, Value: it.Row[i]})
		}
	case s.Format == "jsonl" || s.Format == "json":
		v, err := rows.ParseJSON(it.Raw)
		if err != nil {
			return nil, err
		}
		if fields, _ = v.(rows.Struct); fields == nil {
			fields = rows.Struct{{Name: cols.Texts()[0], Value: v}} // a text without anything else
		}
	default:
		d, err := it.Parse(s, cols, &Decoder{})
		if err != nil {
			return nil, err
		}
		fields = rows.Struct{{Name: cols.ID, Value: d.ID}, {Name: cols.Texts()[0], Value: strings.Clone(d.Text)}} // a line is valid for a while only
	}
	return fields, nil
}

// ErrNoField says that the text of a document is not the value of one field.
var ErrNoField = errors.New("the text to change is not the value of one field")

// SetText gives an item another text instead of the one that it has: a line gets it, and otherwise the field. It returns ErrNoField if that has not
// the text.
func (it *Item) SetText(s *Source, cols Columns, was, text string) error {
	if s.Format == "lines" {
		it.Raw, it.Bytes = []byte(text), nil
		return nil
	}
	fields, err := it.Typed(s, cols)
	if err != nil {
		return err
	}
	if IsTable(s.Format) && len(s.Header.text) == 1 && it.Row != nil {
		if at := s.Header.text[0]; at < len(it.Row) && it.Row[at] == was {
			it.Row = slices.Clone(it.Row)
			it.Row[at] = text
		}
	}
	it.changed = slices.Clone(fields)
	if !setField(it.changed, strings.Split(cols.Text, "."), was, text) && !setField(it.changed, []string{cols.Text}, was, text) {
		return ErrNoField
	}
	return nil
}

// setField sets the field at a path that has a certain text.
func setField(fields rows.Struct, path []string, was, text string) bool {
	i := slices.IndexFunc(fields, func(f rows.Field) bool { return f.Name == path[0] })
	if i < 0 {
		return false
	}
	if len(path) == 1 {
		value, _ := fields[i].Value.(string)
		if value == was {
			fields[i].Value = text
		}
		return value == was
	}
	below, isStruct := fields[i].Value.(rows.Struct)
	if !isStruct {
		return false
	}
	below = slices.Clone(below)
	fields[i].Value = below
	return setField(below, path[1:], was, text)
}

// IsChanged reports whether SetText has changed a field.
func (it *Item) IsChanged() bool { return it.changed != nil }
