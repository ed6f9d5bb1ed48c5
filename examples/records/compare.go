package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/examples/internal/cli"
)

// A collection is the records of a call, in the order of the input.
type collection struct {
	o      *options
	stderr io.Writer
	f      neardup.Fingerprinter
	rows   rows

	ids   []string
	at    map[string]int
	fps   []neardup.Fingerprint128 // of 64 bits only Lo
	empty int                      // records without features
	bad   int
}

// match is a pair of records.
type match struct {
	i, j       uint32
	distance   int32
	similarity float32
}

// maxCandidates is the number of pairs that are kept, of 16 bytes each.
const maxCandidates = 1 << 26

// each calls use with chunks of good records and the number of the first; bad ones are
// reported if report, and skipped or an error.
func (c *collection) each(what string, report bool, use func(first int, chunk []row)) error {
	const size = 4096
	show := cli.Counter(c.stderr, what)
	defer show(-1)
	var chunk []row
	n := 0
	flush := func() {
		use(n, chunk)
		n += len(chunk)
		chunk = chunk[:0]
		show(n)
	}
	var failed error
	err := c.rows.each(func(r row) bool {
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
		if chunk = append(chunk, r); len(chunk) == size {
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

// parallel calls use with each number below n, by several workers at once.
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

// compare reads the records and returns the pairs, and for each record the first one of
// its group.
func (c *collection) compare() ([]match, []int, error) {
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
	c.at = map[string]int{}
	var twice error
	err := c.each("records read", true, func(first int, chunk []row) {
		for i, r := range chunk {
			if other, ok := c.at[r.id]; ok && twice == nil {
				twice = fmt.Errorf("%s: duplicate id %q, which record %d has", r.place, r.id, other+1)
			}
			c.at[r.id] = first + i
			c.ids = append(c.ids, r.id)
		}
		c.fps = append(c.fps, make([]neardup.Fingerprint128, len(chunk))...)
		fps := c.fps[first:]
		c.parallel(len(chunk), func(i int) {
			if c.o.bits == 64 {
				fps[i].Lo = uint64(c.f.SumRecord64(chunk[i].rec))
			} else {
				fps[i] = c.f.SumRecord128(chunk[i].rec)
			}
		})
	})
	if err = cmp.Or(err, twice); err != nil {
		return nil, nil, err
	}
	matches, err := c.candidates()
	if err == nil && c.o.similarity > 0 {
		matches, err = c.verify(matches)
	}
	if err != nil {
		return nil, nil, err
	}
	groups := neardup.Components(len(c.ids), func(yield func(neardup.Pair) bool) {
		for _, m := range matches {
			if !yield(neardup.Pair{I: int(m.i), J: int(m.j)}) {
				return
			}
		}
	})
	return matches, groups, nil
}

// candidates returns the pairs of records with near fingerprints.
func (c *collection) candidates() (found []match, err error) {
	var of []int // records without features are near nothing
	var fps64 []neardup.Fingerprint64
	var fps128 []neardup.Fingerprint128
	for i, fp := range c.fps {
		if fp == (neardup.Fingerprint128{}) {
			c.empty++
			continue
		}
		of = append(of, i)
		fps64 = append(fps64, neardup.Fingerprint64(fp.Lo))
		fps128 = append(fps128, fp)
	}
	if c.o.distance < 0 {
		c.o.distance = usualDistance(len(of), c.o.bits)
	}
	near := neardup.Pairs(fps128, c.o.distance)
	if c.o.bits == 64 {
		near = neardup.Pairs(fps64, c.o.distance)
	}
	show := cli.Counter(c.stderr, "pairs with near fingerprints")
	defer show(-1)
	for p := range near {
		if len(found) == maxCandidates {
			return nil, fmt.Errorf("more than %d pairs of records are within distance %d: give a smaller -distance, or leave equal records out first", maxCandidates, c.o.distance)
		}
		if found = append(found, match{i: uint32(of[p.I]), j: uint32(of[p.J]), distance: int32(p.Distance)}); len(found)%(1<<16) == 0 {
			show(len(found))
		}
	}
	return found, nil
}

// usualDistance returns the largest distance, up to 44 of 128 bits and 20 of 64, at which
// each of n records has at most ten unrelated ones within it.
func usualDistance(n, bits int) int {
	most := 44
	if bits == 64 {
		most = 20
	}
	share, term := 0.0, math.Ldexp(1, -bits) // of unrelated pairs: binomial
	for d := range most + 1 {
		if share += term; share*float64(n) > 20 {
			return max(d-1, 3)
		}
		term *= float64(bits-d) / float64(d+1)
	}
	return most
}

// A feature is a part of a vector.
type feature struct {
	text   string
	weight float64
}

// verify reads the records again and keeps the pairs whose features have the cosine that
// is asked for.
func (c *collection) verify(candidates []match) ([]match, error) {
	vectors := make([][]feature, len(c.ids)) // of unit length, sorted; nil if not needed
	needed := make([]bool, len(c.ids))
	for _, m := range candidates {
		needed[m.i], needed[m.j] = true, true
	}
	seen := 0
	err := c.each("records compared", false, func(_ int, chunk []row) {
		c.parallel(len(chunk), func(i int) {
			if n, ok := c.at[chunk[i].id]; ok && needed[n] {
				vectors[n] = vector(&c.f, chunk[i].rec)
			}
		})
		seen += len(chunk)
	})
	if err != nil {
		return nil, err
	}
	if seen != len(c.ids) {
		return nil, errors.New("the records changed while they were read")
	}
	c.parallel(len(candidates), func(i int) {
		m := &candidates[i]
		m.similarity = float32(cosine(vectors[m.i], vectors[m.j]))
	})
	return slices.DeleteFunc(candidates, func(m match) bool { return float64(m.similarity) < c.o.similarity }), nil
}

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

// writePairs writes id, id, distance and similarity of each pair, sorted by the ids.
func (c *collection) writePairs(w io.Writer, matches []match) error {
	out := bufio.NewWriter(w)
	for n, m := range matches {
		if c.ids[m.j] < c.ids[m.i] {
			matches[n].i, matches[n].j = m.j, m.i
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(strings.Compare(c.ids[a.i], c.ids[b.i]), strings.Compare(c.ids[a.j], c.ids[b.j]))
	})
	for _, m := range matches {
		fmt.Fprintf(out, "%s\t%s\t%d", cli.Escape(c.ids[m.i]), cli.Escape(c.ids[m.j]), m.distance)
		if c.o.similarity > 0 {
			fmt.Fprintf(out, "\t%.4f", m.similarity)
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// writeGroups writes each id with that of the first record of its group.
func (c *collection) writeGroups(w io.Writer, groups []int) error {
	out := bufio.NewWriter(w)
	for i, first := range groups {
		fmt.Fprintf(out, "%s\t%s\n", cli.Escape(c.ids[i]), cli.Escape(c.ids[first]))
	}
	return out.Flush()
}

// summary tells a person what was found.
func (c *collection) summary(w io.Writer, matches []match, groups []int, took time.Duration) error {
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
		what = "candidates, by their fingerprints alone"
	}
	fmt.Fprintf(out, "%d records, %d %s\n%d duplicates in %d groups; %d records are left without them\n", len(c.ids), len(matches), what, duplicates, n, len(c.ids)-duplicates)
	if c.empty > 0 {
		fmt.Fprintf(out, "%d records have no values to compare\n", c.empty)
	}
	if c.bad > 0 {
		fmt.Fprintf(out, "%d bad lines skipped\n", c.bad)
	}
	fmt.Fprintf(out, "candidates up to %d of %d bits apart; %.2f s\n", c.o.distance, c.o.bits, took.Seconds())
	return out.Flush()
}
