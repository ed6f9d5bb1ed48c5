package neardup

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/values"
)

// Records are rows of a database. Each Field makes features of one column, with its own tokenizer
// and weight, and the features of all fields together make the fingerprint (Li 2015). The values
// are first written in one canonical form each (internal/values). After that, a record is read like
// a text, through the bag of an extractor (extract.go).

// A Record is a row: its values by the names of their columns. A null value is left out. A value
// may be any bytes; an empty one has no features. Package records makes Records of structs and of
// rows of database/sql.
//
// The Fields of a [Fingerprinter] say which features a record has. Its methods panic if it has none.
// A feature weighs what the Weight of the Fingerprinter returns for its occurrences in the record, times
// the mean weight of the fields that it occurs in. A record has no title and no sentences.
//
// Records are short. If one of ten values changes, the fingerprint moves by as many bits as that of
// a text in which every tenth word changes. So use the fingerprints of records to find candidates,
// and compare these by their features ([Fingerprinter.Features]) or values.
type Record map[string]string

// A Field says how a column of records becomes features (Li 2015). With only a Name it is a
// small-text field as in Li 2015: the whole value is one feature of weight 2.
type Field struct {
	// Name is the name of the column. Several Fields may have the same Name. A column without a
	// Field is ignored.
	Name string

	// Large says that the values are texts: they are rewritten by the Normalizer of the
	// Fingerprinter, cut into features, and weighted by term frequency. Otherwise values are short:
	// names, numbers, dates.
	Large bool

	// Weight is how much each feature counts. 0 means 2 for short values and 1 for large ones, the
	// constants of Li 2015. It must not be negative. If several fields have the same feature, their
	// weights add up.
	Weight float64

	// Named says that values are compared only within this column. Otherwise 张三 is the same
	// feature in every column, as in Li 2015.
	Named bool

	// Split cuts the value into features. nil leaves a short value whole, so a single typing error
	// makes it another feature; with NGrams{N: 2} most features survive one. For a large value, nil
	// means the Tokenizer of the Fingerprinter.
	Split Tokenizer

	// Form is the canonical form in which values are written before they are compared, so that
	// values that mean the same are equal. A large value is left as it is if Form is TextValue,
	// because its tokenizer folds it anyway. Country is the country calling code that PhoneValue
	// removes, such as "86"; other forms ignore it.
	Form    ValueForm
	Country string
}

// Check returns an error if a record cannot be compared by fields: if there are none, or if the
// record has values but none in a column of the fields, which is nearly always a misspelt name.
func (rec Record) Check(fields []Field) error {
	if len(fields) == 0 {
		return errors.New("neardup: a record needs the Fields of the Fingerprinter")
	}
	for i := range fields {
		if _, ok := rec[fields[i].Name]; ok {
			return nil
		}
	}
	if len(rec) == 0 {
		return nil
	}
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return fmt.Errorf("neardup: a record with the columns %q has none of the Fields %q: is a name misspelt?", slices.Sorted(maps.Keys(rec)), names)
}

// record reads a whole record. titleEnd 0 means that no feature is in the title.
func (r *extractor) record(rec Record) {
	if len(r.f.Fields) == 0 {
		panic("neardup: a record needs the Fields of the Fingerprinter")
	}
	if err := checkFields(r.f.Fields); err != nil {
		panic(err.Error())
	}
	r.bagged, r.recorded, r.titleEnd = r.purpose != toHash, true, 0
	r.setHash()
	for i := range r.f.Fields {
		field := &r.f.Fields[i]
		if value := rec[field.Name]; value != "" {
			r.readField(field, value)
		}
	}
	r.finish()
}

