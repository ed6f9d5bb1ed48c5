package input

import (
	"bytes"
	"errors"
	"io"
	"unsafe"
)

// This file reads the records of a table of text: CSV (RFC 4180), and what people's spreadsheets, databases and scripts write instead. A cell
// may stand in quotes, with quotes in it doubled; then it may have separators and line ends. What RFC 4180 does not allow is read as
// spreadsheets do, and counted:
//
//	a "b" c         a quote within a cell that does not begin with one is a part of it
//	"a "b" c"       so is a quote within quotes behind which neither a separator nor the end of the line stands
//	"a \"b\" c"     a quote behind a backslash, if the record fits the header so, and has such quotes
//	"a" ,b          blanks behind the closing quote are dropped
//	"a" and b       a cell in which quotes begin and do not end on its line is read as it stands
//
// The library of Go refuses each of them, or with LazyQuotes takes the rest of a file for one cell. A quote that never ends is an error at the
// line in which it begins, and reading goes on behind that line. In TSV, which is mostly written without quotes, it is a part of its cell.

// A csvReader reads records.
type csvReader struct {
	of *reader // nil in samples
	dialect
	lines  *LineReader // nil if there are only those of queue
	queue  []textLine  // lines that were read: those of the last record, and
	next   int         // from here on those of the next ones
	want   int         // how many cells the header has; 0 before it is known
	most   int         // how many bytes the lines of a record may take
	unends bool        // a quote was found that never ends
	futile int         // how often lines were parsed, and given back; each time the next attempt reaches half as far

	// The first lines behind next in which no quote ends, and their bytes: a file of quotes that never end is looked through once.
	quiet, quietBytes int

	parse parse // of the last record
}

// errQuote is the error of a record whose quote never ends.
var errQuote = errors.New("the quote that starts here is never closed")

// lookAhead is how far a quote may reach in TSV, or after one that never ended.
const lookAhead = 1 << 20

// ahead returns a line that was not taken yet.
func (r *csvReader) ahead(n int) *textLine {
	for r.next+n >= len(r.queue) {
		l := textLine{err: io.EOF}
		if k := len(r.queue) - 1; k >= 0 && r.queue[k].err != nil && !isLineError(r.queue[k].err) {
			l = r.queue[k] // which is the last one
		} else if r.lines != nil {
			l.text, l.err = r.lines.Next()
			l.raw, l.number, l.isLossy = r.lines.Raw, r.lines.Line, r.lines.isLossy()
		}
		r.queue = append(r.queue, l)
	}
	return &r.queue[r.next+n]
}

// take takes the next line.
func (r *csvReader) take() *textLine {
	l := r.ahead(0)
	if r.next++; r.quiet > 0 {
		r.quiet, r.quietBytes = r.quiet-1, r.quietBytes-lineSize(l)
	}
	return l
}

// lineSize returns how many bytes a line takes in memory.
func lineSize(l *textLine) int { return int(unsafe.Sizeof(*l)) + len(l.raw) }

// back gives back lines that were taken.
func (r *csvReader) back(n int) {
	if n > 0 {
		r.next, r.quiet, r.quietBytes = r.next-n, 0, 0
	}
}

// inQuotes returns what a line that was not taken yet does within quotes.
func (r *csvReader) inQuotes(n int) effect {
	l := r.ahead(n)
	switch {
	case l.inQuotes != 0:
	case l.err != nil && !isLineError(l.err):
		l.inQuotes = isKnown | isEnd
	default:
		l.inQuotes = r.dialect.inQuotes(l.text)
	}
	return l.inQuotes
}

// closes returns how many lines follow up to the one in which a quote ends, if that is within so many bytes.
func (r *csvReader) closes(most int) (lines int, ok bool) {
	for {
		switch does := r.inQuotes(r.quiet); {
		case r.quietBytes > most || does&isEnd != 0:
			return 0, false
		case does&isClosing != 0:
			return r.quiet + 1, true
		}
		r.quietBytes += lineSize(r.ahead(r.quiet))
		r.quiet++
	}
}

// read returns the next record. If the error is that of a line, reading goes on behind it; record.line says where it is.
func (r *csvReader) read() (record, error) {
	if r.next == len(r.queue) {
		r.queue = r.queue[:0]
	} else {
		r.queue = r.queue[r.next:]
	}
	r.next = 0
	first := *r.take()
	if first.err != nil {
		return record{line: first.number}, first.err
	}
	p := &r.parse
	*p = parse{dialect: r.dialect, buf: p.buf[:0], ends: p.ends[:0]}
	if p.line(&first); p.isOpen {
		return r.quoted(&first)
	}
	return r.better(p), nil
}

