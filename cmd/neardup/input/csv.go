package input

import (
	"bytes"
	"errors"
	"io"
	"slices"
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

// A dialect says how a table of text is written.
type dialect struct {
	separator string
	blanks    bool // blanks stand behind the separators, and are no part of the cells
	isTSV     bool
}

// An oddity is a set of what a record has that RFC 4180 does not allow.
type oddity uint8

const (
	innerQuote oddity = 1 << iota // a quote within a cell, not doubled
	backslash                     // a quote behind a backslash stands for a quote
	escaped                       // there is a backslash before a quote, which may be one of both
)

// A record is a row of a table of text.
type record struct {
	cells []string
	raw   []byte // as the file has it, with line ends
	line  int32  // in which it begins
	odd   oddity
}

// A textLine is a line, and what is wrong with it.
type textLine struct {
	text, raw []byte
	number    int32
	err       error
}

// A csvReader reads records.
type csvReader struct {
	dialect
	lines  *LineReader // nil if there are only those of again
	again  []textLine  // lines that are read before those of lines
	want   int         // how many cells the header has; 0 before it is known
	most   int         // how many bytes a record may have
	unends bool        // a quote was found that never ends

	parse parse      // of the last record, and
	held  []textLine // its lines, whose memory is used again
}

// errQuote is the error of a record whose quote never ends.
var errQuote = errors.New("a quote begins here that never ends")

// lookAhead is how far a quote may reach in TSV, or after one that never ended.
const lookAhead = 1 << 20

// line returns the next line.
func (r *csvReader) line() textLine {
	if len(r.again) > 0 {
		l := r.again[0]
		r.again = r.again[1:]
		return l
	}
	if r.lines == nil {
		return textLine{err: io.EOF}
	}
	text, err := r.lines.Next()
	return textLine{text, r.lines.Raw, r.lines.Line, err}
}

// read returns the next record. If the error is that of a line, reading goes on behind it; record.line says where it is.
func (r *csvReader) read() (record, error) {
	l := r.line()
	if l.err != nil {
		return record{line: l.number}, l.err
	}
	p := &r.parse
	*p = parse{dialect: r.dialect, buf: p.buf[:0], ends: p.ends[:0]}
	p.line(l)
	lines := append(r.held[:0], l)
	defer func() { r.held = lines }()
	most := r.most
	if r.isTSV || r.unends {
		most = min(most, lookAhead)
	}
	if p.isOpen { // perhaps only because it was not meant to be a quote
		if q, ok := r.closed(lines); ok {
			return q, nil
		}
	}
	var spoilt textLine // a line of the record that cannot be read
	for size := len(l.text); p.isOpen; {
		l := r.line()
		size += len(l.text)
		switch {
		case l.err == io.EOF || l.err == nil && size > most:
			if l.err == nil {
				lines = append(lines, l)
			}
			return r.giveUp(lines)
		case l.err != nil && !isLineError(l.err):
			return record{line: l.number}, l.err
		case l.err != nil:
			spoilt = l
		}
		p.line(l)
		lines = append(lines, l)
	}
	if spoilt.err != nil {
		return record{line: spoilt.number}, spoilt.err
	}
	return r.better(lines, p), nil
}

// closed returns the record that the first line is, if quotes that begin in it, but do not end as they should, are a part of their cells.
func (r *csvReader) closed(lines []textLine) (record, bool) {
	first := lines[:1]
	if bytes.Contains(first[0].text, []byte(`\"`)) {
		if q := r.parsed(first, parse{dialect: r.dialect, backslash: true}); !q.isOpen && r.fits(&q) {
			return q.record(first), true
		}
	}
	q := r.parsed(first, parse{dialect: r.dialect, literal: true})
	if q.isMended && r.fits(&q) {
		return q.record(first), true
	}
	return record{}, false
}

// fits reports whether a record has as many cells as the header, as far as that is known.
func (r *csvReader) fits(p *parse) bool { return r.want == 0 || len(p.ends) == r.want }

// parsed parses lines in one way.
func (r *csvReader) parsed(lines []textLine, p parse) parse {
	for _, l := range lines {
		p.line(l)
	}
	return p
}

// better returns the record that lines are, which p has parsed, or as another way of quoting has it if that fits better.
func (r *csvReader) better(lines []textLine, p *parse) record {
	if p.odd&escaped != 0 {
		q := r.parsed(lines, parse{dialect: r.dialect, backslash: true})
		if !q.isOpen && (len(q.ends) == len(p.ends) && p.odd&innerQuote != 0 || r.want > 0 && r.fits(&q) && !r.fits(p)) {
			return q.record(lines)
		}
	}
	if r.isTSV && len(lines) > 1 && r.want > 0 && (!r.fits(p) || bytes.Contains(p.buf, []byte(r.separator))) {
		if q := r.parsed(lines[:1], parse{dialect: r.dialect, literal: true}); r.fits(&q) {
			r.again = slices.Concat(lines[1:], r.again)
			return q.record(lines[:1])
		}
	}
	return p.record(lines)
}

// giveUp returns what the first line is if the quote that begins in it never ends. The lines behind it are read again.
func (r *csvReader) giveUp(lines []textLine) (record, error) {
	r.again = slices.Concat(lines[1:], r.again)
	r.unends = true
	if !r.isTSV {
		return record{line: lines[0].number}, errQuote
	}
	p := r.parsed(lines[:1], parse{dialect: r.dialect, literal: true})
	return p.record(lines[:1]), nil
}

// A parse parses the lines of a record in one way.
type parse struct {
	dialect
	backslash bool // a backslash before a quote makes it a part of the cell
	literal   bool // quotes that do not end on their line are a part of the cell

	buf    []byte // all cells
	ends   []int  // of the cells in buf
	isOpen bool   // the last cell goes on in the next line
	odd    oddity

	lineEnd  []byte // of the last line
	isMended bool   // literal has read a cell as it stands, which has more quotes than the first
}

// line parses the next line.
func (p *parse) line(l textLine) {
	b, before := l.text, p.lineEnd
	p.lineEnd = l.raw[len(trimEnd(l.raw)):]
	if p.isOpen {
		p.buf = append(p.buf, before...)
		p.isOpen = false
		b = p.quoted(b)
		if p.isOpen || b == nil {
			return
		}
	}
	for b != nil && len(p.ends) <= mostCells {
		b = p.cell(b)
	}
}

// mostCells is how many cells a row has at most, 64 times as many as in a spreadsheet: each takes more memory than the separator behind it.
const mostCells = 1 << 20

// end ends a cell.
func (p *parse) end() { p.ends = append(p.ends, len(p.buf)) }

// cell parses the cell that b begins with, and returns what stands behind its separator, or nil.
func (p *parse) cell(b []byte) []byte {
	if p.blanks {
		b = bytes.TrimLeft(b, " ")
	}
	if len(b) > 0 && b[0] == '"' {
		before, odd := len(p.buf), p.odd
		p.odd = 0
		rest := p.quoted(b[1:])
		hasInner := p.odd&innerQuote != 0
		if p.odd |= odd; !p.isOpen || !p.literal {
			return rest
		}
		p.isOpen, p.buf = false, p.buf[:before]
		p.isMended = p.isMended || hasInner
	}
	text, rest, more := bytes.Cut(b, []byte(p.separator))
	if bytes.IndexByte(text, '"') >= 0 {
		p.odd |= innerQuote
	}
	p.buf = append(p.buf, text...)
	if p.end(); !more {
		return nil
	}
	return rest
}

// quoted parses the rest of a cell in quotes, and returns what stands behind its separator, or nil.
func (p *parse) quoted(b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			p.buf, p.isOpen = append(p.buf, b...), true
			return nil
		}
		p.buf = append(p.buf, b[:i]...)
		rest := b[i+1:]
		if i > 0 && b[i-1] == '\\' {
			if p.odd |= escaped; p.backslash {
				p.buf[len(p.buf)-1] = '"'
				p.odd |= backslash
				b = rest
				continue
			}
		}
		behind := rest
		if p.separator != "\t" {
			behind = bytes.TrimLeft(rest, " \t")
		} else {
			behind = bytes.TrimLeft(rest, " ")
		}
		switch {
		case len(rest) > 0 && rest[0] == '"':
			p.buf = append(p.buf, '"')
			b = rest[1:]
		case len(behind) == 0:
			p.end()
			return nil
		case bytes.HasPrefix(behind, []byte(p.separator)):
			p.end()
			return behind[len(p.separator):]
		default:
			p.buf, p.odd = append(p.buf, '"'), p.odd|innerQuote
			b = rest
		}
	}
}

// record returns what was parsed of lines.
func (p *parse) record(lines []textLine) record {
	all := string(p.buf)
	r := record{cells: make([]string, len(p.ends)), raw: joined(lines), line: lines[0].number, odd: p.odd &^ escaped}
	at := 0
	for i, end := range p.ends {
		r.cells[i], at = all[at:end], end
	}
	return r
}

// joined returns lines as one, without a copy as long as each stands behind the one before, as they do unless a block ends between them.
func joined(lines []textLine) []byte {
	all, isCopy := lines[0].raw, false
	for _, l := range lines[1:] {
		n := len(all)
		switch {
		case isCopy:
			all = append(all, l.raw...)
		case len(l.raw) > 0 && cap(all) >= n+len(l.raw) && &all[:n+1][n] == &l.raw[0]:
			all = all[:n+len(l.raw)]
		default:
			all, isCopy = append(slices.Clip(all), l.raw...), true
		}
	}
	return slices.Clip(all)
}

// isBlank reports whether a record has no text.
func (r *record) isBlank() bool { return filled(r.cells) == 0 }
