package link

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/internal/values"
)

// This file finds what a column is from its values, and says at which level two of them agree. A value that is missing agrees at no level: it says nothing.

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
	plain  string
	glued  string  // plain without spaces
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

// newColumns reads the cells of a column. A text with numbers is two of them.
func newColumns(name string, cells []string) []*column {
	if days, areDates := daysOf(cells); areDates {
		c := newColumn(name, days)
		c.kind = dates
		return []*column{c}
	}
	c := newColumn(name, cells)
	if c.kind == texts && c.filled > 0 {
		if letters, digits, isSplit := split(cells); isSplit {
			c = newColumn(name, letters)
			inside := newColumn(name, digits)
			c.kind, inside.kind = texts, figures
			return []*column{c, inside}
		}
	}
	return []*column{c}
}

// newColumn reads the cells of a column.
func newColumn(name string, cells []string) *column {
	c := &column{name: name, of: make([]int32, len(cells))}
	known, words := map[string]int32{}, map[string]int32{}
	numeric, digits := 0, 0
	for row, cell := range cells {
		n := c.intern(cell, known, words)
		if c.of[row] = n; n < 0 {
			continue
		}
		c.filled++
		v := &c.values[n]
		v.count++
		if !math.IsNaN(v.number) {
			numeric++
		}
		if 2*countDigits(v.plain) >= len(v.glued) {
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

// intern returns the number of the value in a cell, or -1 if there is none. known and words have the numbers of values and words.
func (c *column) intern(cell string, known, numbered map[string]int32) int32 {
	text := plain(cell)
	if text == "" {
		return -1
	}
	v := value{plain: text, number: math.NaN()}
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

// count sets how rare values are among some rows.
func (c *column) count(rows []int32) {
	c.counted, c.pairs = 0, 0
	for i := range c.values {
		c.values[i].count = 0
	}
	for _, row := range rows {
		if n := c.of[row]; n >= 0 {
			c.values[n].count++
			c.counted++
		}
	}
	more := c.missing()
	for i := range c.values {
		v := &c.values[i]
		v.chance = ln((max(float64(v.count)-1, 0.5) + float64(c.usual()*more)) / max(float64(c.counted)+more, 1))
		c.pairs += float64(v.count) * float64(v.count-1)
	}
}

// weigh sets how rare words are among the rows that were counted.
func (c *column) weigh() {
	rows := make([]int32, len(c.words))
	for i := range c.values {
		for _, w := range c.values[i].words {
			rows[w] += c.values[i].count
		}
	}
	c.weight = make([]float64, len(rows))
	for w, n := range rows {
		c.weight[w] = ln(float64(c.counted+1) / float64(max(n, 1)))
	}
	for i := range c.values {
		v := &c.values[i]
		for _, w := range v.words {
			v.weight += c.weight[w]
		}
	}
}

// chance returns how often two rows that were counted are equal.
func (c *column) chance() float64 {
	more := c.missing()
	return (max(c.pairs, 1) + float64(c.usual()*more*more)) / max(float64(c.counted)*float64(c.counted-1)+float64(more*more), 1)
}

// A small table does not show how often rows are equal, so some rows of a usual one are counted with it.
const (
	enoughRows = 100
	moreRows   = 0.2 // of each that is missing
)

// missing returns how many rows of a usual table are counted with those of this one.
func (c *column) missing() float64 { return moreRows * float64(max(enoughRows-c.counted, 0)) }

// usual returns how often two rows are equal in a column of this kind: rounded medians of the columns in TestMatchQuality.
func (c *column) usual() float64 {
	return [...]float64{texts: 0.01, numbers: 0.02, dates: 0.001, codes: 0.002, figures: 0.01}[c.kind]
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

func countDigits(s string) (n int) {
	for i := range len(s) {
		if s[i]-'0' <= 9 {
			n++
		}
	}
	return n
}

// daysOf writes dates as eight digits, year first, or returns false if nine of ten cells are none.
func daysOf(cells []string) (days []string, areDates bool) {
	days = make([]string, len(cells))
	filled, dated := 0, 0
	for i, cell := range cells {
		days[i] = strings.TrimSpace(cell)
		if days[i] == "" {
			continue
		}
		filled++
		if day, isDate := dayOf(days[i]); isDate {
			days[i] = day
			dated++
		} else if filled >= 100 && dated < filled/2 {
			return nil, false
		}
	}
	return days, filled > 0 && dated > filled*9/10
}

// dayOf writes a date as eight digits.
func dayOf(s string) (string, bool) {
	if len(s) == 8 && isDigits(s) {
		return s, (s[:2] == "19" || s[:2] == "20") && s[4:6] <= "12" && s[6:] <= "31"
	}
	if len(s) < 6 || countDigits(s) < 3 {
		return "", false
	}
	day := values.Date.Of(s, "")
	if len(day) != 10 || day[4] != '-' || day[7] != '-' || countDigits(day) != 8 {
		return "", false
	}
	return day[:4] + day[5:7] + day[8:], true
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

// numberOf reads a number, also of a length of time such as 1m 58sec or 08:40, in seconds.
func numberOf(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 40 {
		return 0, false
	}
	bare := strings.TrimLeft(strings.ReplaceAll(s, ",", ""), "$€£¥")
	if x, err := strconv.ParseFloat(bare, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
		return x, true
	}
	minutes, seconds, ok := strings.Cut(s, ":")
	if !ok || len(seconds) != 2 {
		if minutes, seconds, ok = strings.Cut(s, "m"); !ok {
			return 0, false
		}
		seconds = strings.TrimRight(strings.TrimSpace(seconds), "sec. ")
	}
	m, err := strconv.ParseUint(minutes, 10, 20)
	if err != nil {
		return 0, false
	}
	sec, err := strconv.ParseUint(seconds, 10, 20)
	return float64(60*m + sec), err == nil
}

// The smallest similarities that make a difference.
const (
	leastText  = 0.45
	leastWhole = 0.3
)

// agreement returns the level at which two values agree.
func (c *column) agreement(i, j int32) int {
	a, b := &c.values[i], &c.values[j]
	if c.whole {
		s := c.similarity(a, b, leastWhole)
		for l, least := range [levels - 1]float64{leastWhole, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95} {
			if s < least {
				return l
			}
		}
		return levels - 1
	}
	if i == j || a.sign == b.sign && a.glued == b.glued && (math.IsNaN(a.number) || a.number == b.number) {
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
	switch s := c.similarity(a, b, leastText); {
	case s >= 0.9:
		return 3
	case s >= 0.7:
		return 2
	case s >= leastText:
		return 1
	}
	return 0
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

const (
	leastWeight = 5  // of a text that may be a part of another one: one word in 150, or several
	mostRest    = 12 // words of a text that are compared with others that are not equal
)

// sharedWords returns the weight of the words that two texts have in common, of both texts together.
func (c *column) sharedWords(a, b *value) (shared float64) {
	var restA, restB [mostRest]int32
	inA, inB := 0, 0
	for i, j := 0, 0; i < len(a.words) || j < len(b.words); {
		switch {
		case j == len(b.words) || i < len(a.words) && a.words[i] < b.words[j]:
			if inA < mostRest {
				restA[inA] = a.words[i]
				inA++
			}
			i++
		case i == len(a.words) || a.words[i] > b.words[j]:
			if inB < mostRest {
				restB[inB] = b.words[j]
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
		best, at := 0.0, -1
		for k, y := range restB[:inB] {
			if y < 0 {
				continue
			}
			if unlike(c.signs[x], c.signs[y]) {
				continue
			}
			if s := alike(c.words[x], c.words[y]); s > best {
				best, at = s, k
			}
		}
		if at >= 0 {
			shared += float64(best * (c.weight[x] + c.weight[restB[at]]))
			restB[at] = -1
		}
	}
	return shared
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
	isID := (c.kind == codes || c.kind == numbers) && len(c.values) == c.filled && c.filled >= leastID
	return len(c.values) > 1 && !isID
}

// leastID is how many codes or numbers have to be different, and all, to be taken for ids: of fewer it may be chance.
const leastID = 20
