package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/lab/must"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/baseline"
	"github.com/neardup/neardup/papers"
)

// This file has the methods that are compared: those of the papers, older ones, and the library.

// A system finds pairs of near-duplicates in a pool of documents.
type system struct {
	name  string
	least float64 // the similarity that its paper or the library uses
	loose float64 // the smallest similarity to consider when the best one is searched
	bits  int     // width of fingerprints, or 0; then the similarity is 1 − H/bits
	find  func(pool []*document, least float64) []neardup.Pair[int]
}

// setting returns a similarity in the form that the method uses.
func (s system) setting(least float64) string {
	switch {
	case math.IsInf(least, 1):
		return "none"
	case s.bits > 0:
		return fmt.Sprintf("H ≤ %d", distance(least, s.bits))
	case s.least == 1:
		return "equal"
	}
	return fmt.Sprintf("≥ %.2f", least)
}

func distance(least float64, bits int) int { return int(math.Round((1 - least) * float64(bits))) }

// each calls f with the numbers from 0 to n−1, on all processors.
func each(n int, f func(i int)) {
	var workers sync.WaitGroup
	next := make(chan int, 64)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// cached returns a function that calls made for each document of a pool. It keeps the values, so
// that made is called once for a document.
func cached[V any](made func(*document) V) func(pool []*document) []V {
	kept := map[*document]V{}
	return func(pool []*document) []V {
		values := make([]V, len(pool))
		fresh := make([]bool, len(pool))
		each(len(pool), func(i int) {
			v, ok := kept[pool[i]]
			if !ok {
				v, fresh[i] = made(pool[i]), true
			}
			values[i] = v
		})
		if len(kept) > 50_000 { // most of them are of pools that are no longer used
			clear(kept)
		}
		for i, d := range pool {
			if fresh[i] {
				kept[d] = values[i]
			}
		}
		return values
	}
}

// simHash compares fingerprints of 64 bits. The papers use a distance of 3.
func simHash(name string, f neardup.Fingerprinter) system {
	sums := cached(func(d *document) neardup.Fingerprint64 { return f.Sum64(neardup.Text(d.text)) })
	return system{name: name, least: 1 - 3./64, loose: 1 - 20./64, bits: 64, find: func(pool []*document, least float64) []neardup.Pair[int] {
		return within(sums(pool), distance(least, 64))
	}}
}

// within returns the pairs of fingerprints at a distance of at most k.
func within(fps []neardup.Fingerprint64, k int) (found []neardup.Pair[int]) {
	for p, err := range neardup.Pairs(context.Background(), fps, k) {
		must.Do(err)
		if fps[p.A] != 0 || fps[p.B] != 0 { // fingerprint 0 means a text without features
			found = append(found, neardup.Pair[int]{A: p.A, B: p.B, Similarity: 1 - float64(p.Distance)/64})
		}
	}
	return found
}

// blended scores pairs by fingerprint and metadata (Wang 2019 eq. 1).
func blended(name string, f neardup.Fingerprinter, b papers.Blend, similarity func(a, b *document) float64) system {
	sums := cached(func(d *document) neardup.Fingerprint64 { return f.Sum64(neardup.Text(d.text)) })
	return system{name: name, least: 0.25, loose: 0.05, find: func(pool []*document, least float64) (found []neardup.Pair[int]) {
		b := b
		b.Threshold = least
		for p, err := range neardup.Pairs(context.Background(), sums(pool), min(b.MaxDistance(64), 24)) {
			must.Do(err)
			score := b.Score(p.Distance, similarity(pool[p.A], pool[p.B]))
			if b.Similar(score) {
				found = append(found, neardup.Pair[int]{A: p.A, B: p.B, Similarity: score})
			}
		}
		return found
	}}
}

// shingles compares samples of runs of n characters; Broder samples one in 25.
func shingles(name string, n int, p uint64) system {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: n}}
	sets := cached(func(d *document) neardup.Set { return baseline.ModP(f.Set(neardup.Text(d.text)), p) })
	return system{name: name, least: 0.5, loose: 0.1, find: func(pool []*document, least float64) (found []neardup.Pair[int]) {
		all := sets(pool)
		having := map[uint64][]int{}
		for j, set := range all {
			common := map[int]int{}
			for _, h := range set {
				for _, i := range having[h] {
					common[i]++
				}
				having[h] = append(having[h], j)
			}
			for _, i := range slices.Sorted(maps.Keys(common)) {
				if r := all[i].Jaccard(set); r >= least {
					found = append(found, neardup.Pair[int]{A: i, B: j, Similarity: r})
				}
			}
		}
		return found
	}}
}

// superShingles takes texts that share a super-shingle of size shingles for near-duplicates (DSC-SS).
// The shingles are samples as in shingles.
func superShingles(name string, n int, p uint64, size int) system {
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: n}}
	sets := cached(func(d *document) neardup.Set {
		return baseline.SuperShingles(baseline.ModP(f.Set(neardup.Text(d.text)), p), size)
	})
	return system{name: name, least: 1, loose: 1, find: func(pool []*document, _ float64) (found []neardup.Pair[int]) {
		having := map[uint64][]int{}
		for j, set := range sets(pool) {
			common := map[int]bool{}
			for _, h := range set {
				for _, i := range having[h] {
					common[i] = true
				}
				having[h] = append(having[h], j)
			}
			for _, i := range slices.Sorted(maps.Keys(common)) {
				found = append(found, neardup.Pair[int]{A: i, B: j, Similarity: 1})
			}
		}
		return found
	}}
}

