package input

import "github.com/neardup/neardup/cmd/neardup/rows"

// This file gives the fields of an item with their types.

// Typed returns the fields of an item with their values.
func (it *Item) Typed(s *Source, cols Columns) (fields rows.Struct, err error) {
	switch {
	case it.Parquet != nil:
		for i, v := range s.Header.reader.Read(it.Parquet) {
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
		fields, _ = v.(rows.Struct)
	default:
		d, err := it.Parse(s, cols, &Decoder{})
		if err != nil {
			return nil, err
		}
		fields = rows.Struct{{Name: cols.ID, Value: d.ID}, {Name: cols.Texts()[0], Value: d.Text}}
	}
	return fields, nil
}
