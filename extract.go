package neardup

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/lex"
)

// A reading turns one text, perhaps in pieces, into the weighted hashes of its
// features. All that fingerprints, counts or shows features goes through it:
//
//	text ─ batch ──────────────── hashes ─┬─ unit or linear weights ─ accumulators
//	     └ source or tokenizer ─ tokens ──┴─ bag ─ other weights ─┬── accumulators
//	                                                              └── vectors
//
// Features whose hashes say all that the weight needs are never spelled out: a batch
// hashes them where they lie, some thousand at a time. Unit and linear weights go
// straight into the accumulators, others wait in the bag until the text has ended.
type reading struct {
	f       *Fingerprinter
	purpose purpose
	needs   needs
	unit    bool        // every occurrence weighs 1
	linear  bool        // see Weight
	bagged  bool        // features are collected before they are weighed
	keeps   bool        // functions of the caller's own get the texts, and may keep them
	stats   *Statistics // if the weight is Count or LogCount times IDF,
	idf     *idfTable   // and its table

	batch   lex.Batch
	batched bool   // the batch reads the text, or
	src     source // this does, or nil for a tokenizer of the caller's own
	each    func(Token) bool
	take    func(hashes []uint64)
	hash64  func(string) uint64
	hash128 func(string) (hi, lo uint64)

	lo, hi   Accumulator64 // what was summed; hi of 128 bits only
	n        int           // tokens waiting in:
	hashes   [2][lex.MaxFeatures]uint64
	weights  [lex.MaxFeatures]int64
	keys     [lex.MaxFeatures]uint64
	bag      frequency.Bag
	features []Feature // of the bag, if the hashes do not say it all
	feature  Feature   // what is being weighed

	recorded  bool    // it is a record, and this the field being read
	field     *Field  //
	weight    float64 // of the field
	named     []byte  // a feature with the name of the field
	eachField func(Token) bool
	pos       int    // how much of the text was read
	titleEnd  int    // where the title ends, or -1 if that is not known yet
	titled    bool   // the title has begun
	marked    []span // sentences with markers
}

// purpose is what a text is read for.
type purpose uint8

const (
	toSum64 purpose = iota
	toSum128
	toHash  // the hashes of all features, to take
	toCount // the keys of the features, in the bag
	toTerms // and what they weigh
	toShow  // the features, in the bag
)

// readings keeps the buffers between texts.
var readings = sync.Pool{New: func() any {
	r := &reading{}
	r.each, r.eachField = r.token, r.fieldToken
	r.bag.Factor = rand.Uint64() | 1
	return r
}}

// reading returns a reading of a text, see open and text, or of a record; see release.
func (f *Fingerprinter) reading(p purpose) *reading {
	r := readings.Get().(*reading)
	r.f, r.purpose = f, p
	r.unit, r.linear, r.bagged = f.Weight == nil || f.Weight == Weight(Count) || p == toHash || p == toCount, true, p >= toCount
	if !r.unit {
		r.needs, r.linear = needsOf(f.Weight), isLinear(f.Weight)
		r.bagged = r.bagged || !r.linear
		of := f.features()
		if err := checkWeight(f.Weight, &of, false); err != nil {
			panic(err)
		}
		r.stats, r.idf = tableOf(f.Weight)
	}
	r.titleEnd = -1
	r.keeps = r.needs&needsName != 0 || !f.Hash.isXXH3()
	return r
}

