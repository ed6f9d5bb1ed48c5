package values

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/lex"
)

// A Form is how a value is written before it is compared. What is no number, date or telephone
// number is a text to all of them, so nothing is lost.
type Form uint8

const (
	Text Form = iota
	Exact
	Number
	Date
	MonthFirst
	Phone
)

// TextForm is how asText writes texts, and plainForm how the others do what is none of
// theirs: there, 10² is not 102.
var (
	TextForm  = clean.Steps{Form: clean.NFKC, Fold: true, Space: true}
	plainForm = clean.Steps{Form: clean.Width, Fold: true, Space: true}
)

// maxValue is the longest number, date or telephone number in bytes.
const maxValue = 100

// Of returns a value in the form.
func (v Form) Of(value, country string) string {
	if v == Exact {
		return value
	}
	if !IsPlain(value) {
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

// IsPlain reports whether a value is as textForm writes it, as most are: ASCII without
// capitals, or Chinese, with single spaces inside.
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

// CountDigits returns the number of decimal digits that s begins with.
func CountDigits(s string) (n int) {
	for n < len(s) && lex.IsDigit(s[n]) {
		n++
	}
	return n
}

// writeNumber returns a number as asNumber has it.
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

// cutExponent cuts the power of ten off a number in lower case.
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

// splitNumber returns the digits before and behind the decimal point, or comma.
func splitNumber(s string) (whole, decimals string, ok bool) {
	var groups []string // of digits
	seps := ""          // between them
	for {
		n := CountDigits(s)
		groups = append(groups, s[:n])
		if s = s[n:]; s == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch r {
		case '.', ',', ' ', '\'', '_':
		case '’':
			r = '\''
		default:
			return "", "", false
		}
		seps += string(r)
		s = s[size:]
	}
	last := len(seps) - 1
	point := last >= 0 && (seps[last] == '.' || seps[last] == ',') && strings.Count(seps, seps[last:]) == 1
	if point && last == 0 && seps[0] == ',' && len(groups[1]) == 3 && len(groups[0]) > 0 && len(groups[0]) <= 3 && groups[0][0] != '0' {
		point = false // 1,234
	}
	if point {
		decimals = groups[last+1]
		groups, seps = groups[:last+1], seps[:last]
	}
	for i, g := range groups {
		if i > 0 && len(g) != 3 || seps != "" && i == 0 && (len(g) == 0 || len(g) > 3) || i > 0 && seps[i-1] != seps[0] {
			return "", "", false
		}
		whole += g
	}
	return whole, decimals, whole+decimals != ""
}

// writeDay returns a date as asDate has it.
func writeDay(s string, monthFirst bool) (string, bool) {
	// The runs of digits and of letters: three of them are the date.
	var runs [3]string
	n, rest := 0, s
	for n < 3 {
		rest = strings.TrimLeft(rest, " -/.,年月")
		size := CountDigits(rest)
		if size == 0 {
			for size < len(rest) && lex.IsAlpha(rest[size]) {
				size++
			}
		}
		if size == 0 {
			break
		}
		if runs[n] = rest[:size]; n == 0 && size == 8 && lex.IsDigit(rest[0]) { // 20140506
			runs = [3]string{rest[:4], rest[4:6], rest[6:8]}
			n = 2
		}
		n++
		rest = rest[size:]
		for _, ending := range []string{"st", "nd", "rd", "th"} {
			if lex.IsDigit(runs[n-1][0]) && strings.HasPrefix(rest, ending) {
				rest = rest[2:]
			}
		}
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "日"), "号")
	if n < 3 || !isTimeOfDay(rest) {
		return "", false
	}
	a, b, c := runs[0], runs[1], runs[2]
	var year, month, day string
	switch {
	case len(a) == 4 && lex.IsDigit(a[0]):
		year, month, day = a, b, c
	case len(c) != 4 || !lex.IsDigit(c[0]):
		return "", false
	case lex.IsAlpha(a[0]):
		year, month, day = c, a, b
	case lex.IsAlpha(b[0]):
		year, month, day = c, b, a
	case (monthFirst || smallNumber(b) > 12) && smallNumber(a) <= 12:
		year, month, day = c, a, b
	default:
		year, month, day = c, b, a
	}
	m := smallNumber(month)
	if lex.IsAlpha(month[0]) {
		if month == "sept" {
			month = "sep"
		}
		m = 1 + slices.IndexFunc(clean.Months[:], func(name string) bool { return name == month || name[:3] == month })
	}
	d, y := smallNumber(day), smallNumber(year)
	if len(day) > 2 || lex.IsDigit(month[0]) && len(month) > 2 {
		return "", false
	}
	if m < 1 || m > 12 || d < 1 || d > daysOf(y, m) || y < 1 {
		return "", false
	}
	two := func(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	return year + "-" + two(m) + "-" + two(d), true
}

// isTimeOfDay reports whether s, which stands behind a date, is nothing or a time of day:
// 13:45, 13:45:00.5, 1:45 pm, 13时45分, with a zone or without.
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
			// What follows is minutes, seconds, a zone: no letters but those of zones.
			return strings.TrimLeft(rest, "0123456789:.+- apmzutcgs分秒") == ""
		}
	}
	return false
}

// smallNumber returns the number that up to two or four digits are, or −1.
func smallNumber(s string) (n int) {
	if len(s) == 0 || len(s) > 4 || CountDigits(s) != len(s) {
		return -1
	}
	for _, c := range []byte(s) {
		n = 10*n + int(c-'0')
	}
	return n
}

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

// writePhone returns a telephone number as asPhone has it.
func writePhone(s, country string) (string, bool) {
	s = strings.Replace(s, "(0)", "", 1) // +49 (0)30
	digits := make([]byte, 0, len(s))
	international := false
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && lex.IsDigit(byte(r)):
			digits = append(digits, byte(r))
			continue
		case r == '+' && len(digits) == 0:
			international = true
			continue
		case strings.ContainsRune("-‐‑–()/. ", r):
			continue
		}
		if !isExtension(s[i:]) {
			return "", false
		}
		break
	}
	s = string(digits)
	if !international && strings.HasPrefix(s, "00") {
		international, s = true, s[2:]
	}
	if rest, ok := strings.CutPrefix(s, "011"); ok && country == "1" && !international {
		international, s = true, rest
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

// isExtension reports whether s is an extension of a telephone number.
func isExtension(s string) bool {
	for _, mark := range []string{"extension", "ext", "x", "转", "轉", "#", "durchwahl"} {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			rest = strings.TrimLeft(rest, ".: ")
			return rest != "" && CountDigits(rest) == len(rest)
		}
	}
	return false
}
