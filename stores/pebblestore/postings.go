package pebblestore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// The postings at a key of a table are the fingerprints that have it, with their ids:
//
//	1 if they must be settled, else 0      byte
//	number of postings                     varint
//	fingerprints                           8 bytes each, big-endian
//	ids: length × 2, plus 1 for a removal  varint, and then the id
//
// So a search compares fingerprints that lie side by side, and looks at the ids only if one is near.
//
// A change appends postings to those that are there, by Pebble's merge operator, which need not read them. Of
// those with the same id and fingerprint the last one counts. So where there are removals they must be settled: merging
// looks at each of them, and again until it has the oldest ones, too. Additions are only copied.

// postings are those at a key, not yet looked into.
type postings struct {
	settle bool
	fps    []byte // 8 each
	ids    []byte
}

// readPostings reads what is at a key.
func readPostings(value []byte) (postings, error) {
	if len(value) > 0 && value[0] <= 1 {
		n, k := binary.Uvarint(value[1:])
		if k > 0 && n <= uint64(len(value)-1-k)/8 {
			fps := value[1+k:]
			return postings{value[0] == 1, fps[:8*n], fps[8*n:]}, nil
		}
	}
	return postings{}, fmt.Errorf("%w: the postings at a key", neardup.ErrDamaged)
}

func (p *postings) len() int { return len(p.fps) / 8 }

func (p *postings) fingerprint(i int) neardup.Fingerprint64 {
	return neardup.Fingerprint64(binary.BigEndian.Uint64(p.fps[8*i:]))
}

// cutID returns the id at the beginning of some bytes, and the others.
func cutID(ids []byte) (id []byte, removed bool, rest []byte, err error) {
	n, k := binary.Uvarint(ids)
	if k <= 0 || n>>1 > uint64(len(ids)-k) {
		return nil, false, nil, fmt.Errorf("%w: the ids at a key", neardup.ErrDamaged)
	}
	end := k + int(n>>1)
	return ids[k:end], n&1 == 1, ids[end:], nil
}

func appendID(to []byte, id string, removed bool) []byte {
	n := uint64(len(id)) << 1
	if removed {
		n |= 1
	}
	return append(binary.AppendUvarint(to, n), id...)
}

// near calls yield with the postings within a distance of a fingerprint, until that returns false.
func (p *postings) near(fp neardup.Fingerprint64, distance int, yield func(id string, distance int) bool) error {
	at, ids := 0, p.ids // ids are those from the posting at on
	for i := range p.len() {
		d := fp.Distance(p.fingerprint(i))
		if d > distance {
			continue
		}
		for {
			id, removed, rest, err := cutID(ids)
			if err != nil {
				return err
			}
			ids = rest
			if at++; at <= i {
				continue
			}
			if !removed && !yield(string(id), d) {
				return nil
			}
			break
		}
	}
	return nil
}

var merger = &pebble.Merger{
	Name: "neardup.postings.1",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		m := &merge{}
		return m, m.MergeNewer(value)
	},
}

// A merge puts the postings of several changes together.
type merge struct {
	data         []byte   // of the values
	older, newer []extent // in the order in which they came
}

type extent struct{ from, to int }

func (m *merge) take(value []byte) extent {
	from := len(m.data)
	m.data = append(m.data, value...)
	return extent{from, len(m.data)}
}

// MergeNewer implements [pebble.ValueMerger].
func (m *merge) MergeNewer(value []byte) error {
	m.newer = append(m.newer, m.take(value))
	return nil
}

// MergeOlder implements [pebble.ValueMerger].
func (m *merge) MergeOlder(value []byte) error {
	m.older = append(m.older, m.take(value))
	return nil
}

// Finish implements [pebble.ValueMerger]: it returns the postings in order. If nothing older is to come, removals have done
// their work.
func (m *merge) Finish(includesBase bool) ([]byte, io.Closer, error) {
	slices.Reverse(m.older)
	var array [32]postings
	all, n, mustSettle := array[:0], 0, false
	for _, e := range append(m.older, m.newer...) {
		p, err := readPostings(m.data[e.from:e.to])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, p)
		n += p.len()
		mustSettle = mustSettle || p.settle
	}
	if mustSettle {
		merged, err := settle(all, includesBase)
		return merged, nil, err
	}
	merged := appendHeader(make([]byte, 0, len(m.data)+binary.MaxVarintLen64), n, false)
	for _, p := range all {
		merged = append(merged, p.fps...)
	}
	for _, p := range all {
		merged = append(merged, p.ids...)
	}
	return merged, nil, nil
}

func appendHeader(to []byte, n int, settle bool) []byte {
	flag := byte(0)
	if settle {
		flag = 1
	}
	return binary.AppendUvarint(append(to, flag), uint64(n))
}

// settle leaves of postings with the same id and fingerprint the last one, and no removals if all are there.
func settle(all []postings, whole bool) ([]byte, error) {
	type identity struct {
		id string
		fp neardup.Fingerprint64
	}
	type state struct {
		identity
		removed bool
	}
	var order []state
	at := map[identity]int{} // in order, of the last
	for _, p := range all {
		ids := p.ids
		for i := range p.len() {
			id, removed, rest, err := cutID(ids)
			if err != nil {
				return nil, err
			}
			ids = rest
			same := identity{string(id), p.fingerprint(i)}
			if before, ok := at[same]; ok {
				order[before].removed = removed
				continue
			}
			at[same] = len(order)
			order = append(order, state{same, removed})
		}
	}
	if whole {
		order = slices.DeleteFunc(order, func(s state) bool { return s.removed })
	}
	merged := appendHeader(nil, len(order), !whole)
	for _, s := range order {
		merged = binary.BigEndian.AppendUint64(merged, uint64(s.fp))
	}
	for _, s := range order {
		merged = appendID(merged, s.id, s.removed)
	}
	return merged, nil
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
func (c *changes) write(b *pebble.Batch, blocks blockstore.Blocks) error {
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
func keyLength(b blockstore.Blocks, table int) int { return 2 + (b.KeyBits(table)+7)/8 }

// putKey writes the key of a table, of so many bytes.
func putKey(to []byte, table int, key uint64) {
	to[0], to[1] = tableKey, byte(table)
	for i := len(to) - 1; i > 1; i-- {
		to[i] = byte(key)
		key >>= 8
	}
}
