// Package seen remembers which documents a crawler has seen, in a fixed number of bytes.
//
//	f, err := seen.New(seen.Options{Bytes: 1 << 30})
//	for page := range pages {
//		if f.Seen(neardup.Text(page.Text)) {
//			continue // something like it came before
//		}
//		…
//	}
//
// A [Filter] keeps no documents and no ids, so it cannot say what a document is like, and nobody can check its answers. Use a [dedup.Deduplicator] where that matters; use
// this where billions of pages leave only some bytes for each: 18.5 with the default [Options], which say how often it may be wrong. docs/beyond.md has measurements.
//
//	seen.go    the filter
//	bloom.go   bits by blocks of a cache line
//	file.go    the filter in a file
//
// [dedup.Deduplicator]: https://pkg.go.dev/github.com/neardup/neardup/dedup#Deduplicator
package seen

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
)

// This file has the filter: MinHash signatures are cut into bands (locality-sensitive hashing, Indyk and Motwani 1998), and the hash of each band goes into a Bloom filter, as
// in LSHBloom (Khan et al. 2024). It differs from that in three things: bands have as few rows as the similarity of unlike documents allows, so few are needed; all bands share
// one filter; and there are two generations of it, so old documents are forgotten before it is too full.

// Options are the settings of a [Filter].
type Options struct {
	// Bytes is how much memory the filter takes, at least 64 KiB. It never takes more.
	Bytes int64

	// Similarity and Misses say what the filter must find: of documents whose Jaccard similarity to one that it remembers is Similarity, it misses at most the share Misses. More
	// similar ones are missed less often, and equal ones never; see Filter.Misses for others. 0 means 0.8 and 0.05.
	Similarity, Misses float64

	// FalseAlarms is the largest share of documents that are taken as seen and are like nothing that was. 0 means 0.001. Documents that are somewhat similar are another matter:
	// see Filter.Misses.
	FalseAlarms float64

	// Fingerprinter says what the features of documents are; those of the zero value are pairs of words. Weights do not count.
	Fingerprinter neardup.Fingerprinter
}

// unlike is the similarity of documents that have nothing to do with each other, at which bands agree by chance as often as half of FalseAlarms at most. Of 20,000 pairs of different
// articles of Reuters, 99 in 100 have less than .044 of their pairs of words in common, and half of them less than .006.
const unlike = 0.05

// A Filter remembers documents. Methods may be called from several goroutines at once.
type Filter struct {
	of        neardup.Fingerprinter
	minhash   neardup.MinHash
	shape     shape
	mu        sync.Mutex
	young     *bloom // what is added
	old       *bloom // what was added before
	documents [2]int64
}

// A shape is what filters must have in common to be merged.
type shape struct {
	bands, rows int
	probes      int   // bits of a key
	blocks      int64 // of each generation
	capacity    int64 // documents of each generation
}

// New returns an empty filter. It returns an error for Bytes below 64 KiB, for shares that are not between 0 and 1, for a wrong Fingerprinter, and if no number of bands finds enough.
func New(o Options) (*Filter, error) {
	o.Similarity, o.Misses, o.FalseAlarms = cmp.Or(o.Similarity, 0.8), cmp.Or(o.Misses, 0.05), cmp.Or(o.FalseAlarms, 0.001)
	isShare := func(x float64) bool { return x > 0 && x < 1 }
	switch {
	case o.Bytes < 64<<10:
		return nil, fmt.Errorf("seen: %d bytes: must be 64 KiB or more", o.Bytes)
	case o.Bytes > math.MaxInt64/16:
		return nil, fmt.Errorf("seen: %d bytes: too many", o.Bytes)
	case !isShare(o.Similarity) || !isShare(o.Misses) || !isShare(o.FalseAlarms):
		return nil, fmt.Errorf("seen: similarity %g, misses %g, false alarms %g: must be between 0 and 1", o.Similarity, o.Misses, o.FalseAlarms)
	}
	if err := o.Fingerprinter.Check(); err != nil {
		return nil, err
	}
	s, err := shapeOf(o)
	if err != nil {
		return nil, err
	}
	return newFilter(s, o.Fingerprinter), nil
}

// newFilter returns an empty filter of a shape.
func newFilter(s shape, of neardup.Fingerprinter) *Filter {
	return &Filter{of: of, minhash: s.minhash(), shape: s, young: newBloom(s.blocks, s.probes), old: newBloom(s.blocks, s.probes)}
}

const (
	mostBands = 256 // of which mostRows rows are the 4096 values that MinHash has at most
	mostRows  = 16
)

// minhash returns what makes signatures of the bands: at least as many values as MinHash must have.
func (s *shape) minhash() neardup.MinHash { return neardup.MinHash{Values: max(16, s.bands*s.rows)} }

// isPossible reports whether a shape that was read is one.
func (s *shape) isPossible() bool {
	in := func(x, most int) bool { return x >= 1 && x <= most }
	return in(s.bands, mostBands) && in(s.rows, mostRows) && in(s.probes, mostProbes) && s.blocks >= 1 && s.blocks < 1<<50 && s.capacity >= 1
}

