package dedup

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/internal/parallel"
)

// This file adds documents to a [Deduplicator].
//
// Whatever takes time for each byte is done on all processors: cutting texts into words and signing them
// (package content), finding equal ones, copying and checksumming what is stored, making the keys of bands
// (package neighbour). In between, one goroutine gives out numbers and slots. So documents are added many at a
// time. What is stored does not depend on how many that are: a document that replaces another one, which may
// free what others would share, is added alone.
//
// A run of documents is added in four steps, in this order:
//
//	makeRoom      may fail for want of disk, and then nothing has changed
//	Write         puts the texts into the file
//	writeJournal  puts the documents, which say where their texts are, into the journal
//	assignSlots   gives them slots in memory, which cannot fail
//
// So the journal never names a text that is not there, and memory never has a document that the files lack. If
// a step fails in the middle of a run, the documents before that point are added, in files and memory alike.

// An arrival is a document that is being added.
type arrival[ID comparable] struct {
	id       ID
	doc      content.Document
	err      error  // instead of a document
	hash     uint64 // of the id
	replaces bool   // there may be another document with the id
	number   int    // of a document in the files: how many were added before it
	seconds  uint32 // of a document in the files: when it was added, since 1970
}

// Add stores a text or a record under an id. A document that has the id already is replaced: it counts as
// deleted, and the new one as added now. Add keeps no reference to the document. It returns an error if the
// Deduplicator is full, or if its files have an error.
//
// The Fields of the Fingerprinter make the features of a record. Without Fields a record is an error. So is a
// record none of whose columns is named by the Fields, which nearly always means a misspelt name.
func (d *Deduplicator[ID]) Add(id ID, doc neardup.Document) error {
	made, err := d.maker.Make(doc)
	if err != nil {
		return err
	}
	return d.add([]arrival[ID]{{id: id, doc: made}})
}

