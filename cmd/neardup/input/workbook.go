package input

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/rows"
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
	book, err := excelize.OpenReader(io.NewSectionReader(file, 0, size), excelize.Options{UnzipSizeLimit: mostUnzipped, UnzipXMLSizeLimit: 64 << 20})
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	return book, nil
}

// readSheet is read for a sheet of a workbook. The line of an item is the number of its row.
func (s *Source) readSheet(r io.Reader, at func(int32) Item, cols Columns, yield func(Item) bool) error {
	book, err := s.OpenBook(r)
	if err != nil {
		return err
	}
	defer book.Close()
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return fmt.Errorf("%s:1: the workbook has no sheet", s.Path)
	}
	sheet := cols.Sheet
	if sheet == "" {
		if sheet = sheets[0]; len(sheets) > 1 {
			s.Note("only the sheet %q is read, of %q; --sheet takes another one", sheet, sheets)
		}
	}
	cells, err := book.Rows(sheet)
	if err != nil {
		return fmt.Errorf("%s:1: %w; its sheets are %q", s.Path, err, sheets)
	}
	defer cells.Close()
	var typed *rows.SheetReader
	if cols.Typed {
		if typed, err = rows.NewSheetReader(book, sheet); err != nil {
			return fmt.Errorf("%s:1: %w", s.Path, err)
		}
	}
	s.Header = nil
	for line := int32(1); cells.Next(); line++ {
		row, err := cells.Columns()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.Path, line, err)
		}
		if isEmpty := strings.Join(row, "") == ""; s.Header == nil {
			if (cols.HeaderRow > 0 || !isEmpty) && int(line) >= cols.HeaderRow {
				if s.Header, err = s.newHeader(row, cols); err != nil {
					return err
				}
				s.Header.Sheet, s.Header.Line = sheet, line
			}
		} else if !isEmpty && !yield(s.rowOf(at(line), row, typed)) {
			return nil
		}
	}
	if err := cells.Error(); err != nil {
		return fmt.Errorf("%s:1: %w", s.Path, err)
	}
	if s.Header == nil {
		return fmt.Errorf("%s:1: the sheet %q has no header", s.Path, sheet)
	}
	return nil
}

// rowOf gives an item the cells of its row, and their values if typed is not nil.
func (s *Source) rowOf(it Item, row []string, typed *rows.SheetReader) Item {
	names := len(s.Header.Names)
	for len(row) < names { // the library leaves out empty cells at the end
		row = append(row, "")
	}
	if len(row) > names {
		it.Err = errors.New("the row has more cells than the header")
		return it
	}
	if it.Row = row; typed != nil {
		it.values, it.Err = typed.Read(int(it.Line), names)
	}
	return it
}
