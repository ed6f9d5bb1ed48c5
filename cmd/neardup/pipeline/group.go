package pipeline

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/neardup/neardup"
)

// This file groups the documents of the methods that compare fingerprints or signatures. auto.go has the others.

// Group finds the near-duplicates and the groups. It also finds c.pairs if they are wanted.
func (c *collection) Group(o *Options, wantPairs bool) error {
	if o.Given != nil {
		return c.groupGiven(o)
	}
	if c.exact != nil {
		return c.groupExactly(o, wantPairs)
	}
	of := c.contents()
	near, failed := c.method.pairs(of.marks)
	if wantPairs {
		var all []nearPair
		for p := range near {
			if all = append(all, p); len(all) > c.mostListed {
				return tooManyPairs(c.mostListed)
			}
		}
		near = slices.Values(all)
		if err := c.listPairs(of, near); err != nil {
			return err
		}
	}
	c.groupMarks(of, near)
	return failed()
}

// A distinct is the different texts of a collection.
type distinct struct {
	docs  [][]uint32 // the documents of each, in the order in which texts first occur
	marks []*mark    // of those with features; the others are near nothing
	texts []int      // for each mark, the number of its text
}

// contents lists the different texts.
func (c *collection) contents() (d distinct) {
	var contents []*content
	for i := range c.docs.Len() {
		if t := c.Doc(i).content; t.number == 0 {
			contents = append(contents, t)
			t.number = int32(len(contents))
		}
	}
	d.docs = make([][]uint32, len(contents)) // parts of all
	all, ends := make([]uint32, c.docs.Len()), make([]int, len(contents)+1)
	for i := range c.docs.Len() {
		ends[c.Doc(i).content.number]++
	}
	for n := range d.docs {
		ends[n+1] += ends[n]
		d.docs[n] = all[ends[n]:ends[n]:ends[n+1]]
	}
	for i := range c.docs.Len() {
		n := c.Doc(i).content.number - 1
		d.docs[n] = append(d.docs[n], uint32(i))
	}
	for n, t := range contents {
		if !t.empty {
			d.marks, d.texts = append(d.marks, &t.mark), append(d.texts, n)
		}
	}
	return d
}

