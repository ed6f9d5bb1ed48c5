package neardup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// agreeInBand is the definition of a candidate.
func agreeInBand(a, b Signature, banding Banding) bool {
	if a.isEmpty() || b.isEmpty() {
		return false
	}
	for band := range banding.Bands {
		same := true
		for i := band * banding.Rows; i < (band+1)*banding.Rows; i++ {
			same = same && a[i]&^borrowed == b[i]&^borrowed
		}
		if same {
			return true
		}
	}
	return false
}

// estimated is the definition of an estimate with so many bits.
func estimated(a, b Signature, bits int) float64 {
	if bits == 32 {
		return a.Jaccard(b)
	}
	return a.Pack(bits).Jaccard(b.Pack(bits))
}

// similarSets returns signatures of sets of which many are similar, equal or empty.
func similarSets(n, k int, rnd *rand.Rand) []Signature {
	var sets [][]uint64
	for range n {
		var set []uint64
		switch rnd.IntN(10) {
		case 0: // empty
		case 1: // like another, but for one
			if len(sets) > 0 {
				set = append(set, sets[rnd.IntN(len(sets))]...)
			}
			fallthrough
		default:
			for range rnd.IntN(40) {
				set = append(set, splitMix(rnd.Uint64N(60)))
			}
		case 2, 3, 4, 5:
			if len(sets) > 0 {
				set = append(set, sets[rnd.IntN(len(sets))]...)
			}
			for range rnd.IntN(4) {
				set = append(set, rnd.Uint64())
			}
		}
		sets = append(sets, set)
	}
	out := make([]Signature, n)
	for i, set := range sets {
		out[i] = MinHash{Values: k}.Sign(set)
	}
	return out
}

// A signatureModel is what an index should have.
type signatureModel struct {
	ids  []int // in the order of adding
	sigs map[int]Signature
}

func (m *signatureModel) add(id int, s Signature) {
	m.delete(id)
	m.ids = append(m.ids, id)
	m.sigs[id] = s
}

func (m *signatureModel) delete(id int) bool {
	_, there := m.sigs[id]
	delete(m.sigs, id)
	m.ids = slices.DeleteFunc(m.ids, func(other int) bool { return other == id })
	return there
}

// check compares the whole index with the model.
func (m *signatureModel) check(t *testing.T, ix *SignatureIndex[int], queries []Signature) {
	t.Helper()
	if ix.Len() != len(m.ids) {
		t.Fatalf("%d signatures, want %d", ix.Len(), len(m.ids))
	}
	at := 0
	for id, s := range ix.All() {
		if id != m.ids[at] || ix.layout.bits == 32 && !slices.Equal(s, m.sigs[id]) || ix.layout.bits < 32 && s != nil {
			t.Fatalf("number %d is %d, want %d", at, id, m.ids[at])
		}
		at++
	}
	if at != len(m.ids) {
		t.Fatalf("All has %d, want %d", at, len(m.ids))
	}
	for _, q := range queries {
		candidates, similar := map[int]bool{}, map[int]float64{}
		for id, s := range m.sigs {
			if agreeInBand(q, s, ix.Banding()) {
				candidates[id] = true
				if j := estimated(s, q, ix.layout.bits); j >= ix.similarity {
					similar[id] = j
				}
			}
		}
		got := map[int]bool{}
		for c := range ix.Candidates(q) {
			if got[c.ID] || c.Similarity != estimated(m.sigs[c.ID], q, ix.layout.bits) {
				t.Fatalf("%d is a candidate twice, or not at %f", c.ID, c.Similarity)
			}
			got[c.ID] = true
		}
		if !maps.Equal(got, candidates) {
			t.Fatalf("candidates %v, want %v (%v)", got, candidates, ix.Banding())
		}
		matches := map[int]float64{}
		for m := range ix.Search(q) {
			if _, there := matches[m.ID]; there {
				t.Fatalf("%d is found twice", m.ID)
			}
			matches[m.ID] = m.Similarity
		}
		if !maps.Equal(matches, similar) {
			t.Fatalf("found %v, want %v", matches, similar)
		}
		if ix.Exists(q) != (len(similar) > 0) {
			t.Fatalf("Exists is %t", ix.Exists(q))
		}
	}
	var want []SimilarPair[int]
	for i, a := range m.ids {
		for _, b := range m.ids[i+1:] {
			if agreeInBand(m.sigs[a], m.sigs[b], ix.Banding()) {
				want = append(want, SimilarPair[int]{a, b, estimated(m.sigs[a], m.sigs[b], ix.layout.bits)})
			}
		}
	}
	order := map[int]int{}
	for i, id := range m.ids {
		order[id] = i
	}
	byOrder := func(p, q SimilarPair[int]) int {
		return (order[p.A]-order[q.A])*len(m.ids) + order[p.B] - order[q.B]
	}
	got := slices.SortedFunc(ix.CandidatePairs(), byOrder)
	if !slices.Equal(got, want) {
		t.Fatalf("%d candidate pairs, want %d", len(got), len(want))
	}
	want = slices.DeleteFunc(want, func(p SimilarPair[int]) bool { return p.Similarity < ix.similarity })
	got = slices.SortedFunc(ix.Pairs(), byOrder)
	if !slices.Equal(got, want) {
		t.Fatalf("%d pairs, want %d", len(got), len(want))
	}
	label := Components(len(m.ids), func(yield func(Pair) bool) {
		for _, p := range want {
			yield(Pair{I: order[p.A], J: order[p.B]})
		}
	})
	if got, want := ix.Groups(), idGroups(label, m.ids); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("groups %v, want %v", got, want)
	}
}

