package neardup

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestContexts: whatever takes a context returns its error when it has ended, and stores nothing then.
func TestContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fingerprints := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
	signatures := must(NewSignatureIndex[int](0.5, SignatureIndexOptions{}))
	vectors := must(NewVectorIndex[int](0.5, VectorIndexOptions{}))
	f := Fingerprinter{}
	text := Text("the same text in all of them")
	fp, s, v := f.Sum64(text), f.Sign(text, MinHash{}), f.Vector(text)
	for i := range 1000 {
		if err := errors.Join(fingerprints.Add(i, fp), signatures.Add(i, s), vectors.Add(i, v)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	last := func(seq func(yield func(Match[int], error) bool)) (err error) {
		for _, err = range seq {
		}
		return err
	}
	second := func(_ any, err error) error { return err }
	errs := map[string]error{
		"Index.Search": last(fingerprints.Search(ctx, fp)), "SignatureIndex.Search": last(signatures.Search(ctx, s)), "VectorIndex.Search": last(vectors.Search(ctx, v)),
		"SignatureIndex.Candidates": last(signatures.Candidates(ctx, s)),
		"Index.Nearest":             second(fingerprints.Nearest(ctx, fp, 2)), "SignatureIndex.Nearest": second(signatures.Nearest(ctx, s, 2)), "VectorIndex.Nearest": second(vectors.Nearest(ctx, v, 2)),
		"Index.SearchMany": second(fingerprints.SearchMany(ctx, []Fingerprint64{fp})), "SignatureIndex.SearchMany": second(signatures.SearchMany(ctx, []Signature{s})), "VectorIndex.SearchMany": second(vectors.SearchMany(ctx, []Vector{v})),
		"Index.Exists": second(fingerprints.Exists(ctx, fp)), "SignatureIndex.Exists": second(signatures.Exists(ctx, s)), "VectorIndex.Exists": second(vectors.Exists(ctx, v)),
		"Index.SearchAndAdd": second(fingerprints.SearchAndAdd(ctx, -1, fp)), "SignatureIndex.SearchAndAdd": second(signatures.SearchAndAdd(ctx, -1, s)), "VectorIndex.SearchAndAdd": second(vectors.SearchAndAdd(ctx, -1, v)),
		"Index.ExistsAndAdd": second(fingerprints.ExistsAndAdd(ctx, -1, fp)), "SignatureIndex.ExistsAndAdd": second(signatures.ExistsAndAdd(ctx, -1, s)), "VectorIndex.ExistsAndAdd": second(vectors.ExistsAndAdd(ctx, -1, v)),
		"Index.Compact": fingerprints.Compact(ctx), "SignatureIndex.Compact": signatures.Compact(ctx), "VectorIndex.Compact": vectors.Compact(ctx),
		"Index.Groups": second(fingerprints.Groups(ctx, CentreLinkage)), "SignatureIndex.Groups": second(signatures.Groups(ctx, CompleteLinkage)), "VectorIndex.Groups": second(vectors.Groups(ctx, SingleLinkage)),
		"Pairs of none": second(GroupPairs(1, Pairs[Fingerprint64](ctx, nil, 3), SingleLinkage, nil)), "PairsBetween none": second(GroupPairs(2, PairsBetween(ctx, []Fingerprint64{1, 1}, nil, 3), SingleLinkage, nil)),
		"VectorPairs of none": second(GroupPairs(1, VectorPairs(ctx, nil, 0.5), SingleLinkage, nil)),
		"VectorPairs":         second(GroupPairs(1, VectorPairs(ctx, []Vector{v}, 0.5), SingleLinkage, nil)),
	}
	for name, err := range errs {
		if err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fingerprints.Len() != 1000 || signatures.Len() != 1000 || vectors.Len() != 1000 {
		t.Errorf("%d, %d and %d documents", fingerprints.Len(), signatures.Len(), vectors.Len())
	}
	for p, err := range PairsBetween(t.Context(), []Fingerprint64{1, 1}, nil, 3) { // one side is not compared with itself
		t.Errorf("%v, %v", p, err)
	}
	// In the middle of a search.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range fingerprints.Search(ctx, fp) {
		if n++; n == 300 {
			cancel()
		}
		if err == nil && n > 600 || err != nil && err != context.Canceled {
			t.Fatalf("%d found, %v", n, err)
		}
	}
}

// TestGroupsAlike: the three indexes group the same way, whatever the linkage, and say how near the members are.
func TestGroupsAlike(t *testing.T) {
	fingerprints := must(NewIndex[string, Fingerprint64](3, IndexOptions{}))
	signatures := must(NewSignatureIndex[string](0.5, SignatureIndexOptions{}))
	vectors := must(NewVectorIndex[string](0.5, VectorIndexOptions{}))
	// a – b – c is a chain: a and c are not near each other.
	for i, id := range []string{"a", "alone", "b", "c"} {
		far := uint64(i * 2)
		if id == "alone" {
			far = 63
		}
		set := []uint64{}
		for k := far; k < far+10; k++ {
			set = append(set, k*0x9E3779B97F4A7C15+1)
		}
		fp := Fingerprint64(1)<<(i*3/2) - 1
		if id == "alone" {
			fp = 0xFFFF << 40
		}
		terms := []Term{}
		for _, h := range set {
			terms = append(terms, Term{h, 1})
		}
		if err := errors.Join(fingerprints.Add(id, fp), signatures.Add(id, MinHash{}.Sign(set)), vectors.Add(id, NewVector(terms))); err != nil {
			t.Fatal(err)
		}
	}
	for by, want := range map[Linkage][]string{SingleLinkage: {"a", "b", "c"}, CompleteLinkage: nil, CentreLinkage: nil} {
		g := must(vectors.Groups(t.Context(), by))
		if len(g) != 1 || want != nil && !slices.Equal(g[0].Members, want) {
			t.Errorf("%d: vectors %v", by, g)
		}
		for _, of := range [][]Group[string]{g, must(fingerprints.Groups(t.Context(), by)), must(signatures.Groups(t.Context(), by))} {
			for _, g := range of {
				if len(g.Members) < 2 || len(g.Matches) != len(g.Members) || !slices.Contains(g.Members, g.Keep) || slices.Contains(g.Members, "alone") {
					t.Errorf("%d: %+v", by, g)
				}
				for i, m := range g.Matches {
					if m.ID != g.Members[i] || m.ID == g.Keep && (m.Distance != 0 || m.Similarity != 0 && m.Similarity != 1) {
						t.Errorf("%d: %v of %+v", by, m, g)
					}
				}
			}
		}
	}
	if _, err := vectors.Groups(t.Context(), 9); err == nil {
		t.Error("an unknown Linkage")
	}
}

// TestDocuments: strings and own features come out as they should.
func TestDocuments(t *testing.T) {
	for _, test := range []struct {
		got, want string
	}{
		{Match[string]{ID: "b", Distance: 2}.String(), "b at distance 2"},
		{Match[string]{ID: "b", Similarity: 0.834}.String(), "b 0.83 similar"},
		{Pair[int]{A: 1, B: 2, Similarity: 0.9, Kind: Revised, Probability: 0.991}.String(), "1, 2 0.90 similar, probability 0.99, revised"},
	} {
		if test.got != test.want {
			t.Errorf("%q, not %q", test.got, test.want)
		}
	}
	v := VectorOf(map[string]float64{"go": 2, "python": 1, "none": 0})
	if len(v) != 2 || v.Norm() != NewVector([]Term{{HashFeature("python"), 1}, {HashFeature("go"), 2}}).Norm() || !slices.Equal(SetOf("go"), Set{HashFeature("go")}) {
		t.Errorf("%v", v)
	}
	var f Fingerprinter
	if panics(func() { f.Sum64(nil) }) == "" {
		t.Error("no document, and no panic")
	}
}

// TestGroupDistances: the matches of a group say how many bits differ, in both words.
func TestGroupDistances(t *testing.T) {
	ix64, ix128 := must(NewIndex[int, Fingerprint64](9, IndexOptions{})), must(NewIndex[int, Fingerprint128](9, IndexOptions{}))
	for i, diff := range []Fingerprint128{{}, {Hi: 7}, {Lo: 3}, {Hi: 1 << 63, Lo: 31}} {
		base := Fingerprint128{0x0123456789abcdef, 0xfedcba9876543210}
		ix64.Add(i, Fingerprint64(base.Lo^diff.Lo))
		ix128.Add(i, Fingerprint128{base.Hi ^ diff.Hi, base.Lo ^ diff.Lo})
	}
	distances := func(groups []Group[int], err error) (got []int) {
		for _, m := range must(groups, err)[0].Matches {
			got = append(got, m.Distance)
		}
		return got
	}
	if got := distances(ix64.Groups(bg, SingleLinkage)); !slices.Equal(got, []int{0, 0, 2, 5}) {
		t.Errorf("64 bits: %v", got)
	}
	if got := distances(ix128.Groups(bg, SingleLinkage)); !slices.Equal(got, []int{0, 3, 2, 6}) {
		t.Errorf("128 bits: %v", got)
	}
	a := Fingerprint128{Hi: 0xFF, Lo: 1}
	if d := a.Distance(Fingerprint128{Hi: 0x0F, Lo: 3}); d != 5 {
		t.Errorf("distance %d", d)
	}
	if d := Fingerprint64(0xFF).Distance(0xF0F); d != 8 {
		t.Errorf("distance %d", d)
	}
}

// TestReplaced: what replaces a document is not compared with what it replaces.
func TestReplaced(t *testing.T) {
	fps := must(NewIndex[string, Fingerprint64](3, IndexOptions{}))
	sigs := must(NewSignatureIndex[string](0.5, SignatureIndexOptions{}))
	vecs := newVectors[string]()
	s, v := (MinHash{}).Sign([]uint64{1 << 60, 1 << 61, 1<<62 + 5}), VectorOf(map[string]float64{"a": 1})
	for i, want := range []bool{false, false, true} {
		id := []string{"a", "a", "b"}[i]
		for name, got := range map[string]bool{
			"Index": must(fps.ExistsAndAdd(bg, id, 5)), "SignatureIndex": must(sigs.ExistsAndAdd(bg, id, s)), "VectorIndex": must(vecs.ExistsAndAdd(bg, id, v)),
		} {
			if got != want {
				t.Errorf("%s: step %d: %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestKindText: every set of kinds is written and read again, and another name is an error that changes nothing.
func TestKindText(t *testing.T) {
	t.Parallel()
	for k := Kind(0); k <= AllKinds; k++ {
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got := AllKinds
		if err := got.UnmarshalText(text); err != nil || got != k {
			t.Errorf("%v: read as %v, %v", k, got, err)
		}
	}
	k := Contained
	if err := k.UnmarshalText([]byte("revised, all")); err != nil || k != AllKinds {
		t.Errorf("%v, %v", k, err)
	}
	for _, names := range []string{"", "Revised", "revised,", "Kind(64)"} {
		k := Contained
		if err := k.UnmarshalText([]byte(names)); err == nil || k != Contained {
			t.Errorf("%q: %v, %v", names, k, err)
		}
	}
}
