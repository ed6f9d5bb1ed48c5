package rows

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// This file turns rows of Parquet into values and back. A Parquet file has a column for each leaf of its schema; a value of it says by two levels
// in which list it stands and up to where its path is not null.

// A ParquetReader makes values of the rows of a file.
type ParquetReader struct {
	fields []parquet.Field
	leaves []int             // how many columns each field has
	values [][]parquet.Value // of a row, by column
}

// NewParquetReader returns a reader for rows with a schema, for one goroutine.
func NewParquetReader(schema *parquet.Schema) *ParquetReader {
	r := &ParquetReader{fields: schema.Fields(), values: make([][]parquet.Value, len(schema.Columns()))}
	for _, f := range r.fields {
		r.leaves = append(r.leaves, leavesOf(f))
	}
	return r
}

// leavesOf returns how many columns a node has.
func leavesOf(n parquet.Node) (leaves int) {
	if n.Leaf() {
		return 1
	}
	for _, f := range n.Fields() {
		leaves += leavesOf(f)
	}
	return leaves
}

// Names returns the names of the fields of a row.
func (r *ParquetReader) Names() (names []string) {
	for _, f := range r.fields {
		names = append(names, f.Name())
	}
	return names
}

// Read returns the values of a row, one for each field.
func (r *ParquetReader) Read(row parquet.Row) (values []Value) {
	for i := range r.values {
		r.values[i] = r.values[i][:0]
	}
	for _, v := range row {
		r.values[v.Column()] = append(r.values[v.Column()], v)
	}
	at := 0
	for i, f := range r.fields {
		values = append(values, assemble(f, r.values[at:at+r.leaves[i]], 0, 0))
		at += r.leaves[i]
	}
	return values
}

// assemble returns the value of a node, whose columns have these values. repeated is how many lists it stands in, and defined how many
// of the nodes above it may be missing.
func assemble(n parquet.Node, columns [][]parquet.Value, repeated, defined int) Value {
	if len(columns) == 0 || len(columns[0]) == 0 {
		return nil
	}
	switch {
	case n.Repeated():
		return assembleList(n, columns, repeated, defined)
	case n.Optional():
		if defined++; columns[0][0].DefinitionLevel() < defined {
			return nil
		}
	}
	return assembleOne(n, columns, repeated, defined)
}

// assembleList is assemble for a node that occurs any number of times.
func assembleList(n parquet.Node, columns [][]parquet.Value, repeated, defined int) Value {
	repeated, defined = repeated+1, defined+1
	list := List{}
	if columns[0][0].DefinitionLevel() < defined {
		return list
	}
	rest := append([][]parquet.Value(nil), columns...)
	element := make([][]parquet.Value, len(columns))
	for len(rest[0]) > 0 {
		for i, values := range rest {
			end := min(1, len(values))
			for end < len(values) && values[end].RepetitionLevel() > repeated {
				end++
			}
			element[i], rest[i] = values[:end], values[end:]
		}
		list = append(list, assembleOne(n, element, repeated, defined))
	}
	return list
}

// assembleOne is assemble for a node that is there.
func assembleOne(n parquet.Node, columns [][]parquet.Value, repeated, defined int) Value {
	if n.Leaf() {
		return leafOf(n.Type(), columns[0][0])
	}
	fields := n.Fields()
	if len(fields) == 1 && fields[0].Repeated() && isListType(n) {
		return unwrapped(fields[0], assemble(fields[0], columns, repeated, defined))
	}
	row, at := Struct{}, 0
	for _, f := range fields {
		leaves := leavesOf(f)
		row = append(row, Field{f.Name(), assemble(f, columns[at:at+leaves], repeated, defined)})
		at += leaves
	}
	return row
}

// isListType reports whether a group stands for a list or a map.
func isListType(n parquet.Node) bool {
	switch l := n.Type().LogicalType(); {
	case l != nil && l.Value != nil:
		switch l.Value.(type) {
		case *format.ListType, *format.MapType:
			return true
		}
		return false
	}
	c := n.Type().ConvertedType()
	return c != nil && (*c == deprecated.List || *c == deprecated.Map || *c == deprecated.MapKeyValue)
}

