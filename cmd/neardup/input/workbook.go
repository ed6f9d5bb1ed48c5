package input

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/workbook"
)

// This file reads workbooks of Excel and LibreOffice (.xlsx).

// mostUnzipped bounds what a workbook may become when it is unzipped.
const mostUnzipped = 8 << 30

// OpenBook opens the workbook of a source. r is what the caller reads otherwise.
func (s *Source) OpenBook(r io.Reader) (*excelize.File, error) {
	file, size, done, err := s.file(r)
	if err != nil {
		return nil, err
	}
	defer done()
	room := cmp.Or(s.Room, 1<<30)
	if err := checkBook(file, size, room); err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	book, err := excelize.OpenReader(io.NewSectionReader(file, 0, size), excelize.Options{UnzipSizeLimit: mostUnzipped, UnzipXMLSizeLimit: min(64<<20, room/4)})
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, whyNoBook(file, size, err))
	}
	return book, nil
}

// whyNoBook says why a file cannot be opened as a workbook.
func whyNoBook(file io.ReaderAt, size int64, err error) error {
	begin := make([]byte, 8)
	file.ReadAt(begin, 0)
	switch {
	case size == 0:
		return errors.New("the file is empty")
	case string(begin) != "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": // of a compound file (MS-CFB)
		return fmt.Errorf("not a workbook (.xlsx), or damaged: %w", err)
	}
	all := make([]byte, min(size, 1<<20))
	file.ReadAt(all, 0)
	if bytes.Contains(all, utf16Text("EncryptedPackage")) {
		return errors.New("the workbook has a password; save it without one")
	}
	return errors.New("a workbook in an old format (.xls); save it as .xlsx")
}

// utf16Text returns a text as UTF-16, low byte first.
func utf16Text(text string) (b []byte) {
	for _, c := range []byte(text) {
		b = append(b, c, 0)
	}
	return b
}

// readSheet is read for a sheet of a workbook. The line of an item is the number of its row.
func (s *reader) readSheet(r io.Reader) error {
	book, err := s.OpenBook(r)
	if err != nil {
		return err
	}
	defer book.Close()
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return fmt.Errorf("%s:1: the workbook has no sheet", s.Path)
	}
	sheet := s.cols.Sheet
	if sheet == "" {
		if sheet = sheets[0]; len(sheets) > 1 {
			s.Note("only the sheet %q is read; the sheets are %q; use --sheet to choose another one", sheet, sheets)
		}
	}
	cells, err := book.Rows(sheet)
	if err != nil {
		return fmt.Errorf("%s:1: %w; the sheets are %q", s.Path, err, sheets)
	}
	defer cells.Close()
	var typed *workbook.Reader
	if s.cols.Typed {
		if typed, err = workbook.NewReader(book, sheet); err != nil {
			return fmt.Errorf("%s:1: %w", s.Path, err)
		}
	}
	line, err := s.sheetHeader(book, sheet)
	if err != nil {
		return err
	}
	for n := int32(1); cells.Next(); n++ {
		row, err := cells.Columns()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.Path, n, err)
		}
		if n > line && filled(row) > 0 && !s.yield(s.rowOf(s.at(n), row, typed)) {
			return nil
		}
	}
	if err := cells.Error(); err != nil {
		return fmt.Errorf("%s:1: %w", s.Path, err)
	}
	return nil
}

// sheetHeader finds the header of a sheet, and returns its row, 0 if there is none. Columns that only rows below it have are named by their
// numbers.
func (s *reader) sheetHeader(book *excelize.File, sheet string) (line int32, err error) {
	cells, err := book.Rows(sheet)
	if err != nil {
		return 0, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	defer cells.Close()
	var first [][]string // rows that are not empty
	var lines []int32    // and where they are
	widest := 0
	for n := int32(1); cells.Next(); n++ {
		row, err := cells.Columns()
		if err != nil {
			return 0, fmt.Errorf("%s:%d: %w", s.Path, n, err)
		}
		last := lastFilled(row)
		if widest = max(widest, last); last > 0 && len(first) < headerRows && int(n) >= s.cols.HeaderRow {
			first, lines = append(first, row), append(lines, n)
		}
	}
	if err := cells.Error(); err != nil {
		return 0, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	if len(first) == 0 {
		return 0, fmt.Errorf("%s:1: the sheet %q has no header", s.Path, sheet)
	}
	names, at := letters(widest), 0
	if !s.cols.NoHeader {
		if s.cols.HeaderRow == 0 {
			if at, err = findHeader(first, s.cols); err != nil {
				return 0, fmt.Errorf("%s:1: %w", s.Path, err)
			}
		}
		if names, line = first[at], lines[at]; at > 0 {
			s.Note("the header is in row %d; rows above it are skipped", line)
		}
	}
	if s.Header, err = s.newHeader(append(names, make([]string, max(0, widest-len(names)))...)); err != nil {
		return 0, err
	}
	s.Header.Sheet, s.Header.Line = sheet, line
	return line, nil
}

// lastFilled returns the number of the last cell that is not empty, from 1.
func lastFilled(row []string) int {
	n := len(row)
	for n > 0 && row[n-1] == "" {
		n--
	}
	return n
}

// rowOf gives an item the cells of its row, and their values if typed is not nil.
func (s *reader) rowOf(it Item, row []string, typed *workbook.Reader) Item {
	names := len(s.Header.Names)
	for len(row) < names { // the library leaves out empty cells at the end
		row = append(row, "")
	}
	if it.Row = row[:names]; typed != nil {
		it.values, it.Err = typed.Read(int(it.Line), names)
	}
	return it
}
