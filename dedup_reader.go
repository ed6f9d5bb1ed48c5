package neardup

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/forest"
	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/lex"
)

// This file weighs profiles one by one, by document frequencies that are known, and compares slim ones:
//
//	reader  makes the vector of a profile again, and the keys of a forest from it
//	probe   holds one vector, and compares it with other profiles. A feature of these counts only if the
//	        vector has it, so nothing of the others is sorted, weighed or stored.
//
// The cosines are those of the whole vectors, to the last bit.

// frequencies weigh profiles by document frequency. They do not change.
type frequencies struct {
	weights profileWeights
	table   *frequency.Table // how many documents have each feature, near-copies once
	filter  frequency.Filter // the features in the table; nil if not made
}

// prune leaves the features of at least two documents in the table. One that is not there counts as if one
// document had it. Most features of a text are of this kind, so a filter spares them the look-up.
func (f *frequencies) prune() {
	f.table.Prune(2)
	f.filter = frequency.NewFilter(f.table.Len())
	f.table.Each(func(feature uint64, _ *uint32) { f.filter.Add(feature) })
}

// documents returns how many documents have a feature, where near-copies count once together.
func (f *frequencies) documents(feature uint64) uint32 {
	if f.filter != nil && !f.filter.MayHave(feature) {
		return 0
	}
	return f.table.Find(feature, 0) &^ frequency.Marked
}

// vector returns the vector of a profile that is not slim. A feature that no document had when frequencies
// were counted counts as if one had it.
func (f *frequencies) vector(p *profile) Vector {
	v := slices.Clone(p.terms)
	df := make([]uint32, len(v))
	for i, t := range v {
		df[i] = max(f.documents(t.Feature), 1)
	}
	f.weights.weigh(v, p.levels, p.fine, df)
	// A feature that all documents have may weigh 0; a vector has no such terms.
	return slices.DeleteFunc(v, func(t Term) bool { return t.Weight == 0 })
}

// A reader reads one profile after the other, for one goroutine.
type reader struct {
	*frequencies
	known [1 << knownBits]struct { // what was looked up last, by the highest bits of the feature
		feature uint64
		df      uint32
	}
	x      *extractor
	raw    []Term   // the terms of the profile
	df     []uint32 // their document frequencies, at least 1
	vector Vector   // the terms with final weights

	unknown  []uint32 // the terms that were not in known
	features []uint64 // of these, what may be in the table
	found    []uint32
}

// knownBits make known small enough to stay close to the processor, and large enough for the runs of
// characters that most texts have.
const knownBits = 13

// newReader returns a reader for profiles of f.
func (q *frequencies) newReader(f *Fingerprinter) *reader {
	return &reader{frequencies: q, x: f.extractor(toTerms)}
}

// A measure is what is needed to weigh a feature of a profile.
type measure struct {
	levels  [2]bool    // whether it has words, and characters
	factors [2]float64 // that scale these
	square  float64    // of its vector
}

// isSet reports whether a measure is known.
func (m *measure) isSet() bool { return m.levels != [2]bool{} }

// read reads a profile, which may be slim.
func (r *reader) read(p *profile) measure {
	levels, fine := true, float32(1)
	if p.isSlim() {
		p.readBody(func(body string) { fine, r.raw = r.x.levels(body, r.raw[:0]) })
	} else {
		levels, fine, r.raw = p.levels, p.fine, append(r.raw[:0], p.terms...)
	}
	r.lookUp()
	r.vector = append(r.vector[:0], r.raw...)
	factors := r.weights.weigh(r.vector, levels, fine, r.df)
	return measure{[2]bool{fine < 1, fine > 0}, factors, cosine.Square(r.vector)}
}

