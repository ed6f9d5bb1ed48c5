package rows

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	arrow "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/neardup/neardup/cmd/neardup/parquet"
)

// This file makes values of rows of Parquet. A Parquet file has a column for each leaf of its schema; a cell of it says by two levels
// in which list it stands and up to where its path is not null. Bytes that the schema says nothing about are texts or bytes, as the caller
// decides for each column, so that the values of one column are of one kind.

// A ParquetReader makes values of the rows of a file.
type ParquetReader struct {
	root   *schema.GroupNode
	isText []bool // by column: bytes without a type are text
	column int    // the next one, while a row is assembled
}

// NewParquetReader returns a reader for rows with a schema. Several goroutines may use it. isText says of each column whether its bytes are text, if the
// schema does not.
func NewParquetReader(s *schema.Schema, isText []bool) *ParquetReader {
	return &ParquetReader{root: s.Root(), isText: isText}
}

// ParquetNames returns the names of the fields of a row.
func ParquetNames(s *schema.Schema) (names []string) {
	for i := range s.Root().NumFields() {
		names = append(names, s.Root().Field(i).Name())
	}
	return names
}

// Variants returns the names of the fields of a row that are of the type VARIANT, whose values are not decoded.
func Variants(s *schema.Schema) (names []string) {
	for i := range s.Root().NumFields() {
		if _, isVariant := s.Root().Field(i).LogicalType().(schema.VariantLogicalType); isVariant {
			names = append(names, s.Root().Field(i).Name())
		}
	}
	return names
}

// IsUntyped reports whether the schema says nothing about the bytes of a column.
func IsUntyped(c *schema.Column) bool {
	return c.PhysicalType() == arrow.Types.ByteArray && c.LogicalType().IsNone()
}

// TextColumns reports of each column whether its bytes are text, where the schema says nothing about them: many programs write texts without
// saying so. They are if all of them are UTF-8; otherwise none of the column is taken for text. It reads these columns.
func TextColumns(p *parquet.File) ([]bool, error) {
	isText := make([]bool, p.Schema().NumColumns())
	var open []int
	for i, c := range p.Schema().Columns() {
		if IsUntyped(c) {
			isText[i], open = true, append(open, i)
		}
	}
	for g := 0; g < p.Groups() && len(open) > 0; g++ {
		if err := lookAtBytes(p, g, open, isText); err != nil {
			return nil, err
		}
	}
	return isText, nil
}

