package blockstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup"
)

// keysOf returns the keys of a fingerprint of 64 bits.
func keysOf(t *testing.T, s Scheme[neardup.Fingerprint64], fp neardup.Fingerprint64) []uint64 {
	value, err := s.Value(fp)
	if err != nil {
		t.Fatal(err)
	}
	return s.AppendKeys(nil, value)
}

// The keys of the example of Li 2015 §2.3, and the widths of the designs of Manku et al. (2007).
func TestHamming(t *testing.T) {
	s, err := Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	keys := keysOf(t, s, 0x800d8e90e45cc488)
	for table, want := range []uint64{0x800d, 0x8e90, 0xe45c, 0xc488} {
		if keys[table] != want || s.KeyBits(table) != 16 {
			t.Errorf("table %d: key %x of %d bits, want %x", table, keys[table], s.KeyBits(table), want)
		}
		if got, want := s.KeyName(table, keys[table]), fmt.Sprintf("%d:%04x", table+1, want); got != want {
			t.Errorf("KeyName %s, want %s", got, want)
		}
	}
	for _, test := range []struct{ bytes, distance, blocks, tables, least, most int }{
		{8, 3, 4, 4, 16, 16}, {8, 3, 5, 10, 25, 26}, {8, 3, 6, 20, 31, 33}, {8, 0, 1, 1, 64, 64}, {8, 0, 4, 1, 64, 64}, {8, 63, 64, 0, 0, 0}, {8, 1, 60, 60, 62, 63}, {8, 59, 60, 60, 1, 2},
		{16, 3, 4, 4, 32, 32}, {16, 3, 5, 10, 50, 52}, {16, 3, 6, 20, 63, 64}, {16, 0, 1, 1, 64, 64}, {16, 1, 60, 60, 64, 64}, {16, 10, 11, 11, 11, 12},
	} {
		k, err := hammingKeys(test.bytes, test.distance, test.blocks)
		if test.tables == 0 {
			if err == nil {
				t.Errorf("%d blocks at the distance %d: %d tables", test.blocks, test.distance, k.Tables())
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		least, most := 64, 0
		for table := range k.Tables() {
			least, most = min(least, k.KeyBits(table)), max(most, k.KeyBits(table))
		}
		if k.Tables() != test.tables || least != test.least || most != test.most || k.Distance() != test.distance || k.Size() != test.bytes {
			t.Errorf("%v: %d tables of %d to %d bits, want %v", k, k.Tables(), least, most, test)
		}
	}
	for _, wrong := range [][2]int{{-1, 0}, {64, 0}, {3, 3}, {3, -1}, {3, 65}, {3, 9}, {60, 0}} {
		if s, err := Hamming[neardup.Fingerprint64](wrong[0], wrong[1]); err == nil {
			t.Errorf("distance %d, %d blocks: %v", wrong[0], wrong[1], s)
		}
	}
}

// Two fingerprints within the distance agree in a key, whichever bits differ: all choices of blocks that differ.
// Where keys are whole, they agree in no other.
func TestHammingTheorem(t *testing.T) {
	for _, bytes := range []int{8, 16} {
		for distance := range 8 {
			for blocks := distance + 1; blocks <= distance+4; blocks++ {
				if k, err := hammingKeys(bytes, distance, blocks); err == nil { // else there are too many tables
					agree(t, k, blocks)
				}
			}
		}
	}
}

func agree(t *testing.T, k Keys, blocks int) {
	random := rand.New(rand.NewPCG(1, 2))
	width := 8 * k.Size()
	for different := range 1 << blocks { // the blocks that differ, as a set of bits
		if bits.OnesCount(uint(different)) != k.Distance() {
			continue
		}
		x := make([]byte, k.Size())
		for i := range x {
			x[i] = byte(random.Uint32())
		}
		y := slices.Clone(x)
		for block := range blocks {
			if different>>block&1 == 0 {
				continue
			}
			s := span(block, width, blocks)
			bit := width - 1 - s.shift - random.IntN(s.width) // from the most significant on
			y[bit/8] ^= 0x80 >> (bit % 8)
		}
		if bitsBetween(string(x), string(y)) != k.Distance() {
			t.Fatalf("%v: the blocks overlap", k)
		}
		inX, inY := k.AppendKeys(nil, string(x)), k.AppendKeys(nil, string(y))
		agree, whole := 0, true
		for table := range k.Tables() {
			whole = whole && k.KeyBits(table) < 64
			if inX[table] == inY[table] {
				agree++
			}
		}
		if agree < 1 || whole && agree > 1 {
			t.Fatalf("%v, different blocks %v: %d tables agree", k, different, agree)
		}
	}
	bits := 0
	for block := range blocks {
		s := span(block, width, blocks)
		if bits += s.width; s.shift != width-bits {
			t.Errorf("%v: block %d begins at bit %d", k, block, s.shift)
		}
	}
	if bits != width {
		t.Errorf("%v: the blocks have %d bits", k, bits)
	}
}

func TestMinHash(t *testing.T) {
	sign := func(hashes ...uint64) neardup.Signature { return neardup.MinHash{Values: 64}.Sign(hashes) }
	for _, bits := range []int{0, 8} {
		s, err := MinHash(0.5, SignatureOptions{Values: 64, Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		ix, err := neardup.NewSignatureIndex[string](0.5, neardup.SignatureIndexOptions{Values: 64, Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		stores := []Store[neardup.Signature]{New(s, &mapBackend{keys: s.Keys, records: map[string]Row{}}), FromIndex(ix)}
		random := rand.New(rand.NewPCG(3, 4))
		var entries []Entry[neardup.Signature]
		var queries []neardup.Signature
		for i := range 300 {
			hashes := make([]uint64, 50)
			for j := range hashes {
				hashes[j] = rand.NewPCG(uint64(i/10), uint64(j)).Uint64()
				if random.IntN(50) < i%10*2 {
					hashes[j] = random.Uint64()
				}
			}
			entries = append(entries, Entry[neardup.Signature]{ID: fmt.Sprint(i), Value: sign(hashes...)})
			queries = append(queries, sign(hashes[:45]...))
		}
		entries = append(entries, Entry[neardup.Signature]{ID: "empty", Value: sign()})
		queries = append(queries, sign())
		var answers [2][][]neardup.Match[string]
		for i, store := range stores {
			if err := store.Put(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
			if answers[i], err = store.Search(t.Context(), queries, 100); err != nil {
				t.Fatal(err)
			}
			got, err := store.Get(t.Context(), []string{"7", "empty"})
			if err != nil || len(got) != 2 || bits == 0 != slices.Equal(got["7"].Value, entries[7].Value) || bits != 0 && got["7"].Value != nil {
				t.Errorf("%d bits, store %d: Get %v, %v", bits, i, got, err)
			}
			if err := store.Put(t.Context(), []Entry[neardup.Signature]{{ID: "x", Value: make(neardup.Signature, 63)}}); err == nil {
				t.Errorf("store %d takes a signature of 63 values", i)
			}
		}
		found := 0
		for i := range queries {
			found += len(answers[0][i])
			if !slices.Equal(answers[0][i], answers[1][i]) {
				t.Fatalf("%d bits, query %d: %v, and %v in an index", bits, i, answers[0][i], answers[1][i])
			}
		}
		if found < 300 || len(answers[0][300]) != 0 {
			t.Errorf("%d are found, %v like the empty set", found, answers[0][300])
		}
	}
	for _, o := range []SignatureOptions{{Values: 1}, {Bits: 3}, {Banding: neardup.Banding{Bands: 300, Rows: 1}, Values: 512}} {
		if s, err := MinHash(0.5, o); err == nil {
			t.Errorf("%+v: %v", o, s)
		}
	}
	if s, err := MinHash(0, SignatureOptions{}); err == nil {
		t.Errorf("similarity 0: %v", s)
	}
}

// A mapBackend is a backend in a map, which looks at everything.
type mapBackend struct {
	Backend // panics
	keys    Keys
	records map[string]Row
}

func (b *mapBackend) Put(_ context.Context, records []Row) error {
	for _, r := range records {
		b.records[r.ID] = r
	}
	return nil
}

func (b *mapBackend) Get(_ context.Context, ids []string, yield func(Row)) error {
	for _, id := range ids {
		if r, ok := b.records[id]; ok {
			yield(r)
		}
	}
	return nil
}

func (b *mapBackend) Find(_ context.Context, values []string, _ bool, found func(i int, id, value string) bool) error {
	for i, value := range values {
		mine := b.keys.AppendKeys(nil, value)
		for id, r := range b.records {
			for table, key := range b.keys.AppendKeys(nil, r.Value) {
				if key == mine[table] && !found(i, id, r.Value) {
					break
				}
			}
		}
	}
	return nil
}

// TestResults compares with sorting all, for streams with repetitions.
func TestResults(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		limit := 1 + random.IntN(100)
		r, err := newResults(2, limit)
		if err != nil {
			t.Fatal(err)
		}
		nearest := map[string]int{}
		for range random.IntN(2000) {
			id, d := fmt.Sprint(random.IntN(300)), random.IntN(4)
			if old, ok := nearest[id]; !ok || d < old {
				nearest[id] = d
			}
			r.add(1, neardup.Match[string]{ID: id, Distance: d})
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
		if got := r.sorted(); len(got[0]) != 0 || !slices.Equal(got[1], want) {
			t.Fatalf("limit %d: %v, want %v", limit, got, want)
		}
	}
	if _, err := newResults(1, 0); err == nil {
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
	entries := make([]Entry[neardup.Fingerprint64], n)
	for i := range entries {
		entries[i] = Entry[neardup.Fingerprint64]{ID: fmt.Sprint(i), Value: 7}
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

// What a backend gets is valid: ids that differ, the last of equal ones, and times.
func TestArguments(t *testing.T) {
	type E = Entry[neardup.Fingerprint64]
	scheme, err := Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &mapBackend{records: map[string]Row{}}
	store := New(scheme, b)
	now = func() time.Time { return time.Unix(77, 1) }
	defer func() { now = time.Now }()
	if err := store.Put(t.Context(), []E{{ID: "a", Value: 1}, {ID: "b", Value: 2, Added: time.Unix(5, 6)}, {ID: "a", Value: 3}, {ID: "c", Added: time.Unix(-5, 0)}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]Row{"a": {"a", "\x00\x00\x00\x00\x00\x00\x00\x03", 77}, "b": {"b", "\x00\x00\x00\x00\x00\x00\x00\x02", 5}, "c": {"c", "\x00\x00\x00\x00\x00\x00\x00\x00", 1}}
	if !maps.Equal(b.records, want) {
		t.Errorf("%v, want %v", b.records, want)
	}
	ids, err := checkIDs([]string{"b", "a", "b"})
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("%v, %v", ids, err)
	}
	for _, id := range []string{"", "\x00", "\xff", strings.Repeat("文", 342)} {
		if err := store.Put(t.Context(), []E{{ID: "a", Value: 1}, {ID: id, Value: 1}}); err == nil || !strings.Contains(err.Error(), "entry 1") {
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

// TestFromIndexVectors: if one vector is not valid, none is stored.
func TestFromIndexVectors(t *testing.T) {
	ix, err := neardup.NewVectorIndex[string](0.5, neardup.VectorIndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store := FromIndex(ix)
	term := func(feature uint64, weight float64) neardup.Term {
		return neardup.Term{Feature: feature, Weight: float32(weight)}
	}
	good := Entry[neardup.Vector]{ID: "a", Value: neardup.Vector{term(1, 1)}}
	for _, bad := range []neardup.Vector{{term(2, 1), term(1, 1)}, {term(0, 1)}, {term(1, math.Inf(1))}} {
		err := store.Put(t.Context(), []Entry[neardup.Vector]{good, {ID: "b", Value: bad}})
		if err == nil || ix.Len() != 0 {
			t.Errorf("%v: %v, and %d are stored", bad, err, ix.Len())
		}
	}
	if err := store.Put(t.Context(), []Entry[neardup.Vector]{good}); err != nil || ix.Len() != 1 {
		t.Errorf("%v, %d are stored", err, ix.Len())
	}
}
