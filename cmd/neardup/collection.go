package main

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file has the documents of a call: how they are loaded by several workers, how they are
// grouped, and the summary.

// A collection has the documents of a call, the old ones first.
type collection struct {
	stderr  io.Writer // for what a quiet call does not say
	errors  io.Writer
	version string // of the fingerprints

	sources    []source
	oldSources int
	docs       documents
	old        int // as many of the first documents are of old sources
	bytes      int64
	bad        int
	dropped    int            // documents without text that are left out
	repeated   int            // documents that are left out since another one has their id
	byPlace    int            // how many documents have no id
	texts      []uint64       // hashes of the texts of new documents, with the methods auto and cosine
	superseded map[place]bool // those of which another one of their ids comes later; only with --same-id last
	passed     []string       // files of other formats in directories
	hidden     []string       // hidden files and folders there
	cols       columns
	progress   *progress

	method  *method
	take    func(*stored) error // if set, it gets the documents instead of docs
	exact   *exact              // with the methods auto and cosine
	cluster []int32             // for each document, the number of the document that its group keeps
	like    map[int]pair        // for each document that is not kept, it and the one that is
	pairs   []pair
}

// stored is what the program keeps of a document.
type stored struct {
	place
	offset  int64 // where it begins in the source
	id      string
	length  int32 // of the text, in characters; only with --keep longest, and of old documents with --state
	content *content
}

// A content is a text, with its metadata if they count. All documents with this text share it. Its
// mark is made once, so a copy costs only a hash.
type content struct {
	mark
	number  int32  // of the text among the different ones, from 1; 0 if it has none yet
	blank   bool   // there is no text, so no document is a copy of another
	counted bool   // in the summary
	length  int32  // of the text, in bytes
	hash    uint64 // of the text and its metadata
}

// A pair is two documents by number. The value is that of nearPair.
type pair struct {
	i, j        uint32
	value       float64
	probability float64      // that they are near-duplicates; 0 with other methods than auto and cosine
	kind        neardup.Kind // the same
}

// compared is the content of all documents that a Deduplicator compares.
var compared = content{mark: mark{exact: true}}

// contents finds the content of a text by the 128-bit hash of the text. It has 64 parts with a lock
// each, so workers rarely wait for each other.
type contents [64]struct {
	sync.Mutex
	of map[[16]byte]*content
}

// claim returns the content for the hash of a text, and whether it is new: then it is the one that is given.
func (c *contents) claim(hash [16]byte, given *content) (*content, bool) {
	part := &c[hash[0]%64]
	part.Lock()
	defer part.Unlock()
	if known := part.of[hash]; known != nil {
		return known, false
	}
	if part.of == nil {
		part.of = make(map[[16]byte]*content)
	}
	part.of[hash] = given
	return given, true
}

// A batch is some consecutive items of a source, and the documents that were made of them.
type batch struct {
	items    []item
	docs     []stored
	texts    []string         // with --method auto and cosine: the texts of docs
	records  []neardup.Record // the same for records
	hashes   []uint64         // of the texts, with -method auto and cosine
	isByHash []bool           // for each item, whether its id is a hash of its text
	bad      []error          // for each item, what is wrong with it; nil if it is a document
	bytes    int64
	byPlace  int // how many documents have no id
	done     chan struct{}
}

