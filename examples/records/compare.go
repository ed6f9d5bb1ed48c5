package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
)

// This file compares records. Records with the same features form a class, so exact copies cost no
// comparison. Pairs of classes with near fingerprints are candidates. They are verified by the
// exact cosine of their features; for that the records are read again, so only the features of
// candidates are in memory.

// A collection has the records of a call, in the order of the input.
type collection struct {
	o      *options
	stderr io.Writer
	f      neardup.Fingerprinter
	rows   rows

	ids     []string
	at      map[string]int // the number of the record with an id
	class   []int32        // for each record, the number of its class; −1 if it has no features
	classes []class
	bad     int
}

// A class is all records with the same features.
type class struct {
	fp      neardup.Fingerprint128 // with 64 bits only Lo is used
	records []uint32               // ascending; the first stands for all
}

// match is a pair of classes, or in writePairs of records.
type match struct {
	i, j       uint32
	distance   int32
	similarity float32
}

// maxCandidates is the largest number of candidates that are kept in memory; each takes 16 bytes.
const maxCandidates = 1 << 26

// each calls use with chunks of records, and with the number of the first record of the chunk. A
// bad row is skipped with -skip-bad, otherwise it is an error. Skipped rows are printed and counted
// only if report is set, because the rows are read several times.
func (c *collection) each(what string, report bool, use func(first int, chunk []row)) error {
	const most, mostBytes = 4096, 4 << 20
	show := cli.Counter(c.stderr, what)
	defer show(-1)
	var chunk []row
	n, size := 0, 0
	flush := func() {
		use(n, chunk)
		n += len(chunk)
		clear(chunk)
		chunk, size = chunk[:0], 0
		show(n)
	}
	var failed error
	seen := map[string]string{} // the places of ids
	err := c.rows.each(func(r row) bool {
		if first, twice := seen[r.id]; r.err == nil && twice {
			r.err = fmt.Errorf("the id %q is used twice, first at %s", r.id, first)
		}
		if r.err != nil {
			failed = fmt.Errorf("%s: %w", r.place, r.err)
			if !c.o.skipBad {
				return false
			}
			if report {
				if c.bad++; c.bad <= 20 {
					fmt.Fprintln(c.stderr, "records: skipped:", cli.Printable(failed.Error(), 2000))
				}
			}
			failed = nil
			return true
		}
		seen[r.id] = r.place
		chunk = append(chunk, r)
		if size += r.size; len(chunk) == most || size > mostBytes {
			flush()
		}
		return true
	})
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	flush()
	return nil
}

// parallel calls use with each number from 0 to n−1, from several workers at the same time.
func (c *collection) parallel(n int, use func(i int)) {
	var wg sync.WaitGroup
	for w := range c.o.workers {
		wg.Go(func() {
			for i := w * n / c.o.workers; i < (w+1)*n/c.o.workers; i++ {
				use(i)
			}
		})
	}
	wg.Wait()
}

// compare reads the records. It returns the pairs of classes that match, and for each record the
// number of the first record of its group.
func (c *collection) compare() ([]match, []int, error) {
	if len(c.f.Fields) == 0 { // report bad rows first
		err := c.each("records read", true, func(int, []row) {})
		return nil, nil, cmp.Or(err, errors.New("there is no column to compare"))
	}
	if c.o.idf {
		b := neardup.StatisticsBuilder{Fingerprinter: c.f}
		err := c.each("records counted", false, func(_ int, chunk []row) {
			c.parallel(len(chunk), func(i int) { b.AddRecord(chunk[i].rec) })
		})
		if err != nil {
			return nil, nil, err
		}
		c.f.Weight = neardup.IDF{Statistics: b.Build(), Smooth: true}
	}
	if err := c.read(); err != nil {
		return nil, nil, err
	}
	matches, err := c.candidates()
	if err == nil && c.o.similarity > 0 {
		matches, err = c.verify(matches)
	}
	if err != nil {
		return nil, nil, err
	}
	groups := neardup.GroupPairs(len(c.ids), func(yield func(neardup.Pair[int]) bool) {
		for _, class := range c.classes {
			for _, i := range class.records[1:] {
				if !yield(neardup.Pair[int]{A: int(class.records[0]), B: int(i)}) {
					return
				}
			}
		}
		for _, m := range matches {
			if !yield(neardup.Pair[int]{A: int(c.classes[m.i].records[0]), B: int(c.classes[m.j].records[0])}) {
				return
			}
		}
	}, neardup.Chains, nil)
	return matches, groups, nil
}

