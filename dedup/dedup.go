// Package dedup finds near-duplicates among documents without settings: it takes texts or records, chooses what
// to compare them by, and reports for each pair how similar the two are, how likely they are near-duplicates,
// and how they differ. See [Deduplicator].
//
// # What an answer depends on
//
// How similar two documents are depends on these two alone. How likely they are near-duplicates, and of which
// kind, depends on their neighbourhood too: on the documents that have more than a quarter of their features in
// common with one of them. It does not depend on any others. If you combine two collections that have nothing
// in common, you get the pairs of the first and the pairs of the second. It makes no difference in which order
// documents were added, whether some were deleted, or whether parts of the collection were merged. Search
// reports for a text what Pairs would report.
//
// Package dedup/shard divides the work among processes.
package dedup

// The files:
//
//	dedup.go      the documents, by slot and by id, and deleting them
//	add.go        adding documents
//	options.go    settings
//	pairs.go      all pairs
//	edges.go      comparing all documents once
//	search.go     the near-duplicates of one text
//	groups.go     groups
//	keep.go       which document of a group to keep
//	families.go   forms that are filled in differently
//	estimate.go   how many pairs are wrong, and how many are missed
//	calibrate.go  what labels say
//	explain.go    why two documents are near-duplicates, or not
//	files.go      documents in files
//	reopen.go     what a search needs, in a file
//	upgrade.go    files of earlier versions
//
//	shard               divides the work among processes
//	internal/content    documents, by what they are compared
//	internal/signature  MinHash signatures
//	internal/neighbour  who is compared with whom
//	internal/evidence   what two texts have in common, and what is only in one
//	internal/decision   from the evidence to a probability
//	internal/family     forms
//	internal/judge      all of this, for pairs of contents

import (
	"cmp"
	"hash/maphash"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/slots"
)

// A Deduplicator finds near-duplicates among documents that the caller adds under ids of its own. Use it unless
// you have a reason not to:
//
//	d, err := dedup.New[string](dedup.Options{})
//	for _, page := range pages {
//		err = d.Add(page.URL, neardup.Text(page.Text))
//	}
//	groups, err := d.Groups(ctx, dedup.GroupOptions[string]{})
//	for _, g := range groups {
//		keep(g.Keep) // the longer one; see GroupOptions.Prefer
//	}
//
// For a whole collection, add all documents and call Pairs or Groups. For documents that come one by one, call
// [Deduplicator.SearchAndAdd], which returns the near-duplicates that are already there, or
// [Deduplicator.AddIfNew].
//
// Two documents are near-duplicates if their probability is at least one half, unless the options say
// otherwise, and if their [neardup.Kind] is one that counts. Every pair that is reported was compared in full.
// Two documents are compared only if their MinHash signatures share a band and agree in 28 % of their values
// (34 % for short texts). Of the pairs that share half of their pairs of words, one in 270 is not compared.
//
// Documents with equal words and features are stored once, so a thousand copies of a page take little more
// memory than one. A document without features (no letters, digits or emoji) is stored but is a near-duplicate
// of nothing. A document takes about 40 bytes of memory, plus its id; the rest goes to files when it takes more
// than its part of [Options.Memory]. Memory depends on the largest number of documents held at one time, and is
// at most that for twice as many; ids that are replaced or deleted do not add to it. A Deduplicator that is
// searched keeps 340 bytes more for each document, in memory if they take less than an eighth of it. It holds
// at most 2³⁰ documents; adding more is an error.
//
// [New] makes a Deduplicator in memory. [Open] makes one whose documents are also in files, and outlive the
// program. All methods may be called from several goroutines at once. Methods that add or delete take turns.
// Searches run concurrently, but wait for a method that adds. Pairs, Groups and similar methods work on the
// documents that are there when they are called, and nothing waits for them.
type Deduplicator[ID comparable] struct {
	options Options
	maker   *content.Maker

	syncing  sync.Mutex // of those that put everything on the disk; taken before mu
	mu       sync.RWMutex
	docs     slots.Column[storedDocument] // in the order of adding, with those that have gone
	names    names[ID]                    // their ids
	ids      slots.Table                  // finds a document by its id, unless it is in the snapshot of the files
	seed     maphash.Seed                 // of the hashes of ids
	live     int                          // how many documents there are
	added    int                          // how many documents were ever added
	seconds  uint32                       // when the last one was, since 1970
	contents *content.Store
	chains   slots.Column[chain] // of documents, by the slot of their content
	graph    *neighbour.Graph
	tidying  bool // a goroutine merges what searches look at
	changes  int  // counts what was added or deleted

	files  *documentFiles[ID] // nil in memory
	unread bool               // the documents in the files have not been read yet

	kept   kept   // of the last time that all documents were compared
	judged judged // of the last search
	adding additions[ID]
}

