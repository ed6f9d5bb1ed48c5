package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/neardup/neardup/cmd/neardup/parquet"
	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file reads Arrow: files of IPC, which Feather 2 and pandas write, and streams of it.

// readArrow is read for Arrow. The line of an item is the number of its row, from 1. Columns within structs have the names of both with a point
// between, as in Parquet; a list of texts becomes a text with a line for each.
func (s *reader) readArrow(r io.Reader) (err error) {
	file, size, done, err := s.file(r)
	if err != nil {
		return err
	}
	defer done()
	line := int32(1)
	defer s.recovered(&line, &err) // the library trusts what it reads
	batches, closeFile, err := openArrow(file, size, s.cols.Room)
	if err != nil {
		return fmt.Errorf("%s:1: %w", s.Path, plainly(err))
	}
	defer closeFile()
	schema := batches.Schema()
	var names, fields []string
	var types []arrow.DataType // by column
	var ends []int             // of the columns of each field
	for _, f := range schema.Fields() {
		fields = append(fields, f.Name)
		eachColumn("", f, func(name string, of arrow.DataType) { names, types = append(names, name), append(types, of) })
		ends = append(ends, len(names))
	}
	if s.Header, err = s.newHeader(names); err != nil {
		return err
	}
	if s.cols.Typed {
		s.Header.Fields = fields
	}
	s.Header.lookWithin(types)
	needed := s.Header.needs(ends, s.cols)
	for {
		batch, err := batches.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.Path, line, plainly(err))
		}
		if batch.NumRows() > 1<<24+size { // a column of nulls takes no bytes
			return fmt.Errorf("%s:%d: a batch claims to have %d rows", s.Path, line, batch.NumRows())
		}
		for i := range int(batch.NumRows()) {
			it := s.at(line)
			for k := range fields {
				var v rows.Value
				if needed[k] {
					v = rows.ArrowValue(batch.Column(k), i)
				}
				it.Row = s.Header.appendCells(it.Row, v, schema.Field(k).Type)
				if s.cols.Typed {
					it.values = append(it.values, v)
				}
			}
			if !s.yield(it) {
				return nil
			}
			line++
		}
	}
}

// plainly returns an error of the library, and of one that it has made of a panic, what it means.
func plainly(err error) error {
	if errors.Is(err, parquet.ErrMemory) || strings.Contains(err.Error(), parquet.ErrMemory.Error()) {
		return parquet.ErrMemory
	}
	if strings.Contains(err.Error(), "runtime error") {
		return errors.New("a batch of rows is damaged")
	}
	return err
}

// batches are those of a file or a stream.
type batches interface {
	Schema() *arrow.Schema
	Read() (arrow.RecordBatch, error)
}

// openArrow opens a file or a stream.
func openArrow(file io.ReaderAt, size, room int64) (batches, func(), error) {
	if err := checkSchema(file, size); err != nil {
		return nil, nil, err
	}
	begin := make([]byte, 6)
	if _, err := file.ReadAt(begin, 0); err != nil {
		return nil, nil, err
	}
	whole := io.NewSectionReader(file, 0, size)
	if string(begin) == "ARROW1" {
		from, err := ipc.NewFileReader(whole, ipc.WithAllocator(&bounded{room: room}))
		if err != nil {
			return nil, nil, err
		}
		return from, func() { from.Close() }, nil
	}
	from, err := ipc.NewReader(whole, ipc.WithAllocator(&bounded{room: room}))
	if err != nil {
		return nil, nil, fmt.Errorf("not an Arrow file, or Feather version 1, which is not supported: %w", err)
	}
	return from, from.Release, nil
}

// checkSchema looks at the lengths in the schema of a file or a stream, which the library believes before it reads what they count. Numbers of
// slots are those of Schema.fbs, File.fbs and Message.fbs of Arrow.
func checkSchema(file io.ReaderAt, size int64) error {
	at, slot := int64(8), flatbuffers.VOffsetT(8) // Message.header
	var end [10]byte
	if file.ReadAt(end[:], 0); string(end[:6]) == "ARROW1" { // as openArrow decides
		if file.ReadAt(end[:], max(size-10, 0)); size < 20 || string(end[4:]) != "ARROW1" {
			return errors.New("the file is cut off")
		}
		at, slot = size-10-int64(binary.LittleEndian.Uint32(end[:])), 6 // Footer.schema
	} else if binary.LittleEndian.Uint32(end[:]) != 0xFFFFFFFF { // as streams began before 0.15
		at = 4
	}
	b := make([]byte, max(min(size-at, 64<<20), 0))
	if _, err := file.ReadAt(b, at); err != nil || len(b) < 8 {
		return errors.New("not an Arrow file, or it is cut off")
	}
	c := &schemaCheck{b, len(b)}
	root := flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}
	if slot == 6 {
		if err := checkBatch(file, root); err != nil {
			return err
		}
	}
	if o := flatbuffers.UOffsetT(root.Offset(slot)); o > 0 {
		c.check(flatbuffers.Table{Bytes: b, Pos: root.Indirect(root.Pos + o)}, 6, 8, 0) // Schema.fields, Schema.custom_metadata
	}
	return nil
}

