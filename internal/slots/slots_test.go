package slots

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestColumn changes a column at random, and compares it and its snapshots with slices.
func TestColumn(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	var c Column[int]
	var want []int
	type kept struct {
		column Column[int]
		want   []int
	}
	all := []*kept{}
	for step := range 60_000 {
		switch {
		case rnd.IntN(3) > 0 || len(want) == 0:
			c.Append(step)
			want = append(want, step)
		case rnd.IntN(500) == 0:
			all = append(all, &kept{c.Snapshot(), slices.Clone(want)})
		default:
			i := rnd.IntN(len(want))
			*c.Change(uint32(i)) = step
			want[i] = step
		}
	}
	for _, k := range append(all, &kept{c, want}) {
		if k.column.Len() != len(k.want) {
			t.Fatalf("%d values, not %d", k.column.Len(), len(k.want))
		}
		var got []int
		for i := 0; i < k.column.Len(); {
			part := k.column.Chunk(i)
			got, i = append(got, part...), i+len(part)
		}
		if !slices.Equal(got, k.want) {
			t.Fatalf("a column of %d values has others", len(got))
		}
		for range 100 {
			if i := rnd.IntN(len(got)); *k.column.At(uint32(i)) != k.want[i] {
				t.Fatalf("another value %d", i)
			}
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d snapshots", len(all))
	}
}

// TestTable adds and removes slots, of which many have one hash, or hashes that are near each other.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, hashes := range []uint64{1, 7, 1 << 40} {
		rnd := rand.New(rand.NewPCG(hashes, 1))
		var x Table
		hashOf := map[uint32]uint64{}
		of := func(slot uint32) uint64 { return hashOf[slot] }
		for range 20_000 {
			slot := rnd.Uint32N(300)
			hash, there := hashOf[slot]
			if _, ok := x.Find(hash, func(s uint32) bool { return s == slot }); ok != there {
				t.Fatalf("slot %d: found %t", slot, ok)
			}
			if there {
				x.Remove(hash, slot, of)
				delete(hashOf, slot)
			} else {
				hashOf[slot] = rnd.Uint64N(hashes)
				x.Add(hashOf[slot], slot, of)
			}
			if x.Len() != len(hashOf) {
				t.Fatalf("%d slots, not %d", x.Len(), len(hashOf))
			}
		}
	}
}
