package neardupbeam

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/parquet-go/parquet-go"
)

// This file cuts and reads Parquet: a part is groups of rows. The index is at the end of a file, and most file systems of
// Beam read only forwards; where that is so, a copy of the file is read, which goes when it is closed.

// cutParquet cuts between groups of rows.
func cutParquet(f *os.File, p part, size int64, emit func(part)) (err error) {
	defer recoverDamage(&err)
	file, err := openParquet(f)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, group := range file.Metadata().RowGroups {
		p.To += group.NumRows
		if bytes += group.TotalByteSize; bytes >= size {
			emit(p)
			p.From, bytes = p.To, 0
		}
	}
	if p.From < p.To {
		emit(p)
	}
	return nil
}

func openParquet(f *os.File) (*parquet.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return parquet.OpenFile(f, info.Size())
}

// recoverDamage makes an error of a panic of the library, which a damaged file may cause.
func recoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged Parquet: %v", p)
	}
}

// readParquet reads a document from each row.
func (fn *readFn) readParquet(p part, from io.Reader, packed string, emit func(Document), note func(Note)) (err error) {
	defer recoverDamage(&err)
	local, isLocal := from.(*os.File)
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
	r := parquet.NewGenericReader[map[string]any](file, file.Schema())
	defer r.Close()
	if err := r.SeekToRow(p.From); err != nil {
		return err
	}
	if p.To == 0 {
		p.To = file.NumRows()
	}
	names := fn.texts()
	rows := make([]map[string]any, 64)
	for at := p.From; at < p.To; {
		rows = rows[:min(int64(len(rows)), p.To-at)]
		for i := range rows {
			rows[i] = map[string]any{}
		}
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			at++
			fn.row(row, names, fmt.Sprintf("%s:%d", p.Path, at), emit, note)
		}
		if err == io.EOF && at == p.To {
			return nil
		}
		if err == nil && n == 0 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", at+1, err)
		}
	}
	return nil
}

// copyToDisk copies a file, unpacked, to a temporary one. Who calls it removes that.
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

// row makes a document of a row. names are the columns with texts.
func (fn *readFn) row(row map[string]any, names []string, place string, emit func(Document), note func(Note)) {
	text, wrong := textOf(names, "column", func(name string) any { return row[name] })
	if wrong != "" {
		note(Note{BadInput, place, wrong})
		return
	}
	d := Document{ID: place, Text: text}
	if id, ok := row[or(fn.ID, "id")]; ok && id != nil {
		d.ID = or(fmt.Sprint(id), place)
	}
	for name, value := range row {
		x, ok := value.(float64)
		if y, single := value.(float32); single {
			x, ok = float64(y), true
		}
		if ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			row[name] = nil
			note(Note{BadInput, place, fmt.Sprintf("column %q is %v, which JSON cannot say; it is written as null", name, x)})
		}
	}
	raw, err := json.Marshal(row)
	if err != nil { // a number like that within a list or a group
		note(Note{BadInput, place, "it cannot be written as JSON: " + err.Error()})
		return
	}
	d.Raw = string(raw)
	emit(d)
}
