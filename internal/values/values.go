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

// CountDigits returns the number of ASCII digits that s begins with.
func CountDigits(s string) (n int) {
	for n < len(s) && lex.IsDigit(s[n]) {
		n++
	}
	return n
}

// writeNumber returns s in the form Number, and false if s is not a number. It works on digits and
// not on floats, so no digit is lost however many there are. −0 is 0.
func writeNumber(s string) (string, bool) {
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = "-", s[1:]
	case strings.HasPrefix(s, "−"):
		sign, s = "-", s[len("−"):]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	s, shift, ok := cutExponent(s)
	if !ok {
		return "", false
	}
	whole, decimals, ok := splitNumber(s)
	if !ok {
		return "", false
	}
	// Move the decimal point by the power of ten, at most 99 places.
	for ; shift > 0; shift-- {
		if decimals == "" {
			decimals = "0"
		}
		whole, decimals = whole+decimals[:1], decimals[1:]
	}
	for ; shift < 0; shift++ {
		if whole == "" {
			whole = "0"
		}
		whole, decimals = whole[:len(whole)-1], whole[len(whole)-1:]+decimals
	}
	whole = strings.TrimLeft(whole, "0")
	decimals = strings.TrimRight(decimals, "0")
	if whole == "" {
		whole = "0"
	}
	if decimals != "" {
		return sign + whole + "." + decimals, true
	}
	if whole == "0" {
		sign = ""
	}
	return sign + whole, true
}

// cutExponent cuts the exponent off a number such as 1.5e-3, and returns it as shift. s is in lower
// case. It reports false for an exponent that is not a number of at most two digits after leading
// zeros; 1e100 is a text, so the result of writeNumber cannot become arbitrarily long.
func cutExponent(s string) (mantissa string, shift int, ok bool) {
	i := strings.IndexByte(s, 'e')
	if i < 0 {
		return s, 0, true
	}
	mantissa, e := s[:i], s[i+1:]
	minus := strings.HasPrefix(e, "-")
	if minus || strings.HasPrefix(e, "+") {
		e = e[1:]
	}
	e = strings.TrimLeft(e, "0")
	if i+1 == len(s) || CountDigits(e) != len(e) || len(e) > 2 || !lex.IsDigit(s[len(s)-1]) {
		return "", 0, false
	}
	for _, c := range []byte(e) {
		shift = 10*shift + int(c-'0')
	}
	if minus {
		shift = -shift
	}
	return mantissa, shift, true
}

// splitNumber returns the digits before and after the decimal separator. It reports false if s is
// not a number without sign and exponent.
//
// The last separator is the decimal one if it is a point or a comma, and no other separator is the
// same: 1.234,50 is 1234.5, 1,234,567 is a whole number, and 1.234 is a fraction. There is one
// exception: 1,234 is a whole number, because a comma before three digits is taken for a thousands
// separator. A comma after zero is a decimal one even so: 0,123.
//
// All other separators must be thousands separators: the same character each time, after one to
// three digits, and then three digits in each group.
func splitNumber(s string) (whole, decimals string, ok bool) {
	groups, seps, ok := digitGroups(s)
	if !ok {
		return "", "", false
	}
	if last := len(seps) - 1; hasDecimals(groups, seps) {
		decimals = groups[last+1]
		groups, seps = groups[:last+1], seps[:last]
	}
	if !areThousands(groups, seps) {
		return "", "", false
	}
	whole = strings.Join(groups, "")
	return whole, decimals, whole+decimals != ""
}

// digitGroups cuts s into runs of digits, some perhaps empty, and the separators of numbers between
// them: seps[i] is the one between groups i and i+1. It reports false if s has any other character.
func digitGroups(s string) (groups []string, seps string, ok bool) {
	for {
		n := CountDigits(s)
		groups = append(groups, s[:n])
		if s = s[n:]; s == "" {
			return groups, seps, true
		}
		r, size := utf8.DecodeRuneInString(s)
		switch r {
		case '.', ',', ' ', '\'', '_':
		case '’':
			r = '\'' // seps has one byte for each separator
		default:
			return nil, "", false
		}
		seps += string(r)
		s = s[size:]
	}
}

