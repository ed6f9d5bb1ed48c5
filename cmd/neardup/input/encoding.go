package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// This file decodes texts to UTF-8. Their encoding is what the user says, or what a mark or the first megabyte says (detect.go).

// sniffBytes is how much of a file is looked at.
const sniffBytes = 1 << 20

// An Encoding is one other than UTF-8.
type Encoding struct {
	Name   string
	of     encoding.Encoding
	mark   string // byte order mark of a file
	byLine bool   // a line feed is one byte, which nothing else contains; so lines can be cut before they are decoded
}

var (
	utf16LE = &Encoding{Name: "UTF-16LE", of: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	utf16BE = &Encoding{Name: "UTF-16BE", of: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}
)

// marks are byte order marks, the longer ones first.
var marks = []struct {
	bytes string
	of    *Encoding // nil for UTF-8
}{
	{"\xef\xbb\xbf", nil},
	{"\xff\xfe\x00\x00", &Encoding{"UTF-32LE", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "\xff\xfe\x00\x00", false}},
	{"\x00\x00\xfe\xff", &Encoding{"UTF-32BE", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "\x00\x00\xfe\xff", false}},
	{"\xff\xfe", &Encoding{"UTF-16LE", utf16LE.of, "\xff\xfe", false}},
	{"\xfe\xff", &Encoding{"UTF-16BE", utf16BE.of, "\xfe\xff", false}},
}

// markOf returns the mark that a text begins with, and its encoding.
func markOf(text []byte) (mark string, of *Encoding) {
	for _, m := range marks {
		if bytes.HasPrefix(text, []byte(m.bytes)) {
			return m.bytes, m.of
		}
	}
	return "", nil
}

// encodingOf returns an encoding by one of its names (those of the WHATWG, and some more), or nil for UTF-8.
func encodingOf(name string) (*Encoding, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "utf-8", "utf8", "unicode-1-1-utf-8", "us-ascii", "ascii":
		return nil, nil
	case "utf-16", "utf16", "utf-16le", "unicode", "ucs-2":
		return utf16LE, nil
	case "utf-16be", "unicodefffe":
		return utf16BE, nil
	case "gbk", "gb2312", "gb18030", "gb_2312-80", "cp936", "x-gbk", "chinese", "csgb2312": // each is a part of GB18030
		return &Encoding{Name: "GB18030", of: simplifiedchinese.GB18030, byLine: true}, nil
	case "hz-gb-2312", "hz":
		return &Encoding{Name: "HZ-GB-2312", of: simplifiedchinese.HZGB2312}, nil
	case "cp949", "uhc":
		name = "euc-kr"
	case "cp932", "sjis":
		name = "shift_jis"
	case "cp866", "866":
		name = "ibm866"
	}
	e, err := htmlindex.Get(strings.TrimSpace(name))
	if err != nil || e == encoding.Replacement { // which makes one character of any text
		return nil, fmt.Errorf("unknown --encoding %q; use utf-8, utf-16, gb18030, big5, shift_jis, euc-jp, euc-kr, windows-1250 to -1258, iso-8859-2 to -16, koi8-r or another WHATWG encoding", name)
	}
	canonical, err := htmlindex.Name(e)
	if err != nil {
		canonical = strings.ToLower(name)
	}
	return &Encoding{Name: strings.ToUpper(canonical), of: e, byLine: canonical != "iso-2022-jp"}, nil
}

// MarshalText returns the name. That of an encoding with a mark is another one than that without it.
func (e *Encoding) MarshalText() ([]byte, error) { return []byte(e.Name), nil }

// UnmarshalText sets e to the encoding with a name that MarshalText returned.
func (e *Encoding) UnmarshalText(name []byte) error {
	for _, m := range marks {
		if m.of != nil && m.of.Name == string(name) {
			*e = *m.of
			return nil
		}
	}
	found, err := encodingOf(string(name))
	if err == nil && found != nil {
		*e = *found
	}
	return err
}

// Append appends a text in this encoding.
func (e *Encoding) Append(b []byte, text []byte) ([]byte, error) {
	encoded, err := e.of.NewEncoder().Bytes(text)
	return append(b, encoded...), err
}

// Mark returns the byte order mark of a file in this encoding, or "".
func (e *Encoding) Mark() string { return e.mark }

// IsByLine reports whether lines of files in this encoding are kept as they are (Item.Bytes).
func (e *Encoding) IsByLine() bool { return e.byLine }

// A way is an encoding, and how probable a text in it is.
type way struct {
	encoding *Encoding
	text     string  // the sample
	cost     float64 // -8 ln p
	letters  float64 // the same by its letters alone, without the ASCII around them
}

// A verdict is what was detected about an encoding.
type verdict struct {
	best, second way
	isSure       bool
	isText       bool // the bytes are letters, though it may not be sure which ones
}

