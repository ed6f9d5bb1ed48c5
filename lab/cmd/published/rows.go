package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
	"github.com/neardup/neardup/lab/dataset"
)

// This file reads rows of files that others made: values by the names of their columns, whatever their types. What is not there is an error
// with the number of the row, since a figure from columns that are not there would be worse than none.

// A row has the values of a row, and takes note of what is wrong.
type row struct {
	values map[string]any
	err    *error
}

func (r row) fail(format string, args ...any) {
	if *r.err == nil {
		*r.err = fmt.Errorf(format, args...)
	}
}

// text returns a text or a number of a column.
func (r row) text(name string) string {
	value, ok := r.values[name]
	text, isText := spelled(value)
	switch {
	case !ok || value == nil:
		r.fail("there is no %q", name)
	case !isText:
		r.fail("%q is %v, which is neither a text nor a number", name, value)
	}
	return text
}

// texts returns the texts or numbers of a list; null is an empty one.
func (r row) texts(name string) (all []string) {
	value, ok := r.values[name]
	if !ok {
		r.fail("there is no %q", name)
	}
	if value == nil {
		return nil
	}
	var list []any
	switch x := value.(type) {
	case []any: // of JSON
		list = x
	case rows.List:
		for _, item := range x {
			list = append(list, item)
		}
	default:
		r.fail("%q is no list", name)
	}
	for _, item := range list {
		text, ok := spelled(item)
		if !ok {
			r.fail("%q has %v, which is neither a text nor a number", name, item)
		}
		all = append(all, text)
	}
	return all
}

// spelled returns a text or a number as a text.
func spelled(value any) (text string, ok bool) {
	switch x := value.(type) {
	case string:
		return x, true
	case []byte:
		return string(x), true
	case float64: // of JSON
		return strconv.FormatFloat(x, 'f', -1, 64), true
	case rows.Number:
		return string(x), true
	}
	return "", false
}

// read calls use with the rows of a file. A file without rows is an error.
func read(path string, use func(row)) (err error) {
	n := 0
	take := func(values map[string]any) error {
		n++
		if use(row{values, &err}); err != nil {
			return fmt.Errorf("%s: row %d: %w", path, n, err)
		}
		return nil
	}
	if strings.HasSuffix(path, ".parquet") {
		err = readParquet(path, take)
	} else {
		err = readJSON(path, take)
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s has no rows", path)
	}
	return err
}

func readJSON(path string, take func(map[string]any) error) error {
	rows, err := dataset.ReadAs[map[string]any](path)
	for _, values := range rows {
		if err == nil {
			err = take(values)
		}
	}
	return err
}

func readParquet(path string, take func(map[string]any) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.Open(f, info.Size(), 1<<30)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	isText, err := rows.TextColumns(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	reader, names := rows.NewParquetReader(file.Schema(), isText), rows.ParquetNames(file.Schema())
	for g := range file.Groups() {
		if err := readGroup(file, g, reader, names, take); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func readGroup(file *parquet.File, g int, reader *rows.ParquetReader, names []string, take func(map[string]any) error) error {
	group, err := file.Group(g, file.Columns())
	if err != nil {
		return err
	}
	defer group.Close()
	for err = group.Next(); err == nil; err = group.Next() {
		values := map[string]any{}
		for i, v := range reader.Read(group.Row()) {
			values[names[i]] = v
		}
		if err := take(values); err != nil {
			return err
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}
