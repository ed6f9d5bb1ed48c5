package neardup

import "slices"

// Where many documents are near-duplicates of each other, a campaign of letters or a page with a
// counter, what they share would be frequent, and weigh little, and they would seem different. So of
// documents that are much alike as plain sets only one counts for what features weigh. That is decided by
// estimates, of signatures, and by chains: it is about weights, and no result.

// firsts has for each document the first of those that it is much like.
type firsts []int

const (
	alikeSimilarity = 0.7 // Jaccard
	alikeValues     = 64  // of the signatures
)

// alike finds the documents that are much alike, by their terms, if that makes a difference.
func (d *Deduplicator[ID]) alike(n int, terms func(i int) Vector) firsts {
	f := make(firsts, n)
	for i := range f {
		f[i] = i
	}
	if d.settings.Fingerprinter.Weight != nil {
		return f
	}
	signatures := make([]Signature, n)
	chunks(n, func(_, from, to int) {
		var set Set
		for i := from; i < to; i++ {
			set = set[:0]
			for _, t := range terms(i) {
				set = append(set, t.Feature)
			}
			signatures[i] = MinHash{Values: alikeValues}.Sign(set)
		}
	})
	ix, err := NewSignatureIndex[int](alikeSimilarity, &SignatureIndexOptions{Values: alikeValues})
	if err == nil {
		err = ix.AddAll(slices.All(signatures))
	}
	if err != nil {
		panic(err) // constants that do not fit
	}
	for _, group := range ix.Groups() {
		for _, i := range group {
			f[i] = group[0]
		}
	}
	return f
}

// counts says whether a document counts.
func (f firsts) counts(i int) bool { return f[i] == i }

// weights returns what features weigh.
func (f firsts) weights(s *Settings) profileWeights {
	n := 0
	for i := range f {
		if f.counts(i) {
			n++
		}
	}
	return newProfileWeights(n, s.Fingerprinter.Weight != nil)
}

// A history is what documents are searched in one by one: vectors by the weights of a moment.
type history struct {
	weights profileWeights
	table   *frequencies
	index   *VectorIndex[uint32] // of contents
	at      int                  // how many there were
}

// A historySource is profiles, of which not all count.
type historySource struct {
	vectorSlice
	firsts
}

func (h historySource) counts(i int) bool { return h.firsts.counts(i) }

// isStale reports whether there is no history, or as many contents have come since as there were.
func (d *Deduplicator[ID]) isStale() bool {
	return d.known == nil || d.entered > max(d.known.at, 32)
}

// learn makes a history of the contents that there are.
func (d *Deduplicator[ID]) learn() { d.known, d.entered = d.learned(), 0 }

func (d *Deduplicator[ID]) learned() *history {
	numbers := d.inOrder()
	var used historySource
	for _, n := range numbers {
		used.vectorSlice = append(used.vectorSlice, d.contents[n].terms)
	}
	used.firsts = d.alike(used.len(), func(i int) Vector { return used.vectorSlice[i] })
	h := &history{used.weights(&d.settings), countTerms(used), NewVectorIndex[uint32](), used.len()}
	vectors := make([]Vector, used.len())
	chunks(used.len(), func(_, from, to int) {
		for i := from; i < to; i++ {
			vectors[i] = h.vector(&d.contents[numbers[i]].profile)
		}
	})
	h.index.AddAll(func(yield func(uint32, Vector) bool) {
		for i, v := range vectors {
			yield(numbers[i], v)
		}
	})
	return h
}

// vector returns the vector of a profile.
func (h *history) vector(p *profile) Vector {
	v := slices.Clone(p.terms)
	df := make([]uint32, len(v))
	for i, t := range v {
		df[i] = max(h.table.find(t.Feature, 1)&^marked, 1)
	}
	h.weights.weigh(v, p, df)
	return slices.DeleteFunc(v, func(t Term) bool { return t.Weight == 0 })
}

func (h *history) add(c uint32, p *profile) { h.index.Add(c, h.vector(p)) }
