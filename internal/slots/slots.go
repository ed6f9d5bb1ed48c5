// Package slots keeps what is known of many things, each by the number of its slot: in columns ([Column]), and in tables
// that find a slot by a hash ([Table]).
//
// Millions of documents are known by a few numbers each, so these stand in large pieces without pointers: the collector of
// the Go runtime does not look into them, and nothing is copied when there are more. A column can be shared: a snapshot
// keeps what the column has now, and a piece is copied when it is written to for the first time after that.
package slots

// chunk is how many values are in a piece: so many that a piece is worth an allocation, and so few that to copy one takes
// microseconds.
const (
	chunkBits = 12
	chunk     = 1 << chunkBits
)

// A Column is values by slot, from 0 on. The zero value is empty. Changes must not run beside other methods.
type Column[T any] struct {
	chunks []*[chunk]T
	owned  []bool // by chunk: no snapshot has it
	n      int
}

// Len returns the number of values.
func (c *Column[T]) Len() int { return c.n }

// Append appends a value.
func (c *Column[T]) Append(v T) {
	if c.n>>chunkBits == len(c.chunks) {
		c.chunks, c.owned = append(c.chunks, new([chunk]T)), append(c.owned, true)
	}
	// Snapshots know how many values they have, so they do not look at this one.
	c.chunks[c.n>>chunkBits][c.n&(chunk-1)] = v
	c.n++
}

// At returns a value, which must not be changed through the pointer. It is valid until the value is set.
func (c *Column[T]) At(i uint32) *T { return &c.chunks[i>>chunkBits][i&(chunk-1)] }

// Change returns a value that the caller is going to change at once. Snapshots keep what it was.
func (c *Column[T]) Change(i uint32) *T {
	at := i >> chunkBits
	if !c.owned[at] {
		own := *c.chunks[at]
		c.chunks[at], c.owned[at] = &own, true
	}
	return &c.chunks[at][i&(chunk-1)]
}

// Snapshot returns the values as they are now, which nobody may change. It takes time for the pieces, not for the values.
func (c *Column[T]) Snapshot() Column[T] {
	s := Column[T]{chunks: append([]*[chunk]T(nil), c.chunks...), n: c.n}
	clear(c.owned)
	return s
}

// Chunk returns the values from slot i on that stand in one piece with it.
func (c *Column[T]) Chunk(i int) []T {
	return c.chunks[i>>chunkBits][i&(chunk-1) : min(chunk, c.n-i>>chunkBits<<chunkBits)]
}

// SortByKey sorts a list by the upper halves of its entries, the keys, and keeps the order of equal ones. It is a radix sort in
// three passes, and needs as much memory again.
func SortByKey(list []uint64) []uint64 {
	const width = 11
	other := make([]uint64, len(list))
	for shift := 32; shift < 64; shift += width {
		var ends [1 << width]int
		for _, e := range list {
			ends[e>>shift&(1<<width-1)]++
		}
		sum := 0
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for _, e := range list {
			at := &ends[e>>shift&(1<<width-1)]
			other[*at] = e
			*at++
		}
		list, other = other, list
	}
	return list
}
