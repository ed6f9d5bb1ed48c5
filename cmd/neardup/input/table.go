package input

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file reads tables of text, and finds the columns of documents in the headers of all tables. A header names the columns. It is the first
// row of a table, or a row below a title or comments.

// A Header says which columns of a table have the fields of a document.
type Header struct {
	Names    []string   // of the columns, all different
	Fields   []string   // of an item with values; otherwise the same
	id       int        // -1: the place of a row is its id
	text     []int      // in the order of --text
	within   []textPath // by text: the path to the texts in the column, which then has JSON; nil if the column is the text
	title    int        // -1 if there is none
	metadata []int      // in the order of columns.metadataNames

	dialect dialect // of a table of text
	named   int     // how many columns there are up to the last one with a name
	Raw     []byte  // of a table of text: its bytes up to the first row

	Sheet string // of a workbook
	Line  int32  // of the header in it; 0 if there is none

	Parquet *parquetHeader // nil if it is of another format
}

// Separator returns what stands between the cells of a table of text.
func (h *Header) Separator() rune { return []rune(h.dialect.separator)[0] }

// SameDialect reports whether rows of another table of text can stand in this one as they are.
func (h *Header) SameDialect(other *Header) bool { return h.dialect == other.dialect }

// HasTwins reports whether two fields have the same name.
func (h *Header) HasTwins() bool {
	names := slices.Clone(h.Fields)
	slices.Sort(names)
	return len(slices.Compact(names)) < len(h.Fields)
}

// newHeader finds the columns of the fields. It notes what the user may not expect.
func (s *reader) newHeader(given []string) (*Header, error) {
	h, notes, err := headerOf(given, s.cols, s.Format == "parquet")
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	for _, note := range notes {
		s.Note("%s", note)
	}
	return h, nil
}

// headerOf finds the columns of the fields, and says what is odd about their names. hasParts says that the columns within a field are
// named by it, as in Parquet, so that a path may begin at a field that is not a column.
func headerOf(given []string, cols Columns, hasParts bool) (h *Header, notes []string, err error) {
	trimmed := make([]string, len(given))
	for i, name := range given {
		trimmed[i] = strings.TrimSpace(name)
	}
	h = &Header{title: -1}
	h.Names, notes = distinct(given)
	h.Fields = h.Names
	for i, name := range trimmed {
		if name != "" {
			h.named = i + 1
		}
	}
	f := columnFinder{names: trimmed, notes: notes, isExact: cols.NoHeader}
	if h.id, err = f.find(cols.ID); err == nil && h.id < 0 && cols.IDGiven {
		_, err = f.must(cols.ID, "id")
	}
	if err != nil || cols.IsRecord {
		return h, f.notes, err
	}
	f.hasParts = hasParts
	for _, name := range f.texts(cols) {
		at, within, err := f.text(name)
		if err != nil {
			return nil, nil, err
		}
		h.text, h.within = append(h.text, at), append(h.within, within)
	}
	if h.title, err = f.find(cols.Title); err != nil {
		return nil, nil, err
	}
	for _, name := range cols.MetadataNames() {
		at, err := f.must(name, "metadata")
		if err != nil {
			return nil, nil, err
		}
		h.metadata = append(h.metadata, at)
	}
	return h, f.notes, nil
}

// distinct returns names for columns, each its own: an empty one is named by its number, and a second one of a name gets a number.
func distinct(given []string) (names, notes []string) {
	names = slices.Clone(given)
	has := map[string]bool{}
	for _, name := range given {
		has[name] = true
	}
	seen := map[string]int{} // the number that the last one of a name got
	twins := 0
	for i, name := range names {
		if strings.TrimSpace(name) == "" {
			name = ""
		}
		if name != "" && seen[name] == 0 {
			seen[name] = 1
			continue
		}
		for n := max(2, seen[name]+1); ; n++ {
			if names[i] = fmt.Sprintf("%s_%d", name, n); name == "" {
				names[i] = fmt.Sprintf("column %d", i+n-1)
			}
			if !has[names[i]] {
				if name != "" {
					seen[name] = n
				}
				break
			}
		}
		has[names[i]], seen[names[i]] = true, 1
		if twins++; name != "" && twins <= mostTwins {
			notes = append(notes, fmt.Sprintf("two columns have the name %q; column %d is read as %q", name, i+1, names[i]))
		}
	}
	return names, notes
}

