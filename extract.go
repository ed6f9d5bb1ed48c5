package neardup

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/lex"
)

// This file turns one text or record into the weighted hashes of its features. Everything that
// makes fingerprints, vectors or sets, and everything that counts or lists features, goes through
// the type extractor:
//
//	text ─ batch ──────────────── hashes ─┬─ unit or linear weights ─ accumulators
//	     └ source or tokenizer ─ tokens ──┴─ bag ─ other weights ─┬── accumulators
//	                                                              └── vectors
//
// There are two ways in. If the features are windows of the lexer and xxh3 hashes them, a batch
// (lex.Batch) hashes them where they lie in its buffer, up to 1024 at a time, and no token is made
// unless the weight asks for it. Otherwise a source, or the caller's tokenizer, yields tokens,
// which are hashed one by one.
//
// There are two ways out. Unit weights and linear weights (see Weight) depend only on the
// occurrence at hand, so each occurrence can be added to the accumulators at once. All other
// weights need the counts, or the whole document: the distinct features wait in a bag
// (frequency.Bag) and are weighed when the text has ended. Hashes that come one by one, from
// tokens, wait in an array first, because adding many at a time is much faster.
//
// A record is read value by value into the bag, with the weights of the fields (record.go).
//
// An extractor comes from a pool and is used as follows:
//
//	r := f.extractor(purpose)
//	r.document(doc) // or r.open(), r.read for each piece, and r.finish
//	...             // take what the purpose says from r.lo, r.hi or r.bag
//	r.release()     // sum64 and sum128 include it

// An extractor reads one text or record. It is for one goroutine.
type extractor struct {
	f *Fingerprinter

	// purpose says what to make of the features. needs is what the weight asks for; it is 0 for
	// unit weights, which need no call of Weigh.
	purpose purpose
	needs   needs

	// The class of the weight; unit: every occurrence weighs 1. linear: an occurrence can be
	// weighed without knowing the rest of the document (see Weight). bagged: the distinct features
	// are collected in bag. A text with linear weights is bagged only if its purpose needs the
	// features themselves.
	unit   bool
	linear bool
	bagged bool

	// keeps says that functions of the caller's get the texts of features. They may keep them, so
	// they get copies.
	keeps bool

	// stats is set if the weight is Product{Count or LogCount, IDF}, and idf is its table of
	// weights. Then a weight is one look-up by the key.
	stats *DocumentFrequencies
	idf   *idfTable

	// The way in: batch if batched is set, else src, or the caller's tokenizer if src is nil.
	batch   lex.Batch
	batched bool
	src     source
	each    func(Token) bool      // the method token, made once
	take    func(hashes []uint64) // for toHash: gets the hashes of all occurrences

	// The Hash of the Fingerprinter, for features that come as tokens.
	hash64  func(string) uint64
	hash128 func(string) (hi, lo uint64)

	// The sums. hi is used only for 128 bits.
	lo, hi Accumulator64

	// Tokens that are not bagged wait here until there are enough to add them together: n of them,
	// with the lower words of their hashes in hashes[0], the upper ones in hashes[1], and quantised
	// weights. A batch of the lexer never waits, but also uses weights, and keys as a copy of its
	// keys.
	n       int
	hashes  [2][lex.MaxFeatures]uint64
	weights [lex.MaxFeatures]int64
	keys    [lex.MaxFeatures]uint64

	// Entry e of the bag has the key, the hashes, the count and the quantised weight of feature e.
	// If texts() is set, features[e] is the feature itself. feature is a temporary for calls of
	// Weigh; as a field it is not allocated each time.
	bag      frequency.Bag
	features []Feature
	feature  Feature

	// A record instead of a text is being read: the current field, its weight, and a buffer for
	// features that carry the name of the field.
	recorded  bool
	field     *Field
	weight    float64
	named     []byte
	eachField func(Token) bool

	// pos is the number of bytes read so far. The title ends at titleEnd, which is −1
	// until that is known; titled says that it has begun. marked are the sentences with markers, in
	// order.
	pos      int
	titleEnd int
	titled   bool
	marked   []span
}