// load reads, parses and fingerprints all sources. One goroutine reads batches of items, the
// workers process them, and load collects the batches in their order. So the result does not depend
// on the number of workers.
func (c *collection) load(o *options, fp *neardup.Fingerprinter, stdin io.Reader) (err error) {
	progress, done := c.reading("reading")
	defer c.sayNotes()
	defer done()
	if o.method.isExact() {
		if c.exact, err = newExact(o, fp, c.sources, c.progress.tell); err != nil {
			return err
		}
		if lost := c.exact.lost(); lost != nil {
			fmt.Fprintf(c.errors, "%v. Give the inputs of the last run again: documents that are missing are added\n", lost)
		}
	}
	if err := c.findSuperseded(o, stdin); err != nil {
		return err
	}
	known := &contents{}
	if c.take != nil {
		known = nil // they would all stay in memory
	} else {
		o.method.keepSignatures(o.memory)
	}
	var (
		work    = make(chan *batch, o.workers)
		ordered = make(chan *batch, 4*o.workers)
		quit    = make(chan struct{})
		wg      sync.WaitGroup
	)
	wg.Go(func() {
		defer close(ordered)
		defer close(work)
		c.read(o, stdin, progress, func(b *batch) bool {
			for _, to := range []chan *batch{ordered, work} {
				select {
				case to <- b:
				case <-quit:
					return false
				}
			}
			return true
		})
	})
	for range o.workers {
		wg.Go(func() {
			var x decoder
			for b := range work {
				b.process(c.sources, o, fp, known, &x)
				b.release()
				close(b.done)
			}
		})
	}
	err = c.collect(o, ordered)
	close(quit)
	if c.exact != nil {
		err = cmp.Or(err, c.exact.finish())
	}
	for b := range ordered { // take what is left, so that the reader can end
		_ = b
	}
	wg.Wait()
	return err
}

// read passes the items of all sources to emit, in batches, until emit returns false. If the rest
// of a source cannot be read, the error becomes an item.
func (c *collection) read(o *options, stdin io.Reader, progress io.Writer, emit func(*batch) bool) {
	for n := range c.sources {
		s := &c.sources[n]
		b, size, stop := &batch{done: make(chan struct{})}, 0, false
		flush := func() {
			if len(b.items) > 0 && !stop {
				stop = !emit(b)
				b, size = &batch{done: make(chan struct{})}, 0
			}
		}
		r, closeSource, err := s.open(stdin, progress)
		if err == nil {
			add := func(it item) bool {
				if len(b.items) > 0 && it.block != b.items[0].block { // a batch has all lines of a block
					flush()
				}
				b.items = append(b.items, it)
				size += len(it.raw)
				for _, cell := range it.row {
					size += len(cell)
				}
				if it.block == nil && (size >= 1<<18 || len(b.items) >= 1024) {
					flush()
				}
				return !stop
			}
			if s.format == fingerprints {
				err = s.readSaved(n, r, c.version, o.method.bits, add)
			} else {
				err = s.read(n, r, o.cols, o.maxLine, add)
			}
			closeSource()
		}
		if err != nil {
			b.items = append(b.items, item{place: place{source: int32(n)}, err: err})
		}
		if flush(); stop {
			return
		}
	}
}

// process parses and fingerprints the items of a batch. It drops their raw data. If texts is nil, every document
// has a content of its own.
func (b *batch) process(sources []source, o *options, fp *neardup.Fingerprinter, texts *contents, x *decoder) {
	b.docs = make([]stored, len(b.items))
	b.bad = make([]error, len(b.items))
	b.isByHash = make([]bool, len(b.items))
	if o.method.isExact() {
		b.texts, b.records, b.hashes = make([]string, len(b.items)), make([]neardup.Record, len(b.items)), make([]uint64, len(b.items))
	}
	made := make([]content, len(b.items)) // which are dropped with the batch, unless a document refers to one
	var kept strings.Builder              // ids, so that they do not keep the texts in memory
	kept.Grow(16 * len(b.items))
	keep := func(s string) string {
		from := kept.Len()
		kept.WriteString(s)
		return kept.String()[from:]
	}
	for i := range b.items {
		it := &b.items[i]
		if it.old != nil {
			b.docs[i] = stored{place: it.place, id: it.old.id, content: it.old.content}
			continue
		}
		var d document
		var rec neardup.Record
		var err error
		if o.fields != nil {
			d, rec, err = it.record(&sources[it.source], o.cols)
			d.text = textOf(rec)
		} else {
			d, err = it.parse(&sources[it.source], o.cols, x)
		}
		it.raw, it.row = nil, nil
		if err == nil && d.byPlace && o.state != "" {
			err = errors.New("with --state a document needs an id: its file and line may be those of another one in the next call")
		}
		if err != nil {
			b.bad[i] = err
			continue
		}
		text := d.whole()
		b.bytes += int64(len(text))
		key := text
		if !o.method.byContent {
			key = d.key()
		}
		made[i].blank = isBlank(text)
		if made[i].blank && o.empty == "drop" {
			b.bad[i] = errBlank
			continue
		}
		hash := o.textHash(key)
		content := &compared
		if o.method.isExact() {
			b.hashes[i] = binary.LittleEndian.Uint64(hash[:])
			if made[i].mark, _ = o.method.mark(fp, text, nil); made[i].blank {
				content = &made[i]
			} else if made[i].empty { // equal ones are found by their content
				content, _ = texts.claim(hash, &made[i])
			}
		} else {
			of, isNew := &made[i], true
			if texts != nil && !made[i].blank {
				of, isNew = texts.claim(hash, of)
			}
			if isNew {
				if of.mark, err = o.method.mark(fp, text, d.metadata); err != nil {
					b.bad[i] = fatalError{err}
					continue
				}
				of.length, of.hash = int32(min(len(text), math.MaxInt32)), binary.LittleEndian.Uint64(hash[:])
			}
			content = of
		}
		b.docs[i] = stored{it.place, it.offset, keep(d.id), 0, content}
		if d.byPlace && o.cols.withoutID == "hash" {
			sum := xxh3.HashString128(text).Bytes()
			b.isByHash[i], b.docs[i].id = true, hex.EncodeToString(sum[:])
		}
		if d.byPlace && sources[it.source].format != "lines" {
			b.byPlace++
		}
		switch {
		case rec != nil:
			b.records[i] = rec
		case b.texts != nil:
			b.texts[i] = strings.Clone(text)
		}
		if o.method.keep == "longest" {
			b.docs[i].length = int32(utf8.RuneCountInString(text))
		}
	}
}

