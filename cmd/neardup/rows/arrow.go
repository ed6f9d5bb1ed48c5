package rows

import (
	"io"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// This file turns values of Arrow into values with types, and back.

// ArrowValue returns the value at a position of a column. What has no type here, such as a union or a month interval, becomes the text
// that Arrow writes for it.
func ArrowValue(column arrow.Array, i int) Value {
	if column.DataType().ID() == arrow.NULL || column.IsNull(i) {
		return nil
	}
	switch c := column.(type) {
	case *array.Boolean:
		return c.Value(i)
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64,
		*array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256, *array.Float16, *array.Float32, *array.Float64:
		return arrowNumber(column, i)
	case *array.Dictionary:
		return ArrowValue(c.Dictionary(), c.GetValueIndex(i))
	case *array.RunEndEncoded:
		return ArrowValue(c.Values(), c.GetPhysicalIndex(i))
	case array.ExtensionArray:
		return arrowExtension(c, i)
	case *array.Struct:
		return arrowStruct(c, i)
	case array.ListLike:
		from, to := c.ValueOffsets(i)
		list := List{}
		for k := from; k < to; k++ {
			list = append(list, ArrowValue(c.ListValues(), int(k)))
		}
		return list
	case interface{ Value(int) []byte }:
		return append([]byte{}, c.Value(i)...)
	case interface{ Value(int) string }:
		return string(append([]byte{}, c.Value(i)...)) // a copy: the record goes
	}
	if t, ok := arrowTime(column, i); ok {
		return t
	}
	return column.ValueStr(i)
}

// arrowExtension returns a value of a type that is made of others.
func arrowExtension(c array.ExtensionArray, i int) Value {
	id, ok := c.Storage().(*array.FixedSizeBinary)
	if ok && c.ExtensionType().ExtensionName() == "arrow.uuid" && len(id.Value(i)) == 16 {
		return uuidText(id.Value(i))
	}
	return ArrowValue(c.Storage(), i)
}

// arrowNumber returns an integer or a decimal number with all its digits, or a float.
func arrowNumber(column arrow.Array, i int) Value {
	switch c := column.(type) {
	case *array.Float16:
		return halfFloat(c.Value(i).Uint16())
	case *array.Float32:
		return shortest(c.Value(i))
	case *array.Float64:
		return c.Value(i)
	case *array.Decimal32:
		return Number(c.Value(i).ToString(c.DataType().(arrow.DecimalType).GetScale()))
	case *array.Decimal64:
		return Number(c.Value(i).ToString(c.DataType().(arrow.DecimalType).GetScale()))
	case *array.Decimal128:
		return Number(c.Value(i).ToString(c.DataType().(arrow.DecimalType).GetScale()))
	case *array.Decimal256:
		return Number(c.Value(i).ToString(c.DataType().(arrow.DecimalType).GetScale()))
	}
	return Number(column.ValueStr(i))
}

// arrowTime returns a date, a time of day or a point in time, and whether it is one.
func arrowTime(column arrow.Array, i int) (Value, bool) {
	switch c := column.(type) {
	case *array.Date32:
		return Time{c.Value(i).ToTime(), Date}, true
	case *array.Date64:
		return Time{c.Value(i).ToTime(), Date}, true
	case *array.Time32:
		return Time{c.Value(i).ToTime(c.DataType().(*arrow.Time32Type).Unit), Clock}, true
	case *array.Time64:
		return Time{c.Value(i).ToTime(c.DataType().(*arrow.Time64Type).Unit), Clock}, true
	case *array.Timestamp:
		t := c.DataType().(*arrow.TimestampType)
		form := Instant
		if t.TimeZone == "" {
			form = Local
		}
		return Time{c.Value(i).ToTime(t.Unit), form}, true
	}
	return nil, false
}

func arrowStruct(c *array.Struct, i int) Value {
	fields := Struct{}
	for k, f := range c.DataType().(*arrow.StructType).Fields() {
		fields = append(fields, Field{f.Name, ArrowValue(c.Field(k), i)})
	}
	return fields
}

// An ArrowWriter writes rows as a file of Arrow.
type ArrowWriter struct {
	columns *Columns
	out     *ipc.FileWriter
	build   *array.RecordBuilder
	rows    int
}

// arrowBatch is how many rows a batch has.
const arrowBatch = 4096

// NewArrowWriter returns a writer for rows with some columns.
func NewArrowWriter(w io.Writer, columns *Columns) (*ArrowWriter, error) {
	var fields []arrow.Field
	for i, name := range columns.names {
		fields = append(fields, arrow.Field{Name: name, Type: columns.types[i].arrow(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	return &ArrowWriter{columns: columns, out: out, build: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

// arrow returns the type of Arrow for a column.
func (t *columnType) arrow() arrow.DataType {
	if !t.isPlain() {
		return arrow.BinaryTypes.String
	}
	switch t.kind {
	case bools:
		return arrow.FixedWidthTypes.Boolean
	case integers:
		return arrow.PrimitiveTypes.Int64
	case floats:
		if t.isDecimal() {
			return &arrow.Decimal128Type{Precision: mostDigits, Scale: int32(t.behind)}
		}
		return arrow.PrimitiveTypes.Float64
	case instants:
		return &arrow.TimestampType{Unit: t.arrowUnit(), TimeZone: "UTC"}
	case locals:
		return &arrow.TimestampType{Unit: t.arrowUnit()}
	case dates:
		return arrow.FixedWidthTypes.Date32
	case clocks:
		return &arrow.Time64Type{Unit: t.arrowUnit()}
	case binaries:
		return arrow.BinaryTypes.Binary
	case lists:
		return arrow.ListOf(t.of.arrow())
	}
	var fields []arrow.Field
	for i, name := range t.fields.names {
		fields = append(fields, arrow.Field{Name: name, Type: t.fields.types[i].arrow(), Nullable: true})
	}
	return arrow.StructOf(fields...)
}

// Write writes a row, whose values are in the order of the columns.
func (w *ArrowWriter) Write(values []Value) error {
	for i, v := range values {
		w.columns.types[i].append(w.build.Field(i), v)
	}
	if w.rows++; w.rows%arrowBatch == 0 {
		return w.flush()
	}
	return nil
}

func (w *ArrowWriter) flush() error {
	batch := w.build.NewRecordBatch()
	defer batch.Release()
	return w.out.Write(batch)
}

// End writes what is left.
func (w *ArrowWriter) End() error {
	if w.rows%arrowBatch > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.out.Close()
}

// append appends a value to a column of this type.
func (t *columnType) append(to array.Builder, v Value) {
	if v == nil {
		to.AppendNull()
		return
	}
	switch to := to.(type) {
	case *array.StringBuilder:
		to.Append(Text(v))
	case *array.BooleanBuilder:
		to.Append(v.(bool))
	case *array.Int64Builder:
		n, _ := strconv.ParseInt(string(v.(Number)), 10, 64)
		to.Append(n)
	case *array.Float64Builder:
		x, isFloat := v.(float64)
		if !isFloat {
			x, _ = strconv.ParseFloat(string(v.(Number)), 64)
		}
		to.Append(x)
	case *array.Decimal128Builder:
		to.Append(decimal128.FromBigInt(unscaled(v.(Number), t.behind)))
	case *array.BinaryBuilder:
		to.Append(v.([]byte))
	case *array.ListBuilder:
		to.Append(true)
		for _, x := range v.(List) {
			t.of.append(to.ValueBuilder(), x)
		}
	case *array.StructBuilder:
		to.Append(true)
		for i, x := range t.fields.Values(v.(Struct), nil) {
			t.fields.types[i].append(to.FieldBuilder(i), x)
		}
	default:
		t.appendTime(to, v.(Time).At)
	}
}

// arrowUnit returns the unit of times.
func (t *columnType) arrowUnit() arrow.TimeUnit {
	if t.isFine {
		return arrow.Nanosecond
	}
	return arrow.Microsecond
}

// appendTime appends a time to a column of times.
func (t *columnType) appendTime(to array.Builder, at time.Time) {
	switch to := to.(type) {
	case *array.TimestampBuilder:
		to.Append(arrow.Timestamp(t.stamp(at)))
	case *array.Date32Builder:
		to.Append(arrow.Date32FromTime(at))
	case *array.Time64Builder:
		to.Append(arrow.Time64(t.stamp(at)))
	}
}

// unscaled returns a decimal number times ten to the power of scale.
func unscaled(n Number, scale int) *big.Int {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Int)
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	return new(big.Int).Quo(r.Num(), r.Denom())
}
