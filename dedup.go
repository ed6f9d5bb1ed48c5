package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/store"
)

// This file is the [Deduplicator] itself: which documents it stores, and how they are added,
// deleted and searched. The other files have the rest:
//
//	dedup_options.go    its settings
//	dedup_collection.go snapshots of all documents, and the pairs in one
//	dedup_profile.go    the features of a document, and what they weigh
//	dedup_memory.go     texts in memory or in a temporary file
//	dedup_threshold.go  from which similarity on documents are near-duplicates
//	dedup_kind.go       how near-duplicates differ, and which kinds of them count
//	dedup_history.go    document frequencies, and the weights that Search works with
//	dedup_search.go     Search, SearchAndAdd and their like
//	dedup_searcher.go   the contents that a search finds, in small and in large collections
//	dedup_plan.go       how Pairs and Groups find the pairs to verify
//	dedup_forest.go     large collections: who is compared with whom
//	dedup_reader.go     weighing and comparing profiles that are made again from the texts
//	dedup_groups.go     Groups
//	dedup_calibrate.go  Calibrate
//	dedup_explain.go    Explain
//	dedup_files.go      the documents in files
//	dedup_stored.go     what the files have of a document
//	dedup_keys.go       who is compared with whom, in files
//
// Storage has two layers. A storedDocument is an id that refers to a content; a content is the
// profile that one or more documents share: their features with raw counts. Only contents are
// compared, so an exact copy costs no comparison. Raw counts are stored instead of final weights,
// because a weight depends on the whole collection.
//
// Pairs, Groups and Calibrate first take a snapshot of all documents, a collection, whose weights
// depend on all of it. They compare without holding the lock. Search and Explain use the history,
// which keeps its weights until the Deduplicator has doubled.

// A Deduplicator finds near-duplicates among documents that the caller adds under ids of its own.
// Two documents are near-duplicates if the cosine of their weighted feature vectors reaches a
// threshold, and if their [Kind] is one that counts. The threshold comes from the collection itself,
// unless the options have one: see [Deduplicator.Threshold]. The cosine is always exact. Use a
// Deduplicator unless you have a reason not to:
//
//	d, err := neardup.NewDeduplicator[string](neardup.DeduplicatorOptions{})
//	for id, text := range texts {
//		err = d.Add(id, text)
//	}
//	groups, err := d.Groups(ctx, neardup.Grouping[string]{})
//	for _, g := range groups {
//		keep(g.Keep)
//	}
//
// For a whole collection, add all documents and call Pairs or Groups. For documents that come one
// by one, call [Deduplicator.SearchAndAdd], which returns the near-duplicates that are already
// there.
//
// The weight of a feature, the forms and the threshold depend on the collection. Pairs and Groups take
// them from all documents. Search takes those of the last weighing, which is made each time the
// collection has doubled. So Search and Pairs may disagree about pairs whose similarity is close to
// the threshold, and about forms that have become known since.
//
// Documents with equal words and features are stored once, so a thousand copies of a page take little
// more memory than one. A document without features (no letters, digits or emoji) is stored but is a
// near-duplicate of nothing. In a small collection, of up to about 7,000 texts of 1 KB, each distinct
// feature of a document takes 16 bytes, and about 50 more while Pairs or Groups run; each word takes 4
// bytes; searches take 30 more for each feature. In a larger one a document takes its normalized text, about
// 200 bytes, and 600 more while Pairs or Groups run, or once there have been searches. Memory follows the
// largest number of documents held at one time; ids that are replaced or deleted do not add to it. A
// Deduplicator holds at most 2³⁰ documents; adding more is an error.
//
// [NewDeduplicator] makes a Deduplicator in memory. [OpenDeduplicator] makes one whose documents are also in
// files, and outlive the program. The zero value is an empty one in memory with the default options. All
// methods may be called from several goroutines at once. Methods that add or delete take turns. Searches run
// side by side, but wait for a method that adds, and for weights to be recomputed. Loops over an iterator
// hold no lock, so their bodies may call any method.
type Deduplicator[ID comparable] struct {
	settings DeduplicatorOptions

	mu       sync.RWMutex
	docs     []storedDocument[ID] // by slot; free slots have the number -1
	freeDocs []int32              // the free slots of docs
	ids      map[ID]int32         // the slot of each document
	added    int                  // how many documents were ever added
	seconds  uint32               // when the last one was, since 1970
	contents []content            // by slot; a free slot has no documents
	freed    []uint32             // the free slots of contents
	digests  map[uint64]uint32    // for each digest the slot of the first content with features, and 1
	changes  int                  // counts what was added or deleted
	known    *history             // what Search uses; nil until the first search
	entered  int                  // how many contents came since known was made
	left     int                  // and how many were forgotten
	size     int                  // of all contents with features
	bodies   bodyStore            // where their bodies are
	isLarge  atomic.Bool          // profiles are slim: the size was once above exactSize
	limit    int                  // if not 0, tests take it for exactSize,
	sampled  int                  // and this for sampleSize

	files  *documentFiles[ID] // nil in memory
	unread bool               // the documents in the files have not been read yet
	logged []uint64           // buffer of whoever adds

	// said is what the last snapshot showed, so that it is found once for all that use it: the threshold,
	// and the plan of a large collection. It has a lock of its own, which is taken last.
	said struct {
		sync.Mutex
		threshold said[Threshold]
		plan      said[Plan]
	}
}

