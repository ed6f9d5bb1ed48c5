package pipeline

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/zeebo/xxh3"
)

// This file loads the documents of a call, by several workers.

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

// An Entry is an item of a source, or a document of a file of saved fingerprints.
type Entry struct {
	input.Item
	old *saved
}

// A batch is some consecutive items of a source, and the documents that were made of them.
type batch struct {
	items    []Entry
	docs     []stored
	texts    []string         // with --method auto and cosine: the texts of docs
	records  []neardup.Record // the same for records
	hashes   [][16]byte       // of the texts, with -method auto and cosine
	isByHash []bool           // for each item, whether its id is a hash of its text
	bad      []error          // for each item, what is wrong with it; nil if it is a document
	bytes    int64
	byPlace  int // how many documents have no id
	garbled  garbled
	has      uint64 // the fields that any document has; see [input.Document]
	done     chan struct{}
}

// load reads, parses and fingerprints all sources. One goroutine reads batches of items, the
// workers process them, and load collects the batches in their order. So the result does not depend
// on the number of workers.
func (c *collection) load(o *Options, fp *neardup.Fingerprinter, stdin io.Reader) (err error) {
	progress, done := c.reading("reading")
	defer c.sayNotes()
	defer done()
	if o.Method.isExact() && c.feed == nil && c.signer == nil {
		if c.exact, err = newExact(o, fp, c.Sources, c.progress.tell); err != nil {
			return err
		}
		c.feed = c.exact.feed
		if lost := c.exact.lost(); lost != nil {
			fmt.Fprintf(c.errors, "%v. Give the inputs of the last run again: documents that are missing are added\n", lost)
		}
	}
	if err := c.findSuperseded(o, stdin); err != nil {
		return err
	}
	var known *contents // nil where they would all stay in memory
	if c.take == nil {
		known = &contents{}
		o.Method.keepSignatures(o.Memory)
	}
	work, ordered, quit := make(chan *batch, o.Workers), make(chan *batch, 4*o.Workers), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ordered)
		defer close(work)
		c.read(&o.Reading, stdin, progress, func(b *batch) bool {
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
	for range o.Workers {
		wg.Go(func() {
			var x input.Decoder
			for b := range work {
				b.process(c.Sources, o, fp, known, &x)
				b.sign(c.signer)
				b.release()
				close(b.done)
			}
		})
	}
	err = c.collect(o, ordered)
	close(quit)
	if c.feed != nil {
		err = cmp.Or(err, c.feed.finish())
	}
	for range ordered { // take what is left, so that the reader can end
	}
	wg.Wait()
	c.noteGarbled()
	return err
}

// read passes the items of all sources to emit, in batches, until emit returns false. If the rest
// of a source cannot be read, the error becomes an item.
func (c *collection) read(o *Reading, stdin io.Reader, progress io.Writer, emit func(*batch) bool) {
	for n := range c.Sources {
		s := &c.Sources[n]
		b, size, stop := &batch{done: make(chan struct{})}, 0, false
		flush := func() {
			if len(b.items) > 0 && !stop {
				stop = !emit(b)
				b, size = &batch{done: make(chan struct{})}, 0
			}
		}
		r, closeSource, err := s.Open(stdin, progress)
		if err == nil {
			add := func(it Entry) bool {
				if !o.Shard.isMine(it.Place, len(c.Sources)) {
					return !stop
				}
				if len(b.items) > 0 && it.Block != b.items[0].Block { // a batch has all lines of a block
					flush()
				}
				b.items = append(b.items, it)
				size += len(it.Raw)
				for _, cell := range it.Row {
					size += len(cell)
				}
				if it.Block == nil && (size >= 1<<18 || len(b.items) >= 1024) {
					flush()
				}
				return !stop
			}
			if s.Format == input.Fingerprints {
				err = ReadSaved(s, n, r, c.version, c.method.Bits, add)
			} else {
				err = s.Read(n, r, o.Cols, o.MaxLine, func(it input.Item) bool { return add(Entry{Item: it}) })
			}
			if err != nil && o.SkipBad {
				err = fmt.Errorf("%w; the rest of the file is not read", err)
			}
			closeSource()
		}
		if err != nil && (o.Shard.isMine(input.Place{Source: int32(n)}, len(c.Sources)) || !o.SkipBad) { // one shard counts it
			b.items = append(b.items, Entry{Item: input.Item{Place: input.Place{Source: int32(n)}, Err: err}})
		}
		if flush(); stop {
			return
		}
	}
}

// process parses and fingerprints the items of a batch. It drops their raw data. If texts is nil, every document
// has a content of its own.
func (b *batch) process(sources []input.Source, o *Options, fp *neardup.Fingerprinter, texts *contents, x *input.Decoder) {
	b.docs = make([]stored, len(b.items))
	b.bad = make([]error, len(b.items))
	b.isByHash = make([]bool, len(b.items))
	if o.Method.isExact() {
		b.texts, b.records, b.hashes = make([]string, len(b.items)), make([]neardup.Record, len(b.items)), make([][16]byte, len(b.items))
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
			b.docs[i] = stored{Place: it.Place, ID: it.old.id, content: it.old.content}
			continue
		}
		d, rec, err := b.parse(it, o, &sources[it.Source], x)
		if err != nil {
			b.bad[i] = err
			continue
		}
		b.has |= ^d.Lacks
		text := d.Whole()
		b.bytes += int64(len(text))
		key := text
		if !o.Method.byContent {
			key = d.Key()
		}
		made[i].blank = IsBlank(text)
		if made[i].blank && o.Empty == "drop" {
			b.bad[i] = errBlank
			continue
		}
		hash := o.textHash(key)
		var content *content
		if o.Method.isExact() {
			b.hashes[i] = hash
			content = o.contentOfExact(&made[i], text, hash, fp, texts)
		} else if content, err = o.contentOf(&made[i], text, d.Metadata, hash, fp, texts); err != nil {
			b.bad[i] = fatalError{err}
			continue
		}
		b.docs[i] = stored{it.Place, it.Offset, keep(d.ID), 0, content}
		if d.ByPlace && o.Cols.WithoutID == "hash" {
			sum := xxh3.HashString128(text).Bytes()
			b.isByHash[i], b.docs[i].ID = true, hex.EncodeToString(sum[:])
		}
		if d.ByPlace && sources[it.Source].Format != "lines" {
			b.byPlace++
		}
		switch {
		case rec != nil:
			b.records[i] = rec
		case b.texts != nil:
			b.texts[i] = strings.Clone(text)
		}
		if o.Method.Keep == "longest" {
			b.docs[i].length = int32(utf8.RuneCountInString(text))
		}
	}
}

