package neardup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/race"
)

// naiveFrequencies counts documents by feature.
func naiveFrequencies(f *Fingerprinter, docs []string) map[string]int {
	df := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		for t := range f.tokenizer().Tokens(f.Normalizer.Normalize(d)) {
			if !seen[t.Text] {
				seen[t.Text] = true
				df[t.Text]++
			}
		}
	}
	return df
}

func checkFrequencies(t *testing.T, name string, s *DocumentFrequencies, docs int, df map[string]int) {
	t.Helper()
	if s.Documents() != docs || s.Terms() != len(df) {
		t.Errorf("%s: %d documents and %d terms, want %d and %d", name, s.Documents(), s.Terms(), docs, len(df))
	}
	for term, want := range df {
		if got := s.Frequency(term); got != want {
			t.Fatalf("%s: %q is in %d documents, want %d", name, term, got, want)
		}
	}
	if got := s.Frequency("a feature that nobody has"); got != 0 {
		t.Errorf("%s: an unknown feature is in %d documents", name, got)
	}
}

func corpusTexts(t testing.TB, names ...string) (docs []string) {
	for _, name := range names {
		for _, d := range corpus(t, name) {
			docs = append(docs, d.Text)
		}
	}
	return docs
}

// TestStatistics: counted one by one, side by side, in parts that are merged, or read
// from a file, they are the same.
func TestStatistics(t *testing.T) {
	docs := append(corpusTexts(t, "en", "zh", "more"), "", "。", "once")
	for name, f := range map[string]Fingerprinter{
		"words": {Tokenizer: Words{}}, "default": {}, "opaque": {Tokenizer: opaque{NGrams{2}}, Custom: "opaque"}, "html": {Normalizer: Normalizer{HTML: true}},
	} {
		df := naiveFrequencies(&f, docs)
		one := DocumentFrequenciesBuilder{Fingerprinter: f}
		for _, d := range docs {
			one.Add(Text(d))
		}
		if one.Documents() != len(docs) || one.Terms() != len(df) {
			t.Errorf("%s: the builder has %d documents and %d terms", name, one.Documents(), one.Terms())
		}
		s := one.Build()
		checkFrequencies(t, name, s, len(docs), df)
		if one.Documents() != 0 || one.Terms() != 0 {
			t.Errorf("%s: the builder still has something", name)
		}
		many := DocumentFrequenciesBuilder{Fingerprinter: f}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := w; i < len(docs); i += 4 {
					many.Add(Text(docs[len(docs)-1-i]))
				}
			})
		}
		wg.Wait()
		if got := many.Build(); got.id() != s.id() {
			t.Errorf("%s: the order matters", name)
		}
		merged := DocumentFrequenciesBuilder{Fingerprinter: f}
		for part := range 3 {
			b := DocumentFrequenciesBuilder{Fingerprinter: f}
			for i := part; i < len(docs); i += 3 {
				b.Add(Text(docs[i]))
			}
			var file bytes.Buffer
			n, err := b.Build().WriteTo(&file)
			if err != nil || n != int64(file.Len()) {
				t.Fatal(n, file.Len(), err)
			}
			read, err := ReadDocumentFrequencies(&file, &f)
			if err != nil {
				t.Fatal(err)
			}
			if err := merged.Merge(read); err != nil {
				t.Fatal(err)
			}
		}
		got := merged.Build()
		checkFrequencies(t, name+", merged", got, len(docs), df)
		if got.id() != s.id() {
			t.Errorf("%s: merged parts have another digest", name)
		}
		f.Weight = Product{Count, IDF{Frequencies: s}}
		if v, err := f.Version(); err != nil || !strings.Contains(v, fmt.Sprintf("idf(%016x)", s.id())) {
			t.Error(v, err)
		}
	}
}

