package neardup

import (
	"cmp"
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

// Settings are those of a [Deduplicator]. The zero value is right for texts in Chinese and in
// English, long and short, and is what the measurements in the README are of.
type Settings struct {
	// Fingerprinter says what documents are compared by. The zero value: runs of words, of
	// characters in short texts, or both, by the text. With a Tokenizer: its features. Fields
	// are for records. The weight is (1 + ln n) × ln((N+20)/df), n being how often the document
	// has the feature and df how many of the N documents do, not counting those nearly equal to
	// another; unless Weight is another. A seeded Hash counts, other hashes do not.
	Fingerprinter Fingerprinter

	// Similarity is the least cosine of near-duplicates, above 0 and at most 1; 0 means 0.57.
	// Calibrate finds the best for documents of which it is known what belongs together.
	Similarity float64

	// Recall is the share of the pairs that Pairs and Groups must find of those that are similar
	// enough; 0 means 1, all of them. With less they may compare only documents of which
	// fingerprints or signatures are near, if by a sample that suffices: see
	// [Deduplicator.Plan]. What is found is exact all the same. That pays for some hundred
	// thousand documents or more.
	Recall float64
}

// defaultSimilarity is the cosine of the zero Settings.
const defaultSimilarity = 0.57

func (s Settings) usual() (Settings, error) {
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
	of := s.Fingerprinter.features()
	return s, checkWeight(s.Fingerprinter.Weight, &of, true)
}

// A Deduplicator takes documents under the caller's own ids and finds those that are
// near-duplicates, by an exact measure: the cosine of their vectors of weighted features. It is
// what to use if nothing speaks for anything else:
//
//	d, err := neardup.NewDeduplicator[string](neardup.Settings{})
//	for id, text := range texts {
//		d.Add(id, text)
//	}
//	for _, g := range d.Groups(neardup.Grouping[string]{}) {
//		keep(g.Keep)
//	}
//
// For a collection that is there, add all and ask for Pairs or Groups. For documents that come
// one by one, ask [Deduplicator.SearchAndAdd] of each what is known already. What features weigh
// depends on the documents: to Pairs and Groups on all that there are, to Search on those that
// there were at a moment; after as many new ones the next moment comes. So Search may differ from
// Pairs where the similarity is near the least.
//
// Documents with the same features are taken together, so a thousand copies of a page cost no
// more than one. A document without features (no letters, digits or emoji) is near nothing. A
// different feature of a document takes 18 bytes, 30 more once there was a search, and some 50
// more while Pairs or Groups are at work.
//
// All methods may be called from several goroutines at once; those that add or delete take turns.
type Deduplicator[ID comparable] struct {
	settings Settings

	mu       sync.RWMutex
	docs     []storedDocument[ID] // in the order of adding
	ids      map[ID]int           // where those are that were not deleted
	contents []content
	digests  map[uint64][]uint32 // of features: contents
	known    *history            // nil until there was a search
	entered  int                 // contents that got documents since then
}

// A storedDocument is an id and what it is of.
type storedDocument[ID comparable] struct {
	id      ID
	content uint32
	length  int
}

// A content is what one or more documents have.
type content struct {
	profile
	docs []int // ascending
}

// NewDeduplicator returns a Deduplicator without documents. It is an error if the settings
// are out of range, or the Weight does not fit the features.
func NewDeduplicator[ID comparable](s Settings) (*Deduplicator[ID], error) {
	s, err := s.usual()
	if err != nil {
		return nil, err
	}
	return &Deduplicator[ID]{settings: s, ids: map[ID]int{}, digests: map[uint64][]uint32{}}, nil
}

// Add adds a text. One that has the same id is deleted.
func (d *Deduplicator[ID]) Add(id ID, text string) {
	d.put(id, d.settings.Fingerprinter.profile(text))
}

// AddRecord is Add for a record.
func (d *Deduplicator[ID]) AddRecord(id ID, rec Record) {
	d.put(id, d.settings.Fingerprinter.recordProfile(rec))
}

// AddAll adds texts as if one by one, but reads them on all processors.
func (d *Deduplicator[ID]) AddAll(texts iter.Seq2[ID, string]) {
	addAll(d, texts, d.settings.Fingerprinter.profile)
}

// AddRecords is AddAll for records.
func (d *Deduplicator[ID]) AddRecords(records iter.Seq2[ID, Record]) {
	addAll(d, records, d.settings.Fingerprinter.recordProfile)
}

func addAll[ID comparable, D any](d *Deduplicator[ID], docs iter.Seq2[ID, D], read func(D) profile) {
	type document struct {
		id ID
		of D
	}
	var batch []document
	flush := func() {
		profiles := make([]profile, len(batch))
		parallel.Each((len(batch)+15)/16, func(i int) {
			for j := i * 16; j < min(len(batch), i*16+16); j++ {
				profiles[j] = read(batch[j].of)
			}
		})
		for i, p := range profiles {
			d.put(batch[i].id, p)
		}
		clear(batch)
		batch = batch[:0]
	}
	for id, of := range docs {
		if batch = append(batch, document{id, of}); len(batch) == 256*runtime.GOMAXPROCS(0) {
			flush()
		}
	}
	flush()
}

// put adds a document.
func (d *Deduplicator[ID]) put(id ID, p profile) {
	digest := p.digest()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter(id, p, digest)
}

// digest is by what equal profiles are found.
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

func (d *Deduplicator[ID]) enter(id ID, p profile, digest uint64) {
	d.delete(id)
	if len(d.docs) == store.MaxDocuments {
		panic(fmt.Sprintf("neardup: more than %d documents in a Deduplicator", store.MaxDocuments))
	}
	c := d.content(p, digest)
	if len(d.contents[c].docs) == 0 && len(p.terms) > 0 {
		if d.entered++; d.known != nil {
			d.known.index.Add(c, d.known.vector(&p))
		}
	}
	at := len(d.docs)
	d.ids[id] = at
	d.docs = append(d.docs, storedDocument[ID]{id: id, content: c, length: p.length})
	d.contents[c].docs = append(d.contents[c].docs, at)
}

// content returns the number of the content with a profile.
func (d *Deduplicator[ID]) content(p profile, digest uint64) uint32 {
	for _, c := range d.digests[digest] {
		if of := &d.contents[c]; of.fine == p.fine && slices.Equal(of.terms, p.terms) {
			return c
		}
	}
	c := uint32(len(d.contents))
	d.contents = append(d.contents, content{profile: p})
	if len(p.terms) > 0 { // else it is like no other
		d.digests[digest] = append(d.digests[digest], c)
	}
	return c
}

// Delete removes a document and reports whether it was there. Its id keeps its memory.
func (d *Deduplicator[ID]) Delete(id ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delete(id)
}

func (d *Deduplicator[ID]) delete(id ID) bool {
	at, ok := d.ids[id]
	if !ok {
		return false
	}
	delete(d.ids, id)
	number := d.docs[at].content
	c := &d.contents[number]
	// Somebody may be reading: what is there is not written to.
	switch i, _ := slices.BinarySearch(c.docs, at); {
	case i == 0:
		c.docs = c.docs[1:]
	case i == len(c.docs)-1:
		c.docs = c.docs[:i:i]
	default:
		c.docs = slices.Concat(c.docs[:i], c.docs[i+1:])
	}
	if len(c.docs) == 0 && len(c.terms) > 0 {
		digest := c.digest()
		if left := slices.DeleteFunc(d.digests[digest], func(n uint32) bool { return n == number }); len(left) > 0 {
			d.digests[digest] = left
		} else {
			delete(d.digests, digest)
		}
		if d.known != nil {
			d.known.index.Delete(number)
		}
		*c = content{}
	}
	return true
}

// Len returns the number of documents.
func (d *Deduplicator[ID]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.ids)
}

