// Package wording compares texts word by word: it says how two similar texts differ ([Equal],
// [EqualButFigures], [Wording.Contains]), and which texts are one form with other words filled in
// ([Learn], [SameForm]).
//
// A text is known by its words in their order, each as a number of 32 bits ([Read]).
package wording

import (
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
	"github.com/neardup/neardup/internal/lex"
	"github.com/zeebo/xxh3"
)

// A Wording is the words of a text in their order: 31 bits of a hash of each, and the bit Figure.
type Wording []uint32

// Figure is set in a word that stands for a number, a date or an address:
//
//   - a word with a digit of any script, and a Chinese numeral;
//   - an English name of a month or of a day of the week. Short names, and may and march, are also
//     other words, so they count only beside a word with a digit or a Chinese numeral;
//   - all words of a web address (with "://", or from "www." on) or of a mail address.
//
// A run of figures counts as one when figures are not told apart. So "3 March 2026" is the same as
// "2026-03-03", and "10,000" the same as "500".
const Figure = 1

// Column stands behind each column of a record, like a word.
const Column = 8

// Read returns the wording of a text that has been normalized.
func Read(text string) Wording {
	return slices.Clone(appendWords(nil, nil, text, 0)) // without room for more
}

// AppendBoth appends the wording of a text that has been normalized, and the keys of its runs of words ([lex.Batch.AppendRunKeys]), with
// one pass over the text.
func AppendBoth(words Wording, keys []uint64, text string, seed uint64) (Wording, []uint64) {
	words = appendWords(words, &keys, text, seed)
	return words, keys
}

// appendWords appends the wording of a text, and the keys of its runs unless keys is nil.
func appendWords(words Wording, keys *[]uint64, text string, seed uint64) Wording {
	r := readings.Get().(*reading)
	defer readings.Put(r)
	*r = reading{batch: lex.Batches.Get().(*lex.Batch), seed: seed, words: words, keys: keys, first: len(words), ambiguous: r.ambiguous[:0], addresses: r.addresses[:0]}
	defer lex.Batches.Put(r.batch)
	r.batch.Reset(false, 3)
	done := 0
	clean.Addresses(text, func(from, to int) {
		// No word goes on into an address. One that goes on behind it is of the address.
		begins := r.read(text[done:from], false)
		r.addresses = append(r.addresses, [2]int{begins, r.read(text[from:to], false)})
		done = to
	})
	r.read(text[done:], true)
	r.take(r.batch.Units64())
	if keys != nil {
		*keys = r.batch.AppendLastKey(*keys, seed)
	}
	r.mark()
	words = r.words
	r.words, r.keys, r.batch = nil, nil, nil
	return words
}

// Count returns the number of words of a text that has been normalized, and a digest of them. It does not
// look for figures, which takes most of the time of Read.
func Count(text string) (words int, digest uint64) {
	batch := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(batch)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = (*buf)[:0]
	batch.Reset(false, 1)
	for batch.Read(text, true); batch.Next(); {
		for _, h := range batch.Hash64() {
			*buf = binary.LittleEndian.AppendUint32(*buf, uint32(h))
		}
	}
	return len(*buf) / 4, xxh3.Hash(*buf)
}

// buffers are for the hashes of Count.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// A reading is the state of appendWords.
type reading struct {
	batch     *lex.Batch
	seed      uint64
	words     Wording
	keys      *[]uint64 // nil if nobody wants them
	first     int       // the first word of the text
	windows   int       // handed out so far
	ambiguous []int     // words that may be the short name of a month or a day
	addresses [][2]int  // the first word of each address, and the first one behind it
}

// readings are for appendWords.
var readings = sync.Pool{New: func() any { return new(reading) }}

// read reads the next piece of the text, and returns how many words there are up to its end. Some of them may still be in the batch.
func (r *reading) read(piece string, last bool) (to int) {
	for r.batch.Read(piece, last); r.batch.Next(); {
		r.windows += r.batch.Size()
		r.take(r.batch.Units64())
		if r.keys != nil {
			*r.keys = r.batch.AppendKeys(*r.keys, r.seed)
		}
	}
	return r.first + r.batch.Units(r.windows)
}

// take appends the words of which these are the hashes, the next ones of the batch.
func (r *reading) take(hashes []uint64) {
	for i, h := range hashes {
		x, word := uint32(h)&^Figure, r.batch.Unit(i)
		isFigure := isNumber(word)
		if !isFigure && mayBeName(word) {
			isAmbiguous, isName := ambiguity[string(word)]
			if isName && isAmbiguous {
				r.ambiguous = append(r.ambiguous, len(r.words))
			}
			isFigure = isName && !isAmbiguous
		}
		if isFigure {
			x |= Figure
		}
		r.words = append(r.words, x)
	}
}

// mark makes figures of the words of addresses, and of ambiguous ones beside a figure.
func (r *reading) mark() {
	for _, a := range r.addresses {
		for i := a[0]; i < a[1]; i++ {
			r.words[i] |= Figure
		}
	}
	isFigure := func(i int) bool { return i >= r.first && i < len(r.words) && r.words[i]&Figure != 0 }
	before := -1 // the ambiguous word before
	for _, i := range r.ambiguous {
		if isFigure(i) {
			continue // it is in an address
		}
		// One that has just become a figure does not make one of the next.
		if isFigure(i-1) && before != i-1 || isFigure(i+1) {
			r.words[i] |= Figure
		}
		before = i
	}
}

// isNumber reports whether a folded word has a digit, or is a Chinese numeral.
func isNumber(word []byte) bool {
	if len(word) == 3 && lex.IsHan(word) { // most words of a Chinese text
		return isNumeral(rune(word[0]&0x0F)<<12 | rune(word[1]&0x3F)<<6 | rune(word[2]&0x3F))
	}
	for i := 0; i < len(word); {
		c := word[i]
		if c < utf8.RuneSelf {
			if lex.IsDigit(c) {
				return true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(word[i:])
		if isDigit(r) || len(word) == size && isNumeral(r) {
			return true
		}
		i += size
	}
	return false
}

// zeros are the zeros of the living scripts beyond ASCII that write numbers by ten digits of their
// own. The other nine follow.
var zeros = []rune{0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0x1810}

// isDigit reports whether a character is one of these digits.
func isDigit(r rune) bool {
	return r >= zeros[0] && r < zeros[len(zeros)-1]+10 && slices.ContainsFunc(zeros, func(zero rune) bool { return zero <= r && r < zero+10 })
}

// isNumeral reports whether a character is a Chinese numeral.
func isNumeral(r rune) bool {
	switch r {
	case '〇', '零', '一', '二', '三', '四', '五', '六', '七', '八', '九', '十', '百', '千':
		return true
	}
	return false
}

// ambiguity says of the names of months and days, spelt out or short, whether they are also other
// words.
var ambiguity = func() map[string]bool {
	is := map[string]bool{"sept": true, "tues": true, "thur": true, "thurs": true}
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	for _, name := range append(days, clean.Months[:]...) {
		is[name[:3]] = true
		is[name] = name == "march" || name == "may"
	}
	return is
}()

// mayBeName reports whether a word begins like a name of a month or a day. It spares nearly all words the
// look-up.
func mayBeName(word []byte) bool {
	if len(word) < 3 || len(word) > len("wednesday") {
		return false
	}
	switch string(word[:3]) {
	case "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun":
		return true
	}
	return false
}
