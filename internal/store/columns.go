package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/neardup/neardup/internal/format"
)

// This file keeps columns of numbers in a file of their own, for whoever wants to map them: what can be made again, but takes long.
// The file is like a snapshot: some settings, the length of each column, the checksum of each block, and then the columns.

// WriteMapped writes columns to a file, each in parts that follow one another, and puts it on the disk. It replaces a file of this
// library that is there; any other is an error.
func WriteMapped(path, kind, version string, settings []uint64, columns [][][]byte) error {
	if err := isOurs(path); err != nil {
		return InFile(path, err)
	}
	_, err := writeColumns(path, kind, version, columns, func(f *format.Writer, blocks int) {
		f.Uvarint(uint64(blocks))
		f.Uvarint(uint64(len(settings)))
		for _, x := range settings {
			f.Uint64(x)
		}
		f.Uvarint(uint64(len(columns)))
		for _, c := range columns {
			f.Uvarint(uint64(length(c)))
		}
		f.EndRecord()
	})
	return InFile(path, err)
}

// OpenMapped maps a file that WriteMapped wrote. Before somebody uses a part of a column, Check of the mapping must be called with
// it. It returns an error for what is no such file; a damaged column is found by Check.
func OpenMapped(path, kind, version string) (m *Mapping, settings []uint64, columns [][]byte, err error) {
	m, err = openMapping(path)
	if err != nil {
		return nil, nil, nil, err
	}
	from := bytes.NewReader(m.data)
	f, err := format.NewReader(from, kind, version, "")
	if err != nil {
		return nil, nil, nil, InFile(path, err)
	}
	f.GoesOn = true // the columns follow the records
	f.Next()
	blocks := int(f.Uvarint(uint64(len(m.data))))
	for range f.Uvarint(mostSettings) {
		settings = append(settings, f.Uint64())
	}
	var lengths []int
	for range f.Uvarint(mostSettings) {
		lengths = append(lengths, int(f.Uvarint(uint64(len(m.data)))))
	}
	m.sums = readSums(f, blocks)
	if f.Err != nil {
		return nil, nil, nil, InFile(path, f.Err)
	}
	m.good = make([]atomic.Uint64, (len(m.sums)+63)/64)
	columns, err = m.placeColumns(len(m.data)-from.Len()-f.R.Buffered(), lengths)
	return m, settings, columns, InFile(path, err)
}

// mostSettings is the largest number of settings, and of columns.
const mostSettings = 1000

// isOurs returns an error if something is there that is no file of this library.
func isOurs(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && format.HasHead(f) {
		return nil
	}
	return errors.New("another file already has this name")
}