// A storedDocument is what is known of a document besides its id. The documents of one content form a linked
// list in the order of adding, so any of a million equal documents is deleted in constant time. Files have it
// byte for byte (reopen.go), so indexFormat must be raised when a field changes.
type storedDocument struct {
	text       uint64 // a hash of the text
	number     int64  // how many documents were added before it
	length     uint32 // in characters; see Document.Length
	seconds    uint32 // when it was added, since 1970
	content    uint32 // its slot in contents; gone if the document has gone
	prev, next uint32 // slots in the list of the content, or gone
	_          uint32 // so that no bytes are left over, which files would have as they are in memory
}

// gone is the content of a document that has gone, and no slot.
const gone = ^uint32(0)

// A chain has the slots of the first and of the last document of a content, or gone if it has none.
type chain struct{ first, last uint32 }

// New returns an empty Deduplicator. It returns an error for options that are out of range, and for a Weight
// that does not fit the features, such as an IDF whose statistics were made with another Tokenizer.
func New[ID comparable](options Options) (*Deduplicator[ID], error) {
	o, err := options.canonical()
	if err != nil {
		return nil, err
	}
	d := &Deduplicator[ID]{options: o, maker: content.NewMaker(&o.Fingerprinter), seed: maphash.MakeSeed()}
	d.empty()
	return d, nil
}

// empty makes a Deduplicator without documents.
func (d *Deduplicator[ID]) empty() {
	d.docs, d.names, d.ids, d.live = slots.Limited[storedDocument](d.numbers()), names[ID]{fail: d.names.fail}, slots.Table{}, 0
	d.chains = slots.Limited[chain](d.numbers())
	d.contents = content.NewStore(d.maker, min(max(d.options.Memory/bodyShare, leastBodies), mostBodies))
	d.graph = neighbour.New(d.contents, d.options.Memory)
}

// numbers returns how much memory the numbers of one kind may take that are known of documents. Most are looked
// at in the order of the documents, if at all, so they may as well be in a file.
func (d *Deduplicator[ID]) numbers() int64 { return d.options.Memory / numberShare }

// slotOf returns the slot of the document with an id. It looks into memory first, since an id of the snapshot
// in the files may have been added again. The documents of the snapshot are not in the table. If one was
// deleted, the snapshot still has its id, and only its slot says that it is gone.
func (d *Deduplicator[ID]) slotOf(id ID) (slot uint32, ok bool) {
	slot, ok = d.ids.Find(maphash.Comparable(d.seed, id), func(slot uint32) bool { return d.names.at(slot) == id })
	if ok || d.names.base == nil {
		return slot, ok
	}
	slot, ok, err := d.names.base.LookUp(id, &d.files.IDs)
	if err != nil {
		d.files.Fail(err)
	}
	return slot, ok && d.docs.At(slot).content != gone
}

// hashOf returns the hash of the id of a document. The table keeps no hashes, and asks for them when it grows.
// The seed is random, so nobody can choose ids that all have one hash.
func (d *Deduplicator[ID]) hashOf(slot uint32) uint64 {
	return maphash.Comparable(d.seed, d.names.at(slot))
}

// Delete removes a document and reports whether it was there. Any error comes from the files.
func (d *Deduplicator[ID]) Delete(id ID) (bool, error) {
	if err := d.lock(); err != nil {
		return false, err
	}
	defer d.mu.Unlock()
	was, err := d.remove(id)
	d.pack()
	return was, cmp.Or(err, d.usable())
}

// DeleteBefore removes every document that was added before t, and returns how many that was. Times are in
// whole seconds by the clock of this machine. If the clock was set back in between, a document counts as
// added no earlier than the ones before it. Its time depends on how much it removes.
func (d *Deduplicator[ID]) DeleteBefore(t time.Time) (int, error) {
	return d.deleteEach(func(slot uint32) (bool, bool) {
		isOld := int64(d.docs.At(slot).seconds) < t.Unix()
		return isOld, isOld // the others were added later
	})
}

