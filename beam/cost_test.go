package neardupbeam

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
)

// BenchmarkCost tells what the steps of a pipeline cost without the engine around them: the time of the workers, the
// bytes that go through each shuffle, and the candidates, all per document.
//
//	NEARDUP_DATA=… go test -run '^$' -bench Cost -benchtime 1x .
//
// docs/beyond.md extrapolates from it.
func BenchmarkCost(b *testing.B) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		b.Skip("NEARDUP_DATA is not set")
	}
	all, err := collections.Data(dir)
	if err != nil {
		b.Fatal(err)
	}
	docs := documentsOf(all["en-newsgroups"])
	size := 0
	for _, d := range docs {
		size += len(d.Text)
	}
	n := float64(len(docs))
	for name, o := range map[string]Options{"simhash": {Blocks: 5}, "minhash": {Method: MinHash}, "cosine": {Method: Cosine, Similarity: 0.6}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				set := o.must()
				profile := &profileFn{settings: set}
				if err := profile.Setup(); err != nil {
					b.Fatal(err)
				}
				if set.Method == Cosine {
					counter := neardup.StatisticsBuilder{Fingerprinter: *profile.f}
					for _, d := range docs {
						counter.Add(d.Text)
					}
					profile.f.Weight = weightOf(counter.Build())
				}
				per := func(start time.Time) float64 { return float64(time.Since(start).Nanoseconds()) / n }
				start := time.Now()
				var profiles []Profile
				for _, d := range docs {
					profile.ProcessElement(d, func(p Profile) { profiles = append(profiles, p) }, func(Note) {})
				}
				b.ReportMetric(per(start), "profile-ns/doc")

				// shuffle groups by key, and counts bytes.
				shuffle := func(run func(emit func(key, value []byte))) (map[string][][]byte, float64) {
					bytes := 0
					groups := map[string][][]byte{}
					run(func(key, value []byte) {
						bytes += len(key) + len(value)
						groups[string(key)] = append(groups[string(key)], value)
					})
					return groups, float64(bytes) / n
				}
				iterate := func(values [][]byte) func(*[]byte) bool {
					return func(v *[]byte) bool {
						if len(values) == 0 {
							return false
						}
						*v, values = values[0], values[1:]
						return true
					}
				}
				contents := map[string][]byte{}
				byContent, bytes := shuffle(func(emit func(key, value []byte)) {
					fn := &keyFn{settings: set}
					for _, p := range profiles {
						fn.ProcessElement(p, emit, func(_, _ []byte) {})
					}
				})
				for key, profiles := range byContent {
					fn := &contentFn{settings: set}
					fn.ProcessElement([]byte(key), iterate(profiles), func(_, content []byte) { contents[key] = content })
				}
				b.ReportMetric(bytes, "content-B/doc")

				start = time.Now()
				spread := &spreadFn{settings: set}
				spread.Setup()
				count := 0
				for key, content := range contents {
					spread.ProcessElement([]byte(key), content, func(_, _ []byte) { count++ })
				}
				b.ReportMetric(per(start), "spread-ns/doc")
				buckets, bytes := shuffle(func(emit func(key, value []byte)) {
					for key, content := range contents {
						spread.ProcessElement([]byte(key), content, emit)
					}
				})
				b.ReportMetric(bytes, "bucket-B/doc")
				b.ReportMetric(float64(count)/n, "bucket-rows/doc")

				start = time.Now()
				met, edges := 0, 0
				bucket := &bucketFn{settings: set}
				bucket.Setup()
				for key, members := range buckets {
					met += len(members) * (len(members) - 1) / 2
					bucket.ProcessElement(context.Background(), []byte(key), iterate(members), func(_, _ []byte) { edges++ }, func(_, _ []byte) {})
				}
				b.ReportMetric(per(start), "bucket-ns/doc")
				b.ReportMetric(float64(met)/n, "met/doc")
				if set.Method == SimHash {
					b.ReportMetric(float64(edges)/n, "edges/doc")
					continue
				}
				byFirst, bytes := shuffle(func(emit func(key, value []byte)) {
					for key, members := range buckets {
						bucket.ProcessElement(context.Background(), []byte(key), iterate(members), emit, func(_, _ []byte) {})
					}
				})
				b.ReportMetric(bytes, "met-B/doc")
				candidates := 0
				bySecond, bytes := shuffle(func(emit func(key, value []byte)) {
					for key, all := range byFirst {
						gatherCandidates([]byte(key), iterate([][]byte{contents[key]}), iterate(all), func(k, v []byte) { candidates++; emit(k, v) })
					}
				})
				b.ReportMetric(bytes, "candidate-B/doc")
				b.ReportMetric(float64(candidates)/n, "candidates/doc")
				verify := &verifyFn{settings: set}
				verify.Setup()
				start = time.Now()
				edges = 0
				for key, halves := range bySecond {
					verify.ProcessElement(context.Background(), []byte(key), iterate([][]byte{contents[key]}), iterate(halves), func(_, _ []byte) { edges++ })
				}
				b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(max(candidates, 1)), "verify-ns/candidate")
				b.ReportMetric(float64(edges)/n, "edges/doc")
			}
			b.ReportMetric(float64(size)/n, "text-B/doc")
			b.ReportMetric(0, "ns/op")
		})
	}
}
