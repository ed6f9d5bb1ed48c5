package minhash

import (
	"cmp"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/graph"
	"github.com/neardup/neardup/internal/kernel"
	"github.com/neardup/neardup/internal/store"
)

// A Tables finds the signatures of a run that agree with a query in a band. It never
// changes. For each band there is a table, which leads from the key of the band, a hash of
// 32 bits, to a bucket of some signatures, 4 to 8 in the mean:
//
//	buckets  of each value of the highest bits of the key: where its bucket begins, and the
//	         set of what the next five bits of its keys are, so that most buckets are never
//	         turned to; then the number of all entries, and 0
//	entries  the ordinal in the low bits, and above it as many of the bits of the key that
//	         follow those of the bucket as there is room for
//
// So an entry takes 4 bytes, and a signature that differs is nearly always recognised
// without being looked at: of 32 bits of the key 29 are known. One that does not is
// compared itself, so the candidates are just those that agree in a band (of packed
// signatures: in the key of a band). It is reported at the first band in which it
// does.
type Tables struct {
	*Layout
	docs    []uint64
	file    *store.Mapping // where the slices are, if they are a file that was not checked yet
	N       int            // documents
	entered int            // of them, in each table: all but those of the empty set
	keyBits int            // that lead to a bucket
	ordBits int            // of an entry
	buckets []uint32       // stride() for each band
	entries []uint32       // entered for each band
}

func newTables(l *Layout, docs []uint64) *Tables {
	n := len(docs) / l.Words
	ordBits := bits.Len(uint(n))
	return &Tables{Layout: l, docs: docs, N: n, keyBits: max(1, ordBits-3), ordBits: ordBits}
}

func (t *Tables) stride() int { return 2<<t.keyBits + 2 }

// entry returns what the entries of a key have above their ordinals.
func (t *Tables) entry(key uint32) uint32 {
	return key << t.keyBits >> t.ordBits << t.ordBits
}

// next returns the next five bits of a key, which is a number in the set of its bucket.
func (t *Tables) next(key uint32) uint32 { return key << t.keyBits >> 27 }

// NewTables returns the tables of some documents, which it keeps. The bands are shared
// out among the processors.
func NewTables(l *Layout, docs []uint64) *Tables {
	t := newTables(l, docs)
	for i := range t.N {
		if !l.IsEmpty(t.Doc(uint32(i))) {
			t.entered++
		}
	}
	t.buckets = make([]uint32, l.Bands*t.stride())
	t.entries = make([]uint32, l.Bands*t.entered)
	// The values of neighbouring bands are neighbours, and come from memory together.
	group := max(1, 16/l.Rows)
	var wg sync.WaitGroup
	next := make(chan int, l.Bands)
	for band := 0; band < l.Bands; band += group {
		next <- band
	}
	close(next)
	workers := min(runtime.GOMAXPROCS(0), len(next))
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

// build makes the tables of some bands. keys is room for those of all documents.
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
			keys[(band-from)*t.N+i] = t.key(doc, band)
		}
	}
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
		for i := t.N - 1; i >= 0; i-- { // each bucket moves down from its end
			if key := keys[i]; key != 0 {
				at := &buckets[key>>shift*2]
				*at--
				entries[*at] = t.entry(key) | uint32(i)
			}
		}
	}
}

// table returns the table of a band.
func (t *Tables) table(band int) (buckets, entries []uint32) {
	n := t.stride()
	return t.buckets[band*n:][:n], t.entries[band*t.entered:][:t.entered]
}

func (t *Tables) Doc(ord uint32) []uint64 {
	return t.docs[int(ord)*t.Words:][:t.Words:t.Words]
}

