package neardup

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/store"
	"github.com/zeebo/xxh3"
)

// DeduplicatorOptions are the settings of a [Deduplicator]. The zero value is right for texts in Chinese and in
// English, long and short, and is what the measurements in the README are of.
type DeduplicatorOptions struct {
	// Fingerprinter says what documents are compared by. The zero value: runs of words, of
	// characters in short texts, or both, by the text. With a Tokenizer: its features. Fields
	// are for records. The weight is (1 + ln n) × ln((N+20)/df), n being how often the document
	// has the feature and df how many of the N documents do, not counting those nearly equal to
	// another; unless Weight is another. A seeded Hash counts, other hashes do not.
	Fingerprinter Fingerprinter

	// Similarity is the least cosine of near-duplicates, above 0 and at most 1; 0 means 0.57.
	// Calibrate finds the best one from labelled pairs.
	Similarity float64

	// Recall is the share of the pairs that Pairs and Groups must find of those that are similar
	// enough; 0 means 1, all of them. With less they may compare only documents of which
	// fingerprints or signatures are near, if by a sample that suffices: see
	// [Deduplicator.Plan]. What is found is exact all the same. That pays for some hundred
	// thousand documents or more.
	Recall float64
}

// defaultSimilarity is the cosine of the zero DeduplicatorOptions.
const defaultSimilarity = 0.57

func (s DeduplicatorOptions) canonical() (DeduplicatorOptions, error) {
	if s.Similarity == 0 {
		s.Similarity = defaultSimilarity
	}
	if s.Recall == 0 {
		s.Recall = 1
	}
	switch {
	case !(s.Similarity > 0 && s.Similarity <= 1):
		return s, fmt.Errorf("neardup: similarity %g is not above 0 and at most 1", s.Similarity)
	case !(s.Recall > 0 && s.Recall <= 1):
		return s, fmt.Errorf("neardup: recall %g is not above 0 and at most 1", s.Recall)
	}
	if err := s.Fingerprinter.Normalizer.check(); err != nil {
		return s, err
	}
	of := s.Fingerprinter.features()
	return s, checkWeight(s.Fingerprinter.Weight, &of, true)
}

// A Deduplicator finds near-duplicates among documents that the caller adds under ids of its own.
// Two documents are near-duplicates if the cosine of their weighted feature vectors is at least the
// Similarity of the options; this is verified exactly. Use it unless you have a reason not to:
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
// For a whole collection, add all documents and call Pairs or Groups. For documents that come one by
// one, call [Deduplicator.SearchAndAdd], which tells what is there already. The weight of a feature
// depends on the collection. Pairs and Groups use weights of all documents. Search uses weights that
// are recomputed each time the collection has doubled; until then a new document is weighed by the
// last ones. So Search and Pairs may differ for pairs whose similarity is close to the threshold.
//
// Documents with equal features are stored once, so a thousand copies of a page cost no more than
// one. A document without features (no letters, digits or emoji) is near nothing. Each different
// feature of a document takes 18 bytes, 30 more after the first search, and about 50 more while
// Pairs or Groups run. Memory follows the largest number of documents held at one time; ids that are
// replaced or deleted do not add to it.
//
// The zero value has the default options. All methods may be called from several goroutines at
// once; those that add or delete take turns.
type Deduplicator[ID comparable] struct {
	settings DeduplicatorOptions

	mu       sync.RWMutex
	docs     []storedDocument[ID] // in slots; the free ones are listed in freeDocs
	freeDocs []int32
	ids      map[ID]int32        // slots of the documents
	added    int                 // number of documents ever added
	contents []content           // in slots, as docs
	freed    []uint32            // free slots of contents
	digests  map[uint64][]uint32 // by digest of the features: contents
	known    *history            // for searches; nil until the first one
	entered  int                 // contents that came since known was made
}

// A storedDocument is an id and its content. The documents of one content are a list in the order
// of adding, so one of a million equal documents is deleted in constant time.
type storedDocument[ID comparable] struct {
	id         ID
	number     int // how many documents were added before it
	length     int
	content    uint32
	prev, next int32 // slots in the list of the content, or -1
}

// A content is the features that one or more documents share.
type content struct {
	profile
	first, last int32 // slots of its documents, -1 if there are none
}

// NewDeduplicator returns a Deduplicator without documents. Options that are out of range are an
// error, and so is a Weight that does not fit the features.
func NewDeduplicator[ID comparable](options DeduplicatorOptions) (*Deduplicator[ID], error) {
	s, err := options.canonical()
	if err != nil {
		return nil, err
	}
	return &Deduplicator[ID]{settings: s}, nil
}