// A collection is the documents of a Deduplicator as they are when somebody asks for all of them:
// contents that only old documents have come first.
type collection[ID comparable] struct {
	docs     []storedDocument[ID] // of which only id, content and length count
	contents []content
	old      int              // contents
	fps      []Fingerprint128 // nil, or to be made
	counted
	oldDocs int
	weights profileWeights
}

// collect returns the documents; those before position old are old.
func (d *Deduplicator[ID]) collect(old int) *collection[ID] {
	d.mu.RLock()
	c := &collection[ID]{docs: d.docs[:len(d.docs):len(d.docs)], oldDocs: old}
	for _, n := range d.inOrder() {
		c.contents = append(c.contents, d.contents[n])
	}
	d.mu.RUnlock()
	c.counted = d.counted(len(c.contents), c.terms)
	c.weights = c.counted.weights(&d.settings)
	// To the front with those that only old documents have.
	var order []int
	for _, isOld := range []bool{true, false} {
		for i, content := range c.contents {
			if docs := content.docs; (docs[len(docs)-1] < old) == isOld {
				order = append(order, i)
			}
		}
		if isOld {
			c.old = len(order)
		}
	}
	contents, counts := make([]content, len(order)), make(counted, len(order))
	for to, from := range order {
		contents[to], counts[to] = c.contents[from], c.counted[from]
	}
	c.contents, c.counted = contents, counts
	return c
}

// inOrder returns the numbers of the contents that have documents and features, in the order of
// their first documents, which is the same however they came to be.
func (d *Deduplicator[ID]) inOrder() (numbers []uint32) {
	for n, c := range d.contents {
		if len(c.docs) > 0 && len(c.terms) > 0 {
			numbers = append(numbers, uint32(n))
		}
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return d.contents[a].docs[0] - d.contents[b].docs[0] })
	return numbers
}

