package values

import (
	"strings"
)

// This file reads and writes telephone numbers.

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
		case r >= '0' && r <= '9':
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
			return rest != "" && countDigits(rest) == len(rest)
		}
	}
	return false
}
