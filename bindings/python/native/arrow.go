package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html
struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *to) { return s->get_schema(s, to); }
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *to) { return s->get_next(s, to); }
static const char *stream_error(struct ArrowArrayStream *s) { return s->get_last_error(s); }
static void stream_release(struct ArrowArrayStream *s) { if (s->release) s->release(s); s->release = NULL; }
static void schema_release(struct ArrowSchema *s) { if (s->release) s->release(s); s->release = NULL; }
static void array_release(struct ArrowArray *a) { if (a->release) a->release(a); a->release = NULL; }
static int array_is_released(struct ArrowArray *a) { return a->release == NULL; }
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"
)

// This file reads columns of texts from others' memory, by Arrow's C data interface: pyarrow, polars, pandas and DuckDB offer their columns in this way.
// No text is copied. Texts may be utf8, large_utf8, utf8_view, the same of binary, or a dictionary of these.
//
// A stream is an object of Python's, and so is each of its parts; call.texts has the texts of a part while a method works. A part is released by its
// method close, after the job that reads it has ended.

// A stream is one of Arrow's, or the one array of an object that has no stream.
type stream struct {
	schema *C.struct_ArrowSchema
	stream *C.struct_ArrowArrayStream
	only   *C.struct_ArrowArray // without a stream, until it is taken
	rows   int64                // in the parts so far
	ids    bool                 // there are two columns, of ids and of texts
}

