package seen

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup"
)

var full = flag.Bool("full", false, "run every benchmark at its full size")

// text returns a text of random words.
func text(r *rand.Rand, words int) []string {
	w := make([]string, words)
	for i := range w {
		w[i] = fmt.Sprint("word", r.IntN(20_000))
	}
	return w
}

// edited returns a text with some other words.
func edited(r *rand.Rand, words []string, edits int) []string {
	other := append([]string(nil), words...)
	for range edits {
		other[r.IntN(len(other))] = fmt.Sprint("other", r.IntN(20_000))
	}
	return other
}

func document(words []string) neardup.Document { return neardup.Text(strings.Join(words, " ")) }

func filter(t testing.TB, o Options) *Filter {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// signatures returns two signatures that agree in each value with a probability.
func signatures(r *rand.Rand, n int, similarity float64) (a, b neardup.Signature) {
	a, b = make(neardup.Signature, n), make(neardup.Signature, n)
	for i := range a {
		a[i], b[i] = r.Uint32()>>1, r.Uint32()>>1
		if r.Float64() < similarity {
			b[i] = a[i]
		}
	}
	return a, b
}

// TestSeen: a document is seen when it comes again, with few edits too, and others are not.
func TestSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := filter(t, Options{Bytes: 1 << 20})
	var texts [][]string
	alarms := 0
	for range 3000 {
		texts = append(texts, text(r, 200))
		if f.Seen(document(texts[len(texts)-1])) {
			alarms++
		}
	}
	found := 0
	for _, words := range texts {
		if !f.Has(document(words)) {
			t.Fatal("a document is not seen when it comes again")
		}
		if f.Has(document(edited(r, words, 4))) {
			found++
		}
	}
	if alarms > 5 || found < 2900 { // four edits leave .92 of the pairs of words
		t.Errorf("%d of 3000 new documents are taken as seen, and %d are found with four edits", alarms, found)
	}
	for _, empty := range []string{"", " \n", "…!"} {
		for range 2 {
			if f.Seen(neardup.Text(empty)) {
				t.Errorf("%q is seen", empty)
			}
		}
	}
	if n := f.Len(); n != int64(3000-alarms) {
		t.Errorf("%d documents", n)
	}
}

// TestMisses: documents of a similarity are missed as often as Misses says, which at the similarity of the options is at most what they ask for.
func TestMisses(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, o := range []Options{{Bytes: 1 << 24}, {Bytes: 1 << 24, Similarity: 0.6, Misses: 0.1}, {Bytes: 1 << 24, Similarity: 0.9, Misses: 0.01, FalseAlarms: 1e-5}} {
		f := filter(t, o)
		if s := max(o.Similarity, 0.8*b2f(o.Similarity == 0)); f.Misses(s) > max(o.Misses, 0.05*b2f(o.Misses == 0)) {
			t.Errorf("%+v: %.3f are missed", o, f.Misses(s))
		}
		if f.Misses(1) != 0 || f.Misses(0) != 1 {
			t.Error(f.Misses(1), f.Misses(0))
		}
		for _, similarity := range []float64{0.3, 0.5, 0.7, 0.8, 0.9} {
			const n = 5000
			missed := 0
			for range n {
				a, b := signatures(r, f.minhash.Values, similarity)
				f.seen(f.keysOf(a))
				if keys := f.keysOf(b); !f.young.hasAny(keys) && !f.old.hasAny(keys) {
					missed++
				}
			}
			want := f.Misses(similarity)
			if got := float64(missed) / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n)+0.001 {
				t.Errorf("%+v: of documents with a similarity of %g %.3f are missed, not %.3f", o, similarity, got, want)
			}
		}
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestFalseAlarms: two full generations have no more false alarms than the options allow, and hardly fewer; FalseAlarms tells how many.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, rate := range []float64{0.01, 0.001} {
		f := filter(t, Options{Bytes: 1 << 20, FalseAlarms: rate})
		for f.documents[1] == 0 || f.documents[0] < f.shape.capacity-1 {
			a, _ := signatures(r, f.minhash.Values, 0)
			f.seen(f.keysOf(a))
		}
		const n = 200_000
		alarms := 0
		for range n {
			a, _ := signatures(r, f.minhash.Values, 0)
			if keys := f.keysOf(a); f.young.hasAny(keys) || f.old.hasAny(keys) {
				alarms++
			}
		}
		got, said, noise := float64(alarms)/n, f.FalseAlarms(), 5*math.Sqrt(rate/n)
		if got > rate/2+noise || got < rate/3-noise || math.Abs(got-said) > noise { // half of the rate is for bands that agree by chance
			t.Errorf("%g: %g false alarms, and FalseAlarms reports %g", rate, got, said)
		}
		if bits := float64(8*len(f.young.words)*16) / float64(f.Len()); bits > 8*40 {
			t.Errorf("%g: %.1f bytes for each document", rate, bits/8)
		}
	}
}