// DeleteFunc removes every document for which del returns true, and returns how many that was. del must not use
// the Deduplicator. DeleteFunc visits every stored document.
func (d *Deduplicator[ID]) DeleteFunc(del func(Entry[ID]) bool) (int, error) {
	return d.deleteEach(func(slot uint32) (bool, bool) { return del(describe(&d.docs, &d.names, slot)), true })
}

// deleteEach removes documents by a rule, until the rule says that no more are to be looked at. It
// holds the lock all the time, so the rule must not call the Deduplicator. If the files fail, what was
// removed before stays removed.
func (d *Deduplicator[ID]) deleteEach(rule func(slot uint32) (del, more bool)) (int, error) {
	if err := d.lock(); err != nil {
		return 0, err
	}
	defer d.mu.Unlock()
	n := 0
	for slot := range d.living() {
		del, more := rule(slot)
		if !more {
			break
		}
		if !del {
			continue
		}
		was, err := d.remove(d.names.at(slot))
		if err != nil {
			return n, err
		}
		if was {
			n++
		}
	}
	d.pack()
	return n, d.usable()
}

// remove is Delete for a caller that holds the lock. The files come first: if they fail, memory has not changed.
func (d *Deduplicator[ID]) remove(id ID) (bool, error) {
	if _, ok := d.slotOf(id); ok && d.files != nil {
		if _, err := d.files.Delete(id); err != nil {
			return false, err
		}
	}
	return d.delete(id), nil
}

// delete removes a document from memory. The caller holds the lock.
func (d *Deduplicator[ID]) delete(id ID) bool {
	slot, ok := d.slotOf(id)
	if !ok {
		return false
	}
	d.changes++ // what was found before is of no use any more
	d.live--
	if first := d.names.first(); slot >= first { // ids of the snapshot are in no table, and stay in the file
		d.ids.Remove(d.hashOf(slot), slot, d.hashOf)
		*d.names.last.Change(slot - first) = *new(ID)
	}
	doc := *d.docs.At(slot)
	*d.docs.Change(slot) = storedDocument{content: gone, number: doc.number} // slots are searched by number
	c := d.chains.Change(doc.content)
	if doc.prev != gone {
		d.docs.Change(doc.prev).next = doc.next
	} else {
		c.first = doc.next
	}
	if doc.next != gone {
		d.docs.Change(doc.next).prev = doc.prev
	} else {
		c.last = doc.prev
	}
	if d.contents.Leave(doc.content) {
		d.graph.Delete(doc.content)
		if d.judged.judge != nil { // nobody searches meanwhile
			d.judged.judge.Forget(doc.content)
		}
	}
	return true
}

// pack gives documents new slots, without those that have gone, if most have gone. So a deletion takes constant
// time on average, and memory stays within twice the largest number of documents. The caller holds the lock.
func (d *Deduplicator[ID]) pack() {
	if dead := d.docs.Len() - d.live; dead > max(1024, d.live) {
		d.packAll()
	}
}

// packAll is pack if any have gone. It makes new columns and leaves the old ones alone: snapshots know documents
// by their old slots. All ids are in memory afterwards, also those that were read from the files before.
func (d *Deduplicator[ID]) packAll() {
	if d.docs.Len() == d.live {
		return
	}
	old, were := d.docs, d.names
	d.docs, d.names, d.ids = slots.Limited[storedDocument](d.numbers()), names[ID]{fail: were.fail}, slots.Table{}
	for i := range d.chains.Len() {
		*d.chains.Change(uint32(i)) = chain{gone, gone}
	}
	for slot, doc := range living(&old) {
		id, at := were.at(slot), uint32(d.docs.Len())
		d.docs.Append(storedDocument{text: doc.text, number: doc.number, length: doc.length, seconds: doc.seconds, content: doc.content, prev: gone, next: gone})
		d.names.last.Append(id)
		d.ids.Add(maphash.Comparable(d.seed, id), at, d.hashOf)
		d.chain(doc.content, at)
	}
}

// living yields the documents in the order of adding, by their slots. The caller holds the
// lock, for reading at least.
func (d *Deduplicator[ID]) living() iter.Seq2[uint32, *storedDocument] { return living(&d.docs) }

