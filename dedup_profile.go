package neardup

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
)

// What a Deduplicator compares texts by, if nobody says otherwise. No single choice of features
// serves all texts (the README has measurements): in long English pages, character n-grams are
// common to all, and runs of three words tell templates from what is written into them. In a
// short text every changed word takes three of a dozen of those away, and every typing error a
// word. A Chinese text of the same length has half as many words, and two of its characters say
// about as much as three words do.
//
// So the features are of two levels:
//
//	words       runs of three words, but of two where both are characters that are words
//	            of their own (Han, kana, Thai)
//	characters  runs of three letters, likewise
//
// A text of up to 50 words is compared by the second, one of 1,000 or more by the first, and
// between them by both, with a share that falls with the logarithm of the length: near-duplicates
// are of about one length, so they have about the same shares, and nothing happens at a limit.
// Each level is a unit vector times the root of its share, so the cosine of two texts is the mean
// of those of the levels.

const (
	shortText = 50   // units up to which only characters count
	longText  = 1000 // units from which on only words do
)

// A profile is a document before it is weighed.
type profile struct {
	terms  Vector  // by how often they occur: 1 + ln n. Odd features are those of characters, if there are two levels
	fine   float32 // the share of the characters
	levels bool    // there are two levels
	length int     // of the text in characters
}

// profile returns that of a text. With a tokenizer, or fields, or weights, there is one level.
func (f *Fingerprinter) profile(text string) (p profile) {
	p.length = utf8.RuneCountInString(text)
	if !f.hasLevels() {
		p.terms = f.rawWeight().Vector(text)
		return p
	}
	text = f.Normalizer.Normalize(text)
	p.levels = true
	r := f.reading(toTerms)
	defer r.release()
	units := r.profileLevel(text, false)
	terms := r.levelTerms(nil)
	switch {
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

// hasLevels reports whether the features of texts are those of the two levels.
func (f *Fingerprinter) hasLevels() bool { return f.Tokenizer == nil && f.Weight == nil }

// recordProfile returns the profile of a record.
func (f *Fingerprinter) recordProfile(rec Record) (p profile, err error) {
	if err := f.checkRecord(rec); err != nil {
		return p, err
	}
	for _, value := range rec {
		p.length += utf8.RuneCountInString(value)
	}
	p.terms = f.rawWeight().RecordVector(rec)
	return p, nil
}

// rawWeight returns f with the weight of profiles: its own, or the logarithm of the count.
func (f *Fingerprinter) rawWeight() *Fingerprinter {
	if f.Weight != nil {
		return f
	}
	g := *f
	g.Weight = LogCount
	return &g
}

// profileLevel counts the features of a level in the bag, and returns the number of units of the text.
func (r *reading) profileLevel(text string, chars bool) (units int) {
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

// levelKey is what a feature of a level is known by.
func levelKey(feature string, level uint64, key *hashKey) uint64 {
	return max(featureKey(feature, key)&^1, 2) | level
}

func (r *reading) levelTerms(terms []Term) []Term {
	terms = slices.Grow(terms, len(r.bag.Keys))
	for i, k := range r.bag.Keys {
		terms = append(terms, Term{Feature: k, Weight: float32(logCount(r.bag.Counts[i]))})
	}
	return terms
}

// profileWeights are what the features of profiles weigh, by how many documents have them.
type profileWeights struct {
	n    float64   // documents
	own  bool      // weights are the caller's own, and final
	idfs []float64 // of features that few documents have
}

func newProfileWeights(n int, own bool) profileWeights {
	w := profileWeights{n: float64(n), own: own}
	for df := range min(n+1, 1000) {
		w.idfs = append(w.idfs, w.idf(uint32(df)))
	}
	return w
}

// prior is the number of documents without any of the features that are taken to be besides: without
// them, what the only two documents have in common would weigh next to nothing.
const prior = 20

// idf returns the factor of a feature that df documents have.
func (w profileWeights) idf(df uint32) float64 {
	switch {
	case w.own:
		return 1
	case int(df) < len(w.idfs):
		return w.idfs[df]
	}
	return exact.Ln((w.n + prior) / float64(max(df, 1)))
}

// weigh makes the weights of a profile's terms those of its vector. df says how many documents have the
// feature of each.
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
	factor := [2]float64{math.Sqrt(1-float64(p.fine)) * cosine.UnitFactor(squares[0]), math.Sqrt(float64(p.fine)) * cosine.UnitFactor(squares[1])}
	for i := range terms {
		t := &terms[i]
		t.Weight = float32(float64(t.Weight) * factor[t.Feature&1])
	}
}