// TestPrune: by frequency, by number, and both.
func TestPrune(t *testing.T) {
	build := func(min, most int) (*DocumentFrequencies, int) {
		var b DocumentFrequenciesBuilder
		b.Fingerprinter.Tokenizer = Words{}
		for i := range 100 { // wordN is in 100−N documents
			var text strings.Builder
			for n := range i + 1 {
				fmt.Fprintf(&text, "word%d ", n)
			}
			b.Add(Text(text.String()))
		}
		b.Prune(min, most)
		terms := b.Terms()
		return b.Build(), terms
	}
	for _, test := range [][3]int{{0, 0, 100}, {1, 0, 100}, {50, 0, 51}, {101, 0, 0}, {0, 30, 30}, {0, 1000, 100}, {90, 30, 11}, {90, 5, 5}, {-5, -5, 100}} {
		s, terms := build(test[0], test[1])
		if s.Terms() != test[2] || terms != test[2] || s.Documents() != 100 {
			t.Errorf("Prune(%d, %d) leaves %d and %d", test[0], test[1], s.Terms(), terms)
		}
		for n := range 100 {
			want := 100 - n
			if n >= test[2] {
				want = 0
			}
			if got := s.Frequency(fmt.Sprintf("word%d", n)); got != want {
				t.Errorf("Prune(%d, %d): word%d is in %d documents, want %d", test[0], test[1], n, got, want)
			}
		}
	}
	var b DocumentFrequenciesBuilder // of equal ones all go
	b.Add(Text("one two three four"))
	if b.Prune(0, 2); b.Terms() != 0 {
		t.Errorf("%d of three equal ones", b.Terms())
	}
	// What was forgotten, and what is unknown, weighs as the most frequent of it.
	f := Fingerprinter{Tokenizer: Words{}}
	b = DocumentFrequenciesBuilder{Fingerprinter: f}
	for i := range 10 {
		b.Add(Text(fmt.Sprintf("all own%d half%d", i, i/5)))
	}
	b.Prune(0, 1)
	s := b.Build()
	var file bytes.Buffer
	if _, err := s.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadDocumentFrequencies(&file, &f)
	if err != nil {
		t.Fatal(err)
	}
	b.Merge(read)
	for _, s := range []*DocumentFrequencies{s, read, b.Build()} {
		for word, want := range map[string]float64{"all": 10.0 / 10, "half0": 10.0 / 5, "own3": 10.0 / 5, "unknown": 10.0 / 5} {
			if got := (IDF{Frequencies: s}).Weigh(&Feature{Token: Token{Text: word}}); got != exact.Ln(want) {
				t.Errorf("%s weighs %v, want %v", word, got, exact.Ln(want))
			}
		}
	}
	b.documents.Store(1<<32 - 5)
	if err := b.Merge(s); err == nil {
		t.Error("too many documents were merged")
	}
	b.documents.Store(1 << 33)
	if s := b.Build(); s.documents != 1<<32-1 {
		t.Error(s.documents, "documents")
	}
}

// TestFrequencies compares the table with a map, with keys that come close to each other.
func TestFrequencies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for _, mask := range []uint64{1<<64 - 1, 0xFF, 0x3FF << 54, 0xFFFF} {
		var f frequency.Table
		want := map[uint64]uint32{}
		for range 30_000 {
			key, n := max(rnd.Uint64()&mask, 1), rnd.Uint32()%5+1
			f.Add(key, n)
			want[key] += n
		}
		f.Add(1, 1<<32-1)
		f.Add(1, 1<<32-1)
		want[1] = 1<<32 - 1
		for range 2 {
			if f.Len() != len(want) {
				t.Fatalf("%d keys, want %d", f.Len(), len(want))
			}
			for key, n := range want {
				if got := f.Find(key, 0); got != n {
					t.Fatalf("%x has %d, want %d", key, got, n)
				}
				if other := key ^ 1<<63; want[other] == 0 && other != 0 && f.Find(other, 7) != 7 {
					t.Fatalf("%x has %d", other, f.Find(other, 7))
				}
			}
			f.Prune(60)
			for key, n := range want {
				if n < 60 {
					delete(want, key)
				}
			}
		}
		left := f.Take()
		if f.Len() != 0 || left.Len() != len(want) {
			t.Fatal("take leaves something")
		}
	}
}

// TestStatisticsMemory: ten million features take at most 250 MB, while they are counted
// and afterwards.
func TestStatisticsMemory(t *testing.T) {
	if !*full || race.Enabled {
		t.Skip("takes long")
	}
	const n = 10_000_000
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	var b DocumentFrequenciesBuilder
	keys := make([]uint64, 1000)
	most := int64(0)
	for i := range n / len(keys) {
		for j := range keys {
			keys[j] = uint64(i*len(keys)+j+1) * 0x9E3779B97F4A7C15
		}
		b.documents.Add(1)
		b.table.Count(keys, make([]uint64, len(keys)))
		if i%1000 == 0 {
			most = max(most, live()-before)
		}
	}
	s := b.Build()
	after := live() - before
	most = max(most, after)
	t.Logf("%d features: at most %.0f MB while counting, %.0f MB built", s.Terms(), float64(most)/1e6, float64(after)/1e6)
	if s.Terms() != n || most > 250e6 {
		t.Errorf("%d features in %d bytes", s.Terms(), most)
	}
	runtime.KeepAlive(s)
}