func living(docs *slots.Column[storedDocument]) iter.Seq2[uint32, *storedDocument] {
	return func(yield func(uint32, *storedDocument) bool) {
		for slot := range uint32(docs.Len()) {
			if doc := docs.At(slot); doc.content != gone && !yield(slot, doc) {
				return
			}
		}
	}
}

// An Entry describes a stored document.
type Entry[ID comparable] struct {
	ID       ID
	Sequence int // how many documents were added before it; never reused
	Length   int // in characters of the text before normalizing, or of all values of a record

	Added time.Time // to the second
}

// Get returns what is known about the document with an id, and whether there is one. See Text for what is kept
// of its text. Any error comes from the files.
func (d *Deduplicator[ID]) Get(id ID) (e Entry[ID], ok bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.unread {
		stored, ok, err := d.files.Get(id)
		if !ok || err != nil {
			return e, false, err
		}
		s, err := content.Decode(stored.Doc)
		return Entry[ID]{id, s.Number, s.Length, time.Unix(int64(stored.Time), 0)}, err == nil, err
	}
	if err := d.usable(); err != nil {
		return e, false, err
	}
	slot, ok := d.slotOf(id)
	if ok {
		e = describe(&d.docs, &d.names, slot)
	}
	return e, ok, d.usable()
}

// Text returns the text of the document with an id as it is compared, and whether there is one. It is the
// text after the Normalizer; documents with equal words and features share the text of the one added first.
// It is "" for records, if the caller sets a Tokenizer or a Weight, and for texts without features. Any
// error comes from the files.
func (d *Deduplicator[ID]) Text(id ID) (text string, ok bool, err error) {
	if err := d.rlock(); err != nil {
		return "", false, err
	}
	defer d.mu.RUnlock()
	slot, ok := d.slotOf(id)
	if ok {
		c := d.contents.At(d.docs.At(slot).content)
		c.Body(func(body string) { text = strings.Clone(body) })
	}
	return text, ok, d.usable()
}

// describe describes the document in a slot.
func describe[ID comparable](docs *slots.Column[storedDocument], ids *names[ID], slot uint32) Entry[ID] {
	doc := docs.At(slot)
	return Entry[ID]{ids.at(slot), int(doc.number), int(doc.length), time.Unix(int64(doc.seconds), 0)}
}

// Len returns the number of documents, exact copies and documents without features included.
func (d *Deduplicator[ID]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.unread {
		return d.files.Len()
	}
	return d.live
}

// NextSequence returns the Sequence that the next document will get: how many were ever added, including those
// that were replaced or deleted. PairsSince with it reports the pairs of documents that are added from now on,
// even after a restart of the program if there are files.
func (d *Deduplicator[ID]) NextSequence() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.added
}

// All yields the documents in the order of adding, as they are when the loop begins. An error of the files
// comes last, with an empty Entry.
func (d *Deduplicator[ID]) All() iter.Seq2[Entry[ID], error] {
	return func(yield func(Entry[ID], error) bool) {
		if err := d.lock(); err != nil { // pieces are shared from now on, so nobody may be changing them
			yield(Entry[ID]{}, err)
			return
		}
		docs, names := d.docs.Snapshot(), d.names.snapshot()
		d.mu.Unlock()
		for slot := range living(&docs) {
			e := describe(&docs, &names, slot)
			if d.damage() != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := d.damage(); err != nil {
			yield(Entry[ID]{}, err)
		}
	}
}

// tidy merges the runs that searches look into, in the background, if that is due. The caller holds the lock.
//
// A merge takes long, so a goroutine does it without the lock, on a snapshot, and takes the lock only to put
// the result in its place. There is one such goroutine at most. It ends when nothing is left to merge.
func (d *Deduplicator[ID]) tidy() {
	if d.tidying {
		return
	}
	texts := func() neighbour.Signatures { return d.contents.Snapshot() }
	m := d.graph.NextMerge(texts)
	if d.tidying = m != nil; !d.tidying {
		return
	}
	go func() {
		for m != nil {
			m.Do()
			d.mu.Lock()
			d.graph.Adopt(m)
			m = d.graph.NextMerge(texts)
			d.tidying = m != nil
			d.mu.Unlock()
		}
	}()
}
