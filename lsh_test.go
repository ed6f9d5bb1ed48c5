package neardup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
	"github.com/neardup/neardup/internal/race"
	"github.com/neardup/neardup/internal/store"
)

// agreeInBand is the definition of a candidate.
func agreeInBand(a, b Signature, banding Banding) bool {
	if minhash.IsEmpty(a) || minhash.IsEmpty(b) {
		return false
	}
	for band := range banding.Bands {
		same := true
		for i := band * banding.Rows; i < (band+1)*banding.Rows; i++ {
			same = same && a[i]&^minhash.Borrowed == b[i]&^minhash.Borrowed
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
				set = append(set, exact.SplitMix(rnd.Uint64N(60)))
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
	for id, s := range valuesOf(ix.All()) {
		if id != m.ids[at] || ix.layout.Bits == 32 && !slices.Equal(s, m.sigs[id]) || ix.layout.Bits < 32 && s != nil {
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
				if j := estimated(s, q, ix.layout.Bits); j >= ix.similarity {
					similar[id] = j
				}
			}
		}
		got := map[int]bool{}
		for c := range ix.Candidates(bg, q) {
			if got[c.ID] || c.Similarity != estimated(m.sigs[c.ID], q, ix.layout.Bits) {
				t.Fatalf("%d is a candidate twice, or not at %f", c.ID, c.Similarity)
			}
			got[c.ID] = true
		}
		if !maps.Equal(got, candidates) {
			t.Fatalf("candidates %v, want %v (%v)", got, candidates, ix.Banding())
		}
		matches := map[int]float64{}
		for m := range ix.Search(bg, q) {
			if _, there := matches[m.ID]; there {
				t.Fatalf("%d is found twice", m.ID)
			}
			matches[m.ID] = m.Similarity
		}
		if !maps.Equal(matches, similar) {
			t.Fatalf("found %v, want %v", matches, similar)
		}
		var near []Match[int] // in the order of adding
		for _, id := range m.ids {
			if candidates[id] {
				near = append(near, Match[int]{ID: id, Similarity: estimated(m.sigs[id], q, ix.layout.Bits)})
			}
		}
		slices.SortStableFunc(near, func(a, b Match[int]) int { return cmp.Compare(b.Similarity, a.Similarity) })
		for _, n := range []int{-1, 0, 2, len(near) + 1} {
			if got, want := must(ix.Nearest(bg, q, n)), near[:max(min(n, len(near)), 0)]; !slices.Equal(got, want) {
				t.Fatalf("the nearest %d are %v, want %v", n, got, want)
			}
		}
		if must(ix.Exists(bg, q)) != (len(similar) > 0) {
			t.Fatalf("Exists is %t", must(ix.Exists(bg, q)))
		}
	}
	var want []Pair[int]
	for i, a := range m.ids {
		for _, b := range m.ids[i+1:] {
			if agreeInBand(m.sigs[a], m.sigs[b], ix.Banding()) {
				want = append(want, Pair[int]{A: a, B: b, Similarity: estimated(m.sigs[a], m.sigs[b], ix.layout.Bits)})
			}
		}
	}
	order := map[int]int{}
	for i, id := range m.ids {
		order[id] = i
	}
	byOrder := func(p, q Pair[int]) int {
		return (order[p.A]-order[q.A])*len(m.ids) + order[p.B] - order[q.B]
	}
	got := sortedFunc(listed(ix.CandidatePairs(bg)), byOrder)
	if !slices.Equal(got, want) {
		t.Fatalf("%d candidate pairs, want %d", len(got), len(want))
	}
	want = slices.DeleteFunc(want, func(p Pair[int]) bool { return p.Similarity < ix.similarity })
	got = sortedFunc(listed(ix.Pairs(bg)), byOrder)
	if !slices.Equal(got, want) {
		t.Fatalf("%d pairs, want %d", len(got), len(want))
	}
	label := must(GroupPairs(len(m.ids), func(yield func(Pair[int], error) bool) {
		for _, p := range want {
			yield(Pair[int]{A: order[p.A], B: order[p.B]}, nil)
		}
	}, SingleLinkage, nil))
	if got, want := membersOf(must(ix.Groups(bg, SingleLinkage))), chained(label, m.ids); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("groups %v, want %v", got, want)
	}
}

