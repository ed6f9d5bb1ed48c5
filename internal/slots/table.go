package slots

import "github.com/neardup/neardup/internal/parallel"

// A Table finds slots by a hash of what is in them. It has four bytes for a slot and some room, and no copy of the hashes: whoever
// asks must know the hash of a slot. Several slots may have one hash. The zero value is empty.
type Table struct {
	cells Column[uint32] // a slot and 1, or 0; as many as a power of two
	n     int
}

// TableOf returns the table with these cells, for n slots.
func TableOf(cells Column[uint32], n int) Table { return Table{cells, n} }

// TableFor returns an empty table with room for n slots.
func TableFor(n int) Table {
	size := 16
	for 4*size < 5*n {
		size *= 2
	}
	return TableOf(Of(make([]uint32, size)), 0)
}

// Cells returns the cells, as many as a power of two, for TableOf.
func (t *Table) Cells() *Column[uint32] { return &t.cells }

// Len returns the number of slots.
func (t *Table) Len() int { return t.n }

// Find returns the first slot with a hash for which is returns true.
func (t *Table) Find(hash uint64, is func(slot uint32) bool) (slot uint32, ok bool) {
	if t.n == 0 {
		return 0, false
	}
	// A table has empty cells. In a damaged file it may not, so nobody looks longer than that.
	for i, left := t.home(hash), t.cells.Len(); left > 0; i, left = t.behind(i), left-1 {
		switch x := *t.cells.At(i); {
		case x == 0:
			return 0, false
		case is(x - 1):
			return x - 1, true
		}
	}
	return 0, false
}

// Add adds a slot. hashOf returns the hash of any slot of the table.
func (t *Table) Add(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	if 5*(t.n+1) > 4*t.cells.Len() { // so that a look-up sees some three cells
		t.grow(hashOf)
	}
	t.put(hash, slot+1)
	t.n++
}

// Grow makes room for half as many slots again.
func (t *Table) Grow(hashOf func(slot uint32) uint64) {
	for 8*t.n > 4*t.cells.Len() {
		t.grow(hashOf)
	}
}

// grow doubles the cells. The hashes are found on all processors, so hashOf may be called by several goroutines.
func (t *Table) grow(hashOf func(slot uint32) uint64) {
	old, n := t.cells.Chunks(), t.cells.Len()
	t.cells = Of(make([]uint32, max(16, 2*n)))
	hashes := make([]uint64, min(n, growAtOnce*chunk))
	for ; len(old) > 0; old = old[min(len(old), growAtOnce):] {
		some := old[:min(len(old), growAtOnce)]
		parallel.Each(len(some), func(k int) {
			for i, x := range some[k] {
				if x > 0 {
					hashes[k*chunk+i] = hashOf(x - 1)
				}
			}
		})
		for k, cells := range some { // in their order, so that a table does not depend on the number of processors
			for i, x := range cells {
				if x > 0 {
					t.put(hashes[k*chunk+i], x)
				}
			}
		}
	}
}

// growAtOnce is for how many chunks of cells the hashes are found before the cells are written.
const growAtOnce = 64

// put writes a cell.
func (t *Table) put(hash uint64, x uint32) {
	i := t.home(hash)
	for left := t.cells.Len(); *t.cells.At(i) != 0; i, left = t.behind(i), left-1 {
		if left == 0 {
			return // in a damaged file
		}
	}
	*t.cells.Change(i) = x
}

// Remove removes a slot that is in the table. The cells behind it move up, as far as they may.
func (t *Table) Remove(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	i := t.home(hash)
	for left := t.cells.Len(); *t.cells.At(i) != slot+1; i, left = t.behind(i), left-1 {
		if left == 0 {
			return // in a damaged file
		}
	}
	for j, left := t.behind(i), t.cells.Len(); *t.cells.At(j) != 0 && left > 0; j, left = t.behind(j), left-1 {
		// The cell moves unless its home lies behind the hole.
		if home := t.home(hashOf(*t.cells.At(j) - 1)); (j-home)&t.mask() >= (j-i)&t.mask() {
			*t.cells.Change(i), i = *t.cells.At(j), j
		}
	}
	*t.cells.Change(i) = 0
	t.n--
}

func (t *Table) mask() uint32 { return uint32(t.cells.Len() - 1) }

// home returns the cell at which the search for a hash begins. The product spreads hashes that differ in a few bits only.
func (t *Table) home(hash uint64) uint32 {
	return uint32(hash*0x9E3779B97F4A7C15>>20) & t.mask()
}

func (t *Table) behind(i uint32) uint32 { return (i + 1) & t.mask() }