func statisticsFile(t testing.TB, f *Fingerprinter, docs ...string) []byte {
	b := DocumentFrequenciesBuilder{Fingerprinter: *f}
	for _, d := range docs {
		b.Add(Text(d))
	}
	var file bytes.Buffer
	if _, err := b.Build().WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestStatisticsFile: whatever is damaged is noticed, and what is of other features is
// refused.
func TestStatisticsFile(t *testing.T) {
	f := Fingerprinter{Tokenizer: Words{}}
	data := statisticsFile(t, &f, "one two three four", "two three four", "three")
	if again := statisticsFile(t, &f, "three", "two three four", "one two three four"); !bytes.Equal(again, data) {
		t.Error("the file depends on the order")
	}
	for i := range data {
		for _, damaged := range [][]byte{data[:i], append(append(bytes.Clone(data[:i]), data[i]^1), data[i+1:]...), append(append(bytes.Clone(data[:i]), data[i]^0x80), data[i+1:]...)} {
			if s, err := ReadDocumentFrequencies(bytes.NewReader(damaged), &f); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) || s != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	seeded, _ := SeededHash([]byte("0123456789abcdef"))
	for _, g := range []*Fingerprinter{{}, {Tokenizer: Words{}, Normalizer: Normalizer{Numbers: TreatmentMask}}, {Tokenizer: Words{}, Hash: seeded}, {Tokenizer: Words{}, Fields: []Field{{Name: "x"}}}} {
		_, err := ReadDocumentFrequencies(bytes.NewReader(data), g)
		if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "collect them again") {
			t.Error(err)
		}
		s, err := ReadDocumentFrequencies(bytes.NewReader(data), &f)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&DocumentFrequenciesBuilder{Fingerprinter: *g}).Merge(s); !errors.Is(err, ErrVersion) {
			t.Errorf("merged: %v", err)
		}
	}
	if _, err := ReadDocumentFrequencies(bytes.NewReader(data), &Fingerprinter{Tokenizer: Words{}, Weight: LogCount, TiesOne: true, Custom: "x"}); err != nil {
		t.Error("the weight matters:", err)
	}
	own := Fingerprinter{Tokenizer: noThe{}}
	if _, err := new(DocumentFrequencies).WriteTo(io.Discard); err == nil {
		t.Error("the zero value was written")
	}
	b := DocumentFrequenciesBuilder{Fingerprinter: own}
	if _, err := b.Build().WriteTo(io.Discard); err == nil {
		t.Error("statistics of a tokenizer without a name were written")
	}
	if _, err := ReadDocumentFrequencies(bytes.NewReader(data), &own); err == nil {
		t.Error("statistics of a tokenizer without a name were read")
	}
	empty := statisticsFile(t, &f)
	if s, err := ReadDocumentFrequencies(bytes.NewReader(empty), &f); err != nil || s.Documents() != 0 || s.Terms() != 0 {
		t.Error(err)
	}
}

// FuzzStatistics reads files with wrong contents and right checksums: an error, or
// statistics that are written as they were read.
func FuzzStatistics(f *testing.F) {
	fp := &Fingerprinter{Tokenizer: Words{}}
	f.Add(statisticsFile(f, fp, "one two three four", "two three four", "three"))
	f.Add(statisticsFile(f, fp))
	of := fp.features()
	version, err := of.version()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, forge("statistics", version, data)} {
			s, err := ReadDocumentFrequencies(bytes.NewReader(data), fp)
			if err != nil {
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
					t.Fatal(err)
				}
				continue
			}
			var file bytes.Buffer
			if _, err := s.WriteTo(&file); err != nil {
				t.Fatal(err)
			}
			again, err := ReadDocumentFrequencies(&file, fp)
			if err != nil || again.id() != s.id() || again.Documents() != s.Documents() || again.Terms() != s.Terms() {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkStatistics(b *testing.B) {
	for _, tok := range []struct {
		name string
		of   Tokenizer
	}{{"words", Words{}}, {"default", nil}} {
		b.Run("text=en/size=10240/tokenizer="+tok.name, func(b *testing.B) {
			text := throughput(b, "en", 8<<20)
			s := DocumentFrequenciesBuilder{Fingerprinter: Fingerprinter{Tokenizer: tok.of}}
			b.SetBytes(10 << 10)
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 10<<10) % (8<<20 - 20<<10) {
				s.Add(Text(text[i : i+10<<10]))
			}
		})
	}
}

// TestKeysWrap: keys that would begin again from 0 are damage.
func TestKeysWrap(t *testing.T) {
	f := &Fingerprinter{}
	of := f.features()
	version, _ := of.version()
	var b bytes.Buffer
	w := format.NewWriter(&b, "statistics", version)
	for _, record := range [][2]uint64{{1, 0}, {math.MaxUint64, 1}, {5, 1}} {
		w.Uvarint(record[0])
		w.Uvarint(record[1])
		w.EndRecord()
	}
	w.Close()
	if s, err := ReadDocumentFrequencies(&b, f); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, %v", s, err)
	}
}
