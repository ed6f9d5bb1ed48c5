package input

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// This file reads web archives (WARC, ISO 28500, and the older ARC): the texts of pages that a crawler has got. Records become rows with five
// columns. An HTTP response, or a resource, is a document if it is a page of HTML or a plain text, and if the server says that all went well.
// A conversion (the .wet files of Common Crawl) is one if it is a plain text. Other records are skipped, and counted.
//
// The frame of a record is a few lines of headers, so this file reads it itself: the libraries that there are lose the URIs that wget
// writes, or the blocks of conversions, or take no archive that is not compressed record by record, or lose the rest of a file behind a length
// that is wrong. Here a record ends where the next one begins: if that is not where its length says, the next one is looked for.

// warcColumns are those of a web archive. The id is the URI of the page.
var warcColumns = []string{"id", "date", "status", "type", "text"}

// readWARC is read for a web archive. The line of an item is the number of its record, from 1.
func (s *reader) readWARC(r io.Reader) (err error) {
	if s.Header, err = s.newHeader(warcColumns); err != nil {
		return err
	}
	a := newArchive(r, s.maxLine+1<<20) // a page has headers, too
	skipped := map[string]int{}
	defer func() {
		var all []string
		for _, why := range []string{noPage, noText, noSuccess, noEncoding} {
			if n := skipped[why]; n > 0 {
				all = append(all, fmt.Sprintf("%d %s", n, why))
			}
		}
		if len(all) > 0 {
			s.Note("records skipped: %s", strings.Join(all, ", "))
		}
		if a.wrong > 0 {
			s.Note("records with a wrong length: %d; each is read up to the next record", a.wrong)
		}
		if a.lost > 0 {
			s.Note("bytes outside of records skipped: %d", a.lost)
		}
	}()
	for line := int32(1); ; line++ {
		rec, err := a.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: this record cannot be read: %w", s.Path, line, err)
		}
		it, why := s.at(line), ""
		it.Row, why, it.Err = pageOf(rec, s.cols.Encoding, s.maxLine)
		if err := rec.finish(); err != nil {
			it.Row, why, it.Err = nil, "", err
		}
		if why != "" {
			skipped[why]++
		} else if !s.yield(it) {
			return nil
		}
	}
}

// Why records are skipped.
const (
	noPage     = "not pages"
	noText     = "neither HTML nor plain text"
	noSuccess  = "server errors or redirects"
	noEncoding = "in an encoding that cannot be detected (set --encoding)"
)

// Limits of headers, so that what is no archive does not fill the memory.
const (
	mostHeaderLine = 1 << 16
	mostHeaders    = 1000
)

// noEnd turns the end of a file into an error, where more must follow.
func noEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// errLongHeader is the error of a line of headers that is too long.
var errLongHeader = fmt.Errorf("one of its header lines has more than %d bytes", mostHeaderLine)

// headerLine reads a line without its end.
func headerLine(from *bufio.Reader) (string, error) {
	line, err := from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line) > mostHeaderLine {
		return "", errLongHeader
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

// headersOf reads headers up to an empty line. Their names are in lower case; what stands in a line of its own and begins with a space belongs to
// the one before. Of several with one name the first one counts. Lines that are none are passed over.
func headersOf(from *bufio.Reader) (map[string]string, error) {
	headers, last := map[string]string{}, ""
	for range mostHeaders {
		line, err := headerLine(from)
		if line == "" || err != nil {
			return headers, err
		}
		if name, value, ok := strings.Cut(line, ":"); line[0] == ' ' || line[0] == '\t' {
			if len(headers[last]) < mostHeaderLine {
				headers[last] += " " + strings.TrimSpace(line)
			}
		} else if name = strings.ToLower(strings.TrimSpace(name)); ok {
			if _, twice := headers[name]; !twice {
				headers[name] = strings.TrimSpace(value)
			}
			last = name
		}
	}
	return nil, fmt.Errorf("it has more than %d headers", mostHeaders)
}

// pageOf returns the row of a record, or why it is skipped.
func pageOf(rec *archived, encoding string, maxLine int) (row []string, why string, err error) {
	uri := strings.Trim(rec.headers["warc-target-uri"], "<>") // wget writes <URI>
	block, kind, status, why, err := bodyOf(rec, uri)
	if why != "" || err != nil {
		return nil, why, err
	}
	media, parameters, err := mime.ParseMediaType(kind)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	}
	isHTML := media == "text/html" || media == "application/xhtml+xml"
	if !isHTML && media != "text/plain" {
		return nil, noText, nil
	}
	text, err := textOf(block, encoding, parameters["charset"], isHTML, maxLine)
	if unclear := (*unclearError)(nil); errors.As(err, &unclear) {
		return nil, noEncoding, nil
	}
	if isHTML && err == nil {
		text = htmlText.Normalize(text)
	}
	return []string{strings.ToValidUTF8(uri, "\uFFFD"), rec.headers["warc-date"], status, media, text}, "", err
}

