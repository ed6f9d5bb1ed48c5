package link

import "math/bits"

// This file compares two strings by the edits between them. They are plain, and their bytes stand for characters: an edit of a character that takes several bytes
// counts for as many.

// edits returns the distance of optimal string alignments (Damerau-Levenshtein, in which no piece is edited twice), or most+1 if it is larger than most. A string of
// more than 64 bytes besides what both begin and end with counts as too far. It takes time in proportion to the longer string: a column of the table of
// distances is a word of bits (Hyyrö 2003, A bit-vector algorithm for computing Levenshtein and Damerau edit distances).
func edits(a, b string, most int) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > most {
		return most + 1
	}
	for len(a) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 {
		return min(len(b), most+1)
	}
	if len(a) > 64 {
		return most + 1
	}
	var at [256]uint64 // where a has a byte
	for i := range len(a) {
		at[a[i]] |= 1 << i
	}
	up, down, same, before := ^uint64(0), uint64(0), uint64(0), uint64(0)
	last, d := uint64(1)<<(len(a)-1), len(a)
	for i := range len(b) {
		here := at[b[i]]
		swapped := (^same & here << 1) & before
		same = ((here&up + up) ^ up) | here | down | swapped
		right, left := down|^(same|up), same&up
		if right&last != 0 {
			d++
		}
		if left&last != 0 {
			d--
		}
		if d-(len(b)-1-i) > most { // the rest lowers it by one each at most
			return most + 1
		}
		right = right<<1 | 1
		up, down, before = left<<1|^(same|right), right&same, here
	}
	return min(d, most+1)
}

// ratio returns 1 - edits/length of the longer, for strings of up to 255 bytes.
func ratio(a, b string) float64 {
	n := max(len(a), len(b))
	if n == 0 {
		return 1
	}
	d := edits(a, b, n/2)
	return max(0, 1-float64(d)/float64(n))
}

// signOf returns the sign of a string: the set of its bytes, some of which share a bit.
func signOf(s string) (sign uint64) {
	for i := range len(s) {
		switch b := s[i]; {
		case b >= 'a' && b <= 'z':
			sign |= 1 << (b - 'a')
		case b >= '0' && b <= '9':
			sign |= 1 << (26 + b - '0')
		default:
			sign |= 1 << (36 + b%28)
		}
	}
	return sign
}

// leastEdits returns how many edits there are at least between strings with two signs: an edit takes one byte away and adds one at most.
func leastEdits(a, b uint64) int { return (bits.OnesCount64(a^b) + 1) / 2 }

// unlike reports whether the signs of two different words show that they are not alike: one is a number, or neither can be the beginning of the other and they are
// more than two edits apart.
func unlike(a, b uint64) bool {
	return a&^digitSigns == 0 || b&^digitSigns == 0 || a&^b != 0 && b&^a != 0 && leastEdits(a, b) > 2
}

// digitSigns is the sign of all digits.
const digitSigns = 0x3FF << 26

// alike returns how alike two words are, from 0 to 1: equal, one the beginning of the other or its initial, or with a typing error, or two in a long word. Numbers are equal
// or not.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if isDigits(a) || isDigits(b) {
		return 0
	}
	switch n := len(a); {
	case n == 1:
		if b[0] == a[0] {
			return 0.7
		}
		return 0
	case n >= 3 && b[:n] == a: // an abbreviation
		return 0.9
	case n <= 3:
		return 0
	case n < 8:
		if edits(a, b, 1) <= 1 {
			return 0.85
		}
	default:
		if d := edits(a, b, 2); d <= 2 {
			return [...]float64{1, 0.9, 0.85}[d]
		}
	}
	return 0
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return true
}
