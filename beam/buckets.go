package neardupbeam

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/dedup/shard/blocks"
)

// This file compares the contents of buckets (pairs.go). A bucket that is too large is split into parts, and two parts make a tile.

// spreadFn puts contents into buckets. The key of a bucket begins with the number of its table or band. So
// contents of different tables never meet, even if the rest of the key is equal.
type spreadFn struct {
	settings
	tables []blocks.Table
}

// Setup makes the tables on the worker; they follow from the settings, which are all that is sent.
func (fn *spreadFn) Setup() {
	if fn.Method == SimHash {
		fn.tables = blocks.Tables(fn.Bits, fn.Blocks, fn.Distance)
	}
}

func (fn *spreadFn) ProcessElement(key, content []byte, emit func(bucket, member []byte)) error {
	data, err := dataOf(content)
	if err != nil {
		return err
	}
	c, err := fn.read(data)
	if err != nil {
		return err
	}
	for i, t := range fn.tables {
		e := encoder(nil).int(i)
		// Fingerprints of 64 bits have nothing in the high half, which would be 8 bytes in every row.
		if fn.Bits == 128 {
			e = e.uint64(c.mask[0] & t.Key.Hi)
		}
		emit(e.uint64(c.mask[1]&t.Key.Lo), key)
	}
	for band, k := range c.bands {
		emit(encoder(nil).int(band).uint64(k), key)
	}
	return nil
}

// bucketFn pairs the contents of a bucket. With SimHash its pairs are edges; otherwise they are candidates.
// It holds about HotBucket keys in memory at most: those of a larger bucket it passes on to hot as they
// come.
type bucketFn struct {
	settings
	compare comparer
}

func (fn *bucketFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *bucketFn) ProcessElement(ctx context.Context, bucket []byte, members func(*[]byte) bool, found, hot func(key, value []byte)) error {
	var keys [][]byte
	isHot := false
	for b := []byte(nil); members(&b); {
		if keys = append(keys, b); len(keys) > fn.HotBucket {
			isHot = true
			for _, key := range keys {
				hot(bucket, key)
			}
			keys = keys[:0]
		}
	}
	switch {
	case isHot:
		for _, key := range keys {
			hot(bucket, key)
		}
		return nil
	case len(keys) < 2: // nearly all of them
		return nil
	case fn.Method == SimHash:
		return fn.compare.all(ctx, bucket, keys, found)
	}
	// A candidate goes to its smaller content first, so it has to be the same one in every bucket.
	slices.SortFunc(keys, bytes.Compare)
	d := decoder{b: bucket}
	band := d.int()
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			found(a, encoder(nil).bytes(b).int(band))
		}
	}
	return d.err
}

// splitFn splits hot buckets. With SimHash it puts their contents into tiles; otherwise it keys them by
// content, since they need their Data first. A part has about half of HotBucket contents, so a tile of two
// parts is about as large as the largest bucket that is not split.
type splitFn struct{ settings }

func (fn *splitFn) ProcessElement(ctx context.Context, bucket []byte, sizes func(*int) bool, members func(*[]byte) bool, hot func(key, value []byte), note func(Note)) {
	n := 0
	if !sizes(&n) {
		return
	}
	parts := 2 * ((n + fn.HotBucket - 1) / fn.HotBucket) // two parts fill a tile
	note(Note{HotBucket, fn.bucketName(bucket), fmt.Sprintf("%d different contents share it; their comparison was split into %d tiles", n, parts*(parts+1)/2)})
	hotCount.Inc(ctx, 1)
	for key := []byte(nil); members(&key); {
		if fn.Method == SimHash {
			toTiles(bucket, parts, key, key, hot)
		} else {
			hot(key, encoder(nil).bytes(bucket).int(parts))
		}
	}
}

func one(bucket, _ []byte) ([]byte, int) { return bucket, 1 }

func sum(a, b int) int { return a + b }

// bucketName returns what notes call a bucket. The key is in hexadecimal digits: it is not text, and notes
// are JSON.
func (s *settings) bucketName(bucket []byte) string {
	d := decoder{b: bucket}
	name := "band"
	if s.Method == SimHash {
		name = "table"
	}
	return fmt.Sprintf("%s %d, key %x", name, d.int(), d.b)
}

// toTiles emits a content for every tile that its part is in: as many as there are parts. Two contents of
// different parts are compared in the tile of both, and two of one part in the tile that has this part
// alone. So no pair is compared twice in a bucket. The part is a hash of the content, so workers need not
// agree on numbers.
func toTiles(bucket []byte, parts int, key, data []byte, emit func(tile, content []byte)) {
	part := int(xxh3.Hash(key) % uint64(parts))
	for other := range parts {
		emit(encoder(nil).bytes(bucket).int(min(part, other)).int(max(part, other)), encoder(nil).int(part).bytes(key).bytes(data))
	}
}

// tileContents adds the Data to the contents of hot buckets.
func tileContents(key []byte, contents, buckets func(*[]byte) bool, emit func(tile, content []byte)) error {
	var content, b []byte
	if !contents(&content) {
		return nil
	}
	data, err := dataOf(content)
	for err == nil && buckets(&b) {
		d := decoder{b: b}
		bucket, parts := d.bytes(), d.int()
		if err = d.err; err == nil {
			toTiles(bucket, parts, key, data, emit)
		}
	}
	return err
}

// tileFn compares the contents of a tile: all of one part, or those of one part with those of another.
// Unlike a bucket, a tile has the Data of its contents with it: there is no later join.
type tileFn struct {
	settings
	compare comparer
}

func (fn *tileFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *tileFn) ProcessElement(ctx context.Context, tile []byte, contents func(*[]byte) bool, emit func(key, edge []byte)) error {
	d := decoder{b: tile}
	bucket, first, second := d.bytes(), d.int(), d.int()
	var of [2][][]byte // key and Data
	for b := []byte(nil); d.err == nil && contents(&b); {
		c := decoder{b: b}
		part := c.int()
		side := 0
		if part == second && first != second {
			side = 1
		}
		of[side] = append(of[side], c.b)
		d.err = c.err
	}
	if d.err != nil {
		return d.err
	}
	return fn.compare.tile(ctx, bucket, of[0], of[1], first == second, emit)
}
