package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/together"
)

// This file makes groups of documents from pairs of texts. Documents with the same text are in one group whatever the pairs are.

// Texts are the different texts of a corpus.
type texts struct {
	corpus  *corpus.Corpus
	method  *options.Method
	workers int
	better  func(a, b int) bool // documents
	groups  *Groups
	docs    [][]uint32     // the documents of each, in the order in which texts first occur
	marks   []*corpus.Mark // of those with features; the others are near nothing
	texts   []int          // for each mark, the number of its text
}

// newTexts lists the different texts. No two documents are in one group yet.
func newTexts(c *corpus.Corpus, o *options.Options) *texts {
	d := &texts{corpus: c, method: &o.Method, workers: o.Workers, better: better(c, &o.Method), groups: Alone(c)}
	var contents []*corpus.Content
	numbers, ends := make([]int32, c.Docs.Len()), []int{0} // the text of each document, and where its documents end in all
	for i := range numbers {
		t := c.Doc(i).Content
		if t.Number == 0 {
			contents, ends = append(contents, t), append(ends, 0)
			t.Number = int32(len(contents))
		}
		numbers[i] = t.Number - 1
		ends[t.Number]++
	}
	d.docs = make([][]uint32, len(contents)) // parts of all
	all := make([]uint32, len(numbers))
	for n := range d.docs {
		ends[n+1] += ends[n]
		d.docs[n] = all[ends[n]:ends[n]:ends[n+1]]
	}
	for i, n := range numbers {
		d.docs[n] = append(d.docs[n], uint32(i))
	}
	for n, t := range contents {
		if !t.Empty {
			d.marks, d.texts = append(d.marks, &t.Mark), append(d.texts, n)
		}
	}
	return d
}

// listPairs lists the pairs of documents, of which there may be most.
func (of *texts) listPairs(near iter.Seq[nearPair], most int) error {
	old := of.corpus.Old
	for _, same := range of.docs {
		for a, i := range same {
			if int(i) < old {
				continue
			}
			for _, j := range same[:a] {
				if err := of.groups.link(Pair{I: i, J: j, Value: of.method.Same()}, most); err != nil {
					return err
				}
			}
		}
	}
	for p := range near {
		a, b := of.docs[of.texts[p.i]], of.docs[of.texts[p.j]]
		if int(max(a[len(a)-1], b[len(b)-1])) < old {
			continue
		}
		for _, i := range a {
			for _, j := range b {
				if err := of.groups.link(Pair{I: i, J: j, Value: p.value}, most); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// group groups the texts, and so the documents. Of equal old documents only the first is in a group. The groups
// depend on the texts and on which are old; --keep chooses within them.
func (of *texts) group(near iter.Seq[nearPair]) {
	c := of.corpus
	isOld := func(text int) bool { return int(of.docs[text][0]) < c.Old }
	type rank struct {
		isOld  bool
		length int32
		hash   uint64
	}
	ranks := make([]rank, len(of.docs)) // side by side, since sorting looks at them again and again
	for text := range ranks {
		t := c.Docs.At(of.docs[text][0]).Content
		ranks[text] = rank{isOld(text), t.Length, t.Hash}
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
	k := textKeeper{texts: of, values: map[[2]int]float64{}, near: make([][]int, len(of.docs)), by: of.method.Linkage()}
	byText, _ := neardup.GroupPairs(len(of.docs), func(yield func(neardup.Pair[int], error) bool) {
		for p := range near {
			a, b := of.texts[p.i], of.texts[p.j]
			if isOld(a) && isOld(b) {
				continue
			}
			k.add(a, b, p.value)
			pair := neardup.Pair[int]{A: a, B: b, Similarity: p.value}
			if of.method.ValueName() == "distance" {
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
	k.keepAll(byText, members, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[b].length, ranks[a].length), cmp.Compare(ranks[a].hash, ranks[b].hash))
	})
}

// A textKeeper chooses the documents that groups keep, one group after the other, in the order in which package dedup does: no two that are kept are
// near-duplicates, and around centres all others are near-duplicates of the one that their group keeps.
type textKeeper struct {
	*texts
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
		return k.method.Same(), true
	}
	v, ok := k.values[[2]int{min(a, b), max(a, b)}]
	return v, ok
}

// first returns the document of a text that is kept if one of them is.
func (k *textKeeper) first(text int) int {
	docs := k.docs[text]
	best := int(docs[0])
	for _, j := range docs[1:] {
		if j := int(j); best >= k.corpus.Old && k.better(j, best) { // old ones come first
			best = j
		}
	}
	return best
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
		} else if len(k.docs[root]) > 1 { // which nobody can hinder
			k.keep([]int{root}, root)
		}
	}
	type favourite struct{ root, text, first int } // of a group: the text that it would keep, and the document
	favourites := make([]favourite, len(roots))
	compare := func(x, y favourite) int { // is negative if x is preferred to y
		if k.better(x.first, y.first) {
			return -1
		} else if k.better(y.first, x.first) {
			return 1
		}
		return otherwise(x.text, y.text)
	}
	together.Each(k.workers, len(roots), func(i int) {
		texts := members[roots[i]]
		best := favourite{roots[i], texts[0], k.first(texts[0])}
		for _, t := range texts[1:] {
			if x := (favourite{roots[i], t, k.first(t)}); compare(x, best) < 0 {
				best = x
			}
		}
		favourites[i] = best
	})
	together.Sort(k.workers, favourites, func(x, y favourite) int { return cmp.Or(compare(x, y), x.root-y.root) })
	for _, x := range favourites {
		k.keep(members[x.root], x.root)
	}
}

// keep chooses the document that a group keeps, and puts all others with it.
func (k *textKeeper) keep(texts []int, root int) {
	keep := root
	for _, t := range texts {
		if k.better(k.first(t), k.first(keep)) && k.mayKeep(texts, t, root) {
			keep = t
		}
	}
	k.kept[root], k.kept[keep] = false, true
	kept := k.first(keep)
	for _, t := range texts {
		for n, i := range k.docs[t] {
			if int(i) == kept || int(i) < k.corpus.Old && n > 0 { // one of several equal old documents stands for all
				continue
			}
			k.groups.Kept[i] = int32(kept)
			if v, ok := k.value(t, keep); ok {
				k.groups.Like[int(i)] = Pair{I: i, J: uint32(kept), Value: v}
			}
		}
	}
}