// hasDecimals reports whether the last separator is the decimal one, by the rules of splitNumber.
// It looks at the other groups and separators only as far as needed to decide that.
func hasDecimals(groups []string, seps string) bool {
	last := len(seps) - 1
	if last < 0 || seps[last] != '.' && seps[last] != ',' || strings.Count(seps, seps[last:]) > 1 {
		return false
	}
	if last > 0 || seps[0] == '.' || len(groups[1]) != 3 {
		return true
	}
	first := groups[0]
	return first == "" || len(first) > 3 || first[0] == '0' // 0,123, but not 1,234
}

// areThousands reports whether groups make a whole number in which all of seps are thousands
// separators. A number without separators may have any number of digits, even none.
func areThousands(groups []string, seps string) bool {
	if seps == "" {
		return true
	}
	if first := groups[0]; first == "" || len(first) > 3 {
		return false
	}
	for i, g := range groups[1:] {
		if len(g) != 3 || seps[i] != seps[0] {
			return false
		}
	}
	return true
}

// writeDay returns s in the form Date or, if monthFirst is set, MonthFirst. It reports false if s
// is not a day that exists, optionally followed by a time of day.
//
// A date is three runs of digits or letters with separators between them. Which one is the year
// follows from four digits, which one is the month from letters or from a number above 12 beside
// it. Only if day and month could still change places, monthFirst decides.
func writeDay(s string, monthFirst bool) (string, bool) {
	runs, rest, ok := cutDay(s)
	if !ok || !isTimeOfDay(rest) {
		return "", false
	}
	year, month, day, ok := orderDay(runs, monthFirst)
	if !ok {
		return "", false
	}
	y, m, d := smallNumber(year), monthNumber(month), smallNumber(day)
	if y < 1 || m < 1 || m > 12 || d < 1 || d > daysOf(y, m) || len(day) > 2 {
		return "", false
	}
	two := func(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	return year + "-" + two(m) + "-" + two(d), true
}

// cutDay cuts the beginning of s into three runs, each of digits only or of letters only, and
// returns what follows them. Eight digits at the beginning are all three runs: 20140506. It reports
// false if there are fewer than three.
func cutDay(s string) (runs [3]string, rest string, ok bool) {
	rest = s
	for n := 0; n < len(runs); n++ {
		rest = strings.TrimLeft(rest, " -/.,年月")
		size := CountDigits(rest)
		numeric := size > 0
		for !numeric && size < len(rest) && lex.IsAlpha(rest[size]) {
			size++
		}
		if size == 0 {
			return runs, "", false
		}
		if n == 0 && size == 8 && numeric {
			runs = [3]string{rest[:4], rest[4:6], rest[6:8]}
			n = 2
		} else {
			runs[n] = rest[:size]
		}
		rest = rest[size:]
		if numeric {
			for _, ending := range []string{"st", "nd", "rd", "th"} {
				rest = strings.TrimPrefix(rest, ending)
			}
		}
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "日"), "号")
	return runs, rest, true
}

// orderDay says which of the three runs of a date is the year, the month and the day, by the rules
// of writeDay. It reports false if none of them can be the year. It does not check that the day
// exists.
func orderDay(runs [3]string, monthFirst bool) (year, month, day string, ok bool) {
	a, b, c := runs[0], runs[1], runs[2]
	switch {
	case len(a) == 4 && lex.IsDigit(a[0]): // 2014-05-06
		return a, b, c, true
	case len(c) != 4 || !lex.IsDigit(c[0]): // 6/5/14 could be anything
		return "", "", "", false
	case lex.IsAlpha(a[0]): // May 6 2014
		return c, a, b, true
	case lex.IsAlpha(b[0]): // 6 May 2014
		return c, b, a, true
	case (monthFirst || smallNumber(b) > 12) && smallNumber(a) <= 12: // 5/16/2014
		return c, a, b, true
	default: // 6.5.2014
		return c, b, a, true
	}
}

