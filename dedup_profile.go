package neardup

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/wording"
	"github.com/zeebo/xxh3"
)

// This file says by what a [Deduplicator] compares texts if the caller sets neither a Tokenizer nor
// a Weight, and computes the weights.
//
// No single choice of features serves all texts (the README has measurements). In long English
// pages, character n-grams are common to all, and runs of three words tell a template from what is
// written into it. In a short text, every changed word destroys three of a dozen such runs, and
// every typing error destroys a word. A Chinese text of the same length has half as many words, and
// two of its characters say about as much as three words do. So features have two levels:
//
//	words       runs of three words, or of two where both are characters that are words of
//	            their own (Han, kana, Thai)
//	characters  runs of three letters, with the same exception
//
// A text of up to 50 words is compared by characters, one of 1,000 words or more by words, and one
// between them by both. The share of the characters falls with the logarithm of the length.
// Near-duplicates have about the same length, so they have about the same shares, and no similarity
// jumps at a limit.
//
// Each level is a unit vector times the square root of its share. So the cosine of two texts is the
// mean of the cosines of the levels, weighted by the shares.

const (
	shortText = 50   // up to so many words only characters count
	longText  = 1000 // from so many words on only words count
)

// A profile is a document before it is weighed. It does not change once it is made, so contents and
// snapshots share it.
type profile struct {
	// terms has the features with the weight 1 + ln n for n occurrences, or with the caller's
	// Weight. If there are two levels, odd features are of characters.
	terms  Vector
	fine   float32 // the share of the characters: 0 to 1
	levels bool    // whether there are two levels

	words  wording.Wording // all words in their order, which tell the [Kind] of a pair
	text   uint64          // a hash of the text, before it was normalized
	record bool            // the words are of a record
	length int             // of the text in characters
}

// formWords returns the words in which forms are looked for. Records have none: all records of a table
// are one form, filled in differently.
func (p *profile) formWords() wording.Wording {
	if p.record {
		return nil
	}
	return p.words
}

// profile returns the profile of a text. With a Tokenizer or a Weight it has one level, the
// features of f. Any string is a valid text.
func (f *Fingerprinter) profile(text string) (p profile) {
	p.length, p.text = utf8.RuneCountInString(text), xxh3.HashString(text)
	normalized := f.Normalizer.Normalize(text)
	p.words = wording.Read(normalized)
	if !f.hasLevels() {
		p.terms = f.rawWeight().Vector(text)
		return p
	}
	text = normalized
	p.levels = true
	r := f.extractor(toTerms)
	defer r.release()
	units := r.profileLevel(text, false)
	terms := r.levelTerms(nil)
	switch {
	// The words were only needed to count them.
	case units <= shortText:
		p.fine, terms = 1, terms[:0]
	case units < longText:
		p.fine = float32((exact.Ln(longText) - exact.Ln(float64(units))) / (exact.Ln(longText) - exact.Ln(shortText)))
	}
	if p.fine > 0 {
		r.bag.Clear()
		r.profileLevel(text, true)
		terms = r.levelTerms(terms)
	}
	p.terms = cosine.Sort(terms)
	return p
}

// hasLevels reports whether texts have the features of the two levels.
func (f *Fingerprinter) hasLevels() bool { return f.Tokenizer == nil && f.Weight == nil }

// recordProfile returns the profile of a record, which always has one level. For its errors see
// checkRecord.
func (f *Fingerprinter) recordProfile(rec Record) (p profile, err error) {
	if err := f.checkRecord(rec); err != nil {
		return p, err
	}
	for _, value := range rec {
		p.length += utf8.RuneCountInString(value)
	}
	p.terms = f.rawWeight().RecordVector(rec)
	// The wording of a record is that of the columns that count, in the order of the Fields.
	var text strings.Builder
	seen := map[string]bool{}
	for i := range f.Fields {
		if name := f.Fields[i].Name; !seen[name] {
			seen[name] = true
			value := rec[name]
			fmt.Fprintf(&text, "%d %s", len(value), value) // the length, so that no value runs into the next
			p.words = append(append(p.words, wording.Read(f.Normalizer.Normalize(value))...), wording.Column)
		}
	}
	p.record, p.words, p.text = true, slices.Clone(p.words), xxh3.HashString(text.String())
	return p, nil
}

