package output

import (
	"fmt"
	"slices"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/workbook"
)

// This file writes workbooks: a new one with the documents of any sources, or the one workbook that was read, without the rows that are removed.

// A sheetOut writes a new workbook with one sheet.
type sheetOut struct {
	tableOut
	to *workbook.Writer
}

func newSheetOut(table tableOut) (Writer, error) {
	sheet, err := workbook.NewWriter(table.columns.Names(), table.columns.Len())
	return &sheetOut{table, sheet}, err
}

func (o *sheetOut) Write(_ *input.Source, _ *input.Item, row Row) error {
	return o.named(o.to.Write(row.values))
}

// named says which file cannot be written.
func (o *sheetOut) named(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", o.Path, err)
	}
	return err
}

func (o *sheetOut) End() error {
	book, err := o.to.End()
	//lint:ignore SA5001 there is a book after an error, too
	defer book.Close()
	if err != nil {
		return o.named(err)
	}
	return book.Write(o.W)
}

// mostRemoved bounds the rows times the rows that are removed from a workbook, since all formulas are looked at for each: half a minute, for ten
// columns. Beyond that a new workbook is written.
const mostRemoved = 5_000_000

// A bookOut writes the workbook that was read: rows are removed from one sheet, and columns added to it. All else stays as it is: types,
// formulas, widths, formats, and other sheets.
type bookOut struct {
	Target
	book    *excelize.File
	sheet   string
	columns int
	line    int // of the header
	removed []int
}

func (o *bookOut) Begin(s *input.Source) error {
	if err := newColumns(s, o.Added, o.Path); err != nil {
		return err
	}
	book, err := s.OpenBook(nil)
	if err != nil {
		return err
	}
	o.book, o.sheet, o.columns, o.line = book, s.Header.Sheet, len(s.Header.Names), int(s.Header.Line)
	if o.line == 0 { // there is no header
		return nil
	}
	return o.put(o.line, o.Added)
}

// put writes texts behind a row.
func (o *bookOut) put(row int, texts []string) error {
	for i, text := range texts {
		cell, err := excelize.CoordinatesToCellName(o.columns+i+1, row)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		if err := o.book.SetCellStr(o.sheet, cell, text); err != nil {
			return err
		}
	}
	return nil
}

func (o *bookOut) Write(_ *input.Source, it *input.Item, row Row) error {
	return o.put(int(it.Line), row.added)
}

func (o *bookOut) Drop(_ *input.Source, it *input.Item) { o.removed = append(o.removed, int(it.Line)) }

func (o *bookOut) End() error {
	if o.book == nil {
		return nil
	}
	defer o.book.Close()
	for _, row := range slices.Backward(o.removed) { // those behind it move up
		if err := o.book.RemoveRow(o.sheet, row); err != nil {
			return fmt.Errorf("%s: row %d cannot be removed: %w", o.Path, row, err)
		}
	}
	return o.book.Write(o.W)
}
