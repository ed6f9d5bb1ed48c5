package forest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
)

// This file has the keys of all sets, tree by tree, in memory or in a temporary file, and sorts those of a
// tree into buckets. The buckets of one tree at a time are in memory.

// A Key has the values of a set in one tree, the first one in the highest bits.
type Key uint64

// The bits of the three values of a key.
const (
	first, second, third = 28, 18, 18

	behindFirst  = second + third
	behindSecond = third
)

// small is the number of sets up to which a bucket is not split.
const small = 16

// Keys has the keys of n sets in each of its trees. Set may be called for different sets at the same time;
// after that, Each may be.
type Keys struct {
	trees, n int
	all      []Key    // tree by tree; nil if they are in the file
	file     *os.File // the same, little-endian

	mu  sync.Mutex
	err error // the first one of the file
}

// NewKeys returns room for the keys of n sets. If inFile is true, it is in a temporary file, which nobody
// sees.
func NewKeys(trees, n int, inFile bool) (*Keys, error) {
	k := &Keys{trees: trees, n: n}
	if !inFile {
		k.all = make([]Key, trees*n)
		return k, nil
	}
	var err error
	k.file, err = textfile.TemporaryFile(k)
	return k, err
}

// Trees returns the number of trees.
func (k *Keys) Trees() int { return k.trees }

// Err returns the first error of the file, or nil. After an error keys may be missing.
func (k *Keys) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// fail keeps the first error.
func (k *Keys) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = fmt.Errorf("neardup: %w", err)
	}
}

// Set stores the keys of the sets from a number on: set by set, one for each tree.
func (k *Keys) Set(from int, keys []Key) {
	n := len(keys) / k.trees
	var b []byte
	for t := range k.trees {
		b = b[:0]
		for i := range n {
			if x := keys[i*k.trees+t]; k.file == nil {
				k.all[t*k.n+from+i] = x
			} else {
				b = binary.LittleEndian.AppendUint64(b, uint64(x))
			}
		}
		if k.file != nil {
			if _, err := k.file.WriteAt(b, int64(t*k.n+from)*8); err != nil {
				k.fail(err)
				return
			}
		}
	}
}

// entries returns the sets of a tree for which in is true, ascending, with their keys.
func (k *Keys) entries(t int, in func(set int) bool) []entry {
	all := make([]entry, 0, k.n)
	if k.file == nil {
		for i, x := range k.all[t*k.n:][:k.n] {
			if in(i) {
				all = append(all, entry{x, uint32(i)})
			}
		}
		return all
	}
	b := make([]byte, 1<<20)
	for from := 0; from < k.n; from += len(b) / 8 {
		b = b[:min(len(b), 8*(k.n-from))]
		if _, err := k.file.ReadAt(b, int64(t*k.n+from)*8); err != nil {
			k.fail(err)
			return nil
		}
		for i := range len(b) / 8 {
			if in(from + i) {
				all = append(all, entry{Key(binary.LittleEndian.Uint64(b[8*i:])), uint32(from + i)})
			}
		}
	}
	return all
}

// Each calls take for each tree, on all processors. next returns one bucket after the other, of those with
// two sets or more for which in is true, and then nil. A bucket is ascending and only valid until the next
// call.
func (k *Keys) Each(in func(set int) bool, take func(t int, next func() []uint32)) {
	parallel.Each(k.trees, func(t int) {
		b := buckets{left: byFirst(k.entries(t, in))}
		take(t, b.next)
	})
}

// An entry is a set in a tree.
type entry struct {
	key Key
	set uint32
}

// buckets makes the buckets of a tree.
type buckets struct {
	left    []entry   // those that were not looked at yet, by the first values of the keys
	waiting []waiting // parts of a large bucket, the last one first
	sets    []uint32
}

// A waiting is sets with equal values before the lowest bits behind.
type waiting struct {
	sets   []entry
	behind int
}

// next returns the next bucket, or nil.
func (b *buckets) next() []uint32 {
	for {
		if len(b.waiting) == 0 {
			if len(b.left) == 0 {
				return nil
			}
			n := same(b.left, behindFirst)
			b.waiting = append(b.waiting, waiting{b.left[:n], behindFirst})
			b.left = b.left[n:]
		}
		w := b.waiting[len(b.waiting)-1]
		b.waiting = b.waiting[:len(b.waiting)-1]
		switch {
		case len(w.sets) == 1:
		case len(w.sets) <= small || w.behind == 0:
			b.sets = b.sets[:0]
			for _, e := range w.sets {
				b.sets = append(b.sets, e.set)
			}
			slices.Sort(b.sets)
			return b.sets
		default:
			behind := 0
			if w.behind == behindFirst {
				behind = behindSecond
				slices.SortFunc(w.sets, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.set, b.set)) })
			}
			for left := w.sets; len(left) > 0; {
				n := same(left, behind)
				b.waiting = append(b.waiting, waiting{left[:n], behind})
				left = left[n:]
			}
		}
	}
}

// byFirst sorts entries by the first values of their keys, and keeps the order of those with equal ones. It
// is a radix sort by 14 bits at a time.
func byFirst(all []entry) []entry {
	const digit = first / 2
	to := make([]entry, len(all))
	starts := make([]uint32, 1<<digit+1)
	for _, shift := range [2]int{behindFirst, behindFirst + digit} {
		clear(starts)
		for _, e := range all {
			starts[e.key>>shift&(1<<digit-1)+1]++
		}
		for i := 1; i < len(starts); i++ {
			starts[i] += starts[i-1]
		}
		for _, e := range all {
			at := &starts[e.key>>shift&(1<<digit-1)]
			to[*at] = e
			*at++
		}
		all, to = to, all
	}
	return all
}

// same returns how many of the first entries have equal values before the lowest bits behind.
func same(all []entry, behind int) int {
	n := 1
	for n < len(all) && all[n].key>>behind == all[0].key>>behind {
		n++
	}
	return n
}
