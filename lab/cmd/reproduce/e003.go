package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/neardup/neardup/lab/must"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/baseline"
	"github.com/neardup/neardup/lab/buckets"
	"github.com/neardup/neardup/lab/hashes"
	"github.com/neardup/neardup/lab/planted"
)

// This file is the experiment of Li 2015: rows of a database. It measures the time of hashes, and
// finds duplicates all at once. Precision and recall are in rows.go, one by one is in databases.go.

// e003 is the experiment of Li 2015.
func e003(l *lab) error {
	l.text("Li 2015 makes fingerprints of rows: each value of a small field is a feature of weight 2, the words of the large text weigh their counts, and the hash is CityHash64 instead of the program's. It finds duplicates by an index of four blocks, all at once or row by row.")
	l.text("Its data, petitions to a district of Guangzhou, are lost. Here rows are made up: name, district, street, telephone, date, category and channel from lists, some of them null, and as the text of the petition 100 to 500 characters of an article from %s.", l.data.source)
	if err := l.hashTimes(); err != nil {
		return err
	}
	if err := l.rowQuality(); err != nil {
		return err
	}
	if err := l.batch(); err != nil {
		return err
	}
	return l.incremental()
}

// hashTimes measures how long hashing and summing takes.
func (l *lab) hashTimes() error {
	l.section(3, "E003-1: time of fingerprints")
	pieces := l.pieces(l.size(30_000), 100, 500)
	s := planted.Stream(1)
	f := neardup.Fingerprinter{Tokenizer: l.data.terms, Fields: recordFields(nil)}
	var rows [][]weighted
	var seconds []float64 // time for finding the words of the first rows
	l.step("segmentation")
	start := time.Now()
	for i := range l.size(30_000) { // if there are fewer pieces, some are used several times
		var features []weighted
		for x, w := range f.Features(petition(&s, pieces[i%len(pieces)].Text, "投诉")) {
			features = append(features, weighted{x.Text, int64(w)})
		}
		rows = append(rows, features)
		seconds = append(seconds, time.Since(start).Seconds())
	}
	builtin := func(text string) uint64 { return hashes.S001Wide(text, 64).Uint64() }
	ways := []struct {
		name string
		sum  func(string) uint64
	}{
		{"builtin, numbers of any size", builtin}, {"builtin (s001) in 64 bits", hashes.S001().Sum64}, {"BKDR64", hashes.BKDR64(131).Sum64},
		{"CityHash64", hashes.CityHash64().Sum64}, {"Murmur3", hashes.Murmur3().Sum64}, {"xxh3 (the library)", xxh3.HashString},
	}
	sizes := []int{l.size(1000), l.size(5000), l.size(10_000), l.size(20_000), l.size(30_000)}
	p := newFigure("Time of hashing and summing", "rows", "milliseconds")
	p.Log()
	var table [][]string
	heads := []string{"ms, rows: "}
	cut := []string{"segmentation"}
	for _, n := range sizes {
		heads = append(heads, fmt.Sprint(n))
		cut = append(cut, fmt.Sprintf("%.0f", 1000*seconds[n-1]))
	}
	table = append(table, cut)
	took1 := make([]float64, len(ways)) // the time for all rows
	for style, way := range ways {
		l.step("hash: %s", way.name)
		line := []string{way.name}
		var x, y []float64
		for _, n := range sizes {
			took := timeSums(rows[:n], way.sum)
			took1[style] = took
			line = append(line, fmt.Sprintf("%.1f", took))
			x, y = append(x, float64(n)), append(y, took)
		}
		p.Line(way.name, style, x, y)
		table = append(table, line)
	}
	l.table(heads, table)
	l.text("One thread, the best of three; words are found once. Published: CityHash fastest, then BKDR64, the builtin slowest; the table is lost. CityHash and BKDR64 are level here, so that part of the order is not reproduced. Here the builtin one in numbers of any size, as the Java program computes it, takes %.1f times as long as CityHash64, the same hash in numbers of 64 bits %.1f times, and BKDR64 %.1f times: hashing and summing are timed together, and summing is the same for all, so differences between the fast hashes are hidden. Finding the words takes %.0f times as long as CityHash64.",
		took1[0]/took1[3], took1[1]/took1[3], took1[2]/took1[3], 1000*seconds[len(seconds)-1]/took1[3])
	l.headline("E003: order of the hashes by time", "CityHash, BKDR64, builtin", fmt.Sprintf("BKDR64 %.2f times, builtin %.1f times as long as CityHash64", took1[2]/took1[3], took1[0]/took1[3]), "")
	return l.figure("e003-hashes", "Time of hashing and summing, without segmentation. BKDR64, CityHash64, Murmur3 and xxh3 are nearly the same. Both axes are logarithmic.", p)
}

// A weighted feature.
type weighted struct {
	text   string
	weight int64
}