// unwrapped returns the elements of a list, without the group of one field that stands around each, and a map whose keys are texts as a
// struct.
func unwrapped(element parquet.Node, of Value) Value {
	list, _ := of.(List)
	if element.Leaf() {
		return list
	}
	switch fields := element.Fields(); {
	case len(fields) == 1:
		for i, x := range list {
			list[i] = x.(Struct)[0].Value
		}
	case len(fields) == 2 && fields[0].Name() == "key" && fields[1].Name() == "value":
		m := Struct{}
		for _, x := range list {
			key, isText := x.(Struct)[0].Value.(string)
			if !isText {
				return list
			}
			m = append(m, Field{key, x.(Struct)[1].Value})
		}
		return m
	}
	return list
}

// LeafText returns a value of a column with a type as the text of a document or its id: that of a cell, or bytes as they are.
func LeafText(t parquet.Type, v parquet.Value) string {
	x := leafOf(t, v)
	if b, ok := x.([]byte); ok {
		return string(b)
	}
	return Text(x)
}

// leafOf returns a value of a column with a type.
func leafOf(t parquet.Type, v parquet.Value) Value {
	if v.IsNull() {
		return nil
	}
	if l := t.LogicalType(); l != nil && l.Value != nil {
		if x, ok := logical(l.Value, v); ok {
			return x
		}
	} else if c := t.ConvertedType(); c != nil {
		if x, ok := converted(*c, v); ok {
			return x
		}
	}
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32, parquet.Int64:
		return integer(v)
	case parquet.Int96: // nanoseconds of a day, and the Julian day
		x := v.Int96()
		return Time{time.Unix((int64(x[2])-2_440_588)*86_400, int64(x[0])|int64(x[1])<<32).UTC(), Local}
	case parquet.Float:
		return shortest(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return bytesOrText(v)
}

// shortest returns the number with the fewest digits that is the same one in 32 bits: 0.1, and not 0.10000000149.
func shortest(x float32) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	return f
}

// integer returns the value of an integer column.
func integer(v parquet.Value) Number { return Number(strconv.FormatInt(whole(v), 10)) }

// whole returns the value of an integer column.
func whole(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// bytesOrText returns a text if the bytes are one: many programs write texts without saying so.
func bytesOrText(v parquet.Value) Value {
	b := v.ByteArray()
	if utf8.Valid(b) {
		return string(b)
	}
	return append([]byte(nil), b...)
}

// logical returns a value with a logical type, and whether it is known.
func logical(l format.LogicalTypeValue, v parquet.Value) (Value, bool) {
	switch l := l.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return string(v.ByteArray()), true
	case *format.DecimalType:
		return decimal(v, int(l.Scale)), true
	case *format.DateType:
		return day(v), true
	case *format.TimeType:
		return Time{time.Unix(0, 0).UTC().Add(time.Duration(whole(v)) * l.Unit.Value.Duration()), Clock}, true
	case *format.TimestampType:
		form := Local
		if l.IsAdjustedToUTC {
			form = Instant
		}
		return Time{instant(whole(v), l.Unit.Value.Duration()), form}, true
	case *format.IntType:
		return sized(v, l.IsSigned), true
	case *format.UUIDType:
		if b := v.ByteArray(); len(b) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), true
		}
	}
	return nil, false
}

// converted is logical for the types of older files.
func converted(c deprecated.ConvertedType, v parquet.Value) (Value, bool) {
	switch c {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return string(v.ByteArray()), true
	case deprecated.Date:
		return day(v), true
	case deprecated.TimeMillis, deprecated.TimeMicros:
		unit := time.Millisecond
		if c == deprecated.TimeMicros {
			unit = time.Microsecond
		}
		return Time{time.Unix(0, 0).UTC().Add(time.Duration(whole(v)) * unit), Clock}, true
	case deprecated.TimestampMillis:
		return Time{instant(whole(v), time.Millisecond), Instant}, true
	case deprecated.TimestampMicros:
		return Time{instant(whole(v), time.Microsecond), Instant}, true
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return sized(v, false), true
	}
	return nil, false
}