// A said value is one that depends on all documents.
type said[T any] struct {
	value   T
	changes int // those of the Deduplicator at that time, and 1; 0 if there is no value
}

// A storedDocument is an id and its content. The documents of one content form a linked list in the
// order of adding, so any of a million equal documents is deleted in constant time.
type storedDocument[ID comparable] struct {
	id         ID
	number     int    // how many documents were added before it
	length     int    // in characters; see Document.Length
	text       uint64 // a hash of the text
	seconds    uint32 // when it was added, since 1970
	content    uint32 // its slot in contents
	prev, next int32  // slots in the list of the content, or -1
}

// A content is the profile that one or more documents share.
type content struct {
	profile
	first, last int32  // slots of its first and last document, or -1 if it has none
	next        uint32 // the slot of the next content with the same digest, and 1; 0 if there is none
}

// NewDeduplicator returns an empty Deduplicator. It returns an error for options that are out of
// range, and for a Weight that does not fit the features, such as an IDF whose statistics were made
// with another Tokenizer.
func NewDeduplicator[ID comparable](options DeduplicatorOptions) (*Deduplicator[ID], error) {
	s, err := options.canonical()
	if err != nil {
		return nil, err
	}
	return &Deduplicator[ID]{settings: s}, nil
}

// Add stores a text under an id. A document that has the id already is replaced: it counts as
// deleted, and the new one as added now. Add keeps no reference to the text. It returns an error if the
// Deduplicator is full, or if its files have an error.
func (d *Deduplicator[ID]) Add(id ID, text string) error {
	return d.put(id, d.read(text))
}

// read returns the profile of a text, which is slim if profiles are to be slim.
func (d *Deduplicator[ID]) read(text string) reading {
	f := &d.options().Fingerprinter
	if d.isLarge.Load() {
		return f.slimProfile(text)
	}
	return f.profile(text)
}

// AddRecord is Add for a record, whose features the Fields of the Fingerprinter make. It returns an
// error and stores nothing if there are no Fields. The same holds if the record has columns but the
// Fields name none of them, which nearly always is a misspelt name.
func (d *Deduplicator[ID]) AddRecord(id ID, rec Record) error {
	p, err := d.options().Fingerprinter.recordProfile(rec)
	if err != nil {
		return err
	}
	return d.put(id, p)
}

