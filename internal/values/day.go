package values

import "strings"

// This file reads and writes days.

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
		size := countDigits(rest)
		numeric := size > 0
		if !numeric {
			size = countLetters(rest)
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
	case len(a) == 4 && countDigits(a) > 0: // 2014-05-06
		return a, b, c, true
	case len(c) != 4 || countDigits(c) == 0: // 6/5/14 could be anything
		return "", "", "", false
	case countLetters(a) > 0: // May 6 2014
		return c, a, b, true
	case countLetters(b) > 0: // 6 May 2014
		return c, b, a, true
	case (monthFirst || smallNumber(b) > 12) && smallNumber(a) <= 12: // 5/16/2014
		return c, a, b, true
	default: // 6.5.2014
		return c, b, a, true
	}
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
	hour := countDigits(s)
	if hour < 1 || hour > 2 || smallNumber(s[:hour]) > 24 {
		return false
	}
	s = s[hour:]
	for _, mark := range []string{":", "时", "時", "点", "點"} {
		if rest, ok := strings.CutPrefix(s, mark); ok && (countDigits(rest) == 2 && rest[0] < '6' || mark != ":" && rest == "") {
			// Minutes, seconds, and a zone: no letters but those of am, pm, UTC, GMT and the like.
			return strings.TrimLeft(rest, "0123456789:.+- apmzutcgs分秒") == ""
		}
	}
	return false
}

// smallNumber returns the value of a string of one to four digits, or −1 if s is not such a string.
func smallNumber(s string) (n int) {
	if len(s) == 0 || len(s) > 4 || countDigits(s) != len(s) {
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
