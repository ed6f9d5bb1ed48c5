package link

import (
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// This file writes values so that what means the same is written alike: lower case, letters without marks, and nothing else but digits and single spaces.

// spelled has letters that have no decomposition, as they are written without them.
var spelled = map[rune]string{'ß': "ss", 'ł': "l", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'æ': "ae", 'œ': "oe", 'ı': "i", 'ħ': "h"}

// plain returns a value without case, marks and punctuation. An apostrophe or a point between letters disappears; everything else that is no letter
// and no digit is a space.
func plain(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	write := func(r rune) {
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	var one func(r rune)
	one = func(r rune) {
		if r < utf8.RuneSelf {
			switch {
			case r >= 'A' && r <= 'Z':
				write(r + 'a' - 'A')
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
				write(r)
			case r == '\'':
			default:
				space = true
			}
			return
		}
		if r == '’' || ucd.CombiningClass(r) != 0 {
			return
		}
		if f := ucd.Fold(r); f != r {
			one(f)
			return
		}
		if text, ok := spelled[r]; ok {
			for _, x := range text {
				write(x)
			}
			return
		}
		if parts := ucd.Decompose(r, ucd.NFKC); parts != "" {
			for _, x := range parts {
				if x != r {
					one(x)
				}
			}
			return
		}
		if ucd.Props(r)&ucd.ClassMask == ucd.Separator {
			space = true
			return
		}
		write(r)
	}
	for _, r := range s {
		one(r)
	}
	return b.String()
}

// isHan reports whether a character is a word of its own.
func isHan(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000
}

// words cuts a plain value into words: runs of letters, runs of digits, and single characters of Chinese and Japanese.
func words(s string) (all []string) {
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
