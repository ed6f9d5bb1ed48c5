package input

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// This file reads lines. They have a limit (--max-line), so a file without line ends cannot fill the memory.

// ErrTooLong is the error of a line that is longer than --max-line.
var ErrTooLong = errors.New("longer than --max-line")

// A LineReader reads lines of limited length and counts them. It reads large blocks, of which lines are
// parts, so that lines are not copied.
type LineReader struct {
	R     io.Reader
	Max   int
	Line  int32   // number of the line that was read last, from 1
	block *[]byte // of which the line is a part
	rest  []byte  // of the block
	begin int64   // where the line begins
	end   int64   // and where the next one does
	err   error   // what r returned
}

const (
	blockSize = 1 << 18       // what is read at once
	BlockRoom = 2 * blockSize // the length of a block, unless a line is longer
)

// Blocks are those that nobody uses any more, of BlockRoom bytes.
var Blocks = sync.Pool{New: func() any { b := make([]byte, BlockRoom); return &b }}

// Next returns the next line without its line end. It drops a byte order mark before the first
// line. After ErrTooLong the caller may read on with the following line; after any other error it
// may not.
func (l *LineReader) Next() ([]byte, error) {
	end, tooLong := 0, false // the first bytes of rest have no line end
	for {
		if i := bytes.IndexByte(l.rest[end:], '\n'); i >= 0 {
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
			l.end += int64(end)
			end = 0
		}
		l.fill(end)
	}
	line := l.rest[:end:end]
	l.rest = l.rest[end:]
	l.begin, l.end = l.end, l.end+int64(end)
	l.Line++
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if l.Line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if tooLong || len(line) > l.Max {
		return nil, ErrTooLong
	}
	return line, nil
}

// fill begins a new block with the first n bytes of rest, and reads what follows.
func (l *LineReader) fill(n int) {
	block := new([]byte)
	if n <= BlockRoom-blockSize {
		block = Blocks.Get().(*[]byte)
	} else {
		*block = make([]byte, 2*n)
	}
	copy(*block, l.rest[:n])
	read := 0
	for read == 0 && l.err == nil {
		read, l.err = l.R.Read((*block)[n:])
	}
	l.block, l.rest = block, (*block)[:n+read]
}
