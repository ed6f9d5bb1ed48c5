package clean

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// appendMasked appends a line with addresses, dates and numbers treated as n says.
// Every matcher looks no farther than what it finds, or a bounded number of bytes,
// and begins only where nothing of its kind goes on, so the time is linear in the
// line.
func (n *Steps) appendMasked(dst, line []byte) []byte {
	// Most lines have nothing of most kinds.
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
	copied := 0                        // what of line is in dst
	before := lex.Class(lex.Separator) // of the character before i
	for i := 0; i < len(line); {       // at the beginning of a character
		c := line[i]
		if c >= utf8.RuneSelf {
			_, class, size := lex.Next(line, i)
			i += size
			if class != lex.Ignored && class != lex.Mark {
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
		if size == 0 {
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

// containsWWW reports whether a line has "www." in any case.
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

// wordEnds reports whether no letter or digit follows at b[i].
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

// isLocal reports whether c may be in the local part of an e-mail address.
func isLocal(c byte) bool { return lex.IsAlnum(c) || strings.IndexByte("._%+-", c) >= 0 }

// emailAt returns the length of the e-mail address whose local part has its first
// letter or digit at line[i], or 0.
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
	end, dots := at+1, 0
	for start := end; ; start = end + 1 {
		end = labelEnd(b, start)
		if end == start {
			end = start - 1 // what follows the last dot is no label
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

// startsHere reports whether only characters such as _ and - are between line[i]
// and what is no part of an e-mail address.
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

// labelEnd returns where a label of a domain name ends that starts at b[i].
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

// urlAt returns the length of the address of a page that starts at line[i], a
// scheme and ://, or www. and more, or 0. It ends before white space, quotes,
// brackets that close without having been opened, punctuation at its end, and
// everything beyond ASCII, for Chinese goes on without a space.
func urlAt(line []byte, i int) int {
	b, start := line[i:], 0
	if len(b) > 4 && bytes.EqualFold(b[:4], []byte("www.")) {
		start = 4
	} else {
		n := 0
		for n < min(len(b), 16) && (lex.IsAlnum(b[n]) || b[n] == '+' && n > 0 && lex.IsAlnum(b[n-1])) { // git+ssh
			n++
		}
		if !lex.IsAlpha(b[0]) || !bytes.HasPrefix(b[n:], []byte("://")) {
			return 0
		}
		start = n + 3
	}
	end, open := start, 0
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

// numberAt returns the length of the number that starts at line[i], or 0: digits,
// with single points, commas or apostrophes between them. Its parts are numbers of
// their own if it is longer than maxNumber.
func numberAt(line []byte, i int) int {
	b := line[i:]
	if !lex.IsDigit(b[0]) || i > 0 && line[i-1] == '_' {
		return 0
	}
	if i > 1 && lex.IsAlnum(line[i-2]) && strings.IndexByte(".,'", line[i-1]) >= 0 {
		return 0 // of a word such as v1.2
	}
	if i > 2 && line[i-2]|0x20 == 'e' && (line[i-1] == '-' || line[i-1] == '+') && lex.IsDigit(line[i-3]) {
		return 0 // of 3.14e-10
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