// Search calls emit for every document that agrees with that of the query in a band,
// each once. It ends when emit returns false.
func (t *Tables) Search(q *Query, emit func(ord uint32, doc []uint64) bool) error {
	if t.entered == 0 {
		return nil
	}
	v := bandVisit{t: t, q: q, last: uint32(t.N)}
	// Memory is slow, but works on many things at once: so each step is made for many
	// bands before the next, and in the first two nothing waits for anything else in them.
	const batch = 32
	var buckets [batch][3]uint32
	var probes [batch + 1]bandProbe
	stride, shift := t.stride(), 32-t.keyBits
	for first := 0; first < len(q.keys); first += batch {
		keys := q.keys[first:min(first+batch, len(q.keys))]
		for i, key := range keys {
			at := t.buckets[(first+i)*stride+int(key>>shift)*2:][:4]
			if t.file != nil {
				if err := t.file.Check(unsafe.Pointer(&at[0]), 16); err != nil {
					return err
				}
			}
			buckets[i&(batch-1)] = [3]uint32{at[0], at[1], at[2]}
		}
		n := 0
		for i, key := range keys {
			b := &buckets[i&(batch-1)]
			probes[n] = bandProbe{uint32(first + i), key, b[0], b[2]}
			n += int(b[1] >> t.next(key) & 1) // if not, the next takes its place
		}
		fetched := uint32(0) // some entries, for nothing but to have all near
		for i := range probes[:n] {
			p := &probes[i]
			if p.from >= p.to || int(p.to) > t.entered {
				return format.Damaged("a bucket is outside of its table")
			}
			entries := t.entries[int(p.band)*t.entered:][p.from:p.to]
			fetched ^= entries[0] ^ entries[len(entries)-1]
		}
		v.fetched = fetched
		for i := range probes[:n] {
			if goOn, err := v.bucket(&probes[i], emit); !goOn {
				return err
			}
		}
		if goOn, err := v.verify(emit); !goOn {
			return err
		}
	}
	return nil
}

// A bandVisit is one search. Found are the ordinals of entries that have the key of the
// query, and their bands.
type bandVisit struct {
	t     *Tables
	q     *Query
	found [32]struct{ ord, band uint32 }
	n     int
	last  uint32 // the ordinal that was found last

	fetched uint32
}

// A bandProbe is a bucket to look into.
type bandProbe struct{ band, key, from, to uint32 }

// bucket finds what is in a bucket, and reports whether to go on.
func (v *bandVisit) bucket(p *bandProbe, emit func(ord uint32, doc []uint64) bool) (goOn bool, err error) {
	t := v.t
	bucket := t.entries[int(p.band)*t.entered:][p.from:p.to]
	if t.file != nil {
		if err := t.file.Check(unsafe.Pointer(&bucket[0]), 4*len(bucket)); err != nil {
			return false, err
		}
	}
	want := t.entry(p.key)
	for _, e := range bucket {
		if (e^want)>>t.ordBits != 0 {
			continue
		}
		ord := e & (1<<t.ordBits - 1)
		if int(ord) >= t.N {
			return false, format.Damaged("an entry is of no signature")
		}
		if ord != v.last { // neighbours in found need not be told apart: see verify
			kernel.Prefetch(unsafe.Pointer(&t.Doc(ord)[0]), 8*t.Words)
		}
		v.last = ord
		if v.n == len(v.found) {
			if goOn, err := v.verify(emit); !goOn {
				return false, err
			}
		}
		v.found[v.n].ord, v.found[v.n].band = ord, p.band
		v.n++
	}
	return true, nil
}

// verify emits what was found and agrees in its band, if it agrees in none before; and
// reports whether to go on.
func (v *bandVisit) verify(emit func(ord uint32, doc []uint64) bool) (goOn bool, err error) {
	t := v.t
	dealt := uint32(t.N) // with this ordinal
	for _, f := range v.found[:v.n] {
		if f.ord == dealt {
			continue
		}
		doc := t.Doc(f.ord)
		if t.file != nil {
			if err := t.file.Check(unsafe.Pointer(&doc[0]), 8*len(doc)); err != nil {
				return false, err
			}
		}
		if !t.Agree(doc, v.q.doc, int(f.band)) {
			continue
		}
		dealt = f.ord
		if t.IsFirst(doc, v.q.doc, int(f.band)) && !emit(f.ord, doc) {
			return false, nil
		}
	}
	v.n = 0
	return true, nil
}

