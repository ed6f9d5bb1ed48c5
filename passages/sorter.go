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

// This file sorts more than fits in memory. A record goes into one of 256 parts by the upper bits of its key, and
// the parts go to a temporary file block by block. Then each part is sorted by itself. A part that is too large
// for that is divided again, by the next bits.
//
// Callers shift their keys to the left as far as they can. Otherwise all records would be in the first part, and
// one goroutine would sort them alone.
//
// An error of a temporary file shows up in one of two ways. Adding returns it. Reading goes on with fewer
// records, and the file keeps the error, so that the loops over records need no error of their own.

// A record is what is sorted: by the first of its numbers, the key. Records with the same key keep the order in
// which they were added; join.go relies on that for the order of places.
type record interface{ [2]uint64 | [4]uint64 }

const (
	sortParts = 256
	partBits  = 8
)

// These are variables so that tests can make them small.
var (
	blockBytes  = 1 << 16        // of each part may be in memory, and are written and read at once
	leastSorted = int64(1 << 20) // bytes that are sorted at once, however little memory there is
)

// A queue has records in the order in which they were added. Full blocks are in a file, and the last records,
// which do not fill one, stay in memory.
type queue[R record] struct {
	file   *textfile.File
	blocks []int64 // where full blocks are
	last   []R
}

// newQueue returns a queue whose file keeps about memory bytes in memory.
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

// read returns a block, in room if that is large enough. After an error, which the file has, it is empty. The last
// block is the memory of the queue itself, and must not be written to.
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

// A sorter takes records, from one goroutine at a time, and gives them back in order, as often as they are asked
// for. Several goroutines may read it, as long as nobody adds.
type sorter[R record] struct {
	shift  int   // the bits of the key above those by which this one parts
	memory int64 // for a part that is sorted
	file   *textfile.File
	parts  [sortParts]sortPart[R]
}

// A sortPart has the records whose keys have the same upper bits. key and isMore tell whether they are all of one
// key: such a part is in order already, and no bits of the key would divide it.
type sortPart[R record] struct {
	queue[R]
	n      int
	key    uint64 // of the first one
	isMore bool   // there are other keys too
}

// newSorter returns a sorter that takes about memory bytes: half of it for records before they go to the file,
// and the other half for parts that are being sorted. Each processor may sort one part at a time, which takes
// the records and as much room again, hence a quarter divided by the processors.
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

// bytesOf returns the memory of values. The file is temporary and only this process reads it, so the order of
// bytes does not matter.
func bytesOf[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// sorted yields the records of a part in order. All keys of the next part are larger. After an error, which the
// file has, some records are missing.
//
// A part of a single key is yielded from the file, however large it is: a run that occurs a million times takes
// no memory, and dividing it again would never end.
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

// groups yields the records of a part with the same key together, in order, in a slice that is only valid until
// the next one. A group is in memory as a whole, so it must fit.
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

// each calls use with all records in order, up to 16,384 at a time, until it returns false. It sorts parts on all
// processors, and calls use on the goroutine of the caller. The error is that of the file; without it, records
// that could not be read would be missing unnoticed.
func (s *sorter[R]) each(use func([]R) bool) error {
	const some = 1 << 14
	parallel.InOrder(sortParts, func() struct{} { return struct{}{} }, func(_ struct{}, part int, emit func([]R) bool) {
		var block []R
		for r := range s.sorted(part) {
			if block = append(block, r); len(block) == some {
				if !emit(block) {
					return
				}
				block = nil // use may still be reading it
			}
		}
		emit(block)
	}, use)
	return s.file.Err()
}

// parted returns the records of a part in a sorter of its own, which divides them by the next bits. Both sorters
// keep the order of equal keys, so their records come out in the order in which they were added.
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

// sortRecords sorts records whose keys have the same first bits. It sorts them by the next 24 bits with counts,
// from the lowest byte to the highest. The keys are hashes or numbers shifted to the left, so that nearly always
// leaves nothing to compare. All steps are stable, and they need as much memory again.
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

// eachPart calls do for all parts of a sorter, on all processors, and says how far that is.
func eachPart[ID any, R record](j *join[ID], stage string, s *sorter[R], do func(part int)) {
	j.done = 0
	parallel.Each(sortParts, func(part int) {
		if !j.failed() {
			do(part)
		}
		j.tell(stage, sortParts)
	})
	if err := s.file.Err(); err != nil {
		j.fail(err)
	}
}
