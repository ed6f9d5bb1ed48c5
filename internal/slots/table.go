package slots

import (
	"sync/atomic"

	"github.com/neardup/neardup/internal/parallel"
)

// A Table finds slots by a hash of what is in them. It has four bytes for a slot and some room, and no copy of the hashes: whoever
// asks must know the hash of a slot. Several slots may have one hash. The zero value is empty.
//
// A slot stands in the first free cell from the one on that its hash says. A large table is divided into parts by the highest bits of the hashes, of
// which each has its own cells, so that many slots are added by several goroutines and the table is the same as if one had
// added them in order.
type Table struct {
	cells Column[uint32] // a slot and 1, or 0; as many as a power of two
	n     int
}

// A table of manyCells or more has manyParts parts. Each then has whole pieces of the column, so goroutines never change the same one.
const (
	partBits  = 6
	manyParts = 1 << partBits
	manyCells = manyParts * chunk
)

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
	for i, left := t.home(hash), t.partLen(); left > 0; i, left = t.behind(i), left-1 {
		switch x := *t.cells.At(i); {
		case x == 0:
			return 0, false
		case is(x - 1):
			return x - 1, true
		}
	}
	return 0, false
}

// Add adds a slot. hashOf returns the hash of any slot of the table; it may be called by several goroutines.
func (t *Table) Add(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	for !t.hasRoom(1) || !t.put(hash, slot+1) {
		t.grow(hashOf)
	}
	t.n++
}

// AddAll adds slots with hashes, in order. It uses all processors.
func (t *Table) AddAll(hashes []uint64, slots []uint32, hashOf func(slot uint32) uint64) {
	for !t.hasRoom(len(slots)) {
		t.grow(hashOf)
	}
	if t.cells.Len() < manyCells || len(slots) < manyParts {
		for i, slot := range slots {
			t.Add(hashes[i], slot, hashOf)
		}
		return
	}
	const jobs = 16
	var full [jobs][]int // those for which a part has no cell left
	parallel.Each(jobs, func(job int) {
		for i, hash := range hashes {
			if int(spread(hash)>>(64-partBits))%jobs == job && !t.put(hash, slots[i]+1) {
				full[job] = append(full[job], i)
			}
		}
	})
	t.n += len(slots)
	for _, some := range full {
		t.n -= len(some)
		for _, i := range some {
			t.Add(hashes[i], slots[i], hashOf)
		}
	}
}

// hasRoom reports whether n more slots leave so many free cells that a look-up sees some three cells.
func (t *Table) hasRoom(n int) bool { return 5*(t.n+n) <= 4*t.cells.Len() }

// grow doubles the cells, until each part has room for its slots. Slots keep their order within a part, so a table does not depend on the number of
// processors.
func (t *Table) grow(hashOf func(slot uint32) uint64) {
	old := *t
	perPart := old.partLen()
	for size := max(16, 2*old.cells.Len()); ; size *= 2 {
		var full atomic.Bool
		t.cells = Of(make([]uint32, size))
		parallel.Each(old.cells.Len()/max(perPart, 1), func(part int) {
			for i := range perPart {
				if x := *old.cells.At(uint32(part*perPart + i)); x > 0 && !t.put(hashOf(x-1), x) {
					full.Store(true)
				}
			}
		})
		if !full.Load() {
			return
		}
	}
}

// put writes a cell, and reports whether there is a free one. If many hashes are near each other, which are hardly so by chance, it gives up early, but not
// again and again: the table may become eight times as large for them.
func (t *Table) put(hash uint64, x uint32) bool {
	i, left := t.home(hash), t.partLen()
	if 8*t.n > t.cells.Len() {
		left = min(left, mostProbed)
	}
	for ; left > 0; i, left = t.behind(i), left-1 {
		if *t.cells.At(i) == 0 {
			*t.cells.Change(i) = x
			return true
		}
	}
	return false
}

// mostProbed is how many cells are looked at for a free one. With random hashes there are three at a load of 0.8.
const mostProbed = 1 << 10

// Remove removes a slot that is in the table. The cells behind it move up, as far as they may.
func (t *Table) Remove(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	i, most := t.home(hash), t.partLen()
	for left := most; *t.cells.At(i) != slot+1; i, left = t.behind(i), left-1 {
		if left == 0 {
			return // in a damaged file
		}
	}
	mask := uint32(most - 1)
	for j, left := t.behind(i), most; *t.cells.At(j) != 0 && left > 0; j, left = t.behind(j), left-1 {
		// The cell moves unless its home lies behind the hole.
		if home := t.home(hashOf(*t.cells.At(j) - 1)); (j-home)&mask >= (j-i)&mask {
			*t.cells.Change(i), i = *t.cells.At(j), j
		}
	}
	*t.cells.Change(i) = 0
	t.n--
}

// partLen returns how many cells a part has.
func (t *Table) partLen() int {
	if n := t.cells.Len(); n < manyCells {
		return n
	}
	return t.cells.Len() / manyParts
}

// spread makes hashes differ in all bits that differ in a few bits only.
func spread(hash uint64) uint64 { return hash * 0x9E3779B97F4A7C15 }

// home returns the cell at which the search for a hash begins.
func (t *Table) home(hash uint64) uint32 {
	h, n := spread(hash), t.partLen()
	at := uint32(h>>20) & uint32(n-1)
	if n == t.cells.Len() {
		return at
	}
	return uint32(h>>(64-partBits))*uint32(n) | at
}

// behind returns the next cell of a part.
func (t *Table) behind(i uint32) uint32 {
	mask := uint32(t.partLen() - 1)
	return i&^mask | (i+1)&mask
}
