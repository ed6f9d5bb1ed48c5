// Package workbook turns cells of workbooks into values with types, and back.
package workbook

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// A workbook has numbers, texts and logical values. A date is a number of days, in a
// format that shows it as a date.

// A Reader reads the cells of a sheet.
type Reader struct {
	book  *excelize.File
	sheet string
	is04  bool         // dates are counted from 1904
	forms map[int]form // by style
}

// form says what numbers in a style are.
type form struct {
	isTime    bool
	isElapsed bool // hours that go on behind 24
	rows.Form
}

// NewReader returns a reader, for one goroutine.
func NewReader(book *excelize.File, sheet string) (*Reader, error) {
	props, err := book.GetWorkbookProps()
	if err == nil { // the library gives all cells of a merged range the value of the first one, and looks through all ranges for each cell
		err = book.UnmergeCell(sheet, "A1", "XFD1048576")
	}
	return &Reader{book: book, sheet: sheet, is04: props.Date1904 != nil && *props.Date1904, forms: map[int]form{}}, err
}

// Read returns the values of the first n cells of a row.
func (r *Reader) Read(row, n int) (values []rows.Value, err error) {
	for column := range n {
		name, err := excelize.CoordinatesToCellName(column+1, row)
		if err != nil {
			return nil, err
		}
		v, err := r.cell(name)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// cell returns the value of a cell. That of a formula is what it was when the workbook was saved.
func (r *Reader) cell(name string) (rows.Value, error) {
	text, err := r.book.GetCellValue(r.sheet, name, excelize.Options{RawCellValue: true})
	if err != nil {
		return nil, err
	}
	if text == "" {
		return r.computed(name)
	}
	of, err := r.book.GetCellType(r.sheet, name)
	if err != nil {
		return nil, err
	}
	switch of {
	case excelize.CellTypeBool:
		return text == "1", nil
	case excelize.CellTypeUnset, excelize.CellTypeNumber:
		return r.number(name, text)
	}
	return text, nil
}

// computed returns the value of a cell that is empty, or has a formula that the program which saved it has not computed. A formula that cannot
// be computed is a text.
func (r *Reader) computed(name string) (rows.Value, error) {
	formula, err := r.book.GetCellFormula(r.sheet, name)
	if err != nil || formula == "" {
		return nil, err
	}
	text, err := r.book.CalcCellValue(r.sheet, name, excelize.Options{RawCellValue: true})
	if err != nil {
		return "=" + formula, nil
	}
	return r.number(name, text)
}

// number returns the value of a cell with a number.
func (r *Reader) number(name, text string) (rows.Value, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text, nil
	}
	style, err := r.book.GetCellStyle(r.sheet, name)
	if err != nil {
		return nil, err
	}
	f, ok := r.forms[style]
	if !ok {
		f = r.formAt(style)
		r.forms[style] = f
	}
	if !f.isTime || x < 0 || x >= mostDays {
		return shortestNumber(text, x), nil
	}
	return r.time(x, f, text), nil
}

// time returns the value of a cell with a number that is a time.
func (r *Reader) time(x float64, f form, text string) rows.Value {
	if f.isElapsed && x >= 1 {
		return elapsed(x)
	}
	day := math.Floor(x)
	at, err := excelize.ExcelDateToTime(day, r.is04)
	if err != nil {
		return shortestNumber(text, x)
	}
	at = at.Add(time.Duration(math.Round((x-day)*86_400_000)) * time.Millisecond) // a day is a float, which has no more digits; the library rounds to seconds
	if f.Form == rows.Clock && x >= 1 || f.Form == rows.Date && (at.Hour() > 0 || at.Minute() > 0 || at.Second() > 0) {
		return rows.Time{At: at, Form: rows.Local}
	}
	return rows.Time{At: at, Form: f.Form}
}

// mostDays is the day behind the last one that Excel knows, the end of the year 9999.
const mostDays = 2_958_466

// elapsed returns a number of days in hours, minutes and seconds, as a cell with the format [h]:mm:ss shows it.
func elapsed(days float64) string {
	all := int64(math.Round(days * 86_400_000)) // milliseconds
	text := fmt.Sprintf("%d:%02d:%02d", all/3_600_000, all/60_000%60, all/1000%60)
	if rest := all % 1000; rest > 0 {
		text += fmt.Sprintf(".%03d", rest)
	}
	return text
}

// formAt returns what numbers in a style are. A style may have a code of its own under a number that the library takes for one of Excel's.
func (r *Reader) formAt(style int) form {
	s, err := r.book.GetStyle(style)
	if err != nil { // a workbook may have no styles
		return form{}
	}
	if all := r.book.Styles; all != nil && all.CellXfs != nil && all.NumFmts != nil && style < len(all.CellXfs.Xf) && all.CellXfs.Xf[style].NumFmtID != nil {
		for _, f := range all.NumFmts.NumFmt {
			if f.NumFmtID == *all.CellXfs.Xf[style].NumFmtID {
				return formOfCode(f.FormatCode)
			}
		}
	}
	return formOf(s)
}

// shortestNumber returns a number, of which programs write up to 17 digits: 0.1 as 0.10000000000000001.
func shortestNumber(text string, x float64) rows.Value {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return rows.Number(text)
	}
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return text
	}
	if short := strconv.FormatFloat(x, 'f', -1, 64); len(short) < 20 {
		return rows.Number(short)
	}
	return x
}