// errBlank stands in the place of a document without text that is left out.
var errBlank = errors.New("there is no text")

// isBlank reports whether a text is none: empty, or white space.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// release lets the block of the items be used again.
func (b *batch) release() {
	if block := b.items[0].block; block != nil && len(*block) == blockRoom {
		blocks.Put(block)
	}
}

// collect adds the documents of all batches, in order. It reports bad items, or returns the error
// of the first one if they may not be skipped.
func (c *collection) collect(o *options, ordered <-chan *batch) error {
	all := &c.docs
	if c.take != nil {
		all = new(documents) // which only have ids and places
	}
	known := [2]ids{{docs: all, seed: maphash.MakeSeed()}, {docs: all, seed: maphash.MakeSeed()}} // old and new documents
	for b := range ordered {
		<-b.done
		c.bytes += b.bytes
		c.byPlace += b.byPlace
		for i, d := range b.docs {
			at, err := b.items[i].place, b.bad[i]
			if err == errBlank {
				c.dropped++
				continue
			}
			which := 1
			if int(at.source) < c.oldSources {
				which = 0
			}
			if err == nil {
				err = c.identify(&d, &known[which], o, b.isByHash[i])
			}
			if err == errRepeated {
				c.repeated++
				continue
			}
			if err == nil {
				if c.exact != nil {
					c.exact.add(numbered{c.docs.Len(), d.id, b.texts[i], b.records[i]})
				}
				if b.hashes != nil && which == 1 && !d.content.blank {
					c.texts = append(c.texts, b.hashes[i])
				}
				if c.take != nil {
					if err := c.take(&d); err != nil {
						return err
					}
					d = stored{place: d.place, id: d.id}
				} else {
					c.old += 1 - which
				}
				all.Append(d)
				known[which].add(all.Len() - 1)
				continue
			}
			if err := c.skip(o, at, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip reports what is wrong with the item at a place, or returns it if nothing may be skipped.
func (c *collection) skip(o *options, at place, err error) error {
	if err == errTooLong {
		err = fmt.Errorf("%w, which is %d bytes", err, o.maxLine)
	}
	if at.line > 0 { // otherwise the error has a place already
		err = fmt.Errorf("%s: %w", c.at(at), err)
	}
	if fatal := (fatalError{}); !o.skipBad || errors.As(err, &fatal) {
		return err
	}
	if c.bad++; c.bad <= 20 {
		fmt.Fprintln(c.errors, "neardup: skipped:", cli.Printable(err.Error(), 2000))
	}
	return nil
}

// alone makes each document a group of its own.
func (c *collection) alone() {
	c.cluster, c.like = make([]int32, c.docs.Len()), map[int]pair{}
	for i := range c.cluster {
		c.cluster[i] = int32(i)
	}
}

// sayNotes tells how the inputs were read, as far as the user may not expect it.
func (c *collection) sayNotes() {
	const most = 20
	said := 0
	say := func(format string, args ...any) {
		if said++; said <= most {
			fmt.Fprintln(c.stderr, "neardup:", cli.Printable(fmt.Sprintf(format, args...), 500))
		}
	}
	for i := range c.sources {
		if s := &c.sources[i]; len(s.notes) > 0 {
			say("%s: %s", s.path, strings.Join(s.notes, "; "))
		}
	}
	if said > most {
		fmt.Fprintf(c.stderr, "neardup: and %d more files of such kinds\n", said-most)
	}
	some := func(paths []string) string { return strings.Join(paths[:min(len(paths), 5)], ", ") }
	if n := len(c.passed); n > 0 {
		said = 0
		say("%d files in the directories have other formats and are not read: %s", n, some(c.passed))
	}
	if n := len(c.hidden); n > 0 {
		said = 0
		say("%d hidden files and folders are not read: %s", n, some(c.hidden))
	}
	if c.byPlace > 0 {
		said = 0
		by := "their file and line"
		if c.cols.withoutID == "hash" {
			by = "a hash of their text"
		}
		say("%d documents have no %q; they are known by %s", c.byPlace, c.cols.id, by)
	}
}

// at returns a place as text: file:line, or "" if it is none.
func (c *collection) at(p place) string {
	if p == noPlace {
		return ""
	}
	return fmt.Sprintf("%s:%d", c.sources[p.source].path, p.line)
}

// group finds the near-duplicates and the groups. It also finds c.pairs if they are wanted.
func (c *collection) group(wantPairs bool) error {
	if c.exact != nil {
		return c.groupExactly(wantPairs)
	}
	of := c.contents()
	near, failed := c.method.pairs(of.marks)
	if wantPairs {
		near = slices.Values(slices.Collect(near))
		c.listPairs(of, near)
	}
	c.groupMarks(of, near)
	return failed()
}

// A distinct is the different texts of a collection.
type distinct struct {
	docs  [][]uint32 // the documents of each, in the order in which texts first occur
	marks []*mark    // of those with features; the others are near nothing
	texts []int      // for each mark, the number of its text
}

// contents lists the different texts.
func (c *collection) contents() (d distinct) {
	var contents []*content
	for i := range c.docs.Len() {
		if t := c.doc(i).content; t.number == 0 {
			contents = append(contents, t)
			t.number = int32(len(contents))
		}
	}
	d.docs = make([][]uint32, len(contents)) // parts of all
	all, ends := make([]uint32, c.docs.Len()), make([]int, len(contents)+1)
	for i := range c.docs.Len() {
		ends[c.doc(i).content.number]++
	}
	for n := range d.docs {
		ends[n+1] += ends[n]
		d.docs[n] = all[ends[n]:ends[n]:ends[n+1]]
	}
	for i := range c.docs.Len() {
		n := c.doc(i).content.number - 1
		d.docs[n] = append(d.docs[n], uint32(i))
	}
	for n, t := range contents {
		if !t.empty {
			d.marks, d.texts = append(d.marks, &t.mark), append(d.texts, n)
		}
	}
	return d
}

// listPairs sets c.pairs.
func (c *collection) listPairs(of distinct, near iter.Seq[nearPair]) {
	for _, same := range of.docs {
		for a, i := range same {
			if int(i) < c.old {
				continue
			}
			for _, j := range same[:a] {
				c.link(i, j, c.method.same())
			}
		}
	}
	for p := range near {
		a, b := of.docs[of.texts[p.i]], of.docs[of.texts[p.j]]
		if int(max(a[len(a)-1], b[len(b)-1])) < c.old {
			continue
		}
		for _, i := range a {
			for _, j := range b {
				c.link(i, j, p.value)
			}
		}
	}
}

// groupMarks groups the texts, and so the documents. Of equal old documents only the first is in a group. The groups
// depend on the texts and on which are old; --keep chooses within them.
func (c *collection) groupMarks(of distinct, near iter.Seq[nearPair]) {
	isOld := func(text int) bool { return int(of.docs[text][0]) < c.old }
	type rank struct {
		isOld  bool
		length int32
		hash   uint64
	}
	ranks := make([]rank, len(of.docs)) // side by side, since sorting looks at them again and again
	for text := range ranks {
		t := c.docs.At(of.docs[text][0]).content
		ranks[text] = rank{isOld(text), t.length, t.hash}
	}
	before := func(a, b int) bool {
		x, y := &ranks[a], &ranks[b]
		switch {
		case x.isOld != y.isOld:
			return x.isOld
		case x.length != y.length:
			return x.length > y.length
		}
		return x.hash < y.hash
	}
	values := map[[2]int]float64{} // of the pairs of texts
	linkage := linkages[c.method.group]
	byText := neardup.GroupPairs(len(of.docs), func(yield func(neardup.Pair[int]) bool) {
		for p := range near {
			a, b := of.texts[p.i], of.texts[p.j]
			if isOld(a) && isOld(b) {
				continue
			}
			values[[2]int{min(a, b), max(a, b)}] = p.value
			pair := neardup.Pair[int]{A: a, B: b, Similarity: p.value}
			if c.method.valueName() == "distance" {
				pair.Similarity, pair.Distance = 0, int(p.value)
			}
			if !yield(pair) {
				return
			}
		}
	}, linkage, before)
	members := make([][]int, len(of.docs)) // of the group that each text represents
	for text, root := range byText {
		members[root] = append(members[root], text)
	}
	c.alone()
	for root, texts := range members {
		if len(texts) > 0 {
			c.keepOne(of, texts, root, linkage, values)
		}
	}
}

// keepOne chooses the document that a group keeps: the one that --keep likes best, around centres among the texts that all
// others are near.
func (c *collection) keepOne(of distinct, texts []int, root int, linkage neardup.Linkage, values map[[2]int]float64) {
	value := func(a, b int) (float64, bool) {
		if a == b {
			return c.method.same(), true
		}
		v, ok := values[[2]int{min(a, b), max(a, b)}]
		return v, ok
	}
	prefers := preferences[c.method.keep]
	first := func(text int) int { // the document of a text that is kept if one of them is
		best := int(of.docs[text][0])
		for _, j := range of.docs[text][1:] {
			if (int(j) < c.old) == (best < c.old) && int(j) >= c.old && prefers(int(j), int(c.docs.At(j).length), best, int(c.doc(best).length)) {
				best = int(j)
			}
		}
		return best
	}
	keep := root
	for _, t := range texts {
		isCentre := linkage != neardup.Centres || !slices.ContainsFunc(texts, func(u int) bool { _, ok := value(t, u); return !ok })
		a, b := first(t), first(keep)
		if isCentre && (a < c.old) == (b < c.old) && prefers(a, int(c.doc(a).length), b, int(c.doc(b).length)) || isCentre && a < c.old && b >= c.old {
			keep = t
		}
	}
	kept := first(keep)
	for _, t := range texts {
		for n, i := range of.docs[t] {
			if int(i) == kept || int(i) < c.old && n > 0 { // one of several equal old documents stands for all
				continue
			}
			c.cluster[i] = int32(kept)
			v, ok := value(t, keep)
			if ok {
				c.like[int(i)] = pair{i: i, j: uint32(kept), value: v}
			}
		}
	}
}

// link adds a pair of documents to c.pairs, unless both are old.
func (c *collection) link(i, j uint32, value float64) {
	if int(max(i, j)) >= c.old {
		c.pairs = append(c.pairs, pair{i: i, j: j, value: value})
	}
}

// duplicates returns how many new documents are not kept.
func (c *collection) duplicates() (n int) {
	for i := c.old; i < c.docs.Len(); i++ {
		if int(c.cluster[i]) != i {
			n++
		}
	}
	return n
}
