// Package records finds the rows of a table that are about the same thing ([Match]). It also makes
// [neardup.Record] values of structs and of rows of database/sql, and the
// [neardup.Field] values that say how to compare them. It is a package of its own to keep
// reflection and database/sql out of programs that do not need them.
//
//	m, err := records.Match(ctx, rows, records.MatchOptions{})
//	for _, group := range m.Groups {
//		…
//	}
//
//	fields, err := records.Fields[Person]()
//	f := neardup.Fingerprinter{Fields: fields}
//	rec, err := records.Of(person)
//	fp := f.Sum64(rec)
//
// record.go in the root package says how the fields of two records are compared.
//
// All functions are safe for concurrent use, except that one *sql.Rows belongs to one goroutine.
package records

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/format"
)

// ParseField returns the field for a column. options is a list such as
// "chars2,date,named,weight=3", in any order; spaces around an option and empty options are
// ignored:
//
//	small (the default) or large: see neardup.Field
//	whole (the default), words, words2 (pairs of words, and so on), chars3 (trigrams, and so on)
//	text (the default), exact, number, date, mdy (month first), phone, or phone=86 with a country code
//	named
//	weight=2.5
//
// The options of one line exclude each other: two of them are an error, even if they are the same. A
// number after words or chars is 1 to 1000, and a weight above 0 and at most 2²⁰. Anything else
// is an error that names the field. name may be any string.
func ParseField(name, options string) (neardup.Field, error) {
	f := neardup.Field{Name: name}
	given := map[string]string{} // option by kind, a line of the list
	for option := range strings.SplitSeq(options, ",") {
		if option = strings.TrimSpace(option); option == "" {
			continue
		}
		kind, err := set(&f, option)
		if err == nil && given[kind] != "" {
			err = fmt.Errorf("%q and %q cannot be used together", given[kind], option)
		}
		if err != nil {
			return neardup.Field{}, fmt.Errorf("records: field %q: %w", format.Clip(name), err)
		}
		given[kind] = option
	}
	return f, nil
}

// set applies an option to f and returns its kind. Options of one kind exclude each other. After an
// error f may be half changed.
func set(f *neardup.Field, option string) (kind string, err error) {
	key, value, valued := strings.Cut(option, "=")
	switch {
	case key == "weight":
		return "weight", setWeight(f, value)
	case key == "phone":
		f.Form, f.Country = neardup.PhoneValue, value
		if valued && (value == "" || strings.Trim(value, "0123456789") != "") {
			return "", fmt.Errorf("country code %q is not a number", format.Clip(value))
		}
		return "form", nil
	case valued:
		return "", fmt.Errorf("%q is not an option with a value", format.Clip(key))
	case key == "small" || key == "large":
		f.Large = key == "large"
		return "role", nil
	case key == "named":
		f.Named = true
		return "named", nil
	}
	if form, ok := formOf(key); ok {
		f.Form = form
		return "form", nil
	}
	return "split", setSplit(f, key)
}

// setWeight sets the weight of f to the number in value, or returns an error that quotes value.
func setWeight(f *neardup.Field, value string) (err error) {
	f.Weight, err = strconv.ParseFloat(value, 64)
	if err != nil || !(f.Weight > 0 && f.Weight <= 1<<20) {
		return fmt.Errorf("weight %q is not a number above 0 and up to %d", format.Clip(value), 1<<20)
	}
	return nil
}

// formOf returns the form that an option names. phone is not here, because it may have a value.
func formOf(option string) (form neardup.ValueForm, ok bool) {
	switch option {
	case "text":
		return neardup.TextValue, true
	case "exact":
		return neardup.ExactValue, true
	case "number":
		return neardup.NumberValue, true
	case "date":
		return neardup.DateValue, true
	case "mdy":
		return neardup.MonthFirstValue, true
	}
	return 0, false
}

// setSplit sets how values of f are split, for an option such as whole, words2 or chars3. It is the
// last to be tried, so it returns the error for an option that does not exist.
func setSplit(f *neardup.Field, option string) error {
	letters := strings.TrimRight(option, "0123456789")
	n, err := strconv.Atoi(option[len(letters):])
	counted := err == nil && n > 0 && n <= 1000
	switch {
	case option == "whole":
	case option == "words":
		f.Split = neardup.Words{}
	case letters == "words" && counted:
		f.Split = neardup.Shingles{N: n}
	case letters == "chars" && counted:
		f.Split = neardup.NGrams{N: n}
	default:
		return fmt.Errorf("%q is not an option", format.Clip(option))
	}
	return nil
}

