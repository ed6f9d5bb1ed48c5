package lex

import (
	"encoding/binary"
	"unicode/utf8"
)

// Classes of ASCII bytes. They are plain comparisons rather than calls into package unicode, so
// that they inline and never follow the Unicode tables of the toolchain. A byte of 128 or more is
// in none of the classes, so callers may test the bytes of UTF-8 text directly. The subtractions
// work on unsigned bytes: a byte below the first one of a range wraps around and fails the
// comparison.

// IsSpace reports whether c is a space, or one of \t, \n, \v, \f and \r.
func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// IsDigit reports whether c is one of 0 to 9.
func IsDigit(c byte) bool { return c-'0' < 10 }

// IsAlpha reports whether c is an ASCII letter. Setting bit 0x20 turns a capital into its small
// letter.
func IsAlpha(c byte) bool { return c|0x20-'a' < 26 }

// IsAlnum reports whether c is an ASCII digit or letter.
func IsAlnum(c byte) bool { return IsDigit(c) || IsAlpha(c) }

// Count returns the number of characters of a text, as [utf8.RuneCountInString] does: each byte that is none
// counts as one. It is faster where characters are ASCII.
func Count(text string) (n int) {
	const high = 0x8080808080808080
	b := Bytes(text)
	for i := 0; i < len(b); n++ {
		if i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&high == 0 {
			n += 7
			i += 8
			continue
		}
		_, size := utf8.DecodeRune(b[i:])
		i += size
	}
	return n
}