// quoted reads what follows a first line in which a quote begins that does not end.
func (r *csvReader) quoted(first *textLine) (record, error) {
	p, most := &r.parse, r.most
	if r.isTSV || r.unends {
		most = min(most, lookAhead>>min(r.futile, 12))
	}
	mayClose := p.odd&innerQuote != 0 // the quote was perhaps not meant to go on
	for size, isTried := lineSize(first), false; p.isOpen; {
		n, ok := r.closes(most - size)
		if !ok {
			return r.giveUp()
		}
		for k := 0; k < n && !mayClose; k++ {
			mayClose = r.inQuotes(k)&isOdd != 0
		}
		if mayClose && !isTried {
			isTried = true
			if q, ok := r.closed(); ok {
				return q, nil
			}
		}
		for range n {
			l := r.take()
			size += lineSize(l)
			if p.line(l); l.err != nil {
				return r.spoilt(n)
			}
		}
	}
	if !r.fits(p) {
		if q, ok := r.closed(); ok {
			return q, nil
		}
	}
	if mayClose && r.next > 1 && r.want > 1 && r.areRows(r.taken()[1:], parse{dialect: r.dialect}) {
		r.back(r.next - 1) // a row is not a part of a cell
		return r.giveUp()
	}
	return r.better(p), nil
}

// taken are the lines of the record.
func (r *csvReader) taken() []textLine { return r.queue[:r.next] }

// closed returns the record that the first line is, if quotes that begin in it, but do not end as they should, are a part of their cells. Then
// the other lines are given back.
func (r *csvReader) closed() (record, bool) {
	first := r.queue[:1]
	q := parse{}
	isGood := false
	if bytes.Contains(first[0].text, []byte(`\"`)) {
		q = r.parsed(first, parse{dialect: r.dialect, backslash: true})
		isGood = !q.isOpen && r.fits(&q)
	}
	if !isGood {
		q = r.parsed(first, parse{dialect: r.dialect, literal: true})
		isGood = (q.isMended || r.isTSV) && r.fits(&q)
	}
	if !isGood {
		return record{}, false
	}
	r.back(r.next - 1)
	return q.record(first), true
}

// fits reports whether a record has as many cells as the header, as far as that is known.
func (r *csvReader) fits(p *parse) bool { return r.want == 0 || len(p.ends) == r.want }

// parsed parses lines in one way.
func (r *csvReader) parsed(lines []textLine, p parse) parse {
	for i := range lines {
		p.line(&lines[i])
	}
	return p
}

// better returns the record that p has parsed, or as another way of quoting has it if that fits better.
func (r *csvReader) better(p *parse) record {
	lines := r.taken()
	if p.odd&escaped != 0 {
		q := r.parsed(lines, parse{dialect: r.dialect, backslash: true})
		if !q.isOpen && (len(q.ends) == len(p.ends) && p.odd&innerQuote != 0 || r.want > 0 && r.fits(&q) && !r.fits(p)) {
			return q.record(lines)
		}
	}
	if r.isTSV && len(lines) > 1 && r.want > 0 && (!r.fits(p) || r.areRows(lines, parse{dialect: r.dialect, literal: true})) {
		if q := r.parsed(lines[:1], parse{dialect: r.dialect, literal: true}); r.fits(&q) {
			r.back(len(lines) - 1)
			return q.record(lines[:1])
		}
	}
	return p.record(lines)
}

// areRows reports whether each line is a row, if it is parsed in a way.
func (r *csvReader) areRows(lines []textLine, p parse) bool {
	for i := range lines {
		if q := r.parsed(lines[i:i+1], p); q.isOpen || !r.fits(&q) {
			return false
		}
	}
	return true
}

// giveUp returns what the first line is if the quote that begins in it never ends. The lines behind it are read again.
func (r *csvReader) giveUp() (record, error) {
	if r.next > 1 {
		r.back(r.next - 1)
		r.futile++
	}
	r.unends = true
	if q, ok := r.closed(); ok {
		return q, nil
	}
	if !r.isTSV {
		return record{line: r.queue[0].number}, errQuote
	}
	p := r.parsed(r.queue[:1], parse{dialect: r.dialect, literal: true})
	return p.record(r.queue[:1]), nil
}

// spoilt ends a record with the line that was taken last, which cannot be read. The quote may have ended in it: if one of the next lines is a
// row, reading goes on there, and otherwise behind the next line in which a quote ends.
func (r *csvReader) spoilt(most int) (record, error) {
	l := r.queue[r.next-1]
	for n := range most {
		q := r.parsed([]textLine{*r.ahead(n)}, parse{dialect: r.dialect})
		if q.isOpen || r.want < 2 || !r.fits(&q) {
			if r.inQuotes(n)&isClosing == 0 {
				continue
			}
			n++
		}
		for range n {
			r.take()
		}
		break
	}
	return record{line: l.number}, l.err
}

// isBlank reports whether a record has no text.
func (r *record) isBlank() bool { return filled(r.cells) == 0 }
