package lex

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// Fold returns s as the lexer would spell it inside a token: every letter, mark and emoji folded,
// what is decomposed composed, and ignored characters removed. Unlike the lexer it keeps separators, byte for byte, so invalid
// UTF-8 survives too. Use it to prepare words that are compared with tokens, such as stop words.
//
// The result may be longer than s, because the folded form of a character can take more bytes.
func Fold(s string) string {
	b := Bytes(s)
	out := make([]byte, 0, len(s)+utf8.UTFMax)
	composed := true
	last := 0 // where the character begins in out that marks may follow
	for i := 0; i < len(b); {
		r, class, size := next(b, i)
		switch class {
		case Ignored:
		case Separator:
			out = append(out, b[i:i+size]...)
		case Letter, Single, Mark:
			last = len(out)
			out = utf8.AppendRune(out, r)
		default:
			composed = false
			if ucd.CombiningClass(r) == 0 {
				last = len(out)
			}
			if r != dotAbove || last == len(out) || !hasDot(out[last:]) {
				out = utf8.AppendRune(out, r)
			}
		}
		i += size
	}
	if !composed {
		out = ucd.AppendNormalized(nil, out, ucd.NFC)
	}
	return String(out)
}
