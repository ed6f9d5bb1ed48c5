package clean

import (
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// This file finds dates and times of day in a line, to mask or remove them. It is a small
// recursive-descent parser without a separate lexer. Each form of a date is a method that reads
// numbers, names and separators in order. The methods move p.i forward only over what they accept,
// but a form that fails may leave p.i in the middle. So callers try a form on a copy of the parser,
// which is cheap, and keep the copy if it succeeds:
//
//	q := *p
//	if q.spaces() && q.year() && q.end() {
//		*p = q
//	}
//
// Dates are found by their look. A month is from 1 to 12 and a day from 1 to 31, but February 31 is
// a date too, since all that matters is to find what a writer meant as a date.

// dateAt returns the length of the date or the time of day that starts at line[i], or 0. line[i]
// must be a letter or a digit at the beginning of a word.
//
// A date is a few numbers of a plausible size with the separators of dates between them, or has the
// English name of a month. It must be a word of its own: 00:11:22:33 and v1.2.99 contain none.
// "may", "mar" and "march" in small letters are a month only if a year follows, because they are
// also words.
func dateAt(line []byte, i int) int {
	b := line[i:min(len(line), i+maxDate)]
	// A number behind a separator is the tail of something longer, unless there is a space or the
	// like before the separator.
	if i > 0 && lex.IsDigit(b[0]) && strings.IndexByte(":.,/-_", line[i-1]) >= 0 && (i < 2 || lex.IsAlnum(line[i-2]) || line[i-2] == ':') {
		return 0
	}
	if !mayBeDate(b) {
		return 0
	}
	return firstDate(b)
}

// firstDate returns the length of the first form of a date that stands at the beginning of b as a
// whole word, or 0.
func firstDate(b []byte) int {
	for form := monthFirst; form <= timeOfDay; form++ {
		if form != monthFirst && lex.IsAlpha(b[0]) { // only the first form begins with a letter
			break
		}
		p := dateParser{b: b}
		if !p.form(form) {
			continue
		}
		// Refuse what goes on: with a letter or digit, with a colon as in 00:11:22:33, or perhaps
		// beyond the bytes that were looked at.
		if p.timeBehind(form == timeOfDay); !p.end() || p.i == maxDate || p.i+1 < len(b) && b[p.i] == ':' && lex.IsAlnum(b[p.i+1]) {
			continue
		}
		return p.i
	}
	return 0
}

// mayBeDate reports whether a date may stand at the beginning of b, by its first few bytes. Most
// numbers are none, and are dealt with here: in a table of numbers nothing else would take longer.
func mayBeDate(b []byte) bool {
	if !lex.IsDigit(b[0]) {
		return true
	}
	n := 1
	for n < len(b) && n < 5 && lex.IsDigit(b[n]) {
		n++
	}
	if n == 3 || n == 5 || n == len(b) { // a year has four digits; a day, a month or an hour one or two
		return false
	}
	c := b[n]
	switch {
	case c == ' ', c >= utf8.RuneSelf:
		return true
	case n == 4:
		return isDateSeparator(c)
	case isDateSeparator(c): // more of a date must follow at once
		return n+1 < len(b) && lex.IsAlnum(b[n+1])
	}
	return c == ':' || lex.IsAlpha(c) // 21st
}

// isDateSeparator reports whether c may stand between the numbers of a date. It is small enough to
// be inlined.
func isDateSeparator(c byte) bool { return c == '-' || c == '/' || c == '.' }

// maxDate is the number of bytes in which a date with a time must end, so that the parser looks at
// a bounded number of bytes.
const maxDate = 64

// The forms are tried in this order; the first that matches as a whole word counts. The form that
// begins with a letter must be the first, and the time of day must be the last.
const (
	monthFirst = iota
	yearFirst
	yearLast
	dayMonth
	monthDayHan
	timeOfDay
)

// form calls the method of a form. It does so by name, and not through a table of functions, so that
// a parser stays on the stack.
func (p *dateParser) form(form int) bool {
	switch form {
	case monthFirst:
		return p.monthFirst()
	case yearFirst:
		return p.yearFirst()
	case yearLast:
		return p.yearLast()
	case dayMonth:
		return p.dayMonth()
	case monthDayHan:
		return p.monthDayHan()
	default:
		return p.time()
	}
}

// A dateParser is a position in a text. Its methods report whether they find what they are named
// after at the position, and move the position behind it if they do.
type dateParser struct {
	b []byte
	i int
}

// end reports whether no number or word goes on at p.i. At least one byte must have been read.
func (p *dateParser) end() bool { return !lex.IsAlnum(p.b[p.i-1]) || wordEnds(p.b, p.i) }

// is finds s.
func (p *dateParser) is(s string) bool {
	if len(p.b)-p.i < len(s) || string(p.b[p.i:p.i+len(s)]) != s {
		return false
	}
	p.i += len(s)
	return true
}

// spaces finds one or more spaces. Callers for which spaces are optional ignore the result.
func (p *dateParser) spaces() bool {
	from := p.i
	for p.i < len(p.b) && p.b[p.i] == ' ' {
		p.i++
	}
	return p.i > from
}

// number finds a number from low to high that has shortest to longest digits. It fails if more
// digits follow, so 20261 is not a year.
func (p *dateParser) number(low, high, shortest, longest int) bool {
	n, x := 0, 0
	for p.i+n < len(p.b) && lex.IsDigit(p.b[p.i+n]) {
		if n == longest {
			return false
		}
		x = 10*x + int(p.b[p.i+n]-'0')
		n++
	}
	if n < shortest || x < low || x > high {
		return false
	}
	p.i += n
	return true
}

// one finds the first of the given texts that matches.
func (p *dateParser) one(of ...string) bool {
	for _, s := range of {
		if p.is(s) {
			return true
		}
	}
	return false
}

// ordinal finds the letters of an ordinal number, as in 21st.
func (p *dateParser) ordinal() bool {
	return p.one("st", "nd", "rd", "th", "ST", "ND", "RD", "TH")
}

// Months are the English names of the months in lower case, January first.
var Months = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// month finds the English name of a month, or its first three letters, or sept, in any case. A
// short form may end with a point. verb says that it may as well be an ordinary word: may, mar or
// march in small letters.
func (p *dateParser) month() (ok, verb bool) {
	n := 0
	for p.i+n < len(p.b) && n < 10 && lex.IsAlpha(p.b[p.i+n]) {
		n++
	}
	if n < 3 || n > 9 {
		return false, false
	}
	word := p.b[p.i : p.i+n]
	m := monthNamed(word)
	if m < 0 {
		return false, false
	}
	p.i += n
	if n < len(Months[m]) {
		p.is(".")
	}
	return true, (m == 2 || m == 4) && word[0] >= 'a'
}

// monthNamed returns the index in Months of the month whose name or short form word is, or −1. word
// must consist of three to nine ASCII letters, in any case.
func monthNamed(word []byte) int {
	n := len(word)
next:
	for i, m := range Months {
		if n != len(m) && n != 3 && !(n == 4 && i == 8) {
			continue
		}
		for j, c := range word {
			if c|0x20 != m[j] { // all of word are letters, so this ignores their case
				continue next
			}
		}
		return i
	}
	return -1
}

// year finds a year from 1000 to 2999.
func (p *dateParser) year() bool { return p.number(1000, 2999, 4, 4) }

// monthFirst finds November 21, 2026, Nov 21 and Nov 2026.
func (p *dateParser) monthFirst() bool {
	ok, verb := p.month()
	if !ok || !p.spaces() && !p.is("-") {
		return false
	}
	q := *p
	if !q.number(1, 31, 1, 2) || q.is(":") {
		// Nov 2026. A number before a colon is an hour, not a day.
		return p.year()
	}
	*p = q
	if q.ordinal(); q.end() {
		*p = q // Nov 21, which counts if no year follows
	}
	q.one(",", "-")
	q.spaces()
	if q.year() && q.end() {
		*p = q
		return true
	}
	return !verb
}

// yearFirst finds 2026-11-21, 2026/11/21, 2026.11.21, 2026年11月21日 and 2026年11月.
func (p *dateParser) yearFirst() bool {
	if !p.year() {
		return false
	}
	for _, sep := range []string{"-", "/", "."} {
		if p.is(sep) {
			return p.number(1, 12, 1, 2) && p.is(sep) && p.number(1, 31, 1, 2)
		}
	}
	// In Chinese, the month and the day may follow. Spaces may stand on both sides of a character.
	if p.spaces(); !p.is("年") {
		return false
	}
	q := *p
	if q.spaces(); q.monthDayHan() {
		*p = q
	}
	return true
}

// monthDayHan finds 11月21日 and 11月.
func (p *dateParser) monthDayHan() bool {
	q := *p
	if !q.number(1, 12, 1, 2) {
		return false
	}
	if q.spaces(); !q.is("月") {
		return false
	}
	*p = q // the month counts without a day
	q.spaces()
	if q.number(1, 31, 1, 2) {
		if q.spaces(); q.one("日", "号", "號") {
			*p = q
		}
	}
	return true
}

// yearLast finds 21.11.2026, 21/11/2026, 11/21/2026 and 21-11-2026. Day and month may come in
// either order, so both may be up to 31. The two separators must be the same.
func (p *dateParser) yearLast() bool {
	if !p.number(1, 31, 1, 2) {
		return false
	}
	for _, sep := range []string{".", "/", "-"} {
		if p.is(sep) {
			return p.number(1, 31, 1, 2) && p.is(sep) && p.year()
		}
	}
	return false
}

// dayMonth finds 21 November 2026, 21st Nov and 21-Nov-2026.
func (p *dateParser) dayMonth() bool {
	if !p.number(1, 31, 1, 2) {
		return false
	}
	p.ordinal()
	for _, sep := range []string{"-", "/"} {
		if p.is(sep) {
			ok, _ := p.month() // with separators and a year it is no ordinary word
			return ok && p.is(sep) && p.year()
		}
	}
	if !p.spaces() {
		return false
	}
	ok, verb := p.month()
	if !ok || !p.end() {
		return false
	}
	q := *p
	q.is(",")
	if q.spaces() && q.year() && q.end() {
		*p = q
		return true
	}
	return !verb
}

// time finds 08:52, 08:52:07.5, 8:52 pm, 8时52分 and 8点52分07秒. Midnight may be 24:00, and a minute
// may have a leap second. Minutes and seconds behind a colon need two digits, so 1:1 is a ratio or
// a score. In Chinese the hour alone is a time.
func (p *dateParser) time() bool {
	if !p.number(0, 24, 1, 2) {
		return false
	}
	q := *p
	q.spaces()
	if q.one("时", "點", "点", "時") {
		*p = q
		if q.spaces(); q.number(0, 59, 1, 2) && q.is("分") {
			*p = q
			if q.spaces(); q.number(0, 60, 1, 2) && q.is("秒") {
				*p = q
			}
		}
		return true
	}
	if !p.is(":") || !p.number(0, 59, 2, 2) {
		return false
	}
	q = *p
	if q.is(":") && q.number(0, 60, 2, 2) {
		*p = q
		if q.one(".", ",") && q.number(0, 999999999, 1, 9) {
			*p = q
		}
	}
	q = *p
	q.spaces()
	if q.one("am", "pm", "AM", "PM", "a.m.", "p.m.") && q.end() {
		*p = q
	}
	return true
}

// timeBehind moves over a time of day behind a date, or over a time zone if isTime says that a time
// was found. Both are optional. 21/Nov/2026:08:52:07 +0800 (as in logs of web servers) and
// 2026-11-21T08:52Z are found as a whole.
func (p *dateParser) timeBehind(isTime bool) {
	q := *p
	q.one("T", ":", ",")
	q.spaces()
	// Without a comma, a space or the like, a time follows only what does not end with a digit or a
	// letter, such as 日.
	if !isTime && (q.i > p.i || !lex.IsAlnum(p.b[p.i-1])) && q.time() {
		if q.zone(); q.end() {
			*p = q
		}
		return
	}
	q = *p
	if q.zone(); isTime && q.end() {
		*p = q
	}
}

// zone moves over a time zone, if there is one: Z, +08:00 or +0800.
func (p *dateParser) zone() {
	if p.is("Z") {
		return
	}
	q := *p
	q.spaces()
	if q.one("+", "-") && (q.number(0, 1400, 4, 4) || q.number(0, 14, 2, 2) && q.is(":") && q.number(0, 59, 2, 2)) {
		*p = q
	}
}
