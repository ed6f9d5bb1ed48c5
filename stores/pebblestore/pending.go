package pebblestore

import (
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// Documents are pending until so many are; then all enter the tables at once. That takes a second at the most.
const maxPending = 1 << 17

// pending are the documents that are in no table of Pebble yet: a small index by the same blocks, in memory.
// They are chained by a hash of their key in each table.
type pending struct {
	blocks blockstore.Blocks
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

func newPending(b blockstore.Blocks, max int) *pending {
	return &pending{blocks: b, max: max, at: map[string]int32{}, tables: make([]chains, b.Tables())}
}

func (p *pending) len() int { return len(p.at) }

// clear makes it empty, and keeps its memory, if that is not much.
func (p *pending) clear() {
	if cap(p.docs) > 2*maxPending {
		*p = *newPending(p.blocks, p.max)
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
