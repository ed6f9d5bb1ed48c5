package pipeline

import (
	"cmp"
	"context"
	"iter"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup"
)

// This file has the methods auto and cosine: a Deduplicator takes the texts, and finds the pairs
// and the groups. Texts without letters and digits have no features, so the Deduplicator does not
// compare them; featureless finds the equal ones among them.

// linkages has what --group can name.
var linkages = map[string]neardup.Linkage{"centres": neardup.CentreLinkage, "complete": neardup.CompleteLinkage, "chains": neardup.SingleLinkage}

// preferences has what --keep can name. A preference reports whether document a is better to keep than b, by
// their numbers and lengths.
var preferences = map[string]func(a, lengthA, b, lengthB int) bool{
	"first":   func(a, _, b, _ int) bool { return a < b },
	"longest": func(_, lengthA, _, lengthB int) bool { return lengthA > lengthB },
	"newest":  func(a, _, b, _ int) bool { return a > b },
}

// An exact feeds documents to a Deduplicator. Ids are the numbers of the documents, or with --state the ids of these.
type exact struct {
	*feed
	options dedup.Options
	d       *dedup.Deduplicator[int]
	state   *state // nil without --state
	found   *found // of documents in parts, then d is nil, unless there is a report; or of all, once they are grouped
}

// A feed passes texts on, as they are loaded, to somebody who takes them in a goroutine of its own.
type feed struct {
	texts chan []numbered
	done  chan struct{}
	err   error // valid once done is closed
}

// newFeed returns a feed to take, which gets the texts in order and must read all of them, also after an error.
func newFeed(take func(texts <-chan []numbered) error) *feed {
	f := &feed{texts: make(chan []numbered, 4), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.err = take(f.texts)
	}()
	return f
}

// add passes documents on.
func (f *feed) add(some []numbered) { f.texts <- some }

// finish waits until all documents have been taken, and returns the error.
func (f *feed) finish() error {
	close(f.texts)
	<-f.done
	return f.err
}

// numbered is a text or a record, and the number and the id of its document.
type numbered struct {
	number   int
	id, text string
	record   neardup.Record
}

// lost says what of the files of earlier calls was dropped, or returns nil.
func (e *exact) lost() error {
	if e.state == nil {
		return nil
	}
	return e.state.d.Lost()
}

// deduplicator returns the settings of a Deduplicator for a call.
func (o *Options) deduplicator(fp *neardup.Fingerprinter, tell func(dedup.Progress)) dedup.Options {
	m := &o.Method
	s := dedup.Options{Fingerprinter: *fp, Similarity: m.Least, Probability: m.Probability, Bias: m.Bias, Kinds: m.Kinds}
	s.Memory, s.Progress = o.Memory*3/4, tell // the rest of the memory is for ids and places
	if m.Name == "auto" {
		s.Fingerprinter.Tokenizer = nil
	}
	s.Fingerprinter.Fields = o.fields
	if m.weighs && fp.Weight == nil {
		s.Fingerprinter.Weight = neardup.Count
	}
	return s
}

// newExact returns an exact with the settings of a call.
func newExact(o *Options, fp *neardup.Fingerprinter, sources []input.Source, tell func(dedup.Progress)) (*exact, error) {
	s := o.deduplicator(fp, tell)
	e := &exact{options: s}
	var err error
	if o.State == "" {
		e.d, err = dedup.New[int](s)
	} else {
		e.state, err = openState(o.State, s, sources)
	}
	if err != nil {
		return nil, err
	}
	e.feed = newFeed(func(texts <-chan []numbered) error {
		all := func(t numbered) (int, bool) { return t.number, true }
		switch {
		case o.fields != nil:
			return e.d.AddAll(context.Background(), each(texts, all, func(t numbered) neardup.Document { return t.record }))
		case e.state == nil:
			return e.d.AddAll(context.Background(), each(texts, all, documentOfNumbered))
		}
		var wrong error
		err := e.state.d.AddAll(context.Background(), each(texts, func(t numbered) (string, bool) {
			there, err := e.state.isThere(t.id)
			wrong = cmp.Or(wrong, err)
			return t.id, !there && wrong == nil
		}, documentOfNumbered))
		return cmp.Or(wrong, err)
	})
	return e, nil
}

func documentOfNumbered(t numbered) neardup.Document { return neardup.Text(t.text) }

// each yields what of returns for the documents that are to be added, with the ids that id returns.
func each[ID, D any](texts <-chan []numbered, id func(t numbered) (ID, bool), of func(t numbered) D) iter.Seq2[ID, D] {
	return func(yield func(ID, D) bool) {
		goOn := true
		for some := range texts { // read all, also after an error, so that add never blocks for ever
			for _, t := range some {
				if id, ok := id(t); ok {
					goOn = goOn && yield(id, of(t))
				}
			}
		}
	}
}

// families returns the documents of one form, which are near-duplicates only if --kinds says so.
func (e *exact) families() ([]family, error) {
	switch {
	case e.found != nil:
		return e.found.families, nil
	case e.state != nil:
		return familiesOf(e.state.d, e.state.run.Old)
	}
	return familiesOf(e.d, 0)
}

// groupExactly finds the groups. It also finds c.pairs if they are wanted.
func (c *collection) groupExactly(o *Options, wantPairs bool) error {
	var f *found
	var err error
	switch st := c.exact.state; {
	case o.Parts != nil:
		f, err = c.findInParts(o)
	case st != nil:
		if err = c.enterOld(st); err == nil {
			at := c.Numbers()
			f, err = findWith(o, st.d, st.run.Old, wantPairs, func(id string) int { return at[id] })
		}
	default:
		f, err = findWith(o, c.exact.d, c.old, wantPairs, func(i int) int { return i })
	}
	if err != nil {
		return err
	}
	if wantPairs {
		for _, same := range c.featureless() {
			for k, j := range same {
				for _, i := range same[:k] {
					if err := c.link(pair{uint32(i), uint32(j), 1, 1, neardup.Identical}); err != nil {
						return err
					}
				}
			}
		}
	}
	prefers := preferences[c.method.Keep]
	before := func(i, j int) bool {
		if (i < c.old) != (j < c.old) {
			return i < c.old
		}
		return prefers(i, int(c.Doc(i).length), j, int(c.Doc(j).length))
	}
	c.alone()
	c.groupFeatureless(before)
	c.takeFound(f)
	c.exact.found = &found{families: f.families}
	return nil
}

// groupFeatureless puts equal documents among those without features into one group, which keeps the first one by an order.
func (c *collection) groupFeatureless(before func(i, j int) bool) {
	for _, same := range c.featureless() {
		root := same[0]
		for _, i := range same[1:] {
			if before(i, root) {
				root = i
			}
		}
		for _, i := range same {
			if i >= c.old && i != root {
				c.cluster[i] = int32(root)
				c.like[i] = pair{uint32(i), uint32(root), 1, 1, neardup.Identical}
			}
		}
	}
}

// featureless returns the documents without features, equal ones together and in their order; none if identical ones do not count.
func (c *collection) featureless() map[*content][]int {
	of := map[*content][]int{}
	if kinds := c.method.Kinds; kinds != 0 && kinds&neardup.Identical == 0 {
		return of
	}
	for i := range c.docs.Len() {
		if d := c.Doc(i); d.content.empty {
			of[d.content] = append(of[d.content], i)
		}
	}
	return of
}
