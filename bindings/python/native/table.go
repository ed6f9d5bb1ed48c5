package main

import (
	"encoding/binary"
	"encoding/json"
	"unsafe"
)

// A table is a result: columns of numbers or texts, and values. In memory it is
//
//	8 bytes   the length of the header, in the byte order of the machine
//	header    JSON: {"columns": {name: [format, offset, bytes]}, "values": …}
//	columns   each at an offset that is a multiple of 8
//
// The format is that of Python's memoryview.cast. A column of texts is two: name has the bytes, and name.ends where each one ends.
type table struct {
	columns []column
	values  any
}

type column struct {
	name, format string
	bytes        []byte
}

// add adds a column of numbers.
func add[E uint8 | uint32 | uint64 | int64 | float64](t *table, name string, values []E) {
	var e E
	format := map[any]string{uint8(0): "B", uint32(0): "I", uint64(0): "Q", int64(0): "q", float64(0): "d"}[any(e)]
	t.columns = append(t.columns, column{name, format, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(e)))})
}

// addTexts adds a column of texts.
func (t *table) addTexts(name string, texts []string) {
	var all []byte
	ends := make([]int64, len(texts))
	for i, text := range texts {
		all = append(all, text...)
		ends[i] = int64(len(all))
	}
	add(t, name, all)
	add(t, name+".ends", ends)
}

// encode returns the table as bytes.
func (t *table) encode() []byte {
	type header struct {
		Columns map[string][3]any `json:"columns,omitempty"`
		Values  any               `json:"values,omitempty"`
	}
	h := header{map[string][3]any{}, t.values}
	aligned := func(n int) int { return (n + 7) &^ 7 }
	at := 0 // after the header
	for _, c := range t.columns {
		h.Columns[c.name] = [3]any{c.format, at, len(c.bytes)}
		at += aligned(len(c.bytes))
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // which recovered makes an error of
	}
	begin := aligned(8 + len(b))
	all := make([]byte, begin+at)
	binary.NativeEndian.PutUint64(all, uint64(len(b)))
	copy(all[8:], b)
	at = begin
	for _, c := range t.columns {
		copy(all[at:], c.bytes)
		at += aligned(len(c.bytes))
	}
	return all
}