// Fields returns the fields of the struct type T by its tags. A tag has a column name and the
// options of [ParseField]:
//
//	type Person struct {
//		Name  string    `neardup:"name,chars2"`
//		Born  time.Time `neardup:",date,weight=3"`
//		Notes *string   `neardup:",large"`
//		ID    int       `neardup:"-"`
//	}
//
// An exported field without a tag is small. A field without a name in its tag has the name of the
// struct field. The tag "-" leaves a field out; unexported fields are left out too.
//
// An embedded struct without a tag, or a pointer to one, is replaced by its own fields, unless it
// has a method that writes it as one value (driver.Valuer, encoding.TextMarshaler). With the tag
// "-" it is left out with all its fields.
//
// It is an error if T is not a struct, if two fields have the same name, if a tag is wrong, and if
// a field has a type that [Of] cannot write, such as a map. [Of] makes the records.
func Fields[T any]() ([]neardup.Field, error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	var fields []neardup.Field
	for _, c := range columns {
		f, err := ParseField(c.name, c.options)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// A column is a struct field that becomes a value of records. index leads to it as in
// reflect.Value.FieldByIndex.
type column struct {
	name, options string
	index         []int
}

// columnsOf returns the columns of a struct type, embedded structs included, in the order of
// declaration.
func columnsOf(t reflect.Type) ([]column, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("records: %v is not a struct", t)
	}
	return appendColumns(nil, t, nil, []reflect.Type{t})
}

// appendColumns appends the columns of the struct type t, and of the structs embedded in it. index
// leads from the outermost struct to t, and within are the types that t is embedded in, itself
// included. Names are unique among all columns.
func appendColumns(columns []column, t reflect.Type, index []int, within []reflect.Type) (_ []column, err error) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("neardup")
		at := append(slices.Clone(index), i)
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		// The cases, in this order: left out by its tag; an embedded struct, which may itself
		// be unexported; not exported; of a type that has no text; a column.
		switch {
		case tag == "-":
		case sf.Anonymous && !tagged && inner.Kind() == reflect.Struct && isPart(inner):
			if slices.Contains(within, inner) {
				continue // a type that embeds a pointer to itself would go on without end
			}
			if columns, err = appendColumns(columns, inner, at, append(within, inner)); err != nil {
				return nil, err
			}
		case !sf.IsExported():
		case !isValue(sf.Type):
			return nil, fmt.Errorf("records: %v.%s: a %v cannot be a value of a record", t, sf.Name, sf.Type)
		default:
			c := newColumn(sf, tag, at)
			if slices.ContainsFunc(columns, func(other column) bool { return other.name == c.name }) {
				return nil, fmt.Errorf("records: %v.%s: another field has the name %q", t, sf.Name, c.name)
			}
			columns = append(columns, c)
		}
	}
	return columns, nil
}

// newColumn returns the column for a struct field with the given tag. The name of the struct field
// stands in for one that the tag leaves out.
func newColumn(sf reflect.StructField, tag string, index []int) column {
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = sf.Name
	}
	return column{name, options, index}
}

// isPart reports whether an embedded struct is replaced by its fields. It is not if it writes
// itself as one value, as time.Time does, or if it has no field that could be used.
func isPart(t reflect.Type) bool {
	for _, i := range []reflect.Type{valuer, marshaler} {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return false
		}
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() || f.Anonymous {
			return true
		}
	}
	return false
}

// The interfaces of types that write themselves.
var (
	valuer    = reflect.TypeFor[driver.Valuer]()
	marshaler = reflect.TypeFor[encoding.TextMarshaler]()
	stringer  = reflect.TypeFor[fmt.Stringer]()
)

// isValue reports whether textOf can write values of type t. For an interface type only the value
// tells, so it reports true.
func isValue(t reflect.Type) bool {
	// A value may be written by a method of any pointer on the way to it, or of the value itself.
	for range maxPointers {
		for _, i := range []reflect.Type{valuer, marshaler, stringer} {
			if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
				return true
			}
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case k == reflect.String, k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr:
		return true
	default:
		return k == reflect.Interface
	}
}