// day returns a date from the days since 1970.
func day(v parquet.Value) Time { return Time{time.Unix(int64(v.Int32())*86_400, 0).UTC(), Date} }

// instant returns the time after so many units since 1970.
func instant(n int64, unit time.Duration) time.Time {
	per := int64(time.Second / unit)
	return time.Unix(n/per, n%per*int64(unit)).UTC()
}

// sized returns an integer, which may be one without a sign.
func sized(v parquet.Value, isSigned bool) Number {
	switch {
	case isSigned:
		return integer(v)
	case v.Kind() == parquet.Int32:
		return Number(strconv.FormatUint(uint64(v.Uint32()), 10))
	}
	return Number(strconv.FormatUint(v.Uint64(), 10))
}

// decimal returns a decimal number with so many digits behind the point.
func decimal(v parquet.Value, scale int) Number {
	x := new(big.Int)
	switch v.Kind() {
	case parquet.Int32, parquet.Int64:
		x.SetInt64(whole(v))
	default: // two's complement, the highest byte first
		b := v.ByteArray()
		x.SetBytes(b)
		if len(b) > 0 && b[0] >= 128 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	digits := new(big.Int).Abs(x).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if x.Sign() < 0 {
		digits = "-" + digits
	}
	return Number(digits)
}

// decimalBytes is the size of a decimal number of [mostDigits] digits.
const decimalBytes = 16

// decimalOf returns a number with so many digits behind the point, as two's complement, the highest byte first.
func decimalOf(n Number, scale int) parquet.Value {
	whole, behind, _ := strings.Cut(string(n), ".")
	x, _ := new(big.Int).SetString(whole+behind+strings.Repeat("0", scale-len(behind)), 10)
	if x.Sign() < 0 {
		x.Add(x, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return parquet.FixedLenByteArrayValue(x.FillBytes(make([]byte, decimalBytes)))
}

// An ordered group keeps the order of its fields.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

// newOrdered returns a group of fields with these names.
func newOrdered(names []string, nodes []parquet.Node) ordered {
	g := parquet.Group{}
	for i, name := range names {
		g[name] = nodes[i]
	}
	of := map[string]parquet.Field{}
	for _, f := range g.Fields() {
		of[f.Name()] = f
	}
	o := ordered{Group: g}
	for _, name := range names {
		o.fields = append(o.fields, of[name])
	}
	return o
}

// Extended returns a schema with columns of texts behind those that it has.
func Extended(schema *parquet.Schema, added []string) *parquet.Schema {
	var names []string
	var nodes []parquet.Node
	for _, f := range schema.Fields() {
		names, nodes = append(names, f.Name()), append(nodes, f)
	}
	for _, name := range added {
		names, nodes = append(names, name), append(nodes, parquet.Optional(parquet.String()))
	}
	return parquet.NewSchema(schema.Name(), newOrdered(names, nodes))
}

// AppendTexts appends the values of columns that Extended has added, behind so many others. An empty text is null.
func AppendTexts(row parquet.Row, columns int, texts []string) parquet.Row {
	for i, text := range texts {
		v := parquet.NullValue()
		defined := 0
		if text != "" {
			v, defined = parquet.ByteArrayValue([]byte(text)), 1
		}
		row = append(row, v.Level(0, defined, columns+i))
	}
	return row
}

// Schema returns a schema for rows with these columns, all of which may be null.
func (c *Columns) Schema() *parquet.Schema {
	return parquet.NewSchema("rows", c.group())
}

func (c *Columns) group() ordered {
	var nodes []parquet.Node
	for i := range c.types {
		nodes = append(nodes, parquet.Optional(c.types[i].node()))
	}
	return newOrdered(c.names, nodes)
}

// node returns the node of a type, which cannot be null itself.
func (t *columnType) node() parquet.Node {
	if !t.isPlain() {
		return parquet.String()
	}
	switch t.kind {
	case bools:
		return parquet.Leaf(parquet.BooleanType)
	case integers:
		return parquet.Int(64)
	case floats:
		if t.isDecimal() {
			return parquet.Decimal(t.behind, mostDigits, parquet.FixedLenByteArrayType(decimalBytes))
		}
		return parquet.Leaf(parquet.DoubleType)
	case instants:
		return parquet.TimestampAdjusted(parquet.Microsecond, true)
	case locals:
		return parquet.TimestampAdjusted(parquet.Microsecond, false)
	case dates:
		return parquet.Date()
	case clocks:
		return parquet.TimeAdjusted(parquet.Microsecond, false)
	case binaries:
		return parquet.Leaf(parquet.ByteArrayType)
	case lists:
		return parquet.List(parquet.Optional(t.of.node()))
	}
	return t.fields.group()
}

// AppendRow appends the values of a row, which must be one that was added to the columns.
func (c *Columns) AppendRow(to parquet.Row, values []Value) parquet.Row {
	column := 0
	for i := range c.types {
		to = c.types[i].shred(to, values[i], 0, 0, 0, &column)
	}
	// The elements of a list of structs stand one after the other now; the values of each column must.
	slices.SortStableFunc(to, func(a, b parquet.Value) int { return a.Column() - b.Column() })
	return to
}

// shred appends the values of the columns of a node that may be null. column is the first of these columns, and afterwards the next one.
// again is the level at which the value repeats, repeated in how many lists it stands, and defined how many of the nodes above are there.
func (t *columnType) shred(to parquet.Row, v Value, again, repeated, defined int, column *int) parquet.Row {
	if v == nil {
		return t.nulls(to, again, defined, column)
	}
	defined++
	kind := t.kind
	if !t.isPlain() {
		v, kind = Text(v), texts
	}
	switch kind {
	case lists:
		return t.shredList(to, v.(List), again, repeated, defined, column)
	case structs:
		for i, x := range t.fields.Values(v.(Struct), nil) {
			to = t.fields.types[i].shred(to, x, again, repeated, defined, column)
		}
		return to
	}
	to = append(to, t.leaf(v).Level(again, defined, *column))
	*column++
	return to
}

// nulls appends a null to each column of a node.
func (t *columnType) nulls(to parquet.Row, again, defined int, column *int) parquet.Row {
	for range t.leaves() {
		to = append(to, parquet.NullValue().Level(again, defined, *column))
		*column++
	}
	return to
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
func (t *columnType) shredList(to parquet.Row, list List, again, repeated, defined int, column *int) parquet.Row {
	if len(list) == 0 {
		return t.nulls(to, again, defined, column)
	}
	first := *column
	for i, x := range list {
		if *column = first; i > 0 {
			again = repeated + 1
		}
		to = t.of.shred(to, x, again, repeated+1, defined+1, column)
	}
	return to
}

// leaf returns a value of a column.
func (t *columnType) leaf(v Value) parquet.Value {
	if text, ok := v.(string); ok {
		return parquet.ByteArrayValue([]byte(text))
	}
	switch t.kind {
	case bools:
		return parquet.BooleanValue(v.(bool))
	case integers:
		n, _ := strconv.ParseInt(string(v.(Number)), 10, 64)
		return parquet.Int64Value(n)
	case floats:
		if t.isDecimal() {
			return decimalOf(v.(Number), t.behind)
		}
		x, isFloat := v.(float64)
		if !isFloat {
			x, _ = strconv.ParseFloat(string(v.(Number)), 64)
		}
		return parquet.DoubleValue(x)
	case instants, locals:
		return parquet.Int64Value(v.(Time).At.UnixMicro())
	case dates:
		return parquet.Int32Value(int32(v.(Time).At.Unix() / 86_400))
	case clocks:
		return parquet.Int64Value(v.(Time).At.UnixMicro())
	}
	return parquet.ByteArrayValue(v.([]byte))
}