// purpose says what a text is read for.
type purpose uint8

const (
	toSum64  purpose = iota // a 64-bit fingerprint: the sum in lo
	toSum128                // a 128-bit fingerprint: the sums in lo and hi
	toHash                  // the 64-bit hashes of all occurrences, passed to take
	toCount                 // document frequencies: the keys in the bag
	toTerms                 // vectors: the keys and weights in the bag
	toShow                  // the features themselves, with their weights in the bag
)

// extractors keeps the buffers between texts; an extractor has more than 50 KiB of them. The factor of
// each bag is secret, so that nobody can choose features that collide in it.
var extractors = sync.Pool{New: func() any {
	r := &extractor{}
	r.each, r.eachField = r.token, r.fieldToken
	r.bag.Factor = rand.Uint64() | 1
	return r
}}

// extractor returns an extractor for one text or record. It panics if the Weight of f is wrong or does
// not fit its features. End with release, or with sum64 or sum128.
func (f *Fingerprinter) extractor(p purpose) *extractor {
	r := extractors.Get().(*extractor)
	r.f, r.purpose = f, p
	// Hashing and counting do not weigh, so they go the way of unit weights.
	r.unit, r.linear, r.bagged = f.Weight == nil || f.Weight == Weight(Count) || p == toHash || p == toCount, true, p >= toCount
	if !r.unit {
		r.needs, r.linear = needsOf(f.Weight), isLinear(f.Weight)
		r.bagged = r.bagged || !r.linear
		of := f.features()
		if err := checkWeight(f.Weight, &of, false); err != nil {
			panic(err.Error())
		}
		r.stats, r.idf = tableOf(f.Weight)
	}
	r.titleEnd = -1
	r.keeps = r.needs&needsName != 0 || !f.Hash.isXXH3()
	return r
}

// open chooses the way in for a text. Counting and vectors need only keys, which are always xxh3,
// so they can use a batch whatever the Hash is.
func (r *extractor) open() *extractor {
	chars, n, ok := unitsOf(r.f.tokenizer())
	if ok && (r.purpose == toCount || r.purpose == toTerms || r.f.Hash.isXXH3()) {
		r.batch.Reset(chars, n)
		r.batch.Offsets = r.texts()
		if key := r.f.Hash.key; key != nil {
			r.batch.Seed, r.batch.Seeded = key.seed, true
		}
		r.batched = true
		return r
	}
	r.src = sourceOf(r.f.tokenizer())
	r.setHash()
	return r
}

// setHash prepares for tokens, whose texts are hashed. Counting, vectors and listing need no hash
// but the key.
func (r *extractor) setHash() {
	switch r.purpose {
	case toSum64, toHash:
		r.hash64 = r.f.Hash.sum64()
	case toSum128:
		r.hash128 = r.f.Hash.sum128()
	}
}

// release clears r and puts it back into the pool. It drops buffers that a very large text made
// large. r must not be used any more.
func (r *extractor) release() {
	// An accumulator has 520 bytes, so hi is cleared only if it was used.
	r.lo = Accumulator64{}
	if r.purpose == toSum128 {
		r.hi = Accumulator64{}
	}
	r.bag.Clear()
	clear(r.features)
	// clear lets go of the texts. Very large buffers are dropped, so that the pool does not hold
	// them.
	if r.features = r.features[:0]; cap(r.features) > 1<<17 {
		r.features = nil
	}
	r.f, r.src, r.stats, r.idf, r.take, r.hash64, r.hash128, r.marked, r.field = nil, nil, nil, nil, nil, nil, nil, nil, nil
	r.feature = Feature{}
	r.needs, r.batched, r.recorded, r.n, r.pos, r.titled = 0, false, false, 0, 0, false
	if cap(r.named) > 1<<16 {
		r.named = nil
	}
	extractors.Put(r)
}