// bestSize returns the size of super-shingles with the best F1 on a pool. The papers name the method
// and give no size.
func bestSize(pool []*document) (best int) {
	f1 := -1.
	for size := 1; size <= 10; size++ {
		if got := judge(pool, superShingles("", 4, 25, size).find(pool, 1)).at(1).f1(); got > f1 {
			best, f1 = size, got
		}
	}
	return best
}

// position returns the position of the system with a name.
func position(systems []system, name string) int {
	i := slices.IndexFunc(systems, func(s system) bool { return s.name == name })
	if i < 0 {
		panic("no system is named " + name)
	}
	return i
}

// tuned has what is chosen on the first topic, since the papers do not give it.
type tuned struct {
	window     // of I-Match
	size   int // of super-shingles
}

// tune chooses on a pool.
func tune(tokenizer neardup.Tokenizer, s *neardup.DocumentFrequencies, pool []*document) tuned {
	return tuned{bestWindow(tokenizer, s, pool), bestSize(pool)}
}

// iMatch compares digests of the terms whose idf is in a window.
func iMatch(name string, m *baseline.IMatch) system {
	digests := cached(func(d *document) string { return baseline.SHA1(m.Terms(d.text), "\x00") })
	return system{name: name, least: 1, loose: 1, find: func(pool []*document, _ float64) (found []neardup.Pair[int]) {
		having := map[string][]int{}
		for i, digest := range digests(pool) {
			if digest == "" {
				continue
			}
			for _, j := range having[digest] {
				found = append(found, neardup.Pair[int]{A: j, B: i, Similarity: 1})
			}
			having[digest] = append(having[digest], i)
		}
		return found
	}}
}

// A window says which terms I-Match keeps: those with an idf from low to high, as fractions of the
// largest idf, ln N.
type window struct{ low, high float64 }

func (w window) String() string { return fmt.Sprintf("%.2f to %.2f", w.low, w.high) }

// iMatch returns I-Match with the window.
func (w window) iMatch(tokenizer neardup.Tokenizer, s *neardup.DocumentFrequencies) system {
	most := math.Log(float64(max(s.Documents(), 2)))
	return iMatch("I-Match", &baseline.IMatch{Tokenizer: tokenizer, Statistics: s, Low: w.low * most, High: w.high * most})
}

// bestWindow returns the window with the best F1 on a pool. The papers do not say which window they
// used.
func bestWindow(tokenizer neardup.Tokenizer, s *neardup.DocumentFrequencies, pool []*document) (best window) {
	tokenizer = &remembering{of: tokenizer} // it sees every text dozens of times
	f1 := -1.
	for step := 2; step <= 18; step++ {
		for _, width := range []float64{0.05, 0.1, 0.2, 0.4} {
			low := float64(step) / 20
			w := window{low, low + width}
			m := w.iMatch(tokenizer, s)
			if got := judge(pool, m.find(pool, 1)).at(1).f1(); got > f1 {
				best, f1 = w, got
			}
		}
	}
	return best
}

// remembering is a tokenizer that keeps the tokens of every text.
type remembering struct {
	of   neardup.Tokenizer
	kept sync.Map // string to []neardup.Token
}

// Tokens implements [neardup.Tokenizer].
func (r *remembering) Tokens(text string) iter.Seq[neardup.Token] {
	tokens, ok := r.kept.Load(text)
	if !ok {
		tokens, _ = r.kept.LoadOrStore(text, slices.Collect(r.of.Tokens(text)))
	}
	return slices.Values(tokens.([]neardup.Token))
}

// library is a Deduplicator with default settings. Its pairs have their probabilities in place of similarities:
// a pair is near if that is at least one half, and these experiments vary this threshold.
func library() system {
	return system{name: "neardup, default", least: 0.5, loose: 0.05, find: func(pool []*document, least float64) []neardup.Pair[int] {
		d, err := dedup.New[int](dedup.Options{Probability: least})
		if err != nil {
			panic(err)
		}
		must.Do(d.AddAll(context.Background(), func(yield func(int, neardup.Document) bool) {
			for i, doc := range pool {
				if !yield(i, neardup.Text(doc.text)) {
					return
				}
			}
		}))
		return byProbability(d)
	}}
}

// byProbability returns the pairs of a Deduplicator, with their probabilities in place of similarities.
func byProbability(d *dedup.Deduplicator[int]) []neardup.Pair[int] {
	pairs := must.Collect(d.Pairs(context.Background()))
	for i := range pairs {
		pairs[i].Similarity = pairs[i].Probability
	}
	return pairs
}

// statistics counts the document frequencies of features.
func statistics(f neardup.Fingerprinter, docs []*document) *neardup.DocumentFrequencies {
	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
	each(len(docs), func(i int) { b.Add(neardup.Text(docs[i].text)) })
	return b.Build()
}
