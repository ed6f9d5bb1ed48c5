package rows

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	arrow "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/neardup/neardup/cmd/neardup/parquet"
)

// This file makes rows of Parquet of values, with a schema for the types that the values have.

// Extended returns a schema with columns of texts behind those that it has.
func Extended(s *schema.Schema, added []string) (*schema.GroupNode, error) {
	var fields schema.FieldList
	for i := range s.Root().NumFields() {
		fields = append(fields, s.Root().Field(i))
	}
	for _, name := range added {
		n, err := textNode(name, arrow.Repetitions.Optional)
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	return schema.NewGroupNode(s.Root().Name(), arrow.Repetitions.Required, fields, -1)
}

// AppendTexts appends the cells of columns that Extended has added. An empty text is null.
func AppendTexts(row [][]parquet.Cell, texts []string) [][]parquet.Cell {
	row = slices.Clip(row)
	for _, text := range texts {
		c := parquet.Cell{}
		if text != "" {
			c = parquet.Cell{Bytes: []byte(text), Def: 1}
		}
		row = append(row, []parquet.Cell{c})
	}
	return row
}

// Schema returns a schema for rows with these columns, all of which may be null.
func (c *Columns) Schema() (*schema.GroupNode, error) {
	fields, err := c.nodes()
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNode("rows", arrow.Repetitions.Required, fields, -1)
}

func (c *Columns) nodes() (fields schema.FieldList, err error) {
	for i := range c.types {
		n, err := c.types[i].node(c.names[i])
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	return fields, nil
}

func textNode(name string, r arrow.Repetition) (schema.Node, error) {
	return schema.NewPrimitiveNodeLogical(name, r, schema.StringLogicalType{}, arrow.Types.ByteArray, -1, -1)
}

// timeUnit returns the unit of times.
func (t *columnType) timeUnit() schema.TimeUnitType {
	if t.isFine {
		return schema.TimeUnitNanos
	}
	return schema.TimeUnitMicros
}

// node returns the node of a type, which may be null.
func (t *columnType) node(name string) (schema.Node, error) {
	optional := arrow.Repetitions.Optional
	leaf := func(l schema.LogicalType, of arrow.Type) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(name, optional, l, of, -1, -1)
	}
	if !t.isPlain() {
		return textNode(name, optional)
	}
	switch t.kind {
	case bools:
		return leaf(nil, arrow.Types.Boolean)
	case integers:
		return leaf(schema.NewIntLogicalType(64, true), arrow.Types.Int64)
	case floats:
		if t.isDecimal() {
			return schema.NewPrimitiveNodeLogical(name, optional, schema.NewDecimalLogicalType(mostDigits, int32(t.behind)), arrow.Types.FixedLenByteArray, decimalBytes, -1)
		}
		return leaf(nil, arrow.Types.Double)
	case instants, locals:
		return leaf(schema.NewTimestampLogicalType(t.kind == instants, t.timeUnit()), arrow.Types.Int64)
	case dates:
		return leaf(schema.DateLogicalType{}, arrow.Types.Int32)
	case clocks:
		return leaf(schema.NewTimeLogicalType(false, t.timeUnit()), arrow.Types.Int64)
	case binaries:
		return leaf(nil, arrow.Types.ByteArray)
	case lists:
		element, err := t.of.node("element")
		if err != nil {
			return nil, err
		}
		return ListNode(name, element)
	}
	fields, err := t.fields.nodes()
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNode(name, optional, fields, -1)
}

// ListNode returns the node of a list that may be null.
func ListNode(name string, element schema.Node) (schema.Node, error) {
	list, err := schema.NewGroupNode("list", arrow.Repetitions.Repeated, schema.FieldList{element}, -1)
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNodeLogical(name, arrow.Repetitions.Optional, schema.FieldList{list}, schema.ListLogicalType{}, -1)
}

// Row returns the cells of a row, which must be one that was added to the columns, by column of the schema. The outer slices are those of
// to, which may be nil.
func (c *Columns) Row(to [][]parquet.Cell, values []Value) [][]parquet.Cell {
	s := shredder{to[:0]}
	at := 0
	for i := range c.types {
		c.types[i].shred(&s, values[i], 0, 0, 0, &at)
	}
	return s.row
}

// A shredder collects the cells of a row by column.
type shredder struct{ row [][]parquet.Cell }

// add adds a cell to a column.
func (s *shredder) add(column int, c parquet.Cell) {
	if column == len(s.row) { // columns first occur in their order
		if column < cap(s.row) {
			s.row = s.row[:column+1]
			s.row[column] = nil
		} else {
			s.row = append(s.row, nil)
		}
	}
	s.row[column] = append(s.row[column], c)
}

// shred adds the values of the columns of a node that may be null. column is the first of these columns, and afterwards the next one.
// again is the level at which the value repeats, repeated in how many lists it stands, and defined how many of the nodes above are there.
func (t *columnType) shred(to *shredder, v Value, again, repeated, defined int16, column *int) {
	if v == nil {
		t.nulls(to, again, defined, column)
		return
	}
	defined++
	kind := t.kind
	if !t.isPlain() {
		v, kind = Text(v), texts
	}
	switch kind {
	case lists:
		t.shredList(to, v.(List), again, repeated, defined, column)
	case structs:
		for i, x := range t.fields.Values(v.(Struct), nil) {
			t.fields.types[i].shred(to, x, again, repeated, defined, column)
		}
	default:
		c := t.leaf(v)
		c.Rep, c.Def = again, defined
		to.add(*column, c)
		*column++
	}
}

// nulls adds a null to each column of a node.
func (t *columnType) nulls(to *shredder, again, defined int16, column *int) {
	for range t.leaves() {
		to.add(*column, parquet.Cell{Rep: again, Def: defined})
		*column++
	}
}

// leaves returns how many columns the node of a type has.
func (t *columnType) leaves() (n int) {
	switch {
	case t.isPlain() && t.kind == lists:
		return t.of.leaves()
	case t.isPlain() && t.kind == structs:
		for i := range t.fields.types {
			n += t.fields.types[i].leaves()
		}
		return n
	}
	return 1
}

// shredList is shred for a list that is there.
func (t *columnType) shredList(to *shredder, list List, again, repeated, defined int16, column *int) {
	if len(list) == 0 {
		t.nulls(to, again, defined, column)
		return
	}
	first := *column
	for i, x := range list {
		if *column = first; i > 0 {
			again = repeated + 1
		}
		t.of.shred(to, x, again, repeated+1, defined+1, column)
	}
}

// leaf returns a value of a column.
func (t *columnType) leaf(v Value) parquet.Cell {
	if text, ok := v.(string); ok {
		return parquet.Cell{Bytes: []byte(text)}
	}
	switch t.kind {
	case bools:
		if v.(bool) {
			return parquet.Cell{Bits: 1}
		}
		return parquet.Cell{}
	case integers:
		n, _ := strconv.ParseInt(string(v.(Number)), 10, 64)
		return parquet.Cell{Bits: uint64(n)}
	case floats:
		if t.isDecimal() {
			return parquet.Cell{Bytes: decimalOf(v.(Number), t.behind)}
		}
		x, isFloat := v.(float64)
		if !isFloat {
			x, _ = strconv.ParseFloat(string(v.(Number)), 64)
		}
		return parquet.Cell{Bits: math.Float64bits(x)}
	case dates:
		return parquet.Cell{Bits: uint64(v.(Time).At.Unix() / 86_400)}
	case instants, locals, clocks:
		return parquet.Cell{Bits: uint64(t.stamp(v.(Time).At))}
	}
	return parquet.Cell{Bytes: v.([]byte)}
}

// decimalBytes is the size of a decimal number of [mostDigits] digits.
const decimalBytes = 16

// decimalOf returns a number with so many digits behind the point, as two's complement, the highest byte first.
func decimalOf(n Number, scale int) []byte {
	whole, behind, _ := strings.Cut(string(n), ".")
	x, _ := new(big.Int).SetString(whole+behind+strings.Repeat("0", scale-len(behind)), 10)
	if x.Sign() < 0 {
		x.Add(x, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return x.FillBytes(make([]byte, decimalBytes))
}