// read reads and fingerprints the records, and puts them into classes.
func (c *collection) read() error {
	c.at = map[string]int{}
	known := map[[16]byte]int32{}
	return c.each("records read", true, func(first int, chunk []row) {
		fps, digests := make([]neardup.Fingerprint128, len(chunk)), make([][16]byte, len(chunk))
		c.parallel(len(chunk), func(i int) {
			fps[i] = c.sum(chunk[i].rec)
			digests[i] = digest(vector(&c.f, chunk[i].rec))
		})
		for i, r := range chunk {
			c.at[r.id] = first + i
			c.ids = append(c.ids, r.id)
			n, ok := known[digests[i]]
			switch {
			case digests[i] == [16]byte{}: // without features: near no other record
				n = -1
			case !ok:
				n = int32(len(c.classes))
				known[digests[i]] = n
				c.classes = append(c.classes, class{fp: fps[i]})
				fallthrough
			default:
				c.classes[n].records = append(c.classes[n].records, uint32(first+i))
			}
			c.class = append(c.class, n)
		}
	})
}

// sum returns the fingerprint of a record; with 64 bits only Lo is used.
func (c *collection) sum(rec neardup.Record) neardup.Fingerprint128 {
	if c.o.bits == 64 {
		return neardup.Fingerprint128{Lo: uint64(c.f.SumRecord64(rec))}
	}
	return c.f.SumRecord128(rec)
}

// candidates returns the pairs of classes whose fingerprints are near each other.
func (c *collection) candidates() (found []match, err error) {
	if c.o.distance < 0 {
		c.o.distance = usualDistance(len(c.classes), c.o.bits)
	}
	var fps64 []neardup.Fingerprint64
	var fps128 []neardup.Fingerprint128
	for _, class := range c.classes {
		fps64 = append(fps64, neardup.Fingerprint64(class.fp.Lo))
		fps128 = append(fps128, class.fp)
	}
	near := neardup.Pairs(context.Background(), fps128, c.o.distance)
	if c.o.bits == 64 {
		near = neardup.Pairs(context.Background(), fps64, c.o.distance)
	}
	show := cli.Counter(c.stderr, "pairs with near fingerprints")
	defer show(-1)
	for p := range near {
		if len(found) == maxCandidates {
			return nil, fmt.Errorf("more than %d pairs of records are within the distance %d; set a smaller -distance", maxCandidates, c.o.distance)
		}
		if found = append(found, match{i: uint32(p.A), j: uint32(p.B), distance: int32(p.Distance)}); len(found)%(1<<16) == 0 {
			show(len(found))
		}
	}
	return found, nil
}

// usualDistance returns the default distance for n records: 44 of 128 bits or 20 of 64, or less. If
// unrelated fingerprints are random, there are at most ten unrelated candidates for each record.
func usualDistance(n, bits int) int {
	most := 44
	if bits == 64 {
		most = 20
	}
	share, term := 0.0, math.Ldexp(1, -bits) // fraction of unrelated pairs within d and at d: binomial
	for d := range most + 1 {
		if share += term; share*float64(n) > 20 {
			return max(d-1, 3)
		}
		term *= float64(bits-d) / float64(d+1)
	}
	return most
}

// A feature is one element of a vector.
type feature struct {
	text   string
	weight float64
}

// errChanged is the error if a second reading gives other records than the first.
var errChanged = errors.New("the records changed between the first and the second reading")

// verify reads the records again. It returns the candidates whose features have a cosine of at
// least -similarity.
func (c *collection) verify(candidates []match) ([]match, error) {
	vectors := make([][]feature, len(c.classes)) // by class: of unit length, sorted by text; nil if not needed
	needed := make([]bool, len(c.classes))
	for _, m := range candidates {
		needed[m.i], needed[m.j] = true, true
	}
	seen := 0
	var changed atomic.Bool
	err := c.each("records compared", false, func(_ int, chunk []row) {
		c.parallel(len(chunk), func(i int) {
			n, ok := c.at[chunk[i].id]
			if !ok {
				changed.Store(true)
				return
			}
			if k := c.class[n]; k >= 0 && needed[k] && int(c.classes[k].records[0]) == n {
				vectors[k] = vector(&c.f, chunk[i].rec)
				if c.sum(chunk[i].rec) != c.classes[k].fp {
					changed.Store(true)
				}
			}
		})
		seen += len(chunk)
	})
	if err != nil {
		return nil, err
	}
	if seen != len(c.ids) || changed.Load() {
		return nil, errChanged
	}
	c.parallel(len(candidates), func(i int) {
		m := &candidates[i]
		m.similarity = float32(cosine(vectors[m.i], vectors[m.j]))
	})
	return slices.DeleteFunc(candidates, func(m match) bool { return float64(m.similarity) < c.o.similarity }), nil
}

