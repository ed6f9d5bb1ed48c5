package neardup

import (
	"cmp"
	"fmt"

	"github.com/neardup/neardup/internal/spill"
)

// This file keeps a [Deduplicator] within its memory. Bodies, the normalized texts, are in memory until they
// take a certain share of it. Then all of them go to a temporary file, and so on.

const (
	bodyShare    = 16  // bodies in memory take at most Memory divided by this
	contentBytes = 550 // what a content takes while Pairs or Groups run, without its body
	keyBytes     = 8 * forestTrees
	sampleBytes  = 250 << 20 // what the sample takes that weights come from
)

// A bodyStore says where the bodies of contents are.
type bodyStore struct {
	loose int64       // bytes in memory
	file  *spill.File // the others; nil if there are none
	dead  int64       // bytes in the file that no content needs any more
}

// memory returns how much memory d may use, in bytes; 0 if that is not known.
func (d *Deduplicator[ID]) memory() int64 {
	return cmp.Or(d.options().Memory, spill.Machine()/2)
}

// forget takes note that a content has gone.
func (b *bodyStore) forget(p *profile) {
	if p.file == nil {
		b.loose -= int64(p.bytes)
	} else {
		b.dead += int64(p.bytes)
	}
}

// spillBodies moves the bodies to the file if they take too much memory. If the file is full of bodies that
// nobody needs any more, it begins a new one. The caller holds the lock.
func (d *Deduplicator[ID]) spillBodies() error {
	const least = 1 << 20 // a file is not worth less
	if d.bodies.loose < least || !d.isLarge.Load() {
		return nil
	}
	if limit := d.memory() / bodyShare; limit == 0 || d.bodies.loose < limit {
		return nil
	}
	to, all := d.bodies.file, false
	if to == nil || d.bodies.dead > to.Size()/2 {
		var err error
		if to, err = spill.New(); err != nil {
			return err
		}
		all = true
	}
	type place struct {
		content uint32
		at      int64
	}
	var moved []place
	for i := range d.contents {
		c := &d.contents[i]
		if c.bytes == 0 || c.file != nil && !all {
			continue
		}
		var at int64
		var err error
		c.readBody(func(body string) { at, err = to.Append(body) })
		if err != nil {
			return err
		}
		moved = append(moved, place{uint32(i), at})
	}
	if err := to.Flush(); err != nil {
		return err
	}
	if all && d.bodies.file != nil {
		if err := d.bodies.file.Err(); err != nil {
			return err
		}
	}
	for _, m := range moved {
		c := &d.contents[m.content]
		c.body, c.file, c.at = "", to, m.at
	}
	if d.bodies.file, d.bodies.loose = to, 0; all {
		d.bodies.dead = 0
	}
	return nil
}

// fits decides what a large collection keeps in memory, and returns an error if it cannot be little enough.
func (c *collection[ID]) fits() error {
	memory, n := c.of.memory(), int64(len(c.contents))
	if memory == 0 {
		return nil
	}
	need := n*contentBytes + sampleBytes + memory/bodyShare
	if c.keysInFile = need+n*keyBytes > memory; need > memory {
		return fmt.Errorf("neardup: %d different documents need %d MB of memory, and Memory is %d MB", n, need>>20, memory>>20)
	}
	return nil
}
