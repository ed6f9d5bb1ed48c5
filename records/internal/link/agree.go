package link

import "math"

// This file says at which level two values of a column agree. A value that is missing agrees at no level: it says nothing.

// The similarities from which on texts, and rows as a whole, agree at the next level.
var (
	textSteps = [...]float64{0.45, 0.7, 0.9}
	steps     = [levels - 1]float64{0.3, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95}
)

// levelOf returns how many steps a similarity reaches.
func levelOf(similarity float64, steps []float64) (level int) {
	for level < len(steps) && similarity >= steps[level] {
		level++
	}
	return level
}

// agreement returns the level at which two values agree.
func (c *column) agreement(i, j int32) int {
	a, b := &c.values[i], &c.values[j]
	if c.whole {
		return levelOf(c.similarity(a, b, steps[0]), steps[:])
	}
	if c.isEqual(i, j) {
		return equal
	}
	switch c.kind {
	case figures:
		return figuresAgree(a, b)
	case numbers:
		return numbersAgree(a, b)
	case dates:
		return datesAgree(a, b)
	case codes:
		return codesAgree(a, b)
	}
	return levelOf(c.similarity(a, b, textSteps[0]), textSteps[:])
}

// isEqual reports whether two values are written alike but for spaces, and are not two different numbers.
func (c *column) isEqual(i, j int32) bool {
	if i == j || c.kind == figures {
		return i == j
	}
	a, b := &c.values[i], &c.values[j]
	return a.sign == b.sign && a.glued == b.glued && (math.IsNaN(a.number) || math.IsNaN(b.number) || a.number == b.number)
}

// datesAgree returns the level at which two dates agree: by the digits that differ, or month and day may have changed places.
func datesAgree(a, b *value) int {
	if x, y := a.glued, b.glued; len(x) == 8 && len(y) == 8 && x[:4] == y[:4] && x[4:6] == y[6:] && x[6:] == y[4:6] {
		return 3
	}
	return codesAgree(a, b)
}

// codesAgree returns the level at which two codes agree, by the edits between them.
func codesAgree(a, b *value) int {
	if leastEdits(a.sign, b.sign) > 3 {
		return 0
	}
	d := edits(a.glued, b.glued, 3)
	if d == 3 && len(a.glued) < 8 {
		return 0
	}
	return min(4-d, 3)
}

// figuresAgree returns the level at which the numbers in two texts agree: all in one are in the other, most are, some are.
func figuresAgree(a, b *value) int {
	both := 0
	for i, j := 0, 0; i < len(a.words) && j < len(b.words); {
		switch {
		case a.words[i] < b.words[j]:
			i++
		case a.words[i] > b.words[j]:
			j++
		default:
			both++
			i++
			j++
		}
	}
	switch least, most := min(len(a.words), len(b.words)), max(len(a.words), len(b.words)); {
	case both == most:
		return equal
	case both == least:
		return 3
	case 2*both >= least:
		return 2
	case both > 0:
		return 1
	}
	return 0
}

// numbersAgree returns the level at which two numbers agree: equal, within half a per cent or a year with and without its century, within 3 % or with one wrong
// digit of four or more, within a tenth.
func numbersAgree(a, b *value) int {
	x, y := a.number, b.number
	if math.IsNaN(x) || math.IsNaN(y) {
		if edits(a.glued, b.glued, 1) <= 1 {
			return 2
		}
		return 0
	}
	d := math.Abs(x-y) / max(math.Abs(x), math.Abs(y))
	switch {
	case x == y:
		return equal
	case d <= 0.005:
		return 3
	case x == math.Trunc(x) && y == math.Trunc(y) && min(x, y) < 100 && math.Mod(max(x, y), 100) == min(x, y) && max(x, y) > 1000: // 75 and 1975
		return 3
	case d <= 0.03, len(a.glued) >= 4 && len(b.glued) >= 4 && edits(a.glued, b.glued, 1) <= 1:
		return 2
	case d <= 0.1:
		return 1
	}
	return 0
}

const (
	leastWeight = 5  // of a text that may be a part of another one: one word in 150, or several
	mostRest    = 12 // words of a text that are compared with others that are not equal
)

// similarity returns how alike two texts are, from 0 to 1: the share of their words that they have in common, by rarity, where words that are nearly equal count in
// part; three quarters of that of the shorter text; or for short ones the share of characters that stay as they are. A similarity below least may come out as less.
func (c *column) similarity(a, b *value, least float64) float64 {
	shared := c.sharedWords(a, b)
	s := 0.0
	if all := a.weight + b.weight; all > 0 {
		s = shared / all
	}
	if least := min(a.weight, b.weight); least > leastWeight {
		s = max(s, 0.75*shared/2/least)
	}
	n := max(len(a.glued), len(b.glued))
	if most := float64(n - leastEdits(a.sign, b.sign)); n <= 60 && most >= float64(max(s, least)*float64(n)) {
		s = max(s, ratio(a.glued, b.glued))
	}
	return min(s, 1)
}

// A rest is a word that the other text does not have.
type rest struct {
	word int32 // -1 if it is taken
	sign uint64
}

// sharedWords returns the weight of the words that two texts have in common, of both texts together.
func (c *column) sharedWords(a, b *value) (shared float64) {
	var restA, restB [mostRest]rest
	inA, inB := 0, 0
	for i, j := 0, 0; i < len(a.words) || j < len(b.words); {
		switch {
		case j == len(b.words) || i < len(a.words) && a.words[i] < b.words[j]:
			if inA < mostRest {
				restA[inA] = rest{a.words[i], c.signs[a.words[i]]}
				inA++
			}
			i++
		case i == len(a.words) || a.words[i] > b.words[j]:
			if inB < mostRest {
				restB[inB] = rest{b.words[j], c.signs[b.words[j]]}
				inB++
			}
			j++
		default:
			shared += 2 * c.weight[a.words[i]]
			i++
			j++
		}
	}
	for _, x := range restA[:inA] {
		if at, best := c.likest(x, restB[:inB]); at >= 0 {
			shared += float64(best * (c.weight[x.word] + c.weight[restB[at].word]))
			restB[at].word = -1
		}
	}
	return shared
}

// likest returns which of some words is most like another one, and how much, or -1 if none is.
func (c *column) likest(x rest, among []rest) (at int, best float64) {
	at = -1
	for k, y := range among {
		if unlike(x.sign, y.sign) || y.word < 0 {
			continue
		}
		if s := alike(c.words[x.word], c.words[y.word]); s > best {
			best, at = s, k
		}
	}
	return at, best
}
