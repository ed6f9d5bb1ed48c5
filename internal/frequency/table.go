package frequency

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// A Table is a hash table from keys of features to counts, in 64 parts by the
// highest bits of the key, so that workers rarely wait for each other and the table
// grows part by part, without ever having all of itself twice. In a part, keys stand
// in lines of 64 bytes, five to a line, so that a look-up costs one miss of the cache:
// in the line that a hash of the key tells, or if that is full in the next one, and so
// on. A part is made larger by a quarter when 85 % of it are in use. The hash is
// multiplicative with a secret factor, so nobody can choose keys that meet in one line.
type Table struct {
	factor uint64
	once   sync.Once
	Shards [64]shard
}

type shard struct {
	sync.Mutex
	lines []line
	n     int // keys
}

// A line is full from the front; a key of 0 is none, and the key 0 counts as 1.
type line struct {
	keys   [lineKeys]uint64
	values [lineKeys]uint32
}

const lineKeys = 5

// Prepare makes the zero value ready.
func (f *Table) Prepare() {
	f.once.Do(func() { f.factor = rand.Uint64() | 1 })
}

// Find returns the value of a key, or missing.
func (f *Table) Find(key uint64, missing uint32) uint32 {
	key = max(key, 1)
	lines := f.Shards[key>>58].lines
	if len(lines) == 0 {
		return missing
	}
	at, _ := bits.Mul64(key*f.factor, uint64(len(lines)))
	for {
		// Where in the line a key stands cannot be predicted: all are compared, without
		// branches.
		l := &lines[at]
		v0, v1, v2, v3, v4 := l.values[0], l.values[1], l.values[2], l.values[3], l.values[4]
		value := missing
		if l.keys[0] == key {
			value = v0
		}
		if l.keys[1] == key {
			value = v1
		}
		if l.keys[2] == key {
			value = v2
		}
		if l.keys[3] == key {
			value = v3
		}
		if l.keys[4] == key {
			value = v4
		}
		if value != missing || l.keys[lineKeys-1] == 0 {
			return value
		}
		if at++; at == uint64(len(lines)) {
			at = 0
		}
	}
}

// slot returns the value of a key, or nil and the line where it may be put.
func (s *shard) slot(key, factor uint64) (*uint32, *line) {
	at, _ := bits.Mul64(key*factor, uint64(len(s.lines)))
	for {
		l := &s.lines[at]
		for i, k := range l.keys {
			if k == key {
				return &l.values[i], nil
			}
			if k == 0 {
				return nil, l
			}
		}
		if at++; at == uint64(len(s.lines)) {
			at = 0
		}
	}
}

// add adds to the count of a key, which stops at the largest.
func (s *shard) add(key uint64, n uint32, factor uint64) {
	key = max(key, 1)
	if len(s.lines) == 0 {
		s.lines = make([]line, 1)
	}
	v, l := s.slot(key, factor)
	if v != nil {
		*v = uint32(min(uint64(*v)+uint64(n), math.MaxUint32))
		return
	}
	if (s.n+1)*20 > len(s.lines)*lineKeys*17 {
		s.resize(len(s.lines)+len(s.lines)/4+1, 0, factor)
		_, l = s.slot(key, factor)
	}
	for i, k := range l.keys {
		if k == 0 {
			l.keys[i], l.values[i] = key, n
			break
		}
	}
	s.n++
}

// resize moves the keys with a value of at least min into so many lines.
func (s *shard) resize(lines int, min uint32, factor uint64) {
	old := s.lines
	s.lines, s.n = make([]line, lines), 0
	for i := range old {
		for j, key := range old[i].keys {
			if v := old[i].values[j]; key != 0 && v >= min {
				s.add(key, v, factor)
			}
		}
	}
}

// Count adds 1 to the counts of keys that are all different. It sorts them by part in
// sorted, which is as long.
func (f *Table) Count(keys, sorted []uint64) {
	f.Prepare()
	var starts [len(f.Shards) + 1]int
	for _, k := range keys {
		starts[k>>58+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	next := starts
	for _, k := range keys {
		sorted[next[k>>58]] = k
		next[k>>58]++
	}
	for i := range f.Shards {
		if starts[i] == starts[i+1] {
			continue
		}
		s := &f.Shards[i]
		s.Lock()
		for _, k := range sorted[starts[i]:starts[i+1]] {
			s.add(k, 1, f.factor)
		}
		s.Unlock()
	}
}

// Add adds n to the count of one key.
func (f *Table) Add(key uint64, n uint32) {
	f.Prepare()
	s := &f.Shards[key>>58]
	s.Lock()
	s.add(key, n, f.factor)
	s.Unlock()
}

// Marked is the bit of a count that mark sets.
const Marked = 1 << 31

// Mark sets a bit of the counts of keys, of which some may be new. Nothing may be counted afterwards.
func (f *Table) Mark(keys []uint64) {
	for _, key := range keys {
		s := &f.Shards[key>>58]
		s.Lock()
		if v := s.find(key, f.factor); v != nil {
			*v |= Marked
		} else {
			s.add(key, Marked, f.factor)
		}
		s.Unlock()
	}
}

// find returns the value of a key, or nil.
func (s *shard) find(key, factor uint64) *uint32 {
	if len(s.lines) == 0 {
		return nil
	}
	v, _ := s.slot(max(key, 1), factor)
	return v
}

// Prune removes the keys with a count below min, and returns the largest of the counts.
func (f *Table) Prune(min uint32) (largest uint32) {
	f.Prepare()
	for i := range f.Shards {
		s := &f.Shards[i]
		s.Lock()
		left := 0
		s.Each(func(_ uint64, n *uint32) {
			if *n >= min {
				left++
			} else {
				largest = max(largest, *n)
			}
		})
		if left < s.n {
			s.resize(left*5/(4*lineKeys)+1, min, f.factor)
		}
		s.Unlock()
	}
	return largest
}

func (s *shard) Each(f func(key uint64, n *uint32)) {
	for i := range s.lines {
		l := &s.lines[i]
		for j, key := range l.keys {
			if key == 0 {
				break
			}
			f(key, &l.values[j])
		}
	}
}

// Each calls fn for every key, in no order.
func (f *Table) Each(fn func(key uint64, n *uint32)) {
	for i := range f.Shards {
		s := &f.Shards[i]
		s.Lock()
		s.Each(fn)
		s.Unlock()
	}
}

func (f *Table) Len() (n int) {
	for i := range f.Shards {
		s := &f.Shards[i]
		s.Lock()
		n += s.n
		s.Unlock()
	}
	return n
}

// Take returns what f holds in a table of its own, and leaves f empty.
func (f *Table) Take() *Table {
	f.Prepare()
	t := &Table{factor: f.factor}
	t.Prepare()
	t.factor = f.factor
	for i := range f.Shards {
		from, to := &f.Shards[i], &t.Shards[i]
		from.Lock()
		to.lines, to.n = from.lines, from.n
		from.lines, from.n = nil, 0
		from.Unlock()
	}
	return t
}
