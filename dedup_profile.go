package neardup

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/textfile"
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
//
// The normalized text is its body, from which its parts can be made again. A profile without parts is slim.
// Records, and texts with features of the caller's, have no body and are never slim. The body may be in a
// file instead of in memory.
type profile struct {
	*parts
	body   string
	file   *textfile.File // nil if the body is in memory; a Deduplicator in files also has the parts of others there
	at     int64          // where it is in the file
	bytes  int            // the length of the body; 0 if there is none
	size   int            // how much there is to compare: words, and a constant
	digest uint64         // of what is compared; equal profiles have equal digests
}

// The parts of a profile are what is compared.
type parts struct {
	// terms has the features with the weight 1 + ln n for n occurrences, or with the caller's
	// Weight. If there are two levels, odd features are of characters.
	terms  Vector
	fine   float32         // the share of the characters: 0 to 1
	levels bool            // whether there are two levels
	record bool            // the words are of a record
	words  wording.Wording // all words in their order, which tell the [Kind] of a pair
}

// A reading is a profile with what is known of its document.
type reading struct {
	profile
	text   uint64 // a hash of the text, before it was normalized
	length int    // of the text in characters
}

// isSlim reports whether terms must be made again from the body.
func (p *profile) isSlim() bool { return (p.parts == nil || p.terms == nil) && p.bytes > 0 }

// slim returns the profile without its parts, if they can be made again.
func (p profile) slim() profile {
	if p.bytes > 0 {
		p.parts = nil
	}
	return p
}

// bodies are buffers for bodies that are read from files.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// readBody calls use with the body, which is only valid meanwhile. A body that cannot be read is empty; the
// file has the error.
func (p *profile) readBody(use func(body string)) {
	if p.file == nil {
		use(p.body)
		return
	}
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	use(p.file.Read(p.at, p.bytes, buf))
}

// whole returns the profile with its parts. f must be the Fingerprinter that made it.
func (p *profile) whole(f *Fingerprinter) profile {
	q := *p
	if p.isSlim() {
		q.parts = &parts{levels: true, fine: 1}
		p.readBody(func(body string) {
			q.words = wording.Read(body)
			r := f.extractor(toTerms)
			defer r.release()
			q.fine, q.terms = r.levels(body, nil)
		})
	}
	return q
}

// allWords returns the words, which it reads again if the profile does not have them.
func (p *profile) allWords() (words wording.Wording) {
	if p.parts != nil && p.words != nil || p.bytes == 0 {
		return p.words
	}
	p.readBody(func(body string) { words = wording.Read(body) })
	return words
}

// withWords keeps the words, so that allWords need not read them again.
func (p *profile) withWords(words wording.Wording) {
	if p.isSlim() {
		p.parts = &parts{levels: true, words: words}
	}
}

// formWords returns the words in which forms are looked for. Records have none: all records of a table
// are one form, filled in differently.
func (p *profile) formWords() wording.Wording {
	if p.parts != nil && p.record {
		return nil
	}
	return p.allWords()
}

// profile returns the profile of a text. With a Tokenizer or a Weight it has one level, the
// features of f. Any string is a valid text.
func (f *Fingerprinter) profile(text string) reading {
	r := f.slimProfile(text)
	r.profile = r.whole(f)
	return r
}

// slimProfile returns the profile of a text, without its parts if they can be made later.
func (f *Fingerprinter) slimProfile(text string) (r reading) {
	r.length, r.text = lex.Count(text), xxh3.HashString(text)
	normalized := f.Normalizer.Normalize(text)
	if !f.hasLevels() {
		r.parts = &parts{words: wording.Read(normalized), terms: f.rawWeight().Vector(text)}
		r.measure()
		return r
	}
	words, digest := wording.Count(normalized)
	r.size, r.digest = words+documentSize, digest
	if words == 0 {
		r.parts = &parts{levels: true, fine: 1}
		return r
	}
	r.body, r.bytes = strings.Clone(normalized), len(normalized)
	return r
}

// measure sets the size and the digest of a profile that has no body.
func (p *profile) measure() {
	p.size = len(p.words) + documentSize
	h := xxh3.New()
	var b [12]byte
	for _, t := range p.terms {
		binary.LittleEndian.PutUint64(b[:], t.Feature)
		binary.LittleEndian.PutUint32(b[8:], math.Float32bits(t.Weight))
		h.Write(b[:])
	}
	for _, w := range p.words {
		binary.LittleEndian.PutUint32(b[:], w)
		h.Write(b[:4])
	}
	p.digest = h.Sum64()
}

// hasFeatures reports whether there is anything to compare.
func (p *profile) hasFeatures() bool { return p.bytes > 0 || len(p.terms) > 0 }