// TestGenerations: what does not come for two generations is forgotten, and what comes in each is not.
func TestGenerations(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	f := filter(t, Options{Bytes: 64 << 10})
	once, often := document(text(r, 100)), document(text(r, 100))
	f.Seen(once)
	f.Seen(often)
	for n := range 3 {
		if f.Turn(); f.Has(once) != (n == 0) || !f.Seen(often) {
			t.Errorf("after %d turns the one that came once is there: %t", n+1, f.Has(once))
		}
	}
	first := document(text(r, 100))
	f.Seen(first)
	for range 2*f.Capacity() + 10 {
		a, _ := signatures(r, f.minhash.Values, 0)
		f.seen(f.keysOf(a))
	}
	if f.Has(first) || f.Len() > 2*f.Capacity() {
		t.Errorf("after two generations the first document is still there; %d documents, with %d in a generation", f.Len(), f.Capacity())
	}
}

// TestMerge: two filters together remember what both do, and others cannot be merged.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	one, two := filter(t, Options{Bytes: 1 << 20}), filter(t, Options{Bytes: 1 << 20})
	a, b := document(text(r, 100)), document(text(r, 100))
	one.Seen(a)
	two.Seen(b)
	if err := one.Merge(two); err != nil || !one.Has(a) || !one.Has(b) || two.Has(a) || one.Len() != 2 {
		t.Error(err)
	}
	if err := one.Merge(one); err != nil || one.Len() != 2 {
		t.Error(err)
	}
	for _, o := range []Options{{Bytes: 1 << 21}, {Bytes: 1 << 20, Similarity: 0.7}, {Bytes: 1 << 20, Fingerprinter: neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 3}}}} {
		if err := one.Merge(filter(t, o)); err == nil {
			t.Errorf("%+v is merged", o)
		}
	}
}

// TestFile: a filter comes back as it was, also a merged one, and anything else is an error.
func TestFile(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	f := filter(t, Options{Bytes: 64 << 10})
	doc := document(text(r, 100))
	f.Seen(document(text(r, 100)))
	f.Turn()
	f.Seen(doc)
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatal(n, b.Len(), err)
	}
	data := b.Bytes()
	again, err := Read(bytes.NewReader(data), neardup.Fingerprinter{})
	if err != nil || again.shape != f.shape || again.documents != f.documents || !again.Has(doc) || again.FalseAlarms() != f.FalseAlarms() {
		t.Fatal(err)
	}
	if err := again.Merge(f); err != nil {
		t.Error(err)
	}
	if _, err := Read(bytes.NewReader(data), neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 3}}); err == nil || !strings.Contains(err.Error(), "other features") {
		t.Error(err)
	}
	for range 300 {
		bad := append([]byte(nil), data...)
		bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		if _, err := Read(bytes.NewReader(bad), neardup.Fingerprinter{}); err == nil {
			t.Fatal("damage is not detected")
		}
		if _, err := Read(bytes.NewReader(data[:r.IntN(len(data))]), neardup.Fingerprinter{}); err != errFile {
			t.Fatal(err)
		}
	}
	own := filter(t, Options{Bytes: 64 << 10, Fingerprinter: neardup.Fingerprinter{Tokenizer: tokenizer{}}})
	if _, err := own.WriteTo(&b); err == nil {
		t.Error("features that have no name are written")
	}
}