// Pairs calls emit with every two documents whose entries agree in the key of a band, as far as the
// key is known: for all bands in order. Two equal documents agree in all bands; they come only for
// the first. It ends when emit returns false. All of a file was checked before.
func (t *Tables) Pairs(emit func(a, b uint32, band int) bool) error {
	return t.eachKey(func(ords []uint32, band int) (bool, error) {
		grouped := band > 0 && len(ords) > 16
		if grouped { // equal documents next to each other
			slices.SortFunc(ords, func(a, b uint32) int {
				return cmp.Or(slices.Compare(t.Doc(a), t.Doc(b)), cmp.Compare(a, b))
			})
		}
		next := 0 // the first that is not equal to the one at i
		for i, a := range ords {
			from := i + 1
			if grouped {
				for next = max(next, from); next < len(ords) && slices.Equal(t.Doc(a), t.Doc(ords[next])); next++ {
				}
				from = next
			}
			for _, b := range ords[from:] {
				if !emit(min(a, b), max(a, b), band) {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// Components joins in f every two documents that agree in a band and whose estimated similarity is
// at least least. Many documents may share a band. So the members of a key are kept by component,
// and a document is compared with the members of another component only until one of them is
// similar: n documents of one component cost n steps, and not n². stop ends it with its error.
func (t *Tables) Components(f graph.Forest, least float64, stop func() error) error {
	var parts [][]uint32 // the members of a key that came so far, by component
	return t.eachKey(func(ords []uint32, band int) (bool, error) {
		if err := stop(); err != nil {
			return false, err
		}
		parts = parts[:0]
		for i, ord := range ords {
			if i%64 == 63 {
				if err := stop(); err != nil {
					return false, err
				}
			}
			parts = t.place(f, parts, ord, least, band)
		}
		return true, nil
	})
}

// place joins a document with the components that it is similar to, and adds it to the members of
// its own.
func (t *Tables) place(f graph.Forest, parts [][]uint32, ord uint32, least float64, band int) [][]uint32 {
	doc := t.Doc(ord)
	own := -1
	for p, members := range parts {
		if f.Find(int(members[0])) != f.Find(int(ord)) {
			for _, other := range members {
				if t.isAtLeast(doc, t.Doc(other), least) && t.Agree(doc, t.Doc(other), band) {
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
	if len(parts) < cap(parts) { // the memory of an earlier key
		parts = parts[:len(parts)+1]
		parts[len(parts)-1] = append(parts[len(parts)-1][:0], ord)
		return parts
	}
	return append(parts, []uint32{ord})
}

// eachKey calls take with the ordinals of every key that two or more entries of a band share, in
// ascending order, until it returns false. take may change them.
func (t *Tables) eachKey(take func(ords []uint32, band int) (goOn bool, err error)) error {
	var sorted []uint32
	for band := range t.Bands {
		buckets, entries := t.table(band)
		for i := 0; i < len(buckets)-2; i += 2 {
			from, to := buckets[i], buckets[i+2]
			if from > to || int(to) > len(entries) {
				return format.Damaged("a bucket is outside of its table")
			}
			sorted = append(sorted[:0], entries[from:to]...)
			slices.Sort(sorted) // entries of one key together
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
						return format.Damaged("an entry is of no signature")
					}
				}
				if goOn, err := take(ords, band); !goOn {
					return err
				}
			}
		}
	}
	return nil
}

func (t *Tables) Bytes() int { return 4 * (cap(t.buckets) + cap(t.entries)) }

// Tables in a file (see snapshot.go) are a record with the number of entries of each, and
// two columns.

func (t *Tables) Write(f *format.Writer) {
	f.Uvarint(uint64(t.entered))
	f.EndRecord()
}

func (t *Tables) Columns() store.FinderColumns[[][]byte] {
	return store.FinderColumns[[][]byte]{{store.AsBytes(t.buckets)}, {store.AsBytes(t.entries)}}
}

// ReadTables reads what write wrote.
func ReadTables(f *format.Reader, l *Layout) *Tables {
	f.Next()
	return &Tables{Layout: l, entered: int(f.Uvarint(store.MaxDocuments))}
}

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

// A Query is a signature to search for: its document and its keys, none of the empty
// set. The values of packed ones are in it when they are asked for, which takes longer than
// to find nothing.
type Query struct {
	doc    []uint64
	keys   []uint32
	values []uint32 // that are not in doc yet
}

// Set makes q the query for a signature, of which it takes a copy.
func (q *Query) Set(l *Layout, s []uint32) {
	q.doc = slices.Grow(q.doc[:0], l.Words)[:l.Words]
	if q.values = q.values[:0]; l.Bits == 32 {
		l.Pack(q.doc, s)
	} else {
		clear(q.doc)
		l.packKeys(q.doc, s)
		q.values = append(q.values, s...)
	}
	if q.keys = q.keys[:0]; !l.IsEmpty(q.doc) {
		q.keys = l.keys(q.doc, q.keys)
	}
}

// Jaccard returns the estimate of the Jaccard similarity of the query and a document.
func (q *Query) Jaccard(l *Layout, doc []uint64) float64 {
	if len(q.values) > 0 {
		PackValues(q.doc, q.values, l.Bits)
		q.values = q.values[:0]
	}
	return l.Jaccard(doc, q.doc)
}

var Queries = sync.Pool{New: func() any { return new(Query) }}
