package hamming

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

// This file builds a [Tree], from the root down. For each node it does four things:
//
//  1. find the bits in which the members differ,
//  2. choose a plan for these bits,
//  3. fill each table of the plan by a counting sort on the key,
//  4. split the overfull buckets of each table into nodes, and build those.
//
// Two rules keep fingerprints that are far from random from costing too much. A split must halve
// the expected cost of searching its bucket. And all splits together may take only eight entries
// for each fingerprint of the tree.

// A treeBuilder is the state of building one tree.
type treeBuilder struct {
	t      *Tree
	tables int // the most tables a node may have
	budget int // the entries that splitting may still look at or make
}

// NewTree builds a tree over fps, which it keeps and which must not change. Each fingerprint has
// the given number of words, 1 or 2, low word first. The tree finds any distance, but its plans are
// made for the one given. No node has more than the given number of tables. If blocks is not 0, the
// root has the tables of exactly so many blocks instead; see [NewPlan].
func NewTree(words int, fps []uint64, distance, tables, blocks int) *Tree {
	t := &Tree{words: words, fps: fps, distance: distance}
	n := t.Len()
	if n == 0 {
		return t
	}
	b := treeBuilder{t: t, tables: tables, budget: 8 * n}
	t.Nodes = []node{{}}
	b.node(0, nil, blocks, 0)
	t.Reach = t.farthest()
	return t
}

// node builds the node with the index at, and all nodes below it. ords has the ordinals of its
// fingerprints, some with copyBit; nil means all, which is so at the root only. If the node is not
// worth its tables, it is left without any, and the caller removes it.
func (b *treeBuilder) node(at int, ords []uint32, blocks, depth int) {
	t := b.t
	n := t.Len()
	if ords != nil {
		n = len(ords)
	}
	member := func(i int) (lo, hi uint64) {
		if ords != nil {
			return t.at(ords[i] &^ copyBit)
		}
		return t.at(uint32(i))
	}
	// The node is built in a variable, because Nodes grows and moves when children are appended.
	node := t.Nodes[at]
	node.count = n
	node.fixed, node.Value = t.agreement(n, member)
	varying := [2]uint64{^node.fixed[0], ^node.fixed[1]}
	if t.words == 1 {
		varying[1] = 0
	}
	// Splitting is optional, so a node that is not the root may be given up at several points.
	if depth > 0 {
		if b.budget -= n; b.budget < 0 { // to look at them takes time even if nothing comes of it
			return
		}
	}
	p := NewPlan(n, t.words, t.distance, b.tables, blocks, freeBits(n, member, varying))
	if depth > 0 {
		if 2*p.cost > float64(n)*(candidateCost+float64(fetchCost*passing(t.distance))) {
			return // not even twice as fast as the bucket that is there
		}
		if b.budget -= n * len(p.Keys); b.budget < 0 {
			return
		}
	}
	node.Combos = p.Combos
	node.Tables, node.count = b.fill(p.Keys, ords, n)
	t.Nodes[at] = node // before the children, which come behind it
	if depth+1 < maxDepth {
		for i := range node.Tables {
			b.split(at, i, depth)
		}
	}
}

// fill makes tables with these keys, and enters n fingerprints into each, side by side. It returns how many they are without duplicates, which are
// looked for if ords is nil.
func (b *treeBuilder) fill(keys [][]int, ords []uint32, n int) ([]Table, int) {
	tables, first := make([]Table, len(keys)), 0
	for i, key := range keys {
		tables[i].setKey(key, b.t.words)
	}
	if ords == nil && len(tables) > 0 {
		// The first table of the root is filled with everything, which brings equal
		// fingerprints together. It is filled again if there were any.
		tables[0].fill(b.t, nil, n)
		if ords = b.findCopies(&tables[0]); ords != nil {
			n = len(ords)
		} else {
			first = 1
		}
	}
	var filling sync.WaitGroup
	for i := range tables[first:] {
		filling.Go(func() { tables[first+i].fill(b.t, ords, n) })
	}
	filling.Wait()
	return tables, n
}

