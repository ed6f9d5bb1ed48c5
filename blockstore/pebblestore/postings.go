package pebblestore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// The postings at a key of a table are the values that have the key, with their ids:
//
//	1 if they must be settled, else 0      byte
//	bytes of a value: 8, 16, or 0          byte
//	number of postings                     varint
//	values
//	ids: length × 2, plus 1 for a removal  varint, and then the id
//
// Fingerprints lie side by side, so a search compares them fast. It looks at the ids only if a
// fingerprint is near. The values of signatures are large, and are only with their ids, under d and
// n; here they have 0 bytes.
//
// A change appends postings to the ones that are there, by Pebble's merge operator. So a writer
// does not read them. A removal is a posting, too. Of several postings with the same id and
// value, the last one counts. Postings that contain a removal must be settled: a merge looks
// at every posting and leaves out the earlier ones. It must do so again until it has also seen the
// oldest postings; only then can the removal itself go. If there are only additions, a merge just
// copies them.

// maxInline is how many bytes a value may have to be in the postings.
const maxInline = 16

// inline returns how many bytes of a value are in the postings: all or none.
func inline(keys blockstore.Keys) int {
	if keys.Size() > maxInline {
		return 0
	}
	return keys.Size()
}

// A postings is the postings at a key, still as they are written.
type postings struct {
	settle bool
	size   int // bytes of a value
	n      int // postings, removals included
	values []byte
	ids    []byte
}

// readPostings takes the value of a key apart. It checks the number of postings, and leaves the
// ids to cutID.
func readPostings(value []byte) (postings, error) {
	if len(value) > 1 && value[0] <= 1 && value[1] <= maxInline {
		size := int(value[1])
		n, k := binary.Uvarint(value[2:])
		if k > 0 && n <= uint64(len(value)-2-k)/uint64(size+1) { // an id takes a byte or more
			values := value[2+k:]
			end := int(n) * size
			return postings{value[0] == 1, size, int(n), values[:end], values[end:]}, nil
		}
	}
	return postings{}, fmt.Errorf("%w: the postings at a key", neardup.ErrDamaged)
}

// value returns the value of a posting.
func (p *postings) value(i int) []byte { return p.values[i*p.size:][:p.size] }

// cutID returns the first id, whether its posting is a removal, and the remaining ids.
func cutID(ids []byte) (id []byte, removed bool, rest []byte, err error) {
	n, k := binary.Uvarint(ids)
	if k <= 0 || n>>1 > uint64(len(ids)-k) {
		return nil, false, nil, fmt.Errorf("%w: the ids at a key", neardup.ErrDamaged)
	}
	end := k + int(n>>1)
	return ids[k:end], n&1 == 1, ids[end:], nil
}

// appendID appends the id of a posting. It is the inverse of cutID.
func appendID(to []byte, id string, removed bool) []byte {
	n := uint64(len(id)) << 1
	if removed {
		n |= 1
	}
	return append(binary.AppendUvarint(to, n), id...)
}

// near calls yield for each posting within a distance of a fingerprint, until yield returns false.
// If the postings have no values, it calls yield for all of them.
func (p *postings) near(query string, distance int, yield func(id string, value []byte) bool) error {
	at, ids := 0, p.ids // ids begins with the id of posting at
	for i := range p.n {
		value := p.value(i)
		if p.size > 0 && bitsBetween(value, query) > distance {
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
			if !removed && !yield(string(id), value) {
				return nil
			}
			break
		}
	}
	return nil
}

// bitsBetween returns the Hamming distance of two fingerprints of the same number of bytes.
func bitsBetween(a []byte, b string) (d int) {
	if len(a) == 8 && len(b) == 8 {
		return bits.OnesCount64(binary.BigEndian.Uint64(a) ^ binary.BigEndian.Uint64([]byte(b)))
	}
	for i := range min(len(a), len(b)) {
		d += bits.OnesCount8(a[i] ^ b[i])
	}
	return d
}

// merger puts postings together. Its name is in the files: Pebble opens them only with a merger of
// the same name.
var merger = &pebble.Merger{
	Name: "neardup.postings.2",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		m := &merge{}
		return m, m.MergeNewer(value)
	},
}

// A merge puts the postings of several changes together.
type merge struct {
	data         []byte   // all values, one after the other
	older, newer []extent // the values, in the order in which they came
}

// An extent is a value in the data of a merge.
type extent struct{ from, to int }

// take copies a value, which Pebble may write over.
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