type tokenizer struct{ neardup.Words }

// TestOptions: wrong ones are errors.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Bytes: 1000}, {Bytes: -1}, {Bytes: math.MaxInt64}, {Bytes: 1 << 20, Similarity: 1}, {Bytes: 1 << 20, Similarity: math.NaN()}, {Bytes: 1 << 20, Misses: -1}, {Bytes: 1 << 20, FalseAlarms: 2},
		{Bytes: 1 << 20, Similarity: 0.06, Misses: 0.001}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestConcurrent: of goroutines with one document, one finds it new.
func TestConcurrent(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	f := filter(t, Options{Bytes: 1 << 20})
	var docs []neardup.Document
	for range 50 {
		docs = append(docs, document(text(r, 80)))
	}
	var isNew atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, d := range docs {
				if !f.Seen(d) {
					isNew.Add(1)
				}
				f.Has(d)
				f.Len()
			}
		})
	}
	wg.Wait()
	if isNew.Load() != 50 {
		t.Errorf("%d of 50 are new", isNew.Load())
	}
}

// FuzzRead: no bytes are read as a filter that fails.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "filter.bin"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:100])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, err := Read(bytes.NewReader(data), neardup.Fingerprinter{}); err == nil {
			g.Seen(neardup.Text("one two three"))
			g.FalseAlarms()
		}
	})
}

// BenchmarkSeen: the time for a text of 1,200 bytes.
func BenchmarkSeen(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 8))
	f := filter(b, Options{Bytes: 1 << 28})
	var docs []neardup.Document
	for range 2000 {
		docs = append(docs, document(text(r, 130)))
	}
	b.ResetTimer()
	for i := range b.N {
		f.Seen(docs[i%len(docs)])
	}
}

// BenchmarkFull fills a filter with signatures, and reports bytes for each document, false alarms, and misses at a similarity of .8. It is filled with as many documents as the name says, more than a million only with -full.
func BenchmarkFull(b *testing.B) {
	for _, millions := range []int64{1, 10, 50, 100} {
		b.Run(fmt.Sprint(millions, "M"), func(b *testing.B) {
			if millions > 1 && !*full {
				b.Skip("takes minutes: pass -full")
			}
			for range b.N {
				r := rand.New(rand.NewPCG(9, 9))
				size := int64(1 << 20)
				size = size * millions * 1_000_000 / (2 * filter(b, Options{Bytes: size}).Capacity())
				f := filter(b, Options{Bytes: size})
				for f.Len() < 2*f.Capacity()-2 {
					a, _ := signatures(r, f.minhash.Values, 0)
					f.seen(f.keysOf(a))
				}
				const n = 1_000_000
				alarms, missed := 0, 0
				for range n {
					a, c := signatures(r, f.minhash.Values, 0.8)
					if keys := f.keysOf(a); f.young.hasAny(keys) || f.old.hasAny(keys) {
						alarms++
					}
					keys, agree := f.keysOf(a), false
					for i, key := range f.keysOf(c) {
						agree = agree || key == keys[i]
					}
					if !agree {
						missed++
					}
				}
				b.ReportMetric(float64(16*len(f.young.words))/float64(f.Len()), "bytes/doc")
				b.ReportMetric(float64(alarms)/n*1e6, "alarms/million")
				b.ReportMetric(float64(missed)/n*100, "%missed")
				b.ReportMetric(f.Misses(0.8)*100, "%missed-in-theory")
			}
		})
	}
}
