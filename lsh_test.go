package neardup

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/minhash"
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
	if raceDetector {
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
			if !*full || raceDetector {
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

// TestSignatureIndexBorder: a pair whose similarity is the border is one for every linkage, however the border rounds.
func TestSignatureIndexBorder(t *testing.T) {
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