// randomSignatureOptions returns settings of all kinds.
func randomSignatureOptions(rnd *rand.Rand) *SignatureIndexOptions {
	k := []int{16, 17, 64, 128, 131}[rnd.IntN(5)]
	o := &SignatureIndexOptions{Values: k, Version: "v=1", Bits: []int{0, 32, 16, 8, 4, 2, 1}[rnd.IntN(7)]}
	if rnd.IntN(4) > 0 {
		rows := 1 + rnd.IntN(min(k, 6))
		o.Banding = Banding{1 + rnd.IntN(k/rows), rows}
	}
	return o
}

// TestSignatureIndexModel compares an index, in memory and in files, with a model, over
// random settings and changes.
func TestSignatureIndexModel(t *testing.T) {
	seeds := shorter(120, 16)
	if raceDetector {
		seeds = 24
	}
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 17))
		o := randomSignatureOptions(rnd)
		similarity := 0.2 + 0.8*rnd.Float64()
		path := filepath.Join(t.TempDir(), "x")
		open := func() *SignatureIndex[int] {
			ix, err := NewSignatureIndex[int](similarity, o)
			if seed%2 == 1 {
				ix, err = OpenSignatureIndex[int](path, similarity, o)
			}
			if err != nil {
				t.Fatal(err)
			}
			size := 1 + rnd.IntN(40) // so that parts are built often
			ix.form.tailSize = func(int) int { return size }
			return ix
		}
		ix := open()
		sigs := similarSets(80, ix.layout.values, rnd)
		m := &signatureModel{sigs: map[int]Signature{}}
		for step := range 300 {
			id, s := rnd.IntN(100), sigs[rnd.IntN(len(sigs))]
			switch r := rnd.IntN(100); {
			case r < 60:
				ix.Add(id, s)
				m.add(id, s)
			case r < 80:
				if got, want := ix.Delete(id), m.delete(id); got != want {
					t.Fatalf("seed %d: Delete(%d) is %t", seed, id, got)
				}
			case r < 84:
				want := map[int]float64{}
				for other, o := range m.sigs {
					if j := estimated(o, s, ix.layout.bits); other != id && agreeInBand(o, s, ix.Banding()) && j >= similarity {
						want[other] = j
					}
				}
				if r == 80 {
					if got := ix.ExistsAndAdd(id, s); got != (len(want) > 0) {
						t.Fatalf("seed %d: ExistsAndAdd is %t", seed, got)
					}
				} else {
					got, last := map[int]float64{}, math.Inf(1)
					for _, m := range ix.SearchAndAdd(id, s) {
						if got[m.ID] = m.Similarity; m.Similarity > last {
							t.Fatalf("seed %d: %f after %f", seed, m.Similarity, last)
						}
						last = m.Similarity
					}
					if !maps.Equal(got, want) {
						t.Fatalf("seed %d: SearchAndAdd found %v, want %v", seed, got, want)
					}
				}
				m.add(id, s)
			case r < 86:
				ix.AddAll(func(yield func(int, Signature) bool) {
					for i := range 30 {
						id, s := rnd.IntN(100), sigs[rnd.IntN(len(sigs))]
						m.add(id, s)
						if !yield(id, s) || i > 20 {
							return
						}
					}
				})
			case r < 88:
				if err := ix.Compact(); err != nil {
					t.Fatal(err)
				}
			case r < 90:
				n := ix.DeleteFunc(func(id int, _ time.Time) bool { return id%7 == 3 })
				for _, id := range slices.Clone(m.ids) {
					if id%7 == 3 {
						m.delete(id)
						n--
					}
				}
				if n != 0 {
					t.Fatalf("seed %d: DeleteFunc is wrong by %d", seed, n)
				}
			case r < 93 && seed%2 == 1:
				if err := ix.Close(); err != nil {
					t.Fatal(err)
				}
				ix = open()
			case r < 95:
				m.check(t, ix, sigs[:5])
			}
			if err := ix.Err(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		m.check(t, ix, sigs)
		if err := ix.Compact(); err != nil {
			t.Fatal(err)
		}
		m.check(t, ix, sigs)
		if err := ix.Verify(); err != nil {
			t.Fatal(err)
		}
		ix.Close()
	}
}

