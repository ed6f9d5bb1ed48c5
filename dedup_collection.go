package neardup

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/forest"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
)

// This file takes snapshots of a [Deduplicator], so that Pairs, Groups, Threshold and Calibrate can
// work on all documents without holding its lock, and spells out the pairs of documents that pairs of
// contents stand for.

// A collection is a snapshot of all documents, for work on all of them. Documents and contents are
// known by their positions in its slices. Documents are in the order of adding. Contents that only
// old documents have come first; otherwise contents are sorted by their features, so that nothing
// depends on the order of adding. Old documents are those that [Deduplicator.PairsSince] or
// [Grouping] does not compare with each other.
//
// It is the [cosine.Source] of a join, with contents as vectors.
type collection[ID comparable] struct {
	docs        []sharedDocument[ID]
	contents    []sharedContent
	old         int // contents[:old] are of old documents only
	nearCopies      // which contents count once together for document frequencies
	oldDocs     int // docs[:oldDocs] are old
	frequencies     // without a table in a small collection, where numbered has them
	of          *Deduplicator[ID]
	changes     int // those of the Deduplicator
	settings    *DeduplicatorOptions
	forms       *wording.Forms
	filled      []wording.Filled // for each content its form and what is filled in; see fill
	filledAt    []uint32         // in a large collection, for each content where it is in filled and 1, or 0
	numbered    *cosine.Numbered // the vectors of a small collection; nil until they are needed
	size        int              // of all contents
	isLarge     bool             // joined by trees
	trees       *forest.Forest   // nil in a small collection, and until it is planted
	measures    []measure        // of the contents of a large collection
	sketches    []forest.Sketch  // the same
	seen        seenPairs        // in a large collection
	frequent    uint32           // a feature with a higher document frequency is in keys only if there are no others
	keys        *forest.Keys     // of the contents of a large collection, for trees
	plantedFor  int              // trees has all contents with candidates whose sketches agree in so many values
	keysInFile  bool
	bodies      *textfile.File // nil if all bodies are in memory
	wordFile    *textfile.File // the last one that forms were looked for in, or nil
	wrong       error          // too little memory, or the error of a temporary file
}

// A sharedDocument is what a snapshot has of a stored document.
type sharedDocument[ID comparable] struct {
	id             ID
	number, length int
	text           uint64
}

// A sharedContent is a content with the positions of the documents that have it, ascending.
type sharedContent struct {
	content
	slot uint32 // in the Deduplicator
	docs []int
}

// collect takes a snapshot. Documents with a number below old are old in it. The lock is held only
// while documents are copied, and not while near-copies and forms are looked for. Profiles are shared
// with d, which never changes them. The error is that of the files, or of the context.
func (d *Deduplicator[ID]) collect(ctx context.Context, old int) (*collection[ID], error) {
	if err := d.rlock(); err != nil {
		return nil, err
	}
	c := d.copied(old)
	d.mu.RUnlock()
	c.learn(ctx)
	return c, cmp.Or(c.err(), ctx.Err())
}

// err returns the error of a collection that could not be read as a whole.
func (c *collection[ID]) err() error {
	err := c.wrong
	for _, f := range []*textfile.File{c.bodies, c.wordFile} {
		if f != nil {
			err = cmp.Or(err, f.Err())
		}
	}
	if c.keys != nil {
		err = cmp.Or(err, c.keys.Err())
	}
	return err
}

// copied returns the documents and contents for a snapshot. The caller holds the lock, for reading
// at least.
func (d *Deduplicator[ID]) copied(old int) *collection[ID] {
	c := &collection[ID]{of: d, changes: d.changes, settings: d.options(), bodies: d.bodies.file}
	slots := d.inOrder()
	c.docs = make([]sharedDocument[ID], 0, len(slots))
	position := make([]int, len(d.docs)) // in c.docs, by slot
	for at, slot := range slots {
		position[slot] = at
		doc := &d.docs[slot]
		c.docs = append(c.docs, sharedDocument[ID]{doc.id, doc.number, doc.length, doc.text})
	}
	used := d.used()
	c.contents = make([]sharedContent, 0, len(used))
	docs := make([]int, 0, len(slots)) // of all contents
	for _, n := range used {
		from := len(docs)
		for slot := range d.documentsOf(&d.contents[n]) {
			docs = append(docs, position[slot])
		}
		shared := sharedContent{content: d.contents[n], slot: n, docs: docs[from:len(docs):len(docs)]}
		c.contents = append(c.contents, shared)
		c.size += shared.size
	}
	c.isLarge = c.settings.Recall < 1 && c.size > d.exactSize()
	c.oldDocs, _ = slices.BinarySearchFunc(c.docs, old, func(doc sharedDocument[ID], old int) int { return doc.number - old })
	return c
}

