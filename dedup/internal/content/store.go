package content

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/textfile"
)

// This file keeps the contents of a Deduplicator by slot.
//
// Each content is in the file as its signatures and, directly after them, its text. Only the place of the text
// is stored. The form says how long the signatures are, and so where they begin. Whatever writes contents must
// therefore write the two one after the other, with nothing in between.
//
// A text in the file never changes. Contents that are gone leave their bytes behind, until most of the file is
// waste and the rest is copied to a new one. A snapshot goes on with the old file.

// Contents are contents by slot. A file has their signatures and texts, so 24 bytes of each are in memory. They
// may be read by several goroutines.
type Contents struct {
	entries slots.Column[entry]
	file    *textfile.File
}

// An entry is what is known of a content in its slot. Free slots have no users.
type entry struct {
	digest uint64
	place  uint64 // where it is in the file, and from bit placeBits on its form
	bytes  uint32
	users  int32 // how many documents have it; the slot is free when none does
}

const placeBits = 56

// At returns the content of a slot. It reads nothing from the file yet.
func (s *Contents) At(slot uint32) Content {
	e := s.entries.At(slot)
	return Content{Digest: e.digest, form: form(e.place >> placeBits), bytes: int(e.bytes), file: s.file, at: int64(e.place & (1<<placeBits - 1))}
}

// inFile returns how much of the file the content takes, with its signatures.
func (e *entry) inFile() int64 {
	c := Content{form: form(e.place >> placeBits), bytes: int(e.bytes)}
	return c.inFile()
}

// Announce says that the text in a slot will be read soon.
func (s *Contents) Announce(slot uint32) {
	if c := s.At(slot); c.bytes > 0 {
		s.file.Announce(c.at, c.bytes)
	}
}

// Len returns how many slots there are, the free ones included.
func (s *Contents) Len() int { return s.entries.Len() }

// File returns the file that has texts.
func (s *Contents) File() *textfile.File { return s.file }

// Digest returns the digest of the content in a slot.
func (s *Contents) Digest(slot uint32) uint64 { return s.entries.At(slot).digest }

// Used returns the slots of the contents with features, in the order of [Maker.Compare]. It sorts them by the upper
// halves of their digests first, without reading a text. Few have the same half, and only these are compared.
func (s *Contents) Used(m *Maker) []uint32 {
	list := make([]uint64, 0, s.Len()) // the upper half of a digest, and the slot
	for i := range s.Len() {
		if e := s.entries.At(uint32(i)); e.bytes > 0 {
			list = append(list, e.digest>>32<<32|uint64(i))
		}
	}
	list, _ = slots.SortByKey(list, 32, nil)
	used := make([]uint32, len(list))
	for i, e := range list {
		used[i] = uint32(e)
	}
	for i := 0; i < len(list); {
		from := i
		for i++; i < len(list) && list[i]>>32 == list[from]>>32; i++ {
		}
		if i-from > 1 {
			slices.SortFunc(used[from:i], func(a, b uint32) int {
				x, y := s.At(a), s.At(b)
				return m.Compare(&x, &y)
			})
		}
	}
	return used
}

// A Store has contents by slot, each once. Changes must not run beside other methods.
type Store struct {
	Contents
	maker   *Maker
	free    []uint32
	digests slots.Table
	lasts   bool  // the file outlives the program
	memory  int64 // how many bytes of another one may be in memory
	used    int64 // bytes of the file that contents need
}

// MostAtOnce is how many documents are added at once at most.
const MostAtOnce = slots.MostRoom