// options returns the settings, those of the zero value too.
func (d *Deduplicator[ID]) options() *DeduplicatorOptions {
	if d.settings.Similarity != 0 {
		return &d.settings
	}
	s, _ := DeduplicatorOptions{}.canonical()
	return &s
}

// Add adds a text. It replaces the document that has the same id.
func (d *Deduplicator[ID]) Add(id ID, text string) error {
	return d.put(id, d.options().Fingerprinter.profile(text))
}

// AddRecord adds a record, by the Fields of the Fingerprinter. It is an error if there are none, or
// if the record has values but none of the columns that they name: then a name is misspelt.
func (d *Deduplicator[ID]) AddRecord(id ID, rec Record) error {
	p, err := d.options().Fingerprinter.recordProfile(rec)
	if err != nil {
		return err
	}
	return d.put(id, p)
}

// AddAll adds texts as if one by one, but reads them on all processors. After an error, also that of
// the context, the texts before it have been added.
func (d *Deduplicator[ID]) AddAll(ctx context.Context, texts iter.Seq2[ID, string]) error {
	f := &d.options().Fingerprinter
	return addAll(ctx, d, texts, func(text string) (profile, error) { return f.profile(text), nil })
}

// AddRecords is AddAll for records.
func (d *Deduplicator[ID]) AddRecords(ctx context.Context, records iter.Seq2[ID, Record]) error {
	return addAll(ctx, d, records, d.options().Fingerprinter.recordProfile)
}

func addAll[ID comparable, D any](ctx context.Context, d *Deduplicator[ID], docs iter.Seq2[ID, D], read func(D) (profile, error)) error {
	type document struct {
		id ID
		of D
	}
	var batch []document
	flush := func() error {
		profiles, errs := make([]profile, len(batch)), make([]error, len(batch))
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

// put adds a document.
func (d *Deduplicator[ID]) put(id ID, p profile) error {
	digest := p.digest()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.enter(id, p, digest)
}

// digest is a hash of the profile; equal profiles have equal digests.
func (p *profile) digest() uint64 {
	h := xxh3.New()
	var b [12]byte
	for _, t := range p.terms {
		binary.LittleEndian.PutUint64(b[:], t.Feature)
		binary.LittleEndian.PutUint32(b[8:], math.Float32bits(t.Weight))
		h.Write(b[:])
	}
	return h.Sum64()
}

// enter adds a document; the lock is held.
func (d *Deduplicator[ID]) enter(id ID, p profile, digest uint64) error {
	d.delete(id)
	if len(d.ids) == store.MaxDocuments {
		return fmt.Errorf("neardup: a Deduplicator holds at most %d documents", store.MaxDocuments)
	}
	if d.ids == nil {
		d.ids, d.digests = map[ID]int32{}, map[uint64][]uint32{}
	}
	number := d.contentOf(p, digest)
	c := &d.contents[number]
	if c.first < 0 && len(p.terms) > 0 {
		if d.entered++; d.known != nil {
			if err := d.known.index.Add(number, d.known.vector(&p)); err != nil {
				return err
			}
		}
	}
	doc := storedDocument[ID]{id: id, number: d.added, length: p.length, content: number, prev: c.last, next: -1}
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

// contentOf returns the slot of the content with a profile.
func (d *Deduplicator[ID]) contentOf(p profile, digest uint64) uint32 {
	for _, c := range d.digests[digest] {
		if of := &d.contents[c]; of.fine == p.fine && slices.Equal(of.terms, p.terms) {
			return c
		}
	}
	c := uint32(len(d.contents))
	if n := len(d.freed); n > 0 {
		c, d.freed = d.freed[n-1], d.freed[:n-1]
	} else {
		d.contents = append(d.contents, content{})
	}
	d.contents[c] = content{profile: p, first: -1, last: -1}
	if len(p.terms) > 0 { // a document without features is like no other
		d.digests[digest] = append(d.digests[digest], c)
	}
	return c
}

// Delete removes a document and reports whether it was there.
func (d *Deduplicator[ID]) Delete(id ID) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delete(id), nil
}

func (d *Deduplicator[ID]) delete(id ID) bool {
	slot, ok := d.ids[id]
	if !ok {
		return false
	}
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

// forget removes a content that has no documents any more.
func (d *Deduplicator[ID]) forget(number uint32) {
	c := &d.contents[number]
	if len(c.terms) > 0 {
		digest := c.digest()
		if left := slices.DeleteFunc(d.digests[digest], func(n uint32) bool { return n == number }); len(left) > 0 {
			d.digests[digest] = left
		} else {
			delete(d.digests, digest)
		}
		if d.known != nil {
			d.known.index.Delete(number)
		}
	}
	*c = content{first: -1, last: -1}
	d.freed = append(d.freed, number)
}

// Get returns what is known of the document with an id.
func (d *Deduplicator[ID]) Get(id ID) (doc Document[ID], ok bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	slot, ok := d.ids[id]
	if ok {
		doc = Document[ID]{ID: id, Number: d.docs[slot].number, Length: d.docs[slot].length}
	}
	return doc, ok, nil
}

// Len returns the number of documents.
func (d *Deduplicator[ID]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.ids)
}

// documentsOf yields the slots of the documents of a content, in the order of adding.
func (d *Deduplicator[ID]) documentsOf(c *content) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for slot := c.first; slot >= 0 && yield(slot); slot = d.docs[slot].next {
		}
	}
}

