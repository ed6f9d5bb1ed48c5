package content

import (
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

// Read reads a content.
func (m *Maker) Read(c *Content) (r Reading) {
	if !c.HasBody() {
		own := m.Own(c)
		r.Words, r.Terms, r.Record = own.Words, own.Terms, own.Record
		return r
	}
	c.Body(func(body string) {
		r.Words = wording.Read(body)
		r.Levels = true
		r.Fine, r.Terms = m.levels(body)
	})
	return r
}

// levels returns the terms of a body, and the share of the characters.
func (m *Maker) levels(body string) (fine float64, terms neardup.Vector) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	keys := keysPool.Get().(*[2][]uint64)
	defer keysPool.Put(keys)
	runs := keys[0][:0]
	level := func(chars bool) (units int) {
		bit := uint64(0)
		if chars {
			bit = 1
		}
		return b.EachRun(body, chars, func(feature []byte) { runs = append(runs, m.featureKey(feature, bit)) })
	}
	units := level(false)
	level(true)
	switch {
	case units <= shortText:
		fine = 1
	case units < longText:
		fine = (exact.Ln(longText) - exact.Ln(float64(units))) / (exact.Ln(longText) - exact.Ln(shortText))
	}
	runs, other := cosine.SortKeys(runs, keys[1])
	different := 1
	for i := 1; i < len(runs); i++ {
		if runs[i] != runs[i-1] {
			different++
		}
	}
	terms = make(neardup.Vector, 0, different)
	for i := 0; i < len(runs); {
		from := i
		for i++; i < len(runs) && runs[i] == runs[from]; i++ {
		}
		terms = append(terms, neardup.Term{Feature: runs[from], Weight: LogCount(i - from)})
	}
	if keys[0], keys[1] = runs, other; cap(runs) > 1<<17 {
		*keys = [2][]uint64{}
	}
	return fine, terms
}

// keysPool has buffers for the keys of a text.
var keysPool = sync.Pool{New: func() any { return new([2][]uint64) }}

// featureKey returns the key of a feature. The lowest bit is the level, so the two levels never share a key; the
// key is never 0 or 1.
func (m *Maker) featureKey(feature []byte, level uint64) uint64 {
	return max(m.key.Hash(feature)&^1, 2) | level
}

// EachFeature calls take with the features of a body, their keys and whether they are of characters.
func (m *Maker) EachFeature(body string, take func(key uint64, feature string)) {
	b := lex.Batches.Get().(*lex.Batch)
	defer lex.Batches.Put(b)
	for level, chars := range []bool{false, true} {
		b.EachRun(body, chars, func(feature []byte) { take(m.featureKey(feature, uint64(level)), string(feature)) })
	}
}

// logCounts has the weights of small counts.
var logCounts = func() (counts [256]float32) {
	for n := range counts[1:] {
		counts[n+1] = float32(1 + exact.Ln(float64(n+1)))
	}
	return counts
}()

// LogCount returns 1 + ln n.
func LogCount(n int) float32 {
	if n < len(logCounts) {
		return logCounts[n]
	}
	return float32(1 + exact.Ln(float64(n)))
}
