package neardup

// dateAt returns the length of the date or the time of day that starts at line[i],
// or 0: numbers of a plausible size with the separators of dates between them, or
// English names of months.
func dateAt(line []byte, i int) int {
	b := line[i:min(len(line), i+64)]
	forms := dateForms[:]
	if isAlpha(b[0]) {
		forms = dateForms[:1]
	}
	for _, form := range forms {
		if p := (dateParser{b: b}); form(&p) && p.end() {
			return p.i
		}
	}
	return 0
}

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
func (p *dateParser) end() bool { return !isAlnum(p.b[p.i-1]) || wordEnds(p.b, p.i) }

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
	for p.i+n < len(p.b) && isDigit(p.b[p.i+n]) {
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

// ordinal finds the letters after the number of a day.
func (p *dateParser) ordinal() bool { return p.is("st") || p.is("nd") || p.is("rd") || p.is("th") }

var months = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// month finds the English name of a month or the first three or four letters of
// it, with or without a point.
func (p *dateParser) month() bool {
	n := 0
	for p.i+n < len(p.b) && n < 10 && isAlpha(p.b[p.i+n]) {
		n++
	}
	if n < 3 || n > 9 {
		return false
	}
next:
	for _, m := range months {
		if n > len(m) || n > 4 && n < len(m) {
			continue
		}
		for i, c := range p.b[p.i : p.i+n] {
			if c|0x20 != m[i] {
				continue next
			}
		}
		p.i += n
		p.is(".")
		return true
	}
	return false
}

// monthFirst finds November 21, 2026, Nov 21 and Nov 2026.
func (p *dateParser) monthFirst() bool {
	if !p.month() || !p.spaces() {
		return false
	}
	q := *p
	if !q.number(1, 31, 1, 2) || q.is(":") {
		return p.number(1000, 2999, 4, 4)
	}
	*p = q
	if q.ordinal(); q.end() {
		*p = q
	}
	q.is(",")
	if q.spaces() && q.number(1000, 2999, 4, 4) && q.end() {
		*p = q
	}
	return true
}

// yearFirst finds 2026-11-21, 2026/11/21, 2026.11.21, 2026年11月21日 and 2026年11月,
// and a time behind it.
func (p *dateParser) yearFirst() bool {
	if !p.number(1000, 2999, 4, 4) {
		return false
	}
	for _, sep := range []string{"-", "/", "."} {
		if p.is(sep) {
			if !p.number(1, 12, 1, 2) || !p.is(sep) || !p.number(1, 31, 1, 2) {
				return false
			}
			p.timeBehind()
			return true
		}
	}
	if p.spaces(); !p.is("年") {
		return false
	}
	q := *p
	if q.spaces(); q.monthDayHan() {
		*p = q
		p.timeBehind()
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
		if q.spaces(); q.is("日") || q.is("号") || q.is("號") {
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
			if p.number(1, 31, 1, 2) && p.is(sep) && p.number(1000, 2999, 4, 4) {
				p.timeBehind()
				return true
			}
			return false
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
	if p.is("-") {
		return p.month() && p.is("-") && p.number(1000, 2999, 4, 4)
	}
	if !p.spaces() || !p.month() || !p.end() {
		return false
	}
	q := *p
	if q.spaces() && q.number(1000, 2999, 4, 4) && q.end() {
		*p = q
	}
	return true
}

// time finds 08:52 and 08:52:07.5.
func (p *dateParser) time() bool {
	if !p.number(0, 24, 1, 2) || !p.is(":") || !p.number(0, 59, 2, 2) {
		return false
	}
	q := *p
	if q.is(":") && q.number(0, 60, 2, 2) {
		*p = q
		if q.is(".") && q.number(0, 999999999, 1, 9) {
			*p = q
		}
	}
	return true
}

// timeBehind finds a time of day behind a date, and its zone.
func (p *dateParser) timeBehind() {
	q := *p
	if !q.is("T") && !q.spaces() || !q.time() {
		return
	}
	*p = q
	if q.is("Z") && q.end() {
		*p = q
		return
	}
	if (q.is("+") || q.is("-")) && q.number(0, 14, 2, 2) {
		q.is(":")
		if q.number(0, 59, 2, 2) && q.end() {
			*p = q
		}
	}
}
