package neardupbeam

import (
	"bytes"
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/dedup/shard/blocks"
)

// This file compares contents: those of a bucket or a tile, and the two of a candidate (pairs.go).

// gatherCandidates joins candidates with their smaller content. A candidate that met in several buckets
// counts once, for the first. If two contents also share an earlier bucket that was hot, that one is not
// among these; comparer.two sees it in the bands of both, and leaves the pair to the tile.
func gatherCandidates(a []byte, contents, candidates func(*[]byte) bool, emit func(b, half []byte)) error {
	var content, c []byte
	if !contents(&content) {
		return nil
	}
	data, err := dataOf(content)
	if err != nil {
		return err
	}
	type candidate struct {
		key  []byte
		band int
	}
	var all []candidate
	for candidates(&c) {
		d := decoder{b: c}
		all = append(all, candidate{d.bytes(), d.int()})
		if d.err != nil {
			return d.err
		}
	}
	slices.SortFunc(all, func(x, y candidate) int { return cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.band, y.band)) })
	for i, c := range all {
		if i == 0 || !bytes.Equal(c.key, all[i-1].key) {
			emit(c.key, encoder(nil).bytes(a).int(c.band).bytes(data))
		}
	}
	return nil
}

// verifyFn compares candidates at their larger content. The Data of the content are decoded once for all of
// its candidates, and not at all if it has none.
type verifyFn struct {
	settings
	compare comparer
}

func (fn *verifyFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *verifyFn) ProcessElement(ctx context.Context, b []byte, contents, halves func(*[]byte) bool, emit func(key, edge []byte)) error {
	var content, half []byte
	if !contents(&content) {
		return nil
	}
	var of compared
	read := false
	for halves(&half) {
		if !read {
			data, err := dataOf(content)
			if err == nil {
				of, err = fn.read(data)
			}
			if err != nil {
				return err
			}
			read = true
		}
		d := decoder{b: half}
		a, band, data := d.bytes(), d.int(), d.bytes()
		if d.err != nil {
			return d.err
		}
		other, err := fn.read(data)
		if err != nil {
			return err
		}
		candidateCount.Inc(ctx, 1)
		fn.compare.two(ctx, band, a, b, &other, &of, emit)
	}
	return nil
}

// A comparer compares contents, and emits edges. All ways of comparing end in its method two, so they
// cannot disagree on what is near or on what is first.
type comparer struct {
	settings
	tables []blocks.Table
}

func newComparer(s settings) comparer {
	c := comparer{settings: s}
	if s.Method == SimHash {
		c.tables = blocks.Tables(s.Bits, s.Blocks, s.Distance)
	}
	return c
}

// two emits the edge between two contents that share a bucket of a table, if they are near and the bucket is
// the first that they share.
func (c *comparer) two(ctx context.Context, table int, keyA, keyB []byte, a, b *compared, emit func(key, edge []byte)) {
	similarity, distance := 0.0, 0
	switch c.Method {
	case SimHash:
		distance = bits.OnesCount64(a.mask[0]^b.mask[0]) + bits.OnesCount64(a.mask[1]^b.mask[1])
		if distance > c.Distance || !c.tables[table].IsFirst(blocks.Mask{Hi: a.mask[0], Lo: a.mask[1]}, blocks.Mask{Hi: b.mask[0], Lo: b.mask[1]}) {
			return
		}
	default:
		// An earlier band in common has this pair already. That costs less than the similarity, so it is
		// asked first.
		for i := range a.bands[:table] {
			if a.bands[i] == b.bands[i] {
				return
			}
		}
		if c.Method == MinHash {
			similarity = a.signature.Jaccard(b.signature)
		} else {
			similarity = a.vector.Cosine(b.vector)
		}
		// Written so that NaN is not an edge.
		if !(similarity >= c.Similarity) {
			return
		}
	}
	// An edge has its smaller key first, whichever way the two were compared.
	if bytes.Compare(keyA, keyB) > 0 {
		keyA, keyB = keyB, keyA
	}
	edgeCount.Inc(ctx, 1)
	emit(keyA, encoder(nil).bytes(keyB).value(similarity, distance))
}

// all compares fingerprints of one bucket, each with each. Its time grows with the square of their number,
// which HotBucket bounds.
func (c *comparer) all(ctx context.Context, bucket []byte, fps [][]byte, emit func(key, edge []byte)) error {
	d := decoder{b: bucket}
	table := d.int()
	masks := make([]compared, len(fps))
	for i, fp := range fps {
		if masks[i], d.err = c.read(fp); d.err != nil {
			return d.err
		}
	}
	candidateCount.Inc(ctx, int64(len(fps))*int64(len(fps)-1)/2)
	for i := range masks {
		for j := range i {
			c.two(ctx, table, fps[i], fps[j], &masks[i], &masks[j], emit)
		}
	}
	return d.err
}

// tile compares contents of a hot bucket, each with its Data: those of one part with each other, or those of
// two parts.
func (c *comparer) tile(ctx context.Context, bucket []byte, first, second [][]byte, isOne bool, emit func(key, edge []byte)) error {
	d := decoder{b: bucket}
	table := d.int()
	read := func(from [][]byte) (keys [][]byte, all []compared) {
		for _, b := range from {
			each := decoder{b: b}
			keys = append(keys, each.bytes())
			of, err := c.read(each.bytes())
			d.err = cmp.Or(d.err, each.err, err)
			all = append(all, of)
		}
		return keys, all
	}
	keysA, a := read(first)
	keysB, b := read(second)
	if d.err != nil {
		return d.err
	}
	n := 0
	for i := range a {
		if isOne {
			for j := range i {
				c.two(ctx, table, keysA[i], keysA[j], &a[i], &a[j], emit)
			}
			n += i
		}
		for j := range b {
			c.two(ctx, table, keysA[i], keysB[j], &a[i], &b[j], emit)
		}
		n += len(b)
	}
	tileCount.Inc(ctx, int64(n))
	return nil
}
