package neardup

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// A reading turns one text, perhaps in pieces, into the weighted hashes of its
// features. All that fingerprints, counts or shows features goes through it:
//
//	text ─ batch ──────────────── hashes ─┬─ unit or linear weights ─ accumulators
//	     └ source or tokenizer ─ tokens ──┴─ bag ─ other weights ──── accumulators
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
	stats   *Statistics // if the weight is Count or LogCount times IDF,
	idf     *idfTable   // and its table

	batch   batch
	batched bool   // the batch reads the text, or
	src     source // this does, or nil for a tokenizer of the caller's own
	each    func(Token) bool
	hash64  func(string) uint64
	hash128 func(string) (hi, lo uint64)

	lo, hi  Accumulator64 // what was summed; hi of 128 bits only
	n       int           // tokens waiting in:
	hashes  [2][maxFeatures]uint64
	weights [maxFeatures]int64
	keys    [maxFeatures]uint64
	bag     bag
	feature Feature // what is being weighed

	named    []byte // a feature with the name of its field
	pos      int    // how much of the text was read
	titleEnd int    // where the title ends, or -1 if that is not known yet
	titled   bool   // the title has begun
	marked   []span // sentences with markers
}

// purpose is what a text is read for.
type purpose uint8

const (
	toSum64 purpose = iota
	toSum128
	toCount // the keys of the features, in the bag
	toShow  // the features, in the bag
)

// readings keeps the buffers between texts.
var readings = sync.Pool{New: func() any {
	r := &reading{}
	r.each = r.token
	r.bag.factor = rand.Uint64() | 1
	return r
}}

// reading returns a reading of a text; see release.
func (f *Fingerprinter) reading(p purpose) *reading {
	r := readings.Get().(*reading)
	r.f, r.purpose = f, p
	r.unit, r.linear, r.bagged = f.Weight == nil || f.Weight == Weight(Count), true, p >= toCount
	if !r.unit {
		r.needs, r.linear = needsOf(f.Weight), isLinear(f.Weight)
		r.bagged = r.bagged || !r.linear
		of := f.features()
		if err := checkWeight(f.Weight, &of); err != nil {
			panic(err)
		}
		r.stats, r.idf = tableOf(f.Weight)
	}
	r.titleEnd = -1
	chars, n, ok := unitsOf(f.tokenizer())
	if ok && (p == toCount || f.Hash.isXXH3()) {
		r.batch.reset(chars, n)
		r.batch.key, r.batch.offsets = f.Hash.key, r.texts()
		r.batched = true
		return r
	}
	r.start()
	return r
}

// start prepares for tokens.
func (r *reading) start() {
	r.src = sourceOf(r.f.tokenizer())
	switch r.purpose {
	case toSum64:
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
	r.bag.clear()
	r.f, r.src, r.stats, r.idf, r.hash64, r.hash128, r.marked = nil, nil, nil, nil, nil, nil, nil
	r.feature = Feature{}
	r.needs, r.batched, r.n, r.pos, r.titled = 0, false, 0, 0, false
	readings.Put(r)
}

// sum64 returns the fingerprint of what was read, and releases r.
func (r *reading) sum64() Fingerprint64 {
	fp := r.lo.Sum(r.f.Tie)
	r.release()
	return fp
}

// sum128 is sum64 for 128 bits; of 64 there is only Lo.
func (r *reading) sum128() Fingerprint128 {
	fp := Fingerprint128{Hi: uint64(r.hi.Sum(r.f.Tie)), Lo: uint64(r.lo.Sum(r.f.Tie))}
	r.release()
	return fp
}

// text reads a text in one piece.
func (r *reading) text(text string) {
	text = r.f.Normalizer.Normalize(text)
	if r.needs&needsMarked != 0 {
		l, _ := sentenceLexicon(r.f.Weight)
		r.marked = l.markedSentences(text)
	}
	r.read(text, true)
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
		r.batch.read(piece, last)
		for r.batch.next() {
			r.takeBatch()
		}
	case r.src != nil:
		r.src.feed(piece, last, r.each)
	default:
		r.f.tokenizer().Tokens(piece)(r.each)
	}
}

