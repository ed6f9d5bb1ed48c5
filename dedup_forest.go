package neardup

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/forest"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/wording"
)

// This file joins a large collection. Of a document only the text is kept, a place in each tree of a
// forest, and a sketch of 64 bytes:
//
//	weights    come from a sample of the documents, three to six million words of them
//	keys       say which rare features a document has (package forest)
//	candidates are the documents with a bucket in common, if sketches say that they may be similar
//	forms      are looked for among the documents that are candidates
//	cosines    are those of whole vectors, which are made again from the texts
//
// So the cost of a document does not depend on how many others there are.

const (
	sampleSize     = 6_000_000 // the weights come from documents of at least half this size
	forestTrees    = 32
	mostBucket     = 512  // a feature that more contents have is in keys only if there are no others
	forestSample   = 2000 // about so many contents are compared with all others first
	mostSeen       = 50   // candidates of each of these that are compared; near-copies may have thousands
	leastAgreement = 10   // values of sketches in which candidates agree: a cosine of about 0.4
	shortKeys      = 100  // up to so many words, half of the trees have the characters of a text
)

// learnFromSample makes the frequencies of a large collection, the forest, and the forms, unless the context
// ends.
func (c *collection[ID]) learnFromSample(ctx context.Context) {
	size, step := cmp.Or(c.of.sampled, sampleSize), uint64(1)
	for total := c.size; total > size && step < 1<<32; {
		step *= 2
		total = 0
		for i := range c.contents {
			if c.contents[i].digest%step == 0 {
				total += c.contents[i].size
			}
		}
	}
	s := &collection[ID]{of: c.of, settings: c.settings}
	for i := range c.contents {
		if c.contents[i].digest%step == 0 {
			s.contents = append(s.contents, sharedContent{content: c.contents[i].content})
		}
	}
	weighing := c.begin("weighing", len(s.contents))
	s.learnAll()
	weighing.add(len(s.contents))
	c.frequencies = frequencies{weights: s.weights, table: cosine.Count(s)}
	c.prune()

	c.sketches = make([]forest.Sketch, len(c.contents))
	if c.keys, c.wrong = forest.NewKeys(forestTrees, len(c.contents), c.keysInFile); c.wrong != nil {
		return
	}
	c.frequent = max(1, uint32(mostBucket*len(s.contents)/len(c.contents)))
	if c.makeKeys(ctx); c.wrong != nil || ctx.Err() != nil {
		return
	}

	// Forms among the pairs of a sample tell the threshold, and the threshold tells which documents may be
	// near-duplicates, among which all forms are.
	c.seePairs(ctx)
	isSimilar := make([]bool, len(c.contents))
	for _, p := range c.seen.pairs {
		isSimilar[p.A], isSimilar[p.B] = true, true
	}
	c.learnForms(isSimilar)
	least := c.least(ctx)
	if ctx.Err() != nil {
		return
	}
	c.plant(c.seen.agreement(least))
	for i := range isSimilar {
		isSimilar[i] = isSimilar[i] || c.trees.Has(i)
	}
	if c.learnForms(isSimilar); ctx.Err() != nil {
		return
	}
	plan := c.plan(least)
	c.of.said.Lock()
	c.of.said.plan = said[Plan]{plan, c.changes + 1}
	c.of.said.Unlock()
}

