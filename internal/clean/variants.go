package clean

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// This file replaces characters by others that write the same: those of a form of Unicode, small letters, simplified Chinese
// characters for traditional ones, the letters of Persian for those of Arabic, and Latin letters for others that look like them.
// Each changes texts that mean what they say, so none is on by default.

// appendForm appends a line in the form of Unicode.
func (n *Steps) appendForm(dst, line []byte) []byte {
	return ucd.AppendNormalized(dst, line, ucd.Form(n.Form-NFC))
}

// appendFolded appends a line with every character folded as the lexer does. Invalid UTF-8 is
// copied unchanged.
func appendFolded(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf {
			if c-'A' < 26 {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if ucd.Props(r)&ucd.Folds != 0 {
			dst = utf8.AppendRune(dst, ucd.Fold(r))
		} else {
			dst = append(dst, line[i:i+size]...)
		}
		i += size
	}
	return dst
}

// appendVariants appends a line in simplified Chinese, or with the letters of Persian and without vowel signs, or both.
func (n *Steps) appendVariants(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		if line[i] < utf8.RuneSelf {
			dst = append(dst, line[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		to := r
		if n.Simplified {
			to = ucd.Simplify(to)
		}
		if n.Arabic {
			to = persian(to)
		}
		switch {
		case to == r: // also what is not UTF-8
			dst = append(dst, line[i:i+size]...)
		case to >= 0:
			dst = utf8.AppendRune(dst, to)
		}
		i += size
	}
	return dst
}

// persian returns how Persian writes a letter of Arabic, or −1 for a vowel sign. Keyboards and fonts mix the two.
func persian(r rune) rune {
	switch {
	case r == 'ي', r == 'ى':
		return 'ی'
	case r == 'ك':
		return 'ک'
	case r >= 0x064B && r <= 0x0652, r == 0x0670: // tanwin to sukun, and the small alef
		return -1
	}
	return r
}

// appendConfusables appends a line in which Latin letters stand for those of Cyrillic and Greek that look like them, in words
// that have Latin letters too. Whoever hides a copy mixes them. Words of one script stay.
func appendConfusables(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		end, hasLatin, hasOther := word(line, i)
		if end == i {
			_, size := utf8.DecodeRune(line[i:])
			dst = append(dst, line[i:i+size]...)
			i += size
			continue
		}
		if !hasLatin || !hasOther {
			dst = append(dst, line[i:end]...)
			i = end
			continue
		}
		for i < end {
			r, size := utf8.DecodeRune(line[i:])
			if to := latin(r); to != 0 {
				dst = append(dst, to)
			} else {
				dst = append(dst, line[i:i+size]...)
			}
			i += size
		}
	}
	return dst
}

// word returns where the word ends that begins at i, and whether it has ASCII letters, and letters that look like some. It
// returns i if no letter, digit or mark is there.
func word(line []byte, i int) (end int, hasLatin, hasOther bool) {
	for end = i; end < len(line); {
		r, size := utf8.DecodeRune(line[end:])
		if class := ucd.Props(r) & ucd.ClassMask; class != ucd.Letter && class != ucd.Mark && class != ucd.Ignored || r == utf8.RuneError {
			break
		}
		if r|0x20 >= 'a' && r|0x20 <= 'z' {
			hasLatin = true
		} else if latin(r) != 0 {
			hasOther = true
		}
		end += size
	}
	return end, hasLatin, hasOther
}

// latin returns the Latin letter that a letter of Cyrillic or Greek looks like, or 0. A capital looks like the capital.
func latin(r rune) byte {
	if r < 0x370 || r > 0x52F {
		return 0
	}
	if to := lookAlike[r]; to != 0 {
		return to
	}
	if small := ucd.Fold(r); small != r && lookAlike[small] != 0 {
		return lookAlike[small] - 'a' + 'A'
	}
	return 0
}

// lookAlike has the letters of Cyrillic and Greek whose prototype is an ASCII letter in the data of Unicode Technical Standard #39
// (confusables.txt, version 13). Of capitals, it has those whose small letters look like none.
var lookAlike = map[rune]byte{
	'α': 'a', 'γ': 'y', 'ι': 'i', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'υ': 'u', 'ϱ': 'p', 'ϲ': 'c', 'ϳ': 'j',
	'а': 'a', 'г': 'r', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'ѕ': 's', 'і': 'i', 'ј': 'j', 'ѡ': 'w', 'ѵ': 'v', 'ү': 'y', 'һ': 'h',
	'ҽ': 'e', 'ӏ': 'i', 'ԁ': 'd', 'ԛ': 'q', 'ԝ': 'w',
	'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Κ': 'K', 'Μ': 'M', 'Τ': 'T', 'Χ': 'X', 'В': 'B', 'К': 'K', 'М': 'M', 'Н': 'H', 'Т': 'T',
}
