package hamming

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A treeBuilder builds a tree.
type treeBuilder struct {
	t      *Tree
	tables int // at most so many for each node
	budget int // entries that splitting may yet take
}

// NewTree returns the tree of fingerprints, which it keeps. The plans are made for the
// distance; there are at most so many tables, or exactly those of so many blocks if
// that is not 0.
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

// farthest returns the distance up to which tables are better than a scan.
func (t *Tree) farthest() int {
	if len(t.Nodes) == 0 {
		return -1
	}
	root := &t.Nodes[0]
	if len(root.Tables) == 0 {
		return -1
	}
	combos := false
	for i := range t.Nodes {
		combos = combos || t.Nodes[i].Combos
	}
	reach := t.distance
	for !combos && reach < 64*t.words && t.cost(reach+1) < t.scanCost() {
		reach++
	}
	for reach >= 0 && !root.Combos && t.cost(reach) > 1.5*t.scanCost() { // wanted blocks that are of no use
		reach--
	}
	return reach
}

func (t *Tree) scanCost() float64 { return scanCost * float64(len(t.fps)) }

// cost returns the cost of a search by the tables of the root.
func (t *Tree) cost(distance int) float64 {
	root := &t.Nodes[0]
	cost := 0.0
	for i := range root.Tables {
		r := root.Radius(i, distance)
		if r < 0 {
			break
		}
		bits := root.Tables[i].Bits
		cost += probeCosts(bits, r, distance, math.Ldexp(float64(root.count), -bits))
	}
	return cost
}

// node builds a node over some ordinals, or all if they are nil, and all below it.
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
	node := t.Nodes[at]
	node.count = n
	node.fixed, node.Value = t.agreement(n, member)
	varying := [2]uint64{^node.fixed[0], ^node.fixed[1]}
	if t.words == 1 {
		varying[1] = 0
	}
	if depth > 0 {
		if b.budget -= n; b.budget < 0 { // it takes time, too
			return
		}
	}
	p := NewPlan(n, t.words, t.distance, b.tables, blocks, freeBits(n, member, varying))
	if depth > 0 {
		if 2*p.cost > float64(n)*(candidateCost+float64(fetchCost*passing(t.distance))) {
			return // better left as a bucket; the caller drops the node
		}
		if b.budget -= n * len(p.Keys); b.budget < 0 {
			return
		}
	}
	node.Combos = p.Combos
	for i, key := range p.Keys {
		var tb Table
		tb.setKey(key, t.words)
		tb.fill(t, ords, n)
		if ords == nil && i == 0 {
			if ords = b.findCopies(&tb); ords != nil {
				n, node.count = len(ords), len(ords)
				tb.fill(t, ords, n)
			}
		}
		node.Tables = append(node.Tables, tb)
	}
	t.Nodes[at] = node
	if depth+1 < maxDepth {
		for i := range node.Tables {
			b.split(at, i, depth)
		}
	}
}

// agreement returns the bits in which all fingerprints agree, and their values.
func (t *Tree) agreement(n int, member func(i int) (lo, hi uint64)) (fixed, value [2]uint64) {
	all, any := [2]uint64{^uint64(0), ^uint64(0)}, [2]uint64{}
	for i := range n {
		lo, hi := member(i)
		all[0], all[1] = all[0]&lo, all[1]&hi
		any[0], any[1] = any[0]|lo, any[1]|hi
	}
	return [2]uint64{all[0] | ^any[0], all[1] | ^any[1]}, all
}

// setKey makes the key of some bits, in ascending order.
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
	for shift := 0; shift < 64*words; shift += 32 { // the 32 bits with the fewest in the key
		if free := ^uint32(t.mask[shift/64] >> (shift % 64)); bits.OnesCount32(free) > most {
			most = bits.OnesCount32(free)
			t.tagShift, t.tagMask = shift, free
		}
	}
}

// fill enters fingerprints of a tree: those of ords, or the first n if that is nil.
func (t *Table) fill(from *Tree, ords []uint32, n int) {
	at := func(i int) uint32 {
		if ords != nil {
			return ords[i]
		}
		return uint32(i)
	}
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
		pos := next[key]
		next[key]++
		t.entries[t.Starts[key]+pos] = t.tag(lo, hi)
		t.entries[t.Starts[key+1]+pos] = ord
	}
}

// findCopies finds equal fingerprints, which share a bucket of any table. It returns
// the first ordinal of each, marked if it has copies, or nil if all are different.
func (b *treeBuilder) findCopies(tb *Table) []uint32 {
	t := b.t
	var pairs []uint64 // first, copy
	var sorted []uint64
	for key := range len(tb.Starts) - 1 {
		from, to := tb.Starts[key], tb.Starts[key+1]
		if to-from < 2 {
			continue
		}
		sorted = sorted[:0]
		for i := from; i < to; i++ {
			sorted = append(sorted, uint64(tb.entries[from+i])<<32|uint64(tb.entries[to+i]))
		}
		slices.Sort(sorted)
		for len(sorted) > 1 { // those with one tag
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
	if pairs == nil {
		return nil
	}
	slices.Sort(pairs)
	n := t.Len()
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

// appendEqual appends the pairs of a first ordinal and one with the same fingerprint,
// of ordinals with the same tag.
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

// split makes nodes of the overfull buckets of a table of a node.
func (b *treeBuilder) split(at, table, depth int) {
	tb := &b.t.Nodes[at].Tables[table]
	limit := max(fullest, perBucket*b.t.Nodes[at].count>>tb.Bits)
	children := make(map[uint32]uint32)
	for key := range len(tb.Starts) - 1 {
		from, to := tb.Starts[key], tb.Starts[key+1]
		if int(to-from) <= limit {
			continue
		}
		child := len(b.t.Nodes)
		b.t.Nodes = append(b.t.Nodes, node{parent: at, Under: table})
		b.node(child, tb.entries[from+to:2*to], 0, depth+1)
		tb = &b.t.Nodes[at].Tables[table] // the nodes may have moved
		if b.t.Nodes[child].Tables == nil {
			b.t.Nodes = b.t.Nodes[:child]
		} else {
			children[uint32(key)] = uint32(child)
		}
	}
	if len(children) == 0 {
		return
	}
	// The bucket of a node is one entry.
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