// Firsts returns for each of n things the first one that is the same: one that has the same hash, and for which
// same returns true. A thing that does not count is the first one itself, and is never the first of others.
//
// It uses all processors: hashes are divided by their lowest bits, and each goroutine looks only at its own. So
// equal things are looked at by one goroutine, in order, and the result does not depend on the number of processors.
func Firsts(n int, hash func(i int) uint64, counts func(i int) bool, same func(i, j int) bool) []int {
	const leastInPart = 1 << 10
	firsts, hashes := make([]int, n), make([]uint64, n)
	for i := range firsts {
		if firsts[i] = i; counts(i) {
			hashes[i] = hash(i)
		} else {
			firsts[i] = -1
		}
	}
	parts := max(1, min(n/leastInPart, runtime.GOMAXPROCS(0)))
	find := func(part int) {
		seen := slots.TableFor(n / parts)
		for i, h := range hashes {
			if parts > 1 && h%uint64(parts) != uint64(part) {
				continue
			}
			if firsts[i] < 0 {
				firsts[i] = i
				continue
			}
			first, ok := seen.Find(h, func(j uint32) bool { return hashes[j] == h && same(int(j), i) })
			if ok {
				firsts[i] = int(first)
			} else {
				seen.Add(h, uint32(i), func(j uint32) uint64 { return hashes[j] })
			}
		}
	}
	var wg sync.WaitGroup
	for part := range parts - 1 {
		wg.Go(func() { find(part + 1) })
	}
	find(0)
	wg.Wait()
	return firsts
}

// NewStore returns an empty store of contents of a maker. Texts and signatures may take memory bytes in memory,
// and what is known of each content an eighth as much. More goes to temporary files.
func NewStore(m *Maker, memory int64) *Store {
	return &Store{maker: m, memory: memory, Contents: Contents{slots.Limited[entry](memory / entryShare), textfile.Temporary(memory)}}
}

// entryShare is which part of the memory is for the entries.
const entryShare = 8

// Keep says that all texts are in a file that outlives the program. The store then never replaces the file by
// itself, since other files refer to places in it; see Move.
func (s *Store) Keep(file *textfile.File) { s.file, s.lasts = file, true }

// Wasted returns how many bytes of the file are of texts that no content needs.
func (s *Store) Wasted() int64 { return s.file.Size() - s.used }

// Snapshot returns the contents as they are now. It shares the file, and keeps it when the
// store moves to another one.
func (s *Store) Snapshot() *Contents { return &Contents{s.entries.Snapshot(), s.file} }

// Find returns the slot of a content, and whether there is one. Contents without features are never found: such
// documents are not near-duplicates of each other.
func (s *Store) Find(c *Content) (slot uint32, ok bool) {
	if !c.HasFeatures() {
		return 0, false
	}
	return s.digests.Find(c.Digest, func(slot uint32) bool {
		if s.Digest(slot) != c.Digest {
			return false
		}
		other := s.At(slot)
		return s.maker.Compare(&other, c) == 0
	})
}

// Leave takes a user from a content, and reports whether it was the last one. Then the slot is free, and
// the next new content may have it. So whoever keeps something by slot must forget it then. The text
// stays in the file as waste.
func (s *Store) Leave(slot uint32) bool {
	e := s.entries.Change(slot)
	if e.users--; e.users > 0 {
		return false
	}
	c := s.At(slot)
	if c.HasFeatures() {
		s.digests.Remove(c.Digest, slot, s.Digest)
	}
	s.used -= c.inFile()
	*e = entry{}
	s.free = append(s.free, slot)
	return true
}

// IsLast reports whether a content has one user only.
func (s *Store) IsLast(slot uint32) bool { return s.entries.At(slot).users == 1 }

// leastWaste is how much must be of no use before a temporary file is copied.
const leastWaste = 1 << 20

// tidy copies what contents need to a new temporary file if most of the old one is of no use.
func (s *Store) tidy() error {
	if s.lasts || s.Wasted() <= max(leastWaste, s.file.Size()/2) {
		return nil
	}
	to := textfile.Temporary(s.memory)
	moved, err := s.CopyTo(to)
	if err == nil {
		s.Move(to, moved)
	}
	return err
}

// A Moved is where the text of a content will be.
type Moved struct {
	Slot uint32
	From int64 // where it is in the old file
	At   int64
}

// CopyTo copies the signatures and texts that contents need to another file. Move then lets contents refer to
// it. The two are separate so that a caller can first put on the disk what else refers to the places. After an
// error nothing has changed.
func (s *Store) CopyTo(to *textfile.File) (moved []Moved, err error) {
	for i := range s.Len() {
		c := s.At(uint32(i))
		if c.bytes == 0 {
			continue
		}
		m := Moved{Slot: uint32(i), From: c.at}
		c.readSigned(func(b string) { _, err = to.Append(b) })
		if err == nil {
			c.stored(func(text string) { m.At, err = to.Append(text) })
		}
		if err := cmp.Or(err, s.file.Err()); err != nil {
			return nil, err
		}
		moved = append(moved, m)
	}
	return moved, to.Sync()
}