// A collection is a snapshot of the documents, for work on all of them. Its documents are in the
// order of adding, and known by their positions there. Contents that only old documents have come
// first.
type collection[ID comparable] struct {
	docs     []storedDocument[ID] // of which only id, number and length count
	contents []sharedContent
	old      int              // contents that only old documents have
	fps      []Fingerprint128 // nil, or to be made
	counted
	oldDocs int
	weights profileWeights
}

// A sharedContent is a content of a collection, with the positions of its documents, ascending.
type sharedContent struct {
	profile
	docs []int
}

// collect returns the documents; those with a number below old are old.
func (d *Deduplicator[ID]) collect(old int) *collection[ID] {
	c := &collection[ID]{}
	d.mu.RLock()
	var slots []int32
	for slot := range d.docs {
		if d.docs[slot].number >= 0 {
			slots = append(slots, int32(slot))
		}
	}
	byNumber := func(a, b int32) int { return d.docs[a].number - d.docs[b].number }
	if !slices.IsSortedFunc(slots, byNumber) { // slots were used again
		slices.SortFunc(slots, byNumber)
	}
	position := make([]int, len(d.docs))
	for at, slot := range slots {
		position[slot] = at
		c.docs = append(c.docs, d.docs[slot])
	}
	for _, n := range d.inOrder() {
		shared := sharedContent{profile: d.contents[n].profile}
		for slot := range d.documentsOf(&d.contents[n]) {
			shared.docs = append(shared.docs, position[slot])
		}
		c.contents = append(c.contents, shared)
	}
	d.mu.RUnlock()
	c.oldDocs, _ = slices.BinarySearchFunc(c.docs, old, func(doc storedDocument[ID], old int) int { return doc.number - old })
	c.counted = d.countedOnce(len(c.contents), c.terms)
	c.weights = c.counted.weights(d.options())
	// Contents that only old documents have move to the front.
	var order []int
	for _, isOld := range []bool{true, false} {
		for i, content := range c.contents {
			if docs := content.docs; (docs[len(docs)-1] < c.oldDocs) == isOld {
				order = append(order, i)
			}
		}
		if isOld {
			c.old = len(order)
		}
	}
	contents, counts := make([]sharedContent, len(order)), make(counted, len(order))
	for to, from := range order {
		contents[to], counts[to] = c.contents[from], c.counted[from]
	}
	c.contents, c.counted = contents, counts
	return c
}

// inOrder returns the slots of the contents that have documents and features, in the order of their
// first documents. It does not depend on how the documents came to be.
func (d *Deduplicator[ID]) inOrder() (numbers []uint32) {
	for n, c := range d.contents {
		if c.first >= 0 && len(c.terms) > 0 {
			numbers = append(numbers, uint32(n))
		}
	}
	slices.SortFunc(numbers, func(a, b uint32) int {
		return d.docs[d.contents[a].first].number - d.docs[d.contents[b].first].number
	})
	return numbers
}

func (c *collection[ID]) terms(i int) Vector { return c.contents[i].terms }

// Len is the number of contents, which are the vectors of a join; it implements [cosine.Source], as
// Vector, Weigh and Counts do.
func (c *collection[ID]) Len() int { return len(c.contents) }

func (c *collection[ID]) Vector(i int, _ []Term) []Term { return c.terms(i) }

func (c *collection[ID]) Weigh(i int, v []Term, df []uint32) []Term {
	w := Vector(slices.Clone(v))
	c.weights.weigh(w, &c.contents[i].profile, df)
	if c.fps != nil {
		c.fps[i] = w.fingerprint()
	}
	return w
}

// Pairs yields all pairs of near-duplicates, each once, with their cosine. A was added before B. The
// order is unspecified but depends only on the documents. The error of the context comes last, with
// an empty Pair.
func (d *Deduplicator[ID]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return d.PairsSince(ctx, 0)
}