// timeSums returns how many milliseconds it takes to hash the features of the rows and to sum each
// row up, the best of three.
func timeSums(rows [][]weighted, hash func(string) uint64) float64 {
	took := math.Inf(1)
	for range 3 {
		start := time.Now()
		for _, features := range rows {
			a := neardup.Accumulator64{}
			for _, x := range features {
				a.Add(hash(x.text), x.weight)
			}
			sink ^= uint64(a.Sum())
		}
		took = min(took, 1000*time.Since(start).Seconds())
	}
	return took
}

//lint:ignore U1000 it is only written
var sink uint64 // uses the results, so that the compiler cannot drop the work

// batch compares Single-Pass, the index of the papers and the library on a whole collection.
func (l *lab) batch() error {
	l.section(3, "E003-3: all at once")
	fps := arriving(l.size(1_000_000))
	p := newFigure("All near-duplicates of a collection", "fingerprints", "seconds")
	p.Log()
	var rows [][]string
	type series struct{ x, y []float64 }
	lines := [3]series{}
	ways := []string{"Single-Pass", "index of four blocks", "library, Pairs"}
	for n := l.size(1000); n <= len(fps); n *= 10 {
		for i, way := range ways {
			if i == 0 && n > l.size(100_000) {
				continue
			}
			l.step("%s, %d", way, n)
			comparisons, found, took := "–", "", math.Inf(1)
			repeat := 3 // the best of three, if it does not take long
			if i == 0 && n > 10_000 {
				repeat = 1
			}
			for range repeat {
				start := time.Now()
				switch i {
				case 0:
					clusters, k := baseline.SinglePass(fps[:n], 3, baseline.Nearest)
					comparisons, found = fmt.Sprint(k), fmt.Sprint(n-different(clusters), " joined")
				case 1:
					ix, pairs, k := buckets.Index{}, 0, 0
					for _, fp := range fps[:n] {
						k += ix.Search(fp, func(int, int) bool { pairs++; return true }).Candidates
						ix.Add(fp)
					}
					comparisons, found = fmt.Sprint(k), fmt.Sprint(pairs, " pairs")
				case 2:
					pairs := 0
					for _, err := range neardup.Pairs(context.Background(), fps[:n], 3) {
						must.Do(err)
						pairs++
					}
					found = fmt.Sprint(pairs, " pairs")
				}
				took = min(took, time.Since(start).Seconds())
			}
			lines[i].x, lines[i].y = append(lines[i].x, float64(n)), append(lines[i].y, max(took, 1e-6))
			rows = append(rows, []string{fmt.Sprint(n), way, comparisons, found, fmt.Sprintf("%.4f", took)})
		}
	}
	for i, way := range ways {
		p.Line(way, i, lines[i].x, lines[i].y)
	}
	l.table([]string{"uniform fingerprints", "method ", "comparisons", "found", "seconds"}, rows)
	l.text("One of twenty is near an earlier one. Single-Pass, with the first member of a cluster as its representative and joining the nearest, compares about N²/2 times, the index about N²·4/2¹⁷ times: 2⁻¹⁴ of that. The paper describes agglomerative clustering under the name of Single-Pass, which is another thing. `Pairs` sorts by blocks instead of hashing, and uses all processors; the other two use one.")
	if !l.small { // it takes a tenth of the time of a small run, and the tests of baseline check it
		l.singlePassCounts()
	}
	last := len(lines[0].x) - 1
	l.headline(fmt.Sprintf("E003: %.0f fingerprints, Single-Pass / index", lines[0].x[last]), "lost; the gap grows", fmt.Sprintf("%.3g s / %.3g s", lines[0].y[last], lines[1].y[last]), fmt.Sprintf("%.3g s", lines[2].y[last]))
	return l.figure("e003-batch", "Both axes are logarithmic. Single-Pass grows with the square of the number.", p)
}

// singlePassCounts counts the comparisons on a corpus that everybody can make.
func (l *lab) singlePassCounts() {
	l.step("Single-Pass, counts")
	fps := planted.Corpus()
	var rows [][]string
	for _, way := range []struct {
		name string
		by   baseline.Representative
	}{{"joins the nearest", baseline.Nearest}, {"joins the first that fits", baseline.FirstFit}} {
		clusters, comparisons := baseline.SinglePass(fps, 3, way.by)
		rows = append(rows, []string{"Single-Pass, " + way.name, fmt.Sprint(different(clusters)), fmt.Sprint(comparisons)})
	}
	rows = append(rows, []string{"connected components", fmt.Sprint(different(must.Get(neardup.Components(context.Background(), fps, 3)))), "–"})
	l.text("On the 25,200 fingerprints of E002, of which `go test -C lab ./baseline` checks the counts:")
	l.table([]string{"method ", "clusters", "comparisons"}, rows)
}

// different returns the number of clusters.
func different(clusters []int) int {
	seen := map[int]bool{}
	for _, c := range clusters {
		seen[c] = true
	}
	return len(seen)
}
