package lex

import (
	"unicode/utf8"
)

// Fold returns the characters of s as tokens have them.
func Fold(s string) string {
	b := Bytes(s)
	out := make([]byte, 0, len(s)+utf8.UTFMax)
	for i := 0; i < len(b); {
		r, class, size := Next(b, i)
		switch class {
		case Ignored:
		case Separator:
			out = append(out, b[i:i+size]...)
		default:
			out = utf8.AppendRune(out, r)
		}
		i += size
	}
	return String(out)
}
