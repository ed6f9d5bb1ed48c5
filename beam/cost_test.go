package neardupbeam

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
	"github.com/neardup/neardup/internal/graph"
)

// benchTexts returns what the benchmarks read by name: posts and news if there are data, or else the pages in testdata of the library.
func benchTexts(b *testing.B) map[string][]Document {
	docs := map[string][]Document{}
	if dir := os.Getenv("NEARDUP_DATA"); dir != "" {
		all, err := collections.Data(dir)
		if err != nil {
			b.Fatal(err)
		}
		for name, texts := range all {
			docs[name] = documentsOf(texts)
		}
		return docs
	}
	for name, pages := range map[string]string{"en-newsgroups": "en", "zh-news": "zh"} {
		f, err := os.Open("../testdata/" + pages + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for lines := json.NewDecoder(f); lines.More(); {
			var d Document
			if err := lines.Decode(&d); err != nil {
				b.Fatal(err)
			}
			docs[name] = append(docs[name], d)
		}
	}
	return docs
}

// BenchmarkCost tells what the steps of a pipeline cost without the engine around them: the time of the workers, the
// bytes that go through each shuffle, and the candidates, all per document.
//
//	NEARDUP_DATA=… go test -run '^$' -bench Cost -benchtime 1x .
//
// docs/beyond.md extrapolates from it.
func BenchmarkCost(b *testing.B) {
	docs := benchTexts(b)["en-newsgroups"]
	size := 0
	for _, d := range docs {
		size += len(d.Text)
	}
	n := float64(len(docs))
	for name, o := range map[string]Options{"simhash": {Method: SimHash, Blocks: 5}, "minhash": {Method: MinHash}, "cosine": {Method: Cosine, Similarity: 0.6}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				set := o.must()
				profile := &profileFn{settings: set}
				if err := profile.Setup(); err != nil {
					b.Fatal(err)
				}
				if set.Method == Cosine {
					counter := neardup.DocumentFrequenciesBuilder{Fingerprinter: *profile.f}
					for _, d := range docs {
						counter.Add(neardup.Text(d.Text))
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
				contents := map[string][]byte{}
				byContent, bytes := shuffle(func(emit func(key, value []byte)) {
					fn := &keyFn{settings: set}
					for _, p := range profiles {
						fn.ProcessElement(p, emit, func(_, _ []byte) {})
					}
				})
				for key, profiles := range byContent {
					fn := &contentFn{settings: set}
					fn.ProcessElement([]byte(key), eachOf(profiles), func(_, content []byte) { contents[key] = content })
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
					bucket.ProcessElement(context.Background(), []byte(key), eachOf(members), func(_, _ []byte) { edges++ }, func(_, _ []byte) {})
				}
				b.ReportMetric(per(start), "bucket-ns/doc")
				b.ReportMetric(float64(met)/n, "met/doc")
				if set.Method == SimHash {
					b.ReportMetric(float64(edges)/n, "edges/doc")
					continue
				}
				byFirst, bytes := shuffle(func(emit func(key, value []byte)) {
					for key, members := range buckets {
						bucket.ProcessElement(context.Background(), []byte(key), eachOf(members), emit, func(_, _ []byte) {})
					}
				})
				b.ReportMetric(bytes, "met-B/doc")
				candidates := 0
				bySecond, bytes := shuffle(func(emit func(key, value []byte)) {
					for key, all := range byFirst {
						gatherCandidates([]byte(key), eachOf([][]byte{contents[key]}), eachOf(all), func(k, v []byte) { candidates++; emit(k, v) })
					}
				})
				b.ReportMetric(bytes, "candidate-B/doc")
				b.ReportMetric(float64(candidates)/n, "candidates/doc")
				verify := &verifyFn{settings: set}
				verify.Setup()
				start = time.Now()
				edges = 0
				for key, halves := range bySecond {
					verify.ProcessElement(context.Background(), []byte(key), eachOf([][]byte{contents[key]}), eachOf(halves), func(_, _ []byte) { edges++ })
				}
				b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(max(candidates, 1)), "verify-ns/candidate")
				b.ReportMetric(float64(edges)/n, "edges/doc")
			}
			b.ReportMetric(float64(size)/n, "text-B/doc")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkAutoCost is BenchmarkCost for Auto.
func BenchmarkAutoCost(b *testing.B) {
	all := benchTexts(b)
	set := Options{Method: Auto}.must()
	for _, name := range []string{"en-newsgroups", "zh-news"} {
		docs := all[name]
		n := float64(len(docs))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				took := map[string]time.Duration{}
				bytes := map[string]int{}
				// into returns what puts values into groups, and counts the bytes that go through a shuffle.
				into := func(what string, groups map[string][][]byte) func(key, value []byte) {
					return func(key, value []byte) {
						bytes[what] += len(key) + len(value)
						groups[string(key)] = append(groups[string(key)], slices.Clone(value))
					}
				}
				step := func(what string, run func()) {
					start := time.Now()
					run()
					took[what] = time.Since(start)
				}
				must := func(err error) {
					if err != nil {
						b.Fatal(err)
					}
				}
				signatures, texts, buckets, links, byRoot := map[string][][]byte{}, map[string][][]byte{}, map[string][][]byte{}, map[string][][]byte{}, map[string][][]byte{}
				sign := &signFn{settings: set}
				must(sign.Setup())
				step("sign", func() {
					for _, d := range docs {
						must(sign.ProcessElement(d, into("signature", signatures), into("text", texts), func(Note) {}))
					}
				})
				step("spread", func() {
					for digest, all := range signatures {
						must(spreadSignature([]byte(digest), all[0], into("bucket", buckets)))
					}
				})
				forest, number := graph.NewForest(len(signatures)), map[string]int{}
				for digest := range signatures {
					number[digest] = len(number)
				}
				step("link", func() {
					for bucket, members := range buckets {
						must(linkBucket(context.Background(), []byte(bucket), eachOf(members), into("link", links), func(Note) {}))
					}
				})
				for a, all := range links {
					for _, edge := range all {
						d := decoder{b: edge}
						forest.Join(number[a], number[string(d.bytes())])
					}
				}
				linked := 0
				roots := forest.Roots()
				sizes := make([]int, len(roots))
				for _, root := range roots {
					sizes[root]++
				}
				for digest, all := range texts {
					root := roots[number[digest]]
					if sizes[root] > 1 || len(all) > 1 {
						linked += len(all)
						for _, text := range all {
							into("component", byRoot)([]byte{byte(root), byte(root >> 8), byte(root >> 16)}, text)
						}
					}
				}
				compare := &groupFn{set}
				step("compare", func() {
					for root, documents := range byRoot {
						must(compare.ProcessElement(context.Background(), []byte(root), eachOf(documents), func(Member) {}, func(Family) {}))
					}
				})
				for what, d := range took {
					b.ReportMetric(float64(d.Microseconds())/n, what+"-µs/doc")
				}
				for what, size := range bytes {
					b.ReportMetric(float64(size)/n, what+"-B/doc")
				}
				b.ReportMetric(float64(linked)/n, "linked/doc")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// eachOf iterates over values.
func eachOf(values [][]byte) func(*[]byte) bool {
	return func(v *[]byte) bool {
		if len(values) == 0 {
			return false
		}
		*v, values = values[0], values[1:]
		return true
	}
}