// parse reads an item, and drops its raw data.
func (b *batch) parse(it *Entry, o *Options, s *input.Source, x *input.Decoder) (d input.Document, rec neardup.Record, err error) {
	if !it.IsUTF8() {
		b.garbled = garbled{b.garbled.items + 1, cmp.Or(b.garbled.first, it.Line)}
	}
	if o.fields != nil {
		d, rec, err = it.Record(s, o.Cols)
		d.Text = input.TextOf(rec)
	} else {
		d, err = it.Parse(s, o.Cols, x)
	}
	it.Raw, it.Row = nil, nil
	if err == nil && d.ByPlace && o.State != "" {
		err = errors.New("with --state a document needs an id: its file and line may be those of another one in the next call")
	}
	return d, rec, err
}

// contentOfExact returns the content of a text that a Deduplicator compares: one for all, unless it has nothing that could be compared.
func (o *Options) contentOfExact(made *content, text string, hash [16]byte, fp *neardup.Fingerprinter, texts *contents) *content {
	made.mark, _ = o.Method.mark(fp, text, nil)
	switch {
	case made.blank:
		return made
	case !made.empty:
		return &compared
	case texts != nil: // equal ones are found by their content
		made, _ = texts.claim(hash, made)
	}
	return made
}

// contentOf returns the content of a text with its mark, which equal texts have in common.
func (o *Options) contentOf(made *content, text string, metadata []string, hash [16]byte, fp *neardup.Fingerprinter, texts *contents) (*content, error) {
	of, isNew := made, true
	if texts != nil && !made.blank {
		of, isNew = texts.claim(hash, of)
	}
	if !isNew {
		return of, nil
	}
	var err error
	if of.mark, err = o.Method.mark(fp, text, metadata); err != nil {
		return nil, err
	}
	of.length, of.hash = int32(min(len(text), math.MaxInt32)), binary.LittleEndian.Uint64(hash[:])
	if o.Given != nil { // as a Deduplicator has them
		of.length, of.hash = int32(utf8.RuneCountInString(text)), xxh3.HashString(text)
	}
	return of, nil
}

