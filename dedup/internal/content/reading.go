package content

import (
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/wording"
)

// This file says by what texts are compared if the caller sets neither a Tokenizer nor a Weight.
//
// No single choice of features serves all texts (docs/dedup.md has measurements). In long English pages, runs of
// characters are common to all, and runs of three words tell a template from what is written into it. In a
// short text, every changed word destroys three of a dozen such runs, and every typing error destroys a
// word. A Chinese text of the same length has half as many words, and two of its characters say about as
// much as three words do. So features have two levels:
//
//	words       runs of three words, or of two where both are characters that are words of
//	            their own (Han, kana, Thai)
//	characters  runs of three letters, with the same exception
//
// A text of up to 50 words is compared by characters, one of 1,000 words or more by words, and one
// between them by both. The share of the characters falls with the logarithm of the length.
// Near-duplicates have about the same length, so they have about the same shares, and no similarity
// jumps at a limit.

const (
	shortText = 50   // up to so many words only characters count
	longText  = 1000 // from so many words on only words count
)

// A Reading is what comparisons need of a content. It does not change.
type Reading struct {
	Words wording.Wording // in their order

	// Terms has the features with the weight 1 + ln n for n occurrences, or with the caller's Weight.
	// With Levels, odd features are of characters, and Fine is their share, from 0 to 1.
	Terms  neardup.Vector
	Levels bool
	Fine   float64
	Record bool
}

// Reading returns what comparisons need of a content.
func (m *Maker) Reading(c *Content) (r Reading) {
	m.Read(c, &r)
	return r
}

// Read reads a content into r, in the memory that r has.
func (m *Maker) Read(c *Content, r *Reading) {
	words, terms := r.Words[:0], r.Terms[:0]
	*r = Reading{}
	if !c.HasBody() {
		own := m.Own(c)
		r.Words, r.Terms, r.Record = append(words, own.Words...), append(terms, own.Terms...), own.Record
		return
	}
	c.Body(func(body string) {
		r.Levels = true
		keys := keysPool.Get().(*[2][]uint64)
		defer keysPool.Put(keys)
		r.Words, keys[0] = wording.AppendBoth(words, keys[0][:0], body, m.key.Seed)
		r.Fine, r.Terms = m.levels(terms, keys, body, len(r.Words))
	})
}

// levels appends the terms of a body with a number of units, of which keys has the runs of words, and returns the
// share of the characters.
func (m *Maker) levels(terms neardup.Vector, keys *[2][]uint64, body string, units int) (fine float64, all neardup.Vector) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	runs := keys[0]
	for i, k := range runs {
		runs[i] = levelKey(k, 0)
	}
	words := len(runs)
	runs, _ = b.AppendRunKeys(runs, body, true, m.key.Seed)
	for i, k := range runs[words:] {
		runs[words+i] = levelKey(k, 1)
	}
	switch {
	case units <= shortText:
		fine = 1
	case units < longText:
		fine = (exact.Ln(longText) - exact.Ln(float64(units))) / (exact.Ln(longText) - exact.Ln(shortText))
	}
	runs, other := cosine.SortKeys(runs, keys[1])
	terms = slices.Grow(terms, len(runs))[:len(runs)]
	n, from := 0, 0 // the last term, and where it begins
	for i, k := range runs {
		// Written each time, so that there is no branch that depends on the text.
		if i > 0 && k != runs[i-1] {
			n++
			from = i
		}
		terms[n] = neardup.Term{Feature: k, Weight: LogCount(i + 1 - from)}
	}
	if len(runs) > 0 {
		n++
	}
	if keys[0], keys[1] = runs, other; cap(runs) > 1<<17 {
		*keys = [2][]uint64{}
	}
	return fine, terms[:n]
}

// keysPool has buffers for the keys of a text.
var keysPool = sync.Pool{New: func() any { return new([2][]uint64) }}

// levelKey returns the key of a feature of a level. The lowest bit is the level, so the two levels never share
// a key; the key is never 0 or 1.
func levelKey(key, level uint64) uint64 { return max(key&^1, 2) | level }

// EachFeature calls take with the features of a body, their keys and whether they are of characters.
func (m *Maker) EachFeature(body string, take func(key uint64, feature string)) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	for level, chars := range []bool{false, true} {
		b.EachRun(body, chars, func(feature []byte) {
			take(levelKey(lex.RunKey(feature, m.key.Seed), uint64(level)), string(feature))
		})
	}
}

// logCounts has the weights of small counts.
var logCounts = func() (counts [256]float32) {
	for n := range counts[1:] {
		counts[n+1] = float32(exact.LogCount(float64(n + 1)))
	}
	return counts
}()

// LogCount returns 1 + ln n.
func LogCount(n int) float32 {
	if n < len(logCounts) {
		return logCounts[n]
	}
	return float32(exact.LogCount(float64(n)))
}
