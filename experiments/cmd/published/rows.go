package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/experiments/dataset"
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
	list, ok := value.([]any)
	if !ok {
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
	case int, int32, int64, uint32, uint64:
		return fmt.Sprint(x), true
	case map[string]any: // an item of a list of Parquet, whatever its writer calls it
		if len(x) == 1 {
			for _, inner := range x {
				return spelled(inner)
			}
		}
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
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rows := parquet.NewGenericReader[map[string]any](file, file.Schema())
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		batch := []map[string]any{{}}
		n, err := rows.Read(batch)
		if n == 1 {
			if err := take(batch[0]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}
