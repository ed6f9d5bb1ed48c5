package lex

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
