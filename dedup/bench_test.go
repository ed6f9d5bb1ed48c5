package dedup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup"
)

// made text number n of a benchmark: 180 of 30,000 words, some of them frequent. A tenth are copies of another with a twentieth of
// the words replaced.
func benchText(n int) string {
	rnd := rand.New(rand.NewPCG(uint64(n), 7))
	word := func() int { return int(30_000 * rnd.Float64() * rnd.Float64() * rnd.Float64()) }
	of := n
	if n%10 == 9 {
		of = n - 1 - rnd.IntN(9)
	}
	base := rand.New(rand.NewPCG(uint64(of), 8))
	var b strings.Builder
	for range 180 {
		w := int(30_000 * base.Float64() * base.Float64() * base.Float64())
		if of != n && rnd.IntN(20) == 0 {
			w = word()
		}
		fmt.Fprintf(&b, "w%d ", w)
	}
	return b.String()
}

// addBenchTexts adds the first n texts.
func addBenchTexts(d *Deduplicator[int], n int) error {
	return d.AddAll(bg, func(yield func(int, neardup.Document) bool) {
		for i := range n {
			if !yield(i, neardup.Text(benchText(i))) {
				return
			}
		}
	})
}

// benchFiles makes a Deduplicator of n texts in files, and returns their path.
func benchFiles(b *testing.B, n int) string {
	path := filepath.Join(b.TempDir(), "documents")
	d, err := Open[int](path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err = addBenchTexts(d, n); err == nil {
		err = d.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// sizes are how many documents there are; with NEARDUP_LARGE up to a million.
func sizes() []int {
	if os.Getenv("NEARDUP_LARGE") != "" {
		return []int{10_000, 1_000_000}
	}
	return []int{10_000, 100_000}
}

// benchMemory makes a Deduplicator of n texts in memory.
func benchMemory(b *testing.B, n int) *Deduplicator[int] {
	d, err := New[int](Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := addBenchTexts(d, n); err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkAdd adds texts to 10,000; the size is that of a text.
func BenchmarkAdd(b *testing.B) {
	const n = 10_000
	d := benchMemory(b, n)
	texts := make([]neardup.Text, 1000)
	for i := range texts {
		texts[i] = neardup.Text(benchText(n + i))
	}
	b.SetBytes(int64(len(texts[0])))
	for i := 0; b.Loop(); i++ {
		if err := d.Add(n+i, texts[i%len(texts)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch searches 10,000 texts for others, of which a tenth are found.
func BenchmarkSearch(b *testing.B) {
	const n = 10_000
	d := benchMemory(b, n)
	texts := make([]neardup.Text, 1000)
	for i := range texts {
		texts[i] = neardup.Text(benchText(n + i))
	}
	for i := 0; b.Loop(); i++ {
		for range d.Search(bg, texts[i%len(texts)]) {
		}
	}
}

// BenchmarkPairs finds the pairs of 10,000 texts.
func BenchmarkPairs(b *testing.B) {
	d := benchMemory(b, 10_000)
	for b.Loop() {
		for range d.Pairs(bg) {
		}
	}
}

// BenchmarkOpen opens a Deduplicator in files, and searches once.
func BenchmarkOpen(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			path := benchFiles(b, n)
			for i := 0; b.Loop(); i++ {
				d, err := Open[int](path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if found := listed(d.Search(bg, neardup.Text(benchText(i*10%n)))); len(found) == 0 {
					b.Fatal("a text does not find itself")
				}
				b.StopTimer()
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkExistsAndAdd puts texts into a Deduplicator in files that was just opened, unless there is a near-duplicate.
func BenchmarkExistsAndAdd(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			d, err := Open[int](benchFiles(b, n), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			var took []time.Duration
			for i := n; b.Loop(); i++ {
				start := time.Now()
				if _, err := d.ExistsAndAdd(bg, i, neardup.Text(benchText(i))); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-µs")
		})
	}
}
