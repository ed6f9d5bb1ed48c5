package values

import (
	"strings"
	"unicode/utf8"
)

// This file reads and writes numbers.

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
	if i+1 == len(s) || countDigits(e) != len(e) || len(e) > 2 || s[len(s)-1]-'0' > 9 {
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
		n := countDigits(s)
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
