package minhash

import (
	"cmp"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/store"
)

// Tables are the immutable index of many signatures. For each band there is a table from the 32-bit
// key of the band to the signatures that have it. A table is two arrays:
//
//	buckets  for each value of the highest bits of a key: where its bucket begins in entries, and a
//	         set of 32 bits. Bit i of the set says that some key in the bucket has i as its next
//	         five bits, so most searches end here. After the last bucket: the number of entries, and 0
//	entries  bucket by bucket, 32 bits each: the ordinal of the signature in the low bits, and in
//	         the rest as many of the bits of the key that follow those of the bucket as fit
//
// A bucket has 4 to 8 entries on average. An entry takes 4 bytes, and an entry with another key is
// nearly always recognised without looking at its signature, because bucket and entry together know
// 29 of the 32 bits of its key. Whatever passes is compared itself (Layout.Agree), so the
// candidates are exactly the documents that agree in a band; with packed values, in the key of a
// band. A document is reported at the first band in which it agrees, and so only once.
//
// If the tables are mapped from a file, each part is checked when it is first used.

// A Tables finds the signatures of a run that agree with a query in a band. It does not change, and
// is safe for concurrent use.
type Tables struct {
	*Layout
	docs    []uint64       // Words words for each document
	file    *store.Mapping // the file that holds the slices, as long as it is not verified; else nil
	N       int            // number of documents
	entered int            // of these, in each table: all except empty sets
	keyBits int            // bits of a key that choose the bucket
	ordBits int            // bits of an entry that are the ordinal
	buckets []uint32       // band by band, stride() each
	entries []uint32       // band by band, entered each
}

// newTables returns Tables without its arrays. There are as many bits for the ordinal as N needs,
// and three fewer for the bucket, so that buckets have 4 to 8 entries.
func newTables(l *Layout, docs []uint64) *Tables {
	n := len(docs) / l.Words
	ordBits := bits.Len(uint(n))
	return &Tables{Layout: l, docs: docs, N: n, keyBits: max(1, ordBits-3), ordBits: ordBits}
}

// stride returns the length of buckets for one band: two words for each bucket, and two at the end.
func (t *Tables) stride() int { return 2<<t.keyBits + 2 }

// entry returns the part of an entry above the ordinal, for a key: shifted left, its bucket bits
// fall out, and the bits that do not fit are cleared.
func (t *Tables) entry(key uint32) uint32 {
	return key << t.keyBits >> t.ordBits << t.ordBits
}

// next returns the next five bits of a key after those of the bucket: a number in the bucket's set.
func (t *Tables) next(key uint32) uint32 { return key << t.keyBits >> 27 }

// NewTables builds the tables of some documents, and keeps docs. It uses all processors unless the
// documents are few.
func NewTables(l *Layout, docs []uint64) *Tables {
	t := newTables(l, docs)
	for i := range t.N {
		if !l.IsEmpty(t.Doc(uint32(i))) {
			t.entered++
		}
	}
	t.buckets = make([]uint32, l.Bands*t.stride())
	t.entries = make([]uint32, l.Bands*t.entered)
	// A job is a group of neighbouring bands whose values share a cache line.
	group := max(1, 16/l.Rows)
	var wg sync.WaitGroup
	next := make(chan int, l.Bands)
	for band := 0; band < l.Bands; band += group {
		next <- band
	}
	close(next)
	workers := min(runtime.GOMAXPROCS(0), len(next))
	// For few documents, starting goroutines costs more than it saves.
	if t.N < 1<<14 {
		workers = 1
	}
	for range workers {
		wg.Go(func() {
			var keys []uint32
			for band := range next {
				if keys == nil {
					keys = make([]uint32, group*t.N)
				}
				t.build(band, min(band+group, l.Bands), keys)
			}
		})
	}
	wg.Wait()
	return t
}

