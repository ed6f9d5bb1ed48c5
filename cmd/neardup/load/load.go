// Package load reads the documents of a call into a corpus, by several workers.
//
// Workers parse items, mark texts ([Marker]) and claim ids; what is left for one goroutine is to give each document its number and an
// id of its own, in the order of the inputs. So the result does not depend on the number of workers.
//
//	load.go    the stage
//	batch.go   what a worker makes of a block
//	marker.go  what a text is compared by
//	ids.go     documents with the same id (--same-id)
//	feed.go    pass texts on to somebody who takes them while others are loaded
package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/reading"
)

// A Taken is a document that was loaded, for who takes it.
type Taken struct {
	*corpus.Doc
	Number   int // in the corpus
	Text     string
	Record   neardup.Record
	Hash     [16]byte // of the text
	IsByHash bool     // the id is a hash of the text
}

// A Loader reads the documents of a call.
type Loader struct {
	*corpus.Corpus
	Options *options.Options
	Marker  Marker

	// Take gets the documents in their order, some at a time. With the methods auto and cosine it may keep what it gets.
	Take func(some []Taken) error
	// Drops says that the corpus keeps only ids and places, as Take does with the documents whatever is to be done.
	Drops bool
}

// Nowhere takes documents that only go into the corpus.
func Nowhere([]Taken) error { return nil }

// Run reads, parses and marks all sources.
func (l *Loader) Run() error {
	defer l.SayNotes()
	superseded, err := l.findSuperseded()
	if err != nil {
		return err
	}
	progress, done := l.Begin("reading")
	defer done()
	w := &workshop{sources: l.Sources, o: l.Options, marker: &l.Marker, workers: make([]worker, l.Options.Workers)}
	if (!l.isShard() || l.Options.SameID == "error") && l.Options.SameID != options.AnyID {
		w.ids = newClaims(l.OldSources)
	}
	if !l.Drops { // otherwise they would all stay in memory
		w.texts = &corpus.Contents{}
	}
	t := &taker{Loader: l, ids: [2]*IDs{newIDs(l.Corpus, l.Options, w.ids, 0), newIDs(l.Corpus, l.Options, w.ids, 1)}}
	for _, ids := range t.ids {
		ids.superseded = superseded
	}
	err = reading.Each(l.Reader(0, progress), w.batch, t.block)
	l.NoteGarbled()
	return err
}

// isShard reports whether the documents are those of a shard. It does not see the others, so the command merge makes sure that ids differ.
func (l *Loader) isShard() bool { return l.Options.Shard.Of > 0 }

// A taker takes what workers have made of the blocks, in order.
type taker struct {
	*Loader
	ids   [2]*IDs // of old and of new documents
	blank int     // lines of the source so far
	taken []Taken // the last ones
}

// block takes a block.
func (t *taker) block(block *reading.Block[*batch]) error {
	b, read := block.Made, &t.Read
	read.Bytes += b.bytes
	read.ByPlace += b.byPlace
	read.Has |= b.has
	read.Others += b.others
	for fields, n := range b.chats {
		read.AddChat(fields, n)
	}
	t.AddGarbled(int32(block.Source), b.garbled)
	if b.err != nil {
		return b.err
	}
	if err := t.batch(b, block.Source < t.OldSources); err != nil {
		return err
	}
	if t.blank += block.Blank; !block.Last {
		return nil
	}
	t.Sources[block.Source].NoteBlank(t.blank)
	t.blank = 0
	err := block.Err
	if err != nil && t.Options.SkipBad && !block.Shut {
		err = fmt.Errorf("%w; the rest of the file is not read", err)
	}
	return t.sourceEnds(block.Source, err)
}

// sourceEnds reports why a source, or the rest of it, could not be read. Of several shards one counts it.
func (t *taker) sourceEnds(n int, err error) error {
	at := input.Place{Source: int32(n)}
	if err == nil || t.Options.SkipBad && !t.Options.Shard.IsMine(at, len(t.Sources)) {
		return nil
	}
	return t.Skip(at, err)
}

// batch takes the documents of a batch: it gives them ids of their own and their numbers.
func (t *taker) batch(b *batch, isOld bool) error {
	ids := t.ids[1]
	if isOld {
		ids = t.ids[0]
	}
	taken := t.taken[:0]
	if b.texts != nil { // which are kept
		taken = make([]Taken, 0, len(b.docs))
	}
	for i := range b.docs {
		d, err := &b.docs[i], b.bad[i]
		if err == nil && !(t.isShard() && (t.Options.SameID != "error" || b.isByHash[i])) {
			err = ids.Identify(d, b.isByHash[i])
		}
		if err != nil {
			if err := t.leaveOut(b.items[i].Place, err); err != nil {
				return err
			}
			continue
		}
		x := Taken{Doc: d, Number: t.Docs.Len(), IsByHash: b.isByHash[i]}
		if b.texts != nil {
			x.Text, x.Record, x.Hash = b.texts[i], b.records[i], b.hashes[i]
		}
		t.enter(&x, isOld)
		ids.Add(x.Number)
		taken = append(taken, x)
	}
	t.taken = taken
	return t.Take(taken)
}

// enter adds a document to the corpus.
func (t *taker) enter(x *Taken, isOld bool) {
	switch {
	case isOld:
		t.Old++
	case t.Options.Method.IsExact() && !x.Content.Blank:
		t.Read.Texts = append(t.Read.Texts, binary.LittleEndian.Uint64(x.Hash[:]))
	}
	kept := *x.Doc
	if t.Drops {
		kept = corpus.Doc{Place: x.Place, ID: x.ID}
	}
	t.Docs.Append(kept)
}

// leaveOut counts a document that is left out, or returns the error if nothing may be skipped.
func (t *taker) leaveOut(at input.Place, err error) error {
	switch err {
	case errBlank:
		t.Read.Dropped++
		return nil
	case errRepeated:
		t.Read.Repeated++
		return nil
	}
	return t.Skip(at, err)
}

// errBlank marks a document that --empty drop leaves out.
var errBlank = errors.New("there is no text")
