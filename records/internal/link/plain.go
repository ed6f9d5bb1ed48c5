package link

import (
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// This file writes values so that what means the same is written alike: lower case, letters without marks, and nothing else but digits and single spaces.

// spelled has letters that have no decomposition, as they are written without them.
var spelled = map[rune]string{'ß': "ss", 'ł': "l", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'æ': "ae", 'œ': "oe", 'ı': "i", 'ħ': "h"}

// plain returns a value without case, marks and punctuation. It drops apostrophes, and turns everything else that is not a letter or digit into a space.
func plain(s string) string {
	var w writer
	w.to.Grow(len(s))
	for _, r := range s {
		w.add(r)
	}
	return w.to.String()
}

// A writer writes a plain value.
type writer struct {
	to    strings.Builder
	space bool // before the next character
}

// write writes a character that is plain.
func (w *writer) write(r rune) {
	if w.space && w.to.Len() > 0 {
		w.to.WriteByte(' ')
	}
	w.space = false
	w.to.WriteRune(r)
}

// add writes any character plainly.
func (w *writer) add(r rune) {
	switch {
	case r >= 'A' && r <= 'Z':
		w.write(r + 'a' - 'A')
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		w.write(r)
	case r == '\'' || r == '’':
	case r < utf8.RuneSelf:
		w.space = true
	default:
		w.addOther(r)
	}
}

// addOther writes a character that is not ASCII.
func (w *writer) addOther(r rune) {
	if f := ucd.Fold(r); f != r {
		w.add(f)
		return
	}
	if text, ok := spelled[r]; ok {
		for _, x := range text {
			w.write(x)
		}
		return
	}
	parts := ucd.Decompose(r, ucd.NFKC)
	switch {
	case ucd.CombiningClass(r) != 0:
	case parts != "" && parts != string(r):
		for _, x := range parts {
			w.add(x)
		}
	case ucd.Props(r)&ucd.ClassMask == ucd.Separator:
		w.space = true
	default:
		w.write(r)
	}
}

// isHan reports whether a character is a word of its own.
func isHan(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000
}

// appendWords cuts a plain value into words: runs of letters, runs of digits, and single characters of Chinese and Japanese.
func appendWords(all []string, s string) []string {
	begin := -1
	var last byte
	end := func(i int) {
		if begin >= 0 {
			all = append(all, s[begin:i])
		}
		begin = -1
	}
	for i, r := range s {
		kind := byte('l')
		switch {
		case r == ' ':
			end(i)
			last = 0
			continue
		case r >= '0' && r <= '9':
			kind = 'd'
		case isHan(r):
			end(i)
			all = append(all, s[i:i+utf8.RuneLen(r)])
			last = 0
			continue
		}
		if kind != last {
			end(i)
		}
		if begin < 0 {
			begin = i
		}
		last = kind
	}
	end(len(s))
	return all
}
