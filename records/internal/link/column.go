package link

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file finds what a column is from its values.

// A kind says how the values of a column are compared.
type kind uint8

const (
	texts   kind = iota // words, by rarity, with typing errors and abbreviations
	numbers             // lengths of time too
	dates               // by the digits that differ
	codes               // the same: telephone numbers, postal codes, identifiers
	figures             // the numbers in texts, each the same or not
)

// kindNames are for people.
var kindNames = [...]string{"text", "number", "date", "code", "numbers in the text"}

// Levels of agreement: 0 is different. The column that is the whole row has more, by its similarity.
const (
	equal  = 4
	levels = 8
)

// A value is a distinct value of a column.
type value struct {
	glued  string  // plain, without spaces
	words  []int32 // in order, each once
	weight float64 // of the words together
	number float64 // or NaN
	sign   uint64  // of glued
	count  int32   // of the rows that have it
	chance float64 // the logarithm of the share of other rows that have it
}

// A column has its distinct values, and which one each row has, or -1.
type column struct {
	name   string
	kind   kind
	whole  bool // it is the row as a whole
	of     []int32
	values []value
	words  []string
	signs  []uint64  // of words
	weight []float64 // of words: the logarithm of how rare they are
	filled int

	counted int     // rows with a value, of those by which rarity is counted
	pairs   float64 // of them that are equal, each twice
	begin   [random][levels]float64
}

// newColumns reads the cells of a column. A text with numbers is two of them, unless its words are always the same, as in p17 and p18.
func newColumns(name string, cells []string) []*column {
	if days, areDates := daysOf(cells); areDates {
		c := newColumn(name, days)
		c.kind = dates
		return []*column{c}
	}
	c := newColumn(name, cells)
	if c.kind != texts || c.filled == 0 {
		return []*column{c}
	}
	if !slices.ContainsFunc(c.values, func(v value) bool { return !isHex(v.glued) }) {
		c.kind = codes
		return []*column{c}
	}
	letters, digits, isSplit := split(cells)
	if !isSplit {
		return []*column{c}
	}
	words, inside := newColumn(name, letters), newColumn(name, digits)
	if len(words.values) < 2 {
		c.kind = codes
		return []*column{c}
	}
	words.kind, inside.kind = texts, figures
	return []*column{words, inside}
}

// newColumn reads the cells of a column.
func newColumn(name string, cells []string) *column {
	c := &column{name: name, of: make([]int32, len(cells))}
	known, words := map[string]int32{}, map[string]int32{}
	numeric, digits := 0, 0
	plains := make([]string, len(cells))
	inChunks(1000, len(cells), func(from, to int) {
		for row := from; row < to; row++ {
			plains[row] = plain(cells[row])
		}
	})
	for row, cell := range cells {
		n := c.intern(cell, plains[row], known, words)
		if c.of[row] = n; n < 0 {
			continue
		}
		c.filled++
		v := &c.values[n]
		v.count++
		if !math.IsNaN(v.number) {
			numeric++
		}
		if 2*countDigits(v.glued) >= len(v.glued) {
			digits++
		}
	}
	switch most := c.filled * 9 / 10; {
	case c.filled == 0:
	case numeric > most && !c.isCode():
		c.kind = numbers
	case digits > most:
		c.kind = codes
	}
	return c
}

// intern returns the number of the value in a cell whose plain text is given, or -1 if there is none. known and numbered have the numbers of values and words.
func (c *column) intern(cell, text string, known, numbered map[string]int32) int32 {
	if text == "" {
		return -1
	}
	v := value{number: math.NaN()}
	key := text
	if x, ok := numberOf(cell); ok { // 1.5 and 15 are plain alike
		v.number = x
		key = text + "\x00" + strconv.FormatFloat(x, 'g', -1, 64)
	}
	if n, ok := known[key]; ok {
		return n
	}
	v.glued = strings.ReplaceAll(text, " ", "")
	v.sign = signOf(v.glued)
	for _, w := range words(text) {
		id, ok := numbered[w]
		if !ok {
			id = int32(len(c.words))
			numbered[w] = id
			c.words = append(c.words, w)
			c.signs = append(c.signs, signOf(w))
		}
		v.words = append(v.words, id)
	}
	slices.Sort(v.words)
	v.words = slices.Compact(v.words)
	n := int32(len(c.values))
	known[key] = n
	c.values = append(c.values, v)
	return n
}

// isCode reports whether numbers are rather names of something: many different integers of one length that are not years.
func (c *column) isCode() bool {
	lengths, integers, years := map[int]int{}, 0, 0
	for _, v := range c.values {
		if isDigits(v.glued) {
			integers++
			lengths[len(v.glued)]++
			if len(v.glued) == 4 && v.glued > "1800" && v.glued < "2100" {
				years++
			}
		}
	}
	if years > lengths[4]*9/10 && lengths[4] > 0 && lengths[5]+lengths[6]+lengths[7]+lengths[8] == 0 {
		return false
	}
	best := 0
	for n, k := range lengths {
		if n >= 4 {
			best = max(best, k)
		}
	}
	return integers > len(c.values)*9/10 && best > len(c.values)*8/10 && len(c.values) > 150
}

// isHex reports whether a value is a hash or a UUID.
func isHex(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 && s[i]-'a' > 5 {
			return false
		}
	}
	return len(s) >= 16
}

// leastSplit is the share of the texts of a column that have numbers from which on the numbers are compared as a column of their own: house numbers, sizes,
// editions. Two texts that differ in nothing but a number look alike and are about different things.
const leastSplit = 0.2

// split parts the cells of a text into words and numbers, or returns false if few cells have numbers.
func split(cells []string) (letters, digits []string, isSplit bool) {
	filled, with := 0, 0
	letters, digits = make([]string, len(cells)), make([]string, len(cells))
	var l, d []string
	for i, cell := range cells {
		text := plain(cell)
		if text == "" {
			continue
		}
		filled++
		l, d = l[:0], d[:0]
		for _, w := range words(text) {
			if isDigits(w) {
				d = append(d, w)
			} else {
				l = append(l, w)
			}
		}
		letters[i], digits[i] = strings.Join(l, " "), strings.Join(d, " ")
		if len(d) > 0 {
			with++
		}
	}
	return letters, digits, float64(with) >= leastSplit*float64(filled)
}

// says reports whether a column says anything: not if all its values are equal, nor if it is a code or number that no two rows share, such as an id.
func (c *column) says() bool {
	if len(c.values) < 2 {
		return false
	}
	if c.kind != codes && c.kind != numbers || c.filled < leastID || len(c.values) < c.filled {
		return true
	}
	seen := make(map[string]bool, len(c.values))
	for i := range c.values {
		seen[c.values[i].glued] = true
	}
	return len(seen) < c.filled
}

// leastID is how many codes or numbers have to be different, and all, to be taken for ids: of fewer it may be chance.
const leastID = 20
