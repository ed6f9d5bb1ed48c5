package forest

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
)

// This file looks up sets by their keys, among sets that come one by one.

// An Index has sets by number. It is a list of runs, each of which has the keys of a tree in order, and a
// tail of the last sets. Search may be called by several goroutines; Add must be alone.
type Index struct {
	trees int
	runs  []run // each is a few times as large as the next
	tail  []run // of one set each
}

// A run has its sets in every tree, sorted by key and set.
type run [][]entry

const (
	tailSize = 1024
	growth   = 4 // of runs
)

// NewIndex makes an index of the sets of keys. number returns the number of each.
func NewIndex(keys *Keys, number func(set int) uint32) *Index {
	x := &Index{trees: keys.trees}
	r := make(run, keys.trees)
	parallel.Each(keys.trees, func(t int) {
		r[t] = byFirst(keys.entries(t, func(int) bool { return true }))
		for i := range r[t] {
			r[t][i].set = number(int(r[t][i].set))
		}
		for left := r[t]; len(left) > 0; {
			n := same(left, behindFirst)
			slices.SortFunc(left[:n], before)
			left = left[n:]
		}
	})
	if keys.n > 0 {
		x.runs = append(x.runs, r)
	}
	return x
}

// before orders entries.
func before(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.set, b.set)) }

// Add adds a set with its keys, one for each tree.
func (x *Index) Add(set uint32, keys []Key) {
	r := make(run, x.trees)
	all := make([]entry, x.trees)
	for t, key := range keys {
		all[t] = entry{key, set}
		r[t] = all[t : t+1]
	}
	if x.tail = append(x.tail, r); len(x.tail) < tailSize {
		return
	}
	// The tail becomes a run, and takes those with it that are not much larger.
	parts := x.tail
	for size := len(parts); len(x.runs) > 0 && len(x.runs[len(x.runs)-1][0]) < growth*size; {
		last := x.runs[len(x.runs)-1]
		size += len(last[0])
		parts, x.runs = append(parts, last), x.runs[:len(x.runs)-1]
	}
	merged := make(run, x.trees)
	parallel.Each(x.trees, func(t int) {
		n := 0
		for _, p := range parts {
			n += len(p[t])
		}
		merged[t] = make([]entry, 0, n)
		for _, p := range parts {
			merged[t] = append(merged[t], p[t]...)
		}
		slices.SortFunc(merged[t], before)
	})
	x.runs, x.tail = append(x.runs, merged), nil
}

// Search calls take with the sets that share a bucket with a set that has these keys: for each tree in which
// they do.
func (x *Index) Search(keys []Key, take func(set uint32)) {
	for t, key := range keys {
		for _, r := range x.runs {
			bucket := r[t]
			for _, behind := range [3]int{behindFirst, behindSecond, 0} {
				if bucket = equal(bucket, key, behind); len(bucket) <= small {
					break
				}
			}
			for _, e := range bucket {
				take(e.set)
			}
		}
		for _, r := range x.tail {
			if e := r[t][0]; e.key>>behindFirst == key>>behindFirst {
				take(e.set)
			}
		}
	}
}

// equal returns the entries whose keys are equal before the lowest bits behind. all is sorted.
func equal(all []entry, key Key, behind int) []entry {
	from, _ := slices.BinarySearchFunc(all, key>>behind, func(e entry, k Key) int { return cmp.Compare(e.key>>behind, k) })
	all = all[from:]
	to, _ := slices.BinarySearchFunc(all, key>>behind+1, func(e entry, k Key) int { return cmp.Compare(e.key>>behind, k) })
	return all[:to]
}
