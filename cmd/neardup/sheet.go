package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// This file reads workbooks of Excel and LibreOffice (.xlsx).

// mostUnzipped bounds what a workbook may become when it is unzipped.
const mostUnzipped = 8 << 30

// readSheet is read for a sheet of a workbook. The line of an item is the number of its row.
func (s *source) readSheet(r io.Reader, at func(int32) item, cols columns, yield func(item) bool) error {
	file, size, done, err := s.file(r)
	if err != nil {
		return err
	}
	defer done()
	book, err := excelize.OpenReader(io.NewSectionReader(file, 0, size), excelize.Options{UnzipSizeLimit: mostUnzipped, UnzipXMLSizeLimit: 64 << 20})
	if err != nil {
		return fmt.Errorf("%s:1: %w", s.path, err)
	}
	defer book.Close()
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return fmt.Errorf("%s:1: the workbook has no sheet", s.path)
	}
	sheet := cols.sheet
	if sheet == "" {
		if sheet = sheets[0]; len(sheets) > 1 {
			s.note("only the sheet %q is read, of %q; --sheet takes another one", sheet, sheets)
		}
	}
	rows, err := book.Rows(sheet)
	if err != nil {
		return fmt.Errorf("%s:1: %w; its sheets are %q", s.path, err, sheets)
	}
	defer rows.Close()
	var names []string
	for line := int32(1); rows.Next(); line++ {
		row, err := rows.Columns()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.path, line, err)
		}
		isEmpty := strings.Join(row, "") == ""
		switch {
		case names == nil && (cols.headerRow == 0 && isEmpty || int(line) < cols.headerRow):
		case names == nil:
			names = row
			if s.header, err = s.newHeader(names, cols); err != nil {
				return err
			}
		case isEmpty:
		default:
			it := at(line)
			for len(row) < len(names) { // the library leaves out empty cells at the end
				row = append(row, "")
			}
			if it.row = row; len(row) > len(names) {
				it.row, it.err = nil, errors.New("the row has more cells than the header")
			}
			if !yield(it) {
				return nil
			}
		}
	}
	if err := rows.Error(); err != nil {
		return fmt.Errorf("%s:1: %w", s.path, err)
	}
	if names == nil {
		return fmt.Errorf("%s:1: the sheet %q has no header", s.path, sheet)
	}
	return nil
}
