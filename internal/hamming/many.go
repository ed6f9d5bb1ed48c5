package hamming

import (
	"unsafe"

	"github.com/neardup/neardup/internal/kernel"
)

// This file searches a tree for many queries. A search mostly waits for memory: for the beginnings
// of the buckets, then for the buckets, then for the fingerprints whose tags are near. Each step
// needs what the one before has read, but the queries do not need each other. So SearchMany takes
// every step for the root's probes of several queries before the next step, and their waits overlap.
// A bucket that was split is searched for one query.

// inFlight is the number of probes that SearchMany takes at a time. A query often has 4.
const inFlight = 32

// many is what a visit keeps for a search of many queries.
type many struct {
	queries []uint64
	emit    func(query int, ord uint32, distance int)
	held    [2 * inFlight]candidate // from buckets of the root, not verified yet
	holds   int                     // how many
}

// A candidate is an entry of a bucket whose tag is near, and how the search came to it.
type candidate struct {
	ord   uint32
	table uint16
	query uint8
}

// MostQueries is the largest number of queries of one call of SearchMany.
const MostQueries = 1 << 8

// SearchMany is [Tree.Search] for up to MostQueries queries. Each has as many words as a fingerprint. It
// calls emit for every query and every fingerprint within the distance of it, once for each
// ordinal, in no particular order.
func (t *Tree) SearchMany(queries []uint64, distance int, emit func(query int, ord uint32, distance int)) error {
	if t.Len() == 0 || len(queries) == 0 {
		return nil
	}
	var err error
	v := visit{t: t, distance: distance, err: &err, many: &many{queries: queries, emit: emit}}
	if distance > t.Reach {
		v.scanMany()
	} else {
		v.rootMany()
	}
	return err
}

// set makes a query the current one. It returns the distance that is left in the root, which may be
// negative.
func (v *visit) set(number uint8) (k int) {
	v.number = number
	if v.t.words == 1 {
		v.lo = v.many.queries[number]
	} else {
		v.lo, v.hi = v.many.queries[2*int(number)], v.many.queries[2*int(number)+1]
	}
	if len(v.t.Nodes) == 0 {
		return v.distance
	}
	return v.left(&v.t.Nodes[0], v.distance)
}

// scanMany compares each part of the fingerprints with all queries while it is in the cache.
func (v *visit) scanMany() {
	for from := 0; from < v.t.Len(); from += scanPart {
		for i := range len(v.many.queries) / v.t.words {
			v.set(uint8(i))
			if !v.scanFrom(from) {
				return
			}
		}
	}
}

// rootMany searches the tables of the root for all queries.
func (v *visit) rootMany() {
	var batch [inFlight]probe
	used, ok := 0, true
	for i := range len(v.many.queries) / v.t.words {
		if k := v.set(uint8(i)); k >= 0 {
			if used, ok = v.probe(0, k, batch[:], used); !ok {
				return
			}
		}
	}
	if used > 0 {
		v.buckets(0, v.set(batch[0].query), batch[:used])
	}
}

// hold keeps a candidate for verify, and begins to load its fingerprint. It returns false if there is
// no room for it, or if it cannot be right.
func (v *visit) hold(entry uint32) bool {
	h, m := &v.path[0], v.many
	if m.holds == len(m.held) || uint64(entry&^copyBit)*uint64(v.t.words) >= uint64(len(v.t.fps)) {
		return false
	}
	at := int(entry&^copyBit) * v.t.words
	m.held[m.holds] = candidate{entry, uint16(h.table), v.number}
	m.holds++
	kernel.Prefetch(unsafe.Pointer(&v.t.fps[at]), 8*v.t.words)
	return true
}

// verify verifies the candidates that are held, after each batch of probes.
func (v *visit) verify() bool {
	m := v.many
	v.depth = 1
	for i := range m.held[:m.holds] {
		c := &m.held[i]
		k := v.set(c.query)
		v.path[0] = hop{0, uint32(c.table), uint32(k)}
		if !v.candidate(c.ord&^copyBit, c.ord&copyBit != 0) {
			return false
		}
	}
	v.depth, m.holds = 0, 0
	return true
}
