package input

import (
	"bytes"
	"slices"
)

// This file parses the lines of a record of a table of text in one way of quoting. csv.go decides which way fits.

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

// behind returns what stands behind a closing quote, without blanks.
func (d *dialect) behind(b []byte) []byte {
	if d.separator == "\t" {
		return bytes.TrimLeft(b, " ")
	}
	return bytes.TrimLeft(b, " \t")
}

// An effect is what a line does if it begins within quotes, as a set.
type effect uint8

const (
	isKnown   effect = 1 << iota
	isOdd            // it has a quote that is not doubled, before the one that ends them if there is one
	isClosing        // they end
	isEnd            // the file ends before it
)

// inQuotes returns what a line does within quotes, as [parse.quoted] reads it.
func (d *dialect) inQuotes(b []byte) effect {
	does := isKnown
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			return does
		}
		if b = b[i+1:]; len(b) > 0 && b[0] == '"' {
			b = b[1:]
			continue
		}
		if behind := d.behind(b); len(behind) == 0 || bytes.HasPrefix(behind, []byte(d.separator)) {
			return does | isClosing
		}
		does |= isOdd
	}
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
func (p *parse) line(l *textLine) {
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
		behind := p.behind(rest)
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
	for i := range lines {
		r.isLossy = r.isLossy || lines[i].isLossy
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

// A record is a row of a table of text.
type record struct {
	cells []string
	raw   []byte // as the file has it, with line ends
	line  int32  // in which it begins
	odd   oddity

	isLossy bool // some bytes could not be decoded
}

// A textLine is a line, and what is wrong with it.
type textLine struct {
	text, raw []byte
	number    int32
	err       error
	isLossy   bool // some bytes could not be decoded
	inQuotes  effect
}
