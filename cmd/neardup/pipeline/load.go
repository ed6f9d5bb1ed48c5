package pipeline

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/reading"
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

// A batch is what was made of a block: its items and the documents in them.
type batch struct {
	items    []input.Item
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

	signed     []*content // those that get a signature of the call
	signatures [][]uint32
	err        error // of the temporary file for these
}

// A loader makes the documents of a call, by several workers.
type loader struct {
	sources []input.Source
	o       *Options
	fp      *neardup.Fingerprinter
	texts   *contents // nil if every document has a content of its own
	ids     *claims
	signer  *shard.Signer
	workers []loadWorker
}

// A loadWorker is what a worker needs for itself.
type loadWorker struct {
	decoder input.Decoder
	ids     []byte // those of a batch
}

// load reads, parses and fingerprints all sources. The documents are numbered in their order, so the result does not depend on the number of
// workers.
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
	l := &loader{sources: c.Sources, o: o, fp: fp, signer: c.signer, workers: make([]loadWorker, o.Workers)}
	if c.part == nil || o.SameID == "error" {
		l.ids = newClaims(c.oldSources)
	}
	if c.take == nil { // otherwise they would all stay in memory
		l.texts = &contents{}
		o.Method.keepSignatures(o.Memory)
	}
	err = c.collect(o, l, c.reader(&o.Reading, 0, stdin, progress))
	if c.feed != nil {
		err = cmp.Or(err, c.feed.finish())
	}
	c.noteGarbled()
	return err
}

// reader returns what reads the sources from one on.
func (c *collection) reader(o *Reading, first int, stdin io.Reader, progress io.Writer) *reading.Reader {
	return &reading.Reader{Sources: c.Sources, First: first, Cols: o.Cols, MaxLine: o.MaxLine, Workers: o.Workers, Room: Room(o.Memory), Stdin: stdin, Progress: progress,
		Saved: func(s *input.Source, n int, r io.Reader, yield func(input.Item) bool) error {
			return ReadSaved(s, n, r, c.version, c.method.Bits, yield)
		}}
}

// batch makes the documents of a block.
func (l *loader) batch(worker int, block *input.Block) *batch {
	b := &batch{items: block.Items}
	if l.o.Shard.Of > 0 {
		b.items = slices.DeleteFunc(b.items, func(it input.Item) bool { return !l.o.Shard.isMine(it.Place, len(l.sources)) })
	}
	if len(b.items) > 0 {
		b.process(l, &l.workers[worker])
		b.sign(l.signer)
		b.err = b.keepSignatures(&l.o.Method)
	}
	block.Release()
	return b
}

// process parses and fingerprints the items of a batch. It drops their raw data.
func (b *batch) process(l *loader, w *loadWorker) {
	o, n := l.o, len(b.items)
	b.docs, b.bad, b.isByHash = make([]stored, n), make([]error, n), make([]bool, n)
	if o.Method.isExact() {
		b.texts, b.records, b.hashes = make([]string, n), make([]neardup.Record, n), make([][16]byte, n)
	}
	made := make([]content, n) // which are dropped with the batch, unless a document refers to one
	w.ids = w.ids[:0]
	ends := make([]int, n) // of the ids
	for i := range b.items {
		b.document(i, l, w, &made[i])
		ends[i] = len(w.ids)
	}
	ids, from := string(w.ids), 0 // one piece for all
	for i, end := range ends {
		if end > from {
			b.docs[i].ID = ids[from:end]
		}
		if from = end; b.bad[i] == nil {
			l.ids.claim(&b.docs[i])
		}
	}
}