// makeKeys sets the keys, the sketches and the measures of all contents. It takes keys and sketches from the
// file that has them, if there is one; the measures of these contents are set when they are needed (see weigh).
func (c *collection[ID]) makeKeys(ctx context.Context) {
	kept, err := c.keptKeys()
	if err != nil {
		c.wrong = err
		return
	}
	type worker struct {
		*reader
		*forest.Sampler
		keys []forest.Key
		row  []byte
	}
	workers := sync.Pool{New: func() any {
		return &worker{c.newReader(&c.settings.Fingerprinter), forest.NewSampler(forestTrees, c.frequent), make([]forest.Key, parallel.Chunk*forestTrees), nil}
	}}
	c.measures = make([]measure, len(c.contents))
	reading := c.begin("reading", len(c.contents))
	parallel.Chunks(len(c.contents), func(_, from, to int) {
		w := workers.Get().(*worker)
		defer workers.Put(w)
		defer reading.add(to - from)
		for i := from; i < to && ctx.Err() == nil; i++ {
			keys := w.keys[(i-from)*forestTrees:][:forestTrees]
			if kept.get(i, keys, &c.sketches[i], &w.row) {
				continue
			}
			of := &c.contents[i].profile
			c.measures[i] = w.read(of)
			c.sketches[i] = w.reader.keys(of, w.Sampler, keys)
			kept.put(of.digest, keys, &c.sketches[i], &w.row)
		}
		c.keys.Set(from, w.keys[:(to-from)*forestTrees])
	})
	if kept.file != nil && ctx.Err() == nil {
		c.wrong = kept.file.Write()
	}
}

// weigh sets the measures of the contents for which in is true, where they are not set.
func (c *collection[ID]) weigh(in func(i int) bool) {
	workers := sync.Pool{New: func() any { return c.newReader(&c.settings.Fingerprinter) }}
	parallel.Chunks(len(c.contents), func(_, from, to int) {
		w := workers.Get().(*reader)
		defer workers.Put(w)
		for i := from; i < to; i++ {
			if !c.measures[i].isSet() && in(i) {
				c.measures[i] = w.read(&c.contents[i].profile)
			}
		}
	})
}

// plant makes the forest of the contents that have candidates whose sketches agree in so many values. The
// others have no pairs. Two contents that only old documents have are no candidates of each other.
func (c *collection[ID]) plant(agreement int) {
	isSimilar := make([]atomic.Bool, len(c.contents))
	gathering := c.begin("gathering", c.keys.Trees())
	c.keys.Each(func(int) bool { return true }, func(_ int, next func() []uint32) {
		defer gathering.add(1)
		for sets := next(); sets != nil; sets = next() {
			fresh := 0 // where the contents begin that new documents have
			for fresh < len(sets) && int(sets[fresh]) < c.old {
				fresh++
			}
			for k, i := range sets {
				if isSimilar[i].Load() {
					continue
				}
				from := 0
				if k < fresh {
					from = fresh
				}
				for at := from; at < len(sets); at++ {
					if x := sets[at]; at != k && c.sketches[i].Agreement(&c.sketches[x]) >= agreement {
						isSimilar[i].Store(true)
						isSimilar[x].Store(true)
						break
					}
				}
			}
		}
	})
	c.trees, c.plantedFor = forest.New(c.keys, func(i int) bool { return isSimilar[i].Load() }), agreement
}

// seePairs finds the pairs of a sample of the contents with all others, of any kind.
func (c *collection[ID]) seePairs(ctx context.Context) {
	sampled, step := c.sample(forestSample)
	c.seen = seenPairs{sampled: sampled, step: step, least: float64(curveFrom) / 100}
	if s := c.settings.Similarity; s > 0 {
		c.seen.least = min(c.seen.least, s)
	}
	ranks := make([]int32, len(c.contents)) // the places of contents in sampled and 1; 0 for others
	for k, i := range sampled {
		ranks[i] = int32(k + 1)
	}
	type candidate struct{ rank, set uint32 }
	inTree := make([][]candidate, forestTrees)
	sampling := c.begin("sampling", forestTrees+len(sampled))
	c.keys.Each(func(int) bool { return true }, func(t int, next func() []uint32) {
		defer sampling.add(1)
		for sets := next(); sets != nil; sets = next() {
			for _, i := range sets {
				if ranks[i] == 0 {
					continue
				}
				enough := 4 * mostSeen // near-copies may have thousands; contents are in the order of their digests
				for _, x := range sets {
					if x != i && c.sketches[i].Agreement(&c.sketches[x]) >= leastAgreement {
						inTree[t] = append(inTree[t], candidate{uint32(ranks[i] - 1), x})
						if enough--; enough == 0 {
							break
						}
					}
				}
			}
		}
	})
	near := make([][]uint32, len(sampled))
	for _, candidates := range inTree {
		for _, x := range candidates {
			near[x.rank] = append(near[x.rank], x.set)
		}
	}
	candidates, isCandidate := make([][]forestPair, len(sampled)), make([]bool, len(c.contents))
	for k, i := range sampled {
		slices.Sort(near[k])
		for sets := near[k]; len(sets) > 0 && len(candidates[k]) < mostSeen; {
			n, x := 1, int(sets[0])
			for n < len(sets) && int(sets[n]) == x {
				n++
			}
			isCandidate[x] = true
			candidates[k] = append(candidates[k], forestPair{cosine.Pair{A: x, B: i}, n, c.sketches[i].Agreement(&c.sketches[x])})
			sets = sets[n:]
		}
	}
	c.weigh(func(i int) bool { return isCandidate[i] })
	j := &forestJoin[ID]{collection: c, least: c.seen.least}
	j.each(sampled, func(int) bool { return ctx.Err() != nil }, func(w *forestSearcher[ID], k int) {
		w.near = append(w.near, candidates[k]...)
		w.compare(sampled[k])
		sampling.add(1)
	}, func(_ int, found []forestPair) {
		c.seen.pairs = append(c.seen.pairs, found...)
	})
}

