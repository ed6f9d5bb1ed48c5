package clean

import (
	"strings"

	"github.com/neardup/neardup/internal/lex"
)

// dateAt returns the length of the date or the time of day that starts at line[i],
// or 0: numbers of a plausible size with the separators of dates between them, or
// English names of months. What is no word of its own, such as 00:11:22:33 or v1.2.99,
// is none. May, mar and march need a capital or a year.
func dateAt(line []byte, i int) int {
	b := line[i:min(len(line), i+maxDate)]
	if i > 0 && lex.IsDigit(b[0]) && strings.IndexByte(":.,/-_", line[i-1]) >= 0 && (i < 2 || lex.IsAlnum(line[i-2]) || line[i-2] == ':') {
		return 0
	}
	for n, form := range dateForms {
		if n > 0 && lex.IsAlpha(b[0]) {
			break
		}
		p := dateParser{b: b}
		if !form(&p) {
			continue
		}
		if p.timeBehind(n == len(dateForms)-1); !p.end() || p.i == maxDate || p.i+1 < len(b) && b[p.i] == ':' && lex.IsAlnum(b[p.i+1]) {
			continue
		}
		return p.i
	}
	return 0
}

// maxDate is the longest date with a time, in bytes.
const maxDate = 64

var dateForms = [...]func(*dateParser) bool{
	(*dateParser).monthFirst, (*dateParser).yearFirst, (*dateParser).yearLast, (*dateParser).dayMonth, (*dateParser).monthDayHan, (*dateParser).time,
}

// A dateParser stands somewhere in a text and moves on if it finds what it is
// asked for.
type dateParser struct {
	b []byte
	i int
}

// end reports whether no number or word goes on here.
func (p *dateParser) end() bool { return !lex.IsAlnum(p.b[p.i-1]) || wordEnds(p.b, p.i) }

func (p *dateParser) is(s string) bool {
	if len(p.b)-p.i < len(s) || string(p.b[p.i:p.i+len(s)]) != s {
		return false
	}
	p.i += len(s)
	return true
}

func (p *dateParser) spaces() bool {
	from := p.i
	for p.i < len(p.b) && p.b[p.i] == ' ' {
		p.i++
	}
	return p.i > from
}

// number finds a number from low to high with shortest to longest digits.
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

// one finds one of some texts.
func (p *dateParser) one(of ...string) bool {
	for _, s := range of {
		if p.is(s) {
			return true
		}
	}
	return false
}

// ordinal finds the letters after the number of a day.
func (p *dateParser) ordinal() bool {
	return p.one("st", "nd", "rd", "th", "ST", "ND", "RD", "TH")
}

var Months = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// month finds the English name of a month or the first three letters of it, or sept,
// with or without a point. A verb is a month that may as well be something else.
func (p *dateParser) month() (ok, verb bool) {
	n := 0
	for p.i+n < len(p.b) && n < 10 && lex.IsAlpha(p.b[p.i+n]) {
		n++
	}
	if n < 3 || n > 9 {
		return false, false
	}
next:
	for i, m := range Months {
		if n != len(m) && n != 3 && !(n == 4 && i == 8) {
			continue
		}
		word := p.b[p.i : p.i+n]
		for j, c := range word {
			if c|0x20 != m[j] {
				continue next
			}
		}
		p.i += n
		if n < len(m) {
			p.is(".")
		}
		return true, (i == 2 || i == 4) && word[0] >= 'a'
	}
	return false, false
}

// year finds the number of a year.
func (p *dateParser) year() bool { return p.number(1000, 2999, 4, 4) }

// monthFirst finds November 21, 2026, Nov 21 and Nov 2026.
func (p *dateParser) monthFirst() bool {
	ok, verb := p.month()
	if !ok || !p.spaces() && !p.is("-") {
		return false
	}
	q := *p
	if !q.number(1, 31, 1, 2) || q.is(":") {
		return p.year()
	}
	*p = q
	if q.ordinal(); q.end() {
		*p = q
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
	*p = q
	q.spaces()
	if q.number(1, 31, 1, 2) {
		if q.spaces(); q.one("日", "号", "號") {
			*p = q
		}
	}
	return true
}

// yearLast finds 21.11.2026, 21/11/2026, 11/21/2026 and 21-11-2026.
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
			ok, _ := p.month()
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

// time finds 08:52, 08:52:07.5, 8:52 pm, 8时52分 and 8点52分07秒.
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

// timeBehind finds a time of day behind a date, and a zone behind a time.
func (p *dateParser) timeBehind(isTime bool) {
	q := *p
	q.one("T", ":", ",")
	q.spaces()
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

// zone finds Z, +08:00 and +0800.
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