// agreement returns the bits in which all n fingerprints agree, and the values of these bits. The
// other bits of value are 0.
func (t *Tree) agreement(n int, member func(i int) (lo, hi uint64)) (fixed, value [2]uint64) {
	all, any := [2]uint64{^uint64(0), ^uint64(0)}, [2]uint64{}
	for i := range n {
		lo, hi := member(i)
		all[0], all[1] = all[0]&lo, all[1]&hi
		any[0], any[1] = any[0]|lo, any[1]|hi
	}
	return [2]uint64{all[0] | ^any[0], all[1] | ^any[1]}, all
}

// setKey makes the key from some bits, given in ascending order. Neighbouring bits of a word form
// one piece. It also chooses the tag: of the aligned halves of words the one with the fewest bits
// in the key, so that the tag tells as much as possible.
func (t *Table) setKey(key []int, words int) {
	t.Bits = len(key)
	for i, bit := range key {
		t.mask[bit/64] |= 1 << (bit % 64)
		if last := len(t.pieces) - 1; i > 0 && bit == key[i-1]+1 && bit%64 != 0 {
			t.pieces[last].width++
		} else {
			t.pieces = append(t.pieces, piece{uint8(bit / 64), uint8(bit % 64), 1, uint8(i)})
		}
	}
	most := -1
	for shift := 0; shift < 64*words; shift += 32 {
		if free := ^uint32(t.mask[shift/64] >> (shift % 64)); bits.OnesCount32(free) > most {
			most = bits.OnesCount32(free)
			t.tagShift, t.tagMask = shift, free
		}
	}
}

// fill enters n fingerprints into the table by a counting sort, keeping their order within a
// bucket. They are the ordinals of ords, or 0 to n−1 if ords is nil.
func (t *Table) fill(from *Tree, ords []uint32, n int) {
	at := func(i int) uint32 {
		if ords != nil {
			return ords[i]
		}
		return uint32(i)
	}
	// Count key x at x+1. After adding up, Starts[x] is the number of entries before bucket x.
	t.Starts = make([]uint32, 1<<t.Bits+1)
	for i := range n {
		t.Starts[t.key(from.at(at(i)&^copyBit))+1]++
	}
	sum := uint32(0)
	for i, c := range t.Starts {
		sum += c
		t.Starts[i] = sum
	}
	t.entries = make([]uint32, 2*n)
	next := slices.Clone(t.Starts)
	for i := range n {
		ord := at(i)
		lo, hi := from.at(ord &^ copyBit)
		key := t.key(lo, hi)
		// For entry i of the bucket pos is from+i. The tag goes to 2*from+i and the ordinal to
		// from+to+i, which is behind all tags of the bucket.
		pos := next[key]
		next[key]++
		t.entries[t.Starts[key]+pos] = t.tag(lo, hi)
		t.entries[t.Starts[key+1]+pos] = ord
	}
}

// findCopies finds the duplicates with the help of one table, and enters them in Copies. It returns
// the ordinals of the others, ascending and with copyBit on those that have duplicates, or nil if
// all fingerprints differ.
func (b *treeBuilder) findCopies(tb *Table) []uint32 {
	t := b.t
	pairs := t.equalPairs(tb)
	if len(pairs) == 0 {
		return nil
	}
	n := t.Len()
	// Fill Copies from the sorted pairs.
	isCopy := make([]bool, n)
	c := &t.Copies
	for i, p := range pairs {
		if first := uint32(p >> 32); i == 0 || c.first[len(c.first)-1] != first {
			c.first = append(c.first, first)
			c.Start = append(c.Start, uint32(i))
		}
		c.All = append(c.All, uint32(p))
		isCopy[uint32(p)] = true
	}
	c.Start = append(c.Start, uint32(len(c.All)))
	// Collect all other ordinals. first is ascending too, so one pass marks those in it.
	ords := make([]uint32, 0, n-len(c.All))
	marked := 0
	for ord := range uint32(n) {
		if marked < len(c.first) && c.first[marked] == ord {
			marked++
			ords = append(ords, ord|copyBit)
		} else if !isCopy[ord] {
			ords = append(ords, ord)
		}
	}
	return ords
}

// equalPairs returns the ordinals of a first fingerprint and a duplicate of it, 32 bits each, for
// all duplicates, sorted. Equal fingerprints share a bucket and a tag in any table. So it looks at
// one table, and compares fingerprints only where tags are equal.
func (t *Tree) equalPairs(tb *Table) []uint64 {
	keys := len(tb.Starts) - 1
	parts := make([][]uint64, (keys+perSearch-1)/perSearch)
	var searching sync.WaitGroup
	for i := range parts {
		searching.Go(func() { parts[i] = t.equalIn(tb, i*perSearch, min(keys, (i+1)*perSearch)) })
	}
	searching.Wait()
	pairs := slices.Concat(parts...)
	slices.Sort(pairs) // by the first one, and then by the duplicate
	return pairs
}