// AddAll calls Add for each text in order, but extracts features on all processors. It reads up to
// 256 texts for each processor before it adds them, so other calls see a text only then. If an Add
// fails or the context ends, AddAll returns that error; the texts read before have been added. The
// sequence may call methods of d.
func (d *Deduplicator[ID]) AddAll(ctx context.Context, texts iter.Seq2[ID, string]) error {
	return addAll(ctx, d, texts, func(text string) (reading, error) { return d.read(text), nil })
}

// AddRecords is AddAll for records; see AddRecord for more errors.
func (d *Deduplicator[ID]) AddRecords(ctx context.Context, records iter.Seq2[ID, Record]) error {
	return addAll(ctx, d, records, d.options().Fingerprinter.recordProfile)
}

// addAll adds documents in batches. It calls read on all processors, and then adds the batch in
// order. It stops at the first error; documents before that one have been added.
func addAll[ID comparable, D any](ctx context.Context, d *Deduplicator[ID], docs iter.Seq2[ID, D], read func(D) (reading, error)) error {
	type document struct {
		id ID
		of D
	}
	var batch []document
	flush := func() error {
		profiles, errs := make([]reading, len(batch)), make([]error, len(batch))
		parallel.Each((len(batch)+15)/16, func(i int) {
			for j := i * 16; j < min(len(batch), i*16+16); j++ {
				profiles[j], errs[j] = read(batch[j].of)
			}
		})
		for i, p := range profiles {
			err := errs[i]
			if err == nil {
				err = d.put(batch[i].id, p)
			}
			if err != nil {
				return err
			}
		}
		clear(batch)
		batch = batch[:0]
		return nil
	}
	for id, of := range docs {
		if err := ctx.Err(); err != nil {
			return cmp.Or(flush(), err)
		}
		if batch = append(batch, document{id, of}); len(batch) == 256*runtime.GOMAXPROCS(0) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return cmp.Or(flush(), ctx.Err())
}

// put adds a document under the lock.
func (d *Deduplicator[ID]) put(id ID, p reading) error {
	if err := d.lock(); err != nil {
		return err
	}
	defer d.mu.Unlock()
	return d.enter(id, p)
}

// enter adds a document, and replaces the one with the same id. The caller holds the lock.
func (d *Deduplicator[ID]) enter(id ID, p reading) error {
	if _, replaced := d.ids[id]; !replaced && len(d.ids) == store.MaxDocuments {
		return fmt.Errorf("neardup: a Deduplicator holds at most %d documents", store.MaxDocuments)
	}
	if err := d.spillBodies(); err != nil {
		return err
	}
	if err := d.log(id, &p); err != nil {
		return err
	}
	return d.keep(id, p, uint32(min(max(time.Now().Unix(), 0), math.MaxUint32)))
}

// keep is enter for a document that is in the files already, or if there are none. A content that is new
// becomes searchable at once, with the weights of the current history.
func (d *Deduplicator[ID]) keep(id ID, p reading, seconds uint32) error {
	d.delete(id)
	if d.ids == nil {
		d.ids, d.digests = map[ID]int32{}, map[uint64]uint32{}
	}
	number := d.contentOf(p.profile)
	c := &d.contents[number]
	if c.first < 0 && p.hasFeatures() {
		if d.entered++; d.known != nil {
			p := p.whole(&d.options().Fingerprinter)
			if err := d.known.add(number, &p); err != nil {
				return err
			}
		}
	}
	d.changes++
	d.seconds = max(d.seconds, seconds)
	doc := storedDocument[ID]{id: id, number: d.added, length: p.length, text: p.text, seconds: d.seconds, content: number, prev: c.last, next: -1}
	d.added++
	slot := int32(len(d.docs))
	if n := len(d.freeDocs); n > 0 {
		slot, d.freeDocs = d.freeDocs[n-1], d.freeDocs[:n-1]
		d.docs[slot] = doc
	} else {
		d.docs = append(d.docs, doc)
	}
	if c.last >= 0 {
		d.docs[c.last].next = slot
	} else {
		c.first = slot
	}
	c.last = slot
	d.ids[id] = slot
	return nil
}

// contentWith returns the slot of the content with a profile, and 1, or 0 if there is none.
func (d *Deduplicator[ID]) contentWith(p *profile) uint32 {
	for c := d.digests[p.digest]; c > 0; c = d.contents[c-1].next {
		if d.contents[c-1].compare(p, &d.options().Fingerprinter) == 0 {
			return c
		}
	}
	return 0
}

// contentOf returns the slot of the content with a profile, which it makes if there is none.
// Profiles without terms never share a content: such documents are not near-duplicates of each
// other.
func (d *Deduplicator[ID]) contentOf(p profile) uint32 {
	if c := d.contentWith(&p); c > 0 {
		return c - 1
	}
	if p.hasFeatures() {
		d.size += p.size
	}
	if d.size > d.exactSize() && !d.isLarge.Swap(true) {
		for i := range d.contents {
			d.contents[i].profile = d.contents[i].slim()
		}
	}
	if d.isLarge.Load() {
		p = p.slim()
	}
	d.bodies.count(&p, 1)
	c := uint32(len(d.contents))
	if n := len(d.freed); n > 0 {
		c, d.freed = d.freed[n-1], d.freed[:n-1]
	} else {
		d.contents = append(d.contents, content{})
	}
	d.contents[c] = content{profile: p, first: -1, last: -1}
	if p.hasFeatures() { // or else no search for equal profiles must find it
		d.contents[c].next = d.digests[p.digest]
		d.digests[p.digest] = c + 1
	}
	return c
}

// Delete removes a document and reports whether it was there. The error is that of the files.
func (d *Deduplicator[ID]) Delete(id ID) (bool, error) {
	if err := d.lock(); err != nil {
		return false, err
	}
	defer d.mu.Unlock()
	return d.remove(id)
}

// remove is Delete for a caller that holds the lock.
func (d *Deduplicator[ID]) remove(id ID) (bool, error) {
	if _, ok := d.ids[id]; ok && d.files != nil {
		if _, err := d.files.Delete(id); err != nil {
			return false, err
		}
	}
	return d.delete(id), nil
}

// delete removes a document from memory. The caller holds the lock.
func (d *Deduplicator[ID]) delete(id ID) bool {
	slot, ok := d.ids[id]
	if !ok {
		return false
	}
	d.changes++
	delete(d.ids, id)
	doc := d.docs[slot]
	d.docs[slot] = storedDocument[ID]{number: -1}
	d.freeDocs = append(d.freeDocs, slot)
	c := &d.contents[doc.content]
	if doc.prev >= 0 {
		d.docs[doc.prev].next = doc.next
	} else {
		c.first = doc.next
	}
	if doc.next >= 0 {
		d.docs[doc.next].prev = doc.prev
	} else {
		c.last = doc.prev
	}
	if c.first < 0 {
		d.forget(doc.content)
	}
	return true
}

// forget removes a content whose last document was deleted, also from the history.
func (d *Deduplicator[ID]) forget(number uint32) {
	c := &d.contents[number]
	if c.hasFeatures() {
		d.size -= c.size
		d.bodies.count(&c.profile, -1)
		if at := d.digests[c.digest]; at != number+1 {
			for d.contents[at-1].next != number+1 {
				at = d.contents[at-1].next
			}
			d.contents[at-1].next = c.next
		} else if c.next > 0 {
			d.digests[c.digest] = c.next
		} else {
			delete(d.digests, c.digest)
		}
		d.left++
		if d.known != nil {
			d.known.delete(number)
		}
	}
	*c = content{first: -1, last: -1}
	d.freed = append(d.freed, number)
}

// Get returns the number and length of the document with an id, and whether there is one. Its text cannot
// be read again. The error is that of the files.
func (d *Deduplicator[ID]) Get(id ID) (doc Document[ID], ok bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.unread {
		words, ok, err := d.files.Get(id)
		if !ok || err != nil {
			return doc, false, err
		}
		s, err := decodeDocument(words)
		return Document[ID]{ID: id, Number: s.number, Length: s.length}, err == nil, err
	}
	if err := d.usable(); err != nil {
		return doc, false, err
	}
	slot, ok := d.ids[id]
	if ok {
		doc = Document[ID]{ID: id, Number: d.docs[slot].number, Length: d.docs[slot].length}
	}
	return doc, ok, nil
}

// Len returns the number of documents, exact copies and documents without features included.
func (d *Deduplicator[ID]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.unread {
		return d.files.Len()
	}
	return len(d.ids)
}

// Added returns how many documents were ever added, those that were replaced or deleted included. So
// PairsSince with this number reports the pairs of documents that are added from now on, also after the
// program was started again, if there are files.
func (d *Deduplicator[ID]) Added() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.added
}

