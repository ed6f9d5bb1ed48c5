package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// This file reads the objects of a JSON file that is not lines: an array, or objects one after the other.

// readJSON is read for a file with an array of objects, or with objects one after the other. The line of an
// object is the line that it begins in, or if others began there, counts on from it.
func (s *reader) readJSON(r io.Reader) error {
	counted := &lineCounter{r: r, room: max(s.cols.Room/2, int64(s.maxLine))}
	d := json.NewDecoder(counted)
	counted.used = d.InputOffset
	fail := func(err error) error { return s.wrongJSON(err, d, counted) }
	isArray, last := false, int32(0)
	for first := true; ; first = false {
		if first && counted.begin() == '[' {
			isArray = true
			if _, err := d.Token(); err != nil {
				return fail(err)
			}
		}
		if isArray && !d.More() {
			if _, err := d.Token(); err != nil {
				return fail(err)
			}
			isArray = false // what follows it is read like what follows an object
		}
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF && !isArray {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		// Places are told apart by their lines, so objects in one line count on from it.
		last = max(counted.line(d.InputOffset()-int64(len(raw))), last+1)
		it := s.at(last)
		if it.Raw = raw; len(raw) > s.maxLine {
			it.Raw, it.Err = nil, ErrTooLong
		}
		it.isLossy = s.Encoding != nil && hasReplaced(it.Raw)
		if !s.yield(it) {
			return nil
		}
	}
}

// wrongJSON returns the error of a decoder with the line where it is.
func (s *reader) wrongJSON(err error, d *json.Decoder, counted *lineCounter) error {
	offset := d.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset, err = syntax.Offset, fmt.Errorf("not JSON: %w", err)
	} else if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = errors.New("the file ends in the middle of a value")
	}
	return fmt.Errorf("%s:%d: %w", s.Path, counted.line(offset), err)
}

// A lineCounter knows where the lines of what was read begin, from the last place that was asked for.
type lineCounter struct {
	r     io.Reader
	ends  []int64 // where lines end
	lines int32   // how many ends were dropped
	read  int64
	ahead []byte

	room int64        // how many bytes may be read ahead of used
	used func() int64 // the end of the last value
}

func (c *lineCounter) Read(p []byte) (n int, err error) {
	if c.read-c.used() > c.room {
		return 0, fmt.Errorf("a value has more than %d bytes and does not fit in memory", c.room)
	}
	if len(c.ahead) > 0 {
		n = copy(p, c.ahead)
		c.ahead = c.ahead[n:]
	} else {
		n, err = c.r.Read(p)
	}
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// begin reads the white space before the first value, and returns the byte behind it; 0 if there is none.
func (c *lineCounter) begin() byte {
	b := make([]byte, 1<<12)
	for {
		n, err := c.r.Read(b)
		text := bytes.TrimLeft(b[:n], " \t\r\n")
		c.lines += int32(bytes.Count(b[:n-len(text)], []byte("\n")))
		if len(text) > 0 {
			c.ahead = text
			return text[0]
		}
		if err != nil {
			return 0
		}
	}
}

// line returns the line of a place, which must not be before that of the last call.
func (c *lineCounter) line(offset int64) int32 {
	n := 0
	for n < len(c.ends) && c.ends[n] < offset {
		n++
	}
	c.lines += int32(n)
	c.ends = c.ends[n:]
	return c.lines + 1
}
