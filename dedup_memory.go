package neardup

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/spill"
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
	file, err := spill.New()
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
	var mu sync.Mutex // of the file
	parallel.Chunks(len(contents), func(_, from, to int) {
		var b []byte
		for n := from; n < to; n++ {
			places[n].at = int64(len(b))
			for _, w := range c.contents[contents[n]].formWords() {
				b = binary.LittleEndian.AppendUint32(b, w)
			}
			places[n].bytes = len(b) - int(places[n].at)
		}
		mu.Lock()
		defer mu.Unlock()
		begin, failed := file.Append(lex.String(b))
		for n := from; n < to; n++ {
			places[n].at += begin
		}
		err = cmp.Or(err, failed)
	})
	if c.wrong = cmp.Or(c.wrong, err, file.Flush()); c.wrong != nil {
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