// learn completes a snapshot with what its documents have in common.
func (c *collection[ID]) learn(ctx context.Context) {
	// Move the contents that only old documents have to the front.
	isFresh := func(of *sharedContent) int {
		if of.docs[len(of.docs)-1] < c.oldDocs {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(c.contents, func(a, b sharedContent) int { return isFresh(&a) - isFresh(&b) })
	c.old, _ = slices.BinarySearchFunc(c.contents, 1, func(of sharedContent, fresh int) int { return isFresh(&of) - fresh })
	if c.isLarge {
		if c.wrong = c.fits(); c.wrong == nil {
			c.learnFromSample(ctx)
		}
		return
	}
	c.learnAll()
}

// learnAll makes the forms, near-copies and weights of a small collection, in which no profile is slim
// then.
func (c *collection[ID]) learnAll() {
	c.readAll()
	words := 0
	for i := range c.contents {
		words += c.contents[i].size - documentSize
	}
	c.forms, c.filled = wording.Learn(len(c.contents), words, func(i int) wording.Wording { return c.contents[i].formWords() })
	c.nearCopies, c.weights = c.settings.copiesOf(len(c.contents), c.terms, c.filled)
}

// readAll makes the terms and words of all profiles.
func (c *collection[ID]) readAll() {
	parallel.Chunks(len(c.contents), func(_, from, to int) {
		for i := from; i < to; i++ {
			if of := &c.contents[i]; of.isSlim() {
				of.profile = of.whole(&c.settings.Fingerprinter)
			}
		}
	})
}

// used returns the slots of the contents that have documents and features, in the order of
// [profile.compare]. So results do not depend on which slots they got. The caller holds the lock.
func (d *Deduplicator[ID]) used() (slots []uint32) {
	for n, c := range d.contents {
		if c.first >= 0 && c.hasFeatures() {
			slots = append(slots, uint32(n))
		}
	}
	slices.SortFunc(slots, func(a, b uint32) int {
		return d.contents[a].compare(&d.contents[b].profile, &d.options().Fingerprinter)
	})
	return slots
}

// terms returns the terms of a content, with raw counts for weights.
func (c *collection[ID]) terms(i int) Vector { return c.contents[i].terms }

// Len returns the number of contents. Len, Vector, Weigh and Copies implement [cosine.Source].
func (c *collection[ID]) Len() int { return len(c.contents) }

// Vector returns the terms of content i, with raw counts for weights.
func (c *collection[ID]) Vector(i int, _ []Term) []Term { return c.terms(i) }

// Weigh returns the vector of content i with final weights, for the document frequencies df of its
// terms.
func (c *collection[ID]) Weigh(i int, v []Term, df []uint32) []Term {
	w := Vector(slices.Clone(v))
	p := &c.contents[i].profile
	c.weights.weigh(w, p.levels, p.fine, df)
	return w
}

// documentPairs yields pairs of documents by position, A < B, without those of two old documents.
// They are of some kinds and have a cosine of at least least.
func (c *collection[ID]) documentPairs(ctx context.Context, least float64, kinds Kind) iter.Seq[Pair[int]] {
	return func(yield func(Pair[int]) bool) {
		n := 0
		goOn := func(p Pair[int]) bool {
			n++
			return (n%1024 != 0 || ctx.Err() == nil) && yield(p)
		}
		// Pairs within a content: equal documents.
		for _, of := range c.contents[c.old:] {
			if ctx.Err() != nil || !c.equalPairs(of.docs, c.oldOf(of.docs), kinds, goOn) {
				return
			}
		}
		// Pairs between two contents: each document of one with each document of the other.
		for p := range c.pairs(ctx, least, kinds) {
			kind := c.kind(p.A, p.B)
			of, with := c.contents[p.A].docs, c.contents[p.B].docs
			fresh := with[c.oldOf(with):]
			for n, i := range of {
				if n == c.oldOf(of) { // document i is new, so old partners count too
					fresh = with
				}
				for _, j := range fresh {
					if !goOn(Pair[int]{A: min(i, j), B: max(i, j), Similarity: p.Similarity, Kind: kind}) {
						return
					}
				}
			}
		}
	}
}

// oldOf returns how many of docs, ascending positions, are old.
func (c *collection[ID]) oldOf(docs []int) int {
	n, _ := slices.BinarySearch(docs, c.oldDocs)
	return n
}

// fill returns the form of a content, and what is filled in.
func (c *collection[ID]) fill(i int) wording.Filled {
	switch {
	case c.filledAt == nil:
		return c.filled[i]
	case c.filledAt[i] == 0:
		return wording.Filled{}
	}
	return c.filled[c.filledAt[i]-1]
}

// contentsOf returns the content of each document by position, or -1 for one without features.
func (c *collection[ID]) contentsOf() []int {
	content := slices.Repeat([]int{-1}, len(c.docs))
	for i := range c.contents {
		for _, at := range c.contents[i].docs {
			content[at] = i
		}
	}
	return content
}
