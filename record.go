package neardup

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/values"
)

// A Record is a row with fields: the values by the names of the columns. What is null
// is not in it.
type Record map[string]string

// A Field says how a column of records becomes features (S003). The zero value but for
// the name is a small-text field as S003 has it: the whole value is one feature of
// weight 2.
type Field struct {
	// Name is the name of the column. A column may have several Fields; one that has
	// none is ignored.
	Name string

	// Large says that the values are texts, weighed by term frequency; the Normalizer of the
	// Fingerprinter goes over them. Else they are short: names, numbers, dates.
	Large bool

	// Weight is what each feature counts. 0 means 2 for short values and 1 for large ones,
	// the constants of S003. A feature that several fields have adds the weights up.
	Weight float64

	// Named says that values are compared within this column only. Otherwise 张三 is the
	// same feature in every column, as in S003.
	Named bool

	// Split cuts the value into features. nil leaves a short value whole, so one typing
	// error makes another feature; with NGrams{2} most features survive it. For
	// a large value, nil means the Tokenizer of the Fingerprinter.
	Split Tokenizer

	// Form is how values are written before they are compared, so that one value
	// has one form. Country is the country code, such as "86", that PhoneValue takes away.
	Form    ValueForm
	Country string
}

// SumRecord64 returns the 64-bit fingerprint of a record by the Fields. A field that is
// null or has no features contributes nothing, and a record without features has the
// fingerprint 0 (see [Fingerprint64]). A feature weighs what Weight says of its
// occurrences in the record, times the mean weight of the fields they stand in; there is
// no title, and there are no sentences.
//
// In a record of ten values, one that changes moves as many bits as every tenth word of a
// text does. So with short records a fingerprint nominates candidates, to be compared
// by their features ([Fingerprinter.RecordFeatures]) or values.
func (f *Fingerprinter) SumRecord64(rec Record) Fingerprint64 {
	r := f.reading(toSum64)
	r.record(rec)
	return r.sum64()
}

// SumRecord128 is [Fingerprinter.SumRecord64] for 128 bits.
func (f *Fingerprinter) SumRecord128(rec Record) Fingerprint128 {
	r := f.reading(toSum128)
	r.record(rec)
	return r.sum128()
}

// RecordFeatures is [Fingerprinter.Features] for a record: field by field in the order
// of the Fields, those that are Named with name= before them.
func (f *Fingerprinter) RecordFeatures(rec Record) iter.Seq2[Feature, float64] {
	return func(yield func(Feature, float64) bool) {
		r := f.reading(toShow)
		defer r.release()
		r.record(rec)
		r.show(yield)
	}
}

// AddRecord counts the features of a record.
func (b *StatisticsBuilder) AddRecord(rec Record) {
	r := b.Fingerprinter.reading(toCount)
	r.record(rec)
	b.count(r)
}

// checkRecord returns an error if f cannot compare a record: without Fields, or if it has values but
// none in the columns that the Fields name.
func (f *Fingerprinter) checkRecord(rec Record) error {
	if len(f.Fields) == 0 {
		return errors.New("neardup: a record needs the Fields of the Fingerprinter")
	}
	for i := range f.Fields {
		if _, ok := rec[f.Fields[i].Name]; ok {
			return nil
		}
	}
	if len(rec) == 0 {
		return nil
	}
	names := make([]string, len(f.Fields))
	for i := range f.Fields {
		names[i] = f.Fields[i].Name
	}
	return fmt.Errorf("neardup: a record with the columns %q has none of the Fields %q: is a name misspelt?", slices.Sorted(maps.Keys(rec)), names)
}

// record reads a record.
func (r *reading) record(rec Record) {
	if len(r.f.Fields) == 0 {
		panic("neardup: a record needs the Fields of the Fingerprinter")
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

// readField takes in the features of a value.
func (r *reading) readField(field *Field, value string) {
	if field.Large {
		value = r.f.Normalizer.Normalize(value)
	}
	if !field.Large || field.Form != TextValue { // its tokenizer sees to the form
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

// fieldToken takes in one feature of the field.
func (r *reading) fieldToken(t Token) bool {
	if r.field.Named {
		r.named = append(append(append(r.named[:0], r.field.Name...), '='), t.Text...)
		t.Text = lex.String(r.named)
	}
	r.occurrence(r.own(t), r.weight)
	return true
}

// splitter returns what cuts the values, or nil; texts is for large ones.
func (f *Field) splitter(texts Tokenizer) Tokenizer {
	if f.Split == nil && f.Large {
		return texts
	}
	return f.Split
}

func (f *Field) weight() float64 {
	switch {
	case f.Weight != 0:
		return f.Weight
	case f.Large:
		return 1
	}
	return 2
}

// fieldsVersion returns a digest of the fields.
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

// A ValueForm is how the values of a field are written before they are compared. What is
// no number, date or telephone number is a text to all of them, so nothing is lost.
type ValueForm uint8

const (
	// TextValue: compatibility forms and full width as usual, lower case, one space for
	// white space, none at the ends.
	TextValue ValueForm = iota

	// ExactValue: every byte counts.
	ExactValue

	// NumberValue: without plus, leading zeros, marks between thousands and zeros at the
	// end of the decimals; 1e3 is 1000. The last of points and commas is the decimal
	// one if there is no other like it: 1.234,50 is 1234.5 and 1.234 is 1.234, but 1,234
	// is 1234.
	NumberValue

	// DateValue: the day as 2014-05-06, from 2014-5-6, 20140506, 2014/05/06, 2014年5月6日,
	// 6.5.2014, 6 May 2014, May 6th, 2014; a time of day behind it is left out. Where
	// day and month could change places, the day comes first: 6/5/2014 is in May.
	DateValue

	// MonthFirstValue is DateValue with the month first where they could change places.
	MonthFirstValue

	// PhoneValue: the digits, up to an extension. If the field has a country code, that is
	// left out, and so is the zero before the area; numbers of other countries begin
	// with +, as all with + or 00 do if the field has no country code.
	PhoneValue
)

// of returns a value in the form.
func (v ValueForm) of(value, country string) string { return values.Form(v).Of(value, country) }
