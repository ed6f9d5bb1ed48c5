package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
	"github.com/neardup/neardup/records"
)

// This file reads records from CSV files and from tables of databases. A program may have to read
// them up to three times: to count values (-idf), to fingerprint the records, and to verify the
// candidates. Input that can be read only once is copied first.

// A row is a record and its id, or the error that says why it could not be read.
type row struct {
	id    string
	rec   neardup.Record
	place string
	size  int // of the values, in bytes; it limits the chunks
	err   error
}

// rows is a source of records that can be read more than once.
type rows interface {
	// columns returns the names of the columns.
	columns() ([]string, error)
	// each calls yield for every row, until yield returns false.
	each(yield func(row) bool) error
	close()
}

// csvFiles are CSV files. Every file has a header, and all have the same columns, in any order.
type csvFiles struct {
	paths  []string
	stdin  io.Reader
	id     string
	needed func(column string) bool
	names  []string            // the columns of the first file, once it was opened
	copies map[string]*os.File // copies of files that can be read only once
}

func (c *csvFiles) close() {
	for _, f := range c.copies {
		f.Close()
	}
}

func (c *csvFiles) columns() ([]string, error) {
	for _, path := range c.paths {
		if _, err := c.file(path, func(row) bool { return false }); err != nil {
			return nil, err
		}
	}
	return c.names, nil
}

func (c *csvFiles) each(yield func(row) bool) error {
	for _, path := range c.paths {
		more, err := c.file(path, yield)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// open opens a file. Standard input and pipes are first copied to a temporary file. That file has
// no name, so it vanishes when the program ends.
func (c *csvFiles) open(path string) (r io.Reader, finish func(), err error) {
	if f := c.copies[path]; f != nil {
		return io.NewSectionReader(f, 0, 1<<62), func() {}, nil
	}
	r, finish = c.stdin, func() {}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, cli.InFile(path, err)
		}
		if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
			return f, func() { f.Close() }, err
		} else if info.IsDir() {
			f.Close()
			return nil, nil, fmt.Errorf("%s:1: this is a directory", path)
		}
		defer f.Close()
		r = f
	}
	f, err := os.CreateTemp("", "records-input-*")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(f.Name()) // the file stays as long as it is open
	if c.copies == nil {
		c.copies = map[string]*os.File{}
	}
	c.copies[path] = f
	if _, err := io.Copy(f, r); err != nil {
		return nil, nil, fmt.Errorf("copying %s: %w", path, err)
	}
	return io.NewSectionReader(f, 0, 1<<62), func() {}, nil
}

// file yields the rows of one file. more is false if yield returned false.
func (c *csvFiles) file(path string, yield func(row) bool) (more bool, err error) {
	file, closeFile, err := c.open(path)
	if err != nil {
		return false, err
	}
	defer closeFile()
	r, finish, err := cli.Decompress(file, path)
	if err != nil {
		return false, err
	}
	defer finish()
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	in := csv.NewReader(b)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		if err == io.EOF {
			err = errors.New("the file has no header")
		}
		return false, fmt.Errorf("%s:1: %w", path, plainCSV(err))
	}
	names := slices.Clone(header)
	idAt := slices.Index(names, c.id)
	if idAt < 0 {
		return false, fmt.Errorf("%s:1: there is no column %q; the columns are %q", path, c.id, names)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return false, fmt.Errorf("%s:1: two columns have the name %q", path, name)
		}
	}
	if c.names == nil {
		c.names = names
	}
	if a, b := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(c.names)); !slices.Equal(a, b) {
		return false, fmt.Errorf("%s:1: the columns are %q, but those of %s are %q", path, names, c.paths[0], c.names)
	}
	for line := 1; ; {
		values, err := in.Read()
		if err == io.EOF {
			return true, nil
		}
		var parse *csv.ParseError
		switch {
		case err == nil:
			line, _ = in.FieldPos(0)
		case errors.As(err, &parse):
			line = parse.StartLine
		default:
			return false, fmt.Errorf("%s:%d: reading failed after this line: %w", path, line, err)
		}
		at := row{place: fmt.Sprintf("%s:%d", path, line)}
		switch {
		case err != nil && parse.Line > parse.StartLine:
			at.err = fmt.Errorf("%w; lines %d to %d are lost", parse.Err, parse.StartLine, parse.Line)
		case err != nil:
			at.err = parse.Err
		case values[idAt] == "":
			at.err = errors.New("there is no id")
		default:
			at.id, at.rec = strings.Clone(values[idAt]), make(neardup.Record, len(names)) // a clone, because the row is reused
			for i, v := range values {
				if v != "" && (c.needed == nil || c.needed(names[i])) {
					at.rec[names[i]] = v
					at.size += len(v)
				}
			}
		}
		if !yield(at) {
			return false, nil
		}
	}
}