// checkBatch refuses a file that Arrow 0.17 has compressed, in a way that was an experiment: the library takes what is compressed for values.
func checkBatch(file io.ReaderAt, footer flatbuffers.Table) error {
	o := flatbuffers.UOffsetT(footer.Offset(10)) // Footer.recordBatches
	if o == 0 || footer.VectorLen(o) == 0 {
		return nil
	}
	block := footer.Vector(o) // the offset, and the length of the metadata
	message := make([]byte, min(max(footer.GetInt32(block+8), 0), 1<<20))
	n, _ := file.ReadAt(message, footer.GetInt64(block))
	if bytes.Contains(message[:n], []byte("ARROW:experimental_compression")) {
		return errors.New("it has the experimental compression of Arrow 0.17; write it again with a newer version")
	}
	return nil
}

// A schemaCheck has the bytes that a schema stands in, and how many of them are left for its vectors.
type schemaCheck struct {
	b    []byte
	left int
}

// check checks two vectors of a schema or a field: the fields in it, and its metadata.
func (c *schemaCheck) check(t flatbuffers.Table, fields, metadata flatbuffers.VOffsetT, depth int) {
	for _, slot := range []flatbuffers.VOffsetT{fields, metadata} {
		o := flatbuffers.UOffsetT(t.Offset(slot))
		if o == 0 {
			continue
		}
		n := t.VectorLen(o)
		if c.left -= 4 * n; n < 0 || c.left < 0 || depth > 64 {
			panic("its schema is damaged: it claims more entries than fit") // which recovered turns into an error
		}
		for i := 0; slot == fields && i < n; i++ {
			field := t.Indirect(t.Vector(o) + flatbuffers.UOffsetT(4*i))
			c.check(flatbuffers.Table{Bytes: c.b, Pos: field}, 14, 16, depth+1) // Field.children, Field.custom_metadata
		}
	}
}

// A bounded allocator refuses what is beyond the room, since the library believes all lengths in a file.
type bounded struct {
	memory.GoAllocator
	room int64
	live atomic.Int64
}

func (b *bounded) take(n int) {
	if b.live.Add(int64(n)) > b.room {
		panic(fmt.Errorf("a part of %d bytes %w", n, parquet.ErrMemory)) // which recovered turns into an error
	}
}

func (b *bounded) Allocate(n int) []byte {
	b.take(n)
	return b.GoAllocator.Allocate(n)
}

func (b *bounded) Reallocate(n int, old []byte) []byte {
	b.take(n - len(old))
	return b.GoAllocator.Reallocate(n, old)
}

func (b *bounded) Free(old []byte) { b.live.Add(int64(-len(old))) }

// needs reports which fields are needed. ends has where the columns of each end.
func (h *Header) needs(ends []int, cols Columns) []bool {
	needed := make([]bool, len(ends))
	for _, i := range append(append([]int{h.id, h.title}, h.text...), h.metadata...) {
		if i >= 0 {
			needed[sort.SearchInts(ends, i+1)] = true
		}
	}
	for k := range needed {
		needed[k] = needed[k] || cols.All || cols.Typed || cols.IsRecord
	}
	return needed
}

// lookWithin makes texts of columns that are lists of lists or structs those that are within them. types are those of the columns.
func (h *Header) lookWithin(types []arrow.DataType) {
	for n, at := range h.text {
		if list, ok := types[at].(arrow.ListLikeType); ok && h.within[n] == nil {
			if _, isNested := list.Elem().(arrow.NestedType); isNested {
				h.within[n] = textPath{{name: h.Names[at]}}
			}
		}
	}
}

// eachColumn calls take with the columns of a field: those within a struct, in order, or the field itself.
func eachColumn(before string, f arrow.Field, take func(name string, of arrow.DataType)) {
	if t, ok := f.Type.(*arrow.StructType); ok && t.NumFields() > 0 {
		for _, inner := range t.Fields() {
			eachColumn(before+f.Name+".", inner, take)
		}
		return
	}
	take(before+f.Name, f.Type)
}

// appendCells appends a value as the texts of these columns.
func (h *Header) appendCells(cells []string, v rows.Value, of arrow.DataType) []string {
	t, isStruct := of.(*arrow.StructType)
	if !isStruct || t.NumFields() == 0 {
		if n := slices.Index(h.text, len(cells)); n >= 0 && h.within[n] != nil {
			return append(cells, rows.Text(v))
		}
		return append(cells, cell(v))
	}
	fields, _ := v.(rows.Struct)
	for i, f := range t.Fields() {
		var inner rows.Value
		if i < len(fields) {
			inner = fields[i].Value
		}
		cells = h.appendCells(cells, inner, f.Type)
	}
	return cells
}

// cell returns a value as the text of a document has it: that of a cell, or of a list of texts a line for each.
func cell(v rows.Value) string {
	list, isList := v.(rows.List)
	if !isList {
		return rows.Text(v)
	}
	lines := make([]string, len(list))
	for i, x := range list {
		lines[i] = rows.Text(x)
	}
	return strings.Join(lines, "\n")
}
