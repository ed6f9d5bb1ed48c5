package load

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// This file has what workers make of blocks: documents with their ids and contents.

// A batch is what was made of a block: its items and the documents in them.
type batch struct {
	items    []input.Item
	docs     []corpus.Doc
	isByHash []bool           // for each item, whether its id is a hash of its text
	bad      []error          // for each item, what is wrong with it; nil if it is a document
	texts    []string         // with the methods auto and cosine: the texts of docs
	records  []neardup.Record // the same for records
	hashes   [][16]byte       // the same, of the texts
	counted
	signed []signed // those that get a signature of the call
	err    error    // of the temporary file for these
}

// A counted has what is counted in a batch; see [corpus.Counts].
type counted struct {
	bytes   int64
	byPlace int
	garbled corpus.Garbled
	has     uint64
	chats   map[string]int
	others  int
}

// A workshop is where workers make batches.
type workshop struct {
	sources []input.Source
	o       *options.Options
	marker  *Marker
	texts   *corpus.Contents // nil if every document has a content of its own
	ids     *claims
	workers []worker
}

// A worker is what a worker needs for itself.
type worker struct {
	decoder input.Decoder
	ids     []byte // those of a batch
}

// batch makes the documents of a block. It drops the raw data of the items.
func (w *workshop) batch(n int, block *input.Block) *batch {
	b := &batch{items: block.Items}
	if w.o.Shard.Of > 0 {
		b.items = slices.DeleteFunc(b.items, func(it input.Item) bool { return !w.o.Shard.IsMine(it.Place, len(w.sources)) })
	}
	if len(b.items) > 0 {
		w.documents(b, &w.workers[n])
		b.err = w.marker.keep(b.signed)
		b.signed = nil
	}
	block.Release()
	return b
}

// documents makes the documents of a batch.
func (w *workshop) documents(b *batch, of *worker) {
	n := len(b.items)
	b.docs, b.bad, b.isByHash = make([]corpus.Doc, n), make([]error, n), make([]bool, n)
	if w.o.Method.IsExact() {
		b.texts, b.records, b.hashes = make([]string, n), make([]neardup.Record, n), make([][16]byte, n)
	}
	made := make([]corpus.Content, n) // which are dropped with the batch, unless a document refers to one
	of.ids = of.ids[:0]
	ends := make([]int, n) // of the ids
	for i := range b.items {
		w.document(b, i, of, &made[i])
		ends[i] = len(of.ids)
	}
	ids, from := string(of.ids), 0 // one piece for all
	for i, end := range ends {
		if end > from {
			b.docs[i].ID = ids[from:end]
		}
		if from = end; b.bad[i] == nil {
			w.ids.claim(&b.docs[i])
		}
	}
}

// document makes the document of an item, whose content may be the one that is given. It appends the id to those of the worker.
func (w *workshop) document(b *batch, i int, of *worker, made *corpus.Content) {
	it, o := &b.items[i], w.o
	if it.Saved != nil {
		old := it.Saved.(*corpus.SavedDoc)
		b.docs[i] = corpus.Doc{Place: it.Place, ID: old.ID, Content: old.Content}
		return
	}
	d, rec, err := w.parse(b, it, &of.decoder)
	if err != nil {
		b.bad[i] = err
		return
	}
	b.has |= ^d.Lacks
	b.others += d.Others
	if d.Chat != "" {
		if b.chats == nil {
			b.chats = map[string]int{}
		}
		b.chats[d.Chat]++
	}
	text := d.Whole()
	b.bytes += int64(len(text))
	made.Blank = corpus.IsBlank(text)
	if made.Blank && o.Empty == "drop" {
		b.bad[i] = errBlank
		return
	}
	b.docs[i] = corpus.Doc{Place: it.Place, Offset: it.Offset, Content: w.content(b, i, &d, text, made)}
	if d.ByPlace && o.Cols.WithoutID == "hash" {
		sum := xxh3.HashString128(text).Bytes()
		b.isByHash[i], of.ids = true, hex.AppendEncode(of.ids, sum[:])
	} else {
		of.ids = append(of.ids, d.ID...)
	}
	if d.ByPlace && w.sources[it.Source].Format != "lines" {
		b.byPlace++
	}
	switch {
	case rec != nil:
		b.records[i] = rec
	case b.texts != nil:
		b.texts[i] = strings.Clone(text)
	}
	if o.Method.Keep == "longest" {
		b.docs[i].Length = int32(utf8.RuneCountInString(text))
	}
}

// parse reads an item, and drops its raw data.
func (w *workshop) parse(b *batch, it *input.Item, x *input.Decoder) (d input.Document, rec neardup.Record, err error) {
	o, s := w.o, &w.sources[it.Source]
	if !it.IsUTF8() {
		b.garbled = corpus.Garbled{Items: b.garbled.Items + 1, First: cmp.Or(b.garbled.First, it.Line)}
	}
	if o.Cols.IsRecord {
		d, rec, err = it.Record(s, o.Cols)
		d.Text = input.TextOf(rec)
	} else {
		d, err = it.Parse(s, o.Cols, x)
	}
	it.Raw, it.Row = nil, nil
	if err == nil && d.ByPlace && o.State != "" {
		err = errors.New("with --state every document needs an id: in the next run, its file and line may belong to another document")
	}
	return d, rec, err
}

// content returns the content of a document, which equal ones have in common. It may be made, which says already whether the text is blank.
func (w *workshop) content(b *batch, i int, d *input.Document, text string, made *corpus.Content) *corpus.Content {
	o := w.o
	if o.Method.IsExact() {
		b.hashes[i] = o.TextHash(text)
		return w.contentOfExact(made, text, b.hashes[i])
	}
	key := text
	if !o.Method.ByContent {
		key = d.Key()
	}
	hash := o.TextHash(key)
	if w.texts != nil && !made.Blank {
		if of, isNew := w.texts.Claim(hash, made); !isNew {
			return of
		}
	}
	var sig neardup.Signature
	if made.Mark, sig = w.marker.mark(text, d.Metadata); sig != nil && !made.Empty {
		b.signed = append(b.signed, signed{made, sig})
	}
	made.Length, made.Hash = int32(min(len(text), math.MaxInt32)), binary.LittleEndian.Uint64(hash[:])
	if o.Method.Name == "given" { // as a Deduplicator has them
		made.Length, made.Hash = int32(utf8.RuneCountInString(text)), xxh3.HashString(text)
	}
	return made
}

// contentOfExact returns the content of a text that a Deduplicator compares: one for all, unless it has signatures of its own, or nothing that could be compared.
func (w *workshop) contentOfExact(made *corpus.Content, text string, hash [16]byte) *corpus.Content {
	made.Mark, _ = w.marker.mark(text, nil)
	switch {
	case made.Blank || made.More != nil:
		return made
	case !made.Empty:
		return &corpus.Compared
	case w.texts != nil: // equal ones are found by their content
		made, _ = w.texts.Claim(hash, made)
	}
	return made
}
