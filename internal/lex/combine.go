package lex

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// Canonically equivalent texts are the same text: é is one character, or e and an accent, as macOS,
// PDF and some scanners write it. This file makes the lexer blind to the difference: units are in
// Normalization Form C after folding, whichever form the text is in.
//
// Only a few characters may change what is before them, or decompose for good: marks, and the
// vowels and finals of decomposed Hangul (ucd.Combines). The lexer hands these to combine, one by
// one. All others go the fast ways of units.go, so a text without such characters costs nothing.
// What combine does depends on nothing but the buffer, so a text may be cut into pieces anywhere.
//
// Two kinds of equivalent texts may differ: those with words of nearly MaxWord bytes and more, and
// those with more than 30 marks on a character.

// combine takes in a folded character that may combine with others.
func (u *units) combine(r rune, pos int) {
	p := ucd.Props(r)
	if p&ucd.Parts == 0 {
		u.attach(r, p, pos)
		return
	}
	for _, r := range ucd.Decompose(r, ucd.NFC) {
		u.attach(r, ucd.Props(r), pos)
	}
}

// attach takes in a character that does not decompose, with its properties. It composes with the
// unit being read, or is treated by its class.
func (u *units) attach(r rune, p uint8, pos int) {
	class := Class(p & ucd.ClassMask)
	if u.used > u.open {
		if ccc := ucd.CombiningClass(r); ccc != 0 {
			u.insert(r, ccc, p&ucd.Composes != 0)
			return
		}
		last, size := utf8.DecodeLastRune(u.buf[u.open:u.used])
		if whole, ok := ucd.Compose(last, r); ok && u.replace(u.used-size, whole) {
			return
		}
	}
	switch class {
	case Separator:
		u.closeUnit(pos)
	case Mark:
		if u.used > u.open && u.fits(r) {
			u.put(r, pos)
		}
	case Letter, Single:
		if u.chars || u.lone || class == Single || !u.fits(r) {
			u.closeUnit(pos)
		}
		u.put(r, pos)
		u.lone = class == Single
	}
}

// closeUnit closes the word or the character being read.
func (u *units) closeUnit(pos int) {
	if u.chars {
		u.close(pos)
		return
	}
	u.closeWord(pos)
}

// replace puts one character in the place of what follows in the unit being read. It reports
// whether the unit is not too long then.
func (u *units) replace(from int, r rune) bool {
	if from-u.open+utf8.RuneLen(r) > MaxWord {
		return false
	}
	u.used = from + utf8.EncodeRune(u.buf[from:], r)
	return true
}

// insert takes in a mark of the combining class ccc, if the unit being read has room for it. It puts
// the marks of the last character into canonical order, and composes them. composes says that the
// mark composes with some character.
func (u *units) insert(r rune, ccc uint8, composes bool) {
	if !u.fits(r) {
		return
	}
	last, size := utf8.DecodeLastRune(u.buf[u.open:u.used])
	from := u.used - size
	class := uint8(0)
	if ucd.Props(last)&ucd.Combines != 0 {
		class = ucd.CombiningClass(last)
	}
	switch {
	case class == ccc, class < ccc && !composes: // a mark of its class blocks it, or it composes with nothing
		u.used += utf8.EncodeRune(u.buf[u.used:], r)
		return
	case class == 0 && r != dotAbove && lastClass(last) <= ccc: // it comes last, behind a single character
		if whole, ok := ucd.Compose(last, r); !ok || !u.replace(from, whole) {
			u.used += utf8.EncodeRune(u.buf[u.used:], r)
		}
		return
	}
	for class != 0 && from > u.open {
		last, size = utf8.DecodeLastRune(u.buf[u.open:from])
		class = ucd.CombiningClass(last)
		from -= size
	}
	tail := u.buf[from:u.used]
	if r == dotAbove && hasDot(tail) {
		return
	}
	var decomposed [MaxWord + utf8.UTFMax]byte
	var composed [2 * len(decomposed)]byte
	n := copy(decomposed[:], tail)
	n += utf8.EncodeRune(decomposed[n:], r)
	if to := ucd.AppendNormalized(composed[:0], decomposed[:n], ucd.NFC); from-u.open+len(to) <= MaxWord {
		u.used = from + copy(u.buf[from:], to)
	}
}

// lastClass returns the combining class of the last part of a character, 0 if it does not decompose.
func lastClass(r rune) uint8 {
	if r < utf8.RuneSelf {
		return 0
	}
	last, _ := utf8.DecodeLastRuneInString(ucd.Decompose(r, ucd.NFC))
	return ucd.CombiningClass(last)
}

// dotAbove is what makes İ of I. It folds to i, which has the dot already.
const dotAbove = 0x307

// hasDot reports whether a character with its marks is an i with nothing above it but its dot.
func hasDot(character []byte) bool {
	const above = 230 // the combining class
	first, size := utf8.DecodeRune(character)
	parts := ucd.Decompose(first, ucd.NFC)
	if first != 'i' && (parts == "" || parts[0] != 'i') {
		return false
	}
	for _, r := range parts + string(character[size:]) {
		if ucd.CombiningClass(r) == above {
			return false
		}
	}
	return true
}

// Fold returns s as the lexer would spell it inside a token: every letter, mark and emoji folded, decomposed
// characters composed, and ignored characters removed. Unlike the lexer it keeps separators, byte for byte, so
// invalid UTF-8 survives too. Use it to prepare words that are compared with tokens, such as stop words.
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
