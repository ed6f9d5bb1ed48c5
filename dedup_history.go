package neardup

import (
	"context"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/parallel"
)

// This file computes document frequencies, and holds the vectors that a [Deduplicator] searches.
//
// Where many documents are nearly equal (a page with a counter, in a thousand versions), what they
// share would look frequent. It would weigh little, and the documents would seem different. So of
// documents that are nearly equal as plain sets of features, only one counts for document
// frequencies. The pages of one template share less and all count. So the template weighs little,
// and what is written into it decides.
//
// A weight changes with every document that is added, but reweighing all documents for each search
// is out of the question. So a history keeps the weights of one moment, and an index of all
// contents with these weights. A content that is added later enters the index with the same
// weights. When as many contents have come as the history began with, the next search makes a new
// one: all histories together cost no more than a constant number of computations for each
// document.

// counted says of each content whether it counts for document frequencies.
type counted []bool

const (
	alikeSimilarity = 0.9 // the exact Jaccard similarity of near-copies
	alikeValues     = 64  // the length of the signatures that find candidates for them
)

// countedOnce finds which of n vectors count. A vector does not count if a vector before it counts,
// is a candidate by its signature and has a Jaccard similarity of at least 0.9 with it. With a
// Weight of the caller's own all vectors count, because document frequencies play no role.
func (d *Deduplicator[ID]) countedOnce(n int, terms func(i int) Vector) counted {
	counts := make(counted, n)
	if d.options().Fingerprinter.Weight != nil {
		for i := range counts {
			counts[i] = true
		}
		return counts
	}
	ix, err := NewSignatureIndex[int](alikeSimilarity, SignatureIndexOptions{Values: alikeValues})
	if err != nil {
		panic(err.Error()) // the constants do not fit together
	}
	for i, s := range signAll(n, terms, MinHash{Values: alikeValues}) {
		counts[i] = true
		for m := range ix.Search(s) { // an index in memory has no errors
			if featureSet(terms(i)).Jaccard(featureSet(terms(m.ID))) >= alikeSimilarity {
				counts[i] = false
				break
			}
		}
		// Only contents that count enter the index. So a content is compared with those that count,
		// and a chain of small changes does not make its far ends near-copies.
		if counts[i] {
			ix.Add(i, s)
		}
	}
	return counts
}

// signAll returns the MinHash signatures of n vectors, as sets of features. It uses all processors.
func signAll(n int, terms func(i int) Vector, m MinHash) []Signature {
	signatures := make([]Signature, n)
	parallel.Chunks(n, func(_, from, to int) {
		for i := from; i < to; i++ {
			signatures[i] = m.Sign(featureSet(terms(i)))
		}
	})
	return signatures
}

// featureSet returns the features of a vector, without the weights.
func featureSet(v Vector) Set {
	set := make(Set, len(v))
	for i, t := range v {
		set[i] = t.Feature
	}
	return set
}

// Counts implements this method of [cosine.Source], where counted is embedded.
func (c counted) Counts(i int) bool { return c[i] }

// weights returns the weights by document frequency, for as many documents as count.
func (c counted) weights(s *DeduplicatorOptions) profileWeights {
	n := 0
	for _, counts := range c {
		if counts {
			n++
		}
	}
	return newProfileWeights(n, s.Fingerprinter.Weight != nil)
}

// A history is what Search and Explain work with: the document frequencies of one moment, and an
// index of the vectors of all contents, weighted by them. Only the index changes afterwards.
type history struct {
	weights profileWeights
	table   *frequency.Table     // how many documents that count have each feature
	index   *VectorIndex[uint32] // of contents, by slot
	at      int                  // how many contents there were when it was made
}

// A historySource is the terms of all contents, for counting, with the contents that count.
type historySource struct {
	cosine.Slice[Vector]
	counted
}

// Counts implements [cosine.Source]. It decides between the Counts of the two embedded types.
func (h historySource) Counts(i int) bool { return h.counted[i] }

// isStale reports whether a search must make a new history: if there is none, or as many contents
// have come since as it began with. A history of fewer than fewContents is stale after any new
// content, since weights change fast then and little work is lost. The caller holds the lock, for
// reading at least.
func (d *Deduplicator[ID]) isStale() bool {
	return d.known == nil || d.entered > 0 && (d.known.at < fewContents || d.entered >= d.known.at)
}

// fewContents is the number of contents below which a history is never reused for new ones.
const fewContents = 64

// refresh makes a new history if the current one is stale. The caller holds the lock.
func (d *Deduplicator[ID]) refresh() error {
	if !d.isStale() {
		return nil
	}
	known, err := d.learned()
	if err != nil {
		return err
	}
	d.known, d.entered = known, 0
	return nil
}

// learned returns a new history of all contents. It takes time for all of them. The caller holds
// the lock, for reading at least.
func (d *Deduplicator[ID]) learned() (*history, error) {
	numbers := d.inOrder()
	// Everything happens in the order of adding, so histories of the same documents are equal.
	var used historySource
	for _, n := range numbers {
		used.Slice = append(used.Slice, d.contents[n].terms)
	}
	used.counted = d.countedOnce(used.Len(), func(i int) Vector { return used.Slice[i] })
	// The index finds by the threshold of the options, so it returns near-duplicates only.
	index, err := NewVectorIndex[uint32](d.options().Similarity, VectorIndexOptions{})
	if err != nil {
		return nil, err
	}
	h := &history{used.weights(d.options()), cosine.Count(used), index, used.Len()}
	vectors := make([]Vector, used.Len())
	parallel.Chunks(used.Len(), func(_, from, to int) {
		for i := from; i < to; i++ {
			vectors[i] = h.vector(&d.contents[numbers[i]].profile)
		}
	})
	err = h.index.AddAll(context.Background(), func(yield func(uint32, Vector) bool) {
		for i, v := range vectors {
			if !yield(numbers[i], v) {
				return
			}
		}
	})
	return h, err
}

// vector returns the vector of a profile with the weights of the history. A feature that no
// document had then counts as if one had it.
func (h *history) vector(p *profile) Vector {
	v := slices.Clone(p.terms)
	df := make([]uint32, len(v))
	for i, t := range v {
		df[i] = uint32(max(h.documents(t.Feature), 1))
	}
	h.weights.weigh(v, p, df)
	// A feature that all documents have may weigh 0; a vector has no such terms.
	return slices.DeleteFunc(v, func(t Term) bool { return t.Weight == 0 })
}

// documents returns how many of the documents that count have a feature. If only others have it the
// result is 1, since they are near-copies of one that counts.
func (h *history) documents(feature uint64) int {
	n := h.table.Find(feature, 0)
	if n == frequency.Marked { // only documents that do not count have it
		return 1
	}
	return int(n &^ frequency.Marked)
}