// TestSignatureIndexLarge has buckets of all sizes, and more bands than are looked at at
// once.
func TestSignatureIndexLarge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	n := shorter(20_000, 3000)
	if raceDetector {
		n = 4000
	}
	for _, o := range []SignatureIndexOptions{{}, {Bits: 1}, {Values: 256, Banding: Banding{100, 2}}, {Values: 100, Banding: Banding{33, 3}}} {
		ix, err := NewSignatureIndex[int](0.5, &o)
		if err != nil {
			t.Fatal(err)
		}
		k := ix.layout.values
		sigs := signatures(n, k, 5)
		for i := range sigs[:n/20] { // copies of one
			sigs[i*7] = sigs[0]
		}
		for i := range n / 20 { // one band in common
			copy(sigs[i*7+1][:ix.Banding().Rows], sigs[1])
		}
		for i, s := range sigs {
			ix.Add(i, s)
		}
		for range 2 {
			for range shorter(60, 10) {
				q := sigs[rnd.IntN(n)]
				if rnd.IntN(2) == 0 {
					q = planted(q, rnd)
				}
				got := map[int]bool{}
				for c := range ix.Candidates(q) {
					if got[c.ID] {
						t.Fatalf("%d twice", c.ID)
					}
					got[c.ID] = true
				}
				for i, s := range sigs {
					if agreeInBand(q, s, ix.Banding()) != got[i] {
						t.Fatalf("%v: candidate %d: %t", ix.Banding(), i, got[i])
					}
				}
			}
			want, pairs := 0, 0
			if testing.Short() || raceDetector {
				break
			}
			for i, a := range sigs {
				for _, b := range sigs[:i] {
					if a[0] == b[0] && agreeInBand(a, b, Banding{1, ix.Banding().Rows}) {
						want++
					}
				}
			}
			for p := range ix.CandidatePairs() {
				if p.A >= p.B {
					t.Fatalf("%d was added before %d", p.B, p.A)
				}
				if agreeInBand(sigs[p.A], sigs[p.B], Banding{1, ix.Banding().Rows}) {
					pairs++
				}
			}
			if pairs != want {
				t.Fatalf("%d pairs agree in the first band, want %d", pairs, want)
			}
			if err := ix.Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSignatureIndexReaders has readers beside a writer that moves an id from one
// signature to another: a reader sees it exactly once.
func TestSignatureIndexReaders(t *testing.T) {
	ix, err := NewSignatureIndex[int](0.5, &SignatureIndexOptions{Values: 64, Banding: Banding{16, 4}})
	if err != nil {
		t.Fatal(err)
	}
	ix.form.tailSize = func(int) int { return 64 }
	sigs := signatures(50, 64, 1)
	a, b := sigs[0], append(slices.Clone(sigs[0][:32]), sigs[1][32:]...) // both are near to a
	ix.Add(-1, a)
	var reads atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				seen := 0
				for c := range ix.Candidates(a) {
					if c.ID == -1 {
						seen++
					}
				}
				if seen != 1 {
					t.Errorf("seen %d times", seen)
					return
				}
				if reads.Add(1)%16 > 0 {
					continue
				}
				for p := range ix.CandidatePairs() {
					if p.A == p.B {
						t.Errorf("%d is a pair", p.A)
						return
					}
				}
			}
		})
	}
	for i := 0; i < 3000 || reads.Load() < int64(shorter(3000, 300)) && !t.Failed(); i++ {
		ix.Add(i%40, sigs[2+i%40])
		ix.Add(-1, [2]Signature{a, b}[i%2])
		ix.Delete(i * 7 % 40)
	}
	stop.Store(true)
	wg.Wait()
}