// formOf returns what numbers in a style are, by the signs of its format: days, months and years, or hours, minutes and seconds.
func formOf(s *excelize.Style) form {
	switch n := s.NumFmt; {
	case s.CustomNumFmt != nil:
		return formOfCode(*s.CustomNumFmt)
	case n >= 14 && n <= 17, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 58:
		return form{isTime: true, Form: rows.Date}
	case n >= 18 && n <= 21, n >= 32 && n <= 35, n >= 45 && n <= 47:
		return form{isTime: true, isElapsed: n == 46, Form: rows.Clock}
	case n == 22:
		return form{isTime: true, Form: rows.Local}
	}
	return form{}
}

// noSigns are the parts of a format that are no signs of a time: texts, colours and countries, but not [h].
var noSigns = regexp.MustCompile(`"[^"]*"|\\.|[_*].|\[[^hms\]][^\]]*\]|;.*|(?i:general)`)

// isElapsed matches hours, minutes or seconds that go on behind a day, an hour or a minute.
var isElapsed = regexp.MustCompile(`\[(h+|m+|s+)\]`)

// formOfCode is formOf for a code such as yyyy-mm-dd or [$-409]d\-mmm\-yy;@ or 0.00.
func formOfCode(code string) form {
	signs := strings.ToLower(noSigns.ReplaceAllString(code, ""))
	days, hours := strings.ContainsAny(signs, "yd"), strings.ContainsAny(signs, "hs")
	switch {
	case days && hours:
		return form{isTime: true, Form: rows.Local}
	case hours:
		return form{isTime: true, isElapsed: isElapsed.MatchString(signs), Form: rows.Clock}
	case days:
		return form{isTime: true, Form: rows.Date}
	}
	return form{}
}

// mostCell and mostRows are what Excel can show.
const (
	mostCell = 32_767 // characters
	mostRows = 1 << 20
)

// A Writer writes rows into a new workbook, whose header stays in sight, with a filter, and columns as wide as what stands in them.
type Writer struct {
	book   *excelize.File
	out    *excelize.StreamWriter
	styles map[rows.Form]int
	header []rows.Value
	first  [][]rows.Value // rows that wait until it is known how wide the columns are
	begun  bool
	row    int
}

// sheetName is the sheet of a new workbook.
const sheetName = "Sheet1"

// widthRows is how many rows show how wide the columns are, and widest how wide one is at most, in characters.
const (
	widthRows = 100
	widest    = 60
)

// NewWriter returns a writer of n rows below a header.
func NewWriter(header []string, n int) (w *Writer, err error) {
	w = &Writer{book: excelize.NewFile(), styles: map[rows.Form]int{}}
	for _, name := range header {
		w.header = append(w.header, name)
	}
	for form, code := range map[rows.Form]string{rows.Date: "yyyy-mm-dd", rows.Local: "yyyy-mm-dd hh:mm:ss", rows.Clock: "hh:mm:ss"} {
		if w.styles[form], err = w.book.NewStyle(&excelize.Style{CustomNumFmt: &code}); err != nil {
			return nil, err
		}
	}
	if len(header) > 0 && n < mostRows {
		last, err := excelize.CoordinatesToCellName(len(header), n+1)
		if err != nil {
			return nil, err
		}
		if err := w.book.AutoFilter(sheetName, "A1:"+last, nil); err != nil {
			return nil, err
		}
	}
	w.out, err = w.book.NewStreamWriter(sheetName)
	return w, err
}

