package neardupbeam

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 it makes other bundles than Prism
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/internal/collections"
)

// The tests run pipelines on Prism, in this process, and compare them with the functions of the library for
// collections in memory.

func TestMain(m *testing.M) {
	flag.Parse()
	numberMetrics()
	beam.Init() // which is the end if this process is a worker
	os.Exit(m.Run())
}

// gathered has what the pipelines of tests emitted, by the name of the gathering.
var gathered struct {
	sync.Mutex
	of map[string][]any
}

// gatherFn takes the elements of a collection. Prism runs it in this process.
type gatherFn struct{ Name string }

func (fn *gatherFn) ProcessElement(x beam.X) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.of[fn.Name] = append(gathered.of[fn.Name], x)
}

func init() {
	beam.RegisterType(reflect.TypeFor[gatherFn]())
	gathered.of = map[string][]any{}
}

// take returns what was gathered under a name.
func take[T any](t *testing.T, name string) []T {
	t.Helper()
	gathered.Lock()
	defer gathered.Unlock()
	var out []T
	for _, x := range gathered.of[name] {
		out = append(out, x.(T))
	}
	delete(gathered.of, name)
	return out
}

// run runs a pipeline.
func run(t *testing.T, runner string, build func(s beam.Scope)) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	build(s)
	if _, err := beam.Run(context.Background(), runner, p); err != nil {
		t.Fatal(err)
	}
}

// results are what a run found, sorted.
type results struct {
	Pairs  []Pair
	Groups []Member
	notes  []Note

	families []Family // with Auto
}

