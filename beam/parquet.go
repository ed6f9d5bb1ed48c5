package neardupbeam

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file cuts and reads Parquet, as the program does: a part is groups of rows. The index is at the end of a file, and most file systems of
// Beam read only forwards; where that is so, a copy of the file is read, which goes when it is closed.
//
// Rows of Parquet have no lines, so the number of a row takes the place of the number of a line in ids and
// notes. Raw is the row as JSON, and what is kept is written in that form.

// parquetRoom is how many bytes the pages that are read at one time may take. A file with larger ones is an
// error, whatever sizes it claims.
const parquetRoom = 1 << 30

// cutParquet cuts between groups of rows. A group is the least that can be read by itself, so a part is at
// least one. Its size is that without compression, of all columns, since Raw has all of them.
func cutParquet(f *os.File, p part, size int64, emit func(part)) (err error) {
	file, err := openParquet(f)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for g := range file.Groups() {
		p.To += file.Rows(g)
		if bytes += file.Bytes(g, file.Columns()); bytes >= size {
			emit(p)
			p.From, bytes = p.To, 0
		}
	}
	if p.From < p.To {
		emit(p)
	}
	return nil
}

// openParquet reads the index only. The caller closes the file.
func openParquet(f *os.File) (*parquet.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return parquet.Open(f, info.Size(), parquetRoom)
}

// readParquet reads a document from each row. Whether bytes without a type are text is decided by the whole
// column, and not by the part, so that all parts agree; every part reads such columns for it.
func (fn *readFn) readParquet(p part, from io.Reader, packed string, emit func(Document), note func(Note)) (err error) {
	local, isLocal := from.(*os.File)
	// The index and the pages are read at any place of the file, which only a local one allows.
	if !isLocal || packed != "" {
		if local, err = copyToDisk(from, packed); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, local.Close(), os.Remove(local.Name())) }()
	}
	file, err := openParquet(local)
	if err != nil {
		return err
	}
	isText, err := rows.TextColumns(file)
	if err != nil {
		return err
	}
	reader := rows.NewParquetReader(file.Schema(), isText)
	fields, names := rows.ParquetNames(file.Schema()), fn.texts()
	first := int64(0) // the row that a group begins with
	for g := range file.Groups() {
		last := first + file.Rows(g)
		if last > p.From && (p.To == 0 || first < p.To) {
			err := readGroup(file, g, func(n int64, row rows.Struct) {
				// The first row that is read is From+1, as lines count from 1.
				if at := first + n; at > p.From && (p.To == 0 || at <= p.To) {
					fn.row(row, names, fmt.Sprintf("%s:%d", p.Path, at), emit, note)
				}
			}, reader, fields)
			if err != nil {
				return err
			}
		}
		first = last
	}
	return nil
}

// readGroup calls use with each row of a group, and its number in it, from 1.
func readGroup(file *parquet.File, g int, use func(n int64, row rows.Struct), reader *rows.ParquetReader, fields []string) error {
	group, err := file.Group(g, file.Columns())
	if err != nil {
		return err
	}
	defer group.Close()
	n := int64(0)
	for err = group.Next(); err == nil; err = group.Next() {
		var row rows.Struct
		for i, v := range reader.Read(group.Row()) {
			row = append(row, rows.Field{Name: fields[i], Value: v})
		}
		n++
		use(n, row)
	}
	if err == io.EOF {
		return nil
	}
	return fmt.Errorf("row %d of the group: %w", n+1, err)
}

// copyToDisk copies a file, unpacked, to a temporary one. Who calls it removes that. It is in the folder
// for temporary files of the worker, which must have room for the whole file.
func copyToDisk(from io.Reader, packed string) (*os.File, error) {
	r, done, err := unpack(from, packed)
	if err != nil {
		return nil, err
	}
	defer done()
	local, err := os.CreateTemp("", "neardup-*.parquet")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(local, r); err != nil {
		return nil, errors.Join(err, local.Close(), os.Remove(local.Name()))
	}
	return local, nil
}

// row makes a document of a row. names are the columns with texts. Without a text there is no document. An
// id that is null or empty is replaced by the place.
func (fn *readFn) row(row rows.Struct, names []string, place string, emit func(Document), note func(Note)) {
	of := func(name string) rows.Value {
		for _, f := range row {
			if f.Name == name {
				return f.Value
			}
		}
		return nil
	}
	text, wrong := textOf(names, "column", func(name string) any { return plainValue(of(name)) })
	if wrong != "" {
		note(Note{BadInput, place, wrong})
		return
	}
	d := Document{ID: place, Text: text}
	if id := of(or(fn.ID, "id")); id != nil {
		d.ID = or(rows.Text(id), place)
	}
	for i, f := range row {
		if x, isFloat := f.Value.(float64); isFloat && (math.IsNaN(x) || math.IsInf(x, 0)) {
			row[i].Value = nil
			note(Note{BadInput, place, fmt.Sprintf("column %q is %v, which JSON cannot represent; it is written as null", f.Name, x)})
		}
	}
	d.Raw = string(rows.AppendJSON(nil, row))
	emit(d)
}

// plainValue returns a value as encoding/json has it: texts, and lists of them. textOf knows these from
// JSON.
func plainValue(v rows.Value) any {
	switch v := v.(type) {
	case rows.List:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = plainValue(x)
		}
		return list
	case []byte:
		return string(v)
	}
	return v
}