// plainCSV returns a CSV error without its place, because the caller adds the place.
func plainCSV(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return parse.Err
	}
	return err
}

// A table is a table of a database, or the result of a query.
type table struct {
	db    *sql.DB
	name  string // for messages
	query string
	id    string
}

// openTable opens a database. With -table it selects only the columns that the fields need. SQLite
// files are opened for reading only.
func openTable(o *options, fields []neardup.Field) (*table, error) {
	dsn := o.db
	if o.driver == "sqlite" && !strings.HasPrefix(dsn, "file:") && dsn != ":memory:" {
		if _, err := os.Stat(dsn); err != nil {
			return nil, cli.InFile(dsn, err)
		}
		abs, err := filepath.Abs(dsn)
		if err != nil {
			return nil, err
		}
		dsn = (&url.URL{Scheme: "file", Path: abs, RawQuery: "mode=ro"}).String() // read only: never creates a database
	}
	if !slices.Contains(sql.Drivers(), o.driver) {
		return nil, fmt.Errorf("-driver %q: must be one of %s", o.driver, strings.Join(sql.Drivers(), ", "))
	}
	db, err := sql.Open(o.driver, dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.driver, err)
	}
	t := &table{db: db, name: "the query", query: o.query, id: o.id}
	if o.table != "" {
		columns := "*"
		if fields != nil {
			names := []string{o.id}
			for _, f := range fields {
				if !slices.Contains(names, f.Name) {
					names = append(names, f.Name)
				}
			}
			for i, n := range names {
				names[i] = quote(o.driver, n)
			}
			columns = strings.Join(names, ", ")
		}
		t.name = o.table
		t.query = "SELECT " + columns + " FROM " + quote(o.driver, o.table)
	}
	return t, nil
}

// quote quotes an identifier for a driver. The identifier may have any characters except NUL.
func quote(driver, name string) string {
	q := `"`
	if driver == "mysql" {
		q = "`"
	}
	return q + strings.ReplaceAll(name, q, q+q) + q
}

func (t *table) close() { t.db.Close() }

func (t *table) columns() ([]string, error) {
	rows, err := t.db.QueryContext(context.Background(), t.query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	defer rows.Close()
	return rows.Columns()
}

func (t *table) each(yield func(row) bool) error {
	rows, err := t.db.QueryContext(context.Background(), t.query)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	if !slices.Contains(names, t.id) {
		return fmt.Errorf("%s: there is no column %q; the columns are %q", t.name, t.id, names)
	}
	for n := 1; rows.Next(); n++ {
		r := row{place: fmt.Sprintf("%s:%d", t.name, n)}
		if r.rec, err = records.Scan(rows); err != nil {
			return fmt.Errorf("%s: %s", r.place, plain(err))
		}
		for _, v := range r.rec {
			r.size += len(v)
		}
		if r.id = r.rec[t.id]; r.id == "" {
			r.err = errors.New("there is no id")
		}
		if !yield(r) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// plain returns the message of an error of the library, without the name of the package in front.
func plain(err error) string {
	return string(bytes.TrimPrefix(bytes.TrimPrefix([]byte(err.Error()), []byte("neardup: ")), []byte("records: ")))
}
