package neighbour

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/slots"
)

// This file finds which contents can matter to each other, where no process has all of them. These are linked.
// The verdict on two contents depends on nothing but those that a chain of links connects with them.
//
// Two are linked if they are neighbours, or if both are in a bucket of more than [UsualLimit], where it depends
// on the others who is whose neighbour. A link too many does no harm. So nobody has to know all links: those
// that are found connect what all of them would.

// An Entry is what has to be known of a signature in a bucket.
type Entry struct {
	sketch   sketch
	hasShort bool // its content has a short signature too
}

// entryOf returns the entry of a content for the buckets of one of its levels.
func entryOf(s *signature.Set, l signature.Level) Entry {
	return Entry{sketchOf(&s.Of[l]), s.Has[signature.Short]}
}

// A Bucket is the number of a bucket: its level, its band and its key.
type Bucket uint64

// bucketNumber returns the number of a bucket.
func bucketNumber(l signature.Level, band int, key uint32) Bucket {
	return Bucket(uint64(l)<<40 | uint64(band)<<32 | uint64(key))
}

// level returns the level of a bucket.
func (b Bucket) level() signature.Level { return signature.Level(b >> 40) }

// EachBucket calls use with all buckets of a content, and with what they have to know of it.
func EachBucket(s *signature.Set, use func(b Bucket, e Entry)) {
	for l := range signature.Levels {
		if !s.Has[l] {
			continue
		}
		e := entryOf(s, l)
		for band := range bands {
			use(bucketNumber(l, band, keyOf(&s.Of[l], band)), e)
		}
	}
}

// LinkBucket calls link with the numbers of entries of one bucket so that those that can matter to each
// other are connected. It takes time for all pairs of them, but less if many are linked. It reorders order,
// which has the numbers.
//
// It does not compare two entries that are linked already, directly or by a chain. So the links connect
// everything that belongs together, but not every two neighbours get a link.
func LinkBucket(b Bucket, entries []Entry, order []int, link func(i, j int)) {
	if len(order) > int(UsualLimit) {
		for _, i := range order[1:] {
			link(order[0], i)
		}
		return
	}
	level := b.level()
	least := leastAgreement[level]
	// order[:done] have been compared with all, and order[done:reached] are linked to one of these.
	for done, reached := 0, 0; done < len(order); done++ {
		reached = max(reached, done+1)
		x := &entries[order[done]]
		for k := reached; k < len(order); k++ {
			y := &entries[order[k]]
			isOther := level == signature.Long && x.hasShort && y.hasShort
			if !isOther && agreement(x.sketch.same(&y.sketch)) >= least {
				link(order[done], order[k])
				order[reached], order[k] = order[k], order[reached]
				reached++
			}
		}
	}
}

// Links finds links in a part of the buckets: those whose keys are in one of several equal ranges.
type Links struct {
	part, parts uint64
	levels      [signature.Levels]linkLevel
}

// A linkLevel is the signatures of one level, by ordinal.
type linkLevel struct {
	contents []uint32
	entries  slots.Column[Entry]
	lists    [bands]slots.Column[uint64] // the key in the upper half, and the ordinal in the lower one
}

// NewLinks returns Links for one of several parts, which are numbered from 0 on.
func NewLinks(part, parts int) *Links { return &Links{part: uint64(part), parts: uint64(parts)} }

// Add adds a content by a number, which the links will have.
func (l *Links) Add(content uint32, s *signature.Set) {
	for level := range signature.Levels {
		if !s.Has[level] {
			continue
		}
		x := &l.levels[level]
		ord := uint64(len(x.contents))
		x.contents = append(x.contents, content)
		x.entries.Append(entryOf(s, level))
		for band := range bands {
			if key := uint64(keyOf(&s.Of[level], band)); key*l.parts>>32 == l.part {
				x.lists[band].Append(key<<32 | ord)
			}
		}
	}
}

// Find calls link with the links that it finds, from one goroutine at a time. Which these are is always the
// same, but not their order. It uses all processors, and may be called once, since it gives back the memory of
// each list as it goes. If the context ends, links are missing.
func (l *Links) Find(ctx context.Context, link func(a, b uint32)) error {
	var mu sync.Mutex
	var finders sync.Pool // for each goroutine one, with its memory
	for level := range signature.Levels {
		x := &l.levels[level]
		parallel.Each(bands, func(band int) {
			f, _ := finders.Get().(*linkFinder)
			if f == nil {
				f = &linkFinder{link: func(i, j uint32) {
					mu.Lock()
					defer mu.Unlock()
					link(i, j)
				}}
			}
			defer finders.Put(f)
			f.linkLevel, f.list = x, f.list[:0]
			for _, part := range x.lists[band].Chunks() {
				f.list = append(f.list, part...)
			}
			x.lists[band] = slots.Column[uint64]{}
			f.list, f.room = sortByKey(f.list, f.room)
			list := f.list
			for len(list) > 1 && ctx.Err() == nil {
				end := bucketEnd(list)
				if end > 1 {
					f.add(bucketNumber(level, band, uint32(list[0]>>32)), list[:end])
				}
				list = list[end:]
			}
			f.findAll()
		})
	}
	return ctx.Err()
}

// A linkFinder finds the links of some buckets at a time. It copies their entries first, so that memory
// fetches them side by side.
type linkFinder struct {
	*linkLevel
	link       func(a, b uint32)
	list, room []uint64 // of one band
	buckets    []Bucket
	ends       []int    // of the buckets
	ordinals   []uint32 // in the buckets, one after the other
	entries    []Entry
	order      []int
}

// add adds a bucket to those that are gone through next.
func (f *linkFinder) add(b Bucket, bucket []uint64) {
	const most = 4096
	if len(f.ordinals)+len(bucket) > most {
		f.findAll()
	}
	for _, e := range bucket {
		f.ordinals = append(f.ordinals, uint32(e))
	}
	f.buckets, f.ends = append(f.buckets, b), append(f.ends, len(f.ordinals))
}

// findAll goes through the buckets that were added.
func (f *linkFinder) findAll() {
	f.entries = f.entries[:0]
	for _, ord := range f.ordinals {
		f.entries = append(f.entries, *f.linkLevel.entries.At(ord))
	}
	from := 0
	for i, end := range f.ends {
		f.order = f.order[:0]
		for k := from; k < end; k++ {
			f.order = append(f.order, k)
		}
		LinkBucket(f.buckets[i], f.entries, f.order, func(i, j int) { f.link(f.contents[f.ordinals[i]], f.contents[f.ordinals[j]]) })
		from = end
	}
	f.buckets, f.ends, f.ordinals = f.buckets[:0], f.ends[:0], f.ordinals[:0]
}

// EntryBytes is how many bytes an entry takes.
const EntryBytes = 8*len(sketch{}) + 1

// AppendBinary appends the entry: the sketch, and 1 if the content has a short signature. The error is nil.
func (e *Entry) AppendBinary(b []byte) ([]byte, error) {
	for _, w := range e.sketch {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if e.hasShort {
		return append(b, 1), nil
	}
	return append(b, 0), nil
}

// UnmarshalBinary reads what AppendBinary appended.
func (e *Entry) UnmarshalBinary(b []byte) error {
	if len(b) != EntryBytes || b[EntryBytes-1] > 1 {
		return errors.New("neardup: invalid bucket entry")
	}
	for i := range e.sketch {
		e.sketch[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	e.hasShort = b[EntryBytes-1] > 0
	return nil
}
