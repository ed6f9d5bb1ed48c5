package input

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/parquet"
)

// This file looks through a workbook before the library opens it, which holds most parts of it in memory, and any text and any nesting of
// elements that a part has. A small file can have large ones.

const (
	perXML    = 8       // how many times its size a part of XML takes as elements, as measured with styles and relations
	mostDepth = 1 << 10 // of elements within each other; workbooks have about ten
	smallPart = 1 << 20 // the size from which a part is looked through
)

// checkBook refuses a workbook whose parts would take more than room bytes.
func checkBook(r io.ReaderAt, size, room int64) error {
	book, err := zip.NewReader(r, size)
	if err != nil {
		return nil // the library says what is wrong
	}
	held := uint64(0)
	for _, part := range book.File {
		name, n := strings.ToLower(part.Name), min(part.UncompressedSize64, 1<<50)
		isXML := strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, ".rels")
		switch {
		case strings.HasPrefix(name, "xl/worksheets/sheet") || name == "xl/sharedstrings.xml": // which are read piece by piece
			n = 0
		case isXML:
			n *= perXML
		}
		if held += n; held > uint64(room) {
			return fmt.Errorf("its part %s %w", part.Name, parquet.ErrMemory)
		}
		if !isXML || part.UncompressedSize64 < smallPart {
			continue
		}
		if err := checkPart(part, room); err != nil {
			return fmt.Errorf("its part %s: %w", part.Name, err)
		}
	}
	return nil
}

// checkPart refuses a part with a text or a tag that is too long, or with too many elements within each other.
func checkPart(part *zip.File, room int64) error {
	f, err := part.Open()
	if err != nil {
		return nil // the library says so
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	depth, run := 0, int64(0)
	for {
		piece, err := r.ReadSlice('<')
		if run += int64(len(piece)); run > room/4 {
			return fmt.Errorf("a text of more than %d bytes %w", run, parquet.ErrMemory)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return nil
		}
		run = 0
		next, _ := r.Peek(1)
		if len(next) == 1 && next[0] == '/' {
			depth--
			continue
		}
		if len(next) == 0 || next[0] == '?' || next[0] == '!' {
			continue
		}
		isEmpty, n, err := endOfTag(r)
		if err != nil {
			return nil
		}
		if run = n; run > room/4 {
			return fmt.Errorf("a tag of more than %d bytes %w", run, parquet.ErrMemory)
		}
		if !isEmpty {
			depth++
		}
		if depth > mostDepth {
			return fmt.Errorf("its elements are nested more than %d deep", mostDepth)
		}
	}
}

// endOfTag reads up to the end of a tag, and reports whether the element ends with it.
func endOfTag(r *bufio.Reader) (isEmpty bool, n int64, err error) {
	for {
		piece, err := r.ReadSlice('>')
		n += int64(len(piece))
		if err == bufio.ErrBufferFull {
			continue
		}
		return err == nil && len(piece) > 1 && piece[len(piece)-2] == '/', n, err
	}
}
