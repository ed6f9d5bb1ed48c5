package neardup

import (
	"context"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/wording"
)

// This file computes document frequencies, and holds the vectors that a [Deduplicator] searches.
//
// Where many documents are nearly equal (a page with a counter, in a thousand versions), what they
// share would look frequent. It would weigh little, and the documents would seem different. So
// near-copies count once together for document frequencies: documents whose plain sets of features
// have a Jaccard similarity of at least 0.9, and chains of such documents. The pages of one template
// share less, or are of one form ([SameForm]), and all count. So the template weighs little, and what
// is written into it decides.
//
// Which documents are near-copies or of one form depends on nothing but the documents. So weights do
// not depend on the order in which they came.
//
// A weight changes with every document that is added, but reweighing all documents for each search
// is out of the question. So a history keeps the weights of one moment, and an index of all
// contents with these weights. A content that is added later enters the index with the same
// weights. When as many contents have come as the history began with, the next search makes a new
// one: all histories together cost no more than a constant number of computations for each
// document.

// nearCopies has, for each content, the first content of its group of near-copies, which may be
// itself.
type nearCopies []int

const (
	alikeSimilarity = 0.9 // the exact Jaccard similarity of near-copies
	alikeValues     = 64  // the length of the signatures that find candidates for them
	alikeEstimate   = 0.8 // the similarity that signatures of near-copies show nearly always
)

// copiesOf finds the groups of near-copies among n contents, and makes the weights. Documents of one
// form are no near-copies, unless forms count as near-duplicates: then they are one group. But
// documents that fill a form in with the same words always are.
func (s *DeduplicatorOptions) copiesOf(n int, terms func(i int) Vector, filled []wording.Filled) (nearCopies, profileWeights) {
	groups := graph.NewForest(n)
	var free []int               // contents without a form
	first := map[[2]uint64]int{} // the first content with a form and a fill
	for i, d := range filled {
		if d.Form == 0 {
			free = append(free, i)
			continue
		}
		key := [2]uint64{d.Form}
		if s.Kinds&SameForm == 0 {
			key[1] = d.Hash()
		}
		if at, ok := first[key]; ok {
			groups.Join(at, i)
		} else {
			first[key] = i
		}
	}
	for i, at := range nearCopiesOf(len(free), func(i int) Vector { return terms(free[i]) }) {
		groups.Join(free[i], free[at])
	}
	count := 0
	for i, root := range groups.Roots() {
		if root == i {
			count++
		}
	}
	return nearCopies(groups), newProfileWeights(count, s.Fingerprinter.Weight != nil)
}

// nearCopiesOf groups n vectors: two are in one group if their signatures agree in a band and they
// have a Jaccard similarity of at least 0.9, or if a chain of such pairs joins them.
func nearCopiesOf(n int, terms func(i int) Vector) nearCopies {
	layout := minhash.NewLayout(alikeValues, 32, minhash.Banding(NewBanding(alikeValues, alikeSimilarity, 0.1)))
	docs := make([]uint64, n*layout.Words)
	for i, s := range signAll(n, terms, MinHash{Values: alikeValues}) {
		layout.Pack(docs[i*layout.Words:][:layout.Words], s)
	}
	t, groups := minhash.NewTables(layout, docs), graph.NewForest(n)
	err := t.Components(groups, func(a, b uint32) bool {
		return t.IsAtLeast(t.Doc(a), t.Doc(b), alikeEstimate) && terms(int(a)).isAlike(terms(int(b)))
	}, func() error { return nil })
	if err != nil {
		panic(err.Error()) // tables in memory have no errors
	}
	return nearCopies(groups.Roots())
}

// isAlike reports whether the features of two vectors, as plain sets, have a Jaccard similarity of
// at least 0.9.
func (v Vector) isAlike(w Vector) bool {
	// With c common features the similarity is c/(|v|+|w|−c). It is at least 9/10 if at most one in 19
	// of all features is without a partner.
	missing := (len(v) + len(w)) / 19
	for i, j := 0, 0; missing >= 0; {
		switch {
		case i == len(v) || j == len(w):
			return missing >= len(v)-i+len(w)-j
		case v[i].Feature < w[j].Feature:
			i++
			missing--
		case v[i].Feature > w[j].Feature:
			j++
			missing--
		default:
			i++
			j++
		}
	}
	return false
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

// Copies implements this method of [cosine.Source], where nearCopies is embedded.
func (c nearCopies) Copies() []int { return c }

// A history is what Search and Explain work with: the document frequencies of one moment, the forms
// and the threshold, and an index of all contents by their vectors, weighted by them. Only the index
// changes afterwards, and filled with it.
type history struct {
	frequencies
	threshold Threshold
	forms     *wording.Forms
	filled    []wording.Filled // of contents, by slot
	index     searcher         // of contents, by slot
	at        int              // how many contents there were when it was made
}

// isStale reports whether a search must make a new history: if there is none, if as many contents
// have come since as it began with, or if half as many have gone. A history of fewer than fewContents
// is stale after any change, since weights change fast then and little work is lost. The caller holds the lock, for
// reading at least.
func (d *Deduplicator[ID]) isStale() bool {
	if d.known == nil || d.known.at < fewContents {
		return d.known == nil || d.entered+d.left > 0
	}
	return d.entered >= d.known.at || d.left >= max(d.known.at/2, 1)
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
	d.known, d.entered, d.left = known, 0, 0
	return nil
}

// learned returns a new history of all contents. It takes time for all of them. The caller holds
// the lock, for reading at least.
func (d *Deduplicator[ID]) learned() (*history, error) {
	c := d.copied(0)
	c.learn(context.Background())
	if err := c.wrong; err != nil {
		return nil, err
	}
	if !c.isLarge {
		c.table = cosine.Count(c)
	}
	h := &history{frequencies: c.frequencies, threshold: c.threshold(context.Background()), forms: c.forms, at: len(c.contents)}
	h.filled = make([]wording.Filled, len(d.contents))
	for i := range c.contents {
		h.filled[c.contents[i].slot] = c.fill(i)
	}
	if c.isLarge {
		h.index = newTreeSearcher(c, &h.frequencies, h.threshold.Similarity, len(d.contents))
		return h, c.err()
	}
	// The index finds by the threshold, so it returns near-duplicates only.
	index, err := NewVectorIndex[uint32](h.threshold.Similarity, VectorIndexOptions{})
	if err != nil {
		return nil, err
	}
	h.index = &vectorSearcher{&h.frequencies, index}
	vectors := make([]Vector, len(c.contents))
	parallel.Chunks(len(vectors), func(_, from, to int) {
		for i := from; i < to; i++ {
			p := c.contents[i].whole(&c.settings.Fingerprinter)
			vectors[i] = h.vector(&p)
		}
	})
	err = index.AddAll(context.Background(), func(yield func(uint32, Vector) bool) {
		for i, v := range vectors {
			if !yield(c.contents[i].slot, v) {
				return
			}
		}
	})
	return h, err
}

// add adds a content under its slot.
func (h *history) add(slot uint32, p *profile) error {
	for int(slot) >= len(h.filled) {
		h.filled = append(h.filled, wording.Filled{})
	}
	h.filled[slot] = h.forms.Read(p.formWords())
	return h.index.add(slot, p)
}

// delete removes the content of a slot.
func (h *history) delete(slot uint32) {
	h.filled[slot] = wording.Filled{}
	h.index.delete(slot)
}