// findTitle looks for the end of the first line that has more than white space.
func (r *reading) findTitle(piece string) {
	for i := range len(piece) {
		switch c := piece[i]; {
		case c > ' ':
			r.titled = true
		case (c == '\n' || c == '\r') && r.titled:
			r.titleEnd = r.pos + i
			return
		}
	}
}

// takeBatch takes in the features that the batch has prepared.
func (r *reading) takeBatch() {
	if r.unit && !r.bagged {
		if r.purpose == toSum64 {
			r.lo.AddAll(r.batch.hash64())
			return
		}
		hi, lo := r.batch.hash128()
		r.hi.AddAll(hi)
		r.lo.AddAll(lo)
		return
	}
	keys := r.batch.hash64()
	lo, hi := keys, keys
	if r.purpose == toSum128 {
		keys = r.keys[:copy(r.keys[:], keys)]
		hi, lo = r.batch.hash128()
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
			weights[i] = r.linearWeight(r.batch.token(i), key, 1)
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

// texts reports whether features are asked for their text, or what is around it.
func (r *reading) texts() bool {
	return r.purpose == toShow || r.purpose != toCount && r.needs&(needsToken|needsDocument) != 0
}

// collect puts feature i of the batch into the bag.
func (r *reading) collect(i int, key, lo, hi uint64) {
	e, isNew := r.bag.entry(key)
	if r.purpose == toCount {
		return
	}
	r.bag.counts[e]++
	if isNew {
		r.bag.lo = append(r.bag.lo, lo)
		if r.purpose == toSum128 {
			r.bag.hi = append(r.bag.hi, hi)
		}
	}
	if r.texts() {
		r.describe(e, isNew, r.batch.token(i), key, 1)
	}
}

// describe notes of a feature in the bag what a weight may ask for.
func (r *reading) describe(e int, isNew bool, t Token, key uint64, n float64) {
	if isNew {
		r.bag.weights = append(r.bag.weights, 0)
		if r.texts() {
			f := Feature{Token: t, key: key}
			f.Text = strings.Clone(t.Text)
			r.bag.features = append(r.bag.features, f)
		}
	}
	if r.linear {
		r.bag.weights[e] += r.linearWeight(t, key, n)
	}
	if r.needs&needsDocument != 0 {
		f := &r.bag.features[e]
		f.Title = f.Title || r.titleEnd < 0 || t.Start < r.titleEnd
		f.Marked = f.Marked || r.isMarked(t.Start)
	}
}

// token takes in one feature.
func (r *reading) token(t Token) bool {
	r.occurrence(t, 1)
	return true
}

// occurrence takes in a feature that counts n times.
func (r *reading) occurrence(t Token, n float64) {
	switch {
	case r.unit && !r.bagged:
		r.put(t.Text, 1)
		return
	case !r.bagged:
		r.put(t.Text, r.linearWeight(t, featureKey(t.Text, r.f.Hash.key), n))
		return
	}
	key := featureKey(t.Text, r.f.Hash.key)
	e, isNew := r.bag.entry(key)
	r.bag.counts[e] += n
	if isNew {
		switch r.purpose {
		case toSum64:
			r.bag.lo = append(r.bag.lo, r.hash64(t.Text))
		case toSum128:
			hi, lo := r.hash128(t.Text)
			r.bag.hi, r.bag.lo = append(r.bag.hi, hi), append(r.bag.lo, lo)
		}
	}
	if r.purpose != toCount {
		r.describe(e, isNew, t, key, n)
	}
}

// linearWeight returns what n occurrences of a token weigh: a whole n multiplies the
// rounded weight of one.
func (r *reading) linearWeight(t Token, key uint64, n float64) int64 {
	w := 1.0
	if !r.unit {
		r.feature = Feature{Token: t, Count: 1, key: key}
		w = r.f.Weight.Weigh(&r.feature)
	}
	if n == math.Trunc(n) && math.Abs(n) < 1<<20 {
		return Quantize(w) * int64(n)
	}
	return Quantize(float64(w * n))
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
	lo, hi, weights := r.hashes[0][:r.n], r.hashes[1][:r.n], r.weights[:r.n]
	r.n = 0
	switch {
	case r.unit:
		r.lo.AddAll(lo)
	default:
		r.lo.AddWeighted(lo, weights)
	}
	switch {
	case r.purpose != toSum128:
	case r.unit:
		r.hi.AddAll(hi)
	default:
		r.hi.AddWeighted(hi, weights)
	}
}

// finish ends the text: it weighs what is in the bag and sums up.
func (r *reading) finish() {
	r.flush()
	if !r.bagged || r.purpose == toCount {
		return
	}
	b := &r.bag
	if !r.linear {
		b.weights = slices.Grow(b.weights[:0], len(b.keys))[:len(b.keys)]
		r.weigh()
	}
	switch r.purpose {
	case toSum128:
		r.hi.AddWeighted(b.hi, b.weights)
		fallthrough
	case toSum64:
		r.lo.AddWeighted(b.lo, b.weights)
	case toShow:
		for i := range b.features {
			b.features[i].Count = b.counts[i]
		}
	}
}

// weigh weighs what is in the bag.
func (r *reading) weigh() {
	b := &r.bag
	if r.stats != nil {
		for i, key := range b.keys {
			b.weights[i] = Quantize(float64(logCount(b.counts[i]) * r.idf.exact[r.stats.rank(key)]))
		}
		return
	}
	shortest, longest := math.MaxInt, 0
	for i := range b.features {
		if r.needs&needsDocument != 0 {
			n := b.features[i].Length()
			shortest, longest = min(shortest, n), max(longest, n)
		}
	}
	for i, key := range b.keys {
		f := &r.feature
		if r.texts() {
			f = &b.features[i]
			f.Shortest, f.Longest = shortest, longest
		}
		f.key, f.Count = key, b.counts[i]
		b.weights[i] = Quantize(r.f.Weight.Weigh(f))
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

// A bag is the distinct features of a text, in the order in which they first occur.
type bag struct {
	factor  uint64   // of the hash, so that nobody can choose keys that collide
	slots   []uint32 // 1 + where a key is, or 0; a power of two of them
	shift   uint
	keys    []uint64
	counts  []float64
	lo, hi  []uint64 // hashes, if they are to be summed
	weights []int64

	features []Feature // if the hash does not say it all
}

// entry returns where a key is, and whether it is new. A new one has a count of 0.
func (b *bag) entry(key uint64) (int, bool) {
	if 4*len(b.keys) >= 3*len(b.slots) {
		b.grow()
	}
	for at := key * b.factor >> b.shift; ; at++ {
		slot := &b.slots[at&uint64(len(b.slots)-1)]
		if *slot == 0 {
			b.keys, b.counts = append(b.keys, key), append(b.counts, 0)
			*slot = uint32(len(b.keys))
			return len(b.keys) - 1, true
		}
		if b.keys[*slot-1] == key {
			return int(*slot - 1), false
		}
	}
}

func (b *bag) grow() {
	b.resize(max(64, 2*len(b.slots)))
	for i, key := range b.keys {
		at := key * b.factor >> b.shift
		for b.slots[at&uint64(len(b.slots)-1)] != 0 {
			at++
		}
		b.slots[at&uint64(len(b.slots)-1)] = uint32(i + 1)
	}
}

// resize makes the slots so many, and empties them.
func (b *bag) resize(slots int) {
	if cap(b.slots) >= slots {
		b.slots = b.slots[:slots]
		clear(b.slots)
	} else {
		b.slots = make([]uint32, slots)
	}
	b.shift = 64
	for n := slots; n > 1; n /= 2 {
		b.shift--
	}
}

// clear empties the bag, and keeps its memory unless that is much.
func (b *bag) clear() {
	if len(b.slots) > 1<<17 {
		*b = bag{factor: b.factor}
		return
	}
	clear(b.features)
	b.keys, b.counts, b.lo, b.hi, b.weights = b.keys[:0], b.counts[:0], b.lo[:0], b.hi[:0], b.weights[:0]
	b.features = b.features[:0]
	b.resize(min(len(b.slots), 64))
}

// Features returns the distinct features of a text, in the order in which they first
// occur, with what each of them adds to the bits of the fingerprint that its hash has
// set and takes from the others: its weight as [Quantize] rounds it. Texts of features
// yielded may be kept.
func (f *Fingerprinter) Features(text string) iter.Seq2[Feature, float64] {
	return func(yield func(Feature, float64) bool) {
		r := f.reading(toShow)
		defer r.release()
		r.text(text)
		r.show(yield)
	}
}

func (r *reading) show(yield func(Feature, float64) bool) {
	for i := range r.bag.features {
		if !yield(r.bag.features[i], float64(r.bag.weights[i])/(1<<weightBits)) {
			return
		}
	}
}

// features is what the features of a Fingerprinter are made by.
type features struct {
	normalizer Normalizer
	tokenizer  Tokenizer
	fields     []Field
	key        *hashKey
	custom     string
}

func (f *Fingerprinter) features() features {
	return features{f.Normalizer.usual(), f.tokenizer(), f.Fields, f.Hash.key, f.Custom}
}

// same reports whether two are the same as far as that is seen at once.
func (a *features) same(b *features) bool {
	na, nb := a.normalizer, b.normalizer
	if (na.Boilerplate == nil) != (nb.Boilerplate == nil) {
		return false
	}
	na.Boilerplate, nb.Boilerplate = nil, nil
	if na != nb || (a.key == nil) != (b.key == nil) || a.key != b.key && a.key.check != b.key.check {
		return false
	}
	if len(a.fields) != len(b.fields) || len(a.fields) > 0 && &a.fields[0] != &b.fields[0] && fieldsVersion(a.fields, a.tokenizer) != fieldsVersion(b.fields, b.tokenizer) {
		return false
	}
	charsA, nA, okA := unitsOf(a.tokenizer)
	charsB, nB, okB := unitsOf(b.tokenizer)
	if okA || okB {
		return okA && okB && charsA == charsB && nA == nB
	}
	return tokenizerVersion(a.tokenizer) == tokenizerVersion(b.tokenizer)
}

// checkWeight returns an error if w cannot serve for these features.
func checkWeight(w Weight, of *features) (err error) {
	if needsOf(w)&needsMarked != 0 {
		if _, err := sentenceLexicon(w); err != nil {
			return err
		}
	}
	return checkStatistics(w, of)
}

func checkStatistics(w Weight, of *features) (err error) {
	var parts []Weight
	switch w := w.(type) {
	case IDF:
		if w.Statistics != nil && !of.same(&w.Statistics.of) {
			return fmt.Errorf("neardup: the statistics of an IDF were %w: of other features than those of the Fingerprinter", ErrVersion)
		}
	case Product:
		parts = w
	case Sum:
		parts = w
	}
	for _, p := range parts {
		if err := checkStatistics(p, of); err != nil {
			return err
		}
	}
	return nil
}

// tableOf returns the statistics and the table of weights if w is Count or LogCount
// times IDF.
func tableOf(w Weight) (*Statistics, *idfTable) {
	p, _ := w.(Product)
	if len(p) != 2 {
		return nil, nil
	}
	_, counted := p[0].(Occurrences)
	if idf, ok := p[1].(IDF); ok && counted && idf.Statistics != nil {
		return idf.Statistics, idf.table()
	}
	return nil, nil
}

// sentenceLexicon returns the lexicon by which sentences are marked, or nil.
func sentenceLexicon(w Weight) (l *Lexicon, err error) {
	weights(w, func(w Weight) {
		if m, ok := w.(Markers); ok && m.Sentence {
			if l != nil && l.id() != m.Lexicon.id() {
				err = errors.New("neardup: a Weight with two lexicons for sentences")
			}
			l = m.Lexicon
		}
	})
	return l, err
}