// rawWeight returns f with a weight that does not depend on other documents: its own, or LogCount.
func (f *Fingerprinter) rawWeight() *Fingerprinter {
	if f.Weight != nil {
		return f
	}
	g := *f
	g.Weight = LogCount
	return &g
}

// profileLevel counts the features of one level in the bag, and returns the number of units of the
// text: words, or characters for that level.
func (r *extractor) profileLevel(text string, chars bool) (units int) {
	key := r.f.Hash.key
	level := uint64(0)
	if chars {
		level = 1
	}
	return r.batch.EachRun(text, chars, func(feature []byte) {
		e, _ := r.bag.Entry(levelKey(lex.String(feature), level, key))
		r.bag.Counts[e]++
	})
}

// levelKey returns the key of a feature. The lowest bit is the level, so the two levels never share
// a key; the key is never 0 or 1.
func levelKey(feature string, level uint64, key *hashKey) uint64 {
	return max(featureKey(feature, key)&^1, 2) | level
}

// levelTerms appends the features of the bag to terms, weighted by 1 + ln n for n occurrences.
func (r *extractor) levelTerms(terms []Term) []Term {
	terms = slices.Grow(terms, len(r.bag.Keys))
	for i, k := range r.bag.Keys {
		terms = append(terms, Term{Feature: k, Weight: float32(logCount(r.bag.Counts[i]))})
	}
	return terms
}

// profileWeights turn the raw weights of profiles into final ones, by document frequency.
type profileWeights struct {
	n    float64   // documents that count
	own  bool      // the caller has a Weight; raw weights are final
	idfs []float64 // idf of document frequencies below 1,000, computed once
}

// newProfileWeights returns the weights for n documents that count. own says that raw weights are
// final.
func newProfileWeights(n int, own bool) profileWeights {
	w := profileWeights{n: float64(n), own: own}
	for df := range min(n+1, 1000) {
		w.idfs = append(w.idfs, w.idf(uint32(df)))
	}
	return w
}

// prior is a number of imaginary documents that have none of the features. Without them a feature
// that all documents have would weigh nothing: two documents alone would have nothing in common.
const prior = 20

// idf returns the factor of a feature that df documents have: ln((n + prior)/df). A df of 0 counts
// as 1.
func (w profileWeights) idf(df uint32) float64 {
	switch {
	case w.own:
		return 1
	case int(df) < len(w.idfs):
		return w.idfs[df]
	}
	return exact.Ln((w.n + prior) / float64(max(df, 1)))
}

// weigh turns the raw weights of terms into final ones, in place. p is the profile that the terms
// are of, and df has the document frequency of each. With two levels, it scales each level to the
// root of its share, as described above.
func (w profileWeights) weigh(terms Vector, p *profile, df []uint32) {
	var squares [2]float64
	for i := range terms {
		t := &terms[i]
		t.Weight = float32(float64(t.Weight) * w.idf(df[i]))
		squares[t.Feature&1] += float64(t.Weight) * float64(t.Weight)
	}
	if !p.levels || p.fine == 0 || p.fine == 1 {
		return
	}
	// Feature&1 is the level: 0 is words, 1 is characters.
	factor := [2]float64{math.Sqrt(1-float64(p.fine)) * cosine.UnitFactor(squares[0]), math.Sqrt(float64(p.fine)) * cosine.UnitFactor(squares[1])}
	for i := range terms {
		t := &terms[i]
		t.Weight = float32(float64(t.Weight) * factor[t.Feature&1])
	}
}
