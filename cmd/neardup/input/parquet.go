package input

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file reads Parquet. Of each row only the columns that are needed are read; several row groups are read at the same time.

// A parquetHeader is what a header has of a Parquet file.
type parquetHeader struct {
	Schema      *schema.Schema
	Compression compress.Compression
	reader      func() (*rows.ParquetReader, error) // which looks at untyped columns first
}

// readParquet is read for a Parquet file. The line of an item is the number of its row, from 1. A list becomes a
// text with a line for each element.
func (s *reader) readParquet(r io.Reader) error {
	from, size, done, err := s.file(r)
	if err != nil {
		return err
	}
	defer done()
	p, err := s.openParquet(from, size)
	if err != nil {
		return err
	}
	if s.cols.Typed {
		return s.readRows(p)
	}
	return s.readGroups(p)
}

// readGroups yields the documents of all row groups, in order. Some groups are read ahead of their turn, each by a goroutine.
func (s *reader) readGroups(p *parquet.File) error {
	needed := s.Header.needed(s.cols)
	read := s.Header.withParts(p.Schema(), needed)
	first := []int32{1} // the line of the first row of each group
	for g := range p.Groups() {
		first = append(first, first[g]+int32(p.Rows(g)))
	}
	chunks := make([]chan parquetChunk, p.Groups())
	quit := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait() // before the file is closed
	defer close(quit)
	begin := func(g int) {
		chunks[g] = make(chan parquetChunk, 4)
		wg.Go(func() {
			defer close(chunks[g])
			emit := func(c parquetChunk) bool {
				select {
				case chunks[g] <- c:
					return true
				case <-quit:
					return false
				}
			}
			t := textReader{s: s, group: g, needed: needed, read: read, line: first[g], emit: emit}
			if err := t.all(p); err != nil {
				emit(parquetChunk{nil, fmt.Errorf("%s:%d: %w", s.Path, t.line, err)})
			}
		})
	}
	ahead := groupsAtOnce(p, read, s.cols.Room)
	for g := range ahead {
		begin(g)
	}
	for g := range chunks {
		for c := range chunks[g] {
			if c.err != nil {
				return c.err
			}
			for _, it := range c.items {
				if !s.yield(it) {
					return nil
				}
			}
		}
		if g+ahead < len(chunks) {
			begin(g + ahead)
		}
	}
	return nil
}

// openParquet opens a file and finds the columns of the documents in it.
func (s *reader) openParquet(from io.ReaderAt, size int64) (*parquet.File, error) {
	p, err := parquet.Open(from, size, s.cols.Room)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	total := int64(0)
	for g := range p.Groups() {
		if total += p.Rows(g); total > math.MaxInt32 || p.Rows(g) > math.MaxInt32 {
			return nil, fmt.Errorf("%s:1: it has more than %d rows", s.Path, math.MaxInt32)
		}
	}
	var names []string
	for _, c := range p.Schema().Columns() {
		names = append(names, rows.ListName(c))
	}
	if s.Header, err = s.newHeader(names); err != nil {
		return nil, err
	}
	if s.cols.Typed {
		s.Header.Fields = rows.ParquetNames(p.Schema())
		for _, name := range rows.Variants(p.Schema()) {
			s.Note("the column %q has the type VARIANT; the parts that Parquet stores are written, not the value", name)
		}
	}
	s.Header.Parquet = &parquetHeader{p.Schema(), p.Compression(), sync.OnceValues(func() (*rows.ParquetReader, error) {
		p, done, err := s.stillOpen(p)
		if err != nil {
			return nil, err
		}
		defer done()
		isText, err := s.textColumns(p)
		return rows.NewParquetReader(p.Schema(), isText), err
	})}
	return p, nil
}

// stillOpen returns a file that was opened, and opens it again if it can: whoever uses its rows may be so far behind that it has been closed.
func (s *reader) stillOpen(p *parquet.File) (*parquet.File, func(), error) {
	if s.Copy == nil && !s.Regular() {
		return p, func() {}, nil
	}
	from, size, done, err := s.file(nil)
	if err != nil {
		return nil, nil, err
	}
	if p, err = parquet.Open(from, size, s.cols.Room); err != nil {
		done()
		return nil, nil, fmt.Errorf("%s:1: %w", s.Path, err)
	}
	return p, done, nil
}

// needed returns the columns that the documents need.
func (h *Header) needed(cols Columns) (needed []int) {
	if cols.All || cols.IsRecord {
		for i := range h.Names {
			needed = append(needed, i)
		}
		return needed
	}
	for _, i := range slices.Concat([]int{h.id, h.title}, h.text, h.metadata) {
		if i >= 0 && !slices.Contains(needed, i) {
			needed = append(needed, i)
		}
	}
	return needed
}

// withParts returns columns with all others of the fields whose texts are within them.
func (h *Header) withParts(s *schema.Schema, columns []int) []int {
	for n, i := range h.text {
		if h.within[n] != nil {
			_, first, count := rows.FieldOf(s, i)
			for k := range count {
				if !slices.Contains(columns, first+k) {
					columns = append(columns, first+k)
				}
			}
		}
	}
	return columns
}

// groupsAtOnce returns how many row groups are read at the same time: one for each processor, if what their columns may take fits. A column
// takes at most its size: its dictionary, and a page of it.
func groupsAtOnce(p *parquet.File, columns []int, room int64) int {
	most := int64(1)
	for g := range p.Groups() {
		most = max(most, p.Bytes(g, columns))
	}
	return min(runtime.GOMAXPROCS(0), p.Groups(), int(max(1, room/2/most)))
}

