package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file cuts web archives into records, also those whose lengths are wrong: a crawler that counts other bytes than it writes, or a file
// whose line ends were changed, must not cost more than that.

// An archive is read record by record.
type archive struct {
	r     io.Reader // behind what was given back and what from holds
	again []byte    // what was given back
	from  *bufio.Reader
	isARC bool
	most  int // how large a block is that is held in memory; of a larger one the length is trusted
	wrong int // records whose length was wrong
	lost  int // bytes between records
	some  bool
}

// newArchive returns an archive whose blocks of at most so many bytes are held in memory.
func newArchive(r io.Reader, most int) *archive {
	a := &archive{r: r, most: most}
	a.from = bufio.NewReaderSize(readFunc(a.read), mostHeaderLine)
	begin, _ := a.from.Peek(len(arcBegin))
	a.isARC = string(begin) == arcBegin
	return a
}

// A readFunc is a function that reads.
type readFunc func([]byte) (int, error)

func (r readFunc) Read(b []byte) (int, error) { return r(b) }

func (a *archive) read(b []byte) (int, error) {
	if len(a.again) > 0 {
		n := copy(b, a.again)
		a.again = a.again[n:]
		return n, nil
	}
	return a.r.Read(b)
}

// back gives back bytes that were read last.
func (a *archive) back(b []byte) {
	held, _ := a.from.Peek(a.from.Buffered())
	a.again = slices.Concat(b, held, a.again)
	a.from.Reset(readFunc(a.read))
}

// mostWrong is how many records may have wrong lengths. Those behind them are read up to the next record whatever length they have, since each that
// is too large costs as much as it says.
const mostWrong = 16

// An archived is a record.
type archived struct {
	headers map[string]string // their names in lower case; those of an ARC have the names of WARC
	block   io.Reader
	rest    *io.LimitedReader // of a block that is not held in memory
	missing int64             // how many bytes the file lacks at its end
}

// finish reads what is left of a record.
func (r *archived) finish() error {
	if r.rest != nil {
		if _, err := io.Copy(io.Discard, r.rest); err != nil {
			return err
		}
		r.missing = r.rest.N
	}
	if r.missing > 0 {
		return fmt.Errorf("the record is cut off: %d bytes are missing", r.missing)
	}
	return nil
}

// next reads the next record. The error is io.EOF if there is none.
func (a *archive) next() (*archived, error) {
	first, err := a.begin()
	if err != nil {
		return nil, err
	}
	rec := &archived{}
	size := int64(-1) // unknown
	if a.isARC {
		rec.headers, size = arcHeaders(first)
	} else if rec.headers, err = headersOf(a.from); err != nil {
		return nil, noEnd(err)
	} else if n, err := strconv.ParseInt(rec.headers["content-length"], 10, 64); err == nil && n >= 0 {
		size = n
	}
	if size > int64(a.most) {
		rec.rest = &io.LimitedReader{R: a.from, N: size}
		rec.block = rec.rest
		return rec, nil
	}
	block, missing, err := a.block(size)
	rec.block, rec.missing = bytes.NewReader(block), missing
	return rec, err
}

// begin reads up to the first line of the next record.
func (a *archive) begin() (string, error) {
	for {
		for ends := a.lineEnds(); len(ends) > 0; ends = a.lineEnds() { // between records
			a.from.Discard(len(ends))
		}
		line, err := headerLine(a.from)
		switch {
		case err == nil && a.isFirst([]byte(line)):
			a.some = true
			return line, nil
		case !a.some && err == nil:
			return "", fmt.Errorf("it does not begin with WARC/, but with %.40q", line)
		case err == nil:
			a.lost += len(line)
		case errors.Is(err, errLongHeader) && a.some: // it is part of a block
			n, err := a.from.Discard(a.from.Buffered())
			if a.lost += n; err != nil {
				return "", err
			}
		default:
			return "", err
		}
	}
}

// isFirst reports whether a line is the first one of a record.
func (a *archive) isFirst(line []byte) bool {
	if a.isARC {
		return arcLine.Match(line)
	}
	return warcLine.Match(line)
}