// document makes the document of an item, whose content may be the one that is given. It appends the id to those of the worker.
func (b *batch) document(i int, l *loader, w *loadWorker, made *content) {
	it, o := &b.items[i], l.o
	if it.Saved != nil {
		old := it.Saved.(*saved)
		b.docs[i] = stored{Place: it.Place, ID: old.id, content: old.content}
		return
	}
	d, rec, err := b.parse(it, o, &l.sources[it.Source], &w.decoder)
	if err != nil {
		b.bad[i] = err
		return
	}
	b.has |= ^d.Lacks
	text := d.Whole()
	b.bytes += int64(len(text))
	key := text
	if !o.Method.byContent {
		key = d.Key()
	}
	made.blank = IsBlank(text)
	if made.blank && o.Empty == "drop" {
		b.bad[i] = errBlank
		return
	}
	hash := o.textHash(key)
	var content *content
	if o.Method.isExact() {
		b.hashes[i] = hash
		content = o.contentOfExact(made, text, hash, l.fp, l.texts)
	} else {
		content = b.contentOf(made, text, d.Metadata, hash, l)
	}
	b.docs[i] = stored{it.Place, it.Offset, "", 0, content}
	if d.ByPlace && o.Cols.WithoutID == "hash" {
		sum := xxh3.HashString128(text).Bytes()
		b.isByHash[i], w.ids = true, hex.AppendEncode(w.ids, sum[:])
	} else {
		w.ids = append(w.ids, d.ID...)
	}
	if d.ByPlace && l.sources[it.Source].Format != "lines" {
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

// parse reads an item, and drops its raw data.
func (b *batch) parse(it *input.Item, o *Options, s *input.Source, x *input.Decoder) (d input.Document, rec neardup.Record, err error) {
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
func (b *batch) contentOf(made *content, text string, metadata []string, hash [16]byte, l *loader) *content {
	o, of, isNew := l.o, made, true
	if l.texts != nil && !made.blank {
		of, isNew = l.texts.claim(hash, of)
	}
	if !isNew {
		return of
	}
	var sig neardup.Signature
	if of.mark, sig = o.Method.mark(l.fp, text, metadata); o.Method.signatures != nil && !of.empty {
		b.signed, b.signatures = append(b.signed, of), append(b.signatures, sig)
	}
	of.length, of.hash = int32(min(len(text), math.MaxInt32)), binary.LittleEndian.Uint64(hash[:])
	if o.Given != nil { // as a Deduplicator has them
		of.length, of.hash = int32(utf8.RuneCountInString(text)), xxh3.HashString(text)
	}
	return of
}

// keepSignatures adds the signatures of a batch to those of the call. The error is that of their temporary file.
func (b *batch) keepSignatures(m *method) error {
	if len(b.signed) == 0 {
		return nil
	}
	places, err := m.signatures.Add(b.signatures)
	for i, place := range places {
		b.signed[i].signature = place
	}
	b.signed, b.signatures = nil, nil
	return err
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

// collect reads the sources, and takes the batches of documents in order.
func (c *collection) collect(o *Options, l *loader, r *reading.Reader) error {
	all := &c.docs
	if c.take != nil {
		all = new(documents) // which only have ids and places
	}
	known := [2]*ids{newIDs(all, l.ids, 0), newIDs(all, l.ids, 1)} // old and new documents
	blank := 0
	return reading.Each(r, l.batch, func(block *reading.Block[*batch]) error {
		b := block.Made
		c.bytes += b.bytes
		c.byPlace += b.byPlace
		c.addGarbled(int32(block.Source), b.garbled)
		c.has |= b.has
		which := 1
		if block.Source < c.oldSources {
			which = 0
		}
		if b.err != nil {
			return b.err
		}
		if err := c.takeBatch(o, b, all, known[which]); err != nil {
			return err
		}
		if blank += block.Blank; !block.Last {
			return nil
		}
		c.Sources[block.Source].NoteBlank(blank)
		blank = 0
		err := block.Err
		if err != nil && o.SkipBad && !block.Shut {
			err = fmt.Errorf("%w; the rest of the file is not read", err)
		}
		return c.sourceEnds(o, block.Source, err)
	})
}

// sourceEnds reports why a source, or the rest of it, could not be read. Of several shards one counts it.
func (c *collection) sourceEnds(o *Options, n int, err error) error {
	at := input.Place{Source: int32(n)}
	if err == nil || o.SkipBad && !o.Shard.isMine(at, len(c.Sources)) {
		return nil
	}
	return c.skip(&o.Reading, at, err)
}

// takeBatch takes the documents of a batch, whose ids are compared with those that are known.
func (c *collection) takeBatch(o *Options, b *batch, all *documents, known *ids) error {
	var fed []numbered
	for i := range b.docs {
		d, err := &b.docs[i], b.bad[i]
		if err == errBlank {
			c.dropped++
			continue
		}
		if err == nil && (c.part == nil || o.SameID == "error" && !b.isByHash[i]) { // merge gives numbers, since it knows all
			err = c.identify(d, known, o, b.isByHash[i])
		}
		if err == errRepeated {
			c.repeated++
			continue
		}
		if err != nil {
			if err := c.skip(&o.Reading, b.items[i].Place, err); err != nil {
				return err
			}
			continue
		}
		if c.feed != nil {
			fed = append(fed, numbered{c.docs.Len(), d.ID, b.texts[i], b.records[i]})
		}
		if err := c.enter(d, b, i, all, known); err != nil {
			return err
		}
	}
	if len(fed) > 0 {
		c.feed.add(fed)
	}
	return nil
}

// enter adds a document to all. known has the ids of documents like it.
func (c *collection) enter(d *stored, b *batch, i int, all *documents, known *ids) error {
	isOld := int(d.Source) < c.oldSources
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
