package minhash

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/kernel"
)

// This file searches [Tables]. A search waits for memory most of the time. So it takes up to 32
// bands of a query together, a visit, and makes each step for all of them before the next: read the
// buckets, then the entries, then the signatures. In the first two steps, no load waits for another
// one. A search for many signatures goes on with other visits in between, so that what a step reads
// has arrived.

// visitBands is the number of bands of a visit.
const visitBands = 32

// A visit is a search in some bands of the tables.
type visit struct {
	t      *Tables
	q      *Query
	number int // of the query, in a search for many
	first  int // of the bands
	bands  int

	// probes[:n] are the buckets that may have the key of the query.
	probes [visitBands + 1]bandProbe
	n      int

	// found[:matches] are the entries with the key of the query that have not been compared yet, with
	// their bands.
	found   [32]struct{ ord, band uint32 }
	matches int
	last    uint32 // the ordinal found last, or N

	fetched uint32 // keeps the compiler from dropping loads, see load
}

// A bandProbe is a bucket to look into, entries[from:to] of a band, and the key to look for.
type bandProbe struct{ band, key, from, to uint32 }

// Search calls emit for every document that agrees with the query in a band, each once. It stops
// when emit returns false. The error is that of a damaged file.
func (t *Tables) Search(q *Query, emit func(ord uint32, doc []uint64) bool) error {
	if t.entered == 0 {
		return nil
	}
	v := visit{t: t}
	for first := 0; first < len(q.keys); first += visitBands {
		v.set(q, 0, first)
		if err := v.locate(); err != nil {
			return err
		}
		if err := v.load(false); err != nil {
			return err
		}
		if goOn, err := v.scan(emit); !goOn {
			return err
		}
		if goOn, err := v.verify(emit); !goOn {
			return err
		}
	}
	return nil
}

// similarTo returns the documents that agree in a band with one of some others, and are at least as similar to it as least. In the result, A
// is a document of the tables, and B is first for the first one of the others. They are as many as SearchMany takes.
func (t *Tables) similarTo(least float64, docs []uint64, first uint32) (all []Similar) {
	queries := make([]*Query, len(docs)/t.Words)
	for i := range queries {
		queries[i] = Queries.Get().(*Query)
		queries[i].setDoc(t.Layout, docs[i*t.Words:][:t.Words])
	}
	t.SearchMany(queries, func(query int, ord uint32, doc []uint64) { // tables in memory have no damage
		if j := queries[query].Jaccard(t.Layout, doc); j >= least {
			all = append(all, Similar{ord, first + uint32(query), j})
		}
	})
	for _, q := range queries {
		Queries.Put(q)
	}
	slices.SortFunc(all, func(a, b Similar) int { return cmp.Or(cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A)) })
	return all
}

// SearchMany is [Tables.Search] for some queries, which it numbers from 0.
func (t *Tables) SearchMany(queries []*Query, emit func(query int, ord uint32, doc []uint64)) error {
	if t.entered == 0 {
		return nil
	}
	type part struct{ query, first int }
	var parts []part
	for i, q := range queries {
		for first := 0; first < len(q.keys); first += visitBands {
			parts = append(parts, part{i, first})
		}
	}
	// Four visits are under way, each a step further than the one behind it.
	var visits [4]visit
	at := func(i int) *visit {
		if i < 0 || i >= len(parts) {
			return nil
		}
		return &visits[i%len(visits)]
	}
	var v *visit
	take := func(ord uint32, doc []uint64) bool {
		emit(v.number, ord, doc)
		return true
	}
	for i := range len(parts) + len(visits) - 1 {
		if v = at(i); v != nil {
			p := parts[i]
			v.t = t
			v.set(queries[p.query], p.query, p.first)
			v.prefetch()
		}
		if v = at(i - 1); v != nil {
			err := v.locate()
			if err == nil {
				err = v.load(true)
			}
			if err != nil {
				return err
			}
		}
		if v = at(i - 2); v != nil {
			if _, err := v.scan(take); err != nil {
				return err
			}
		}
		if v = at(i - 3); v != nil {
			if _, err := v.verify(take); err != nil {
				return err
			}
		}
	}
	return nil
}

// set begins a visit for the bands of a query from first on.
func (v *visit) set(q *Query, number, first int) {
	v.q, v.number, v.first, v.bands = q, number, first, min(visitBands, len(q.keys)-first)
	v.n, v.matches, v.last = 0, 0, uint32(v.t.N)
}

// prefetch begins to load the buckets.
func (v *visit) prefetch() {
	t := v.t
	stride, shift := t.stride(), 32-t.keyBits
	for i, key := range v.q.keys[v.first:][:v.bands] {
		kernel.Prefetch(unsafe.Pointer(&t.buckets[(v.first+i)*stride+int(key>>shift)*2]), 16)
	}
}

// locate reads the buckets, and keeps those whose set has the key of the query.
func (v *visit) locate() error {
	t := v.t
	stride, shift := t.stride(), 32-t.keyBits
	keys := v.q.keys[v.first:][:v.bands]
	// Where each bucket begins and ends, and its set.
	var buckets [visitBands][3]uint32
	for i, key := range keys {
		at := t.buckets[(v.first+i)*stride+int(key>>shift)*2:][:4]
		if t.file != nil {
			if err := t.file.Check(unsafe.Pointer(&at[0]), 16); err != nil {
				return err
			}
		}
		buckets[i&(visitBands-1)] = [3]uint32{at[0], at[1], at[2]}
	}
	// Whether a set has the key is unpredictable, so there is no branch: a probe that is not kept is
	// overwritten by the next.
	n := 0
	for i, key := range keys {
		b := &buckets[i&(visitBands-1)]
		v.probes[n] = bandProbe{uint32(v.first + i), key, b[0], b[2]}
		n += int(b[1] >> t.next(key) & 1)
	}
	v.n = n
	return nil
}

