// Package values writes the values of records (numbers, dates, telephone numbers, short texts) in
// one canonical form each, so that values that mean the same compare equal as strings: 1,234.50 and
// 1234.5, 6 May 2014 and 2014-05-06, +49 (0)30 1234 and 0049 30 1234.
//
// Nothing is lost: a value that is not what its form says is kept as a text, with only case, width
// and white space unified. A value of more than maxValue bytes is a text too, so the string
// operations here work on short strings only.
package values

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/lex"
)

// A Form says what a value is, and so how it is written before it is compared. The zero value is
// Text.
type Form uint8

const (
	Text       Form = iota // NFKC, folded, one space for white space
	Exact                  // byte for byte
	Number                 // as -1234.5: no plus, no thousands separators, no needless zeros
	Date                   // as 2014-05-06, without a time of day; 6/5/2014 is in May
	MonthFirst             // Date, but 6/5/2014 is in June
	Phone                  // digits, with + and the country code if that is a foreign one
)

// TextForm is how Text writes a value. plainForm is how Number, Date, MonthFirst and Phone prepare
// a value before they parse it, and how they write a value that they cannot parse. It keeps
// compatibility characters apart, so that 10² does not become 102. Neither changes while in use.
var (
	TextForm  = clean.Steps{Form: clean.NFKC, Fold: true, Space: true}
	plainForm = clean.Steps{Form: clean.Width, Fold: true, Space: true}
)

// maxValue is the length in bytes up to which a value is parsed. A longer one is a text.
const maxValue = 100

// Of returns value in the form v. country is the country calling code, such as "86", that belongs
// to telephone numbers without one; it may be empty, and only Phone uses it. A value that cannot be
// parsed is returned as a text, folded and trimmed. Applying Of to its own result with an empty
// country changes nothing.
func (v Form) Of(value, country string) string {
	if v == Exact {
		return value
	}
	if !IsPlain(value) { // else the steps would change nothing, and most values are plain
		form := &plainForm
		if v == Text {
			form = &TextForm
		}
		value = strings.TrimSpace(form.Apply(value))
	}
	if v == Text || len(value) > maxValue {
		return value
	}
	written, ok := "", false
	switch v {
	case Number:
		written, ok = writeNumber(value)
	case Date, MonthFirst:
		written, ok = writeDay(value, v == MonthFirst)
	case Phone:
		written, ok = writePhone(value, country)
	}
	if !ok {
		return value
	}
	return written
}

// IsPlain reports whether s is certainly as TextForm writes it: printable ASCII without capitals,
// and Han characters, with single spaces inside and none at the ends. It may report false for a
// value that TextForm would not change, such as an empty one.
func IsPlain(s string) bool {
	space := true // before the first character there must be none
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' && !space:
			space = true
			i++
			continue
		case c > ' ' && c < 0x7F && c-'A' >= 26:
			i++
		case c >= utf8.RuneSelf && lex.IsHan(lex.Bytes(s[i:])):
			i += 3
		default:
			return false
		}
		space = false
	}
	return !space
}

// countDigits returns the number of ASCII digits that s begins with.
func countDigits(s string) (n int) {
	for n < len(s) && lex.IsDigit(s[n]) {
		n++
	}
	return n
}

// countLetters returns the number of ASCII letters that s begins with.
func countLetters(s string) (n int) {
	for n < len(s) && lex.IsAlpha(s[n]) {
		n++
	}
	return n
}

// monthNumber returns the number of a month that is written as at most two digits, as its English
// name, or as the first letters of that. For anything else it returns a number that no month has.
// month must not be empty.
func monthNumber(month string) int {
	if countDigits(month) > 0 {
		if len(month) > 2 {
			return 0
		}
		return smallNumber(month)
	}
	if month == "sept" {
		month = "sep"
	}
	// An unknown name has the index −1, and so the month 0.
	return 1 + slices.IndexFunc(clean.Months[:], func(name string) bool { return name == month || name[:3] == month })
}