// Write writes a row. It returns an error if a workbook cannot hold it.
func (w *Writer) Write(values []rows.Value) error {
	if w.begun {
		return w.put(values)
	}
	if w.first = append(w.first, values); len(w.first) == widthRows {
		return w.begin()
	}
	return nil
}

// begin writes what stands before the rows, and those that wait.
func (w *Writer) begin() error {
	w.begun = true
	for i := range w.header {
		width := 8
		for _, row := range append([][]rows.Value{w.header}, w.first...) {
			if i < len(row) {
				width = max(width, min(utf8.RuneCountInString(rows.Text(row[i])), widest))
			}
		}
		if err := w.out.SetColWidth(i+1, i+1, float64(width+2)); err != nil {
			return err
		}
	}
	if err := w.out.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	for _, row := range append([][]rows.Value{w.header}, w.first...) {
		if err := w.put(row); err != nil {
			return err
		}
	}
	w.first = nil
	return nil
}

// put writes a row.
func (w *Writer) put(values []rows.Value) error {
	if w.row++; w.row > mostRows {
		return fmt.Errorf("a workbook has at most %d rows; use a .csv file", mostRows)
	}
	cells := make([]any, len(values))
	for i, v := range values {
		var err error
		if cells[i], err = w.cell(v); err != nil {
			return fmt.Errorf("row %d: %w; use a .csv file", w.row, err)
		}
	}
	return w.out.SetRow("A"+strconv.Itoa(w.row), cells)
}

// cell returns a value as a cell. A text is never a formula. A number with more digits than a workbook keeps is a text, and so is a point in
// time, since a date of a workbook has no time zone.
func (w *Writer) cell(v rows.Value) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		return v, nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	case rows.Number:
		if x, err := strconv.ParseFloat(string(v), 64); err == nil && digits(string(v)) <= 15 && math.Abs(x) < 1e15 {
			return excelize.Cell{StyleID: w.places(string(v)), Value: x}, nil
		}
	case rows.Time:
		if cell, ok := w.time(v); ok {
			return cell, nil
		}
	}
	text := rows.Text(v)
	return text, checkCell(text)
}

// time returns a time as a cell, and whether a workbook has it.
func (w *Writer) time(t rows.Time) (cell excelize.Cell, ok bool) {
	switch year := t.At.Year(); {
	case t.Form == rows.Clock:
		return excelize.Cell{StyleID: w.styles[rows.Clock], Value: float64(t.At.Sub(t.At.Truncate(24*time.Hour))) / float64(24*time.Hour)}, true
	case t.Form == rows.Instant || year <= 1900 || year >= 10_000:
		return cell, false
	}
	return excelize.Cell{StyleID: w.styles[t.Form], Value: t.At}, true
}

// checkCell returns an error if a cell cannot hold a text.
func checkCell(text string) error {
	if len(text) > mostCell && utf8.RuneCountInString(text) > mostCell {
		return fmt.Errorf("a cell of a workbook has at most %d characters", mostCell)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0xFFFE || r == 0xFFFF }) {
		return fmt.Errorf("the text has a control character, which a workbook cannot contain")
	}
	return nil
}

// digits returns how many digits a number has.
func digits(number string) (n int) {
	for _, c := range number {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// places returns the style of a number, which shows as many digits behind the point as it has, or 0.
func (w *Writer) places(number string) int {
	_, behind, has := strings.Cut(number, ".")
	if !has || digits(behind) != len(behind) || !strings.HasSuffix(behind, "0") { // the others are shown as they are
		return 0
	}
	key := rows.Form(100 + len(behind))
	if id, ok := w.styles[key]; ok {
		return id
	}
	code := "0." + strings.Repeat("0", len(behind))
	id, err := w.book.NewStyle(&excelize.Style{CustomNumFmt: &code})
	if err != nil {
		return 0
	}
	w.styles[key] = id
	return id
}

// End returns the workbook, which the caller closes.
func (w *Writer) End() (*excelize.File, error) {
	if !w.begun {
		if err := w.begin(); err != nil {
			return w.book, err
		}
	}
	return w.book, w.out.Flush()
}
