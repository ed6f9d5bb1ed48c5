package clean

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/lex"
)

// This file unifies white space.

// appendSpaced appends a line with every run of white space between words replaced by one space,
// and none at its ends. If line is a later part of a long line, some says that an earlier part left
// text, and due that the earlier part ended with white space. It returns the new value of due.
func appendSpaced(dst, line []byte, some, due bool) ([]byte, bool) {
	for i := 0; i < len(line); {
		c, size := line[i], 1
		white := lex.IsSpace(c)
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(line[i:])
			white = isWideSpace(r)
		}
		if !white {
			// The space is written only now: white space at the end of a line is not followed by
			// anything, and white space at its beginning has no text before it.
			if due && some {
				dst = append(dst, ' ')
			}
			dst = append(dst, line[i:i+size]...)
			some = true
		}
		due = white
		i += size
	}
	return dst, due
}

// isWideSpace reports whether r is white space beyond ASCII. The list is frozen here, so it does
// not change with the Go toolchain.
func isWideSpace(r rune) bool {
	switch r {
	case 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