// All yields the documents in the order of adding, as they are when the loop begins. The error of the files
// comes last, with an empty Document.
func (d *Deduplicator[ID]) All() iter.Seq2[Document[ID], error] {
	return func(yield func(Document[ID], error) bool) {
		if err := d.rlock(); err != nil {
			yield(Document[ID]{}, err)
			return
		}
		var docs []Document[ID]
		for _, slot := range d.inOrder() {
			doc := &d.docs[slot]
			docs = append(docs, Document[ID]{ID: doc.id, Number: doc.number, Length: doc.length})
		}
		d.mu.RUnlock()
		for _, doc := range docs {
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// inOrder returns the slots of all documents in the order of adding. The caller holds the lock, for reading
// at least.
func (d *Deduplicator[ID]) inOrder() []int32 {
	slots := make([]int32, 0, len(d.ids))
	for slot := range d.docs {
		if d.docs[slot].number >= 0 {
			slots = append(slots, int32(slot))
		}
	}
	byNumber := func(a, b int32) int { return d.docs[a].number - d.docs[b].number }
	if !slices.IsSortedFunc(slots, byNumber) { // some slots were reused
		slices.SortFunc(slots, byNumber)
	}
	return slots
}

// documentsOf yields the slots of the documents of a content, in the order of adding. The caller
// holds the lock, for reading at least.
func (d *Deduplicator[ID]) documentsOf(c *content) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for slot := c.first; slot >= 0 && yield(slot); slot = d.docs[slot].next {
		}
	}
}

// Pairs yields all pairs of near-duplicates, each once, with their cosine. A was added before B.
// Equal documents have the similarity 1, and m of them m(m−1)/2 pairs; Groups does not spell them
// out. Which pairs there are, and their cosines, depends on nothing but the documents (but see
// [OpenDeduplicator]). The order of the pairs is unspecified but always the same. If the context ends, its
// error comes last, with an empty Pair.
//
// Pairs compares the documents that are there when the loop begins.
func (d *Deduplicator[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return d.PairsSince(ctx, 0)
}

// PairsSince reports the pairs that involve a document added after the first n that were ever
// added: new documents with each other and with old ones. Old documents are not compared with each
// other. n counts documents that were replaced or deleted since, as [Document.Number] does; with n
// ≤ 0 it is Pairs.
func (d *Deduplicator[ID]) PairsSince(ctx context.Context, n int) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		c, err := d.collect(ctx, n)
		if err != nil {
			yield(Pair[ID]{}, err)
			return
		}
		for p := range c.documentPairs(ctx, c.least(ctx), c.settings.Kinds) {
			if !yield(Pair[ID]{A: c.docs[p.A].id, B: c.docs[p.B].id, Similarity: p.Similarity, Kind: p.Kind}, nil) {
				return
			}
		}
		if err := cmp.Or(ctx.Err(), c.err()); err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}
