package neighbour

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/parallel"
)

// This file finds the signatures of one level that share a band with another one.
//
// A band is three values of a signature. For each band there is a list of all signatures, sorted by a hash
// of their values in it, so those that agree in it stand side by side: a bucket. Lists are kept in runs, of
// which each has the signatures that were added between two others. A run is made when it is first
// needed, and merged with the one before it as soon as it has become as long.
//
// # Hubs
//
// In a bucket of very many signatures, to compare each with each would take for ever. A bucket of more than
// hub signatures therefore counts only for those that agree in the next five values too, and if these are
// still more than hub, only for those that agree in twelve more. Whoever shares most features with
// somebody agrees in so many values in some band: of two texts with a similarity of 0.9, in eight
// values of one of 42 bands with a probability of 1 − 10⁻¹⁰, and in twenty with one of 0.997. So a family
// is found whatever its size, and what a page of a million has in common with the others by its template
// is not. How large a bucket is depends on the set of the signatures, not on the order in which they came.

const (
	bands = 42
	rows  = 3 // values in a band: two texts with a similarity of 0.5 share a band with a probability of 0.996

	// hub is the largest bucket in which each is compared with each. Families of up to so many are found as a
	// whole, however different their members are.
	hub = 8192
)

// agreements are how many values must agree in a bucket, in one of more than hub, and in one that is
// still larger.
var agreements = [...]int{rows, 8, 20}

// none is the ordinal of nothing.
const none = ^uint32(0)

// An index has signatures by their slots. Inside they have ordinals, in the order of adding, so that a slot can
// be used again at once.
type index struct {
	signatures []signature.Signature // by ordinal
	slots      []uint32              // by ordinal; none if the signature was deleted
	ordinals   []uint32              // by slot; none if the slot has no signature
	deleted    int                   // ordinals without a slot
	runs       []run                 // of the ordinals from 0 on
	sorted     int                   // how many ordinals are in runs
}

// A run has the ordinals from..to−1: for each band ascending by the hash of the band, with the hash in the upper
// half and the ordinal in the lower one. A bucket of more than hub is in the order of the values that
// follow the band.
type run struct {
	from, to int
	lists    [bands][]uint64
}

// add adds a signature to a slot that has none.
func (x *index) add(slot uint32, s *signature.Signature) {
	for len(x.ordinals) <= int(slot) {
		x.ordinals = append(x.ordinals, none)
	}
	x.ordinals[slot] = uint32(len(x.signatures))
	x.signatures = append(x.signatures, *s)
	x.slots = append(x.slots, slot)
}

// has reports whether a slot has a signature.
func (x *index) has(slot uint32) bool { return int(slot) < len(x.ordinals) && x.ordinals[slot] != none }

// of returns the signature of a slot that has one. It is valid until the index changes.
func (x *index) of(slot uint32) *signature.Signature { return &x.signatures[x.ordinals[slot]] }

// remove removes the signature of a slot, if there is one.
func (x *index) remove(slot uint32) {
	if !x.has(slot) {
		return
	}
	x.slots[x.ordinals[slot]] = none
	x.ordinals[slot] = none
	if x.deleted++; x.deleted > 1024 && x.deleted > len(x.slots)/4 {
		x.renumber()
	}
}

// renumber gives the signatures new ordinals, without those that were deleted. Snapshots keep the old ones.
func (x *index) renumber() {
	old := *x
	n := len(old.slots) - old.deleted
	x.signatures, x.slots = make([]signature.Signature, 0, n), make([]uint32, 0, n)
	for ord, slot := range old.slots {
		if slot != none {
			x.ordinals[slot] = uint32(len(x.slots))
			x.signatures, x.slots = append(x.signatures, old.signatures[ord]), append(x.slots, slot)
		}
	}
	x.deleted, x.runs, x.sorted = 0, nil, 0
}

// snapshot returns the index as it is now. Signatures and lists never change, so they are shared.
func (x *index) snapshot() index {
	s := *x
	n := len(x.signatures)
	s.signatures, s.slots, s.ordinals, s.runs = x.signatures[:n:n], slices.Clone(x.slots), slices.Clone(x.ordinals), slices.Clone(x.runs)
	return s
}

// fewUnsorted is how many signatures are not worth a run: to look at all of them takes about as long as to
// look into a run.
const fewUnsorted = 256

// isSettled reports whether settle has nothing to do.
func (x *index) isSettled() bool { return len(x.signatures)-x.sorted <= fewUnsorted }

// settle puts the signatures that are not in a run into one.
func (x *index) settle() {
	if x.isSettled() {
		return
	}
	from, to := x.sorted, len(x.signatures)
	for n := len(x.runs); n > 0 && x.runs[n-1].to-x.runs[n-1].from <= 2*(to-from); n-- {
		from, x.runs = x.runs[n-1].from, x.runs[:n-1]
	}
	x.sort(from, to)
}

// compact puts all signatures into one run.
func (x *index) compact() {
	if x.deleted > 0 {
		x.renumber()
	}
	if n := len(x.signatures); n > 0 && (len(x.runs) != 1 || x.sorted < n) {
		x.runs, x.sorted = nil, 0
		x.sort(0, n)
	}
}

// sort makes a run of some ordinals.
func (x *index) sort(from, to int) {
	r := run{from: from, to: to}
	parallel.Each(bands, func(b int) { r.lists[b] = x.list(b, from, to) })
	x.runs, x.sorted = append(x.runs, r), to
}

