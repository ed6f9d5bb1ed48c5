package neardup

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// The options of a field as text, in struct tags and in files of schemas:
//
//	small, large, -                    the role
//	whole, words, words2, chars3, …    how it is split: Shingles and NGrams of any length
//	text, exact, number, date, mdy, phone, phone=86
//	named
//	weight=2.5

// ParseField returns the field of a column with options such as
// "chars2,date,named,weight=3", in any order: the role small (the default), large, or -
// for Ignored; the split whole (the default), words, words2 (pairs of words, and so on) or
// chars3 (runs of three characters, and so on); the form text (the default), exact,
// number, date, mdy for month first, phone or phone=86 with a country code; named; and
// the weight.
func ParseField(name, options string) (Field, error) {
	f := Field{Name: name}
	for option := range strings.SplitSeq(options, ",") {
		option = strings.TrimSpace(option)
		key, value, valued := strings.Cut(option, "=")
		switch key {
		case "", "small", "text", "whole":
		case "large":
			f.Role = LargeText
		case "-":
			f.Role = Ignored
		case "exact":
			f.Form = ExactValue
		case "number":
			f.Form = NumberValue
		case "date":
			f.Form = DateValue
		case "mdy":
			f.Form = MonthFirstValue
		case "phone":
			f.Form, f.Country = PhoneValue, value
			if valued && (value == "" || countDigits(value) != len(value)) {
				return Field{}, fmt.Errorf("neardup: field %q: country code %q is not a number", clip(name), clip(value))
			}
			continue
		case "named":
			f.Named = true
		case "weight":
			w, err := strconv.ParseFloat(value, 64)
			if err != nil || !(w > 0 && w <= 1<<20) {
				return Field{}, fmt.Errorf("neardup: field %q: weight %q is not a number above 0 and up to %d", clip(name), clip(value), 1<<20)
			}
			f.Weight = w
			continue
		case "words":
			f.Split = Words{}
		default:
			n, err := strconv.Atoi(strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz"))
			switch what := strings.TrimRight(key, "0123456789"); {
			case err == nil && n > 0 && n <= 1000 && what == "words":
				f.Split = Shingles{N: n}
			case err == nil && n > 0 && n <= 1000 && what == "chars":
				f.Split = NGrams{n}
			default:
				return Field{}, fmt.Errorf("neardup: field %q: %q is not an option", clip(name), clip(option))
			}
		}
		if valued {
			return Field{}, fmt.Errorf("neardup: field %q: %q takes no value", clip(name), clip(key))
		}
	}
	return f, nil
}

// FieldsOf returns the fields of a struct type by its tags, a name and the options of
// [ParseField]:
//
//	type Person struct {
//		Name  string    `neardup:"name,chars2"`
//		Born  time.Time `neardup:",date,weight=3"`
//		Notes *string   `neardup:",large"`
//		ID    int       `neardup:"-"`
//	}
//
// An exported field without a tag is small, one without a name in its tag has that of
// the struct, and the fields of embedded structs are fields. [RecordOf] gives the records.
func FieldsOf[T any]() ([]Field, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("neardup: %v is not a struct", t)
	}
	var fields []Field
	for _, sf := range reflect.VisibleFields(t) {
		name, options, ok := columnOf(sf)
		if !ok {
			continue
		}
		f, err := ParseField(name, options)
		if err != nil {
			return nil, fmt.Errorf("%w in %v.%s", err, t, sf.Name)
		}
		if _, err := textOf(reflect.Zero(sf.Type)); err != nil {
			return nil, fmt.Errorf("neardup: %v.%s: %w", t, sf.Name, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// columnOf returns the name and the options of a field of a struct, or false if it is
// none of a record.
func columnOf(sf reflect.StructField) (name, options string, ok bool) {
	tag, tagged := sf.Tag.Lookup("neardup")
	if !sf.IsExported() || tag == "-" || sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct {
		return "", "", false
	}
	name, options, _ = strings.Cut(tag, ",")
	if name == "" {
		name = sf.Name
	}
	return name, options, true
}

// RecordOf returns the record of a struct, or of what a pointer to it points to, by the
// names that [FieldsOf] gives its fields. A nil pointer and a null of database/sql are no
// value. Numbers and truth values are written as Go writes them, times as dates if they
// are at midnight and with the time of day and the zone if not, and what can write itself
// (encoding.TextMarshaler, fmt.Stringer) does.
func RecordOf(v any) (Record, error) {
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer && !x.IsNil() {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct {
		return nil, fmt.Errorf("neardup: a %T is not a struct", v)
	}
	rec := Record{}
	for _, sf := range reflect.VisibleFields(x.Type()) {
		name, _, ok := columnOf(sf)
		if !ok {
			continue
		}
		field, err := x.FieldByIndexErr(sf.Index)
		if err != nil {
			continue // of an embedded pointer that is nil
		}
		text, err := textOf(field)
		if err != nil {
			return nil, fmt.Errorf("neardup: %v.%s: %w", x.Type(), sf.Name, err)
		}
		if text != nil {
			rec[name] = *text
		}
	}
	return rec, nil
}

// textOf returns a value as text, or nil for none.
func textOf(v reflect.Value) (*string, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	text := ""
	switch x := v.Interface().(type) {
	case time.Time:
		text = timeText(x)
	case []byte:
		if x == nil {
			return nil, nil
		}
		text = string(x)
	case driver.Valuer:
		value, err := x.Value()
		if err != nil || value == nil {
			return nil, err
		}
		return textOf(reflect.ValueOf(value))
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		if err != nil {
			return nil, err
		}
		text = string(b)
	case fmt.Stringer:
		text = x.String()
	default:
		switch v.Kind() {
		case reflect.String:
			text = v.String()
		case reflect.Bool:
			text = strconv.FormatBool(v.Bool())
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			text = strconv.FormatInt(v.Int(), 10)
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			text = strconv.FormatUint(v.Uint(), 10)
		case reflect.Float32:
			text = strconv.FormatFloat(v.Float(), 'f', -1, 32)
		case reflect.Float64:
			text = strconv.FormatFloat(v.Float(), 'f', -1, 64)
		default:
			return nil, fmt.Errorf("a %v is no value of a record", v.Type())
		}
	}
	return &text, nil
}

func timeText(t time.Time) string {
	if t.Equal(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}

// ScanRecord returns the current row of a query, by the names of its columns, with nulls
// left out and values written as [RecordOf] writes them. It is an error if two columns
// have one name.
//
//	for rows.Next() {
//		rec, err := neardup.ScanRecord(rows)
//		...
//		fp := f.SumRecord64(rec)
//	}
func ScanRecord(rows *sql.Rows) (Record, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	if err := rows.Scan(to...); err != nil {
		return nil, err
	}
	rec := make(Record, len(names))
	for i, v := range values {
		if _, twice := rec[names[i]]; twice {
			return nil, fmt.Errorf("neardup: two columns have the name %q", clip(names[i]))
		}
		if v == nil {
			continue
		}
		text, err := textOf(reflect.ValueOf(v))
		if err != nil {
			return nil, fmt.Errorf("neardup: column %q: %w", clip(names[i]), err)
		}
		if text != nil {
			rec[names[i]] = *text
		}
	}
	return rec, nil
}