// shapeOf chooses the bands, and how many documents they hold. Bands have as few rows as possible, since with fewer rows fewer bands find as much, and every band takes bits.
func shapeOf(o Options) (s shape, err error) {
	for s.rows = 1; s.rows <= mostRows; s.rows++ {
		shared, byChance := power(o.Similarity, s.rows), power(unlike, s.rows)
		missed := 1.0
		for s.bands = 0; missed > o.Misses && s.bands <= mostBands; s.bands++ {
			missed *= float64(1 - shared)
		}
		if s.bands > mostBands {
			break
		}
		if float64(float64(s.bands)*byChance) > float64(o.FalseAlarms/2) {
			continue
		}
		s.blocks = o.Bytes / 2 / blockBytes
		keys := int64(0) // of a block, in quarters
		s.probes, keys = fill(float64(o.FalseAlarms / 2 / float64(2*s.bands)))
		s.capacity = s.blocks * keys / 4 / int64(s.bands)
		if s.capacity < 1 {
			break
		}
		return s, nil
	}
	return s, errors.New("seen: no filter of this size finds so much with so few false alarms; ask for a higher similarity, more misses, or more false alarms")
}

// power returns x to the power of n, the same on every platform.
func power(x float64, n int) float64 {
	y := 1.0
	for range n {
		y *= x
	}
	return y
}

// Seen reports whether the filter remembers something like a document, and remembers the document. Of two calls at the same time with documents that are alike, one finds the other.
// A document without features is like nothing, and is not remembered.
func (f *Filter) Seen(doc neardup.Document) bool {
	keys := f.keys(doc)
	if keys == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen(keys)
}

// seen is Seen for the keys of a document.
func (f *Filter) seen(keys []uint64) bool {
	isYoung, isOld := f.young.hasAny(keys), f.old.hasAny(keys)
	if isYoung {
		return true
	}
	for _, key := range keys { // also if an old one is like it, so that it is remembered as long as it comes again and again
		f.young.add(key)
	}
	if f.documents[0]++; f.documents[0] >= f.shape.capacity {
		f.turn()
	}
	return isOld
}

// Has reports whether the filter remembers something like a document. It changes nothing.
func (f *Filter) Has(doc neardup.Document) bool {
	keys := f.keys(doc)
	f.mu.Lock()
	defer f.mu.Unlock()
	return keys != nil && (f.young.hasAny(keys) || f.old.hasAny(keys))
}

// keys returns the hashes of the bands of a document, nil if it has no features.
func (f *Filter) keys(doc neardup.Document) []uint64 {
	return f.keysOf(f.of.Sign(doc, f.minhash))
}

// borrowed is the bit of the values of a signature that were taken from another bin.
const borrowed = 1 << 31

// keysOf returns the hashes of the bands of a signature, nil if it is empty.
func (f *Filter) keysOf(signature neardup.Signature) []uint64 {
	if signature[0] == math.MaxUint32 {
		return nil
	}
	keys := make([]uint64, f.shape.bands)
	var bytes [4 * mostRows]byte
	for band := range keys {
		for row := range f.shape.rows {
			v := signature[band*f.shape.rows+row] &^ borrowed
			binary.LittleEndian.PutUint32(bytes[4*row:], v)
		}
		keys[band] = xxh3.HashSeed(bytes[:4*f.shape.rows], uint64(band))
	}
	return keys
}

// Turn begins a new generation and forgets the one before the last. The filter does it by itself when a generation is full; call it, for example, once a day to forget what did not
// come for two days.
func (f *Filter) Turn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn()
}

func (f *Filter) turn() {
	f.young, f.old = f.old, f.young
	f.documents = [2]int64{0, f.documents[0]}
	f.young.clear()
}

// Len returns how many documents the filter remembers: those that were like nothing, or only like documents of the older generation.
func (f *Filter) Len() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.documents[0] + f.documents[1]
}

// Capacity returns how many documents a generation holds before the next one begins. The filter remembers at least so many of the last ones, and at most twice as many.
func (f *Filter) Capacity() int64 { return f.shape.capacity }

// Misses returns the share of documents that the filter does not take as seen although it remembers one with a Jaccard similarity to it. For a similarity of 1 it is 0, and for
// 0 it is 1. For a threshold, 1 less this share is how often less similar documents are taken as seen.
func (f *Filter) Misses(similarity float64) float64 {
	return power(1-power(similarity, f.shape.rows), f.shape.bands)
}

// FalseAlarms returns the share of documents that are taken as seen now by chance, because their bits are set. It takes a pass through the filter.
func (f *Filter) FalseAlarms() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 1 - power(float64(1-f.young.rate())*float64(1-f.old.rate()), f.shape.bands)
}

// errShape is the error of filters with other settings.
var errShape = errors.New("seen: the filters have other sizes or settings, so they cannot be merged")

// Merge adds what another filter remembers, made with the same options: generation by generation, as if f had seen its documents too. Documents that both remember count twice. If a
// generation has more than it should, there are more false alarms until it is forgotten, and FalseAlarms says how many; the next document begins a new one. Merging a filter with
// itself changes nothing.
func (f *Filter) Merge(other *Filter) error {
	if f == other {
		return nil
	}
	mine, err := f.version()
	if err != nil {
		return err
	}
	its, err := other.version()
	if err != nil {
		return err
	}
	if f.shape != other.shape || mine != its {
		return errShape
	}
	copied := other.clone() // so that no goroutine holds both locks
	f.mu.Lock()
	defer f.mu.Unlock()
	f.young.merge(copied.young)
	f.old.merge(copied.old)
	for n := range f.documents {
		f.documents[n] += copied.documents[n]
	}
	return nil
}

// clone returns a copy.
func (f *Filter) clone() *Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Filter{young: f.young.clone(), old: f.old.clone(), documents: f.documents, shape: f.shape}
}

// version describes the features.
func (f *Filter) version() (string, error) { return f.minhash.Version(&f.of) }