// mark sets what may have a neighbour, by slot, for an index that is compact. It goes through the lists, which takes a
// part of the time of as many searches.
func (x *index) mark(least int, may []atomic.Bool) {
	if len(x.runs) == 0 {
		return
	}
	parallel.Each(bands, func(b int) {
		list := x.runs[0].lists[b]
		for i := 0; i < len(list); {
			end := i + 1
			for end < len(list) && list[end]>>32 == list[i]>>32 {
				end++
			}
			x.markBucket(list[i:end], least, may)
			i = end
		}
	})
}

// mostMarked is the largest bucket in which mark compares each with each.
const mostMarked = 32

// markBucket is mark for a bucket.
func (x *index) markBucket(bucket []uint64, least int, may []atomic.Bool) {
	if len(bucket) > mostMarked {
		for _, e := range bucket {
			may[x.slots[uint32(e)]].Store(true)
		}
		return
	}
	for k, e := range bucket {
		a := &may[x.slots[uint32(e)]]
		for _, f := range bucket[:k] {
			b := &may[x.slots[uint32(f)]]
			if a.Load() && b.Load() {
				continue
			}
			if x.signatures[uint32(e)].Agreement(&x.signatures[uint32(f)]) >= least {
				a.Store(true)
				b.Store(true)
			}
		}
	}
}

// list returns the sorted list of a band for some ordinals.
func (x *index) list(band, from, to int) []uint64 {
	list := make([]uint64, 0, to-from)
	for ord := from; ord < to; ord++ {
		if x.slots[ord] != none {
			list = append(list, uint64(hashOf(&x.signatures[ord], band))<<32|uint64(ord))
		}
	}
	list = sortByHash(list)
	for i := 0; i+hub < len(list); i++ {
		if list[i]>>32 != list[i+hub]>>32 {
			continue
		}
		end := i + hub
		for end < len(list) && list[end]>>32 == list[i]>>32 {
			end++
		}
		slices.SortFunc(list[i:end], func(a, b uint64) int {
			return cmp.Or(compareFrom(&x.signatures[uint32(a)], &x.signatures[uint32(b)], band, agreements[2]), cmp.Compare(a, b))
		})
		i = end - 1
	}
	return list
}

// sortByHash sorts a list by the upper halves, and keeps the order of equal ones. It is a radix sort in
// three passes.
func sortByHash(list []uint64) []uint64 {
	const width = 11
	if len(list) < 1<<width {
		slices.Sort(list) // ordinals ascend, so equal hashes stay in order
		return list
	}
	other := make([]uint64, len(list))
	for shift := 32; shift < 64; shift += width {
		var ends [1 << width]int
		for _, e := range list {
			ends[e>>shift&(1<<width-1)]++
		}
		sum := 0
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for _, e := range list {
			at := &ends[e>>shift&(1<<width-1)]
			other[*at] = e
			*at++
		}
		list, other = other, list
	}
	return list
}

// value returns value i behind the beginning of a band, where the first one follows the last.
func value(s *signature.Signature, band, i int) uint64 {
	return s.Value((band*rows + i) % signature.Values)
}

// hashOf returns a hash of the values of a band.
func hashOf(s *signature.Signature, band int) uint32 {
	v := value(s, band, 0) | value(s, band, 1)<<16 | value(s, band, 2)<<32
	return uint32(exact.SplitMix(v|uint64(band)<<48) >> 32)
}

// compareFrom compares two signatures by the first n values from the beginning of a band.
func compareFrom(a, b *signature.Signature, band, n int) int {
	for i := range n {
		if c := cmp.Compare(value(a, band, i), value(b, band, i)); c != 0 {
			return c
		}
	}
	return 0
}

// bucket returns the part of a list with a hash. Hashes are evenly spread, so the place is guessed, and the search
// begins there.
func bucket(list []uint64, hash uint32) []uint64 {
	at := find(list, uint64(hash)<<32)
	end := at
	for end < len(list) && end < at+16 && uint32(list[end]>>32) == hash {
		end++
	}
	if end == at+16 {
		end += find(list[end:], uint64(hash)<<32|uint64(none)) // no ordinal is none
	}
	return list[at:end]
}

// find returns the position of the first entry that is at least least.
func find(list []uint64, least uint64) int {
	n := len(list)
	low, high := 0, n
	if n > 32 {
		guess := int((least >> 32) * uint64(n) >> 32)
		guess = min(guess, n-1)
		step := 8
		if list[guess] < least {
			low = guess
			for high = guess + step; high < n && list[high] < least; high += step {
				low, step = high, 2*step
			}
			high = min(high, n)
		} else {
			high = guess
			for low = guess - step; low > 0 && list[low] >= least; low -= step {
				high, step = low, 2*step
			}
			low = max(low, 0)
		}
	}
	for low < high {
		if m := (low + high) / 2; list[m] < least {
			low = m + 1
		} else {
			high = m
		}
	}
	return low
}

// narrow returns the part of a bucket of more than hub entries that agrees with a signature in the first n values
// from the beginning of the band.
func (x *index) narrow(bucket []uint64, s *signature.Signature, band, n int) []uint64 {
	at, _ := slices.BinarySearchFunc(bucket, s, func(e uint64, s *signature.Signature) int {
		return compareFrom(&x.signatures[uint32(e)], s, band, n)
	})
	length, _ := slices.BinarySearchFunc(bucket[at:], s, func(e uint64, s *signature.Signature) int {
		return compareFrom(&x.signatures[uint32(e)], s, band, n) - 1
	})
	return bucket[at : at+length]
}
