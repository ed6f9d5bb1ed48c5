package wording

// This file compares two texts: whether they have the same words but for figures, and whether one
// has all words of the other.

// EqualButFigures reports whether two texts have the same words in the same order, where a run of
// figures equals any other.
func EqualButFigures(a, b Wording) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if a[i]&Figure != b[j]&Figure {
			return false
		}
		if a[i]&Figure == 0 {
			if a[i] != b[j] {
				return false
			}
			i++
			j++
			continue
		}
		i, j = a.behindFigures(i), b.behindFigures(j)
	}
	return i == len(a) && j == len(b)
}

// behindFigures returns where the run of figures that goes on at i ends.
func (w Wording) behindFigures(i int) int {
	for i < len(w) && w[i]&Figure != 0 {
		i++
	}
	return i
}

// Contains reports whether a text has all words of a part in the same order. Other words may stand
// between them.
func (w Wording) Contains(part Wording) bool {
	if len(part) > len(w) {
		return false
	}
	at := 0
	for i := 0; i < len(w) && at < len(part) && len(w)-i >= len(part)-at; i++ {
		if w[i] == part[at] {
			at++
		}
	}
	return at == len(part)
}
