package chinese

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/ucd"
)

// The dictionary has composed characters, so sentences are looked up in Normalization Form C. This
// file puts them into it, and remembers where they come from.

// compose returns a sentence in Normalization Form C, and where each byte of it stands in text: a
// character that is composed of several, or put into order, ends where the last of them ends. at is
// nil if nothing changes.
func compose(text string) (composed string, at []int) {
	if isComposed(text) {
		return text, nil
	}
	var out []byte
	at = append(at, 0)
	for i := 0; i < len(text); {
		// A character, and the marks and finals that combine with it.
		from, done := i, len(out)
		_, size := utf8.DecodeRuneInString(text[i:])
		for i += size; i < len(text); i += size {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if !combines(text[from:i], r) {
				break
			}
		}
		whole := lex.Bytes(text[from:i])
		out = ucd.AppendNormalized(out, whole, ucd.NFC)
		isSame := string(out[done:]) == string(whole)
		for n := 1; n <= len(out)-done; n++ {
			if isSame {
				at = append(at, from+n)
			} else {
				at = append(at, i)
			}
		}
	}
	return lex.String(out), at
}

// combines reports whether a character belongs to the one before it, which has its marks.
func combines(before string, r rune) bool {
	switch {
	case ucd.Props(r)&ucd.Combines == 0:
		return false
	case ucd.CombiningClass(r) != 0:
		return true
	}
	last, _ := utf8.DecodeLastRune(ucd.AppendNormalized(nil, lex.Bytes(before), ucd.NFC))
	_, ok := ucd.Compose(last, r)
	return ok
}

// isComposed reports whether a text certainly is in Normalization Form C. Nearly all are.
func isComposed(text string) bool {
	b := lex.Bytes(text)
	for i := 0; i < len(b); {
		switch {
		case b[i] < utf8.RuneSelf:
			i++
		case lex.IsHan(b[i:]):
			i += 3
		default:
			r, size := utf8.DecodeRune(b[i:])
			if p := ucd.Props(r); p&ucd.Combines != 0 || p&ucd.Folds != 0 && ucd.Decompose(r, ucd.NFC) != "" {
				return false
			}
			i += size
		}
	}
	return true
}