// build makes the tables of the bands from..to−1. keys is a buffer for the keys of all documents in
// these bands; 0 stands for an empty set. Entries are placed by counting sort: count the keys of
// each bucket, sum up to the ends of the buckets, then fill each bucket from its end down.
// Documents are taken in descending order, so ordinals ascend in each bucket.
func (t *Tables) build(from, to int, keys []uint32) {
	for i := range t.N {
		doc := t.Doc(uint32(i))
		if t.IsEmpty(doc) {
			for band := range to - from {
				keys[band*t.N+i] = 0
			}
			continue
		}
		for band := from; band < to; band++ {
			keys[(band-from)*t.N+i] = t.Key(doc, band)
		}
	}
	// Then the tables, one after the other: counts, sums, entries.
	shift := 32 - t.keyBits
	for band := from; band < to; band++ {
		keys := keys[(band-from)*t.N:][:t.N]
		buckets, entries := t.table(band)
		for _, key := range keys {
			if key != 0 {
				at := key >> shift * 2
				buckets[at]++
				buckets[at+1] |= 1 << t.next(key)
			}
		}
		sum := uint32(0)
		for i := 0; i < len(buckets); i += 2 {
			sum += buckets[i]
			buckets[i] = sum
		}
		for i := t.N - 1; i >= 0; i-- {
			if key := keys[i]; key != 0 {
				at := &buckets[key>>shift*2]
				*at--
				entries[*at] = t.entry(key) | uint32(i)
			}
		}
	}
}

// table returns the two arrays of a band.
func (t *Tables) table(band int) (buckets, entries []uint32) {
	n := t.stride()
	return t.buckets[band*n:][:n], t.entries[band*t.entered:][:t.entered]
}

// Doc returns the words of a document. They must not be changed.
func (t *Tables) Doc(ord uint32) []uint64 {
	return t.docs[int(ord)*t.Words:][:t.Words:t.Words]
}

// pairs calls emit with every two documents a < b that share a key in a band. It compares only the bits of the key that entries have, so
// the caller must verify a pair with Agree or IsFirst. Two equal documents agree in all bands; where many documents share a key, such a
// pair comes only for the first band. It stops when emit returns false.
func (t *Tables) pairs(band int, emit func(a, b uint32) bool) error {
	return t.eachKey(band, func(ords []uint32) bool {
		grouped := band > 0 && len(ords) > 16
		// Sort equal documents next to each other, to skip the pairs among them.
		if grouped {
			slices.SortFunc(ords, func(a, b uint32) int {
				return cmp.Or(slices.Compare(t.Doc(a), t.Doc(b)), cmp.Compare(a, b))
			})
		}
		// next is the first document behind i that differs from it.
		next := 0
		for i, a := range ords {
			from := i + 1
			if grouped {
				for next = max(next, from); next < len(ords) && slices.Equal(t.Doc(a), t.Doc(ords[next])); next++ {
				}
				from = next
			}
			for _, b := range ords[from:] {
				if !emit(min(a, b), max(a, b)) {
					return false
				}
			}
		}
		return true
	})
}

// Components returns for each document the first one of its component: every two documents are joined that agree in a band and are similar,
// as similar says of two ordinals. It does not ask about documents that others have joined already.
//
// Many documents may share a key, and their pairs would be too many to compare. So the documents of
// a key are kept by component, and a new one is compared with the members of another component only
// until one of them is similar. n documents of one component cost n steps, not n². stop is called
// often; its error ends the work.
func (t *Tables) Components(similar func(a, b uint32) bool, stop func() error) (roots []int, err error) {
	f := graph.NewForest(t.N)
	var parts [][]uint32 // the documents of one key so far, by component
	var stopped error
	for band := range t.Bands {
		err := t.eachKey(band, func(ords []uint32) bool {
			parts = parts[:0]
			for i, ord := range ords {
				if i%64 == 0 {
					if stopped = stop(); stopped != nil {
						return false
					}
				}
				parts = t.place(f, parts, ord, similar, band)
			}
			return true
		})
		if err := cmp.Or(err, stopped); err != nil {
			return nil, err
		}
	}
	return f.Roots(), nil
}

