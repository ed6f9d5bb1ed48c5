package input

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

// This file reads lines. They have a limit (--max-line), so a file without line ends cannot fill the memory.

// ErrTooLong is the error of a line that is longer than --max-line.
var ErrTooLong = errors.New("longer than --max-line")

// A LineReader reads lines of limited length and counts them. It reads large blocks, of which lines are
// parts, so that lines are not copied.
type LineReader struct {
	R      io.Reader
	Max    int
	Line   int32        // number of the line that was read last, from 1
	decode *lineDecoder // nil if the lines are UTF-8

	isWhole bool       // R decodes, since lines cannot be cut before
	file    *plainFile // that R reads, or nil

	Raw   []byte  // the line that was read last as R has it, with its end; nil after ErrTooLong
	block *[]byte // of which the line is a part
	rest  []byte  // of the block
	begin int64   // where the line begins
	next  int64   // and where the next one does
	err   error   // what R returned
	end   byte    // of lines: '\n', or '\r' in files of old Macintoshes; 0 before the first line
}

const (
	blockSize = 1 << 18       // what is read at once
	blockRoom = 2 * blockSize // the length of a block, unless a line is longer
)

// spare are blocks that nobody uses any more, of blockRoom bytes.
var spare = sync.Pool{New: func() any { b := make([]byte, blockRoom); return &b }}

// Next returns the next line without its line end. It drops a byte order mark before the first
// line. After ErrTooLong, or the error of a line that cannot be decoded, the caller may read on with the following line; after any
// other error it may not.
func (l *LineReader) Next() ([]byte, error) {
	l.Raw = nil
	end, tooLong := 0, false // the first bytes of rest have no line end
	for {
		if l.end == 0 && (len(l.rest) > 0 || l.err != nil) {
			l.end = endOf(l.rest)
		}
		if i := bytes.IndexByte(l.rest[end:], l.end); i >= 0 && l.end != 0 {
			end += i + 1
			break
		}
		end = len(l.rest)
		if l.err != nil && (l.err != io.EOF || end == 0 && !tooLong) {
			return nil, l.err
		}
		if l.err != nil {
			break
		}
		if end > l.Max+8 { // + 8: the line end and the mark are cut off below
			tooLong = true
			l.next += int64(end)
			end = 0
		}
		l.fill(end)
	}
	rest := l.rest
	line := rest[:end]
	l.rest = rest[end:]
	l.begin, l.next = l.next, l.next+int64(end)
	l.Line++
	l.Raw = line
	line = slices.Clip(trimEnd(line))
	if l.Line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if tooLong || len(line) > l.Max {
		l.Raw = nil
		return nil, ErrTooLong
	}
	if l.decode != nil {
		return l.decode.line(line, rest)
	}
	return line, nil
}

// whole returns a reader of the lines that are in memory as a whole, which others may read meanwhile, and goes on behind them. It returns nil if the
// next line has to be read by Next: it is long, or the last one, or has to be decoded in its turn.
func (l *LineReader) whole() *LineReader {
	if l.end == 0 {
		if len(l.rest) == 0 && l.err == nil {
			l.fill(0)
		}
		if len(l.rest) == 0 {
			return nil
		}
		l.end = endOf(l.rest)
	}
	end := bytes.LastIndexByte(l.rest, l.end) + 1
	lines, behind := l.rest[:end], l.rest[end:]
	if end == 0 || !l.decode.isNone(lines) {
		return nil
	}
	part := &LineReader{Max: l.Max, Line: l.Line, isWhole: l.isWhole, block: l.block, rest: lines, next: l.next, err: io.EOF, end: l.end}
	l.Line += int32(bytes.Count(lines, []byte{l.end}))
	l.next += int64(end)
	if l.rest = behind; l.err == nil {
		l.fill(len(behind))
	} else {
		l.block, l.rest = nil, bytes.Clone(behind) // others may use the block again
	}
	return part
}

// isLossy reports whether the line that was read last had bytes that could not be decoded.
func (l *LineReader) isLossy() bool {
	return l.decode != nil && l.decode.isLossy || l.isWhole && hasReplaced(l.Raw)
}

// hasReplaced reports whether a decoder has put U+FFFD into a text.
func hasReplaced(text []byte) bool { return bytes.Contains(text, []byte("\uFFFD")) }

// trimEnd returns a line without its end.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// endOf returns what ends the lines of a text that begins so.
func endOf(begin []byte) byte {
	if i := bytes.IndexByte(begin, '\r'); i >= 0 && i < len(begin)-1 && bytes.IndexByte(begin, '\n') < 0 {
		return '\r'
	}
	return '\n'
}

// fill begins a new block with the first n bytes of rest, and reads what follows. A block is filled as far as possible, so that neither what is guessed
// from the first one nor how many there are depends on how much R gives at once.
func (l *LineReader) fill(n int) {
	if l.file != nil {
		if of, ok := l.file.take(); ok {
			l.fillWith(of, n)
			return
		}
	}
	block := new([]byte)
	if n <= blockRoom-blockSize {
		block = spare.Get().(*[]byte)
	} else {
		*block = make([]byte, 2*n)
	}
	copy(*block, l.rest[:n])
	least, read := max(blockSize, n/2), 0                                   // a long line is copied a few times only
	for read < least && l.err == nil && !(read > 0 && l.file.isDrained()) { // then pieces follow
		var more int
		more, l.err = l.R.Read((*block)[n+read:])
		read += more
	}
	l.block, l.rest = block, (*block)[:n+read]
}

// fillWith is fill with a piece of a file, which the block is made of unless the line is too long.
func (l *LineReader) fillWith(of piece, n int) {
	l.err = of.err
	if n <= pieceAt {
		copy((*of.block)[pieceAt-n:], l.rest[:n])
		l.block, l.rest = of.block, (*of.block)[pieceAt-n:pieceAt+of.n]
		return
	}
	block := make([]byte, n, n+n/2+2*blockSize) // a long line is copied a few times only
	copy(block, l.rest)
	for {
		block = append(block, (*of.block)[pieceAt:pieceAt+of.n]...)
		spare.Put(of.block)
		if l.err != nil || len(block) >= n+n/2 {
			break
		}
		of, _ = l.file.take()
		l.err = of.err
	}
	l.block, l.rest = &block, block
}
