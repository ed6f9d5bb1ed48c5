package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// This file finds out in which encoding a text is, from its first megabyte, and decodes it to UTF-8.

// sniffBytes is how much of a file is looked at.
const sniffBytes = 1 << 20

// decoded returns a reader of r as UTF-8 without a byte order mark, the name of the encoding if it is another one,
// and whether there was a mark of UTF-8. name is what the user told, or "".
func decoded(r *bufio.Reader, name string) (plain io.Reader, other string, hasMark bool, err error) {
	sample, _ := r.Peek(sniffBytes) // whoever reads so far gets the error
	from, other := encoding.Encoding(nil), ""
	if name != "" {
		if from, other, err = encodingOf(name); err != nil {
			return nil, "", false, err
		}
	} else {
		from, other = detect(sample)
	}
	if from == nil {
		if hasMark = bytes.HasPrefix(sample, []byte("\ufeff")); hasMark {
			r.Discard(3)
		}
		return r, "", hasMark, nil
	}
	return transform.NewReader(r, from.NewDecoder()), other, false, nil
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

// encodingOf returns an encoding by one of its names, or nil for UTF-8.
func encodingOf(name string) (encoding.Encoding, string, error) {
	switch strings.ToLower(name) {
	case "utf-8", "utf8":
		return nil, "", nil
	case "utf-16", "utf16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "UTF-16", nil
	case "gbk", "gb2312", "gb18030": // each is a part of the next
		return simplifiedchinese.GB18030, "GB18030", nil
	}
	if strings.EqualFold(name, "hz-gb-2312") {
		return simplifiedchinese.HZGB2312, "HZ-GB-2312", nil
	}
	e, err := htmlindex.Get(name)
	if err != nil || e == encoding.Replacement { // which makes one sign of any text
		return nil, "", fmt.Errorf("--encoding %q is not known; some are utf-8, utf-16, gb18030, big5, shift_jis, euc-kr, windows-1252", name)
	}
	return e, strings.ToUpper(name), nil
}

// detect returns the encoding of a text by its beginning, or nil for UTF-8.
func detect(sample []byte) (encoding.Encoding, string) {
	for _, mark := range []struct {
		bytes, name string
		encoding    encoding.Encoding
	}{
		{"\xef\xbb\xbf", "", nil},
		{"\xff\xfe\x00\x00", "UTF-32LE", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)},
		{"\x00\x00\xfe\xff", "UTF-32BE", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},
		{"\xff\xfe", "UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		{"\xfe\xff", "UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
	} {
		if bytes.HasPrefix(sample, []byte(mark.bytes)) {
			return mark.encoding, mark.name
		}
	}
	// UTF-16 without a mark has a zero byte in every character of ASCII.
	if zeros := [2]int{}; len(sample) >= 4 {
		for i, c := range sample {
			if c == 0 {
				zeros[i%2]++
			}
		}
		switch half := len(sample) / 2; {
		case zeros[1] > half/5 && zeros[0] < half/50:
			return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16LE"
		case zeros[0] > half/5 && zeros[1] < half/50:
			return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16BE"
		}
	}
	if isUTF8(sample) {
		return nil, ""
	}
	// What is left is mostly Chinese. The detector is not sure about short texts, but a text in another encoding
	// is hardly ever valid GB18030 with common characters.
	if isGB(sample) {
		return simplifiedchinese.GB18030, "GB18030"
	}
	if best, err := chardet.NewTextDetector().DetectBest(sample[:min(len(sample), 1<<16)]); err == nil && best.Confidence >= 50 {
		if e, err := htmlindex.Get(best.Charset); err == nil && !strings.EqualFold(best.Charset, "utf-8") {
			return e, best.Charset
		}
	}
	return nil, ""
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
	good, bad := 0, 0
	for i := 0; i < len(sample); {
		if sample[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 {
			if len(sample)-i >= utf8.UTFMax {
				bad++
			}
		} else {
			good++
		}
		i += n
	}
	return bad <= max(good/50, 2)
}

// isGB reports whether a text is GB18030 with mostly common characters of Chinese.
func isGB(sample []byte) bool {
	if n := len(sample); n == sniffBytes { // the last character may be cut off
		sample = sample[:slices.Index(append(slices.Clone(sample[n-100:]), '\n'), '\n')+n-100]
	}
	text, err := simplifiedchinese.GB18030.NewDecoder().Bytes(sample)
	if err != nil {
		return false
	}
	common, other := 0, 0
	gbk := simplifiedchinese.GBK.NewEncoder()
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			continue
		}
		if r == utf8.RuneError {
			return false
		}
		// The first level of GB 2312 has the 3,755 most common characters, B0A1 to D7F9; A1 to A3 has punctuation.
		if b, err := gbk.Bytes([]byte(string(r))); err == nil && len(b) == 2 && b[1] >= 0xA1 && (b[0] >= 0xB0 && b[0] <= 0xD7 || b[0] >= 0xA1 && b[0] <= 0xA3) {
			common++
		} else {
			other++
		}
	}
	return common > 4*other
}