var (
	warcLine = regexp.MustCompile(`^WARC/[0-9]\.[0-9]+[ \t]*$`)
	arcLine  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:[^ ]* [0-9a-fA-F.:]+ [0-9]{8,14} [^ ]+ (?:[^ ]+ )*[0-9]+$`)
)

// arcBegin is the beginning of an ARC.
const arcBegin = "filedesc://"

// arcHeaders returns the headers of a record of an ARC, and the length of its block. Its line has a URL, an address, a date, a type, and last
// the length.
func arcHeaders(line string) (map[string]string, int64) {
	fields := strings.Fields(line)
	size, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	if err != nil {
		size = -1
	}
	h := map[string]string{"warc-target-uri": fields[0], "warc-date": isoDate(fields[2]), "warc-type": "response"}
	if strings.HasPrefix(fields[0], arcBegin) || !strings.HasPrefix(strings.ToLower(fields[0]), "http") {
		h["warc-type"] = "warcinfo"
	}
	return h, size
}

// isoDate returns a date as WARC writes it, of 14 digits.
func isoDate(digits string) string {
	if len(digits) != 14 {
		return digits
	}
	return digits[:4] + "-" + digits[4:6] + "-" + digits[6:8] + "T" + digits[8:10] + ":" + digits[10:12] + ":" + digits[12:] + "Z"
}

// block reads a block of so many bytes, or of an unknown size if it is negative, and leaves the reader before the next record. missing is how
// many bytes of it the file does not have.
func (a *archive) block(size int64) (block []byte, missing int64, err error) {
	if a.wrong >= mostWrong {
		if block, err = a.upToNext(nil); max(size-int64(len(block)), int64(len(block))-size) > int64(len("\r\n\r\n")) {
			a.wrong++
		}
		return block, 0, err
	}
	b := bytes.NewBuffer(make([]byte, 0, min(max(size, 0), 1<<20)))
	n, err := io.CopyN(b, a.from, max(size, 0))
	if block = b.Bytes(); err != nil && err != io.EOF {
		return nil, 0, err
	}
	if size >= 0 && n == size && a.isBetween() {
		return block, 0, nil
	}
	if at := a.within(block); at >= 0 { // the length is too large
		a.wrong++
		a.back(block[at:])
		return block[:at:at], 0, nil
	}
	if n < size && (a.wrong == 0 || size-n > n/10) {
		return block, size - n, nil
	}
	a.wrong++ // it is too small, or missing, or as wrong as others at the end of the file
	block, err = a.upToNext(block)
	return block, 0, err
}

// isBetween reports whether the next record begins here, or the file ends.
func (a *archive) isBetween() bool {
	for n := 64; ; n *= 2 {
		ahead, err := a.from.Peek(n)
		text := bytes.TrimLeft(ahead, "\r\n")
		end := bytes.IndexByte(text, '\n')
		switch {
		case end >= 0:
			return a.isFirst(bytes.TrimRight(text[:end], "\r"))
		case err != nil:
			return len(text) == 0 || err == bufio.ErrBufferFull && bytes.HasPrefix(text, []byte("WARC/")) || err == io.EOF && a.isFirst(bytes.TrimRight(text, "\r\n"))
		}
	}
}

// within returns where in a block the next record begins, or -1. Its first lines may go on behind the block.
func (a *archive) within(block []byte) int {
	ahead, _ := a.from.Peek(8 << 10)
	text := append(bytes.Clone(block), ahead...)
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		if at += i + 1; i < 0 || at >= len(block) {
			return -1
		}
		line, behind, _ := bytes.Cut(text[at:], []byte("\n"))
		behind = bytes.ToUpper(behind[:min(len(behind), 8)])
		if a.isFirst(bytes.TrimRight(line, "\r")) && (a.isARC || bytes.HasPrefix(behind, []byte("WARC-")) || bytes.HasPrefix(behind, []byte("CONTENT-"))) {
			return at
		}
	}
}

// lineEnds returns the ends of lines that follow, as many as are in memory, or one.
func (a *archive) lineEnds() []byte {
	a.from.Peek(1)
	held, _ := a.from.Peek(a.from.Buffered())
	return held[:len(held)-len(bytes.TrimLeft(held, "\r\n"))]
}

// upToNext appends what stands before the next record to a block.
func (a *archive) upToNext(block []byte) ([]byte, error) {
	for len(block) <= a.most {
		if a.isBetween() {
			return block, nil
		}
		// Behind empty lines the same one follows, which is not the first of a record.
		for ends := a.lineEnds(); len(ends) > 0 && len(block) <= a.most; ends = a.lineEnds() {
			block = append(block, ends...)
			a.from.Discard(len(ends))
		}
		line, err := a.from.ReadSlice('\n')
		block = append(block, line...)
		if err == io.EOF {
			return block, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return nil, err
		}
	}
	return block, ErrTooLong
}