// sum64 returns the 64-bit fingerprint and releases r.
func (r *extractor) sum64() Fingerprint64 {
	fp := Fingerprint64(r.lo.sum.Majority(r.f.TiesOne))
	r.release()
	return fp
}

// sum128 returns the 128-bit fingerprint and releases r. If r was made for 64 bits, only Lo is
// meaningful.
func (r *extractor) sum128() Fingerprint128 {
	fp := Fingerprint128{Hi: r.hi.sum.Majority(r.f.TiesOne), Lo: r.lo.sum.Majority(r.f.TiesOne)}
	r.release()
	return fp
}

// document reads a text or a record.
func (r *extractor) document(doc Document) {
	switch doc := doc.(type) {
	case Text:
		r.text(string(doc))
	case Record:
		r.record(doc)
	default:
		panic("neardup: no document: nil")
	}
}

// text reads a whole text. The Normalizer is applied first, so positions refer to its result.
func (r *extractor) text(text string) {
	text = r.f.Normalizer.Normalize(text)
	if r.needs&needsMarked != 0 {
		r.marked = sentenceLexicon(r.f.Weight).markedSentences(text)
	}
	r.open().read(text, true)
	r.finish()
}

// read takes the next piece of a text that has been normalised. A piece must not end inside a
// character unless it is the last.
func (r *extractor) read(piece string, last bool) {
	if r.needs&needsDocument != 0 && r.titleEnd < 0 {
		var end int
		if end, r.titled = lex.TitleEnd(piece, r.titled); end >= 0 {
			r.titleEnd = r.pos + end
		}
	}
	r.pos += len(piece)
	switch {
	case r.batched:
		r.batch.Read(piece, last)
		for r.batch.Next() {
			r.takeBatch()
		}
	case r.src != nil:
		r.src.feed(piece, last, r.each)
	default:
		r.f.tokenizer().Tokens(piece)(r.each)
	}
}

// takeBatch takes the features of the current batch. Unit weights, and Count times IDF, go through
// tight loops without any token; these are the usual settings.
func (r *extractor) takeBatch() {
	if r.purpose == toHash {
		r.take(r.batch.Hash64())
		return
	}
	// Unit weights, the default: add the hashes, and nothing else.
	if r.unit && !r.bagged {
		if r.purpose == toSum64 {
			r.lo.AddAll(r.batch.Hash64())
			return
		}
		hi, lo := r.batch.Hash128()
		r.hi.AddAll(hi)
		r.lo.AddAll(lo)
		return
	}
	// For 64 bits the key of a feature is also its hash. Hash128 reuses the memory of Hash64, so
	// for 128 bits the keys are copied first.
	keys := r.batch.Hash64()
	lo, hi := keys, keys
	if r.purpose == toSum128 {
		keys = r.keys[:copy(r.keys[:], keys)]
		hi, lo = r.batch.Hash128()
	}
	// Features are collected, to be weighed at the end of the text.
	if r.bagged {
		for i, key := range keys {
			r.collect(i, key, lo[i], hi[i])
		}
		return
	}
	// Linear weights: quantise the weight of each occurrence, from a table if possible.
	weights := r.weights[:len(keys)]
	switch {
	case r.stats != nil:
		table := r.idf.quantised
		for i, key := range keys {
			weights[i] = table[r.stats.rank(key)]
		}
	case r.texts():
		for i, key := range keys {
			weights[i] = r.linearWeight(r.own(r.batchToken(i)), key, 1)
		}
	default:
		for i, key := range keys {
			weights[i] = r.linearWeight(Token{}, key, 1)
		}
	}
	r.lo.AddWeighted(lo, weights)
	if r.purpose == toSum128 {
		r.hi.AddWeighted(hi, weights)
	}
}

// batchToken returns feature i of the batch as a token. Its text is valid until the batch moves on.
func (r *extractor) batchToken(i int) Token {
	text, start, end := r.batch.Feature(i)
	return Token{Text: text, Start: start, End: end}
}

// own returns t with a text that the caller's functions may keep.
func (r *extractor) own(t Token) Token {
	if r.keeps {
		t.Text = strings.Clone(t.Text)
	}
	return t
}