// monthNumber returns the number of a month that is written as at most two digits, as its English
// name, or as the first letters of that. For anything else it returns a number that no month has.
// month must not be empty.
func monthNumber(month string) int {
	if lex.IsDigit(month[0]) {
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

// isTimeOfDay reports whether s, the text after a date, is empty or looks like a time of day:
// 13:45, 13:45:00.5, 1:45 pm, 13时45分, with a time zone or without. It checks the hours and the
// first digit of the minutes; what follows only needs to consist of the characters of times. That
// is enough, because the time is left out of the value.
func isTimeOfDay(s string) bool {
	s = strings.TrimPrefix(s, ".")
	if s == "" || s == "z" {
		return true
	}
	if s[0] == 't' {
		s = s[1:]
	}
	s = strings.TrimLeft(s, " ")
	hour := CountDigits(s)
	if hour < 1 || hour > 2 || smallNumber(s[:hour]) > 24 {
		return false
	}
	s = s[hour:]
	for _, mark := range []string{":", "时", "時", "点", "點"} {
		if rest, ok := strings.CutPrefix(s, mark); ok && (CountDigits(rest) == 2 && rest[0] < '6' || mark != ":" && rest == "") {
			// Minutes, seconds, and a zone: no letters but those of am, pm, UTC, GMT and the like.
			return strings.TrimLeft(rest, "0123456789:.+- apmzutcgs分秒") == ""
		}
	}
	return false
}

// smallNumber returns the value of a string of one to four digits, or −1 if s is not such a string.
func smallNumber(s string) (n int) {
	if len(s) == 0 || len(s) > 4 || CountDigits(s) != len(s) {
		return -1
	}
	for _, c := range []byte(s) {
		n = 10*n + int(c-'0')
	}
	return n
}

// daysOf returns the number of days of a month, 1 to 12, in the Gregorian calendar.
func daysOf(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// writePhone returns s in the form Phone, and false if s is not a telephone number of at least five
// digits. country is the country calling code of numbers that have none, or empty.
//
// With a country, a number of that country is written without the code and without the zero before
// the area code (or the 1, in North America), and any other number with + and its code. Without a
// country, a number that begins with + or 00 is written with +, and any other number as it stands.
// An extension is left out.
func writePhone(s, country string) (string, bool) {
	s = strings.Replace(s, "(0)", "", 1) // +49 (0)30
	s, international, ok := phoneDigits(s)
	if !ok {
		return "", false
	}
	if !international {
		s, international = cutCallPrefix(s, country)
	}
	switch {
	case len(s) < 5:
		return "", false
	case !international && country == "1" && len(s) == 11:
		s = strings.TrimPrefix(s, "1")
	case !international && country != "":
		s = strings.TrimPrefix(s, "0")
	case international && country != "" && strings.HasPrefix(s, country):
		s = strings.TrimPrefix(s[len(country):], "0")
	case international:
		s = "+" + s
	}
	return s, true
}

// phoneDigits returns the digits of a telephone number without its extension, and whether a +
// stands before them. It reports false if s has anything but digits, the usual punctuation and an
// extension.
func phoneDigits(s string) (_ string, plus, ok bool) {
	digits := make([]byte, 0, len(s))
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && lex.IsDigit(byte(r)):
			digits = append(digits, byte(r))
		case r == '+' && len(digits) == 0:
			plus = true
		case strings.ContainsRune("-‐‑–()/. ", r):
		case isExtension(s[i:]): // it goes up to the end
			return string(digits), plus, true
		default:
			return "", false, false
		}
	}
	return string(digits), plus, true
}

// cutCallPrefix cuts off the prefix that is dialled for international calls: 00, or 011 in North
// America. It reports whether there was one, so that the country code comes next.
func cutCallPrefix(digits, country string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(digits, "00"); found {
		return rest, true
	}
	if rest, found = strings.CutPrefix(digits, "011"); found && country == "1" {
		return rest, true
	}
	return digits, false
}

// isExtension reports whether s is an extension of a telephone number, such as "ext. 12": a word
// for it in English, Chinese or German, or a usual sign, and then digits up to the end of s.
func isExtension(s string) bool {
	for _, mark := range []string{"extension", "ext", "x", "转", "轉", "#", "durchwahl"} {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			rest = strings.TrimLeft(rest, ".: ")
			return rest != "" && CountDigits(rest) == len(rest)
		}
	}
	return false
}