// readField takes the features of one value.
func (r *extractor) readField(field *Field, value string) {
	if field.Large {
		value = r.f.Normalizer.Normalize(value)
	}
	// The tokenizer of a large text folds it anyway.
	if !field.Large || field.Form != TextValue {
		value = field.Form.of(value, field.Country)
	}
	r.field, r.weight = field, field.weight()
	split := field.splitter(r.f.tokenizer())
	chars, n, ok := unitsOf(split)
	switch {
	case value == "":
	case split == nil:
		r.fieldToken(Token{Text: value, End: len(value)})
	case !ok:
		split.Tokens(value)(r.eachField)
	default:
		r.batch.Reset(chars, n)
		r.batch.Offsets = true
		for r.batch.Read(value, true); r.batch.Next(); {
			for i := range r.batch.Size() {
				r.fieldToken(r.batchToken(i))
			}
		}
	}
}

// splitter returns the tokenizer for the values, or nil if they stay whole. texts is the Tokenizer
// of the Fingerprinter.
func (f *Field) splitter(texts Tokenizer) Tokenizer {
	if f.Split == nil && f.Large {
		return texts
	}
	return f.Split
}

// weight returns the Weight or its default.
func (f *Field) weight() float64 {
	switch {
	case f.Weight != 0:
		return f.Weight
	case f.Large:
		return 1
	}
	return 2
}

// checkFields returns an error if a Weight or a Form is out of range.
func checkFields(fields []Field) error {
	for i := range fields {
		f := &fields[i]
		if !(f.Weight >= 0 && f.Weight <= math.MaxFloat64) {
			return fmt.Errorf("neardup: field %q has the Weight %g, which is not 0 or above and finite", f.Name, f.Weight)
		}
		if f.Form > PhoneValue {
			return fmt.Errorf("neardup: field %q has the unknown Form %d", f.Name, f.Form)
		}
	}
	return nil
}

// fieldsVersion returns a digest of the fields, for versions. Defaults are filled in first, and a
// Country counts only with PhoneValue.
func fieldsVersion(fields []Field, texts Tokenizer) string {
	d := format.NewDigest()
	for i := range fields {
		f := &fields[i]
		split, country, role := "whole", "", 0
		if f.Large {
			role = 1
		}
		if t := f.splitter(texts); t != nil {
			split = tokenizerVersion(t)
		}
		if f.Form == PhoneValue {
			country = f.Country
		}
		d.Text(fmt.Sprintf("%q %d %x %t %s %d %q", f.Name, role, math.Float64bits(f.weight()), f.Named, split, f.Form, country))
	}
	return fmt.Sprintf("%016x", d.Sum())
}

// A ValueForm is the canonical form in which the values of a field are written before they are
// compared. A value that is not what the form says, such as a word in a column of numbers, is
// written as a text, so nothing is lost. So is a value of more than 100 bytes.
type ValueForm uint8

const (
	// TextValue unifies compatibility characters, width and case (NFKC, folded), makes all white
	// space one space, and trims it.
	TextValue ValueForm = iota

	// ExactValue compares values byte by byte.
	ExactValue

	// NumberValue writes numbers like -1234.5: without plus, leading zeros, thousands separators,
	// or zeros at the end of the decimals; 1e3 is 1000. A point or comma is the decimal one if it
	// is the last separator and occurs only once: 1.234,50 is 1234.5, and 1.234 is 1.234. But 1,234
	// is 1234, because a comma before three digits separates thousands, except after a zero
	// (0,123).
	NumberValue

	// DateValue writes days like 2014-05-06. It reads 2014-5-6, 20140506, 2014/05/06, 2014年5月6日,
	// 6.5.2014, 6 May 2014, and May 6th, 2014. It leaves out a time of day after the date. If day
	// and month could be exchanged, the day comes first: 6/5/2014 is in May.
	DateValue

	// MonthFirstValue is DateValue, but if day and month could be exchanged, the month comes first.
	MonthFirstValue

	// PhoneValue writes the digits of telephone numbers, without an extension. If the field has a
	// Country, numbers of that country are written without its code and without the zero before the
	// area code, and others with + and their code. Without a Country, a number that begins with +
	// or 00 is written with +, and any other as it stands.
	PhoneValue
)

// of returns a value in the form v.
func (v ValueForm) of(value, country string) string { return values.Form(v).Of(value, country) }
