package neardup

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// data opens a compressed file of the data, or skips.
func data(t testing.TB, path ...string) io.Reader {
	t.Helper()
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	f, err := os.Open(filepath.Join(dir, filepath.Join(path...)))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// throughput returns n bytes of text: of the throughput set of the language if there are data, or else of the
// pages in testdata, again and again.
func throughput(t testing.TB, lang string, n int) string {
	t.Helper()
	if os.Getenv("NEARDUP_DATA") == "" {
		var text strings.Builder
		for pages := corpusTexts(t, lang); text.Len() < n; {
			for _, page := range pages {
				text.WriteString(page + "\n")
			}
		}
		return text.String()[:n]
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(data(t, "throughput", lang+".txt.gz"), text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// large reports whether benchmarks may take gigabytes and minutes.
func large() bool { return os.Getenv("NEARDUP_LARGE") != "" }

// windows returns a function that returns the next n bytes of 8 MB of text each time. A
// processor learns a text that it sees again and again, so one alone would be too fast.
func windows(b *testing.B, lang string, n int) (next func() string) {
	b.Helper()
	text, at := throughput(b, lang, 8<<20), 0
	return func() string {
		if at+n > len(text) {
			at = 0
		}
		at += n
		return text[at-n : at]
	}
}

func BenchmarkSum64(b *testing.B) {
	toks := []struct {
		name string
		tok  Tokenizer
	}{{"default", nil}, {"words", Words{}}, {"chars2", NGrams{2}}, {"chars3", NGrams{3}}, {"chars5", NGrams{5}}}
	for _, lang := range []string{"en", "zh"} {
		for _, size := range []int{1 << 10, 10 << 10, 1 << 20} {
			for _, t := range toks {
				b.Run(fmt.Sprintf("text=%s/size=%d/tokenizer=%s", lang, size, t.name), func(b *testing.B) {
					next := windows(b, lang, size)
					f := Fingerprinter{Tokenizer: t.tok}
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for b.Loop() {
						f.Sum64(Text(next()))
					}
				})
			}
		}
	}
}

func BenchmarkAccumulate(b *testing.B) {
	h := make([]uint64, 4096)
	for i := range h {
		h[i] = uint64(i+1) * 0x9E3779B97F4A7C15
	}
	perFeature := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h)), "ns/feature")
	}
	b.Run("bits=64/weight=1", func(b *testing.B) {
		var a Accumulator64
		for b.Loop() {
			a.AddAll(h)
		}
		perFeature(b)
	})
	b.Run("bits=128/weight=1", func(b *testing.B) {
		var a Accumulator128
		for b.Loop() {
			a.AddAll(h, h)
		}
		perFeature(b)
	})
	weights := make([]int64, len(h))
	for i := range weights {
		weights[i] = int64(i) * 1234567 & (1<<24 - 1)
	}
	b.Run("bits=64/weight=real", func(b *testing.B) {
		var a Accumulator64
		for b.Loop() {
			a.AddWeighted(h, weights)
		}
		perFeature(b)
	})
	b.Run("bits=128/weight=real", func(b *testing.B) {
		var a Accumulator128
		for b.Loop() {
			a.AddWeighted(h, h, weights)
		}
		perFeature(b)
	})
	b.Run("bits=64/weight=one", func(b *testing.B) {
		var a Accumulator64
		for b.Loop() {
			for i, h := range h {
				a.Add(h, weights[i])
			}
		}
		perFeature(b)
	})
}

func BenchmarkWeights(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		text := throughput(b, lang, 8<<20)
		docs := slices.Collect(strings.Lines(text))
		for _, tok := range []struct {
			name string
			tok  Tokenizer
		}{{"words", Words{}}, {"default", Shingles{}}, {"chars3", NGrams{3}}} {
			f := Fingerprinter{Tokenizer: tok.tok}
			stats := DocumentFrequenciesBuilder{Fingerprinter: f}
			for _, d := range docs {
				stats.Add(Text(d))
			}
			idf := IDF{Frequencies: stats.Build(), Smooth: true}
			for _, w := range []struct {
				name string
				w    Weight
			}{{"count", nil}, {"tfidf", Product{Count, idf}}, {"log-tfidf", Product{LogCount, idf}}, {"length", Product{Count, idf, weightSum{Constant(1), termLength{}}}}} {
				b.Run(fmt.Sprintf("text=%s/size=10240/tokenizer=%s/weight=%s", lang, tok.name, w.name), func(b *testing.B) {
					f := f
					f.Weight = w.w
					b.SetBytes(10 << 10)
					b.ReportAllocs()
					for i := 0; b.Loop(); i = (i + 10<<10) % (8<<20 - 20<<10) {
						f.Sum64(Text(text[i : i+10<<10]))
					}
				})
			}
		}
	}
}

// BenchmarkSimilarity compares two texts of 10 KB of which a tenth differs, as vectors, sets and signatures.
func BenchmarkSimilarity(b *testing.B) {
	text := throughput(b, "en", 11<<10)
	x, y := Text(text[:10<<10]), Text(text[1<<10:])
	var f Fingerprinter
	b.Run("measure=cosine", func(b *testing.B) {
		x, y := f.Vector(x), f.Vector(y)
		for b.Loop() {
			x.Cosine(y)
		}
	})
	b.Run("measure=jaccard", func(b *testing.B) {
		x, y := f.Set(x), f.Set(y)
		for b.Loop() {
			x.Jaccard(y)
		}
	})
	b.Run("measure=estimate", func(b *testing.B) {
		x, y := f.Sign(x, MinHash{}), f.Sign(y, MinHash{})
		for b.Loop() {
			x.Jaccard(y)
		}
	})
}

func BenchmarkSumRecord(b *testing.B) {
	rec := Record{"given_name": "mitchell", "surname": "green", "street_number": "7", "address_1": "wallaby place", "address_2": "delmar", "suburb": "cleveland",
		"postcode": "2119", "state": "sa", "date_of_birth": "19560409", "soc_sec_id": "1804974"}
	for _, split := range []struct {
		name string
		of   Tokenizer
	}{{"whole", nil}, {"words", Words{}}, {"chars3", NGrams{3}}} {
		var f Fingerprinter
		for _, name := range slices.Sorted(maps.Keys(rec)) {
			f.Fields = append(f.Fields, Field{Name: name, Split: split.of})
		}
		for _, bits := range []int{64, 128} {
			b.Run(fmt.Sprintf("fields=10/split=%s/bits=%d", split.name, bits), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if bits == 64 {
						f.Sum64(rec)
					} else {
						f.Sum128(rec)
					}
				}
			})
		}
	}
}