// lookUp sets the document frequencies of raw. Where they are in the table, the processor would wait for
// memory each time. So it goes through the features three times, and each time no step waits for another one.
func (r *reader) lookUp() {
	n := len(r.raw)
	r.df = slices.Grow(r.df[:0], n)[:n]
	r.unknown = slices.Grow(r.unknown[:0], n)[:0]
	for k := range r.raw {
		x := r.raw[k].Feature
		if known := &r.known[x>>(64-knownBits)]; known.feature == x {
			r.df[k] = known.df
		} else {
			r.df[k] = 1
			r.unknown = append(r.unknown, uint32(k))
		}
	}
	unknown := r.unknown
	if r.filter != nil {
		may := 0
		for _, k := range unknown {
			unknown[may] = k // keeps what may is, so the first ones are those that may be in the table
			may += int(r.filter.Bit(r.raw[k].Feature))
		}
		unknown = unknown[:may]
	}
	r.features, r.found = r.features[:0], slices.Grow(r.found[:0], len(unknown))[:len(unknown)]
	for _, k := range unknown {
		r.features = append(r.features, r.raw[k].Feature)
	}
	r.table.FindAll(r.features, 0, r.found)
	for i, k := range unknown {
		df := max(r.found[i]&^frequency.Marked, 1)
		r.df[k] = df
		x := r.features[i]
		known := &r.known[x>>(64-knownBits)]
		known.feature, known.df = x, df
	}
}

// keys sets the keys of the profile that was read, and returns its sketch. For keys, a text is known by its
// runs of words, and one of few words by its runs of characters too, in every other tree. So two texts on
// both sides of the border have half of the trees in common.
func (r *reader) keys(p *profile, sampler *forest.Sampler, keys []forest.Key) forest.Sketch {
	words, chars := forest.All, forest.Part(-1)
	levels := p.bytes > 0
	if n := p.size - documentSize; levels && n < shortKeys {
		words, chars = forest.Odd, forest.Even
		if n <= shortText {
			chars = forest.All
		}
	}
	sampler.Reset()
	for k, t := range r.raw {
		switch {
		case !levels || t.Feature&1 == 0:
			sampler.Add(t.Feature, r.df[k], words)
		case chars >= 0:
			sampler.Add(t.Feature, r.df[k], chars)
		}
	}
	sampler.Keys(keys)
	square := cosine.Square(r.vector)
	for _, t := range r.vector {
		sampler.AddWeighted(t.Feature, float64(t.Weight)*float64(t.Weight)/square)
	}
	return sampler.Sketch()
}

// A probe compares a profile with others.
type probe struct {
	*reader
	square float64
	idfs   []float64 // of the terms
	counts []int32   // how often the other profile has each term; 0 between calls
	starts []uint32  // for the highest bits of a feature: where such terms begin
	shift  int
}

// set sets the profile that is compared with others.
func (p *probe) set(of *profile) {
	p.square = p.read(of).square
	n := len(p.vector)
	p.idfs = p.idfs[:0]
	for _, df := range p.df {
		p.idfs = append(p.idfs, p.weights.idf(df))
	}
	p.counts = append(p.counts[:0], make([]int32, n)...)
	p.shift = 64 - bits.Len(uint(n))
	p.starts = append(p.starts[:0], make([]uint32, 1<<(64-p.shift)+1)...)
	for _, t := range p.vector {
		p.starts[t.Feature>>p.shift+1]++
	}
	for i := 1; i < len(p.starts); i++ {
		p.starts[i] += p.starts[i-1]
	}
}

// cosine returns the cosine of the profile and another one with a measure.
func (p *probe) cosine(with *profile, m *measure) float64 {
	if !with.isSlim() {
		return cosine.Of(cosine.Dot(p.vector, p.frequencies.vector(with)), p.square, m.square)
	}
	with.readBody(func(body string) {
		for level, has := range m.levels {
			if has {
				p.count(body, uint64(level))
			}
		}
	})
	dot := 0.0
	for k, n := range p.counts {
		if n == 0 {
			continue
		}
		p.counts[k] = 0
		t := p.vector[k]
		w := float32(float64(logCountOf(int(n))) * p.idfs[k])
		if x := m.factors[t.Feature&1]; x != 1 {
			w = float32(float64(w) * x)
		}
		dot += float64(t.Weight) * float64(w)
	}
	return cosine.Of(dot, p.square, m.square)
}

// count counts the features of a text on one level, as far as the probe has them.
func (p *probe) count(body string, level uint64) {
	key := p.x.f.Hash.key
	p.x.batch.EachRun(body, level == 1, func(feature []byte) {
		x := levelKey(lex.String(feature), level, key)
		b := x >> p.shift
		for k := p.starts[b]; k < p.starts[b+1]; k++ {
			if p.vector[k].Feature == x {
				p.counts[k]++
				break
			}
		}
	})
}
