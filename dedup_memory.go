package neardup

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
	"github.com/neardup/neardup/internal/wording"
)

// This file keeps a [Deduplicator] within its memory. Bodies, the normalized texts, are in memory until they
// take a certain share of it. Then all of them go to a temporary file, and so on.

const (
	bodyShare    = 16  // bodies in memory take at most Memory divided by this
	contentBytes = 550 // what a content takes while Pairs or Groups run, without its body
	keyBytes     = 8 * forestTrees
	sampleBytes  = 250 << 20 // what the sample takes that weights come from
	fewWords     = 1 << 16   // wordings of so many words are always in memory
)

// A bodyStore says where the bodies of contents are. A Deduplicator in files has all of them in a file that
// outlives it (dedup_files.go).
type bodyStore struct {
	loose int64          // bytes in memory
	file  *textfile.File // the others; nil if there are none
	used  int64          // bytes of the file that contents need
}

// memory returns how much memory d may use, in bytes; 0 if that is not known.
func (d *Deduplicator[ID]) memory() int64 {
	return cmp.Or(d.options().Memory, textfile.Machine()/2)
}

// count takes note that n contents with a profile have come, or gone if n is negative.
func (b *bodyStore) count(p *profile, n int64) {
	if p.file == nil {
		b.loose += n * int64(p.bytes)
	} else {
		b.used += n * textfile.Bytes(p.storedBytes())
	}
}

// spillBodies moves the bodies to a temporary file if they take too much memory. If the file is full of bodies
// that nobody needs any more, it begins a new one. The caller holds the lock.
func (d *Deduplicator[ID]) spillBodies() error {
	const least = 1 << 20 // a file is not worth less
	if d.bodies.loose < least || !d.isLarge.Load() || d.files != nil {
		return nil
	}
	if limit := d.memory() / bodyShare; limit == 0 || d.bodies.loose < limit {
		return nil
	}
	to := d.bodies.file
	all := to == nil || d.bodies.used < to.Size()/2
	if all {
		var err error
		if to, err = textfile.Temporary(); err != nil {
			return err
		}
	}
	moved, err := d.copyBodies(to, func(c *content) bool { return c.bytes > 0 && (c.file == nil || all) })
	if err != nil {
		return err
	}
	d.moveBodies(to, moved)
	return nil
}

// A movedBody is where the body of a content will be.
type movedBody struct {
	content uint32
	at      int64
}

// copyBodies writes the bodies of some contents to a file.
func (d *Deduplicator[ID]) copyBodies(to *textfile.File, which func(c *content) bool) (moved []movedBody, err error) {
	for i := range d.contents {
		c := &d.contents[i]
		if !which(c) {
			continue
		}
		m := movedBody{content: uint32(i)}
		c.stored(func(text string) { m.at, err = to.Append(text) })
		if err != nil {
			return nil, err
		}
		moved = append(moved, m)
	}
	return moved, cmp.Or(d.bodies.file.Err(), to.Sync())
}

// moveBodies takes the bodies from where they were copied to.
func (d *Deduplicator[ID]) moveBodies(to *textfile.File, moved []movedBody) {
	for _, m := range moved {
		c := &d.contents[m.content]
		d.bodies.count(&c.profile, -1)
		c.body, c.file, c.at = "", to, m.at
		d.bodies.count(&c.profile, 1)
	}
	d.bodies.file = to
}

// wordings returns the words of some contents, as many as words in all, in which forms are looked for. Each
// is needed several times, and to make them again from the bodies takes most of the time of that. So they are
// kept: in memory if they take a small part of it, and otherwise in a temporary file.
func (c *collection[ID]) wordings(contents []int, words int) (text func(n int) wording.Wording) {
	if memory := c.of.memory(); words <= fewWords || memory == 0 || int64(4*words) <= memory/(2*bodyShare) {
		texts := make([]wording.Wording, len(contents))
		parallel.Chunks(len(texts), func(_, from, to int) {
			for n := from; n < to; n++ {
				texts[n] = c.contents[contents[n]].formWords()
			}
		})
		return func(n int) wording.Wording { return texts[n] }
	}
	file, err := textfile.Temporary()
	if err != nil {
		c.wrong = cmp.Or(c.wrong, err)
		return func(int) wording.Wording { return nil }
	}
	if c.wordFile != nil {
		c.wrong = cmp.Or(c.wrong, c.wordFile.Err())
	}
	c.wordFile = file
	type place struct {
		at    int64
		bytes int
	}
	places := make([]place, len(contents))
	parallel.Chunks(len(contents), func(_, from, to int) {
		var b []byte
		for n := from; n < to; n++ {
			b = b[:0]
			for _, w := range c.contents[contents[n]].formWords() {
				b = binary.LittleEndian.AppendUint32(b, w)
			}
			places[n].bytes = len(b)
			places[n].at, _ = file.Append(lex.String(b)) // Sync has the error
		}
	})
	if c.wrong = cmp.Or(c.wrong, file.Sync()); c.wrong != nil {
		return func(int) wording.Wording { return nil }
	}
	return func(n int) wording.Wording {
		if places[n].bytes == 0 {
			return nil
		}
		buf := bodies.Get().(*[]byte)
		defer bodies.Put(buf)
		b := lex.Bytes(file.Read(places[n].at, places[n].bytes, buf))
		words := make(wording.Wording, len(b)/4)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		return words
	}
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