// digest returns a hash of a vector: equal vectors have equal digests. The digest of an empty
// vector is zero.
func digest(v []feature) (d [16]byte) {
	if len(v) == 0 {
		return d
	}
	h := sha256.New()
	for _, t := range v {
		fmt.Fprintf(h, "%d %s %x ", len(t.text), t.text, math.Float64bits(t.weight))
	}
	copy(d[:], h.Sum(nil))
	return d
}

// vector returns the features of a record as a vector of length 1, sorted by text.
func vector(f *neardup.Fingerprinter, rec neardup.Record) (v []feature) {
	for t, w := range f.RecordFeatures(rec) {
		v = append(v, feature{t.Text, w})
	}
	slices.SortFunc(v, func(a, b feature) int { return strings.Compare(a.text, b.text) })
	sum := 0.0
	for _, t := range v {
		sum += t.weight * t.weight
	}
	for i := range v {
		v[i].weight /= math.Sqrt(sum)
	}
	return v
}

// cosine returns the cosine of two sorted vectors of length 1.
func cosine(a, b []feature) (sum float64) {
	for len(a) > 0 && len(b) > 0 {
		switch strings.Compare(a[0].text, b[0].text) {
		case -1:
			a = a[1:]
		case 1:
			b = b[1:]
		default:
			sum += a[0].weight * b[0].weight
			a, b = a[1:], b[1:]
		}
	}
	return min(sum, 1)
}

// writePairs writes the two ids, the distance and the cosine of each pair of records, sorted by the
// ids. There can be very many pairs, so it makes the pairs of one record at a time.
func (c *collection) writePairs(w io.Writer, matches []match) error {
	out := bufio.NewWriter(w)
	near := make([][]match, len(c.classes)) // by class i; j is the other class
	for _, m := range matches {
		near[m.i] = append(near[m.i], m)
		near[m.j] = append(near[m.j], match{m.j, m.i, m.distance, m.similarity})
	}
	for i := range near {
		near[i] = append(near[i], match{uint32(i), uint32(i), 0, 1})
	}
	order := make([]uint32, len(c.ids))
	for i := range order {
		order[i] = uint32(i)
	}
	byID := func(a, b uint32) int { return strings.Compare(c.ids[a], c.ids[b]) }
	slices.SortFunc(order, byID)
	var pairs []match
	for _, i := range order {
		if c.class[i] < 0 {
			continue
		}
		pairs = pairs[:0]
		for _, m := range near[c.class[i]] {
			for _, j := range c.classes[m.j].records {
				if c.ids[i] < c.ids[j] {
					pairs = append(pairs, match{i, j, m.distance, m.similarity})
				}
			}
		}
		slices.SortFunc(pairs, func(a, b match) int { return byID(a.j, b.j) })
		for _, m := range pairs {
			fmt.Fprintf(out, "%s\t%s\t%d", cli.Escape(c.ids[m.i]), cli.Escape(c.ids[m.j]), m.distance)
			if c.o.similarity > 0 {
				fmt.Fprintf(out, "\t%.4f", m.similarity)
			}
			if err := out.WriteByte('\n'); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// writeGroups writes each id and the id of the first record of its group.
func (c *collection) writeGroups(w io.Writer, groups []int) error {
	out := bufio.NewWriter(w)
	for i, first := range groups {
		fmt.Fprintf(out, "%s\t%s\n", cli.Escape(c.ids[i]), cli.Escape(c.ids[first]))
	}
	return out.Flush()
}

// summary tells the user what was found.
func (c *collection) summary(w io.Writer, matches []match, groups []int, took time.Duration) error {
	pairs, empty := 0, 0
	for _, class := range c.classes {
		pairs += len(class.records) * (len(class.records) - 1) / 2
	}
	for _, m := range matches {
		pairs += len(c.classes[m.i].records) * len(c.classes[m.j].records)
	}
	for _, n := range c.class {
		if n < 0 {
			empty++
		}
	}
	size := map[int]int{}
	duplicates := 0
	for i, first := range groups {
		size[first]++
		if i != first {
			duplicates++
		}
	}
	n := 0
	for _, s := range size {
		if s > 1 {
			n++
		}
	}
	out := bufio.NewWriter(w)
	what := "matches"
	if c.o.similarity == 0 {
		what = "candidates, compared by their fingerprints only"
	}
	fmt.Fprintf(out, "%d records, %d %s\n%d duplicates in %d groups; %d records are left without them\n", len(c.ids), pairs, what, duplicates, n, len(c.ids)-duplicates)
	if empty > 0 {
		fmt.Fprintf(out, "%d records have no values to compare\n", empty)
	}
	if c.bad > 0 {
		fmt.Fprintf(out, "%d bad rows skipped\n", c.bad)
	}
	fmt.Fprintf(out, "candidates differ in up to %d of %d bits; %.2f s\n", c.o.distance, c.o.bits, took.Seconds())
	return out.Flush()
}