// load loads the entries of all buckets into the cache: reading the first and the last of each
// brings all of them. If other visits come before they are needed, it only begins to load them.
func (v *visit) load(later bool) error {
	t := v.t
	for i := range v.probes[:v.n] {
		p := &v.probes[i]
		// The set says that the bucket is not empty, so this can only be damage.
		if p.from >= p.to || int(p.to) > t.entered {
			return format.Damaged("a bucket is outside of its table")
		}
		entries := t.entries[int(p.band)*t.entered:][p.from:p.to]
		if later {
			kernel.Prefetch(unsafe.Pointer(&entries[0]), min(4*len(entries), 256))
		} else {
			v.fetched ^= entries[0] ^ entries[len(entries)-1]
		}
	}
	return nil
}

// scan adds the entries that have the keys of the query to found, and starts loading their
// signatures. If there are too many it verifies some. goOn is false if the search is over.
func (v *visit) scan(emit func(ord uint32, doc []uint64) bool) (goOn bool, err error) {
	for i := range v.probes[:v.n] {
		if goOn, err := v.bucket(&v.probes[i], emit); !goOn {
			return false, err
		}
	}
	return true, nil
}

// bucket adds the entries of a bucket that have the key to found, and starts loading their
// signatures. goOn is false if the search is over.
func (v *visit) bucket(p *bandProbe, emit func(ord uint32, doc []uint64) bool) (goOn bool, err error) {
	t := v.t
	bucket := t.entries[int(p.band)*t.entered:][p.from:p.to]
	if t.file != nil {
		if err := t.file.Check(unsafe.Pointer(&bucket[0]), 4*len(bucket)); err != nil {
			return false, err
		}
	}
	want := t.entry(p.key)
	for i := 0; i < len(bucket); i += entryGroup {
		for same := t.sameKey(bucket[i:], want); same != 0; same &= same - 1 {
			ord := bucket[i+bits.TrailingZeros32(same)] & (1<<t.ordBits - 1)
			if uint(ord) >= uint(t.N) {
				return false, format.Damaged("an entry refers to no signature")
			}
			// Equal neighbours need only one prefetch. They stay in found; verify deals with them.
			if ord != v.last {
				kernel.Prefetch(unsafe.Pointer(&t.Doc(ord)[0]), 8*t.Words)
			}
			v.last = ord
			if v.matches == len(v.found) {
				if goOn, err := v.verify(emit); !goOn {
					return false, err
				}
			}
			v.found[v.matches].ord, v.found[v.matches].band = ord, p.band
			v.matches++
		}
	}
	return true, nil
}

// entryGroup is the number of entries that are compared without a branch.
const entryGroup = 8

// sameKey returns which of the first entries of a bucket, up to entryGroup, have the bits of a key:
// bit i is for entry i. Where in the bucket they are is unpredictable, so there is no branch. It
// looks at entries behind the bucket too, if there are any, and drops them.
func (t *Tables) sameKey(bucket []uint32, want uint32) (same uint32) {
	in := uint32(1)<<min(len(bucket), entryGroup) - 1
	if cap(bucket) < entryGroup {
		for i, e := range bucket {
			same |= uint32((uint64((e^want)>>t.ordBits)-1)>>63) << i
		}
		return same
	}
	shift := t.ordBits & 31
	for i, e := range bucket[:entryGroup] {
		same |= uint32((uint64((e^want)>>shift)-1)>>63) << i
	}
	return same & in
}

// verify emits the documents in found that agree with the query in their band and in no band
// before. Then it empties found. goOn is false if the search is over.
func (v *visit) verify(emit func(ord uint32, doc []uint64) bool) (goOn bool, err error) {
	t := v.t
	dealt := uint32(t.N) // the last document that agreed; none yet
	for _, f := range v.found[:v.matches] {
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
	v.matches = 0
	return true, nil
}

// A Query is a signature to search for: its document and the keys of its bands. The empty set has
// no keys, so nothing is found. If not all bits are kept, the values are packed into the document
// only when Jaccard asks for them; that takes longer than to find nothing.
type Query struct {
	doc    []uint64
	keys   []uint32
	values []uint32 // not packed into doc yet
}

// Set makes q the query for a signature, which it copies.
func (q *Query) Set(l *Layout, s []uint32) {
	q.doc = slices.Grow(q.doc[:0], l.Words)[:l.Words]
	if q.values = q.values[:0]; l.Bits == 32 {
		if words := Words(s); words != nil {
			copy(q.doc, words)
		} else {
			l.Pack(q.doc, s)
		}
	} else {
		clear(q.doc)
		l.packKeys(q.doc, s)
		q.values = append(q.values, s...)
	}
	if q.keys = q.keys[:0]; !l.IsEmpty(q.doc) {
		q.keys = l.keys(q.doc, q.keys)
	}
}

// setDoc makes q the query for a document, which it copies.
func (q *Query) setDoc(l *Layout, doc []uint64) {
	q.doc, q.keys, q.values = append(q.doc[:0], doc...), q.keys[:0], q.values[:0]
	if !l.IsEmpty(doc) {
		q.keys = l.keys(q.doc, q.keys)
	}
}

// Jaccard estimates the Jaccard similarity of the query and a document. It may change q.
func (q *Query) Jaccard(l *Layout, doc []uint64) float64 {
	if len(q.values) > 0 {
		PackValues(q.doc, q.values, l.Bits)
		q.values = q.values[:0]
	}
	return l.Jaccard(doc, q.doc)
}

// Queries pools Query values with their buffers. Call Set on what Get returns.
var Queries = sync.Pool{New: func() any { return new(Query) }}
