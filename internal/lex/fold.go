package lex

import (
	"unicode/utf8"
)

// Fold returns s as the lexer would spell it inside a token: every letter, mark and emoji folded,
// and ignored characters removed. Unlike the lexer it keeps separators, byte for byte, so invalid
// UTF-8 survives too. Use it to prepare words that are compared with tokens, such as stop words.
//
// The result may be longer than s, because the folded form of a character can take more bytes.
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