// place joins a document with every component in parts that has a similar member, and adds it to
// the part of its own component. It returns the new parts. Parts whose components have been joined
// stay separate, which changes no result.
func (t *Tables) place(f graph.Forest, parts [][]uint32, ord uint32, similar func(a, b uint32) bool, band int) [][]uint32 {
	doc := t.Doc(ord)
	own := -1
	for p, members := range parts {
		if f.Find(int(members[0])) != f.Find(int(ord)) {
			for _, other := range members {
				if similar(ord, other) && t.Agree(doc, t.Doc(other), band) {
					f.Join(int(ord), int(other))
					break
				}
			}
		}
		if own < 0 && f.Find(int(members[0])) == f.Find(int(ord)) {
			own = p
		}
	}
	if own >= 0 {
		parts[own] = append(parts[own], ord)
		return parts
	}
	// Reuse the memory of a part of an earlier key.
	if len(parts) < cap(parts) {
		parts = parts[:len(parts)+1]
		parts[len(parts)-1] = append(parts[len(parts)-1][:0], ord)
		return parts
	}
	return append(parts, []uint32{ord})
}

// eachKey calls take with the ordinals of all entries of a band that share a key, for every key with two or more entries. Ordinals ascend.
// take may change the slice, which is valid only during the call. eachKey stops when take returns false. The error is that of a damaged file.
func (t *Tables) eachKey(band int, take func(ords []uint32) (goOn bool)) error {
	var sorted []uint32
	buckets, entries := t.table(band)
	for i := 0; i < len(buckets)-2; i += 2 {
		from, to := buckets[i], buckets[i+2]
		if from > to || int(to) > len(entries) {
			return errBucket
		}
		sorted = append(sorted[:0], entries[from:to]...)
		// Puts the entries of one key together.
		slices.Sort(sorted)
		// Cut the bucket into runs of entries that are equal above the ordinal.
		for rest := sorted; len(rest) > 0; {
			n := 1
			for n < len(rest) && (rest[0]^rest[n])>>t.ordBits == 0 {
				n++
			}
			ords := rest[:n]
			rest = rest[n:]
			if n == 1 {
				continue
			}
			for i := range ords {
				if ords[i] &= 1<<t.ordBits - 1; int(ords[i]) >= t.N {
					return errBucket
				}
			}
			if !take(ords) {
				return nil
			}
		}
	}
	return nil
}

// errBucket is the damage that is found in a file whose checksums fit.
var errBucket = format.Damaged("a bucket is outside of its table, or an entry refers to no signature")

// Bytes returns the memory for the arrays, documents not included.
func (t *Tables) Bytes() int { return 4 * (cap(t.buckets) + cap(t.entries)) }

// Write writes the record of the tables into a snapshot (internal/store): the number of entries in
// each table. The arrays follow as columns.
func (t *Tables) Write(f *format.Writer) {
	f.Uvarint(uint64(t.entered))
	f.EndRecord()
}

// Columns returns the arrays as the columns of a snapshot: buckets and entries.
func (t *Tables) Columns() store.FinderColumns[[][]byte] {
	return store.FinderColumns[[][]byte]{{store.AsBytes(t.buckets)}, {store.AsBytes(t.entries)}}
}

// ReadTables reads what Write wrote. The result can be used after Attach.
func ReadTables(f *format.Reader, l *Layout) *Tables {
	f.Next()
	return &Tables{Layout: l, entered: int(f.Uvarint(store.MaxDocuments))}
}

// Attach gives the tables their documents and columns, which are parts of a file, without copying
// them. It checks only the lengths. Columns of other lengths than the record says are an error.
func (t *Tables) Attach(docs store.Column, file *store.Mapping, columns store.FinderColumns[[]byte]) error {
	entered := t.entered
	*t = *newTables(t.Layout, docs.Docs)
	t.file, t.entered = file, entered
	t.buckets, t.entries = store.Numbers[uint32](columns[0]), store.Numbers[uint32](columns[1])
	if t.entered > t.N || len(t.buckets) != t.Bands*t.stride() || len(t.entries) != t.Bands*t.entered ||
		len(columns[2])+len(columns[3])+len(columns[4]) > 0 {
		return fmt.Errorf("%w: %d of %d signatures in %d tables", store.ErrColumns, t.entered, t.N, t.Bands)
	}
	return nil
}