func (r *results) sort() {
	slices.SortFunc(r.Pairs, func(a, b Pair) int { return cmp.Or(strings.Compare(a.A, b.A), strings.Compare(a.B, b.B)) })
	slices.SortFunc(r.Groups, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
}

// onBeam returns what a pipeline finds.
func onBeam(t *testing.T, runner string, docs []Document, o Options) (r results) {
	t.Helper()
	run(t, runner, func(s beam.Scope) {
		c := createDocuments(s, docs)
		if o.Method == Auto {
			found := NearDuplicates(s, c, o)
			beam.ParDo0(s, &gatherFn{"pairs"}, found.Pairs(s))
			beam.ParDo0(s, &gatherFn{"groups"}, found.Groups)
			beam.ParDo0(s, &gatherFn{"families"}, found.Families)
			beam.ParDo0(s, &gatherFn{"notes"}, found.Notes)
			return
		}
		profiles, notes := Fingerprint(s, c, o)
		pairs, hot := Pairs(s, profiles, o)
		beam.ParDo0(s, &gatherFn{"pairs"}, pairs)
		beam.ParDo0(s, &gatherFn{"groups"}, Groups(s, profiles, pairs, o))
		beam.ParDo0(s, &gatherFn{"notes"}, beam.Flatten(s, notes, hot))
	})
	r = results{take[Pair](t, "pairs"), take[Member](t, "groups"), take[Note](t, "notes"), take[Family](t, "families")}
	r.sort()
	return r
}

// createDocuments makes a collection, also of no documents.
func createDocuments(s beam.Scope, docs []Document) beam.PCollection {
	return beam.Reshuffle(s, beam.CreateList(s, docs))
}

// inMemory returns what the library finds for the same documents, with the same options.
func inMemory(t *testing.T, docs []Document, o Options) (r results) {
	t.Helper()
	set := o.must()
	if set.Method == Auto {
		return inDeduplicator(t, docs, set)
	}
	f, err := set.fingerprinter()
	if err != nil {
		t.Fatal(err)
	}
	if set.Method == Cosine && f.Weight == nil {
		b := neardup.DocumentFrequenciesBuilder{Fingerprinter: *f}
		for _, d := range docs {
			b.Add(neardup.Text(d.Text))
		}
		f.Weight = weightOf(b.Build())
	}
	sorted := slices.Clone(docs)
	slices.SortFunc(sorted, func(a, b Document) int {
		x, y := rank{a.ID, len([]rune(a.Text))}, rank{b.ID, len([]rune(b.Text))}
		return x.compare(y, set.KeepFirst)
	})
	docs = sorted
	var pairs []neardup.Pair[int]
	ctx := context.Background()
	switch set.Method {
	case SimHash:
		var fps64 []neardup.Fingerprint64
		var fps128 []neardup.Fingerprint128
		var at []int
		for i, d := range docs {
			if set.Bits == 64 {
				if fp := f.Sum64(neardup.Text(d.Text)); fp != 0 {
					fps64, at = append(fps64, fp), append(at, i)
				}
			} else if fp := f.Sum128(neardup.Text(d.Text)); fp != (neardup.Fingerprint128{}) {
				fps128, at = append(fps128, fp), append(at, i)
			}
		}
		all := neardup.Pairs(ctx, fps64, set.Distance)
		if set.Bits == 128 {
			all = neardup.Pairs(ctx, fps128, set.Distance)
		}
		for p := range all {
			p.A, p.B = at[p.A], at[p.B]
			pairs = append(pairs, p)
		}
	case MinHash, Cosine:
		ix, err := neardup.NewSignatureIndex[int](set.jaccard(), neardup.SignatureIndexOptions{Values: set.MinHash.Values, Banding: set.Banding})
		if err != nil {
			t.Fatal(err)
		}
		err = ix.AddAll(ctx, func(yield func(int, neardup.Signature) bool) {
			for i, d := range docs {
				if !yield(i, f.Sign(neardup.Text(d.Text), set.MinHash)) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		all := ix.Pairs(ctx)
		var vectors []neardup.Vector
		if set.Method == Cosine {
			all = ix.CandidatePairs(ctx)
			for _, d := range docs {
				vectors = append(vectors, f.Vector(neardup.Text(d.Text)))
			}
		}
		for p, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			if set.Method == Cosine {
				if p.Similarity = vectors[p.A].Cosine(vectors[p.B]); p.Similarity < set.Similarity {
					continue
				}
			}
			pairs = append(pairs, p)
		}
	}
	members := map[int][]string{}
	of, err := neardup.GroupPairs(len(docs), certain(pairs), set.Linkage, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, root := range of {
		members[root] = append(members[root], docs[i].ID)
	}
	for root, ids := range members {
		for _, id := range ids {
			if len(ids) > 1 {
				r.Groups = append(r.Groups, Member{id, docs[root].ID})
			}
		}
	}
	for _, p := range pairs {
		a, b := docs[p.A].ID, docs[p.B].ID
		r.Pairs = append(r.Pairs, Pair{A: min(a, b), B: max(a, b), Distance: p.Distance, Similarity: p.Similarity})
	}
	r.sort()
	return r
}

// inDeduplicator returns what a Deduplicator finds that has all documents.
func inDeduplicator(t *testing.T, docs []Document, set settings) (r results) {
	t.Helper()
	o, err := set.dedup()
	if err != nil {
		t.Fatal(err)
	}
	d, err := dedup.New[string](o)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if err := d.Add(doc.ID, neardup.Text(doc.Text)); err != nil {
			t.Fatal(err)
		}
	}
	for p, err := range d.Pairs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.Pairs = append(r.Pairs, Pair{A: min(p.A, p.B), B: max(p.A, p.B), Similarity: p.Similarity, Probability: p.Probability, Kind: p.Kind})
	}
	groups, err := d.Groups(t.Context(), dedup.GroupOptions[string]{Linkage: set.Linkage, Prefer: func(a, b dedup.Entry[string]) bool {
		if set.KeepFirst || a.Length == b.Length {
			return a.ID < b.ID
		}
		return a.Length > b.Length
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, id := range g.Members {
			r.Groups = append(r.Groups, Member{id, g.Keep})
		}
	}
	families, err := d.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		of := Family{Members: slices.Sorted(slices.Values(f.Members)), Form: f.Form}
		for _, id := range of.Members {
			if len(f.Filled) > 0 {
				of.Filled = append(of.Filled, f.Filled[slices.Index(f.Members, id)])
			}
		}
		r.families = append(r.families, of)
	}
	r.sort()
	return r
}

// same fails the test unless two results are the same, bit for bit.
func same(t *testing.T, got, want results) {
	t.Helper()
	diff := func(what string, got, want []string) {
		g, w := map[string]bool{}, map[string]bool{}
		for _, x := range got {
			if g[x] {
				t.Errorf("%s: %s twice", what, x)
			}
			g[x] = true
		}
		for _, x := range want {
			w[x] = true
		}
		for _, x := range got {
			if !w[x] {
				t.Errorf("%s: %s should not be there", what, x)
				return
			}
		}
		for _, x := range want {
			if !g[x] {
				t.Errorf("%s: %s is missing", what, x)
				return
			}
		}
	}
	text := func(p Pair) string {
		return fmt.Sprintf("%q %q %d %v %v %v", p.A, p.B, p.Distance, p.Similarity, p.Probability, p.Kind)
	}
	family := func(f Family) string { return fmt.Sprintf("%q", f) }
	member := func(m Member) string { return fmt.Sprintf("%q %q", m.ID, m.Keep) }
	diff("pairs", texts(got.Pairs, text), texts(want.Pairs, text))
	diff("groups", texts(got.Groups, member), texts(want.Groups, member))
	diff("families", texts(got.families, family), texts(want.families, family))
}

func texts[T any](from []T, text func(T) string) (out []string) {
	for _, x := range from {
		out = append(out, text(x))
	}
	return out
}

// documentsOf returns texts as documents, in an order that has nothing to do with their ids.
func documentsOf(texts collections.Texts) (docs []Document) {
	ids := slices.Sorted(maps.Keys(texts))
	for _, i := range rand.New(rand.NewPCG(3, 3)).Perm(len(ids)) {
		docs = append(docs, Document{ID: ids[i], Text: texts[ids[i]]})
	}
	return docs
}

// cases are options that the conformance tests try.
func cases() map[string]Options {
	return map[string]Options{
		"auto":            {Method: Auto, Linkage: neardup.SingleLinkage, Kinds: neardup.AllKinds},
		"auto-centres":    {Method: Auto, Similarity: 0.3, KeepFirst: true, Rounds: 1},
		"auto-words":      {Method: Auto, Probability: 0.2, Fingerprinter: wordsFingerprinter, Linkage: neardup.CompleteLinkage},
		"simhash":         {Method: SimHash, Linkage: neardup.SingleLinkage, Blocks: 4},
		"simhash-blocks":  {Method: SimHash, Blocks: 5, Distance: 3, HotBucket: 8, Rounds: 1},
		"simhash-128":     {Method: SimHash, Bits: 128, Blocks: 7, Distance: 5, KeepFirst: true},
		"minhash":         {Method: MinHash, Linkage: neardup.SingleLinkage},
		"minhash-hot":     {Method: MinHash, HotBucket: 5, Rounds: 2, Similarity: 0.5},
		"minhash-centres": {Method: MinHash, Similarity: 0.7, KeepFirst: true, Linkage: neardup.CompleteLinkage},
		"cosine":          {Method: Cosine, Similarity: 0.5},
		"cosine-hot":      {Method: Cosine, Similarity: 0.7, HotBucket: 5, Linkage: neardup.SingleLinkage, Fingerprinter: wordsFingerprinter, Values: 64},
	}
}

func wordsFingerprinter() neardup.Fingerprinter {
	return neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 3}, Normalizer: neardup.Normalizer{}}
}

func init() { beam.RegisterFunction(wordsFingerprinter) }

func TestConformance(t *testing.T) {
	for name, texts := range collections.Shapes() {
		for with, o := range cases() {
			if name == "chain" && (o.HotBucket > 0 && o.Method == Cosine || testing.Short() && o.Method != SimHash) {
				continue // half a minute of tiles, and in short some seconds each
			}
			t.Run(name+"/"+with, func(t *testing.T) { conform(t, "prism", documentsOf(texts), o) })
		}
	}
}

// conform compares a runner with the library.
func conform(t *testing.T, runner string, docs []Document, o Options) {
	got, want := onBeam(t, runner, docs, o), inMemory(t, docs, o)
	same(t, got, want)
	t.Logf("%d documents, %d pairs, %d in groups, %d families, %d notes", len(docs), len(want.Pairs), len(want.Groups), len(want.families), len(got.notes))
}

// The same on real texts.
func TestData(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	all, err := collections.Data(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range all {
		if testing.Short() && len(texts) > 1000 {
			continue
		}
		for with, o := range map[string]Options{"auto": {Method: Auto, Kinds: neardup.AllKinds}, "simhash": {Method: SimHash}, "minhash": {Method: MinHash, Linkage: neardup.SingleLinkage}, "cosine": {Method: Cosine, Similarity: 0.6}} {
			if testing.Short() && o.Method == Cosine {
				continue // Prism has the vectors of all candidates in memory, gigabytes for long texts
			}
			t.Run(name+"/"+with, func(t *testing.T) { conform(t, "prism", documentsOf(texts), o) })
		}
	}
}