// perSearch is in how many buckets one goroutine looks for equal fingerprints at a time.
const perSearch = 1 << 12

// equalIn is equalPairs for the keys first..end, in no order.
func (t *Tree) equalIn(tb *Table, first, end int) []uint64 {
	var pairs []uint64
	var sorted []uint64 // tag and ordinal of a bucket, 32 bits each
	for key := first; key < end; key++ {
		from, to := tb.Starts[key], tb.Starts[key+1]
		if to-from < 2 {
			continue
		}
		sorted = sorted[:0]
		for i := from; i < to; i++ {
			// i counts the entries of the table, so i−from is the place in the bucket.
			sorted = append(sorted, uint64(tb.entries[from+i])<<32|uint64(tb.entries[to+i]))
		}
		slices.Sort(sorted)
		for len(sorted) > 1 { // take the entries with the same tag
			same := 1
			for same < len(sorted) && sorted[same]>>32 == sorted[0]>>32 {
				same++
			}
			if same > 1 {
				pairs = t.appendEqual(pairs, sorted[:same])
			}
			sorted = sorted[same:]
		}
	}
	return pairs
}

// appendEqual appends a pair (first, duplicate) for each duplicate among entries that share a tag.
// It sorts them by fingerprint and then by ordinal, so first is the lowest ordinal.
func (t *Tree) appendEqual(pairs []uint64, tagged []uint64) []uint64 {
	slices.SortFunc(tagged, func(a, b uint64) int {
		alo, ahi := t.at(uint32(a))
		blo, bhi := t.at(uint32(b))
		return cmp.Or(cmp.Compare(alo, blo), cmp.Compare(ahi, bhi), cmp.Compare(a, b))
	})
	first := uint32(tagged[0])
	for _, x := range tagged[1:] {
		ord := uint32(x)
		lo, hi := t.at(ord)
		if firstLo, firstHi := t.at(first); lo == firstLo && hi == firstHi {
			pairs = append(pairs, uint64(first)<<32|uint64(ord))
		} else {
			first = ord
		}
	}
	return pairs
}

// split turns the overfull buckets of a table into nodes, and then closes the gaps: the bucket of a
// node shrinks to one entry. at is the index of the node that has the table.
func (b *treeBuilder) split(at, table, depth int) {
	tb := &b.t.Nodes[at].Tables[table]
	limit := max(fullest, perBucket*b.t.Nodes[at].count>>tb.Bits) // entries of a normal bucket
	children := make(map[uint32]uint32)                           // by key, the index of the node
	for key := range len(tb.Starts) - 1 {
		from, to := tb.Starts[key], tb.Starts[key+1]
		if int(to-from) <= limit {
			continue
		}
		child := len(b.t.Nodes)
		b.t.Nodes = append(b.t.Nodes, node{parent: at, Under: table})
		b.node(child, tb.entries[from+to:2*to], 0, depth+1) // the ordinals of the bucket
		tb = &b.t.Nodes[at].Tables[table]                   // Nodes may have moved
		if len(b.t.Nodes[child].Tables) == 0 {              // not worth it: the bucket stays
			b.t.Nodes = b.t.Nodes[:child]
		} else {
			children[uint32(key)] = uint32(child)
		}
	}
	if len(children) == 0 {
		return
	}
	// Copy the buckets that stay, and put one entry in place of each that became a node. Starts
	// is overwritten on the way: its old numbers at key and key+1 are read first.
	var entries []uint32
	for key := range uint32(len(tb.Starts) - 1) {
		from, to := tb.Starts[key], tb.Starts[key+1]
		tb.Starts[key] = uint32(len(entries) / 2)
		if child, ok := children[key]; ok {
			tb.Starts[key] |= SplitBit
			entries = append(entries, child, 0)
		} else {
			entries = append(entries, tb.entries[2*from:2*to]...)
		}
	}
	tb.Starts[len(tb.Starts)-1] = uint32(len(entries) / 2)
	tb.entries = slices.Clip(entries)
}