// mostTwins is how many columns of equal names are noted one by one.
const mostTwins = 5

// A columnFinder finds columns by their names.
type columnFinder struct {
	names, notes []string
	isExact      bool // names are letters that nobody wrote
	hasParts     bool
}

// texts returns the names of the texts. The default name fits a column in another case too.
func (f *columnFinder) texts(cols Columns) []string {
	isThere := slices.ContainsFunc(f.names, func(name string) bool {
		return name == cols.Text || cols.Text == defaultText && strings.EqualFold(name, defaultText)
	})
	names, isChat := cols.textNames(isThere, func(name string) bool { return f.field(name) >= 0 })
	if isChat {
		f.notes = append(f.notes, fmt.Sprintf("no column %q; reading %q instead", defaultText, strings.Join(names, ",")))
	}
	return names
}

// field returns the column of a field, or the first of those within it, or -1.
func (f *columnFinder) field(name string) int {
	at := slices.Index(f.names, name)
	if at < 0 && f.hasParts {
		at = slices.IndexFunc(f.names, func(other string) bool { return strings.HasPrefix(other, name+".") })
	}
	return at
}

// text returns the column of a text. If its texts are within the column, it also returns the path to them, which begins with the field.
func (f *columnFinder) text(name string) (at int, within textPath, err error) {
	if at, err = f.find(name); err != nil || at >= 0 {
		return at, turnsOf(name), err
	}
	if path, wrong := parsePath(name); wrong == nil {
		// The longest beginning that is a column, such as meta.turns of a column turns in a struct meta.
		for n := len(path); n > 0; n-- {
			if begin, isPlain := path[:n].fields(); isPlain {
				if at := slices.Index(f.names, begin); at >= 0 {
					return at, path[n-1:], nil
				}
			}
		}
		if at := f.field(path[0].name); at >= 0 {
			return at, path, nil
		}
	}
	at, err = f.must(name, "text")
	if err != nil && name == defaultText {
		err = fmt.Errorf("%w%s", err, proposal(f.names))
	}
	return at, nil, err
}

// find returns the column with a name, or if there is none the only one that differs in upper and lower case, or -1.
func (f *columnFinder) find(name string) (at int, err error) {
	if name == "" {
		return -1, nil
	}
	at = slices.Index(f.names, name)
	if at < 0 && !f.isExact {
		at = slices.IndexFunc(f.names, func(other string) bool { return strings.EqualFold(other, name) })
		if at >= 0 {
			f.notes = append(f.notes, fmt.Sprintf("the column %q is used as %q", f.names[at], name))
		}
	}
	if at >= 0 && slices.Contains(f.names[at+1:], f.names[at]) {
		return at, fmt.Errorf("two columns have the name %q", f.names[at])
	}
	return at, nil
}

// must is find for a column that has to be there.
func (f *columnFinder) must(name, flag string) (int, error) {
	at, err := f.find(name)
	if err == nil && at < 0 {
		err = fmt.Errorf("no column %q; the columns are %q. Set --%s, or --no-header if the first row is data; --skip-bad skips such files", name, f.names, flag)
	}
	return at, err
}

// letters returns the names that spreadsheets give n columns: A, B, …, Z, AA.
func letters(n int) (names []string) {
	for i := range n {
		name := ""
		for k := i + 1; k > 0; k = (k - 1) / 26 {
			name = string(rune('A'+(k-1)%26)) + name
		}
		names = append(names, name)
	}
	return names
}

// headerRows is how many rows may stand above a header.
const headerRows = 20

// findHeader returns which of the first rows of a table is the header: the first one, or one that has the columns that are needed, and more
// cells than each row above it. Those are titles and comments.
func findHeader(rows [][]string, cols Columns) (at int, err error) {
	_, _, err = headerOf(rows[0], cols, false)
	if err == nil {
		return 0, nil
	}
	most := filled(rows[0])
	for i := 1; i < min(len(rows), headerRows); i++ {
		n := filled(rows[i])
		if _, _, wrong := headerOf(rows[i], cols, false); wrong == nil && n > most {
			return i, nil
		}
		most = max(most, n)
	}
	return 0, err
}

