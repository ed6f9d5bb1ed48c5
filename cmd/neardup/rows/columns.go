package rows

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// This file finds the columns of rows, in the order in which they first occur, and a type for each that holds all its values.

// Columns are the columns of rows.
type Columns struct {
	names []string
	at    map[string]int
	types []columnType
	rows  int
	depth int // in how many lists and structs the rows stand
}

// Names returns the names of the columns. They must not be changed.
func (c *Columns) Names() []string { return c.names }

// Len returns how many rows were added.
func (c *Columns) Len() int { return c.rows }

// Name takes note of columns that may have no values.
func (c *Columns) Name(names []string) {
	for _, name := range names {
		c.find(name)
	}
}

// Add takes note of a row.
func (c *Columns) Add(row Struct) {
	c.rows++
	for _, f := range row {
		c.types[c.find(f.Name)].add(f.Value)
	}
}

// find returns the number of a column, which is a new one if there is none.
func (c *Columns) find(name string) int {
	i, ok := c.at[name]
	if !ok {
		if c.at == nil {
			c.at = map[string]int{}
		}
		i = len(c.names)
		c.at[name] = i
		c.names, c.types = append(c.names, name), append(c.types, columnType{depth: c.depth})
	}
	return i
}

// Values returns the values of a row in the order of the columns, nil for those that it lacks. They are in buf, which grows.
func (c *Columns) Values(row Struct, buf []Value) []Value {
	buf = append(buf[:0], make([]Value, len(c.names))...)
	for _, f := range row {
		if i, ok := c.at[f.Name]; ok {
			buf[i] = f.Value
		}
	}
	return buf
}

// A kind is what the values of a column have in common.
type kind uint8

const (
	nulls kind = iota
	bools
	integers // of 64 bits
	floats
	instants
	locals
	dates
	clocks
	binaries
	texts
	lists
	structs
	mixed // values of several kinds, written as text
)

func (k kind) isNested() bool { return k == lists || k == structs }

// A columnType is the type of a column, or of the elements of a list.
type columnType struct {
	kind   kind
	depth  int         // in how many lists and structs the values stand
	of     *columnType // the elements of lists
	fields *Columns    // the fields of structs

	// Of numbers that are not all integers of 64 bits:
	isLossy       bool // some have more digits than a float
	isFloat       bool // some are floats already
	whole, behind int  // how many digits they have at most, before and behind the point

	// Of times:
	isFine   bool // some have nanoseconds that microseconds would lose
	isFar    bool // some are in years that nanoseconds do not reach
	isBeyond bool // some are in years that microseconds do not reach
}

// mostNested is in how many lists and structs a value may stand and not be a text. Arrow reads 64 levels, and a list of Parquet takes two.
const mostNested = 32

// mostDigits is how many digits a decimal number of Parquet may have.
const mostDigits = 38

// isDecimal reports whether numbers are decimal ones, since floats would lose digits.
func (t *columnType) isDecimal() bool {
	return t.kind == floats && t.isLossy && !t.isFloat && t.whole+t.behind <= mostDigits
}

// addNumber takes note of a number.
func (t *columnType) addNumber(n Number) {
	text := strings.TrimPrefix(string(n), "-")
	if strings.ContainsAny(text, "eE") {
		t.isFloat = true
		return
	}
	whole, behind, has := strings.Cut(text, ".")
	t.whole, t.behind = max(t.whole, len(whole)), max(t.behind, len(behind))
	if has {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	x, _ := strconv.ParseFloat(text, 64)
	t.isLossy = t.isLossy || strconv.FormatFloat(x, 'f', -1, 64) != text
}

// addTime records what a time needs.
func (t *columnType) addTime(at time.Time) {
	const mostMicros = math.MaxInt64 / 1_000_000
	t.isFine = t.isFine || at.Nanosecond()%1000 != 0
	t.isFar = t.isFar || at.Year() < 1678 || at.Year() > 2261 // as time.Time.UnixNano has it
	t.isBeyond = t.isBeyond || at.Unix() >= mostMicros || at.Unix() <= -mostMicros
}

// isInTimes reports whether times can be held as numbers.
func (t *columnType) isInTimes() bool { return !t.isBeyond && !(t.isFine && t.isFar) }

// stamp returns a time as a number in the unit of its column: since 1970, or of a time of day, since midnight. Sheets put times of day in 1899.
func (t *columnType) stamp(at time.Time) int64 {
	if day := 24 * time.Hour; t.kind == clocks && (at.Before(time.Unix(0, 0)) || at.After(time.Unix(0, int64(day)))) {
		at = time.Unix(0, int64(at.Sub(at.Truncate(day))))
	}
	if t.isFine {
		return at.UnixNano()
	}
	return at.UnixMicro()
}

// kindOf returns the kind of a value. A number that is no integer of 64 bits is a float, as it is for whoever reads JSON.
func kindOf(v Value) kind {
	switch v := v.(type) {
	case nil:
		return nulls
	case bool:
		return bools
	case Number:
		if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return integers
		}
		return floats
	case float64:
		return floats
	case Time:
		return instants + kind(v.Form)
	case []byte:
		return binaries
	case List:
		return lists
	case Struct:
		return structs
	}
	return texts
}

// add takes note of a value.
func (t *columnType) add(v Value) {
	k := kindOf(v)
	if t.depth == mostNested && k.isNested() {
		t.kind = mixed
		return
	}
	switch {
	case k == nulls || k == t.kind:
	case t.kind == nulls:
		t.kind = k
	case min(k, t.kind) == integers && max(k, t.kind) == floats:
		t.kind = floats
	default:
		t.kind = mixed
	}
	t.addParts(v)
}

// addParts records what a value needs beyond its kind, and the values inside it.
func (t *columnType) addParts(v Value) {
	switch v := v.(type) {
	case Number:
		t.addNumber(v)
	case float64:
		t.isFloat = true
	case Time:
		t.addTime(v.At)
	case List:
		if t.of == nil {
			t.of = &columnType{depth: t.depth + 1}
		}
		for _, x := range v {
			t.of.add(x)
		}
	case Struct:
		if t.fields == nil {
			t.fields = &Columns{depth: t.depth + 1}
		}
		t.fields.Add(v)
	}
}

// isPlain reports whether a column of this type holds its values as they are, not as text. Numbers that neither floats nor decimal numbers can
// hold are texts, and so are times that lose their nanoseconds or their year.
func (t *columnType) isPlain() bool {
	switch t.kind {
	case nulls, texts, mixed:
		return false
	case floats:
		return !t.isLossy || t.isDecimal()
	case instants, locals:
		return t.isInTimes()
	case structs: // Parquet has no struct without fields
		return len(t.fields.names) > 0
	}
	return true
}