// AddAll calls Add for each document in order, but reads them on all processors. It reads up to 512 documents,
// or 16 MB of text if there is memory for it, for each processor before it adds them, so other calls see a
// document only then. If an Add fails or the context ends, AddAll returns that error. Unlike AddAll of an
// index, it has then added the documents read before (or most of them, if the files have the error). The
// sequence may call methods of d.
func (d *Deduplicator[ID]) AddAll(ctx context.Context, docs iter.Seq2[ID, neardup.Document]) error {
	// One batch is read on all processors, while the batch before it is added. The channel has the result of
	// that batch once it is there, so receiving from it waits for the batch, and batches are added in order. An
	// error is put back for whoever receives next.
	type batch struct {
		ids      []ID
		docs     []neardup.Document
		arrivals []arrival[ID]
	}
	size, most, held := 256*runtime.GOMAXPROCS(0), int(d.atOnce()), 0 // documents and bytes of a batch
	now, next := &batch{}, &batch{}
	added := make(chan error, 1)
	added <- nil
	flush := func() error {
		n := len(now.docs)
		now.arrivals = slices.Grow(now.arrivals[:0], n)[:n]
		parallel.ChunksOf(16, n, func(_, from, to int) {
			for i := from; i < to; i++ {
				made, err := d.maker.Make(now.docs[i])
				now.arrivals[i] = arrival[ID]{id: now.ids[i], doc: made, err: err}
			}
		})
		if err := <-added; err != nil {
			added <- err
			return err
		}
		go func(b *batch) { added <- d.add(b.arrivals) }(now)
		now, next = next, now
		clear(now.docs) // their texts are not needed any more, and should not stay in memory
		now.ids, now.docs = now.ids[:0], now.docs[:0]
		return nil
	}
	end := func(err error) error { return cmp.Or(flush(), <-added, err) }
	for id, of := range docs {
		if err := ctx.Err(); err != nil {
			return end(err)
		}
		now.ids, now.docs = append(now.ids, id), append(now.docs, of)
		if text, isText := of.(neardup.Text); isText {
			held += len(text)
		}
		if len(now.docs) == size || held >= most {
			held = 0
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return end(ctx.Err())
}

// Merge adds all documents of another Deduplicator, in the order in which they were added there. One that has
// the id of a document here replaces it. The result is the same as if all had been added here, so parts of a
// collection can be read in different places. The two must have the same Fingerprinter; if not, the error
// wraps [neardup.ErrVersion]. Any other error comes from the files. from does not change; nothing may be
// added to it meanwhile.
func (d *Deduplicator[ID]) Merge(from *Deduplicator[ID]) error {
	if from == d {
		return nil
	}
	here, err := d.options.version()
	there, other := from.options.version()
	if err := cmp.Or(err, other); err != nil {
		return err
	}
	if here != there {
		return fmt.Errorf("%w: documents that were made with %s cannot be merged with others made with %s", neardup.ErrVersion, there, here)
	}
	if err := from.rlock(); err != nil {
		return err
	}
	defer from.mu.RUnlock()
	// Texts are read on all processors, a batch at a time, and then added. A document gets the text and the
	// length that it has there, which its content does not know.
	var some []arrival[ID]
	var of []uint32  // their slots there
	held := int64(0) // bytes of text
	flush := func() error {
		parallel.Each(len(some), func(i int) {
			doc, c := from.docs.At(of[i]), &some[i].doc
			there := from.contents.At(doc.content)
			there.Detach(from.maker, c)
			c.Text, c.Length = doc.text, int(doc.length)
		})
		err := from.usable()
		if err == nil {
			err = d.add(some)
		}
		some, of, held = some[:0], of[:0], 0
		return err
	}
	for slot, doc := range from.living() {
		some, of = append(some, arrival[ID]{id: from.names.at(slot)}), append(of, slot)
		c := from.contents.At(doc.content)
		if held += int64(c.Size()); len(some) == content.MostAtOnce || held >= from.atOnce() {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// atOnce returns how many bytes of text a batch holds: enough to keep all processors busy, and a
// small part of the memory.
func (d *Deduplicator[ID]) atOnce() int64 {
	return min(8<<20*int64(runtime.GOMAXPROCS(0)), max(d.options.Memory/atOnceShare, 1<<20))
}

// add adds documents to memory and files under the lock, in order, up to the first one with an error.
func (d *Deduplicator[ID]) add(all []arrival[ID]) error {
	if err := d.lock(); err != nil {
		return err
	}
	defer d.mu.Unlock()
	return d.addLocked(all)
}

// addLocked is add for a caller that holds the lock. It adds the documents before the first one that could not be
// made, and returns the error of that one. The time never descends, even if the clock was set back, since
// DeleteBefore stops at the first document that is too young.
func (d *Deduplicator[ID]) addLocked(all []arrival[ID]) error {
	var wrong error
	for i := range all {
		if all[i].err != nil {
			all, wrong = all[:i], all[i].err
			break
		}
	}
	now := max(d.seconds, uint32(min(max(time.Now().Unix(), 0), math.MaxUint32)))
	d.findReplaced(all)
	for len(all) > 0 {
		n := nextRun(all)
		if !all[0].replaces { // one that replaces another needs no room
			if n = min(n, d.room()); n == 0 {
				return errFull
			}
		}
		for i := range all[:n] {
			all[i].number, all[i].seconds = d.added+i, now
		}
		if err := d.addRun(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	d.pack()
	return wrong
}

// findReplaced finds out which documents have the id of a document that is there, or of an earlier one
// among them. It may take two ids with one hash for the same: then a document is added alone without need,
// and nothing is deleted.
func (d *Deduplicator[ID]) findReplaced(all []arrival[ID]) {
	parallel.Chunks(len(all), func(_, from, to int) {
		for i := from; i < to; i++ {
			a := &all[i]
			a.hash = maphash.Comparable(d.seed, a.id)
			_, a.replaces = d.slotOf(a.id)
		}
	})
	if len(all) > 1 {
		same := func(i, j int) bool { return true } // by their hashes, which is enough
		for i, first := range content.Firsts(len(all), func(i int) uint64 { return all[i].hash }, func(int) bool { return true }, same) {
			all[i].replaces = all[i].replaces || first != i
		}
	}
}

// nextRun returns how many of the first documents are added at once: one that replaces another, or some that do not.
func nextRun[ID comparable](all []arrival[ID]) (n int) {
	if all[0].replaces {
		return 1
	}
	for n < min(len(all), content.MostAtOnce) && !all[n].replaces {
		n++
	}
	return n
}

// addRun adds a run of documents to memory and files, in the order that the top of this file explains. After
// an error the first ones may have been added.
func (d *Deduplicator[ID]) addRun(run []arrival[ID]) error {
	if err := d.makeRoom(len(run)); err != nil {
		return err
	}
	batch := d.contents.Begin(documentsIn(run))
	n, err := batch.Write()
	if err != nil {
		if broken := d.contents.File().Err(); broken != nil && d.files != nil {
			d.files.Fail(broken) // so that everybody hears of it
		}
	}
	n, failed := d.writeJournal(run[:n])
	d.assignSlots(run[:n], batch)
	return cmp.Or(err, failed)
}

// load adds documents that are in the files already to memory. It reads their signatures on all processors, but
// not their texts. The documents keep their numbers; their times are made to ascend, as those of addLocked do.
func (d *Deduplicator[ID]) load(all []arrival[ID]) error {
	texts := d.contents.File()
	errs := make([]error, len(all))
	parallel.Each(len(all), func(i int) { errs[i] = all[i].doc.Load(texts) })
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	seconds := d.seconds
	for i := range all {
		seconds = max(seconds, all[i].seconds)
		all[i].seconds = seconds
	}
	d.findReplaced(all)
	for len(all) > 0 {
		n := nextRun(all)
		if err := d.makeRoom(n); err != nil {
			return err
		}
		d.assignSlots(all[:n], d.contents.Begin(documentsIn(all[:n])))
		all = all[n:]
	}
	return nil
}

// makeRoom moves to files what takes more memory than it may, before a run of n documents is added.
func (d *Deduplicator[ID]) makeRoom(n int) error {
	return cmp.Or(d.docs.MakeRoom(n), d.chains.MakeRoom(n), d.graph.MakeRoom(n))
}

// documentsIn returns the documents of a run.
func documentsIn[ID comparable](run []arrival[ID]) []*content.Document {
	docs := make([]*content.Document, len(run))
	for i := range run {
		docs[i] = &run[i].doc
	}
	return docs
}

// writeJournal puts additions in the journal, if there are files, and returns how many. Their texts are in the file
// already. The files are locked once for the whole run.
func (d *Deduplicator[ID]) writeJournal(run []arrival[ID]) (n int, err error) {
	if d.files == nil {
		return len(run), nil
	}
	d.files.Lock()
	defer d.files.Unlock()
	var words []uint64
	for i := range run {
		words = content.Encode(words[:0], &content.Stored{Number: run[i].number, Document: run[i].doc})
		if err := d.files.Add(run[i].id, words); err != nil {
			return i, err
		}
	}
	return len(run), nil
}

// assignSlots gives slots to the documents of a run, whose texts are in the file, and to their contents. It cannot fail.
//
// A document that is replaced goes only after the batch has been used: if the new one has the same content,
// that keeps its slot, and what is known of it stays. Columns are filled by several goroutines, each of which
// sets its own slots; lists and tables are linked by one.
func (d *Deduplicator[ID]) assignSlots(run []arrival[ID], batch *content.Batch) {
	if len(run) == 0 {
		return
	}
	if batch.Use(len(run)); run[0].replaces {
		d.delete(run[0].id)
	}
	first, hashes, numbers := uint32(d.docs.Len()), make([]uint64, len(run)), make([]uint32, len(run))
	d.docs.Extend(len(run))
	d.names.last.Extend(len(run))
	name := first - d.names.first()
	parallel.Chunks(len(run), func(_, from, to int) {
		for i := from; i < to; i++ {
			a, at := &run[i], uint32(i)
			c, _ := batch.Slot(i)
			d.docs.Set(first+at, storedDocument{text: a.doc.Text, number: int64(a.number), length: uint32(a.doc.Length), seconds: a.seconds, content: c, prev: gone, next: gone})
			d.names.last.Set(name+at, a.id)
			hashes[i], numbers[i] = a.hash, first+at
		}
	})
	for i := range run {
		c, _ := batch.Slot(i)
		d.chain(c, first+uint32(i))
	}
	d.ids.AddAll(hashes, numbers, d.hashOf)
	d.graph.Add(batch.New())
	d.changes += len(run)
	d.live += len(run)
	d.added, d.seconds = run[len(run)-1].number+1, run[len(run)-1].seconds
}

// chain puts a document at the end of the list of its content.
func (d *Deduplicator[ID]) chain(content, slot uint32) {
	for d.chains.Len() <= int(content) {
		d.chains.Append(chain{gone, gone})
	}
	c := d.chains.Change(content)
	if c.last != gone {
		d.docs.Change(c.last).next, d.docs.Change(slot).prev = slot, c.last
	} else {
		c.first = slot
	}
	c.last = slot
}