// sign makes the signatures of the texts, if there is a signer. Each document gets a copy of its content, which has its signature.
func (b *batch) sign(signer *shard.Signer) {
	if signer == nil {
		return
	}
	n := len(b.texts)
	signatures, more, of := make([]shard.Signature, n), make([]moreMark, n), make([]content, n)
	for i, text := range b.texts {
		if d := &b.docs[i]; d.content != nil {
			signatures[i], _ = signer.Sign(neardup.Text(text)) // a text has no error
			more[i], of[i] = moreMark{levels: &signatures[i]}, *d.content
			of[i].more = &more[i]
			d.content = &of[i]
		}
	}
}

// errBlank stands in the place of a document without text that is left out.
var errBlank = errors.New("there is no text")

// IsBlank reports whether a text is none: empty, or white space.
func IsBlank(text string) bool { return strings.TrimSpace(text) == "" }

// release lets the block of the items be used again.
func (b *batch) release() {
	if block := b.items[0].Block; block != nil && len(*block) == input.BlockRoom {
		input.Blocks.Put(block)
	}
}

// collect adds the documents of all batches, in order. It reports bad items, or returns the error
// of the first one if they may not be skipped.
func (c *collection) collect(o *Options, ordered <-chan *batch) error {
	all := &c.docs
	if c.take != nil {
		all = new(documents) // which only have ids and places
	}
	known := [2]*ids{newIDs(all), newIDs(all)} // old and new documents
	for b := range ordered {
		<-b.done
		c.bytes += b.bytes
		c.byPlace += b.byPlace
		c.addGarbled(b.items[0].Source, b.garbled)
		c.has |= b.has
		for i, d := range b.docs {
			at, err := b.items[i].Place, b.bad[i]
			if err == errBlank {
				c.dropped++
				continue
			}
			which := 1
			if int(at.Source) < c.oldSources {
				which = 0
			}
			if err == nil && (c.part == nil || o.SameID == "error" && !b.isByHash[i]) { // merge gives numbers, since it knows all
				err = c.identify(&d, known[which], o, b.isByHash[i])
			}
			if err == errRepeated {
				c.repeated++
				continue
			}
			if err == nil {
				if err := c.enter(&d, b, i, all, known[which]); err != nil {
					return err
				}
				continue
			}
			if err := c.skip(&o.Reading, at, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter adds a document to all, and passes its text on to whom it may concern. known has the ids of documents like it.
func (c *collection) enter(d *stored, b *batch, i int, all *documents, known *ids) error {
	d.ID = c.ids.keep(d.ID)
	isOld := int(d.Source) < c.oldSources
	if c.feed != nil {
		c.feed.add(numbered{c.docs.Len(), d.ID, b.texts[i], b.records[i]})
	}
	if b.hashes != nil && !isOld && !d.content.blank {
		c.texts = append(c.texts, binary.LittleEndian.Uint64(b.hashes[i][:]))
	}
	switch {
	case c.take != nil:
		if err := c.take(d, b, i); err != nil {
			return err
		}
		*d = stored{Place: d.Place, ID: d.ID}
	case isOld:
		c.old++
	}
	all.Append(*d)
	known.add(all.Len() - 1)
	return nil
}

// skip reports what is wrong with the item at a place, or returns it if nothing may be skipped.
func (c *collection) skip(o *Reading, at input.Place, err error) error {
	if err == input.ErrTooLong {
		err = fmt.Errorf("%w, which is %d bytes", err, o.MaxLine)
	}
	if at.Line > 0 { // otherwise the error has a place already
		err = fmt.Errorf("%s: %w", c.at(at), err)
	}
	if fatal := (fatalError{}); !o.SkipBad || errors.As(err, &fatal) {
		return err
	}
	if c.bad++; c.bad <= 20 || at.Line == 0 {
		fmt.Fprintln(c.errors, "neardup: skipped:", cli.Printable(err.Error(), 2000))
	}
	return nil
}
