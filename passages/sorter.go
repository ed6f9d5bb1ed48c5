package passages

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"unsafe"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
)

// This file sorts more than fits in memory. A record goes into one of 256 parts by the upper bits of its key, and the parts go to
// a temporary file block by block. Then each part is sorted by itself. A part that is too large for that is parted again.

// A record is what is sorted: by the first of its numbers, the key. Records with the same key keep their order.
type record interface{ [2]uint64 | [4]uint64 }

const (
	sortParts = 256
	partBits  = 8
)

// Less in tests.
var (
	blockBytes  = 1 << 16        // of a part are in memory, and read at once
	leastSorted = int64(1 << 20) // so much is sorted at once, however little memory there is
)

// A queue is records in the order in which they came, which are in a file but for the last ones.
type queue[R record] struct {
	file   *textfile.File
	blocks []int64 // where full blocks are
	last   []R
}

// newQueue returns a queue that keeps so many bytes in memory.
func newQueue[R record](memory int64) *queue[R] {
	return &queue[R]{file: textfile.Temporary(memory)}
}

// add adds a record.
func (q *queue[R]) add(r R) error {
	if q.last = append(q.last, r); len(q.last) < perBlock[R]() {
		return nil
	}
	at, err := q.file.AppendBytes(bytesOf(q.last))
	q.blocks, q.last = append(q.blocks, at), q.last[:0]
	return err
}

// perBlock is how many records are in a block.
func perBlock[R record]() int { return blockBytes / int(unsafe.Sizeof(*new(R))) }

// numberOfBlocks returns how many blocks there are, the last one included.
func (q *queue[R]) numberOfBlocks() int { return len(q.blocks) + 1 }

// read returns a block, in room if that is large enough. After an error, which the file has, it is empty.
func (q *queue[R]) read(i int, room []R, buf *[]byte) []R {
	if i == len(q.blocks) {
		return q.last
	}
	room = slices.Grow(room[:0], perBlock[R]())[:perBlock[R]()]
	n := copy(bytesOf(room), q.file.Read(q.blocks[i], len(room)*int(unsafe.Sizeof(*new(R))), buf))
	return room[:n/int(unsafe.Sizeof(*new(R)))]
}

// all yields all records.
func (q *queue[R]) all(yield func(R) bool) {
	var room []R
	var buf []byte
	for i := range q.numberOfBlocks() {
		room = q.read(i, room, &buf)
		for _, r := range room {
			if !yield(r) {
				return
			}
		}
	}
}

// A sorter takes records, from one goroutine, and gives them back in order. Several may read parts of it.
type sorter[R record] struct {
	shift  int   // the bits of the key above those by which this one parts
	memory int64 // for a part that is sorted
	file   *textfile.File
	parts  [sortParts]sortPart[R]
}

// A sortPart is the records of which the bits are the same.
type sortPart[R record] struct {
	queue[R]
	n      int
	key    uint64 // of the first one
	isMore bool   // there are other keys too
}

// newSorter returns a sorter that takes about so much memory: half of it for records before they go to the file, the other half for what is
// sorted.
func newSorter[R record](memory int64) *sorter[R] {
	s := &sorter[R]{memory: max(memory/4/int64(runtime.GOMAXPROCS(0)), leastSorted), file: textfile.Temporary(max(memory/2-int64(sortParts*blockBytes), 0))}
	for i := range s.parts {
		s.parts[i].file = s.file
	}
	return s
}

// add takes a record.
func (s *sorter[R]) add(r R) error {
	p := &s.parts[r[0]<<s.shift>>(64-partBits)]
	if p.n == 0 {
		p.key = r[0]
	}
	p.n++
	p.isMore = p.isMore || p.key != r[0]
	return p.queue.add(r)
}

// bytesOf returns the memory of values.
func bytesOf[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// sorted yields the records of a part in order. Those of the next part come behind them. After an error, which the file has, some
// are missing.
func (s *sorter[R]) sorted(part int) iter.Seq[R] {
	p := &s.parts[part]
	return func(yield func(R) bool) {
		switch {
		case !p.isMore:
			p.all(yield)
		case int64(p.n)*int64(unsafe.Sizeof(*new(R))) > s.memory:
			below := s.parted(part)
			for i := range sortParts {
				for r := range below.sorted(i) {
					if !yield(r) {
						return
					}
				}
			}
			if err := below.file.Err(); err != nil {
				s.file.Fail(err)
			}
		default:
			all := slices.AppendSeq(make([]R, 0, p.n), p.all)
			for _, r := range sortRecords(all, s.shift+partBits) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// groups yields the records of a part with the same key together, in order, in a slice that is only valid until the next one.
func (s *sorter[R]) groups(part int) iter.Seq[[]R] {
	return func(yield func([]R) bool) {
		var group []R
		for r := range s.sorted(part) {
			if len(group) > 0 && r[0] != group[0][0] {
				if !yield(group) {
					return
				}
				group = group[:0]
			}
			group = append(group, r)
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}

// allGroups yields the groups of all parts, in order.
func (s *sorter[R]) allGroups(yield func([]R) bool) {
	for part := range sortParts {
		for group := range s.groups(part) {
			if !yield(group) {
				return
			}
		}
	}
}

// each calls use with all records in order, some at a time, until it returns false. It sorts parts on all processors.
func (s *sorter[R]) each(use func([]R) bool) error {
	const some = 1 << 14
	parallel.InOrder(sortParts, func() struct{} { return struct{}{} }, func(_ struct{}, part int, emit func([]R) bool) {
		var block []R
		for r := range s.sorted(part) {
			if block = append(block, r); len(block) == some {
				if !emit(block) {
					return
				}
				block = nil
			}
		}
		emit(block)
	}, use)
	return s.file.Err()
}

// parted returns the records of a part in a sorter of its own.
func (s *sorter[R]) parted(part int) *sorter[R] {
	below := newSorter[R](s.memory)
	below.shift, below.memory = s.shift+partBits, s.memory
	for r := range s.parts[part].all {
		if err := below.add(r); err != nil {
			s.file.Fail(err)
			break
		}
	}
	return below
}

// sortRecords sorts records of which the first bits of the keys are the same: by the next 24 bits with counts, which leaves few
// to compare.
func sortRecords[R record](all []R, shift int) []R {
	room := make([]R, len(all))
	for bits := min(3*partBits, 64-shift); bits > 0; bits -= partBits {
		right := 64 - shift - bits
		var ends [1 << partBits]int
		for i := range all {
			ends[byte(all[i][0]>>right)]++
		}
		end := 0
		for i, n := range ends {
			ends[i], end = end, end+n
		}
		for i := range all {
			b := byte(all[i][0] >> right)
			room[ends[b]] = all[i]
			ends[b]++
		}
		all, room = room, all
	}
	compare := func(a, b R) int { return cmp.Compare(a[0], b[0]) }
	if !slices.IsSortedFunc(all, compare) {
		slices.SortStableFunc(all, compare)
	}
	return all
}