// Move lets contents refer to another file, to which their texts were copied.
func (s *Store) Move(to *textfile.File, moved []Moved) {
	for _, m := range moved {
		e := s.entries.Change(m.Slot)
		e.place = e.place>>placeBits<<placeBits | uint64(m.At)
	}
	s.file = to
}

// Verify reads all signatures and texts, which checks their checksums. The file has the error.
func (s *Store) Verify() {
	for i := range s.Len() {
		if c := s.At(uint32(i)); c.bytes > 0 {
			c.readSigned(func(string) {})
			c.stored(func(string) {})
		}
	}
}

// Columns is the number of columns of a store in a file, and Settings that of its settings.
const (
	Columns  = 3
	Settings = 4
)

// Write returns the settings and columns of the store for a file, so that nothing has to be read
// when it is opened again.
func (s *Store) Write() (settings []uint64, columns [][][]byte) {
	s.sortDigests()
	settings = []uint64{uint64(s.Len()), uint64(s.used), uint64(s.digests.Len()), uint64(len(s.free))}
	return settings, [][][]byte{s.entries.Parts(), s.digests.Cells().Parts(), {slots.Bytes(s.free)}}
}

// sortDigests makes the table of the digests anew, in the order of the slots, so that a file does not depend on
// how many contents were added at once.
func (s *Store) sortDigests() {
	t := slots.TableFor(s.digests.Len() + s.digests.Len()/2)
	var digests []uint64
	var some []uint32
	for i := range s.Len() {
		if e := s.entries.At(uint32(i)); e.users > 0 && e.bytes > 0 {
			digests, some = append(digests, e.digest), append(some, uint32(i))
		}
		if len(some) == MostAtOnce || i == s.Len()-1 {
			t.AddAll(digests, some, s.Digest)
			digests, some = digests[:0], some[:0]
		}
	}
	s.digests = t
}

// Attach gives an empty store what Write returned, from a file. It returns false if that does not fit together.
// The file of the texts must be known. Columns are checked when they are first used, except for the free slots,
// which are copied to memory at once.
func (s *Store) Attach(f *slots.File, settings []uint64, columns [][]byte) bool {
	n, size := int(settings[0]), s.file.Size()
	if settings[0] > math.MaxInt32 || settings[1] > uint64(size) || settings[2] > settings[0] || settings[3] > settings[0] {
		return false
	}
	var ok [2]bool
	s.entries, ok[0] = slots.In(f, columns[0], n, func(_ int, values []entry) bool {
		return !slices.ContainsFunc(values, func(e entry) bool { return !e.isIn(size) })
	})
	cells := len(columns[1]) / 4
	var column slots.Column[uint32]
	column, ok[1] = slots.In(f, columns[1], cells, func(_ int, values []uint32) bool {
		return !slices.ContainsFunc(values, func(v uint32) bool { return uint(v) > uint(n) })
	})
	if !ok[0] || !ok[1] || cells&(cells-1) != 0 || int(settings[2]) > cells || len(columns[2]) != 4*int(settings[3]) || f.Check(columns[2]) != nil {
		return false
	}
	s.entries.Limit(s.memory / entryShare)
	s.digests, s.used = slots.TableOf(column, int(settings[2])), int64(settings[1])
	return s.attachFree(columns[2], n)
}

// attachFree reads the free slots. It returns false if one of them is used: a new content would overwrite that one.
func (s *Store) attachFree(b []byte, n int) bool {
	for ; len(b) > 0; b = b[4:] {
		free := binary.NativeEndian.Uint32(b)
		if int(free) >= n || s.entries.At(free).users != 0 {
			return false
		}
		s.free = append(s.free, free)
	}
	return true
}

// isIn reports whether an entry may be that of a content whose text is in a file of size bytes. It keeps a
// damaged or made-up index from having anything read outside of the file.
func (e *entry) isIn(size int64) bool {
	at, of := int64(e.place&(1<<placeBits-1)), form(e.place>>placeBits)
	return of <= mostForm && e.users >= 0 && e.bytes <= math.MaxInt32 &&
		(e.bytes == 0 || at >= of.bytesBefore() && at+textfile.Bytes(int(e.bytes)) <= size)
}
