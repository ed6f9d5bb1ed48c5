package content

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/textfile"
)

// A Store has contents by slot. Changes must not run beside other methods.
type Store struct {
	maker   *Maker
	slots   []entry
	free    []uint32
	digests map[uint64]uint32 // for each digest the slot of the first content with features, and 1
	bodies  bodies
}

// An entry is a content in its slot. Free slots have no users.
type entry struct {
	Content
	users int    // how many documents have it
	next  uint32 // the slot of the next content with the same digest, and 1; 0 if there is none
}

// Bodies are in memory until they take a certain share of it. Then all of them go to a temporary file, and so on. A
// Deduplicator in files has all of them in a file that outlives it.
type bodies struct {
	loose  int64          // bytes in memory
	file   *textfile.File // the others; nil if there are none
	lasts  bool           // the file outlives the program
	used   int64          // bytes of the file that contents need
	memory int64          // how many bytes may be loose; 0 for any number
}

// NewStore returns an empty store of contents of a maker, with at most so many bytes of texts in memory; 0 for
// any number.
func NewStore(m *Maker, memory int64) *Store {
	return &Store{maker: m, digests: map[uint64]uint32{}, bodies: bodies{memory: memory}}
}

// Keep says that all texts are in a file that outlives the program.
func (s *Store) Keep(file *textfile.File) { s.bodies.file, s.bodies.lasts = file, true }

// File returns the file that has texts, or nil.
func (s *Store) File() *textfile.File { return s.bodies.file }

// Wasted returns how many bytes of the file are of texts that no content needs.
func (s *Store) Wasted() int64 { return s.bodies.file.Size() - s.bodies.used }

// At returns the content of a slot.
func (s *Store) At(slot uint32) *Content { return &s.slots[slot].Content }

// Find returns the slot of a content, and whether there is one. Contents without features are never found: such
// documents are not near-duplicates of each other.
func (s *Store) Find(c *Content) (slot uint32, ok bool) {
	if !c.HasFeatures() {
		return 0, false
	}
	for at := s.digests[c.Digest]; at > 0; at = s.slots[at-1].next {
		if s.maker.Compare(&s.slots[at-1].Content, c) == 0 {
			return at - 1, true
		}
	}
	return 0, false
}

// Use returns the slot of a content, and whether it is a new one. There is one more user of it.
func (s *Store) Use(c *Content) (slot uint32, isNew bool) {
	slot, ok := s.Find(c)
	if ok {
		s.slots[slot].users++
		return slot, false
	}
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = uint32(len(s.slots))
		s.slots = append(s.slots, entry{})
	}
	s.slots[slot] = entry{Content: *c, users: 1}
	s.bodies.count(c, 1)
	if c.HasFeatures() {
		s.slots[slot].next = s.digests[c.Digest]
		s.digests[c.Digest] = slot + 1
	}
	return slot, true
}

// Leave takes a user from a content, and reports whether it was the last one. Then the slot is free.
func (s *Store) Leave(slot uint32) bool {
	e := &s.slots[slot]
	if e.users--; e.users > 0 {
		return false
	}
	if e.HasFeatures() {
		if at := s.digests[e.Digest]; at != slot+1 {
			for s.slots[at-1].next != slot+1 {
				at = s.slots[at-1].next
			}
			s.slots[at-1].next = e.next
		} else if e.next > 0 {
			s.digests[e.Digest] = e.next
		} else {
			delete(s.digests, e.Digest)
		}
	}
	s.bodies.count(&e.Content, -1)
	*e = entry{}
	s.free = append(s.free, slot)
	return true
}

// IsLast reports whether a content has one user only.
func (s *Store) IsLast(slot uint32) bool { return s.slots[slot].users == 1 }

// Snapshot returns the contents by slot, as they are now.
func (s *Store) Snapshot() []Content {
	all := make([]Content, len(s.slots))
	for i := range s.slots {
		all[i] = s.slots[i].Content
	}
	return all
}

// Slots returns how many slots there are, the free ones included.
func (s *Store) Slots() int { return len(s.slots) }

// count takes n contents into account, or −n that have gone.
func (b *bodies) count(c *Content, n int64) {
	if c.file == nil {
		b.loose += n * int64(c.bytes)
	} else {
		b.used += n * c.inFile()
	}
}

// Spill moves the texts to a temporary file if they take too much memory. If the file is full of texts that nobody
// needs any more, it begins a new one.
func (s *Store) Spill() error {
	const least = 1 << 20 // a file is not worth less
	b := &s.bodies
	if b.lasts || b.memory == 0 || b.loose < max(b.memory, least) {
		return nil
	}
	to := b.file
	all := to == nil || b.used < to.Size()/2
	if all {
		var err error
		if to, err = textfile.Temporary(); err != nil {
			return err
		}
	}
	moved, err := s.copy(to, func(c *Content) bool { return c.bytes > 0 && (c.file == nil || all) })
	if err != nil {
		return err
	}
	s.Move(to, moved)
	return nil
}

// A Moved is where the text of a content will be.
type Moved struct {
	Slot uint32
	From int64 // where it is in the old file
	At   int64
}

// CopyTo copies the texts that contents need to another file. Move then lets contents refer to it.
func (s *Store) CopyTo(to *textfile.File) ([]Moved, error) {
	return s.copy(to, func(c *Content) bool { return c.file != nil })
}

// copy writes the texts of some contents to a file.
func (s *Store) copy(to *textfile.File, which func(c *Content) bool) (moved []Moved, err error) {
	for i := range s.slots {
		c := &s.slots[i].Content
		if !which(c) {
			continue
		}
		m := Moved{Slot: uint32(i), From: c.at}
		if err = c.copySigned(to); err == nil {
			c.stored(func(text string) { m.At, err = to.Append(text) })
		}
		if err != nil {
			return nil, err
		}
		moved = append(moved, m)
	}
	return moved, cmp.Or(s.bodies.file.Err(), to.Sync())
}

// Move lets contents refer to another file, to which their texts were copied.
func (s *Store) Move(to *textfile.File, moved []Moved) {
	for _, m := range moved {
		c := &s.slots[m.Slot].Content
		s.bodies.count(c, -1)
		c.body, c.file, c.at = "", to, m.At
		s.bodies.count(c, 1)
	}
	s.bodies.file = to
}

// Append moves the signatures and the text of a document to the file, unless its content is there already.
func (s *Store) Append(d *Document) (err error) {
	if slot, ok := s.Find(&d.Content); ok {
		has := s.At(slot) // whose body may differ, but not in what is compared
		d.file, d.at, d.bytes, d.signed = has.file, has.at, has.bytes, has.signed
	} else if d.HasFeatures() {
		if _, err = s.bodies.file.Append(lex.String(d.Set.Append(nil))); err == nil {
			d.stored(func(text string) { d.at, err = s.bodies.file.Append(text) })
		}
		if err != nil {
			return err
		}
		d.file, d.signed = s.bodies.file, d.Set.Has
	}
	d.body = ""
	return nil
}

// Verify reads all texts that are in a file. The file has the error.
func (s *Store) Verify() {
	for i := range s.slots {
		if c := &s.slots[i].Content; c.file != nil {
			c.loadSigned()
			c.stored(func(string) {})
		}
	}
}

// Used returns the slots of the contents with features, in the order of [Maker.Compare].
func Used(m *Maker, contents []Content) (slots []uint32) {
	for i := range contents {
		if contents[i].HasFeatures() {
			slots = append(slots, uint32(i))
		}
	}
	slices.SortFunc(slots, func(a, b uint32) int { return m.Compare(&contents[a], &contents[b]) })
	return slots
}