// Of returns the record of a struct, or of a struct that v points to, under the column names that
// [Fields] gives. v may be of any struct type; anything else, and a nil pointer, is an error.
//
// A field is left out if it is a nil pointer, a NULL of database/sql, a nil []byte or the zero
// time. Numbers and booleans are written as Go writes them, without exponents. A time is written as
// a date if it is midnight in its zone (2014-05-06), and else with time of day and zone (RFC 3339).
// A type with a method writes itself: driver.Valuer first, then encoding.TextMarshaler, then
// fmt.Stringer. An error of such a method is returned with the name of the field.
func Of(v any) (neardup.Record, error) {
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer && !x.IsNil() {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct {
		return nil, fmt.Errorf("records: a %T is not a struct", v)
	}
	// Methods with a pointer receiver need an address.
	if !x.CanAddr() {
		copied := reflect.New(x.Type()).Elem()
		copied.Set(x)
		x = copied
	}
	columns, err := columnsOf(x.Type())
	if err != nil {
		return nil, err
	}
	rec := make(neardup.Record, len(columns))
	for _, c := range columns {
		field, err := x.FieldByIndexErr(c.index)
		if err != nil {
			continue // inside an embedded pointer that is nil
		}
		text, ok, err := textOf(field)
		if err != nil {
			return nil, fmt.Errorf("records: %v, field %q: %w", x.Type(), c.name, err)
		}
		if ok {
			rec[c.name] = text
		}
	}
	return rec, nil
}

// maxPointers is the number of pointers and interfaces that may lead to a value. It ends the loop
// for types that point to themselves.
const maxPointers = 10

// textOf returns v as text. ok is false if there is no value: nil, NULL or the zero time.
func textOf(v reflect.Value) (text string, ok bool, err error) {
	for range maxPointers {
		leads := v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface
		if leads && v.IsNil() {
			return "", false, nil
		}
		// Try the methods first: of the address, if there is one, because it also has those of the
		// value.
		if v.Kind() != reflect.Interface {
			x := v
			if !leads && v.CanAddr() {
				x = v.Addr()
			}
			if text, ok, known, err := writtenBySelf(x.Interface()); known {
				return text, ok, err
			}
		}
		if !leads {
			break
		}
		v = v.Elem()
	}
	return writtenByKind(v)
}

// writtenByKind returns a value without methods as text, as Go writes its basic kind. It is an
// error if v is of another kind.
func writtenByKind(v reflect.Value) (text string, ok bool, err error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), true, nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), true, nil
	case reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'f', -1, 32), true, nil
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), true, nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes()), !v.IsNil(), nil
		}
	}
	return "", false, fmt.Errorf("a %v cannot be a value of a record", v.Type())
}

// writtenBySelf returns the text that x writes of itself. known is false if x has no method for it.
// A time.Time has several, but is written by timeText.
func writtenBySelf(x any) (text string, ok, known bool, err error) {
	// x is often the address of a field.
	if t, is := x.(*time.Time); is {
		x = *t
	}
	switch x := x.(type) {
	case time.Time:
		return timeText(x), !x.IsZero(), true, nil
	case driver.Valuer:
		value, err := x.Value()
		if err != nil || value == nil {
			return "", false, true, err
		}
		if !driver.IsValue(value) {
			return "", false, true, fmt.Errorf("the Value of a %T is a %T, which is not a driver.Value", x, value)
		}
		if t, is := value.(time.Time); is {
			return timeText(t), !t.IsZero(), true, nil
		}
		text, ok, err = textOf(reflect.ValueOf(value))
		return text, ok, true, err
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		return string(b), err == nil, true, err
	case fmt.Stringer:
		return x.String(), true, true, nil
	}
	return "", false, false, nil
}

// timeText writes a time as a date if it is midnight in its zone. Columns of dates arrive as such
// times.
func timeText(t time.Time) string {
	if t.Equal(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}

// Scan returns the current row of a query as a record, by the names of its columns. Call it in
// place of rows.Scan. NULL values are left out, and other values are written as [Of] writes them.
// Two columns of the same name are an error.
//
//	for rows.Next() {
//		rec, err := records.Scan(rows)
//		...
//		fp := f.Sum64(rec)
//	}
func Scan(rows *sql.Rows) (neardup.Record, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("records: two columns have the name %q", format.Clip(names[i]))
		}
	}
	if err := rows.Scan(to...); err != nil {
		return nil, err
	}
	rec := make(neardup.Record, len(names))
	for i, v := range values {
		if v == nil {
			continue
		}
		text, ok, err := textOf(reflect.ValueOf(v))
		if err != nil {
			return nil, fmt.Errorf("records: column %q: %w", format.Clip(names[i]), err)
		}
		if ok {
			rec[names[i]] = text
		}
	}
	return rec, nil
}