// filled returns how many cells of a row are not empty.
func filled(row []string) (n int) {
	for _, cell := range row {
		if strings.TrimSpace(cell) != "" {
			n++
		}
	}
	return n
}

// noHeader names the columns of a table without a header, by its first row.
func (r *csvReader) noHeader(rows [][]string, raw []byte) error {
	r.blanks = len(rows) > 0 && haveBlanks(rows[0])
	row, err := aboveHeader(r)
	for err == nil && row.isBlank() {
		row, err = aboveHeader(r)
	}
	if err != nil {
		return err
	}
	r.back(r.next) // it is a row
	if r.of.Header, err = r.of.newHeader(letters(len(row.cells))); err != nil {
		return err
	}
	r.of.Header.dialect, r.of.Header.Raw = r.dialect, raw
	r.want = len(r.of.Header.Names)
	return nil
}

// takeHeader reads the rows up to the header, which has so many rows above it.
func (r *csvReader) takeHeader(at int, raw []byte) error {
	for n := 0; ; {
		row, err := aboveHeader(r)
		if err != nil {
			return err
		}
		raw = append(slices.Clip(raw), row.raw...)
		for i := range row.cells {
			if r.blanks {
				row.cells[i] = strings.TrimSpace(row.cells[i])
			}
		}
		if row.isBlank() {
			continue
		}
		if n++; n <= at || int(row.line) < r.of.cols.HeaderRow {
			continue
		}
		if r.of.Header, err = r.of.newHeader(row.cells); err != nil {
			return err
		}
		r.of.Header.Line = row.line
		break
	}
	r.of.Header.dialect, r.of.Header.Raw = r.dialect, raw
	r.want = len(r.of.Header.Names)
	return nil
}

// readCSV is read for tables of text.
func (s *reader) readCSV(lines *LineReader) error {
	r := &csvReader{of: s, lines: lines, most: max(1<<20, min(2*lines.Max+1<<16, int(s.cols.Room)))}
	if err := r.start(); err != nil {
		return err
	}
	var odd oddRows
	for {
		row, err := r.read()
		if err == io.EOF {
			odd.note(s.Source)
			return nil
		}
		if err != nil && !isLineError(err) && err != errQuote {
			return fmt.Errorf("%s:%d: %w", s.Path, max(1, lines.Line), err)
		}
		it := s.at(row.line)
		if err != nil {
			it.Err = err
		} else if row.isBlank() {
			if len(row.cells) > 1 {
				odd.blank++
			}
			continue
		} else {
			it.Row, it.Err = odd.fit(&row, r.want, s.Header.named)
			it.Bytes, it.isLossy = row.raw, row.isLossy
		}
		if !s.yield(it) {
			return nil
		}
	}
}

// oddRows counts rows that are not as they should be.
type oddRows struct{ short, long, blank, inner, backslash int }

// fit returns the cells of a row, as many as the header has. A row may lack the last ones, if they have no names.
func (o *oddRows) fit(row *record, want, named int) ([]string, error) {
	cells := row.cells
	if len(cells) > mostCells {
		return nil, fmt.Errorf("the row has more than %d cells", mostCells)
	}
	if len(cells) > want {
		if filled(cells[want:]) > 0 {
			return nil, fmt.Errorf("the row has %d cells, but the header has %d; put cells that contain the separator in quotes", len(cells), want)
		}
		cells = cells[:want]
		o.long++
	}
	if n := len(cells); n < want {
		cells = append(cells, make([]string, want-n)...)
		if n < named {
			o.short++
		}
	}
	if row.odd&innerQuote != 0 {
		o.inner++
	}
	if row.odd&backslash != 0 {
		o.backslash++
	}
	return cells, nil
}

// note has it said.
func (o *oddRows) note(s *Source) {
	for _, odd := range []struct {
		n    int
		what string
	}{
		{o.short, "rows shorter than the header: %d; their missing cells are empty"},
		{o.long, "rows with empty cells beyond the header: %d; the extra cells are dropped"},
		{o.blank, "rows of empty cells skipped: %d"},
		{o.inner, "rows with quotes that are not doubled: %d; these quotes are read as text"},
		{o.backslash, `rows with \" for a quote: %d`},
	} {
		if odd.n > 0 {
			s.Note(odd.what, odd.n)
		}
	}
}