// texts reports whether r needs tokens, not only hashes: to list the features, or for their
// weights.
func (r *extractor) texts() bool {
	return r.purpose == toShow || r.purpose != toCount && r.needs&(needsToken|needsDocument) != 0
}

// collect puts feature i of the batch into the bag. lo and hi are its hash.
func (r *extractor) collect(i int, key, lo, hi uint64) {
	e, isNew := r.bag.Entry(key)
	if r.purpose == toCount {
		return
	}
	r.bag.Counts[e]++
	if isNew && r.purpose != toTerms {
		r.bag.Lo = append(r.bag.Lo, lo)
		if r.purpose == toSum128 {
			r.bag.Hi = append(r.bag.Hi, hi)
		}
	}
	if r.texts() {
		r.describe(e, isNew, r.own(r.batchToken(i)), key, 1)
	}
}

// describe records in entry e of the bag what weighing it will need. field is the weight of the
// field, or 1 in a text.
//
// A linear weight is summed up right here, occurrence by occurrence. For other weights in a record,
// Weights[e] is used for the sum of the field weights, until weigh turns it into a mean.
func (r *extractor) describe(e int, isNew bool, t Token, key uint64, field float64) {
	if isNew {
		r.bag.Weights = append(r.bag.Weights, 0)
		if r.texts() {
			f := Feature{Token: t, key: key}
			f.Text = strings.Clone(t.Text)
			r.features = append(r.features, f)
		}
	}
	if r.linear {
		r.bag.Weights[e] += r.linearWeight(t, key, field)
	} else if r.recorded {
		r.bag.Weights[e] += exact.Quantize(field) // for now; see weigh
	}
	if r.needs&needsDocument != 0 {
		f := &r.features[e]
		// One occurrence in the title is enough, and one in a marked sentence. While titleEnd is
		// unknown, the title has not ended.
		f.Title = f.Title || r.titleEnd < 0 || t.Start < r.titleEnd
		f.Marked = f.Marked || r.isMarked(t.Start)
	}
}

// token takes one feature of a text. It always goes on.
func (r *extractor) token(t Token) bool {
	r.occurrence(t, 1)
	return true
}

// occurrence takes one feature of a text or of a field. field is the weight of the field, or 1 in a
// text.
func (r *extractor) occurrence(t Token, field float64) {
	switch {
	case r.unit && !r.bagged:
		r.put(t.Text, 1)
		return
	case !r.bagged:
		r.put(t.Text, r.linearWeight(t, featureKey(t.Text, r.f.Hash.key), field))
		return
	}
	// The bag knows features by their keys, whatever hash votes on the fingerprint.
	key := featureKey(t.Text, r.f.Hash.key)
	e, isNew := r.bag.Entry(key)
	r.bag.Counts[e]++
	if isNew {
		switch r.purpose {
		case toSum64:
			r.bag.Lo = append(r.bag.Lo, r.hash64(t.Text))
		case toSum128:
			hi, lo := r.hash128(t.Text)
			r.bag.Hi, r.bag.Lo = append(r.bag.Hi, hi), append(r.bag.Lo, lo)
		}
	}
	if r.purpose != toCount {
		r.describe(e, isNew, t, key, field)
	}
}

// linearWeight returns what one occurrence adds: the weight of its token times that of its field. A
// field weight that is a whole number multiplies the rounded weight of the token, so a field of
// weight 2 counts exactly as two occurrences. Any other product is rounded itself.
func (r *extractor) linearWeight(t Token, key uint64, field float64) int64 {
	w := 1.0
	if !r.unit {
		r.feature = Feature{Token: t, Count: 1, key: key}
		w = r.f.Weight.Weigh(&r.feature)
	}
	if field == math.Trunc(field) && math.Abs(field) < 1<<20 {
		return exact.Quantize(w) * int64(field)
	}
	return exact.Quantize(float64(w * field))
}