// An unclearError says that nobody can tell the encoding of a text.
type unclearError struct{ v verdict }

func (e *unclearError) Error() string {
	text := "it is not UTF-8, and its encoding cannot be detected; set --encoding"
	for _, w := range []way{e.v.best, e.v.second} {
		if w.encoding != nil {
			text += fmt.Sprintf("\n    --encoding %-14s reads %s", strings.ToLower(w.encoding.Name), excerpt(w.text))
		}
	}
	return text
}

// excerpt returns the beginning of the first line of a text that has a letter beyond ASCII.
func excerpt(text string) string {
	for line := range strings.Lines(text) {
		i := strings.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
		if i < 0 {
			continue
		}
		runes := []rune(strings.TrimSpace(line[max(0, strings.LastIndexByte(line[:max(0, i-10)], ' ')):]))
		return fmt.Sprintf("%q", string(runes[:min(len(runes), 40)]))
	}
	return `""`
}

// encodingIn finds out the encoding of a text by its beginning; nil is UTF-8. isOpen reports that there is only ASCII in it.
func encodingIn(sample []byte) (e *Encoding, isOpen bool, err error) {
	if _, of := markOf(sample); of != nil {
		return of, false, nil
	}
	if isASCII(sample) && bytes.IndexByte(sample, 0) < 0 {
		e := escaped7Bit(sample)
		return e, e == nil, nil
	}
	if isUTF8(sample) && !hasZeros(sample) {
		return nil, false, nil
	}
	v := detect(sample)
	switch {
	case v.isSure:
		return v.best.encoding, false, nil
	case !v.isText && !hasZeros(sample) && isSpoilt(sample):
		return nil, false, nil // what is not UTF-8 is counted, and stays as it is where rows are copied
	}
	return nil, false, &unclearError{v}
}

// fewBad is how many bytes that are not UTF-8 a text may have that is read as UTF-8, if they do not tell another encoding.
const fewBad = 2

// isSpoilt reports whether a text is UTF-8 but for a few bytes.
func isSpoilt(sample []byte) bool {
	_, bad := countUTF8(sample)
	return bad <= fewBad
}

// countUTF8 returns how many characters beyond ASCII a text has, and bytes that are not UTF-8. Its last character may be cut off.
func countUTF8(sample []byte) (good, bad int) {
	for i := 0; i < len(sample); {
		if sample[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(sample[i:])
		if r != utf8.RuneError || n > 1 {
			good++
		} else if utf8.FullRune(sample[i:]) {
			bad++
		}
		i += n
	}
	return good, bad
}

// escaped7Bit returns the encoding of a text of bytes of ASCII which has other characters between escapes, or nil.
func escaped7Bit(sample []byte) *Encoding {
	name := ""
	switch {
	case bytes.Contains(sample, []byte("\x1b$B")) || bytes.Contains(sample, []byte("\x1b$@")):
		name = "iso-2022-jp"
	case bytes.Contains(sample, []byte("~{")) && bytes.Contains(sample, []byte("~}")) && isHZ(sample):
		name = "hz-gb-2312"
	default:
		return nil
	}
	e, err := encodingOf(name)
	if err != nil || name == "hz-gb-2312" && !isChinese(e, sample) {
		return nil
	}
	return e
}

// isChinese reports whether a text is one in an encoding of Chinese: what stands between ~{ and ~} may be something else.
func isChinese(e *Encoding, sample []byte) bool {
	text, err := e.Text(sample[:min(len(sample), mostSample)])
	if n := beyondASCII(text); err == nil && n > 0 {
		cost, _ := costOf(text, languages()["gb18030"], nil)
		return cost <= costPerLetter*float64(n)
	}
	return false
}

// isHZ reports whether what stands between ~{ and ~} is pairs of bytes of GB 2312, everywhere.
func isHZ(sample []byte) bool {
	for rest := sample; ; {
		_, behind, ok := bytes.Cut(rest, []byte("~{"))
		if !ok {
			return true
		}
		inside, after, ok := bytes.Cut(behind, []byte("~}"))
		if !ok {
			return len(sample) == sniffBytes // it is cut off
		}
		if len(inside)%2 == 1 || bytes.ContainsFunc(inside, func(r rune) bool { return r < 0x21 || r > 0x7E }) {
			return false
		}
		rest = after
	}
}

// hasZeros reports whether a text has so many zero bytes that it is no UTF-8: those of ASCII in UTF-16.
func hasZeros(sample []byte) bool {
	if len(sample) < 4 {
		return false
	}
	zeros := [2]int{}
	for i, c := range sample {
		if c == 0 {
			zeros[i%2]++
		}
	}
	few, many := min(zeros[0], zeros[1]), max(zeros[0], zeros[1])
	return many > len(sample)/50 && few <= many/20
}

// isWholeUTF8 reports whether all of a text is UTF-8. Its last character may be cut off.
func isWholeUTF8(sample []byte) bool {
	for n := 1; n < utf8.UTFMax && n <= len(sample); n++ {
		if last := sample[len(sample)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				sample = sample[:len(sample)-n]
			}
			break
		}
	}
	return utf8.Valid(sample)
}

