package passages

import (
	"context"
	"iter"
	"math/bits"
	"sync"
)

// This file finds the passages of all documents. Each step reads what the one before has written to
// temporary files, in order:
//
//	anchors  sorted by hash: which occur twice?
//	grams    near such anchors, with the keys of the grams before and after them
//	classes  the grams sorted by key: those that occur twice. Do all places of a class have the same gram
//	         before them, and the same one after them?
//	pieces   the classes sorted by place: those in a row of which all places go on together
//	places   the pieces sorted by the class with which they begin: the places of a passage, with their bytes
//	passages sorted by the first place
//
// So the time is that of sorting what occurs twice, however often it does. A gram is a node of a graph in which
// an edge leads to the next gram in a text, and a passage is a path of it without branches: what is called a
// unitig in genome assembly.
//
// Texts are read twice: once for the grams, if an anchor of the text occurs twice, and once more for
// the bytes of the places.
//
// A place is the number of a token among those of all documents, so one number of 40 bits names a document and a
// place in it. Sorting by place is then also sorting by document.

// Passages yields all passages, in the order of their first places. Every run of the least length that
// occurs in two places is part of one, in which both places are. If the context ends, or a file has an
// error, that error comes last.
//
// Passages works on the documents that are there when the loop begins. It takes time in proportion to their texts.
func (f *Finder[ID]) Passages(ctx context.Context) iter.Seq2[Passage[ID], error] {
	return f.PassagesSince(ctx, 0)
}

// PassagesSince yields the passages that have a place in a document after the first n. It takes as long as
// Passages, because the old documents have to be sorted with the new ones to show what they share.
func (f *Finder[ID]) PassagesSince(ctx context.Context, n int) iter.Seq2[Passage[ID], error] {
	return func(yield func(Passage[ID], error) bool) {
		s, found, err := f.join(ctx, n)
		if err != nil {
			yield(Passage[ID]{}, err)
			return
		}
		for places := range s.places(found) {
			if ctx.Err() != nil {
				break
			}
			if !yield(s.passage(places), nil) {
				return
			}
		}
		if err := errOf(ctx, found.file); err != nil {
			yield(Passage[ID]{}, err)
		}
	}
}

// A joined is the result of a join: the places of all passages with a new one, by the first place of their
// passage. It holds the snapshot too, since places only mean something with the documents that were there.
type joined[ID any] struct {
	*snapshot[ID]
	old   int // documents
	found *sorter[[4]uint64]
}

// A join is what the steps share.
type join[ID any] struct {
	*snapshot[ID]
	ctx     context.Context
	shift   int    // to the left, so that the numbers of tokens use the upper bits of a key, by which sorters divide
	old     uint64 // tokens below are of old documents
	mu      sync.Mutex
	err     error
	telling sync.Mutex
	done    int // of the stage
}

// join returns the places of all passages with a new one. It keeps them until documents are added, so that
// Passages, Coverage and Cuts in a row join only once. Nothing is kept if the context ends or a file fails.
//
// Only one goroutine joins at a time, and the others wait for its result. Documents may be added meanwhile,
// except while the anchors are sorted.
func (f *Finder[ID]) join(ctx context.Context, old int) (*snapshot[ID], *sorter[[4]uint64], error) {
	f.joining.Lock()
	defer f.joining.Unlock()
	// Documents never go away, so as many as before are the same ones.
	if was := f.joined; was != nil && was.old == old && len(was.ids) == f.Len() {
		return was.snapshot, was.found, ctx.Err()
	}
	f.joined = nil // so that its files and those of the new join are not needed at the same time
	j := &join[ID]{ctx: ctx}
	twice := f.repeated(j)
	j.shift = 64 - max(bits.Len64(j.docs[len(j.ids)].tokens), 1)
	j.old = j.docs[min(max(old, 0), len(j.ids))].tokens
	grams := j.grams(twice)
	of, follow := j.classes(grams)
	pieces := j.pieces(of, follow)
	places := j.located(pieces)
	found := j.found(places)
	if j.err != nil {
		return nil, nil, j.err
	}
	f.joined = &joined[ID]{j.snapshot, old, found}
	return j.snapshot, found, nil
}

// share is the memory for what one step sorts. Two steps have records at a time, the one that is read and the one
// that is written, and the texts and the anchors have a quarter each.
func (j *join[ID]) share() int64 { return j.Memory / 4 }

// fail takes note of the first error. Steps have no errors of their own: each one runs, does nothing if failed
// says so, and join looks at the error once, at the end.
func (j *join[ID]) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// failed reports whether nothing more is to be done, because of an error or because the context has ended.
func (j *join[ID]) failed() bool {
	if err := j.ctx.Err(); err != nil {
		j.fail(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil
}

// tell says that one more of a number of steps has been done.
func (j *join[ID]) tell(stage string, total int) {
	if j.Progress == nil {
		return
	}
	j.telling.Lock()
	defer j.telling.Unlock()
	j.done++
	j.Progress(stage, float64(j.done)/float64(total))
}

const (
	sameBefore = 1 << iota // each has the same gram before it
	sameBehind             // each has the same gram after it
)