// seenPairs are the pairs of a sample of contents (B) with all contents (A), as far as their cosine is at
// least least. The sample has those with a digest divisible by step.
type seenPairs struct {
	sampled []int
	step    uint64
	least   float64
	pairs   []forestPair
}

// agreement returns in how many values pairs with a cosine of at least least agree, but for about one in
// 500. So the others need no comparison. The sample says so, or theory if it has too few pairs.
func (s *seenPairs) agreement(least float64) int {
	var agree []int
	for _, p := range s.pairs {
		if p.Similarity >= least {
			agree = append(agree, p.agreement)
		}
	}
	slices.Sort(agree)
	cut := forest.LeastAgreement(least)
	switch n := len(agree); {
	case n >= 500:
		cut = agree[n/500-1]
	case n >= 50:
		cut = agree[0] * 3 / 4 // others may have less
	}
	return max(cut, leastAgreement)
}

// learnForms looks for forms among some contents.
func (c *collection[ID]) learnForms(among []bool) {
	var similar []int
	words := 0
	for i, is := range among {
		if is {
			similar = append(similar, i)
			words += c.contents[i].size - documentSize
		}
	}
	text := c.wordings(similar, words)
	finding := c.begin("finding forms", len(similar))
	forms, filled := wording.Learn(len(similar), words, text)
	finding.add(len(similar))
	c.forms, c.filled, c.filledAt = forms, filled, make([]uint32, len(c.contents))
	for n, i := range similar {
		if c.filledAt[i] = uint32(n + 1); filled[n].Form != 0 { // each is compared with many of the same form
			c.contents[i].withWords(text(n))
		}
	}
}

// A forestJoin is the joiner of a large collection.
type forestJoin[ID comparable] struct {
	*collection[ID]
	least     float64
	skip      func(i, j int) bool
	agreement int    // that candidates must have
	gone      []bool // contents that were dropped; nil if none were
	comparing *stage // nil if nobody is told
	workers   sync.Pool
}

// A forestPair is a pair with what the forest knows about it.
type forestPair struct {
	cosine.Pair
	trees, agreement int
}

// A forestSearcher is the state of one worker.
type forestSearcher[ID comparable] struct {
	*forestJoin[ID]
	*forest.Searcher
	probe probe
	near  []forestPair // whose cosine is not known yet
	found []forestPair
}

// worker returns a new worker.
func (j *forestJoin[ID]) worker() *forestSearcher[ID] {
	w := &forestSearcher[ID]{forestJoin: j, probe: probe{reader: j.newReader(&j.settings.Fingerprinter)}}
	if j.trees != nil {
		w.Searcher = j.trees.NewSearcher()
	}
	return w
}

