// Package frequency counts features, which it knows by 64-bit keys: in one text ([Bag]), and in a
// whole collection ([Table]). Keys are hashes of features. They may come from an adversary, so both
// hash them again with a secret random factor.
package frequency

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// A Table is a hash table from the keys of features to counts of 32 bits. It is made for very many
// keys and for many goroutines:
//
//	shard   one of 64 parts, by the highest six bits of the key, with a lock of its own.
//	        So goroutines rarely wait for each other, and the table grows shard by shard,
//	        without ever having all of its memory twice.
//	line    64 bytes in a shard: five keys and five counts, filled from the front.
//	        So most look-ups cost a single cache miss.
//
// A hash of the key tells its line. If that line is full, the key is in the next one, and so on. A
// shard grows by a quarter when 85 % of it are in use, so there is always a line that is not full,
// which ends a search. The hash is multiplicative with a secret factor, so nobody can choose keys
// that meet in one line.
//
// The zero value is an empty table. [Table.Count], [Table.Add] and the methods over
// the whole table lock what they touch. [Table.Find] does not: nothing may be written meanwhile.
type Table struct {
	factor uint64 // odd; chosen by prepare
	once   sync.Once
	Shards [64]shard
}

// A shard has the keys whose highest six bits are its number.
type shard struct {
	sync.Mutex
	lines []line
	n     int // keys in all lines
}

// A line is filled from the front. Key 0 means a free place, so the feature with the key 0 is
// counted as the one with the key 1.
type line struct {
	keys   [lineKeys]uint64
	values [lineKeys]uint32 // in the order of the keys
}

// lineKeys is the number of keys in a line: with their values they take 60 bytes, which alignment
// makes 64.
const lineKeys = 5

// prepare chooses the factor, once.
func (f *Table) prepare() {
	f.once.Do(func() { f.factor = rand.Uint64() | 1 })
}

// Find returns the value of a key, or missing if the key is not there. It takes no lock.
func (f *Table) Find(key uint64, missing uint32) uint32 {
	key = max(key, 1)
	lines := f.Shards[key>>58].lines
	if len(lines) == 0 {
		return missing
	}
	at, _ := bits.Mul64(key*f.factor, uint64(len(lines)))
	for {
		// Nobody can predict at which place of the line a key is. So all five are compared,
		// without branches.
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
		// Done if the key was found, or if the line has room, so that no later one has the key.
		// A key whose value happens to equal missing costs further lines, but no wrong result.
		if value != missing || l.keys[lineKeys-1] == 0 {
			return value
		}
		if at++; at == uint64(len(lines)) {
			at = 0
		}
	}
}

// slot returns the place of a key's value, or nil and the line with room for it. The shard must
// have lines.
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

// add adds n to the count of a key, entering the key if it is new. A count that would overflow
// stays at the largest number.
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
	if (s.n+1)*20 > len(s.lines)*lineKeys*17 { // more than 17/20 full
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

// resize moves the keys with a value of at least min into the given number of new lines, and drops
// the others. The lines must have room for them.
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

// Count adds 1 to the count of each key; the keys of a document, so that counts are document
// frequencies. The keys must differ. It sorts them by shard first, into sorted, which must be as
// long, so that it takes each lock at most once.
func (f *Table) Count(keys, sorted []uint64) {
	f.prepare()
	// A counting sort.
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

// Add adds n to the count of a key.
func (f *Table) Add(key uint64, n uint32) {
	f.prepare()
	s := &f.Shards[key>>58]
	s.Lock()
	s.add(key, n, f.factor)
	s.Unlock()
}

// Prune removes the keys with a count below min, and gives their memory back. It returns the
// largest of the counts that it removed, or 0 if it removed none.
func (f *Table) Prune(min uint32) (largest uint32) {
	f.prepare()
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

// Each calls f for every key of the shard, in no particular order. f may change the value, but not
// the shard. It takes no lock.
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

// Each calls fn for every key, in no particular order but by ascending shard. fn may change the
// value. It must not use the table otherwise, because the shard of the key is locked.
func (f *Table) Each(fn func(key uint64, n *uint32)) {
	for i := range f.Shards {
		s := &f.Shards[i]
		s.Lock()
		s.Each(fn)
		s.Unlock()
	}
}

// Len returns the number of keys.
func (f *Table) Len() (n int) {
	for i := range f.Shards {
		s := &f.Shards[i]
		s.Lock()
		n += s.n
		s.Unlock()
	}
	return n
}

// Take moves everything into a new table, and leaves f empty. It copies no keys, so the new table
// has to have the same factor.
func (f *Table) Take() *Table {
	f.prepare()
	t := &Table{factor: f.factor}
	t.prepare()
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
