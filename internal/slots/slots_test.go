package slots

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/parallel"
)

// TestColumn changes a column at random, and compares it and its snapshots with slices: in memory, and with most of it in a temporary file.
func TestColumn(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { testColumn(t, Column[int]{}) })
	t.Run("file", func(t *testing.T) {
		c := Limited[int](2 * chunkBytes[int]())
		s := c.spill
		testColumn(t, c)
		if canMap && (s.mapped == nil || len(s.mapped.all) == 0) {
			t.Error("nothing is in a file")
		}
	})
}

func testColumn(t *testing.T, c Column[int]) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var want []int
	type kept struct {
		column Column[int]
		want   []int
	}
	all := []*kept{}
	for step := range 60_000 {
		switch {
		case rnd.IntN(3) > 0 || len(want) == 0:
			if err := c.MakeRoom(1); err != nil {
				t.Fatal(err)
			}
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
	runtime.GC() // what is released must still be there
	for i := range c.Len() {
		if *c.At(uint32(i)) != want[i] {
			t.Fatalf("another value %d", i)
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d snapshots", len(all))
	}
}

// TestExtents fills several extents, gives columns back, and looks at what a temporary folder that is missing does.
func TestExtents(t *testing.T) {
	if !canMap {
		t.Skip("no file can be mapped here")
	}
	type value struct{ a, b, c uint64 }
	c := Limited[value](0)
	const n = 400_000 // 9.6 MB
	for i := range uint64(n) {
		if err := c.MakeRoom(1); err != nil {
			t.Fatal(err)
		}
		c.Append(value{i, ^i, i * i})
	}
	if got := len(c.spill.mapped.all); got != 3 {
		t.Errorf("%d extents", got)
	}
	snapshot := c.Snapshot()
	for i := range uint32(n) {
		*c.Change(i) = value{}
	}
	c = Column[value]{}
	runtime.GC()
	for i := range uint64(n) {
		if got := *snapshot.At(uint32(i)); got != (value{i, ^i, i * i}) {
			t.Fatalf("value %d is %v", i, got)
		}
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "missing"))
	full := Limited[value](0)
	if err := full.MakeRoom(1); !os.IsNotExist(errors.Unwrap(err)) || full.Len() != 0 {
		t.Errorf("without a folder for temporary files: %v", err)
	}
	full.Append(value{1, 2, 3}) // who does not listen takes memory
	if *full.At(0) != (value{1, 2, 3}) {
		t.Error("another value")
	}
	t.Setenv("TMPDIR", dir)
	for range chunk {
		if err := full.MakeRoom(1); err != nil {
			t.Fatal(err)
		}
		full.Append(value{4, 5, 6})
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 || full.spill.mapped == nil {
		t.Errorf("left in the folder: %v", left)
	}
}

// TestShelf makes columns of a shelf at the same time, changes copies of some values, and has a shelf without a folder for it.
func TestShelf(t *testing.T) {
	if !canMap {
		t.Skip("no file can be mapped here")
	}
	const most = 3*chunk + 5
	lengths := []int{0, 1, chunk - 1, chunk, chunk + 1, most}
	values := func(i int) (v []uint64) {
		for j := range lengths[i] {
			v = append(v, uint64(j*10+i))
		}
		return v
	}
	check := func(name string, all []Column[uint64], copied bool) {
		runtime.GC() // the shelf is only known by its columns
		for i := range all {
			var got []uint64
			for _, part := range all[i].Chunks() {
				got = append(got, part...)
			}
			if !slices.Equal(got, values(i)) || all[i].Len() != lengths[i] || all[i].IsSpilled() != (copied && lengths[i] > 0) {
				t.Errorf("%s: column %d has %d values, spilled %v", name, i, len(got), all[i].IsSpilled())
			}
		}
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	make := func() []Column[uint64] {
		all, shelf := make([]Column[uint64], len(lengths)), NewShelf[uint64](len(lengths), most)
		parallel.Each(len(lengths), func(i int) {
			v := values(i)
			if all[i] = Shelve(shelf, i, v); all[i].IsSpilled() {
				clear(v)
			}
		})
		return all
	}
	all := make()
	check("in a file", all, true)
	snapshot := all[5].Snapshot()
	*all[5].Change(chunk) = 7
	if got := *snapshot.At(chunk); got != chunk*10+5 || *all[5].At(chunk) != 7 {
		t.Errorf("a changed value is %d, and %d in the snapshot", *all[5].At(chunk), got)
	}
	*all[5].Change(chunk) = chunk*10 + 5
	check("changed back", all, true)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left in the folder: %v", left)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "missing"))
	check("without a folder", make(), false)
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

// TestLargeTable: a table in parts finds what was added, one by one or many at a time, also if all hashes are of one part.
func TestLargeTable(t *testing.T) {
	t.Parallel()
	const n = 400_000
	for name, hashOf := range map[string]func(slot uint32) uint64{
		"random":   func(slot uint32) uint64 { return uint64(slot) * 0xD6E8FEB86659FD93 },
		"few":      func(slot uint32) uint64 { return uint64(slot%(n/3)) * 0xD6E8FEB86659FD93 },
		"one part": func(slot uint32) uint64 { return uint64(slot) << 21 * 0xF1DE83E19937733D }, // the inverse of the factor of spread
	} {
		most := uint32(n)
		if name == "one part" {
			most = n / 40
		}
		var one, many Table
		var hashes []uint64
		var some []uint32
		for slot := range most {
			one.Add(hashOf(slot), slot, hashOf)
			hashes, some = append(hashes, hashOf(slot)), append(some, slot)
			if len(some) == 3000 || slot == most-1 {
				many.AddAll(hashes, some, hashOf)
				hashes, some = hashes[:0], some[:0]
			}
		}
		for slot := range most {
			for _, x := range []*Table{&one, &many} {
				if _, ok := x.Find(hashOf(slot), func(s uint32) bool { return s == slot }); !ok {
					t.Fatalf("%s: slot %d is not there", name, slot)
				}
			}
			if _, ok := many.Find(hashOf(slot)+1, func(s uint32) bool { return hashOf(s) == hashOf(slot)+1 }); ok {
				t.Fatalf("%s: a hash is there that was not added", name)
			}
		}
		for slot := uint32(0); slot < most; slot += 2 {
			many.Remove(hashOf(slot), slot, hashOf)
		}
		for slot := range most {
			if _, ok := many.Find(hashOf(slot), func(s uint32) bool { return s == slot }); ok != (slot%2 == 1) {
				t.Fatalf("%s: slot %d: found %t after half was removed", name, slot, ok)
			}
		}
		if one.Len() != int(most) || many.Len() != int(most)/2 {
			t.Errorf("%s: %d and %d slots", name, one.Len(), many.Len())
		}
	}
}