// makeStream moves an ArrowArrayStream, or an ArrowSchema and an ArrowArray, out of the memory of whoever offers them.
func makeStream(c *call) (object, error) {
	var args struct {
		Stream, Schema, Array uintptr
		IDs                   bool
	}
	if err := c.into(&args); err != nil {
		return nil, err
	}
	s := &stream{schema: (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema)), ids: args.IDs}
	if args.Stream == 0 {
		s.only = (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
		schema, array := (*C.struct_ArrowSchema)(pointer(args.Schema)), (*C.struct_ArrowArray)(pointer(args.Array))
		*s.schema, *s.only = *schema, *array
		schema.release, array.release = nil, nil
	} else {
		s.stream = (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
		from := (*C.struct_ArrowArrayStream)(pointer(args.Stream))
		*s.stream = *from
		from.release = nil
		if err := s.failed(C.stream_schema(s.stream, s.schema)); err != nil {
			s.free()
			return nil, err
		}
	}
	if err := s.check(); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// pointer returns an address of Python's as a pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// failed returns the error that a function of the stream has reported.
func (s *stream) failed(code C.int) error {
	if code == 0 {
		return nil
	}
	said := C.GoString(C.strerror(code))
	if text := C.stream_error(s.stream); text != nil {
		said = C.GoString(text)
	}
	return fmt.Errorf("neardup: reading the column: %s", said)
}

// check returns an error unless the columns are those that are wanted.
func (s *stream) check() error {
	columns := []*C.struct_ArrowSchema{s.schema}
	if format := C.GoString(s.schema.format); format == "+s" {
		columns = unsafe.Slice(s.schema.children, int(s.schema.n_children))
	}
	wanted := 1
	if s.ids {
		wanted = 2
	}
	if len(columns) != wanted {
		var names []string
		for _, column := range columns {
			names = append(names, C.GoString(column.name))
		}
		if s.ids {
			return fmt.Errorf("neardup: a table for add_many has two columns, the ids and the texts; this one has %d: %q", len(columns), names)
		}
		return fmt.Errorf("neardup: choose the column with the texts; the table has %d: %q", len(columns), names)
	}
	text := columns[wanted-1]
	format := text.format
	if text.dictionary != nil {
		format = text.dictionary.format
	}
	switch f := C.GoString(format); f {
	case "u", "U", "z", "Z", "vu", "vz":
		return nil
	default:
		return fmt.Errorf("neardup: the column %q has no texts, but values of the type %q", C.GoString(text.name), f)
	}
}

// method implements object.
func (s *stream) method(name string) (function, error) {
	if name != "close" {
		return nil, fmt.Errorf("neardup: a stream has no method %q", name)
	}
	return func(context.Context, *call, func(*table) error) error {
		s.free()
		return nil
	}, nil
}

func (s *stream) free() {
	C.schema_release(s.schema)
	C.free(unsafe.Pointer(s.schema))
	if s.stream != nil {
		C.stream_release(s.stream)
		C.free(unsafe.Pointer(s.stream))
	}
	if s.only != nil {
		C.array_release(s.only)
		C.free(unsafe.Pointer(s.only))
	}
	*s = stream{}
}

// A part is a piece of a stream.
type part struct {
	array *C.struct_ArrowArray
	texts []string // in memory of the array
	ids   any      // []int64 or []string; nil if there are none
}

// makePart takes the next piece of the stream. At the end it makes none, and no error.
func makePart(c *call) (object, error) {
	var args struct{ Stream C.uintptr_t }
	if err := c.into(&args); err != nil {
		return nil, err
	}
	o, err := objectOf(args.Stream)
	if err != nil {
		return nil, err
	}
	s := o.(*stream)
	array := s.only
	if s.stream != nil {
		array = (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
		if err := s.failed(C.stream_next(s.stream, array)); err != nil {
			C.free(unsafe.Pointer(array))
			return nil, err
		}
	}
	s.only = nil
	if array == nil {
		return nil, nil
	}
	p := &part{array: array}
	if C.array_is_released(array) != 0 {
		p.free()
		return nil, nil
	}
	if err := p.read(s); err != nil {
		p.free()
		return nil, err
	}
	s.rows += int64(array.length)
	return p, nil
}

// method implements object.
func (p *part) method(name string) (function, error) {
	switch name {
	case "len":
		return func(_ context.Context, _ *call, emit func(*table) error) error {
			return emit(&table{values: len(p.texts)})
		}, nil
	case "texts":
		return func(_ context.Context, _ *call, emit func(*table) error) error {
			t := new(table)
			t.addTexts("text", p.texts)
			return emit(t)
		}, nil
	case "close":
		return func(context.Context, *call, func(*table) error) error {
			p.free()
			return nil
		}, nil
	}
	return nil, fmt.Errorf("neardup: a part of a column has no method %q", name)
}

func (p *part) free() {
	if p.array != nil {
		C.array_release(p.array)
		C.free(unsafe.Pointer(p.array))
	}
	*p = part{}
}

// number makes ids for a part without any: integers from the first one on.
func (p *part) number(first int64) {
	ids := make([]int64, len(p.texts))
	for i := range ids {
		ids[i] = first + int64(i)
	}
	p.ids = ids
}

// read finds the texts, and the ids.
func (p *part) read(s *stream) (err error) {
	schemas, arrays, from := []*C.struct_ArrowSchema{s.schema}, []*C.struct_ArrowArray{p.array}, int64(0)
	if C.GoString(s.schema.format) == "+s" {
		schemas, arrays = unsafe.Slice(s.schema.children, int(s.schema.n_children)), unsafe.Slice(p.array.children, int(p.array.n_children))
		from = int64(p.array.offset)
		if v := newValues(s.schema, p.array, 0, int64(p.array.length)); v.firstNull() >= 0 {
			return fmt.Errorf("neardup: row %d is null", s.rows+v.firstNull())
		}
	}
	length := int64(p.array.length)
	last := len(arrays) - 1
	if s.ids {
		if p.ids, err = newValues(schemas[0], arrays[0], from, length).ids(s.rows); err != nil {
			return err
		}
	}
	p.texts, err = newValues(schemas[last], arrays[last], from, length).texts(s.rows)
	return err
}

// values are those of an array from a row on.
type values struct {
	format       string
	array        *C.struct_ArrowArray
	schema       *C.struct_ArrowSchema
	from, length int64 // from includes the offset of the array
}

func newValues(schema *C.struct_ArrowSchema, array *C.struct_ArrowArray, from, length int64) values {
	return values{C.GoString(schema.format), array, schema, from + int64(array.offset), length}
}

// buffer returns n values of type E of a buffer.
func buffer[E any](v values, number int, n int64) []E {
	if int64(v.array.n_buffers) <= int64(number) {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Slice(v.array.buffers, int(v.array.n_buffers))[number]), int(n))
}

// firstNull returns the row of the first null, or -1. Bits of the first buffer are 0 for nulls, from the lowest bit on.
func (v values) firstNull() int64 {
	if v.array.null_count == 0 || v.array.n_buffers == 0 || unsafe.Slice(v.array.buffers, int(v.array.n_buffers))[0] == nil {
		return -1
	}
	bits := buffer[byte](v, 0, (v.from+v.length+7)/8)
	for i := range v.length {
		if at := v.from + i; bits[at/8]>>(at%8)&1 == 0 {
			return i
		}
	}
	return -1
}

// texts returns the texts, without a copy. rows are those before, for errors.
func (v values) texts(rows int64) ([]string, error) {
	if v.length == 0 { // then there may be no buffers
		return []string{}, nil
	}
	if n := v.firstNull(); n >= 0 {
		return nil, fmt.Errorf("neardup: text %d is null; fill it with an empty text, or leave it out", rows+n)
	}
	if v.schema.dictionary != nil {
		numbers, err := v.ids(rows)
		if err != nil {
			return nil, err
		}
		of, err := newValues(v.schema.dictionary, v.array.dictionary, 0, int64(v.array.dictionary.length)).texts(0)
		if err != nil {
			return nil, err
		}
		texts := make([]string, v.length)
		for i, n := range numbers.([]int64) {
			if n < 0 || n >= int64(len(of)) {
				return nil, fmt.Errorf("neardup: text %d is number %d of a dictionary with %d", rows+int64(i), n, len(of))
			}
			texts[i] = of[n]
		}
		return texts, nil
	}
	switch v.format {
	case "u", "z":
		return slices(buffer[int32](v, 1, v.from+v.length+1), v)
	case "U", "Z":
		return slices(buffer[int64](v, 1, v.from+v.length+1), v)
	}
	return v.views()
}

// slices returns the texts between offsets.
func slices[I int32 | int64](offsets []I, v values) ([]string, error) {
	texts := make([]string, v.length)
	offsets = offsets[v.from:]
	data := buffer[byte](v, 2, int64(offsets[v.length]))
	for i := range texts {
		from, to := offsets[i], offsets[i+1]
		if from < 0 || from > to || to > offsets[v.length] {
			return nil, fmt.Errorf("neardup: the offsets of the column are damaged: %d to %d", from, to)
		}
		if from < to {
			texts[i] = unsafe.String(&data[from], int(to-from))
		}
	}
	return texts, nil
}

// A view is how utf8_view has a text: up to 12 bytes as they are, and others by a part of a buffer.
type view struct {
	length int32
	rest   [12]byte // or 4 bytes of prefix, the number of the buffer, and where it begins there
}

// views returns the texts of an array of views.
func (v values) views() ([]string, error) {
	views := buffer[view](v, 1, v.from+v.length)[v.from:]
	variadic := int(v.array.n_buffers) - 3 // after the validity and the views come the buffers, and then their lengths
	lengths := buffer[int64](v, int(v.array.n_buffers)-1, int64(max(variadic, 0)))
	texts := make([]string, v.length)
	for i := range views {
		w := &views[i]
		switch n := int64(w.length); {
		case n < 0:
			return nil, fmt.Errorf("neardup: a text of the column has %d bytes", n)
		case n <= 12:
			texts[i] = unsafe.String(&w.rest[0], int(n))
		default:
			number, from := *(*int32)(unsafe.Pointer(&w.rest[4])), int64(*(*int32)(unsafe.Pointer(&w.rest[8])))
			if number < 0 || int(number) >= variadic || from < 0 || from+n > lengths[number] {
				return nil, fmt.Errorf("neardup: the views of the column are damaged: buffer %d, %d bytes from %d on", number, n, from)
			}
			texts[i] = unsafe.String(&buffer[byte](v, 2+int(number), from+n)[from], int(n))
		}
	}
	return texts, nil
}

// ids returns integers as []int64, and texts as []string that outlive the array.
func (v values) ids(rows int64) (any, error) {
	if v.length == 0 {
		return nil, nil
	}
	if n := v.firstNull(); n >= 0 {
		return nil, fmt.Errorf("neardup: id %d is null", rows+n)
	}
	switch v.format {
	case "c":
		return integers[int8](v), nil
	case "C":
		return integers[uint8](v), nil
	case "s":
		return integers[int16](v), nil
	case "S":
		return integers[uint16](v), nil
	case "i":
		return integers[int32](v), nil
	case "I":
		return integers[uint32](v), nil
	case "l":
		return integers[int64](v), nil
	case "L":
		for i, n := range buffer[uint64](v, 1, v.from+v.length)[v.from:] {
			if n > math.MaxInt64 {
				return nil, fmt.Errorf("neardup: id %d is %d; an id has at most 64 bits, signed", rows+int64(i), n)
			}
		}
		return integers[uint64](v), nil
	case "u", "U", "vu":
		texts, err := v.texts(rows)
		for i, text := range texts {
			texts[i] = string([]byte(text))
		}
		return texts, err
	}
	return nil, fmt.Errorf("neardup: ids are integers or texts; the column has values of the type %q", v.format)
}

func integers[E int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](v values) []int64 {
	ids := make([]int64, v.length)
	for i, n := range buffer[E](v, 1, v.from+v.length)[v.from:] {
		ids[i] = int64(n)
	}
	return ids
}