// isUTF8 reports whether a text is UTF-8, but for a few bytes. Its last character may be cut off.
func isUTF8(sample []byte) bool {
	good, bad := countUTF8(sample)
	return bad <= good/50
}

// isASCII reports whether a text has only bytes of ASCII.
func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decoded returns a reader of r as UTF-8 without a byte order mark, and its encoding, nil if it is UTF-8. name is what the user told, or "".
func decoded(r *bufio.Reader, name string) (plain io.Reader, e *Encoding, hasMark bool, err error) {
	sample, _ := r.Peek(sniffBytes) // whoever reads so far gets the error
	if name != "" {
		e, err = encodingOf(name)
	} else {
		e, _, err = encodingIn(sample)
	}
	if err != nil {
		return nil, nil, false, err
	}
	if mark, of := markOf(sample); mark != "" && (e == nil && of == nil || e != nil && of != nil && e.of == of.of || of != nil && e == utf16LE) {
		r.Discard(len(mark))
		e, hasMark = of, of == nil
	}
	if e == nil {
		return r, nil, hasMark, nil
	}
	return transform.NewReader(r, e.of.NewDecoder()), e, false, nil
}

// htmlEncoding returns the encoding that a page tells in its head, or "" if it tells none, or is UTF-8 all the same.
func htmlEncoding(sample []byte) string {
	if isWholeUTF8(sample) {
		return ""
	}
	_, name, _ := charset.DetermineEncoding(sample[:min(len(sample), 1024)], "")
	if name == "utf-8" || name == "windows-1252" { // which it is not, or which it also says of a page that tells none
		return ""
	}
	return name
}

// An otherEncodingError is that of a line which is not in the encoding of the lines before it.
type otherEncodingError struct{ was, is string }

func (e *otherEncodingError) Error() string {
	return fmt.Sprintf("this line is %s, but the lines before it are %s; convert the file to one encoding, or set --encoding", e.is, e.was)
}

// A lineDecoder decodes lines of files whose encoding is not UTF-8, or is not known as long as there is only ASCII.
type lineDecoder struct {
	s       *Source
	isTold  bool // by the user
	isOpen  bool // there was only ASCII so far
	decoder *encoding.Decoder
	isLossy bool // the last line had bytes that are not of the encoding
}

// line returns a line as UTF-8. behind is the line and what was read behind it.
func (d *lineDecoder) line(line, behind []byte) ([]byte, error) {
	d.isLossy = false
	if isASCII(line) {
		return line, nil
	}
	if d.isOpen {
		e, _, err := encodingIn(behind)
		if err != nil {
			return nil, err
		}
		d.isOpen = false
		d.s.use(e)
		if e != nil {
			d.decoder = e.of.NewDecoder()
		}
	}
	if d.decoder == nil {
		return line, nil
	}
	if !d.isTold && d.looksUTF8(line) {
		return nil, &otherEncodingError{d.s.Encoding.Name, "UTF-8"}
	}
	text, err := d.decoder.Bytes(line)
	d.isLossy = bytes.Contains(text, []byte("\uFFFD")) && !bytes.Contains(line, []byte("\uFFFD"))
	return text, err
}

// isNone reports whether lines are UTF-8 and need no decoder. It does not decide what the encoding is.
func (d *lineDecoder) isNone(lines []byte) bool {
	return d == nil || d.decoder == nil && (!d.isOpen || isASCII(lines))
}

// looksUTF8 reports whether a line is UTF-8, and is more likely a text as that than in the encoding of the file: of Chinese in GB18030, one
// character of five is UTF-8 by chance.
func (d *lineDecoder) looksUTF8(line []byte) bool {
	if !utf8.Valid(line) || utf8.RuneCount(line) > len(line)-2 {
		return false
	}
	for len(line) > mostCompared || !utf8.Valid(line) {
		line = line[:min(len(line)-1, mostCompared)]
	}
	text, err := d.decoder.Bytes(line)
	inUTF8, _ := costOf(string(line), allLanguages(), nil)
	inOther, _ := costOf(string(text), languagesOf(d.s.Encoding), nil)
	return err != nil || inUTF8+sureCost < inOther
}

// mostCompared is how many bytes of a line are compared.
const mostCompared = 1 << 10

// use has a source be read in an encoding, which is noted.
func (s *Source) use(e *Encoding) {
	if s.Encoding = e; e != nil {
		s.Note("read as %s", e.Name)
	}
}