// put hashes a token and adds it to those that wait.
func (r *extractor) put(text string, weight int64) {
	if r.n == len(r.weights) {
		r.flush()
	}
	if r.purpose == toSum128 {
		r.hashes[1][r.n], r.hashes[0][r.n] = r.hash128(text)
	} else {
		r.hashes[0][r.n] = r.hash64(text)
	}
	r.weights[r.n] = weight
	r.n++
}

// flush adds the tokens that wait to the sums, or passes their hashes to take.
func (r *extractor) flush() {
	if r.purpose == toHash {
		r.take(r.hashes[0][:r.n])
		r.n = 0
		return
	}
	add := func(a *Accumulator64, hashes []uint64) {
		if r.unit {
			a.AddAll(hashes)
		} else {
			a.AddWeighted(hashes, r.weights[:r.n])
		}
	}
	add(&r.lo, r.hashes[0][:r.n])
	if r.purpose == toSum128 {
		add(&r.hi, r.hashes[1][:r.n])
	}
	r.n = 0
}

// finish ends the text: it weighs what is in the bag and adds it to the sums. When features are
// only counted, it leaves the bag as it is.
func (r *extractor) finish() {
	r.flush()
	if !r.bagged || r.purpose == toCount {
		return
	}
	b := &r.bag
	switch {
	case !r.linear:
		r.weigh()
	case len(b.Weights) < len(b.Keys): // linear, and the keys alone decide
		for i, key := range b.Keys {
			b.Weights = append(b.Weights, r.linearWeight(Token{}, key, 1)*int64(b.Counts[i]))
		}
	}
	// The sums of what was bagged. Vectors take the keys and weights from the bag.
	switch r.purpose {
	case toSum128:
		r.hi.AddWeighted(b.Hi, b.Weights)
		fallthrough
	case toSum64:
		r.lo.AddWeighted(b.Lo, b.Weights)
	case toShow:
		for i := range r.features {
			r.features[i].Count = b.Counts[i]
		}
	}
}

// weigh computes the weights of the features in the bag, for weights that are not linear. In a
// record, b.Weights has the sums of the field weights; their mean over the occurrences is a factor.
func (r *extractor) weigh() {
	b := &r.bag
	if !r.recorded {
		b.Weights = slices.Grow(b.Weights[:0], len(b.Keys))[:len(b.Keys)]
	}
	shortest, longest := math.MaxInt, 0
	if r.needs&needsDocument != 0 {
		for i := range r.features {
			n := r.features[i].Length()
			shortest, longest = min(shortest, n), max(longest, n)
		}
	}
	for i, key := range b.Keys {
		w := 0.0
		if r.stats != nil { // LogCount times IDF: the key and the count are enough
			w = float64(exact.LogCount(b.Counts[i]) * r.idf.exact[r.stats.rank(key)])
		} else {
			f := &r.feature
			if r.texts() {
				f = &r.features[i]
				f.Shortest, f.Longest = shortest, longest
			}
			f.key, f.Count = key, b.Counts[i]
			w = r.f.Weight.Weigh(f)
		}
		// The conversions forbid a fused multiply-add, which would round differently.
		if r.recorded {
			w = float64(w * (float64(b.Weights[i]) / (1 << exact.WeightBits) / b.Counts[i]))
		}
		b.Weights[i] = exact.Quantize(w)
	}
}

// isMarked reports whether position pos of the text lies in a sentence with a marker.
func (r *extractor) isMarked(pos int) bool {
	i, _ := slices.BinarySearchFunc(r.marked, pos, func(s span, pos int) int {
		if s.end <= pos {
			return -1
		}
		return 1
	})
	return i < len(r.marked) && r.marked[i].start <= pos
}

// fieldToken takes one feature of the current field. It always goes on.
func (r *extractor) fieldToken(t Token) bool {
	if r.field.Named {
		r.named = append(append(append(r.named[:0], r.field.Name...), '='), t.Text...)
		t.Text = lex.String(r.named)
	}
	r.occurrence(r.own(t), r.weight)
	return true
}
