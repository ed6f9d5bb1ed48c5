// Package rows has the values of rows with their types, so that what one format of tables holds can be written in another one.
//
//	rows.go     the values, and as text for a cell
//	json.go     as JSON, both ways
//	columns.go  the columns of rows that have no header, and their types
//	parquet.go  values of rows of Parquet
//	shred.go    rows of Parquet of values
//	arrow.go    values of Arrow, both ways
//
// What a format cannot hold is written by a rule: in a cell of text, a list and a struct are JSON, bytes are base64, null is empty, and times
// are as in ISO 8601. JSON has times and bytes as the same texts, and numbers that are none, such as NaN, as texts.
package rows

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
)

// A Value is one of: nil for null, bool, [Number], float64, [Time], []byte, string, [List], [Struct].
type Value any

// A Number is an integer or a decimal number, as it is spelled in JSON, so that no digit of it is lost.
type Number string

// A List is some values.
type List []Value

// A Struct is fields in their order.
type Struct []Field

// A Field is a named value.
type Field struct {
	Name  string
	Value Value
}

// A Time is a point in time, or a part of one.
type Time struct {
	At   time.Time // in UTC
	Form Form
}

// A Form says what of a time is known.
type Form uint8

const (
	Instant Form = iota // a point in time, in UTC
	Local               // a date and a time of day, of no time zone
	Date                // a date
	Clock               // a time of day
)

// layouts are the forms in ISO 8601, with as many digits of seconds as there are.
var layouts = [...]string{Instant: "2006-01-02T15:04:05.999999999Z", Local: "2006-01-02T15:04:05.999999999", Date: time.DateOnly, Clock: "15:04:05.999999999"}

// String returns the time in ISO 8601.
func (t Time) String() string {
	if t.Form == Clock && t.At.Equal(time.Unix(86_400, 0)) { // which SQL has, and Format lacks
		return "24:00:00"
	}
	return t.At.UTC().Format(layouts[t.Form])
}

// Text returns a value as the text of a cell.
func Text(v Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case Number:
		return string(v)
	case float64:
		return formatFloat(v)
	case Time:
		return v.String()
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case string:
		return v
	}
	return string(AppendJSON(nil, v))
}

// formatFloat returns the fewest digits that are this number, with an exponent if it is very large or small.
func formatFloat(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