// TestSignatureIndexIsolation has readers beside a writer that adds an id and deletes the
// one of twenty before, all of equal signatures: what a reader sees has no gap.
func TestSignatureIndexIsolation(t *testing.T) {
	const window = 20
	for _, bits := range []int{32, 8} {
		o := &SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"}
		ix, err := OpenSignatureIndex[int](filepath.Join(t.TempDir(), "x"), 0.5, o)
		if err != nil {
			t.Fatal(err)
		}
		ix.form.tailSize = func(int) int { return 13 }
		s := signatures(1, 16, 1)[0]
		for i := range window {
			ix.Add(i, s)
		}
		var stop atomic.Bool
		var reads [3]atomic.Int64
		var wg sync.WaitGroup
		for reader := range reads {
			wg.Go(func() {
				for ; !stop.Load(); reads[reader].Add(1) {
					var ids []int
					switch reader {
					case 0:
						for c := range ix.Candidates(s) {
							ids = append(ids, c.ID)
						}
					case 1:
						for id := range ix.All() {
							ids = append(ids, id)
						}
					case 2:
						pairs, seen := 0, map[int]bool{}
						for p := range ix.Pairs() {
							pairs++
							seen[p.A], seen[p.B] = true, true
						}
						ids = slices.Collect(maps.Keys(seen))
						if pairs != len(ids)*(len(ids)-1)/2 {
							t.Errorf("%d pairs of %d", pairs, len(ids))
							stop.Store(true)
						}
					}
					slices.Sort(ids)
					if len(ids) != window && len(ids) != window+1 || ids[len(ids)-1]-ids[0] != len(ids)-1 {
						t.Errorf("reader %d, %d bits: %v", reader, bits, ids)
						stop.Store(true)
					}
				}
			})
		}
		done := func() bool {
			least := reads[0].Load()
			for i := range reads {
				least = min(least, reads[i].Load())
			}
			return stop.Load() || least >= int64(shorter(500, 50))
		}
		for i := window; i < 2000 || !done(); i++ {
			ix.Add(i, s)
			if i%3 == 0 {
				ix.DeleteFunc(func(id int, _ time.Time) bool { return id == i-window })
			} else {
				ix.Delete(i - window)
			}
			if i%170 == 0 {
				if err := ix.Compact(); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		if err := errors.Join(ix.Err(), ix.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSignatureIndexDead has a tail of nothing but deletions that becomes no run, a
// similarity that estimates reach exactly, and a signature that is replaced all the time.
func TestSignatureIndexDead(t *testing.T) {
	ix, err := NewSignatureIndex[int](1, &SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	ix.form.tailSize = func(int) int { return 4 }
	s := signatures(1, 16, 1)[0]
	ix.AddAll(func(yield func(int, Signature) bool) {
		for i := range 100 {
			if !yield(i, s) {
				return
			}
		}
	})
	for i := range 4 {
		ix.Delete(i)
	}
	ix.Delete(-1) // makes room
	pairs, found := 0, 0
	for range ix.Pairs() {
		pairs++
	}
	for range ix.Search(s) {
		found++
	}
	if st := ix.state.Load(); len(st.runs) != 1 || st.tail.changes.Load() != 0 || pairs != 96*95/2 || found != 96 {
		t.Errorf("%d runs, %d changes, %d pairs, %d found", len(st.runs), st.tail.changes.Load(), pairs, found)
	}

	ix, err = NewSignatureIndex[int](0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	sigs := signatures(5000, 128, 1)
	for i, s := range sigs {
		ix.Add(i, s)
	}
	for range 20_000 {
		ix.Add(-1, sigs[0])
		if n := int(ix.state.Load().tail.changes.Load()); n-len(ix.inTail) > len(ix.inTail)+leastTail {
			t.Fatalf("a tail of %d changes, %d of them alive", n, len(ix.inTail))
		}
	}
	found = 0
	for range ix.Search(sigs[0]) {
		found++
	}
	if st := ix.state.Load(); found < 2 || len(st.runs) > 6 {
		t.Errorf("%d found, %d runs", found, len(st.runs))
	}

	// What died does not stay.
	ix.Compact()
	for i := range 4900 {
		if ix.Delete(i); i%100 > 0 {
			continue
		}
		kept := 0
		for _, r := range ix.state.Load().runs {
			kept += r.len()
		}
		if kept > 2*ix.Len()+2*leastTail {
			t.Fatalf("%d signatures are kept, %d of them alive", kept, ix.Len())
		}
	}
}

// TestSignatureIndexChanged changes the query while what it finds is read.
func TestSignatureIndexChanged(t *testing.T) {
	for _, bits := range []int{32, 8} {
		ix, err := NewSignatureIndex[int](0.5, &SignatureIndexOptions{Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		s := signatures(1, 128, 1)[0]
		for i := range 10 {
			ix.Add(i, s)
		}
		ix.Compact()
		found := 0
		for range ix.Search(s) {
			found++
			clear(s)
		}
		if found != 10 {
			t.Errorf("%d bits: %d found", bits, found)
		}
	}
}

// TestSignatureIndexBlocks has damage in each block of a file: a search that comes upon it
// says so.
func TestSignatureIndexBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("where files are read, and not mapped, they are checked at once")
	}
	o := &SignatureIndexOptions{Version: "v=1"}
	path := filepath.Join(t.TempDir(), "x")
	ix, err := OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	sigs := signatures(3000, 128, 1)
	err = ix.AddAll(func(yield func(int, Signature) bool) {
		for i, s := range sigs {
			if !yield(i, s) {
				return
			}
		}
	})
	if err := errors.Join(err, ix.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lazily := 0
	for at := 1 << 15; at < len(good); at += 1 << 16 {
		bad := bytes.Clone(good)
		for i := at; i < min(at+1<<14, len(bad)); i++ {
			bad[i] ^= 0x41
		}
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"search", "one band", "pairs"} {
			ix, err := OpenSignatureIndex[int](path, 0.5, o)
			if err != nil {
				continue
			}
			lazily++
			switch way {
			case "pairs":
				for range ix.Pairs() {
				}
				if !errors.Is(ix.Err(), ErrDamaged) {
					t.Errorf("byte %d: Pairs: %v", at, ix.Err())
				}
			default:
				for i, s := range sigs {
					if way == "one band" { // at the end of the tables
						s = append(slices.Clone(sigs[(i+1)%len(sigs)][:124]), s[124:]...)
					}
					ok := false
					for c := range ix.Candidates(s) {
						ok = ok || c.ID == i && c.Similarity == estimated(s, sigs[i], 32)
					}
					if !ok && ix.Err() == nil {
						t.Fatalf("byte %d, %s: %d is lost", at, way, i)
					}
				}
			}
			if err := ix.Err(); err != nil && !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			ix.Close()
		}
	}
	if lazily == 0 {
		t.Error("nothing is checked lazily")
	}
}

func TestSignatureIndexErrors(t *testing.T) {
	for _, test := range []struct {
		similarity float64
		o          SignatureIndexOptions
	}{
		{0, SignatureIndexOptions{}}, {1.01, SignatureIndexOptions{}}, {math.NaN(), SignatureIndexOptions{}}, {-1, SignatureIndexOptions{}},
		{0.5, SignatureIndexOptions{Values: 15}}, {0.5, SignatureIndexOptions{Values: 5000}}, {0.5, SignatureIndexOptions{Bits: 3}}, {0.5, SignatureIndexOptions{Bits: 64}},
		{0.5, SignatureIndexOptions{Banding: Banding{32, 5}}}, {0.5, SignatureIndexOptions{Banding: Banding{-1, -4}}}, {0.5, SignatureIndexOptions{Banding: Banding{0, 4}}},
		{0.5, SignatureIndexOptions{Banding: Banding{math.MaxInt, 2}}},
	} {
		if _, err := NewSignatureIndex[int](test.similarity, &test.o); err == nil {
			t.Errorf("%g %+v: no error", test.similarity, test.o)
		}
	}
	ix, err := NewSignatureIndex[int](0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(){func() { ix.Add(1, Signature{}) }, func() { ix.Search(Signature{1})(nil) }, func() { ix.SearchAndAdd(1, make(Signature, 64)) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
	ix.Add(1, make(Signature, 128)) // nothing is locked

	path := filepath.Join(t.TempDir(), "x")
	if _, err := OpenSignatureIndex[int](path, 0.5, nil); err == nil {
		t.Error("no error without a version")
	}
	o := SignatureIndexOptions{Version: "v=1"}
	stored, err := OpenSignatureIndex[int](path, 0.5, &o)
	if err != nil {
		t.Fatal(err)
	}
	stored.Add(1, make(Signature, 128))
	if err := errors.Join(stored.Compact(), stored.Close()); err != nil {
		t.Fatal(err)
	}
	for _, o := range []SignatureIndexOptions{{Version: "v=2"}, {Version: "v=1", Bits: 8}, {Version: "v=1", Values: 64}, {Version: "v=1", Banding: Banding{16, 8}}} {
		if _, err := OpenSignatureIndex[int](path, 0.5, &o); !errors.Is(err, ErrVersion) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := OpenIndex[int, Fingerprint64](path, 3, &IndexOptions{Version: "v=1"}); err == nil {
		t.Error("an index of signatures is one of fingerprints")
	}
}

// forgedSignatures returns the columns of a small index.
func forgedSignatures(bits int) (*SignatureIndex[int], *run[int, *bandTables]) {
	ix, err := NewSignatureIndex[int](0.5, &SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
	if err != nil {
		panic(err)
	}
	ix.AddAll(func(yield func(int, Signature) bool) {
		for i, s := range similarSets(60, 16, rand.New(rand.NewPCG(1, 1))) {
			if !yield(i, s) {
				return
			}
		}
	})
	return ix, ix.state.Load().runs[0]
}

// useSignatures uses an index in all ways.
func useSignatures(ix *SignatureIndex[int]) {
	for _, s := range similarSets(10, ix.layout.values, rand.New(rand.NewPCG(1, 1))) {
		for range ix.Search(s) {
		}
		ix.Add(3, s)
	}
	for range ix.Pairs() {
	}
	for range ix.All() {
	}
	ix.Delete(1)
	ix.Compact()
}

// FuzzSignatureSnapshot changes the columns of a snapshot of signatures, whose checksums are
// right, and uses what comes of it in every way.
func FuzzSignatureSnapshot(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 255, 6, 0, 9, 255, 7, 0, 3, 127, 7, 0, 40, 255, 6, 0, 64, 1})
	all := []byte{} // every ordinal of the entries, to more than there are
	for at := range 64 {
		all = append(all, 7, 0, byte(4*at), 63)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		bits := 32
		if len(data)%2 == 1 {
			bits = 4
		}
		ix, r := forgedSignatures(bits)
		columns, err := runColumns(r, &ix.ids)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(data) >= 4; data = data[4:] {
			parts := columns[int(data[0])%columnCount]
			at := int(data[1])<<8 | int(data[2])
			for i, p := range parts {
				if p = bytes.Clone(p); len(p) > 0 {
					p[at%len(p)] ^= data[3]
				}
				parts[i] = p
			}
		}
		path := filepath.Join(t.TempDir(), "x")
		version := fmt.Sprintf("v=1 values=16 bits=%d bands=4x4", bits)
		if _, err := writeColumns(path, "signatures", version, 0, r.len(), r.find, ix.ids.kind, columns); err != nil {
			t.Fatal(err)
		}
		j, err := createJournal(path+".journal", version, "signatures-journal", 0)
		if err != nil {
			t.Fatal(err)
		}
		j.file.Close()
		forged, err := OpenSignatureIndex[int](path, 0.5, &SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		useSignatures(forged)
		forged.Close()
	})
}

// TestSignatureIndexDamaged flips bytes of the file of an index: it is noticed, or what is
// found is what was stored.
func TestSignatureIndexDamaged(t *testing.T) {
	o := &SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Version: "v=1"}
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	ix, err := OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	sigs := similarSets(60, 16, rand.New(rand.NewPCG(1, 1)))
	for i, s := range sigs {
		ix.Add(i, s)
	}
	if err := errors.Join(ix.Compact(), ix.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := func(ix *SignatureIndex[int]) (n int) {
		for range ix.Pairs() {
			n++
		}
		for _, s := range sigs {
			for range ix.Search(s) {
				n++
			}
		}
		return n
	}
	ix, err = OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	want := found(ix)
	ix.Close()
	for at := 0; at < len(good); at += 1 + at%shorter(13, 101) {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		ix, err := OpenSignatureIndex[int](path, 0.5, o)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", at, err)
			}
			continue
		}
		if n := found(ix); n != want && !errors.Is(ix.Err(), ErrDamaged) {
			t.Fatalf("byte %d: found %d, want %d: %v", at, n, want, ix.Err())
		}
		if err := ix.Verify(); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: Verify: %v", at, err)
		}
		ix.Close()
	}
}

func TestBanding(t *testing.T) {
	if got, want := (Banding{32, 4}).String(), "32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, 0.5 0.873, 0.6 0.988, 0.7 1.000, 0.8 1.000, 0.9 1.000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, b := range []Banding{{1, 1}, {32, 4}, {5, 25}, {64, 2}} {
		for _, s := range []float64{0, 0.1, 0.5, 0.9, 1} {
			if got, want := b.Probability(s), 1-math.Pow(1-math.Pow(s, float64(b.Rows)), float64(b.Bands)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v at %g: %g, want %g", b, s, got, want)
			}
		}
	}
	for _, test := range []struct {
		values            int
		similarity, price float64
		want              Banding
	}{
		{128, 0.5, 1, Banding{25, 5}}, {128, 0.5, 0.1, Banding{32, 4}}, {128, 0.8, 0.1, Banding{14, 9}}, {1, 0.5, 1, Banding{1, 1}}, {128, 1, 1, Banding{1, 128}},
	} {
		if got := NewBanding(test.values, test.similarity, test.price); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	// No other loses less.
	for _, values := range []int{16, 50, shorter(128, 60)} {
		for _, similarity := range []float64{0.2, 0.3, 0.5, 0.77, 0.9} {
			for _, price := range []float64{0.03, 0.1, 1, 5} {
				loss := func(b Banding) float64 {
					const steps = 2000
					sum := 0.0
					for i := range steps {
						s := (float64(i) + 0.5) / steps
						if p := b.Probability(s); s < similarity {
							sum += price * p / steps
						} else {
							sum += (1 - p) / steps
						}
					}
					return sum
				}
				got := NewBanding(values, similarity, price)
				for rows := 1; rows <= values; rows++ {
					for bands := 1; bands <= values/rows; bands++ {
						if loss(Banding{bands, rows}) < loss(got)-1e-4 {
							t.Fatalf("%d values, %g, %g: %v loses %g, %v loses %g", values, similarity, price, got, loss(got), Banding{bands, rows}, loss(Banding{bands, rows}))
						}
					}
				}
			}
		}
	}
	// The S-curve is what happens.
	for _, o := range []SignatureIndexOptions{{}, {Values: 64, Bits: 8}} {
		for _, j := range []float64{0.3, 0.5, 0.7} {
			ix, err := NewSignatureIndex[int](0.5, &o)
			if err != nil {
				t.Fatal(err)
			}
			found, all := 0, 400
			for seed := range all {
				rnd := rand.New(rand.NewPCG(uint64(seed), 3))
				a, b := twoSets(1000, j, rnd)
				m := MinHash{Values: o.Values}
				ix.Add(0, m.Sign(a))
				for range ix.Candidates(m.Sign(b)) {
					found++
				}
			}
			p := ix.Banding().Probability(j)
			if got := float64(found) / float64(all); math.Abs(got-p) > 4*math.Sqrt(p*(1-p)/float64(all))+0.01 {
				t.Errorf("%v: %.3f of the pairs of %.1f are candidates", ix.Banding(), got, j)
			}
		}
	}
}

// signatures returns n signatures of k random values, as of sets of many features, of which
// every hundredth is one of those before with about a fifth of its values changed.
func signatures(n, k int, seed uint64) []Signature {
	rnd := rand.New(rand.NewPCG(seed, uint64(k)))
	out := make([]Signature, n)
	values := make([]uint32, n*k)
	for i := range out {
		s := Signature(values[i*k:][:k:k])
		for j := range s {
			s[j] = rnd.Uint32() >> 1
		}
		if i%100 == 99 {
			other := out[rnd.IntN(i)]
			for j := range s {
				if rnd.IntN(5) != 0 {
					s[j] = other[j]
				}
			}
		}
		out[i] = s
	}
	return out
}

// planted returns a signature with about a fifth of the values changed.
func planted(s Signature, rnd *rand.Rand) Signature {
	s = append(Signature(nil), s...)
	for j := range s {
		if rnd.IntN(5) == 0 {
			s[j] = rnd.Uint32() >> 1
		}
	}
	return s
}

// BenchmarkSignatureIndex measures searches (for what is stored with a fifth of the values
// changed, or for what is not), additions one by one, and all candidate pairs, from signatures in
// memory:
//
//	NEARDUP_LARGE=1 go test -run '^$' -bench SignatureIndex -cpu 1,2 .
func BenchmarkSignatureIndex(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		if n > 100_000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		sigs := signatures(n, 128, 1)
		add := func(yield func(uint64, Signature) bool) {
			for i, s := range sigs {
				if !yield(uint64(i), s) {
					return
				}
			}
		}
		for _, bits := range []int{32, 8, 1} {
			options := &SignatureIndexOptions{Bits: bits, Banding: Banding{32, 4}}
			newIndex := func() *SignatureIndex[uint64] {
				ix, err := NewSignatureIndex[uint64](0.5, options)
				if err != nil {
					b.Fatal(err)
				}
				return ix
			}
			ix := newIndex()
			if err := ix.AddAll(add); err != nil {
				b.Fatal(err)
			}
			// What few queries need is in the cache, what many need is not.
			for _, different := range []int{64, 8192} {
				for _, known := range []bool{false, true} {
					b.Run(fmt.Sprintf("n=%d/bits=%d/search/queries=%d/known=%t", n, bits, different, known), func(b *testing.B) {
						rnd := rand.New(rand.NewPCG(2, 2))
						queries := signatures(different, 128, 3)
						for i := range queries {
							if known {
								copy(queries[i], planted(sigs[rnd.IntN(n)], rnd))
							}
						}
						found := 0
						b.ReportAllocs()
						for i := 0; b.Loop(); i++ {
							for range ix.Search(queries[i%len(queries)]) {
								found++
							}
						}
						b.ReportMetric(float64(found)/float64(b.N), "found/op")
						b.ReportMetric(float64(ix.state.Load().runs[0].bytes())/float64(n), "B/signature")
					})
				}
			}
			b.Run(fmt.Sprintf("n=%d/bits=%d/add", n, bits), func(b *testing.B) {
				ix := newIndex()
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if i%n == 0 {
						ix = newIndex()
					}
					ix.Add(uint64(i), sigs[i%n])
				}
			})
			b.Run(fmt.Sprintf("n=%d/bits=%d/pairs", n, bits), func(b *testing.B) {
				found := 0
				for b.Loop() {
					ix := newIndex()
					if err := ix.AddAll(add); err != nil {
						b.Fatal(err)
					}
					for range ix.CandidatePairs() {
						found++
					}
				}
				b.ReportMetric(float64(found)/float64(b.N), "pairs/op")
			})
		}
	}
}
