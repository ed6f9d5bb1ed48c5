package link

import (
	"encoding/binary"
	"math"
	"slices"
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
	source
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

// A source says where the cells of a column come from.
type source struct {
	name    string // of a column of the table
	areDays bool   // dates are written as days
	half    half
}

// A half says what of a text is in a column.
type half uint8

const (
	both    half = iota
	letters      // all but numbers
	digits       // the numbers
)

// read returns a cell as it is in the column, and its plain text.
func (s *source) read(cell string) (read, text string) {
	if s.areDays {
		cell = strings.TrimSpace(cell)
		if day, isDate := dayOf(cell); isDate {
			cell = day
		}
	}
	text = plain(cell)
	switch l, d := halves(text); s.half {
	case letters:
		text = l
	case digits:
		text = d
	}
	return cell, text
}

// A reading is what was read of a column.
type reading struct {
	from    source
	columns []*column
	cells   cells    // days, if it has dates
	plain   []string // the cells without case, marks and punctuation
}

// readColumn reads a column. A text with numbers is two of them, unless its words are always the same, as in p17 and p18.
func readColumn(name string, raw []string) reading {
	r := reading{cells: read(raw)}
	days, areDates := r.cells.days()
	if areDates {
		r.cells = r.cells.with(days)
	}
	r.plain = r.cells.each(plain)
	r.from = source{name, areDates, both}
	c := newColumn(r.from, r.cells, r.plain)
	if areDates {
		c.kind = dates
	}
	r.columns = []*column{c}
	if c.kind != texts || c.filled == 0 {
		return r
	}
	if !slices.ContainsFunc(c.values, func(v value) bool { return !isHex(v.glued) }) {
		c.kind = codes
		return r
	}
	l, d, isSplit := r.split()
	if !isSplit {
		return r
	}
	words, inside := newColumn(source{name, false, letters}, r.cells, l), newColumn(source{name, false, digits}, r.cells, d)
	if len(words.values) < 2 {
		c.kind = codes
		return r
	}
	words.kind, inside.kind = texts, figures
	r.columns = []*column{words, inside}
	return r
}

// newColumn makes a column of cells, whose plain texts are given.
func newColumn(from source, of cells, plain []string) *column {
	keys := make([]string, len(plain))
	inChunks(1000, len(keys), func(from, to int) {
		for n := from; n < to; n++ {
			keys[n] = keyOfValue(of.texts[n], plain[n])
		}
	})
	distinct := of.with(keys)
	c := &column{source: from, of: distinct.of, filled: distinct.count(func(int) bool { return true })}
	c.take(distinct.texts)
	for n := range c.values {
		c.values[n].count = distinct.rows[n]
	}
	numeric := distinct.count(func(n int) bool { return !math.IsNaN(c.values[n].number) })
	digits := distinct.count(func(n int) bool { return 2*countDigits(c.values[n].glued) >= len(c.values[n].glued) })
	switch most := c.filled * 9 / 10; {
	case c.filled == 0:
	case numeric > most && !c.isCode():
		c.kind = numbers
	case digits > most:
		c.kind = codes
	}
	return c
}

// keyOfValue returns what cells with one value have in common: the plain text, and the number if it is one, since 1.5 and 15 are plain alike.
func keyOfValue(cell, plain string) string {
	x, ok := numberOf(cell)
	if !ok || plain == "" {
		return plain
	}
	return string(binary.BigEndian.AppendUint64(append([]byte(plain), 0), math.Float64bits(x)))
}

// valueOf returns the value that has a key, and its words.
func valueOf(key string) (v value, words []string) {
	text, number, isNumber := strings.Cut(key, "\x00")
	if v.number = math.NaN(); isNumber {
		v.number = math.Float64frombits(binary.BigEndian.Uint64([]byte(number)))
	}
	v.glued = strings.ReplaceAll(text, " ", "")
	v.sign = signOf(v.glued)
	return v, appendWords(nil, text)
}

// take takes the values with some keys.
func (c *column) take(keys []string) {
	c.values = make([]value, len(keys))
	ends := make([]int, len(keys)) // of the words of each value, among those of all
	perChunk := make([][]string, (len(keys)+999)/1000)
	inChunks(1000, len(keys), func(from, to int) {
		var all []string
		for n := from; n < to; n++ {
			v, words := valueOf(keys[n])
			c.values[n], all = v, append(all, words...)
			ends[n] = len(all)
		}
		perChunk[from/1000] = all
	})
	of, words := intern(slices.Concat(perChunk...))
	c.words, c.signs = words, make([]uint64, len(words))
	for w := range words {
		c.signs[w] = signOf(words[w])
	}
	begin := 0
	for n := range c.values {
		if n%1000 == 0 {
			of = of[begin:]
			begin = 0
		}
		c.values[n].words = of[begin:ends[n]:ends[n]]
		begin = ends[n]
	}
}

// arrange puts the rows of a column into an order, given by their numbers, and numbers words as they come first.
func (c *column) arrange(order []int32) {
	of := make([]int32, len(order))
	numbers := make([]int32, len(c.words))
	for w := range numbers {
		numbers[w] = -1
	}
	seen := make([]bool, len(c.values))
	next := int32(0)
	for row, given := range order {
		n := c.of[given]
		if of[row] = n; n < 0 || seen[n] {
			continue
		}
		seen[n] = true
		words := c.values[n].words
		for i, w := range words {
			if numbers[w] < 0 {
				numbers[w] = next
				next++
			}
			words[i] = numbers[w]
		}
		slices.Sort(words)
		c.values[n].words = slices.Compact(words)
	}
	c.of = of
	texts, signs := make([]string, len(c.words)), make([]uint64, len(c.words))
	for w, n := range numbers {
		texts[n], signs[n] = c.words[w], c.signs[w]
	}
	c.words, c.signs = texts, signs
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

// split parts the texts of a column into words and numbers, or returns false if few rows have numbers.
func (r *reading) split() (l, d []string, isSplit bool) {
	l, d = make([]string, len(r.plain)), make([]string, len(r.plain))
	inChunks(1000, len(r.plain), func(from, to int) {
		for n := from; n < to; n++ {
			l[n], d[n] = halves(r.plain[n])
		}
	})
	filled, with := r.cells.count(func(n int) bool { return r.plain[n] != "" }), r.cells.count(func(n int) bool { return d[n] != "" })
	return l, d, float64(with) >= leastSplit*float64(filled)
}

// halves parts a plain text into words and numbers.
func halves(text string) (l, d string) {
	var inL, inD []string
	for _, w := range appendWords(nil, text) {
		if isDigits(w) {
			inD = append(inD, w)
		} else {
			inL = append(inL, w)
		}
	}
	return strings.Join(inL, " "), strings.Join(inD, " ")
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