// lookAtBytes clears isText for the columns of a row group that have bytes which are not text.
func lookAtBytes(p *parquet.File, g int, columns []int, isText []bool) error {
	group, err := p.Group(g, columns)
	if err != nil {
		return err
	}
	defer group.Close()
	for err = group.Next(); err == nil; err = group.Next() {
		for _, i := range columns {
			isText[i] = isText[i] && !slices.ContainsFunc(group.Cells(i), func(c parquet.Cell) bool { return !utf8.Valid(c.Bytes) })
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// Read returns the values of a row, one for each field.
func (r ParquetReader) Read(row [][]parquet.Cell) (values []Value) {
	r.column = 0
	for i := range r.root.NumFields() {
		n := r.root.Field(i)
		leaves := leavesOf(n)
		values = append(values, r.assemble(n, row[r.column:r.column+leaves], 0, 0))
		r.column += leaves
	}
	return values
}

// FieldOf returns the field of a row to which a column belongs, and the columns of that field.
func FieldOf(s *schema.Schema, column int) (field, first, columns int) {
	for ; ; field++ {
		if columns = leavesOf(s.Root().Field(field)); column < first+columns {
			return field, first, columns
		}
		first += columns
	}
}

// ReadField returns the value of one field of a row. cells are those of its columns, of which the first one is first.
func (r ParquetReader) ReadField(field, first int, cells [][]parquet.Cell) Value {
	r.column = first
	return r.assemble(r.root.Field(field), cells, 0, 0)
}

// leavesOf returns how many columns a node has.
func leavesOf(n schema.Node) (leaves int) {
	g, isGroup := n.(*schema.GroupNode)
	if !isGroup {
		return 1
	}
	for i := range g.NumFields() {
		leaves += leavesOf(g.Field(i))
	}
	return leaves
}

// assemble returns the value of a node, whose columns have these cells; the first is r.column. repeated is how many lists it stands in, and
// defined how many of the nodes above it may be missing.
func (r *ParquetReader) assemble(n schema.Node, columns [][]parquet.Cell, repeated, defined int16) Value {
	if len(columns) == 0 || len(columns[0]) == 0 {
		return nil
	}
	switch n.RepetitionType() {
	case arrow.Repetitions.Repeated:
		return r.assembleList(n, columns, repeated, defined)
	case arrow.Repetitions.Optional:
		if defined++; columns[0][0].Def < defined {
			return nil
		}
	}
	return r.assembleOne(n, columns, repeated, defined)
}

// assembleList is assemble for a node that occurs any number of times.
func (r *ParquetReader) assembleList(n schema.Node, columns [][]parquet.Cell, repeated, defined int16) List {
	repeated, defined = repeated+1, defined+1
	list := List{}
	if columns[0][0].Def < defined {
		return list
	}
	rest := append([][]parquet.Cell(nil), columns...)
	element := make([][]parquet.Cell, len(columns))
	for len(rest[0]) > 0 {
		for i, cells := range rest {
			end := min(1, len(cells))
			for end < len(cells) && cells[end].Rep > repeated {
				end++
			}
			element[i], rest[i] = cells[:end], cells[end:]
		}
		list = append(list, r.assembleOne(n, element, repeated, defined))
	}
	return list
}

// assembleOne is assemble for a node that is there.
func (r *ParquetReader) assembleOne(n schema.Node, columns [][]parquet.Cell, repeated, defined int16) Value {
	g, isGroup := n.(*schema.GroupNode)
	if !isGroup {
		if len(columns[0]) == 0 { // the columns of a list have different numbers of elements
			return nil
		}
		return leafOf(n.(*schema.PrimitiveNode), &columns[0][0], r.isText[r.column])
	}
	if element := elementOf(g); element != nil {
		list, _ := r.assemble(element, columns, repeated, defined).(List)
		return unwrapped(g, element, list)
	}
	row, first := Struct{}, r.column
	for i, at := 0, 0; i < g.NumFields(); i++ {
		f := g.Field(i)
		leaves := leavesOf(f)
		r.column = first + at
		row = append(row, Field{f.Name(), r.assemble(f, columns[at:at+leaves], repeated, defined)})
		at += leaves
	}
	r.column = first
	return row
}

// elementOf returns the node that occurs again in a group that stands for a list or a map, or nil if the group is none.
func elementOf(g *schema.GroupNode) schema.Node {
	switch typeOf(g).(type) {
	case schema.ListLogicalType, schema.MapLogicalType:
		if g.NumFields() == 1 && g.Field(0).RepetitionType() == arrow.Repetitions.Repeated {
			return g.Field(0)
		}
	}
	return nil
}

// unwrapped returns the elements of a list without the group of one field around each, and a map whose keys are texts as a struct. The rules
// for lists of older writers are those of LogicalTypes.md of Parquet, "backward compatibility".
func unwrapped(of *schema.GroupNode, element schema.Node, list List) Value {
	g, isGroup := element.(*schema.GroupNode)
	if !isGroup || list == nil {
		return list
	}
	_, isMap := typeOf(of).(schema.MapLogicalType)
	switch {
	case isMap && g.NumFields() == 2:
		return mapOf(list)
	case isWrapper(of, g):
		for i, x := range list {
			if row, ok := x.(Struct); ok && len(row) == 1 {
				list[i] = row[0].Value
			}
		}
	}
	return list
}

// isWrapper reports whether the repeated group of a list stands around each element. Otherwise it is the element.
func isWrapper(of, g *schema.GroupNode) bool {
	return g.NumFields() == 1 && elementOf(g) == nil && g.Field(0).RepetitionType() != arrow.Repetitions.Repeated && g.Name() != "array" && g.Name() != of.Name()+"_tuple"
}

// mapOf returns the entries of a map as a struct, if its keys are texts.
func mapOf(entries List) Value {
	m := Struct{}
	for _, x := range entries {
		entry, _ := x.(Struct)
		if len(entry) != 2 {
			return entries
		}
		key, isText := entry[0].Value.(string)
		if !isText {
			return entries
		}
		m = append(m, Field{key, entry[1].Value})
	}
	return m
}

// ListName returns the name of a column for its text: its path, and of the elements of a list that of the list.
func ListName(c *schema.Column) string {
	path := strings.Split(c.Path(), ".")
	n := c.SchemaNode()
	for n.Parent() != nil {
		parent, _ := n.Parent().(*schema.GroupNode)
		if of, isGroup := parent.Parent().(*schema.GroupNode); isGroup && elementOf(of) == schema.Node(parent) && isWrapper(of, parent) {
			n, path = of, path[:len(path)-2] // the element, and the group around it
		} else if elementOf(parent) == n {
			n, path = parent, path[:len(path)-1]
		} else {
			break
		}
	}
	return strings.Join(path, ".")
}

// LeafText returns a cell that is not null as the text of a document or its id: that of a cell of a table, or bytes as they are.
func LeafText(c *schema.Column, cell *parquet.Cell) string {
	n, _ := c.SchemaNode().(*schema.PrimitiveNode)
	x := leafOf(n, cell, true)
	if b, ok := x.([]byte); ok {
		return string(b)
	}
	return Text(x)
}

// leafOf returns the value of a cell that is not null.
func leafOf(n *schema.PrimitiveNode, c *parquet.Cell, isText bool) Value {
	if x, ok := logical(n, c); ok {
		return x
	}
	switch n.PhysicalType() {
	case arrow.Types.Boolean:
		return c.Bits != 0
	case arrow.Types.Int32, arrow.Types.Int64:
		return Number(strconv.FormatInt(int64(c.Bits), 10))
	case arrow.Types.Int96: // nanoseconds of a day, and the Julian day
		nanos, day := binary.LittleEndian.Uint64(c.Bytes), binary.LittleEndian.Uint32(c.Bytes[8:])
		return Time{time.Unix((int64(day)-2_440_588)*86_400, int64(nanos)).UTC(), Local}
	case arrow.Types.Float:
		return shortest(math.Float32frombits(uint32(c.Bits)))
	case arrow.Types.Double:
		return math.Float64frombits(c.Bits)
	case arrow.Types.ByteArray:
		if isText && n.LogicalType().IsNone() {
			return string(c.Bytes)
		}
	}
	return append([]byte{}, c.Bytes...)
}

func uuidText(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// halfFloat returns a number of 16 bits. That of the library is wrong for subnormal ones.
func halfFloat(bits uint16) float64 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)/1024
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -14)
	case 31:
		if fraction > 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1+fraction, exponent-15)
}

