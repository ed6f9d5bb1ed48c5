package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// This file compares what was read of a column with its statistics in the footer: how many values are null, and the least and
// the greatest value. A decoder that loses or garbles values then ends with an error instead of other texts. The library knows
// of which writers statistics are wrong (PARQUET-251 and others) and leaves them out. Bounds may be cut (`is_min_value_exact`),
// so values must lie within them, and need not reach them. How many values there are is checked where they are decoded.

// A check is what the footer says of a column, and what was read so far.
type check struct {
	compare  func(a *Cell, bound []byte) int // nil: there are no bounds, or none that can be compared
	min, max []byte                          // as the footer has them; nil if it has none, which it may of one only
	mayEmpty bool                            // empty values may be below the least
	said     int64                           // how many nulls there are, or -1
	nulls    int64
}

func (f *File) newCheck(meta *metadata.ColumnChunkMetaData, group, column int) check {
	c, of := check{said: -1}, f.Schema().Column(column)
	stats, err := meta.Statistics()
	if err != nil || stats == nil {
		return c
	}
	by := f.from.MetaData().GetCreatedBy()
	c.mayEmpty = strings.HasPrefix(by, byArrowGo)
	// Within lists, writers do not agree whether an empty list counts.
	if stats.HasNullCount() && of.MaxRepetitionLevel() == 0 && by != byXitongsys {
		c.said = stats.NullCount()
	}
	if strings.Contains(by, bySegmentio) {
		return c
	}
	// Without an order, bounds are those of older writers, who compared bytes as if they had signs.
	if stats.HasMinMax() && of.ColumnOrder() == parquet.ColumnOrders.TypeDefinedOrder {
		raw := f.from.MetaData().RowGroups[group].Columns[column].MetaData.Statistics // the library has a zero for a bound that is missing
		if raw.IsSetMinValue() {
			c.min = append([]byte{}, raw.MinValue...)
		}
		if raw.IsSetMaxValue() {
			c.max = append([]byte{}, raw.MaxValue...)
		}
		if c.compare = compareOf(of); c.compare != nil && c.min != nil && c.max != nil && !inOrder(c.compare, of, c.min, c.max) {
			c.compare = nil
		}
	}
	return c
}

// Writers whose statistics are wrong, beside those of which the library knows, as files show that these libraries write.
const (
	byArrowGo   = "parquet-go version "        // arrow-go 18.8: the least value leaves out empty ones
	byXitongsys = "parquet-go version latest"  // xitongsys/parquet-go: no nulls, where there are some
	bySegmentio = "github.com/segmentio/parqu" // segmentio/parquet-go: values beyond the greatest
)

// inOrder reports whether two bounds are in order, as they are not of a writer that compared in another one.
func inOrder(compare func(*Cell, []byte) int, of *schema.Column, min, max []byte) bool {
	low := Cell{Bytes: min}
	switch {
	case of.PhysicalType() == parquet.Types.ByteArray:
	case len(min) == 4:
		low.Bits = uint64(binary.LittleEndian.Uint32(min))
	case len(min) == 8:
		low.Bits = binary.LittleEndian.Uint64(min)
	}
	return compare(&low, max) <= 0
}

// value checks a value that is not null.
func (c *check) value(v *Cell) error {
	if c.compare == nil {
		return nil
	}
	if c.min != nil && c.compare(v, c.min) < 0 && !(c.mayEmpty && v.Bytes != nil && len(v.Bytes) == 0) {
		return fmt.Errorf("it has a value below the minimum in the footer; the file is damaged, or was read incorrectly")
	}
	if c.max != nil && c.compare(v, c.max) > 0 {
		return fmt.Errorf("it has a value above the maximum in the footer; the file is damaged, or was read incorrectly")
	}
	return nil
}

// end checks the number of nulls, when all was read.
func (c *check) end() error {
	if c.said >= 0 && c.said != c.nulls {
		return fmt.Errorf("%d of its values are null, but the footer says %d; the file is damaged, or was read incorrectly", c.nulls, c.said)
	}
	return nil
}

// compareOf returns how values of a column are compared with a bound, or nil for those whose order has no bounds, or needs
// more than their bytes.
func compareOf(of *schema.Column) func(*Cell, []byte) int {
	isUnsigned := of.SortOrder() == schema.SortUNSIGNED
	switch of.PhysicalType() {
	case parquet.Types.ByteArray:
		if isUnsigned {
			return func(v *Cell, bound []byte) int { return bytes.Compare(v.Bytes, bound) }
		}
	case parquet.Types.Int32:
		return func(v *Cell, bound []byte) int {
			if len(bound) != 4 {
				return 0
			}
			x := binary.LittleEndian.Uint32(bound)
			if isUnsigned {
				return cmp.Compare(uint32(v.Bits), x)
			}
			return cmp.Compare(int32(v.Bits), int32(x))
		}
	case parquet.Types.Int64:
		return func(v *Cell, bound []byte) int {
			if len(bound) != 8 {
				return 0
			}
			x := binary.LittleEndian.Uint64(bound)
			if isUnsigned {
				return cmp.Compare(v.Bits, x)
			}
			return cmp.Compare(int64(v.Bits), int64(x))
		}
	case parquet.Types.Double:
		return func(v *Cell, bound []byte) int {
			x, y := math.Float64frombits(v.Bits), 0.0
			if len(bound) != 8 {
				return 0
			}
			if y = math.Float64frombits(binary.LittleEndian.Uint64(bound)); x < y {
				return -1
			} else if x > y {
				return 1
			}
			return 0 // NaN is in no order
		}
	}
	return nil
}