// open prepares for a text.
func (r *reading) open() *reading {
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

// setHash prepares for tokens, which are hashed by their texts.
func (r *reading) setHash() {
	switch r.purpose {
	case toSum64, toHash:
		r.hash64 = r.f.Hash.sum64()
	case toSum128:
		r.hash128 = r.f.Hash.sum128()
	}
}

// release lets go of what was read. The reading must not be used any more.
func (r *reading) release() {
	r.lo = Accumulator64{}
	if r.purpose == toSum128 {
		r.hi = Accumulator64{}
	}
	r.bag.Clear()
	clear(r.features)
	if r.features = r.features[:0]; cap(r.features) > 1<<17 {
		r.features = nil
	}
	r.f, r.src, r.stats, r.idf, r.take, r.hash64, r.hash128, r.marked, r.field = nil, nil, nil, nil, nil, nil, nil, nil, nil
	r.feature = Feature{}
	r.needs, r.batched, r.recorded, r.n, r.pos, r.titled = 0, false, false, 0, 0, false
	if cap(r.named) > 1<<16 {
		r.named = nil
	}
	readings.Put(r)
}

// sum64 returns the fingerprint of what was read, and releases r.
func (r *reading) sum64() Fingerprint64 {
	fp := Fingerprint64(r.lo.sum.Majority(r.f.TiesOne))
	r.release()
	return fp
}

// sum128 is sum64 for 128 bits; of 64 there is only Lo.
func (r *reading) sum128() Fingerprint128 {
	fp := Fingerprint128{Hi: r.hi.sum.Majority(r.f.TiesOne), Lo: r.lo.sum.Majority(r.f.TiesOne)}
	r.release()
	return fp
}

// text reads a text in one piece.
func (r *reading) text(text string) {
	text = r.f.Normalizer.Normalize(text)
	if r.needs&needsMarked != 0 {
		r.marked = sentenceLexicon(r.f.Weight).markedSentences(text)
	}
	r.open().read(text, true)
	r.finish()
}

// read takes in a piece of a text, normalised, that does not end inside a character
// unless it is the last.
func (r *reading) read(piece string, last bool) {
	if r.needs&needsDocument != 0 && r.titleEnd < 0 {
		r.findTitle(piece)
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

// findTitle looks for the end of the first line that has a letter, a digit or an emoji.
func (r *reading) findTitle(piece string) {
	for i := 0; i < len(piece); {
		_, class, size := lex.Next(lex.Bytes(piece), i)
		switch {
		case class == lex.Letter || class == lex.Single:
			r.titled = true
		case (piece[i] == '\n' || piece[i] == '\r') && r.titled:
			r.titleEnd = r.pos + i
			return
		}
		i += size
	}
}

// takeBatch takes in the features that the batch has prepared.
func (r *reading) takeBatch() {
	if r.purpose == toHash {
		r.take(r.batch.Hash64())
		return
	}
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
	keys := r.batch.Hash64()
	lo, hi := keys, keys
	if r.purpose == toSum128 {
		keys = r.keys[:copy(r.keys[:], keys)]
		hi, lo = r.batch.Hash128()
	}
	if r.bagged {
		for i, key := range keys {
			r.collect(i, key, lo[i], hi[i])
		}
		return
	}
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

// batchToken returns feature i of the batch. Its text is good until the batch goes on.
func (r *reading) batchToken(i int) Token {
	text, start, end := r.batch.Feature(i)
	return Token{Text: text, Start: start, End: end}
}

// own returns a token with a text that may be kept, if that is needed.
func (r *reading) own(t Token) Token {
	if r.keeps {
		t.Text = strings.Clone(t.Text)
	}
	return t
}

// texts reports whether features are asked for their text, or what is around it.
func (r *reading) texts() bool {
	return r.purpose == toShow || r.purpose != toCount && r.needs&(needsToken|needsDocument) != 0
}

// collect puts feature i of the batch into the bag.
func (r *reading) collect(i int, key, lo, hi uint64) {
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

// describe notes of a feature in the bag what a weight may ask for.
func (r *reading) describe(e int, isNew bool, t Token, key uint64, field float64) {
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
		r.bag.Weights[e] += Quantize(field) // for now; see weigh
	}
	if r.needs&needsDocument != 0 {
		f := &r.features[e]
		f.Title = f.Title || r.titleEnd < 0 || t.Start < r.titleEnd
		f.Marked = f.Marked || r.isMarked(t.Start)
	}
}

// token takes in one feature.
func (r *reading) token(t Token) bool {
	r.occurrence(t, 1)
	return true
}

// occurrence takes in a feature of a field with a weight; of a text, that is 1.
func (r *reading) occurrence(t Token, field float64) {
	switch {
	case r.unit && !r.bagged:
		r.put(t.Text, 1)
		return
	case !r.bagged:
		r.put(t.Text, r.linearWeight(t, featureKey(t.Text, r.f.Hash.key), field))
		return
	}
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

// linearWeight returns what an occurrence weighs: a whole weight of the field multiplies
// the rounded weight of the token.
func (r *reading) linearWeight(t Token, key uint64, field float64) int64 {
	w := 1.0
	if !r.unit {
		r.feature = Feature{Token: t, Count: 1, key: key}
		w = r.f.Weight.Weigh(&r.feature)
	}
	if field == math.Trunc(field) && math.Abs(field) < 1<<20 {
		return Quantize(w) * int64(field)
	}
	return Quantize(float64(w * field))
}

// put hashes a token and lets it wait with its weight.
func (r *reading) put(text string, weight int64) {
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

// flush adds what waits to the sums.
func (r *reading) flush() {
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

// finish ends the text: it weighs what is in the bag and sums up.
func (r *reading) finish() {
	r.flush()
	if !r.bagged || r.purpose == toCount {
		return
	}
	b := &r.bag
	switch {
	case !r.linear:
		r.weigh()
	case len(b.Weights) < len(b.Keys): // linear, by the keys alone
		for i, key := range b.Keys {
			b.Weights = append(b.Weights, r.linearWeight(Token{}, key, 1)*int64(b.Counts[i]))
		}
	}
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

// weigh weighs what is in the bag. Of a record, the weights of the fields have been
// summed up where the weights go, and their mean is a factor.
func (r *reading) weigh() {
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
		if r.stats != nil { // LogCount times IDF
			w = float64(logCount(b.Counts[i]) * r.idf.exact[r.stats.rank(key)])
		} else {
			f := &r.feature
			if r.texts() {
				f = &r.features[i]
				f.Shortest, f.Longest = shortest, longest
			}
			f.key, f.Count = key, b.Counts[i]
			w = r.f.Weight.Weigh(f)
		}
		if r.recorded {
			w = float64(w * (float64(b.Weights[i]) / (1 << weightBits) / b.Counts[i]))
		}
		b.Weights[i] = Quantize(w)
	}
}

func (r *reading) isMarked(pos int) bool {
	i, _ := slices.BinarySearchFunc(r.marked, pos, func(s span, pos int) int {
		if s.end <= pos {
			return -1
		}
		return 1
	})
	return i < len(r.marked) && r.marked[i].start <= pos
}
