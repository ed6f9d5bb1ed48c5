package wording

import "slices"

// This file compares two texts: whether they have the same words, the same but for figures, and
// whether one has all words of the other. The same word may be a figure in one text only: in full
// width, a web address is not seen to be one. So the bit Figure does not tell words apart.

// Equal reports whether two texts have the same words in the same order.
func Equal(a, b Wording) bool {
	return slices.EqualFunc(a, b, isSame)
}

// isSame reports whether two words are the same.
func isSame(a, b uint32) bool { return (a^b)&^Figure == 0 }

// EqualButFigures reports whether two texts have the same words in the same order, where a run of
// figures equals any other.
func EqualButFigures(a, b Wording) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i]&b[j]&Figure != 0:
			i, j = a.BehindFigures(i), b.BehindFigures(j)
		case isSame(a[i], b[j]):
			i++
			j++
		default:
			return false
		}
	}
	return i == len(a) && j == len(b)
}

// BehindFigures returns where the run of figures that goes on at i ends.
func (w Wording) BehindFigures(i int) int {
	for i < len(w) && w[i]&Figure != 0 {
		i++
	}
	return i
}

// Contains reports whether a text has all words of a part in the same order. Other words may stand
// between them.
func (w Wording) Contains(part Wording) bool {
	at := 0
	for i := 0; at < len(part) && len(w)-i >= len(part)-at; i++ {
		if isSame(w[i], part[at]) {
			at++
		}
	}
	return at == len(part)
}
