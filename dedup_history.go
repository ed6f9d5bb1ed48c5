package neardup

import (
	"context"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/parallel"
)

// Where many documents are nearly equal, a page with a counter in a thousand versions, what they
// share would be frequent, and weigh little, and they would seem different. So of documents that
// are nearly equal as plain sets only one counts for what features weigh. Pages of one template,
// which share less, all count, so the template weighs little and what is written into it decides.

// counted says of each document whether it counts.
type counted []bool

const (
	alikeSimilarity = 0.9 // exact Jaccard
	alikeValues     = 64  // of the signatures by which candidates are found
)

// countedOnce finds the documents that are nearly equal to one before them that counts, if that makes
// a difference.
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
		panic(err) // constants that do not fit
	}
	for i, s := range signAll(n, terms, MinHash{Values: alikeValues}) {
		counts[i] = true
		for m := range ix.Search(s) { // in memory it has no errors
			if featureSet(terms(i)).Jaccard(featureSet(terms(m.ID))) >= alikeSimilarity {
				counts[i] = false
				break
			}
		}
		if counts[i] {
			ix.Add(i, s)
		}
	}
	return counts
}

// signAll returns the signatures of the features of vectors.
func signAll(n int, terms func(i int) Vector, m MinHash) []Signature {
	signatures := make([]Signature, n)
	parallel.Chunks(n, func(_, from, to int) {
		for i := from; i < to; i++ {
			signatures[i] = m.Sign(featureSet(terms(i)))
		}
	})
	return signatures
}

// featureSet returns the features of a vector.
func featureSet(v Vector) Set {
	set := make(Set, len(v))
	for i, t := range v {
		set[i] = t.Feature
	}
	return set
}

func (c counted) Counts(i int) bool { return c[i] }

// weights returns what features weigh.
func (c counted) weights(s *DeduplicatorOptions) profileWeights {
	n := 0
	for _, counts := range c {
		if counts {
			n++
		}
	}
	return newProfileWeights(n, s.Fingerprinter.Weight != nil)
}

// A history is what documents are searched in one by one: vectors by the weights of a moment.
type history struct {
	weights profileWeights
	table   *frequency.Table
	index   *VectorIndex[uint32] // of contents
	at      int                  // how many there were
}

// A historySource is profiles, of which not all count.
type historySource struct {
	cosine.Slice[Vector]
	counted
}

func (h historySource) Counts(i int) bool { return h.counted[i] }

// isStale reports whether there is no history, or as many contents have come since as there were; of
// few, whether any came.
func (d *Deduplicator[ID]) isStale() bool {
	return d.known == nil || d.entered > 0 && (d.known.at < fewContents || d.entered >= d.known.at)
}

// fewContents is the number up to which histories are always those of all documents.
const fewContents = 64

// refresh makes sure that there is a history, and a fresh one.
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

// learned returns a history of the contents that there are.
func (d *Deduplicator[ID]) learned() (*history, error) {
	numbers := d.inOrder()
	var used historySource
	for _, n := range numbers {
		used.Slice = append(used.Slice, d.contents[n].terms)
	}
	used.counted = d.countedOnce(used.Len(), func(i int) Vector { return used.Slice[i] })
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

// vector returns the vector of a profile.
func (h *history) vector(p *profile) Vector {
	v := slices.Clone(p.terms)
	df := make([]uint32, len(v))
	for i, t := range v {
		df[i] = uint32(max(h.documents(t.Feature), 1))
	}
	h.weights.weigh(v, p, df)
	return slices.DeleteFunc(v, func(t Term) bool { return t.Weight == 0 })
}

// documents returns how many of the documents that count have a feature.
func (h *history) documents(feature uint64) int {
	n := h.table.Find(feature, 0)
	if n == frequency.Marked { // only others have it: they are as good as one
		return 1
	}
	return int(n &^ frequency.Marked)
}