// Finish implements [pebble.ValueMerger]. It returns the postings in the order of the changes.
// includesBase says that nothing older exists, so that removals have done their work.
func (m *merge) Finish(includesBase bool) ([]byte, io.Closer, error) {
	slices.Reverse(m.older)
	var array [32]postings
	all, n, mustSettle := array[:0], 0, false
	for _, e := range append(m.older, m.newer...) {
		p, err := readPostings(m.data[e.from:e.to])
		if err == nil && len(all) > 0 && p.size != all[0].size {
			err = fmt.Errorf("%w: values of %d and of %d bytes at a key", neardup.ErrDamaged, p.size, all[0].size)
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, p)
		n += p.n
		mustSettle = mustSettle || p.settle
	}
	if mustSettle {
		merged, err := settle(all, includesBase)
		return merged, nil, err
	}
	merged := appendHeader(make([]byte, 0, len(m.data)+binary.MaxVarintLen64), all[0].size, n, false)
	for _, p := range all {
		merged = append(merged, p.values...)
	}
	for _, p := range all {
		merged = append(merged, p.ids...)
	}
	return merged, nil, nil
}

// appendHeader appends what comes before the values of n postings.
func appendHeader(to []byte, size, n int, settle bool) []byte {
	flag := byte(0)
	if settle {
		flag = 1
	}
	return binary.AppendUvarint(append(to, flag, byte(size)), uint64(n))
}

// settle keeps only the last posting of each id and value. If all postings of the key are there, it
// drops the removals, too.
func settle(all []postings, whole bool) ([]byte, error) {
	type identity struct{ id, value string }
	type state struct {
		identity
		removed bool
	}
	var order []state
	at := map[identity]int{} // the place in order
	for _, p := range all {
		ids := p.ids
		for i := range p.n {
			id, removed, rest, err := cutID(ids)
			if err != nil {
				return nil, err
			}
			ids = rest
			same := identity{string(id), string(p.value(i))}
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
	merged := appendHeader(nil, all[0].size, len(order), !whole)
	for _, s := range order {
		merged = append(merged, s.value...)
	}
	for _, s := range order {
		merged = appendID(merged, s.id, s.removed)
	}
	return merged, nil
}

// A changes collects postings that are to be written. It writes all postings of a key as one value,
// and the keys in order. That takes a fraction of the time of writing them one by one.
type changes struct {
	keys  blockstore.Keys
	list  []change
	all   []uint64 // the keys of the changes, in all tables each
	order []keyed
}

// A change is a posting that goes to all tables.
type change struct {
	id      string
	value   string // of as many bytes as are in the postings
	removed bool
}

// A keyed is a change with its key in the table that is being written.
type keyed struct {
	key    uint64
	change int
}

// reset removes all postings. It keeps the memory for the next ones, unless that is much.
func (c *changes) reset() {
	if cap(c.list) > 2*maxPending {
		*c = changes{keys: c.keys}
	}
	clear(c.list)
	c.list, c.all = c.list[:0], c.all[:0]
}

// add collects a posting. A value without keys has none.
func (c *changes) add(r blockstore.Row, removed bool) {
	before := len(c.all)
	if c.all = c.keys.AppendKeys(c.all, r.Value); len(c.all) > before {
		c.list = append(c.list, change{r.ID, r.Value[:inline(c.keys)], removed})
	}
}

// write puts the postings of all tables into a batch.
func (c *changes) write(b *pebble.Batch) error {
	var value []byte
	tables := c.keys.Tables()
	for table := range tables {
		c.order = c.order[:0]
		for i := range c.list {
			c.order = append(c.order, keyed{c.all[i*tables+table], i})
		}
		slices.SortFunc(c.order, func(x, y keyed) int {
			if x.key != y.key {
				return cmp.Compare(x.key, y.key)
			}
			return x.change - y.change
		})
		key := make([]byte, keyLength(c.keys, table))
		for order := c.order; len(order) > 0; {
			n, removals := 0, false
			for ; n < len(order) && order[n].key == order[0].key; n++ {
				removals = removals || c.list[order[n].change].removed
			}
			value = appendHeader(value[:0], inline(c.keys), n, removals)
			for _, o := range order[:n] {
				value = append(value, c.list[o.change].value...)
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

// keyLength returns how many bytes the keys of a table have in Pebble.
func keyLength(keys blockstore.Keys, table int) int { return 2 + (keys.KeyBits(table)+7)/8 }

// putKey writes a key of a table to to, which must have the length of such keys.
func putKey(to []byte, table int, key uint64) {
	to[0], to[1] = tableKey, byte(table)
	for i := len(to) - 1; i > 1; i-- {
		to[i] = byte(key)
		key >>= 8
	}
}
