package blockstore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/hamming"
)

// The keys of the example of Li 2015 §2.3, and the widths of the designs of Manku et al. (2007).
func TestBlocks(t *testing.T) {
	b, err := NewBlocks(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range []uint64{0x800d, 0x8e90, 0xe45c, 0xc488} {
		if got := b.Key(table, 0x800d8e90e45cc488); got != want || b.KeyBits(table) != 16 {
			t.Errorf("table %d: key %x of %d bits, want %x", table, got, b.KeyBits(table), want)
		}
		if got, want := b.KeyName(table, 0x800d8e90e45cc488), fmt.Sprintf("%d:%04x", table+1, want); got != want {
			t.Errorf("KeyName %s, want %s", got, want)
		}
	}
	for _, test := range []struct{ distance, blocks, tables, least, most int }{
		{3, 4, 4, 16, 16}, {3, 5, 10, 25, 26}, {3, 6, 20, 31, 33}, {0, 1, 1, 64, 64}, {0, 4, 1, 64, 64}, {63, 64, 0, 0, 0}, {1, 60, 60, 62, 63}, {59, 60, 60, 1, 2},
	} {
		b, err := NewBlocks(test.distance, test.blocks)
		if test.tables == 0 {
			if err == nil {
				t.Errorf("%d blocks at the distance %d: %d tables", test.blocks, test.distance, b.Tables())
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		least, most := 64, 0
		for table := range b.Tables() {
			least, most = min(least, b.KeyBits(table)), max(most, b.KeyBits(table))
		}
		if b.Tables() != test.tables || least != test.least || most != test.most || b.Distance() != test.distance || b.Blocks() != test.blocks {
			t.Errorf("%v: %d tables of %d to %d bits, want %v", b, b.Tables(), least, most, test)
		}
	}
	for _, wrong := range [][2]int{{-1, 0}, {64, 0}, {3, 3}, {3, -1}, {3, 65}, {3, 9}, {60, 0}} {
		if b, err := NewBlocks(wrong[0], wrong[1]); err == nil {
			t.Errorf("distance %d, %d blocks: %v", wrong[0], wrong[1], b)
		}
	}
}

// Two fingerprints within the distance agree in a key, whichever bits differ: all choices of blocks that differ.
func TestBlocksTheorem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for distance := range 8 {
		for blocks := distance + 1; blocks <= distance+4; blocks++ {
			b, err := NewBlocks(distance, blocks)
			if err != nil {
				continue // too many tables
			}
			for different := range hamming.Combinations(blocks, distance) {
				x := neardup.Fingerprint64(random.Uint64())
				y := x
				for _, block := range different {
					s := b.span(block)
					y ^= 1 << (s.shift + random.IntN(s.width))
				}
				if x.Distance(y) != distance {
					t.Fatalf("%v: the blocks overlap", b)
				}
				agree := 0
				for table := range b.Tables() {
					if b.Key(table, x) == b.Key(table, y) {
						agree++
					}
				}
				if agree != 1 {
					t.Fatalf("%v, different blocks %v: %d tables agree", b, different, agree)
				}
			}
			all := uint64(0)
			for block := range blocks {
				s := b.span(block)
				all ^= (1<<s.width - 1) << s.shift
			}
			if all != 1<<64-1 {
				t.Errorf("%v: bits %x are in no block", b, ^all)
			}
		}
	}
}

// TestResults compares with sorting all, for streams with repetitions.
func TestResults(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		limit := 1 + random.IntN(100)
		r, err := NewResults(2, limit)
		if err != nil {
			t.Fatal(err)
		}
		nearest := map[string]int{}
		for range random.IntN(2000) {
			id, d := fmt.Sprint(random.IntN(300)), random.IntN(4)
			if old, ok := nearest[id]; !ok || d < old {
				nearest[id] = d
			}
			r.Add(1, id, d)
			if n := cap(r.matches[1]); n > 4*max(limit, 64) {
				t.Fatalf("room for %d with a limit of %d", n, limit)
			}
		}
		var want []neardup.Match[string]
		for id, d := range nearest {
			want = append(want, neardup.Match[string]{ID: id, Distance: d})
		}
		slices.SortFunc(want, func(a, b neardup.Match[string]) int {
			return cmp.Or(a.Distance-b.Distance, strings.Compare(a.ID, b.ID))
		})
		want = want[:min(len(want), limit)]
		if got := r.Matches(); len(got[0]) != 0 || !slices.Equal(got[1], want) {
			t.Fatalf("limit %d: %v, want %v", limit, got, want)
		}
	}
	if _, err := NewResults(1, 0); err == nil {
		t.Error("a limit of 0 is none")
	}
}

// TestSearchBounded searches for many equal fingerprints at once, as when a crawler meets one error
// page again and again: what is kept must not grow with the square.
func TestSearchBounded(t *testing.T) {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const n, limit = 3000, 10
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{fmt.Sprint(i), 7}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := SearchAndPut(t.Context(), FromIndex(ix), entries, limit)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range found {
		if len(m) != limit || slices.ContainsFunc(m, func(m neardup.Match[string]) bool { return m.ID == entries[i].ID || m.Distance != 0 }) {
			t.Fatalf("%d: %v", i, m)
		}
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d equal fingerprints allocate %d MB", n, grown>>20)
	}
	if _, err := SearchAndPut(t.Context(), FromIndex(ix), entries[:1], 0); err == nil {
		t.Error("a limit of 0 is none")
	}
}

func TestCheckEntries(t *testing.T) {
	entries := []Entry{{"a", 1}, {"b", 2}, {"a", 3}}
	got, err := CheckEntries(entries)
	if want := []Entry{{"b", 2}, {"a", 3}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if entries[0] != (Entry{"a", 1}) {
		t.Error("the entries have changed")
	}
	ids, err := CheckIDs([]string{"b", "a", "b"})
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("%v, %v", ids, err)
	}
	for _, id := range []string{"", "\x00", "\xff", strings.Repeat("文", 342)} {
		if _, err := CheckEntries([]Entry{{"a", 1}, {id, 1}}); err == nil || !strings.Contains(err.Error(), "entry 1") {
			t.Errorf("id %.20q: %v", id, err)
		}
	}
}

func TestPutAll(t *testing.T) {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store := FromIndex(ix)
	n := 0
	all := func(yield func(string, neardup.Fingerprint64) bool) {
		for i := range 1<<20 + 1 {
			n++
			if !yield(fmt.Sprint(i%1000), neardup.Fingerprint64(i)) {
				return
			}
		}
	}
	if err := PutAll(t.Context(), store, all); err != nil || ix.Len() != 1000 || n != 1<<20+1 {
		t.Errorf("%d of %d, %v", ix.Len(), n, err)
	}
	if err := PutAll(t.Context(), store, func(func(string, neardup.Fingerprint64) bool) {}); err != nil {
		t.Error(err)
	}
	if err := PutAll(t.Context(), store, func(yield func(string, neardup.Fingerprint64) bool) { yield("", 1) }); err == nil {
		t.Error("an empty id is stored")
	}
}