// randomSignatureOptions returns settings of all kinds.
func randomSignatureOptions(rnd *rand.Rand) SignatureIndexOptions {
	k := []int{16, 17, 64, 128, 131}[rnd.IntN(5)]
	o := SignatureIndexOptions{Values: k, Version: "v=1", Bits: []int{0, 32, 16, 8, 4, 2, 1}[rnd.IntN(7)]}
	if rnd.IntN(4) > 0 {
		rows := 1 + rnd.IntN(min(k, 6))
		o.Banding = Banding{1 + rnd.IntN(k/rows), rows}
	}
	return o
}

// TestSignatureIndexModel compares an index, in memory and in files, with a model, over
// random settings and changes.
func TestSignatureIndexModel(t *testing.T) {
	t.Parallel()
	seeds := shorter(120, 16)
	if race.Enabled {
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
			ix.s.Form.TailSize = func(int) int { return size }
			return ix
		}
		ix := open()
		sigs := similarSets(80, ix.layout.Values, rnd)
		m := &signatureModel{sigs: map[int]Signature{}}
		for step := range 300 {
			id, s := rnd.IntN(100), sigs[rnd.IntN(len(sigs))]
			switch r := rnd.IntN(100); {
			case r < 60:
				ix.Add(id, s)
				m.add(id, s)
			case r < 80:
				if got, want := must(ix.Delete(id)), m.delete(id); got != want {
					t.Fatalf("seed %d: Delete(%d) is %t", seed, id, got)
				}
			case r < 84:
				want := map[int]float64{}
				for other, o := range m.sigs {
					if j := estimated(o, s, ix.layout.Bits); other != id && agreeInBand(o, s, ix.Banding()) && j >= similarity {
						want[other] = j
					}
				}
				if r == 80 {
					if got := must(ix.ExistsAndAdd(bg, id, s)); got != (len(want) > 0) {
						t.Fatalf("seed %d: ExistsAndAdd is %t", seed, got)
					}
				} else {
					got, last := map[int]float64{}, math.Inf(1)
					for _, m := range must(ix.SearchAndAdd(bg, id, s)) {
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
				ix.AddAll(bg, func(yield func(int, Signature) bool) {
					for i := range 30 {
						id, s := rnd.IntN(100), sigs[rnd.IntN(len(sigs))]
						m.add(id, s)
						if !yield(id, s) || i > 20 {
							return
						}
					}
				})
			case r < 88:
				if err := ix.Compact(bg); err != nil {
					t.Fatal(err)
				}
			case r < 90:
				n := must(ix.DeleteFunc(func(e Entry[int, Signature]) bool { return e.ID%7 == 3 }))
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
			if err := ix.err(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		m.check(t, ix, sigs)
		if err := ix.Compact(bg); err != nil {
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
	if race.Enabled {
		n = 4000
	}
	for _, o := range []SignatureIndexOptions{{}, {Bits: 1}, {Values: 256, Banding: Banding{100, 2}}, {Values: 100, Banding: Banding{33, 3}}} {
		ix, err := NewSignatureIndex[int](0.5, o)
		if err != nil {
			t.Fatal(err)
		}
		k := ix.layout.Values
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
				for c := range ix.Candidates(bg, q) {
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
			if !*full || race.Enabled {
				break
			}
			for i, a := range sigs {
				for _, b := range sigs[:i] {
					if a[0] == b[0] && agreeInBand(a, b, Banding{1, ix.Banding().Rows}) {
						want++
					}
				}
			}
			for p := range ix.CandidatePairs(bg) {
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
			if err := ix.Compact(bg); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSignatureIndexDead has a tail of nothing but deletions that becomes no run, a
// similarity that estimates reach exactly, and a signature that is replaced all the time.
func TestSignatureIndexDead(t *testing.T) {
	ix, err := NewSignatureIndex[int](1, SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	ix.s.Form.TailSize = func(int) int { return 4 }
	s := signatures(1, 16, 1)[0]
	ix.AddAll(bg, slices.All(slices.Repeat([]Signature{s}, 100)))
	for i := range 4 {
		must(ix.Delete(i))
	}
	must(ix.Delete(-1)) // makes room
	pairs, found := 0, 0
	for range ix.Pairs(bg) {
		pairs++
	}
	for range ix.Search(bg, s) {
		found++
	}
	if st := ix.s.View(); len(st.Runs) != 1 || st.Tail.Changes.Load() != 0 || pairs != 96*95/2 || found != 96 {
		t.Errorf("%d runs, %d changes, %d pairs, %d found", len(st.Runs), st.Tail.Changes.Load(), pairs, found)
	}

	ix, err = NewSignatureIndex[int](0.5, SignatureIndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sigs := signatures(5000, 128, 1)
	for i, s := range sigs {
		ix.Add(i, s)
	}
	for range 20_000 {
		ix.Add(-1, sigs[0])
		if n := int(ix.s.View().Tail.Changes.Load()); n-len(ix.s.InTail) > len(ix.s.InTail)+store.LeastTail {
			t.Fatalf("a tail of %d changes, %d of them alive", n, len(ix.s.InTail))
		}
	}
	found = 0
	for range ix.Search(bg, sigs[0]) {
		found++
	}
	if st := ix.s.View(); found < 2 || len(st.Runs) > 6 {
		t.Errorf("%d found, %d runs", found, len(st.Runs))
	}

	// What died does not stay.
	ix.Compact(bg)
	for i := range 4900 {
		if must(ix.Delete(i)); i%100 > 0 {
			continue
		}
		kept := 0
		for _, r := range ix.s.View().Runs {
			kept += r.Len()
		}
		if kept > 2*ix.Len()+2*store.LeastTail {
			t.Fatalf("%d signatures are kept, %d of them alive", kept, ix.Len())
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
		if n > 100_000 && !large() {
			continue
		}
		sigs := signatures(n, 128, 1)
		for _, bits := range []int{32, 8, 1} {
			options := SignatureIndexOptions{Bits: bits, Banding: Banding{32, 4}}
			newIndex := func() *SignatureIndex[int] {
				ix, err := NewSignatureIndex[int](0.5, options)
				if err != nil {
					b.Fatal(err)
				}
				return ix
			}
			ix := newIndex()
			if err := ix.AddAll(bg, slices.All(sigs)); err != nil {
				b.Fatal(err)
			}
			// What few queries need is in the cache, what many need is not.
			for _, different := range []int{64, 8192} {
				for _, known := range []bool{false, true} {
					rnd := rand.New(rand.NewPCG(2, 2))
					queries := signatures(different, 128, 3)
					for i := range queries {
						if known {
							copy(queries[i], planted(sigs[rnd.IntN(n)], rnd))
						}
					}
					b.Run(fmt.Sprintf("n=%d/bits=%d/search/queries=%d/known=%t", n, bits, different, known), func(b *testing.B) {
						found := 0
						b.ReportAllocs()
						for i := 0; b.Loop(); i++ {
							for range ix.Search(bg, queries[i%len(queries)]) {
								found++
							}
						}
						b.ReportMetric(float64(found)/float64(b.N), "found/op")
						b.ReportMetric(float64(ix.s.View().Runs[0].Bytes())/float64(n), "B/signature")
					})
					if different == 64 {
						continue
					}
					b.Run(fmt.Sprintf("n=%d/bits=%d/searchmany/known=%t", n, bits, known), func(b *testing.B) {
						for b.Loop() {
							ix.SearchMany(bg, queries)
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(queries)), "ns/query")
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
					ix.Add(i, sigs[i%n])
				}
			})
			b.Run(fmt.Sprintf("n=%d/bits=%d/pairs", n, bits), func(b *testing.B) {
				found := 0
				for b.Loop() {
					ix := newIndex()
					if err := ix.AddAll(bg, slices.All(sigs)); err != nil {
						b.Fatal(err)
					}
					for range ix.CandidatePairs(bg) {
						found++
					}
				}
				b.ReportMetric(float64(found)/float64(b.N), "pairs/op")
			})
		}
	}
}

// BenchmarkSignatureIndexGroups groups signatures of which all share a band: versions of one page, and
// pages that share one part only and are not similar.
func BenchmarkSignatureIndexGroups(b *testing.B) {
	const n = 20_000
	for _, kind := range []string{"versions", "part"} {
		b.Run("texts="+kind, func(b *testing.B) {
			ix := must(NewSignatureIndex[int](0.8, SignatureIndexOptions{}))
			rnd := rand.New(rand.NewPCG(4, 4))
			common := make([]uint64, 300)
			for i := range common {
				common[i] = rnd.Uint64()
			}
			own := map[string]int{"versions": 5, "part": 400}[kind]
			ix.AddAll(bg, func(yield func(int, Signature) bool) {
				for i := range n {
					hashes := slices.Clone(common)
					for range own {
						hashes = append(hashes, rnd.Uint64())
					}
					if !yield(i, (MinHash{}).Sign(hashes)) {
						return
					}
				}
			})
			for b.Loop() {
				membersOf(must(ix.Groups(bg, SingleLinkage)))
			}
		})
	}
}

// TestSignatureIndexThreshold: a pair whose similarity is the threshold is one for every linkage, however the threshold rounds.
func TestSignatureIndexThreshold(t *testing.T) {
	for _, test := range []struct{ values, same int }{{100, 55}, {25, 7}, {25, 14}, {100, 28}, {128, 64}} {
		least := float64(test.same) / float64(test.values)
		ix := must(NewSignatureIndex[int](least, SignatureIndexOptions{Values: test.values, Banding: Banding{Bands: test.values, Rows: 1}}))
		a, b := make(Signature, test.values), make(Signature, test.values)
		for i := range a {
			a[i], b[i] = uint32(i+1), uint32(i+1)
			if i >= test.same {
				b[i] += 1000
			}
		}
		ix.Add(1, a)
		ix.Add(2, b)
		pairs := 0
		for range ix.Pairs(bg) {
			pairs++
		}
		for _, by := range []Linkage{CentreLinkage, CompleteLinkage, SingleLinkage} {
			if groups := must(ix.Groups(bg, by)); pairs != 1 || len(groups) != 1 {
				t.Errorf("%d of %d values, linkage %d: %d pairs, %d groups", test.same, test.values, by, pairs, len(groups))
			}
		}
	}
}

// TestSignatureIndexOfNothing: an index without signatures has no pairs and no groups.
func TestSignatureIndexOfNothing(t *testing.T) {
	ix := must(NewSignatureIndex[int](0.5, SignatureIndexOptions{}))
	if groups := must(ix.Groups(bg, CentreLinkage)); len(groups) != 0 {
		t.Errorf("groups: %v", groups)
	}
	if pairs := listed(ix.Pairs(bg)); len(pairs) != 0 {
		t.Errorf("pairs: %v", pairs)
	}
}

func TestBanding(t *testing.T) {
	t.Parallel()
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
		if got := Banding(minhash.BestBanding(test.values, test.similarity, test.price)); got != test.want {
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
				got := Banding(minhash.BestBanding(values, similarity, price))
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
			ix, err := NewSignatureIndex[int](0.5, o)
			if err != nil {
				t.Fatal(err)
			}
			found, all := 0, 400
			for seed := range all {
				rnd := rand.New(rand.NewPCG(uint64(seed), 3))
				a, b := twoSets(1000, j, rnd)
				m := MinHash{Values: o.Values}
				ix.Add(0, m.Sign(a))
				for range ix.Candidates(bg, m.Sign(b)) {
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

// TestSignatureIndexBlocks has damage in each block of a file: a search that comes upon it
// says so.
func TestSignatureIndexBlocks(t *testing.T) {
	if !*full {
		t.Skip("where files are read, and not mapped, they are checked at once")
	}
	o := SignatureIndexOptions{Version: "v=1"}
	path := filepath.Join(t.TempDir(), "x")
	ix, err := OpenSignatureIndex[int](path, 0.5, o)
	if err != nil {
		t.Fatal(err)
	}
	sigs := signatures(3000, 128, 1)
	err = ix.AddAll(bg, slices.All(sigs))
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
				for range ix.Pairs(bg) {
				}
				if !errors.Is(ix.err(), ErrDamaged) {
					t.Errorf("byte %d: Pairs: %v", at, ix.err())
				}
			default:
				for i, s := range sigs {
					if way == "one band" { // at the end of the tables
						s = append(slices.Clone(sigs[(i+1)%len(sigs)][:124]), s[124:]...)
					}
					ok := false
					for c := range ix.Candidates(bg, s) {
						ok = ok || c.ID == i && c.Similarity == estimated(s, sigs[i], 32)
					}
					if !ok && ix.err() == nil {
						t.Fatalf("byte %d, %s: %d is lost", at, way, i)
					}
				}
			}
			if err := ix.err(); err != nil && !errors.Is(err, ErrDamaged) {
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
		if _, err := NewSignatureIndex[int](test.similarity, test.o); err == nil {
			t.Errorf("%g %+v: no error", test.similarity, test.o)
		}
	}
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, errExists := ix.Exists(bg, nil)
	_, errSearch := ix.SearchAndAdd(bg, 1, make(Signature, 64))
	errAll := ix.AddAll(bg, maps.All(map[int]Signature{1: {1}}))
	for _, err := range []error{ix.Add(1, Signature{}), errExists, errSearch, errAll} {
		if err == nil || ix.Len() != 0 {
			t.Errorf("a signature of another length: %v", err)
		}
	}
	for _, err := range ix.Search(bg, Signature{1}) {
		if err == nil {
			t.Error("a signature of another length is searched for")
		}
	}
}

// forgedSignatures returns the columns of a small index.
func forgedSignatures(bits int) (*SignatureIndex[int], *store.Run[int, *minhash.Tables]) {
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
	if err != nil {
		panic(err)
	}
	ix.AddAll(bg, slices.All(similarSets(60, 16, rand.New(rand.NewPCG(1, 1)))))
	return ix, ix.s.View().Runs[0]
}

// useSignatures uses an index in all ways.
func useSignatures(ix *SignatureIndex[int]) {
	sets := similarSets(10, ix.layout.Values, rand.New(rand.NewPCG(1, 1)))
	ix.SearchMany(bg, sets)
	for _, s := range sets {
		for range ix.Search(bg, s) {
		}
		ix.Add(3, s)
	}
	for range ix.Pairs(bg) {
	}
	for range ix.All() {
	}
	ix.Delete(1)
	ix.Compact(bg)
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
		path := filepath.Join(t.TempDir(), "x")
		version := fmt.Sprintf("v=1 values=16 bits=%d bands=4x4", bits)
		writeForged(t, path, "signatures", version, r, &ix.s.IDs, data)
		forged, err := OpenSignatureIndex[int](path, 0.5, SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"})
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
	o := SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Version: "v=1"}
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
	if err := errors.Join(ix.Compact(bg), ix.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := func(ix *SignatureIndex[int]) (n int) {
		for range ix.Pairs(bg) {
			n++
		}
		for _, s := range sigs {
			for range ix.Search(bg, s) {
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
		if n := found(ix); n != want && !errors.Is(ix.err(), ErrDamaged) {
			t.Fatalf("byte %d: found %d, want %d: %v", at, n, want, ix.err())
		}
		if err := ix.Verify(); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: Verify: %v", at, err)
		}
		ix.Close()
	}
}

// TestSignatureIndexStops: a loop over an index that has an error may be left, and Exists returns the error.
func TestSignatureIndexStops(t *testing.T) {
	s := MinHash{}.Sign([]uint64{HashFeature("a"), HashFeature("b")})
	full := errors.New("no space left on device")
	for _, search := range []func(*SignatureIndex[int]) iter.Seq2[Match[int], error]{
		func(ix *SignatureIndex[int]) iter.Seq2[Match[int], error] { return ix.Search(bg, s) },
		func(ix *SignatureIndex[int]) iter.Seq2[Match[int], error] { return ix.Candidates(bg, s) },
	} {
		ix := must(OpenSignatureIndex[int](filepath.Join(t.TempDir(), "x"), 0.5, SignatureIndexOptions{Version: "v=1"}))
		if err := ix.AddAll(bg, func(yield func(int, Signature) bool) { yield(1, s) }); err != nil {
			t.Fatal(err)
		}
		for m, err := range search(ix) {
			if m.ID != 1 || err != nil {
				t.Errorf("%v, %v", m, err)
			}
			ix.s.Fail(full)
			break
		}
		if found, err := ix.Exists(bg, s); found || !errors.Is(err, full) {
			t.Errorf("%v, %v", found, err)
		}
		ix.Close()
	}
}

// TestSignatureIndexReaders has readers beside a writer that moves an id from one
// signature to another: a reader sees it exactly once.
func TestSignatureIndexReaders(t *testing.T) {
	t.Parallel()
	ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Values: 64, Banding: Banding{16, 4}})
	if err != nil {
		t.Fatal(err)
	}
	ix.s.Form.TailSize = func(int) int { return 64 }
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
				for c := range ix.Candidates(bg, a) {
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
				for p := range ix.CandidatePairs(bg) {
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
		must(ix.Delete(i * 7 % 40))
	}
	stop.Store(true)
	wg.Wait()
}

// TestSignatureIndexIsolation has readers beside a writer that adds an id and deletes the
// one of twenty before, all of equal signatures: what a reader sees has no gap.
func TestSignatureIndexIsolation(t *testing.T) {
	t.Parallel()
	const window = 20
	for _, bits := range []int{32, 8} {
		o := SignatureIndexOptions{Values: 16, Banding: Banding{4, 4}, Bits: bits, Version: "v=1"}
		ix, err := OpenSignatureIndex[int](filepath.Join(t.TempDir(), "x"), 0.5, o)
		if err != nil {
			t.Fatal(err)
		}
		ix.s.Form.TailSize = func(int) int { return 13 }
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
						for c := range ix.Candidates(bg, s) {
							ids = append(ids, c.ID)
						}
					case 1:
						for id := range valuesOf(ix.All()) {
							ids = append(ids, id)
						}
					case 2:
						pairs, seen := 0, map[int]bool{}
						for p := range ix.Pairs(bg) {
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
				must(ix.DeleteFunc(func(e Entry[int, Signature]) bool { return e.ID == i-window }))
			} else {
				must(ix.Delete(i - window))
			}
			if i%170 == 0 {
				if err := ix.Compact(bg); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		if err := errors.Join(ix.err(), ix.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSignatureIndexChanged changes the query while what it finds is read.
func TestSignatureIndexChanged(t *testing.T) {
	for _, bits := range []int{32, 8} {
		ix, err := NewSignatureIndex[int](0.5, SignatureIndexOptions{Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		s := signatures(1, 128, 1)[0]
		for i := range 10 {
			ix.Add(i, s)
		}
		ix.Compact(bg)
		found := 0
		for range ix.Search(bg, s) {
			found++
			clear(s)
		}
		if found != 10 {
			t.Errorf("%d bits: %d found", bits, found)
		}
	}
}

// TestSignatureSearchAsItWas: a search does not find what the body of its loop adds.
func TestSignatureSearchAsItWas(t *testing.T) {
	ix := must(NewSignatureIndex[int](0.5, SignatureIndexOptions{}))
	s := MinHash{}.Sign([]uint64{1, 2, 3})
	add := func(id int) {
		if err := ix.Add(id, s); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	if err := ix.Compact(bg); err != nil { // then 0 is found before the last changes are searched
		t.Fatal(err)
	}
	add(1)
	for m, err := range ix.Search(bg, s) {
		if err != nil || m.ID > 1 {
			t.Fatal(m, err)
		}
		add(2)
	}
	if ix.Len() != 3 {
		t.Errorf("%d signatures", ix.Len())
	}
}

// TestBandingRange: a similarity out of range is a mistake of the caller's.
func TestBandingRange(t *testing.T) {
	for _, similarity := range []float64{-0.01, 1.01, math.NaN()} {
		if panics(func() { (Banding{32, 4}).Probability(similarity) }) == "" {
			t.Errorf("%v: no panic", similarity)
		}
	}
	if p := (Banding{32, 4}).Probability(0); p != 0 {
		t.Errorf("nothing in common: %v", p)
	}
	if p := (Banding{32, 4}).Probability(1); p != 1 {
		t.Errorf("equal sets: %v", p)
	}
}