// listPairs sets c.pairs.
func (c *collection) listPairs(of distinct, near iter.Seq[nearPair]) error {
	for _, same := range of.docs {
		for a, i := range same {
			if int(i) < c.old {
				continue
			}
			for _, j := range same[:a] {
				if err := c.link(pair{i: i, j: j, value: c.method.same()}); err != nil {
					return err
				}
			}
		}
	}
	for p := range near {
		a, b := of.docs[of.texts[p.i]], of.docs[of.texts[p.j]]
		if int(max(a[len(a)-1], b[len(b)-1])) < c.old {
			continue
		}
		for _, i := range a {
			for _, j := range b {
				if err := c.link(pair{i: i, j: j, value: p.value}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// groupMarks groups the texts, and so the documents. Of equal old documents only the first is in a group. The groups
// depend on the texts and on which are old; --keep chooses within them.
func (c *collection) groupMarks(of distinct, near iter.Seq[nearPair]) {
	isOld := func(text int) bool { return int(of.docs[text][0]) < c.old }
	type rank struct {
		isOld  bool
		length int32
		hash   uint64
	}
	ranks := make([]rank, len(of.docs)) // side by side, since sorting looks at them again and again
	for text := range ranks {
		t := c.docs.At(of.docs[text][0]).content
		ranks[text] = rank{isOld(text), t.length, t.hash}
	}
	before := func(a, b int) bool {
		x, y := &ranks[a], &ranks[b]
		switch {
		case x.isOld != y.isOld:
			return x.isOld
		case x.length != y.length:
			return x.length > y.length
		}
		return x.hash < y.hash
	}
	k := textKeeper{c: c, of: of, values: map[[2]int]float64{}, near: make([][]int, len(of.docs)), by: linkages[c.method.Group]}
	byText, _ := neardup.GroupPairs(len(of.docs), func(yield func(neardup.Pair[int], error) bool) {
		for p := range near {
			a, b := of.texts[p.i], of.texts[p.j]
			if isOld(a) && isOld(b) {
				continue
			}
			k.add(a, b, p.value)
			pair := neardup.Pair[int]{A: a, B: b, Similarity: p.value}
			if c.method.valueName() == "distance" {
				pair.Similarity, pair.Distance = 0, int(p.value)
			}
			if !yield(pair, nil) {
				return
			}
		}
	}, k.by, before) // the pairs have no errors, and the linkage is known
	members := make([][]int, len(of.docs)) // of the group that each text represents; nil if it is alone
	for text, root := range byText {
		if text != root && members[root] == nil {
			members[root] = []int{}
		}
	}
	for text, root := range byText {
		if members[root] != nil {
			members[root] = append(members[root], text)
		}
	}
	c.alone()
	k.keepAll(byText, members, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[b].length, ranks[a].length), cmp.Compare(ranks[a].hash, ranks[b].hash))
	})
}

// A textKeeper chooses the documents that groups keep, one group after the other, in the order in which package dedup does: no two that are kept are
// near-duplicates, and around centres all others are near-duplicates of the one that their group keeps.
type textKeeper struct {
	c      *collection
	of     distinct
	values map[[2]int]float64 // of the pairs of texts
	near   [][]int            // the texts that each one is paired with
	kept   []bool             // whether a document of a text is kept
	by     neardup.Linkage
}

// add adds a pair of texts.
func (k *textKeeper) add(a, b int, value float64) {
	at := [2]int{min(a, b), max(a, b)}
	if _, again := k.values[at]; !again {
		k.near[a], k.near[b] = append(k.near[a], b), append(k.near[b], a)
	}
	k.values[at] = value
}

// value returns that of a pair of texts, and whether they are near-duplicates.
func (k *textKeeper) value(a, b int) (float64, bool) {
	if a == b {
		return k.c.method.same(), true
	}
	v, ok := k.values[[2]int{min(a, b), max(a, b)}]
	return v, ok
}

// first returns the document of a text that is kept if one of them is.
func (k *textKeeper) first(text int) int {
	docs := k.of.docs[text]
	best := int(docs[0])
	for _, j := range docs[1:] {
		if j := int(j); best >= k.c.old && k.c.prefers(j, best) { // old ones come first
			best = j
		}
	}
	return best
}

// prefers reports whether --keep likes a document better than another one.
func (c *collection) prefers(a, b int) bool {
	return preferences[c.method.Keep](a, int(c.Doc(a).length), b, int(c.Doc(b).length))
}

// isBetter is prefers, where old documents come first.
func (k *textKeeper) isBetter(a, b int) bool {
	isOldA, isOldB := a < k.c.old, b < k.c.old
	return isOldA && !isOldB || isOldA == isOldB && k.c.prefers(a, b)
}

// mayKeep reports whether a group that root represents may keep a text instead.
func (k *textKeeper) mayKeep(texts []int, t, root int) bool {
	if k.by == neardup.SingleLinkage {
		return true
	}
	isCentre := !slices.ContainsFunc(texts, func(u int) bool { _, ok := k.value(t, u); return !ok })
	return isCentre && !slices.ContainsFunc(k.near[t], func(u int) bool { return u != root && k.kept[u] })
}

// keepAll lets all groups choose, the one whose favourite is preferred first. byText has the text that represents the group of each text, and members the
// texts of the groups of several. otherwise compares those of which none is preferred.
func (k *textKeeper) keepAll(byText []int, members [][]int, otherwise func(t, u int) int) {
	k.kept = make([]bool, len(members))
	var roots []int
	for text, root := range byText {
		if text != root {
			continue
		}
		if k.kept[root] = true; members[root] != nil {
			roots = append(roots, root)
		} else if len(k.of.docs[root]) > 1 { // which nobody can hinder
			k.keep([]int{root}, root)
		}
	}
	compare := func(t, u int) int { // is negative if a text is preferred to another one
		if a, b := k.first(t), k.first(u); k.isBetter(a, b) {
			return -1
		} else if k.isBetter(b, a) {
			return 1
		}
		return otherwise(t, u)
	}
	best := make([]int, len(members))
	for _, root := range roots {
		best[root] = slices.MinFunc(members[root], compare)
	}
	slices.SortStableFunc(roots, func(a, b int) int { return compare(best[a], best[b]) })
	for _, root := range roots {
		k.keep(members[root], root)
	}
}

// keep chooses the document that a group keeps, and puts all others with it.
func (k *textKeeper) keep(texts []int, root int) {
	c, keep := k.c, root
	for _, t := range texts {
		if k.isBetter(k.first(t), k.first(keep)) && k.mayKeep(texts, t, root) {
			keep = t
		}
	}
	k.kept[root], k.kept[keep] = false, true
	kept := k.first(keep)
	for _, t := range texts {
		for n, i := range k.of.docs[t] {
			if int(i) == kept || int(i) < c.old && n > 0 { // one of several equal old documents stands for all
				continue
			}
			c.cluster[i] = int32(kept)
			if v, ok := k.value(t, keep); ok {
				c.like[int(i)] = pair{i: i, j: uint32(kept), value: v}
			}
		}
	}
}

// link adds a pair of documents to c.pairs, unless both are old. It returns an error if there is no room.
func (c *collection) link(p pair) error {
	if int(max(p.i, p.j)) < c.old {
		return nil
	}
	if len(c.pairs) >= c.mostListed {
		return tooManyPairs(c.mostListed)
	}
	c.pairs = append(c.pairs, p)
	return nil
}

// tooManyPairs is the error of a list for which there is no room. Of n equal documents there are n²/2 pairs.
func tooManyPairs(most int) error {
	return fmt.Errorf("there are more than %d pairs, and --memory has no room for more: --clusters has the groups, which need little", most)
}
