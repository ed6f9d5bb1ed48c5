package passages

import (
	"slices"
	"sync"
)

// This file sorts grams into classes (join.go): those with equal keys, and whether all places of a class go on
// alike before and after it.

// A class is the grams with the same key, which is to say all places of one run. Its number is the part of the
// sorter and its number there, so goroutines number the classes of different parts without talking to each other.
type class uint64

// classOf returns the number of a class.
func classOf(part, n int) class { return class(part)<<32 | class(n) }

// follows says of each class what all its places have in common, by part and number. It stays in memory, a byte
// for each run that occurs twice, because pieces looks classes up in the order of the texts.
type follows [sortParts][]uint8

func (f *follows) of(c class) uint8 { return f[c>>32][uint32(c)] }

// goOn reports whether all places of a class go on with another one, and the other one has no places besides
// these. The caller knows that one place of c is followed by next. If all places of c have the same successor,
// and all of next the same predecessor, the two classes have the same places, one token apart.
func (f *follows) goOn(c, next class) bool {
	return f.of(c)&sameBehind != 0 && f.of(next)&sameBefore != 0
}

// classes returns the classes of the grams that occur twice, by the number of their first token, and what is
// known of each class. Parts are compared side by side. They share one sorter, which takes records from one
// goroutine at a time: hence the lock, and the blocks of records that a classBuilder collects.
func (j *join[ID]) classes(grams *sorter[[4]uint64]) (of *sorter[[2]uint64], follow *follows) {
	of, follow = newSorter[[2]uint64](j.share()), &follows{}
	var mu sync.Mutex
	eachPart(j, "comparing", grams, func(part int) {
		b := &classBuilder{part: part, shift: j.shift, put: func(all [][2]uint64) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range all {
				if err := of.add(r); err != nil {
					j.fail(err)
					return
				}
			}
		}}
		for g := range grams.sorted(part) {
			b.take(g)
		}
		b.end()
		follow[part] = b.follow
	})
	return of, follow
}

// A classBuilder makes classes of grams that come by the first 64 bits of their keys, and within these by
// place. It needs no memory for a class, only its first gram: each later one is compared with that. A gram is
// emitted only when a second one with the key comes, so grams that occur once leave nothing.
type classBuilder struct {
	part   int
	shift  int
	follow []uint8
	first  [4]uint64   // of the class
	n      int         // how many it has
	others [][4]uint64 // with the same first number, and another key; nearly always none
	out    [][2]uint64
	put    func([][2]uint64)
}

// tokenOf returns the number of the first token of a gram.
func tokenOf(g [4]uint64) uint64 { return g[1] & (mostTokens - 1) }

// take takes the next gram.
func (b *classBuilder) take(g [4]uint64) {
	switch {
	case b.n > 0 && g[0] == b.first[0] && g[1]>>40 == b.first[1]>>40:
		b.join(g)
	case b.n > 0 && g[0] == b.first[0]:
		b.others = append(b.others, g)
	default:
		b.finish()
		b.first, b.n = g, 1
	}
}

// join adds a gram to the class.
func (b *classBuilder) join(g [4]uint64) {
	if b.n++; b.n == 2 {
		is := uint8(0)
		if b.first[2] != 0 {
			is |= sameBefore
		}
		if b.first[3] != 0 {
			is |= sameBehind
		}
		b.follow = append(b.follow, is)
		b.emit(b.first)
	}
	last := &b.follow[len(b.follow)-1]
	if g[2] != b.first[2] {
		*last &^= sameBefore
	}
	if g[3] != b.first[3] {
		*last &^= sameBehind
	}
	b.emit(g)
}

// emit puts a gram into the last class.
func (b *classBuilder) emit(g [4]uint64) {
	b.out = append(b.out, [2]uint64{tokenOf(g) << b.shift, uint64(classOf(b.part, len(b.follow)-1))})
	if len(b.out) == 4096 {
		b.put(b.out)
		b.out = b.out[:0]
	}
}

// finish ends the class, and makes those of the grams that have the same first 64 bits but another key. It sorts
// these, because several such keys may have come in turns. The sort is stable, so places still ascend.
func (b *classBuilder) finish() {
	b.n = 0
	if len(b.others) > 0 {
		others := b.others
		b.others = nil
		slices.SortStableFunc(others, func(x, y [4]uint64) int { return int(x[1]>>40) - int(y[1]>>40) })
		for _, g := range others {
			if b.n > 0 && g[1]>>40 == b.first[1]>>40 {
				b.join(g)
			} else {
				b.first, b.n = g, 1
			}
		}
		b.n = 0
	}
}

// end ends the last class.
func (b *classBuilder) end() {
	b.finish()
	b.put(b.out)
}
