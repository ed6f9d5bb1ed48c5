package clean

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// This file finds e-mail addresses, URLs and numbers in a line; date.go finds dates. All of them
// are written by hand rather than as regular expressions, because they need context on both sides
// and must take linear time on hostile input.
//
// A matcher xAt(line, i) is asked about each position i where a word of ASCII letters and digits
// begins. It returns the length of what it finds, or 0. The whole scan is linear: behind a match it
// goes on after the match, and a matcher that fails has looked at a bounded number of bytes, or
// else at punctuation only, where no word begins. A matcher also refuses to begin in the middle of
// something of its own kind.

// appendMasked appends a line to dst with addresses, dates and numbers treated as n says.
func (n *Steps) appendMasked(dst, line []byte) []byte {
	copied := 0 // bytes of line that are in dst, or replaced
	n.maskerOf(line).each(line, func(from, to int, mask string) {
		dst = append(append(dst, line[copied:from]...), mask...)
		copied = to
	})
	return append(dst, line[copied:]...)
}

// Addresses calls found for each web and mail address of a text, with its bytes from..to, in order.
func Addresses(text string, found func(from, to int)) {
	n := Steps{URLs: Mask, Emails: Mask}
	all := lex.Bytes(text)
	if n.maskerOf(all) == (masker{}) { // most texts have none
		return
	}
	for start := 0; start < len(all); {
		end := len(all)
		if i := bytes.IndexByte(all[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		line := all[start:end]
		n.maskerOf(line).each(line, func(from, to int, _ string) { found(start+from, start+to) })
		start = end
	}
}

// A masker says how to treat the kinds of things that one line may have. The zero value is for a
// line that stays as it is.
type masker struct{ emails, urls, dates, numbers Treatment }

// maskerOf returns what n says about the kinds that line may have. Most lines have nothing of most
// kinds, and its tests are fast and rule out whole kinds: an e-mail address has an @, a URL has ://
// or www., and a date or a number has a digit.
func (n *Steps) maskerOf(line []byte) masker {
	m := masker{n.Emails, n.URLs, n.Dates, n.Numbers}
	if bytes.IndexByte(line, '@') < 0 {
		m.emails = Keep
	}
	if !bytes.Contains(line, []byte("://")) && !containsWWW(line) {
		m.urls = Keep
	}
	if (m.dates != Keep || m.numbers != Keep) && !slices.ContainsFunc(line, lex.IsDigit) {
		m.dates, m.numbers = Keep, Keep
	}
	return m
}

// each calls found for each match in a line, in order, with its bytes from..to and what to write in
// their place. A match must begin where no letter or digit precedes, so mp3 is a word. A Han
// character may precede, since it is a word of its own.
func (m masker) each(line []byte, found func(from, to int, mask string)) {
	if m == (masker{}) {
		return
	}
	before := lex.Class(lex.Separator) // class of the character before i
	for i := 0; i < len(line); {       // i is at the beginning of a character
		c := line[i]
		if c >= utf8.RuneSelf {
			_, class, size := lex.Next(line, i)
			i += size
			if class != lex.Ignored && class != lex.Mark { // a mark or soft hyphen ends no word
				before = class
			}
			continue
		}
		if !lex.IsAlnum(c) {
			before = lex.Separator
			i++
			continue
		}
		size, mask := 0, ""
		if before != lex.Letter {
			size, mask = m.at(line, i)
		}
		if size == 0 { // an ordinary word: skip the rest of it
			before = lex.Letter
			for i++; i < len(line) && lex.IsAlnum(line[i]); i++ {
			}
			continue
		}
		found(i, i+size, mask)
		i += size
		before = lex.Separator
	}
}

// at tries the matchers at line[i], where a word begins, in the order e-mail, URL, date, number. It
// returns the length of the first match and what to write in its place, or 0.
func (m masker) at(line []byte, i int) (size int, mask string) {
	how := Keep
	if m.emails != Keep {
		size, mask, how = emailAt(line, i), "<email>", m.emails
	}
	if size == 0 && m.urls != Keep {
		size, mask, how = urlAt(line, i), "<url>", m.urls
	}
	if size == 0 && m.dates != Keep {
		size, mask, how = dateAt(line, i), "<date>", m.dates
	}
	if size == 0 && m.numbers != Keep {
		size, mask, how = numberAt(line, i), "<number>", m.numbers
	}
	if how == Remove {
		mask = " "
	}
	return size, mask
}

// containsWWW reports whether a line contains "www." in upper or lower case. It looks for the dot
// first, because dots are rare and [bytes.IndexByte] is fast.
func containsWWW(line []byte) bool {
	for {
		dot := bytes.IndexByte(line, '.')
		if dot < 0 {
			return false
		}
		if dot >= 3 && bytes.EqualFold(line[dot-3:dot], []byte("www")) {
			return true
		}
		line = line[dot+1:]
	}
}

// wordEnds reports whether there is no letter or digit at b[i], of any script. The end of b ends a
// word too.
func wordEnds(b []byte, i int) bool {
	if i >= len(b) {
		return true
	}
	if b[i] < utf8.RuneSelf {
		return !lex.IsAlnum(b[i])
	}
	_, class, _ := lex.Next(b, i)
	return class != lex.Letter
}

// isLocal reports whether c may be in the local part of an e-mail address, the part before the @.
func isLocal(c byte) bool { return lex.IsAlnum(c) || strings.IndexByte("._%+-", c) >= 0 }

// emailAt returns the length of the e-mail address at line[i], or 0. line[i] must be the first
// letter or digit of the local part. The local part has at most 64 bytes. The host has two to nine
// labels separated by dots, and the last one begins with a letter, so a@1.2.3.4 is not an address.
func emailAt(line []byte, i int) int {
	if i > 0 && isLocal(line[i-1]) && !startsHere(line, i) {
		return 0
	}
	b := line[i:]
	at := 0
	for at < min(len(b), 64) && isLocal(b[at]) {
		at++
	}
	if at >= len(b) || b[at] != '@' {
		return 0
	}
	end := hostEnd(b, at+1)
	host := b[at+1 : max(end, at+1)]
	if end < len(b) && lex.IsAlnum(b[end]) { // a label that is too long
		return 0
	}
	if dot := bytes.LastIndexByte(host, '.'); dot < 1 || !lex.IsAlpha(host[dot+1]) {
		return 0
	}
	return end
}

// hostEnd returns the end of the at most nine labels, with single dots between them, that start at
// b[i]. A dot behind the last label is not part of the host. If there is no label, the result is
// i−1.
func hostEnd(b []byte, i int) int {
	for dots := 0; ; dots++ {
		end := labelEnd(b, i)
		if end == i {
			return i - 1 // no label follows the last dot, which ends a sentence perhaps
		}
		if end >= len(b) || b[end] != '.' || dots == 8 {
			return end
		}
		i = end + 1
	}
}

// startsHere reports whether line[i] is the first letter or digit of a local part: before it there
// are only characters such as _ and -, and then something that cannot be in a local part. It looks
// at most eight bytes back, to keep the scan linear.
func startsHere(line []byte, i int) bool {
	for n := 0; n < 8; n++ {
		if i--; i < 0 || !isLocal(line[i]) {
			return true
		}
		if lex.IsAlnum(line[i]) {
			return false
		}
	}
	return false
}

// labelEnd returns the end of the label of a domain name that starts at b[i], or i if there is
// none. A label consists of letters, digits and hyphens, and neither begins nor ends with a hyphen.
// Only 64 bytes are looked at.
func labelEnd(b []byte, i int) int {
	end := i
	for end < min(len(b), i+64) && (lex.IsAlnum(b[end]) || b[end] == '-' && end > i) {
		end++
	}
	for end > i && b[end-1] == '-' {
		end--
	}
	return end
}

// urlAt returns the length of the URL that starts at line[i], or 0. A URL begins with www., or with
// a scheme of at most 16 bytes and ://. It ends before white space, control characters, "<>\^`{|}
// and a closing ) or ] that it has not opened, as in (see http://a.b). Punctuation at its end
// belongs to the sentence and not to the URL. It also ends before everything beyond ASCII, because
// Chinese text goes on without a space.
func urlAt(line []byte, i int) int {
	b := line[i:]
	start := addressStart(b)
	if start == 0 {
		return 0
	}
	end := addressEnd(b, start)
	for end > start && strings.IndexByte(".,;:!?'([*_", b[end-1]) >= 0 {
		end--
	}
	if end == start {
		return 0
	}
	return end
}

// addressStart returns the length of the www. or the scheme with :// that b begins with, or 0. b
// must begin with a letter or a digit.
func addressStart(b []byte) int {
	if len(b) > 4 && bytes.EqualFold(b[:4], []byte("www.")) {
		return 4
	}
	// A scheme may have + inside, as in git+ssh.
	n := 0
	for n < min(len(b), 16) && (lex.IsAlnum(b[n]) || b[n] == '+' && n > 0 && lex.IsAlnum(b[n-1])) {
		n++
	}
	if !lex.IsAlpha(b[0]) || !bytes.HasPrefix(b[n:], []byte("://")) {
		return 0
	}
	return n + 3
}

// addressEnd returns the end of the characters that a URL may have, from b[i] on. The punctuation
// at the end is still included.
func addressEnd(b []byte, i int) int {
	open := 0 // ( and [ that have not been closed
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c <= ' ' || c >= 0x7F, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return i
		case c == '(' || c == '[':
			open++
		case c == ')' || c == ']':
			if open--; open < 0 {
				return i
			}
		}
	}
	return i
}