// PairsSince reports the pairs that involve a document added after the first n that were ever added:
// new documents with each other and with old ones. Old documents are not compared with each other.
func (d *Deduplicator[ID]) PairsSince(ctx context.Context, n int) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		c := d.collect(n)
		for p := range c.documentPairs(ctx, d.options().Similarity, d.options().Recall) {
			if !yield(Pair[ID]{A: c.docs[p.A].id, B: c.docs[p.B].id, Similarity: p.Similarity}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}

// documentPairs yields the pairs of documents of at least a similarity, or a fraction recall of them,
// by their positions.
func (c *collection[ID]) documentPairs(ctx context.Context, least, recall float64) iter.Seq[Pair[int]] {
	return func(yield func(Pair[int]) bool) {
		for _, of := range c.contents[c.old:] {
			for b := c.oldOf(of.docs); b < len(of.docs); b++ {
				for _, i := range of.docs[:b] {
					if !yield(Pair[int]{A: i, B: of.docs[b], Similarity: 1}) {
						return
					}
				}
			}
		}
		for p := range c.pairs(ctx, least, recall, planFrom) {
			of, with := c.contents[p.A].docs, c.contents[p.B].docs
			fresh := with[c.oldOf(with):]
			for n, i := range of {
				if n == c.oldOf(of) { // from here on with old ones too
					fresh = with
				}
				for _, j := range fresh {
					if !yield(Pair[int]{A: min(i, j), B: max(i, j), Similarity: p.Similarity}) {
						return
					}
				}
			}
		}
	}
}

// oldOf returns how many of some documents are old.
func (c *collection[ID]) oldOf(docs []int) int {
	n, _ := slices.BinarySearch(docs, c.oldDocs)
	return n
}

// Search yields the near-duplicates of a text: the most similar first, and equally similar ones in
// the order of adding. An error comes last, with an empty Match.
func (d *Deduplicator[ID]) Search(text string) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		matchSeq(d.find(nil, d.options().Fingerprinter.profile(text)))(yield)
	}
}

// SearchRecord is Search for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchRecord(rec Record) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		p, err := d.options().Fingerprinter.recordProfile(rec)
		if err != nil {
			yield(Match[ID]{}, err)
			return
		}
		matchSeq(d.find(nil, p))(yield)
	}
}

// Exists reports whether Search finds anything.
func (d *Deduplicator[ID]) Exists(text string) (bool, error) {
	for _, err := range d.Search(text) {
		return err == nil, err
	}
	return false, nil
}

// SearchAndAdd is Search and Add in one. The document that has the id already is not returned. Of
// two calls at the same time, one finds the other's document.
func (d *Deduplicator[ID]) SearchAndAdd(id ID, text string) ([]Match[ID], error) {
	return d.find(&id, d.options().Fingerprinter.profile(text))
}

// SearchAndAddRecord is SearchAndAdd for a record; see AddRecord for its errors.
func (d *Deduplicator[ID]) SearchAndAddRecord(id ID, rec Record) ([]Match[ID], error) {
	p, err := d.options().Fingerprinter.recordProfile(rec)
	if err != nil {
		return nil, err
	}
	return d.find(&id, p)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether there is a near-duplicate.
func (d *Deduplicator[ID]) ExistsAndAdd(id ID, text string) (bool, error) {
	found, err := d.SearchAndAdd(id, text)
	return len(found) > 0, err
}

// find returns the near-duplicates of a profile, and adds it if there is an id for it.
func (d *Deduplicator[ID]) find(id *ID, p profile) ([]Match[ID], error) {
	if id != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := d.refresh(); err != nil {
			return nil, err
		}
		d.delete(*id)
	} else {
		unlock, err := d.lockFresh()
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	type hit struct {
		similarity float64
		slot       int32
	}
	var hits []hit
	for m, err := range d.known.index.Search(d.known.vector(&p)) {
		if err != nil {
			return nil, err
		}
		for slot := range d.documentsOf(&d.contents[m.ID]) {
			hits = append(hits, hit{m.Similarity, slot})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), d.docs[a.slot].number-d.docs[b.slot].number)
	})
	out := make([]Match[ID], len(hits))
	for i, h := range hits {
		out[i] = Match[ID]{ID: d.docs[h.slot].id, Similarity: h.similarity}
	}
	if id != nil {
		return out, d.enter(*id, p, p.digest())
	}
	return out, nil
}

// lockFresh makes sure that the history is fresh, locks for reading, and returns what unlocks.
func (d *Deduplicator[ID]) lockFresh() (unlock func(), err error) {
	for d.mu.RLock(); d.isStale(); d.mu.RLock() {
		d.mu.RUnlock()
		d.mu.Lock()
		err := d.refresh()
		d.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return d.mu.RUnlock, nil
}
