package lex

import (
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// EachRun calls take with the runs of units that a level has as features, and returns the number of
// units. What it gives may not be kept.
func (b *Batch) EachRun(text string, chars bool, take func(feature []byte)) (units int) {
	b.Reset(chars, 3)
	for b.Read(text, true); b.Next(); {
		if b.n < 3 { // a short text is one feature
			take(b.buf[b.start[0]:b.end[b.n-1]])
			return b.n
		}
		first := b.isSelf(b.first)
		for i := b.first; i < b.limit; i++ {
			second := b.isSelf(i + 1)
			end := b.end[i+2]
			if first && second {
				end = b.end[i+1]
			}
			take(b.buf[b.start[i]:end])
			first = second
		}
		units += b.limit - b.first
	}
	if units > 0 { // the last two
		if i := b.first; b.isSelf(i) && b.isSelf(i+1) {
			take(b.buf[b.start[i]:b.end[i+1]])
		}
		units += 2
	}
	return units
}

// isSelf reports whether a unit is a character that is a word of its own.
func (u *units) isSelf(i int) bool {
	b := u.buf[u.start[i]:u.end[i]]
	if IsHan(b) {
		return true
	}
	if b[0] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRune(b)
	return Class(ucd.Props(r)&ucd.ClassMask) == Single
}