// maxNumber is the longest number, in bytes.
const maxNumber = 256

// numberAt returns the length of the number that starts at line[i], or 0. A number consists of
// digits with single points, commas or apostrophes between them. It must be a word of its own:
// neither a letter nor an underscore may follow, and it must not be the tail of a word such as v1.2
// or 3.14e-10. A number is cut after maxNumber bytes, so that the matcher looks at a bounded number
// of bytes. A longer run of digits is found as several numbers.
func numberAt(line []byte, i int) int {
	b := line[i:]
	if !lex.IsDigit(b[0]) || isTail(line, i) {
		return 0
	}
	end := 1
	for end < min(len(b), maxNumber) {
		if lex.IsDigit(b[end]) {
			end++
		} else if strings.IndexByte(".,'", b[end]) >= 0 && end+1 < len(b) && lex.IsDigit(b[end+1]) {
			end += 2
		} else {
			break
		}
	}
	if end < maxNumber && (!wordEnds(b, end) || end < len(b) && b[end] == '_') {
		return 0
	}
	return end
}

// isTail reports whether the number at line[i] is only the tail of a word.
func isTail(line []byte, i int) bool {
	switch {
	case i > 0 && line[i-1] == '_':
		return true
	case i > 1 && lex.IsAlnum(line[i-2]) && strings.IndexByte(".,'", line[i-1]) >= 0:
		return true // v1.2
	case i > 2 && line[i-2]|0x20 == 'e' && (line[i-1] == '-' || line[i-1] == '+'):
		return lex.IsDigit(line[i-3]) // the exponent of 3.14e-10
	}
	return false
}