// compare orders profiles by what is compared, which does not depend on when they were added. Only
// profiles with equal terms and words are equal. f is the Fingerprinter that made them.
func (p *profile) compare(q *profile, f *Fingerprinter) int {
	if p.digest != q.digest || p.file == q.file && p.file != nil && p.at == q.at || p.hasBody(q) {
		return cmp.Compare(p.digest, q.digest)
	}
	x, y := p.whole(f), q.whole(f)
	return cmp.Or(cmp.Compare(x.fine, y.fine), slices.CompareFunc(x.terms, y.terms, func(t, u Term) int {
		return cmp.Or(cmp.Compare(t.Feature, u.Feature), cmp.Compare(t.Weight, u.Weight))
	}), slices.Compare(x.words, y.words))
}

// hasBody reports whether p and q have a body, and the same one.
func (p *profile) hasBody(q *profile) (same bool) {
	if p.bytes > 0 && p.bytes == q.bytes {
		p.readBody(func(body string) { q.readBody(func(other string) { same = body == other }) })
	}
	return same
}

// documentSize is the size of a document without words.
const documentSize = 100

// levels appends the terms of a text, which must have a word, and returns the share of the characters.
func (r *extractor) levels(text string, terms []Term) (fine float32, _ []Term) {
	r.runs = r.runs[:0]
	units := r.readLevel(text, false)
	switch {
	// The words were only needed to count them.
	case units <= shortText:
		fine, r.runs = 1, r.runs[:0]
	case units < longText:
		fine = float32((exact.Ln(longText) - exact.Ln(float64(units))) / (exact.Ln(longText) - exact.Ln(shortText)))
	}
	if fine > 0 {
		r.readLevel(text, true)
	}
	r.runs, r.sorted = cosine.SortKeys(r.runs, r.sorted)
	different := 1
	for i := 1; i < len(r.runs); i++ {
		if r.runs[i] != r.runs[i-1] {
			different++
		}
	}
	terms = slices.Grow(terms, different)
	for i := 0; i < len(r.runs); {
		from := i
		for i++; i < len(r.runs) && r.runs[i] == r.runs[from]; i++ {
		}
		terms = append(terms, Term{Feature: r.runs[from], Weight: logCountOf(i - from)})
	}
	return fine, terms
}

// hasLevels reports whether texts have the features of the two levels.
func (f *Fingerprinter) hasLevels() bool { return f.Tokenizer == nil && f.Weight == nil }

// recordProfile returns the profile of a record, which always has one level. For its errors see
// checkRecord.
func (f *Fingerprinter) recordProfile(rec Record) (p reading, err error) {
	if err := f.checkRecord(rec); err != nil {
		return p, err
	}
	for _, value := range rec {
		p.length += utf8.RuneCountInString(value)
	}
	p.parts = &parts{terms: f.rawWeight().RecordVector(rec), record: true}
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
	p.words, p.text = slices.Clone(p.words), xxh3.HashString(text.String())
	p.measure()
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

// readLevel appends the features of one level to runs, each as often as it occurs, and returns the number
// of units of the text: words, or characters for that level.
func (r *extractor) readLevel(text string, chars bool) (units int) {
	key := r.f.Hash.key
	level := uint64(0)
	if chars {
		level = 1
	}
	return r.batch.EachRun(text, chars, func(feature []byte) {
		r.runs = append(r.runs, levelKey(lex.String(feature), level, key))
	})
}

// levelKey returns the key of a feature. The lowest bit is the level, so the two levels never share
// a key; the key is never 0 or 1.
func levelKey(feature string, level uint64, key *hashKey) uint64 {
	return max(featureKey(feature, key)&^1, 2) | level
}

// profileWeights turn the raw weights of profiles into final ones, by document frequency.
type profileWeights struct {
	n    float64   // documents that count
	own  bool      // the caller has a Weight; raw weights are final
	idfs []float64 // idf of document frequencies below 30,000, computed once
}

// newProfileWeights returns the weights for n documents that count. own says that raw weights are
// final.
func newProfileWeights(n int, own bool) profileWeights {
	w := profileWeights{n: float64(n), own: own}
	for df := range min(n+1, 30_000) {
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

// weigh turns the raw weights of terms into final ones, in place. df has the document frequency of each. With
// two levels, it scales each level to the root of its share, as described above, and returns the factors
// that do it, or 1. fine is the share of the characters.
func (w profileWeights) weigh(terms Vector, levels bool, fine float32, df []uint32) (factors [2]float64) {
	var squares [2]float64
	for i := range terms {
		t := &terms[i]
		t.Weight = float32(float64(t.Weight) * w.idf(df[i]))
		squares[t.Feature&1] += float64(t.Weight) * float64(t.Weight)
	}
	if !levels || fine == 0 || fine == 1 {
		return [2]float64{1, 1}
	}
	// Feature&1 is the level: 0 is words, 1 is characters.
	factors = [2]float64{math.Sqrt(1-float64(fine)) * cosine.UnitFactor(squares[0]), math.Sqrt(float64(fine)) * cosine.UnitFactor(squares[1])}
	for i := range terms {
		t := &terms[i]
		t.Weight = float32(float64(t.Weight) * factors[t.Feature&1])
	}
	return factors
}
