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

// appendMasked appends a line to dst with addresses, dates and numbers treated as n says. At each
// word it tries the matchers in the order e-mail, URL, date, number. A match must begin where no
// letter or digit precedes, so mp3 is a word. A Han character may precede, since it is a word of
// its own.
func (n *Steps) appendMasked(dst, line []byte) []byte {
	// Most lines have nothing of most kinds. These tests are fast and rule out whole kinds: an
	// e-mail address has an @, a URL has :// or www., and a date or a number has a digit.
	emails, urls, dates, numbers := n.Emails, n.URLs, n.Dates, n.Numbers
	if bytes.IndexByte(line, '@') < 0 {
		emails = Keep
	}
	if !bytes.Contains(line, []byte("://")) && !containsWWW(line) {
		urls = Keep
	}
	if !slices.ContainsFunc(line, lex.IsDigit) {
		dates, numbers = Keep, Keep
	}
	if emails|urls|dates|numbers == Keep {
		return append(dst, line...)
	}
	copied := 0                        // bytes of line that are in dst, or replaced
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
		size, mask, how := 0, "", Keep
		if before != lex.Letter {
			if emails != Keep {
				size, mask, how = emailAt(line, i), "<email>", emails
			}
			if size == 0 && urls != Keep {
				size, mask, how = urlAt(line, i), "<url>", urls
			}
			if size == 0 && dates != Keep {
				size, mask, how = dateAt(line, i), "<date>", dates
			}
			if size == 0 && numbers != Keep {
				size, mask, how = numberAt(line, i), "<number>", numbers
			}
		}
		if size == 0 { // an ordinary word: skip the rest of it
			before = lex.Letter
			for i++; i < len(line) && lex.IsAlnum(line[i]); i++ {
			}
			continue
		}
		if how == Remove {
			mask = " "
		}
		dst = append(append(dst, line[copied:i]...), mask...)
		i += size
		copied, before = i, lex.Separator
	}
	return append(dst, line[copied:]...)
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
	// Read labels up to the end of the host. end is behind the last label.
	end, dots := at+1, 0
	for start := end; ; start = end + 1 {
		end = labelEnd(b, start)
		if end == start {
			end = start - 1 // no label follows the last dot, which ends a sentence perhaps
			break
		}
		if end >= len(b) || b[end] != '.' || dots == 8 {
			break
		}
		dots++
	}
	host := b[at+1 : max(end, at+1)]
	if end < len(b) && lex.IsAlnum(b[end]) { // a label that is too long
		return 0
	}
	if dot := bytes.LastIndexByte(host, '.'); dot < 1 || !lex.IsAlpha(host[dot+1]) {
		return 0
	}
	return end
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
	b, start := line[i:], 0
	if len(b) > 4 && bytes.EqualFold(b[:4], []byte("www.")) {
		start = 4
	} else {
		// A scheme may have + inside, as in git+ssh.
		n := 0
		for n < min(len(b), 16) && (lex.IsAlnum(b[n]) || b[n] == '+' && n > 0 && lex.IsAlnum(b[n-1])) {
			n++
		}
		if !lex.IsAlpha(b[0]) || !bytes.HasPrefix(b[n:], []byte("://")) {
			return 0
		}
		start = n + 3
	}
	end, open := start, 0 // open counts ( and [ that have not been closed
scan:
	for ; end < len(b); end++ {
		switch c := b[end]; {
		case c <= ' ' || c >= 0x7F, strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			break scan
		case c == '(' || c == '[':
			open++
		case c == ')' || c == ']':
			if open--; open < 0 {
				break scan
			}
		}
	}
	for end > start && strings.IndexByte(".,;:!?'([*_", b[end-1]) >= 0 {
		end--
	}
	if end == start {
		return 0
	}
	return end
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
	if !lex.IsDigit(b[0]) || i > 0 && line[i-1] == '_' {
		return 0
	}
	if i > 1 && lex.IsAlnum(line[i-2]) && strings.IndexByte(".,'", line[i-1]) >= 0 {
		return 0 // part of a word such as v1.2
	}
	if i > 2 && line[i-2]|0x20 == 'e' && (line[i-1] == '-' || line[i-1] == '+') && lex.IsDigit(line[i-3]) {
		return 0 // the exponent of 3.14e-10
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