// shortest returns the number with the fewest digits that is the same one in 32 bits: 0.1, and not 0.10000000149.
func shortest(x float32) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	return f
}

// logical returns a value with a logical type, and whether it is known. The library gives columns of older writers, which have a converted
// type, the logical type that it stands for.
func logical(n *schema.PrimitiveNode, c *parquet.Cell) (Value, bool) {
	switch l := typeOf(n).(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return string(c.Bytes), true
	case schema.DecimalLogicalType:
		return decimal(n, c, int(l.Scale())), true
	case schema.DateLogicalType:
		return Time{time.Unix(int64(int32(c.Bits))*86_400, 0).UTC(), Date}, true
	case schema.TimeLogicalType:
		return Time{instant(int64(c.Bits), unitOf(l.TimeUnit())), Clock}, true
	case schema.TimestampLogicalType:
		form := Local
		if l.IsAdjustedToUTC() {
			form = Instant
		}
		return Time{instant(int64(c.Bits), unitOf(l.TimeUnit())), form}, true
	case schema.IntLogicalType:
		return sized(n, c, l.IsSigned()), true
	case schema.UUIDLogicalType:
		if b := c.Bytes; len(b) == 16 {
			return uuidText(b), true
		}
	case schema.Float16LogicalType:
		if len(c.Bytes) == 2 {
			return halfFloat(binary.LittleEndian.Uint16(c.Bytes)), true
		}
	case schema.IntervalLogicalType:
		if b := c.Bytes; len(b) == 12 {
			return period(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])), true
		}
	}
	return nil, false
}

// typeOf returns the logical type of a node, which the library has as a value or as a pointer to one.
func typeOf(n schema.Node) schema.LogicalType {
	switch l := n.LogicalType().(type) {
	case *schema.DecimalLogicalType:
		return *l
	case *schema.TimeLogicalType:
		return *l
	case *schema.TimestampLogicalType:
		return *l
	case *schema.IntLogicalType:
		return *l
	default:
		return l
	}
}

// period returns a length of time in ISO 8601, in the parts that it was written in.
func period(months, days, millis uint32) string {
	return fmt.Sprintf("P%dM%dDT%sS", months, days, formatFloat(float64(millis)/1000))
}

// unitOf returns a unit of time.
func unitOf(u schema.TimeUnitType) time.Duration {
	switch u {
	case schema.TimeUnitMillis:
		return time.Millisecond
	case schema.TimeUnitMicros:
		return time.Microsecond
	}
	return time.Nanosecond
}

// instant returns the time after so many units since 1970.
func instant(n int64, unit time.Duration) time.Time {
	per := int64(time.Second / unit)
	return time.Unix(n/per, n%per*int64(unit)).UTC()
}

// sized returns an integer, which may be one without a sign.
func sized(n *schema.PrimitiveNode, c *parquet.Cell, isSigned bool) Number {
	switch {
	case isSigned:
		return Number(strconv.FormatInt(int64(c.Bits), 10))
	case n.PhysicalType() == arrow.Types.Int32:
		return Number(strconv.FormatUint(uint64(uint32(c.Bits)), 10))
	}
	return Number(strconv.FormatUint(c.Bits, 10))
}

// decimal returns a decimal number with so many digits behind the point.
func decimal(n *schema.PrimitiveNode, c *parquet.Cell, scale int) Number {
	x := new(big.Int)
	switch n.PhysicalType() {
	case arrow.Types.Int32, arrow.Types.Int64:
		x.SetInt64(int64(c.Bits))
	default: // two's complement, the highest byte first
		b := c.Bytes
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
