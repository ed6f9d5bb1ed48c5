package pebblestore

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
)

// Documents are pending until so many are; then all enter the tables at once. That takes a second at the most.
const maxPending = 1 << 17

// pending are the documents that are in no table of Pebble yet: a small index by the same blocks, in memory.
// They are chained by a hash of their key in each table.
type pending struct {
	blocks neardup.Blocks
	max    int // maxPending, but in tests
	docs   []pendingDoc
	at     map[string]int32 // in docs, by id
	tables []chains
}

type pendingDoc struct {
	id string // empty if it is none any more
	fp neardup.Fingerprint64
}

// chains lead from a hash of a key to the last document that has it, and from each to the one before. They count
// from 1.
type chains struct {
	last   [1 << 13]int32
	before []int32
}

func newPending(b neardup.Blocks) *pending {
	return &pending{blocks: b, max: maxPending, at: map[string]int32{}, tables: make([]chains, b.Tables())}
}

func (p *pending) len() int { return len(p.at) }

// clear makes it empty, and keeps its memory, if that is not much.
func (p *pending) clear() {
	if cap(p.docs) > 2*maxPending {
		max := p.max
		*p = *newPending(p.blocks)
		p.max = max
		return
	}
	clear(p.docs)
	p.docs = p.docs[:0]
	clear(p.at)
	for i := range p.tables {
		clear(p.tables[i].last[:])
		p.tables[i].before = p.tables[i].before[:0]
	}
}

func chainOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - 13) }

// add adds a document, in place of the one with its id.
func (p *pending) add(id string, fp neardup.Fingerprint64) {
	p.remove(id)
	p.docs = append(p.docs, pendingDoc{id, fp})
	n := int32(len(p.docs))
	p.at[id] = n - 1
	for i := range p.tables {
		t := &p.tables[i]
		last := &t.last[chainOf(p.blocks.Key(i, fp))]
		t.before = append(t.before, *last)
		*last = n
	}
}

func (p *pending) remove(id string) {
	if i, ok := p.at[id]; ok {
		p.docs[i].id = ""
		delete(p.at, id)
	}
}

// near calls yield with what is within the distance, for each table in which it is found, until that returns false.
func (p *pending) near(fp neardup.Fingerprint64, yield func(id string, distance int) bool) {
	for i := range p.tables {
		t := &p.tables[i]
		for n := t.last[chainOf(p.blocks.Key(i, fp))]; n > 0; n = t.before[n-1] {
			doc := &p.docs[n-1]
			if d := fp.Distance(doc.fp); d <= p.blocks.Distance() && doc.id != "" && !yield(doc.id, d) {
				return
			}
		}
	}
}

// changes are postings that are to be written, those at the same key as one value and the keys in order, which takes
// a fraction of the time that one by one would take.
type changes struct {
	list  []change
	order []keyed
}

// A change is a posting in all tables.
type change struct {
	id      string
	fp      neardup.Fingerprint64
	removed bool
}

// keyed is the key of a change in the table that is being written.
type keyed struct {
	key    uint64
	change int
}

func (c *changes) reset() {
	if cap(c.list) > 2*maxPending {
		*c = changes{}
	}
	clear(c.list)
	c.list = c.list[:0]
}

func (c *changes) add(id string, fp neardup.Fingerprint64, removed bool) {
	c.list = append(c.list, change{id, fp, removed})
}

// write puts the postings of all tables into a batch.
func (c *changes) write(b *pebble.Batch, blocks neardup.Blocks) error {
	var value []byte
	for table := range blocks.Tables() {
		c.order = c.order[:0]
		for i := range c.list {
			c.order = append(c.order, keyed{blocks.Key(table, c.list[i].fp), i})
		}
		slices.SortFunc(c.order, func(x, y keyed) int {
			if x.key != y.key {
				return cmp.Compare(x.key, y.key)
			}
			return x.change - y.change
		})
		key := make([]byte, keyLength(blocks, table))
		for order := c.order; len(order) > 0; {
			n, removals := 0, false
			for ; n < len(order) && order[n].key == order[0].key; n++ {
				removals = removals || c.list[order[n].change].removed
			}
			value = appendHeader(value[:0], n, removals)
			for _, o := range order[:n] {
				value = binary.BigEndian.AppendUint64(value, uint64(c.list[o.change].fp))
			}
			for _, o := range order[:n] {
				value = appendID(value, c.list[o.change].id, c.list[o.change].removed)
			}
			putKey(key, table, order[0].key)
			if err := b.Merge(key, value, nil); err != nil {
				return err
			}
			order = order[n:]
		}
	}
	return nil
}

// keyLength is the number of bytes of a key of a table.
func keyLength(b neardup.Blocks, table int) int { return 2 + (b.KeyBits(table)+7)/8 }

// putKey writes the key of a table, of so many bytes.
func putKey(to []byte, table int, key uint64) {
	to[0], to[1] = tableKey, byte(table)
	for i := len(to) - 1; i > 1; i-- {
		to[i] = byte(key)
		key >>= 8
	}
}