// bodyOf returns what a record has of a page, its type and the status of the answer, or why it is skipped.
func bodyOf(rec *archived, uri string) (block io.Reader, kind, status, why string, err error) {
	block, kind = rec.block, rec.headers["content-type"]
	switch rec.headers["warc-type"] {
	case "conversion":
	case "resource":
		if strings.HasPrefix(uri, "metadata:") { // wget's own
			why = noPage
		}
	case "response":
		if kind != "" && !strings.HasPrefix(strings.ToLower(kind), "application/http") { // an answer of DNS, say
			return nil, "", "", noPage, nil
		}
		if status, kind, block, err = answerOf(block); err == nil && (status < "200" || status > "299") {
			why = noSuccess
		}
	default:
		why = noPage
	}
	return block, kind, status, why, err
}

// answerOf reads a response of HTTP: its status, of three digits, its Content-Type, and its body without chunks and encodings. Unlike net/http it
// takes what servers of long ago sent, and bodies whose chunks the crawler has joined without a change of the headers.
func answerOf(block io.Reader) (status, kind string, body io.Reader, err error) {
	from := bufio.NewReaderSize(block, mostHeaderLine)
	line, err := headerLine(from)
	protocol, rest, _ := strings.Cut(line, " ")
	status, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	if _, wrong := strconv.ParseUint(status, 10, 16); err == nil && (wrong != nil || len(status) != 3 || !strings.HasPrefix(protocol, "HTTP/")) {
		err = fmt.Errorf("the status line is %.100q", line)
	}
	var headers map[string]string
	if err == nil {
		if headers, err = headersOf(from); err == io.EOF {
			err = nil // there is no body
		}
	}
	if err != nil {
		return "", "", nil, fmt.Errorf("not an HTTP response: %w", noEnd(err))
	}
	body = from
	if strings.Contains(strings.ToLower(headers["transfer-encoding"]), "chunked") && beginsChunk(from) {
		body = httputil.NewChunkedReader(from)
	}
	encodings := headers["content-encoding"]
	if buffered := bufio.NewReader(body); encodings == "" { // some crawlers drop the header, and store the body as it came
		body = buffered
		if begin, _ := buffered.Peek(4); isPacked(begin, "gzip") {
			encodings = "gzip"
		} else if isPacked(begin, "zstd") {
			encodings = "zstd"
		}
	}
	body, err = unpacked(body, encodings)
	return status, headers["content-type"], body, err
}

// beginsChunk reports whether a body begins with the length of a chunk, in hexadecimal digits.
func beginsChunk(from *bufio.Reader) bool {
	begin, _ := from.Peek(200)
	size, _, ok := bytes.Cut(begin, []byte("\n"))
	size, _, _ = bytes.Cut(size, []byte(";"))
	_, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 32)
	return ok && err == nil
}

// textOf reads a text of at most so many bytes. The encoding is the one that the user told, or the one that the server told, or it is found out.
func textOf(r io.Reader, told, charset string, isHTML bool, most int) (string, error) {
	name := told
	if _, err := encodingOf(charset); name == "" && charset != "" && err == nil {
		name = charset
	}
	buffered := bufio.NewReaderSize(r, sniffBytes)
	sample, _ := buffered.Peek(sniffBytes)
	if told == "" && name != "" && isWholeUTF8(sample) && !isASCII(sample) {
		name = "" // a server that tells another encoding is wrong more often than a text is UTF-8 by chance
	}
	if name == "" && isHTML {
		name = htmlEncoding(sample)
	}
	plain, _, _, err := decoded(buffered, name)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(plain, int64(most)+1)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // what was cut off when it was crawled is still a text
		return "", err
	}
	if b.Len() > most {
		return "", ErrTooLong
	}
	return b.String(), nil
}

// unpacked returns the body of a response without its Content-Encoding.
func unpacked(body io.Reader, encodings string) (io.Reader, error) {
	names := strings.FieldsFunc(strings.ToLower(encodings), func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) > 4 {
		return nil, fmt.Errorf("it has %d content encodings", len(names))
	}
	for i := len(names) - 1; i >= 0; i-- {
		buffered := bufio.NewReader(body)
		begin, _ := buffered.Peek(512)
		if isPacked(begin, names[i]) {
			var err error
			if body, err = unpack(buffered, names[i]); err != nil {
				return nil, err
			}
		} else { // many crawlers store the body unpacked, and the header as it was
			body = buffered
		}
	}
	return body, nil
}

// isPacked reports whether a body that begins so may have an encoding.
func isPacked(begin []byte, encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip":
		return bytes.HasPrefix(begin, []byte("\x1f\x8b"))
	case "zstd":
		return bytes.HasPrefix(begin, []byte("\x28\xb5\x2f\xfd"))
	case "deflate", "br": // which begin with anything
		return !isWholeUTF8(begin)
	case "identity", "none", "utf-8", "utf8": // what servers send
		return false
	}
	return true
}

// unpack returns a body without an encoding.
func unpack(body *bufio.Reader, encoding string) (io.Reader, error) {
	switch encoding {
	case "gzip", "x-gzip":
		return gzip.NewReader(body)
	case "deflate":
		if begin, _ := body.Peek(2); len(begin) == 2 && begin[0] == 0x78 { // with the header of zlib, as it should be
			body.Discard(2)
		}
		return flate.NewReader(body), nil
	case "br":
		return brotli.NewReader(body), nil
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("unknown content encoding %q", encoding)
}