// query appends to found the pairs of content i with the contents from..end−1, ascending.
func (w *forestSearcher[ID]) query(i, from, end int) {
	w.near = w.near[:0]
	for _, x := range w.Candidates(i, from, end) {
		y := int(x.Set)
		if a := w.sketches[i].Agreement(&w.sketches[y]); a >= w.agreement && (w.gone == nil || !w.gone[y]) {
			w.near = append(w.near, forestPair{cosine.Pair{A: y, B: i}, int(x.Trees), a})
		}
	}
	slices.SortFunc(w.near, func(a, b forestPair) int { return a.A - b.A })
	w.compare(i)
}

// compare appends to found the pairs of content i among near.
func (w *forestSearcher[ID]) compare(i int) {
	isRead := false
	for _, p := range w.near {
		if w.skip != nil && w.skip(i, p.A) {
			continue
		}
		if !isRead {
			isRead = true
			w.probe.set(&w.contents[i].profile)
		}
		if p.Similarity = w.probe.cosine(&w.contents[p.A].profile, &w.measures[p.A]); p.Similarity >= w.least {
			w.found = append(w.found, p)
		}
	}
}

// cosine returns the cosine of two contents.
func (c *collection[ID]) cosine(i, j int) float64 {
	if c.isLarge {
		a, b := c.contents[i].whole(&c.settings.Fingerprinter), c.contents[j].whole(&c.settings.Fingerprinter)
		return c.vector(&a).Cosine(c.vector(&b))
	}
	return c.number().Cosine(i, j)
}

// Pairs implements joiner.
func (j *forestJoin[ID]) Pairs(from int) iter.Seq[cosine.Pair] {
	return func(yield func(cosine.Pair) bool) {
		n := len(j.contents)
		parallel.InOrder((n-from+parallel.Chunk-1)/parallel.Chunk, j.worker, func(w *forestSearcher[ID], c int, emit func([]forestPair) bool) {
			w.found = nil
			defer j.comparing.add(parallel.Chunk)
			for i := from + c*parallel.Chunk; i < min(n, from+(c+1)*parallel.Chunk); i++ {
				if w.query(i, 0, i); len(w.found) >= 4*parallel.Chunk {
					if !emit(w.found) {
						return
					}
					w.found = nil
				}
			}
			emit(w.found)
		}, func(found []forestPair) bool {
			for _, f := range found {
				if !yield(f.Pair) {
					return false
				}
			}
			return true
		})
	}
}

// partners returns the first content that content i is compared with.
func (j *forestJoin[ID]) partners(i int) int {
	if i < j.old {
		return j.old
	}
	return 0
}

// Each implements joiner. It leaves out pairs of two contents that only old documents have.
func (j *forestJoin[ID]) Each(vectors []int, covered func(i int) bool, take func(found []cosine.Pair)) {
	j.each(vectors, covered, func(w *forestSearcher[ID], k int) { w.query(vectors[k], j.partners(vectors[k]), len(j.contents)) }, func(_ int, found []forestPair) {
		pairs := make([]cosine.Pair, len(found))
		for k, f := range found {
			pairs[k] = f.Pair
		}
		take(pairs)
	})
}

// each is Each with what the forest knows about the pairs. query finds those of a vector by its place.
func (j *forestJoin[ID]) each(vectors []int, covered func(i int) bool, query func(w *forestSearcher[ID], k int), take func(i int, found []forestPair)) {
	next := 0
	none := func() struct{} { return struct{}{} }
	parallel.InOrder(len(vectors), none, func(_ struct{}, k int, emit func([]forestPair) bool) {
		j.comparing.add(1)
		if covered(vectors[k]) {
			emit(nil)
			return
		}
		w, ok := j.workers.Get().(*forestSearcher[ID])
		if !ok {
			w = j.worker()
		}
		defer j.workers.Put(w)
		w.found, w.near = nil, w.near[:0]
		query(w, k)
		emit(w.found)
	}, func(found []forestPair) bool {
		take(vectors[next], found)
		next++
		return true
	})
}

// Drop implements joiner.
func (j *forestJoin[ID]) Drop(gone func(i int) bool) {
	if j.gone == nil {
		j.gone = make([]bool, len(j.contents))
	}
	for i := range j.gone {
		j.gone[i] = j.gone[i] || gone(i)
	}
}