func (c *collection[ID]) Len() int { return len(c.contents) }

func (c *collection[ID]) terms(i int) Vector { return c.contents[i].terms }

func (c *collection[ID]) Vector(i int, _ []Term) []Term { return c.terms(i) }

func (c *collection[ID]) Weigh(i int, v []Term, df []uint32) []Term {
	w := Vector(slices.Clone(v))
	c.weights.weigh(w, &c.contents[i].profile, df)
	if c.fps != nil {
		c.fps[i] = w.fingerprint()
	}
	return w
}

// Pairs yields all pairs of documents that are near-duplicates, each once, with their cosine. A
// was added before B. The order is unspecified, but depends on nothing but the documents.
func (d *Deduplicator[ID]) Pairs() iter.Seq[SimilarPair[ID]] { return d.PairsSince(0) }

// PairsSince is Pairs of those of which B is not one of the first n documents that were ever
// added: of new documents with each other and with old ones. Old ones are not compared with each
// other.
func (d *Deduplicator[ID]) PairsSince(n int) iter.Seq[SimilarPair[ID]] {
	return func(yield func(SimilarPair[ID]) bool) {
		c := d.collect(n)
		for p := range c.documentPairs(d.settings.Similarity, d.settings.Recall) {
			if !yield(SimilarPair[ID]{c.docs[p.A].id, c.docs[p.B].id, p.Similarity}) {
				return
			}
		}
	}
}

// documentPairs yields the pairs of documents of at least a similarity, or a share of them, by
// their positions.
func (c *collection[ID]) documentPairs(least, recall float64) iter.Seq[SimilarPair[int]] {
	return func(yield func(SimilarPair[int]) bool) {
		for _, of := range c.contents[c.old:] {
			for b := c.oldOf(of.docs); b < len(of.docs); b++ {
				for _, i := range of.docs[:b] {
					if !yield(SimilarPair[int]{i, of.docs[b], 1}) {
						return
					}
				}
			}
		}
		for p := range c.pairs(least, recall, planFrom) {
			of, with := c.contents[p.A].docs, c.contents[p.B].docs
			fresh := with[c.oldOf(with):]
			for n, i := range of {
				if n == c.oldOf(of) { // from here on with old ones too
					fresh = with
				}
				for _, j := range fresh {
					if !yield(SimilarPair[int]{min(i, j), max(i, j), p.Similarity}) {
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

// Search returns the documents that a text is a near-duplicate of: the most similar first, and of
// equally similar ones those that were added first.
func (d *Deduplicator[ID]) Search(text string) []Similar[ID] {
	return d.find(nil, d.settings.Fingerprinter.profile(text))
}

// SearchRecord is Search for a record.
func (d *Deduplicator[ID]) SearchRecord(rec Record) []Similar[ID] {
	return d.find(nil, d.settings.Fingerprinter.recordProfile(rec))
}

// SearchAndAdd is Search and Add in one. What has the id already is not returned. Of two that
// come at the same time one finds the other.
func (d *Deduplicator[ID]) SearchAndAdd(id ID, text string) []Similar[ID] {
	return d.find(&id, d.settings.Fingerprinter.profile(text))
}

// SearchAndAddRecord is SearchAndAdd for a record.
func (d *Deduplicator[ID]) SearchAndAddRecord(id ID, rec Record) []Similar[ID] {
	return d.find(&id, d.settings.Fingerprinter.recordProfile(rec))
}

// find returns what a profile is near, and adds it if there is an id for it.
func (d *Deduplicator[ID]) find(id *ID, p profile) []Similar[ID] {
	if id != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.refresh()
		d.delete(*id)
	} else {
		defer d.reading().RUnlock()
	}
	var found []SimilarPair[int] // of which only B counts
	for _, m := range d.known.index.Search(d.known.vector(&p), d.settings.Similarity) {
		for _, at := range d.contents[m.ID].docs {
			found = append(found, SimilarPair[int]{B: at, Similarity: m.Similarity})
		}
	}
	slices.SortFunc(found, func(a, b SimilarPair[int]) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), a.B-b.B)
	})
	out := make([]Similar[ID], len(found))
	for i, f := range found {
		out[i] = Similar[ID]{d.docs[f.B].id, f.Similarity}
	}
	if id != nil {
		d.enter(*id, p, p.digest())
	}
	return out
}

// reading makes sure that the history is fresh, and returns the lock, locked for reading.
func (d *Deduplicator[ID]) reading() *sync.RWMutex {
	for d.mu.RLock(); d.isStale(); d.mu.RLock() {
		d.mu.RUnlock()
		d.mu.Lock()
		d.refresh()
		d.mu.Unlock()
	}
	return &d.mu
}