// readRows yields whole rows of all groups. Their values are made when they are asked for.
func (s *reader) readRows(p *parquet.File) error {
	line := int32(0)
	for g := range p.Groups() {
		if goes, err := s.readWholeGroup(p, g, &line); !goes || err != nil {
			return err
		}
	}
	return nil
}

// readWholeGroup yields the rows of a group, and reports whether yield wants more.
func (s *reader) readWholeGroup(p *parquet.File, g int, line *int32) (bool, error) {
	group, err := p.Group(g, p.Columns())
	if err != nil {
		return false, fmt.Errorf("%s:%d: %w", s.Path, *line+1, err)
	}
	defer group.Close()
	for {
		switch err := group.Next(); {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, fmt.Errorf("%s:%d: %w", s.Path, *line+1, err)
		}
		*line++
		it := s.at(*line)
		it.Parquet, it.Group = group.Row(), int32(g+1)
		if !s.yield(it) {
			return false, nil
		}
	}
}

// textColumns is [rows.TextColumns], and notes the columns of bytes.
func (s *reader) textColumns(p *parquet.File) ([]bool, error) {
	isText, err := rows.TextColumns(p)
	for i, c := range p.Schema().Columns() {
		if err == nil && rows.IsUntyped(c) && !isText[i] {
			s.Note("the column %q has bytes that are not text; they are written as base64", s.Header.Names[i])
		}
	}
	return isText, err
}

// A parquetChunk is some rows of a row group, or what is wrong with the next ones.
type parquetChunk struct {
	items []Item
	err   error
}

// A chunk ends at so many rows, or bytes of text: a row of a dictionary takes hardly any room in the file.
const (
	chunkRows  = 256
	chunkBytes = 1 << 20
)

// A textReader reads the texts of a row group.
type textReader struct {
	s      *reader
	group  int
	needed []int // columns of the documents
	read   []int // these, and others of their fields
	line   int32 // of the next row
	emit   func(parquetChunk) bool
	values *rows.ParquetReader // nil until it is needed
}

// all passes the rows to emit, until that returns false.
func (t *textReader) all(p *parquet.File) error {
	group, err := p.Group(t.group, t.read)
	if err != nil {
		return err
	}
	defer group.Close()
	var items []Item
	size := 0
	for {
		if err := group.Next(); err == io.EOF {
			t.emit(parquetChunk{items, nil})
			return nil
		} else if err != nil {
			return err
		}
		it := t.s.at(t.line)
		it.Row = make([]string, p.Schema().NumColumns())
		for _, i := range t.needed {
			text, ok := t.text(p.Schema(), group, i)
			if !ok {
				it.Row, it.Err = nil, ErrTooLong
				break
			}
			it.Row[i] = text
			size += len(text)
		}
		t.line++
		if items = append(items, it); len(items) == chunkRows || size >= chunkBytes {
			if !t.emit(parquetChunk{items, nil}) {
				return nil
			}
			items, size = nil, 0
		}
	}
}

// text returns a column in a row as text, or the whole field as JSON if its texts are within it; or false if it is longer than a line may be.
func (t *textReader) text(s *schema.Schema, group *parquet.Group, column int) (string, bool) {
	n := slices.Index(t.s.Header.text, column)
	if n < 0 || t.s.Header.within[n] == nil {
		return cellsText(s.Column(column), group.Cells(column), t.s.maxLine)
	}
	field, first, count := rows.FieldOf(s, column)
	if t.values == nil {
		isText := make([]bool, s.NumColumns()) // as for columns that are texts
		for i := range isText {
			isText[i] = true
		}
		t.values = rows.NewParquetReader(s, isText)
	}
	cells, size := make([][]parquet.Cell, count), 0
	for k := range cells {
		cells[k] = group.Cells(first + k)
		for i := range cells[k] {
			size += len(cells[k][i].Bytes) + 1
		}
	}
	if size > t.s.maxLine {
		return "", false
	}
	return rows.Text(t.values.ReadField(field, first, cells)), true
}

// cellsText returns the cells of a column in a row as text, of a list with a line for each element that is not null; or false if it is longer
// than most bytes.
func cellsText(c *schema.Column, cells []parquet.Cell, most int) (string, bool) {
	size := 0
	for i := range cells {
		if size += len(cells[i].Bytes) + 1; size > most+1 {
			return "", false
		}
	}
	var b strings.Builder
	isFirst := true
	for i := range cells {
		if cells[i].Def < c.MaxDefinitionLevel() {
			continue
		}
		text := rows.LeafText(c, &cells[i])
		if len(cells) == 1 {
			return text, true
		}
		if !isFirst {
			b.WriteByte('\n')
		}
		isFirst = false
		b.WriteString(text)
	}
	return b.String(), true
}

// recovered turns a panic of a library into an error. line is where the work began, or where it is.
func (s *reader) recovered(line *int32, err *error) {
	switch wrong := recover().(type) {
	case nil:
	case runtime.Error: // whose text helps nobody
		*err = fmt.Errorf("%s:%d: the file is damaged here or later", s.Path, *line)
	case error:
		*err = fmt.Errorf("%s:%d: %w", s.Path, *line, plainly(wrong))
	default:
		*err = fmt.Errorf("%s:%d: the file is damaged here or later: %v", s.Path, *line, wrong)
	}
}
