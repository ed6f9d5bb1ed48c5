// Package passages finds what is copied inside documents that differ otherwise: a press release in an article,
// a quoted complaint, a licence, the printed lines of a form.
//
//	Between    what two texts share
//	Finder     what the documents of a collection share or repeat, and what a new text shares with them
//	Coverage   how much of a document occurs in others, and in which
//	Cut        texts without what also occurs elsewhere
//
// A passage is a run of at least a given number of words, or of characters of Chinese and similar scripts (see
// [Length]). Texts are compared token by token, with letters folded, and whatever is between the tokens is
// ignored. Results have places in the texts as they were given. No place splits a character; a flag or a family
// emoji consists of several.
//
// Nothing of that length is missed, and nothing is reported that is not there, as far as hashes can tell:
// tokens are equal if their hashes of 64 bits are, the runs of a collection if 88 bits are, and the runs
// between two texts if 61 bits are. Among a billion runs of a collection, two different ones are treated as
// equal with a probability of 2·10⁻⁹.
//
// To find whole documents that are alike but for changes, use package dedup; to find test items that occur in a
// training corpus, package leaks.
package passages

// This file has the collection: adding documents, and reading them again. A Finder never deletes a document,
// and a document never changes, so the number of documents says which state a result belongs to.
//
// A document leaves two things. Its text goes to one file, and its anchors (tokens.go) go to a sorter, each with
// its number among the anchors of all documents. Nothing is compared while documents are added.
//
// The files:
//
//	passages.go  the collection
//	join.go      the passages of all documents
//	search.go    those of a new text
//	coverage.go  how much of a document occurs in others
//	cut.go       texts without them
//	between.go   two texts
//	tokens.go    how long a passage is, and which places of a text are looked at
//	sorter.go    sorting outside memory
//	leaks        what leaks from tests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/internal/textfile"
)

// Options are the settings of a [Finder]. The zero value is right for most uses.
type Options struct {
	Length Length // how long a passage has to be; the zero value means 50 words, or 80 characters

	// Memory is about how many bytes the Finder may use; 0 means half of the memory of the machine. Texts, and
	// what is sorted, go to temporary files when they need more. In addition, it takes 24 bytes and the id for
	// each document; while searching for passages, a bit for every nine tokens and a byte for each run that
	// occurs twice; up to twenty times the longest text while that is read; and the places of the passage that
	// is yielded. With less than 100 MB it takes 100 MB.
	Memory int64

	// Progress, if not nil, is called with what is being done, and which part of it has been done, from several
	// goroutines, one at a time. It must not call methods of the Finder.
	Progress func(stage string, done float64)
}

// A Finder finds passages that occur in several documents of a collection, or several times in one. Documents
// are added first; two may have the same id. Its methods may be called by several goroutines. They see the
// documents that were added before; adding waits while the first search builds its index.
//
// There are three kinds of locks. mu protects the lists of documents, and is held for moments, except by whole.
// adding is held for reading by whoever reads the anchors, and for writing by whoever adds some: a sorter must
// not change while it is read. indexing and joining let one goroutine do the work that others then share.
// A goroutine that takes several takes indexing or joining first, then adding, then mu.
type Finder[ID any] struct {
	options Options
	file    *textfile.File // the texts

	adding  sync.RWMutex       // of the anchors
	anchors *sorter[[2]uint64] // by hash, with their numbers

	mu     sync.Mutex
	ids    []ID
	docs   []stored // and one more, with where the next one begins
	err    error    // of a file, after which nothing can be added
	recent struct { // the text that was read last, of which more may be wanted
		number int // from 1
		text   string
	}

	indexing sync.Mutex
	index    *index // nil before the first search

	joining sync.Mutex
	joined  *joined[ID] // nil before the first join
}

// A stored document says where things begin. They end where those of the next one begin, so the list has one
// entry more than there are documents.
type stored struct {
	at      int64  // the text in the file
	tokens  uint64 // its first token, among those of all documents
	anchors uint64 // its first anchor, among those of all documents
}

var errFull = errors.New("passages: there are too many documents")

// New returns a Finder without documents. It returns an error for options that are out of range.
func New[ID any](options Options) (*Finder[ID], error) {
	var err error
	if options.Length, err = options.Length.WithDefaults(); err != nil {
		return nil, err
	}
	if options.Memory < 0 {
		return nil, fmt.Errorf("passages: a memory of %d bytes", options.Memory)
	}
	options.Memory = textfile.Budget(options.Memory)
	return &Finder[ID]{options: options, docs: make([]stored, 1), file: textfile.Temporary(options.Memory / 4), anchors: newSorter[[2]uint64](options.Memory / 4)}, nil
}

// Len returns how many documents there are.
func (f *Finder[ID]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ids)
}

// Add adds a document. It keeps no reference to the text. It is an error, and nothing is added, if the text has
// 2 GB or more, or if there would be more than 2³¹ documents or 2⁴⁰ tokens. After an error of a temporary file
// nothing more can be added.
func (f *Finder[ID]) Add(id ID, text string) error {
	return f.put([]ID{id}, []string{text}, []reading{f.read(text)})
}

// AddAll adds documents in their order, and reads them on all processors. It stops at the first error, or when
// the context ends; documents before that have been added. A batch is 256 documents for each processor, or
// 16 MB of text if that is less, so other calls see a document only when its batch is full.
func (f *Finder[ID]) AddAll(ctx context.Context, texts iter.Seq2[ID, string]) error {
	var ids []ID
	var bodies []string
	var read []reading
	size := 0
	flush := func() error {
		// Reading needs no lock, so it comes before put.
		read = append(read[:0], make([]reading, len(ids))...)
		parallel.ChunksOf(perRead, len(ids), func(_, from, to int) {
			for i := from; i < to; i++ {
				read[i] = f.read(bodies[i])
			}
		})
		err := f.put(ids, bodies, read)
		// The slices are used for the next batch. They must not keep its documents alive until then.
		clear(ids)
		clear(bodies)
		ids, bodies, size = ids[:0], bodies[:0], 0
		return err
	}
	for id, text := range texts {
		if ctx.Err() != nil {
			break
		}
		ids, bodies = append(ids, id), append(bodies, text)
		if size += len(text); len(ids) == 256*runtime.GOMAXPROCS(0) || size > 1<<24 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	// What was read before the context ended is added, as it would have been with smaller batches.
	return cmp.Or(flush(), ctx.Err())
}

// A reading is what put needs to know about a text besides its bytes.
type reading struct {
	tokens  int
	anchors []anchor
}

// scratches are buffers for reading texts. A large one is dropped, so that one long text does not hold memory
// as long as the Finder lives.
var scratches = sync.Pool{New: func() any { return new(tokenized) }}

// read reads a text, without any lock. It skips a text that is too long, which put then refuses: so the error
// comes in the order of the documents, whichever goroutine meets the text first.
func (f *Finder[ID]) read(text string) (r reading) {
	if len(text) > mostBytes {
		return r
	}
	t := scratches.Get().(*tokenized)
	t.Read(text, false)
	_, window := f.options.Length.anchorTokens()
	r.tokens = t.Len()
	r.anchors = f.options.Length.anchors(t.Hashes, make([]anchor, 0, 3*t.Len()/(window+1)+2)) // two of window+1 on average
	if cap(t.Hashes) <= 1<<16 {
		scratches.Put(t)
	}
	return r
}

// put adds documents that were read. It copies their texts on all processors. The documents before one that
// cannot be added are added.
//
// Anchors of documents that are not added may be left in the sorter if a file fails halfway. Their numbers are
// above those of all documents, so readers tell them by that and skip them. The numbers are not used again,
// because nothing is added after such an error.
func (f *Finder[ID]) put(ids []ID, texts []string, read []reading) error {
	f.adding.Lock()
	defer f.adding.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	n := len(f.ids)
	// ends may grow into the spare room of f.docs. No snapshot sees that room until f.docs is set below. The
	// first entry is the end of what is there already. It is not written again, since others may be reading it.
	ends, sizes := f.docs[n:], make([]int, 0, len(ids)) // of those that are added
	var wrong error
	for i, text := range texts {
		end, r := ends[len(ends)-1], &read[i]
		switch {
		case len(text) > mostBytes:
			wrong = errTooLong
		case n+i == math.MaxInt32 || end.tokens+uint64(r.tokens) > mostTokens:
			wrong = errFull
		}
		if wrong != nil {
			break
		}
		ends = append(ends, stored{end.at + textfile.Bytes(len(text)), end.tokens + uint64(r.tokens), end.anchors + uint64(len(r.anchors))})
		sizes = append(sizes, len(text))
	}
	if len(sizes) == 0 {
		return wrong
	}
	// The file puts texts one after another, so their places follow from the sizes alone.
	_, err := f.file.AppendAll(sizes, func(i int, to []byte) { copy(to, texts[i]) })
	for i := range sizes {
		for k := 0; k < len(read[i].anchors) && err == nil; k++ {
			err = f.anchors.add([2]uint64{read[i].anchors[k].hash, ends[i].anchors + uint64(k)})
		}
	}
	if err != nil {
		f.err = err
		return err
	}
	f.ids = append(f.ids, ids[:len(sizes)]...)
	f.docs = append(f.docs, ends[1:]...) // others may read those before
	return wrong
}

// A snapshot is the documents at one time. It needs no lock: documents that are added later go to the end of
// the lists or to new ones, and what the snapshot sees is not written any more.
type snapshot[ID any] struct {
	*Options
	file *textfile.File
	ids  []ID
	docs []stored // one more than ids
}

// snapshot returns the documents as they are now.
func (f *Finder[ID]) snapshot() *snapshot[ID] {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.ids)
	return &snapshot[ID]{&f.options, f.file, f.ids[:n:n], f.docs[: n+1 : n+1]}
}

// size returns how many bytes the text of a document has.
func (s *snapshot[ID]) size(doc int) int {
	return int(s.docs[doc+1].at - s.docs[doc].at - textfile.Bytes(0))
}

// text returns the text of a document. It is in buf, which grows.
func (s *snapshot[ID]) text(doc int, buf *[]byte) string {
	return s.file.Read(s.docs[doc].at, s.size(doc), buf)
}

// holding returns the document that has a token, by its number among those of all documents. Documents without
// tokens begin where the next one does, and are never returned.
func (s *snapshot[ID]) holding(token uint64) int {
	return sort.Search(len(s.docs), func(i int) bool { return s.docs[i].tokens > token }) - 1
}

// A Place is where a passage occurs.
type Place[ID any] struct {
	ID       ID
	Number   int // how many documents were added before it
	From, To int // the bytes of its text
	Tokens   int // how many words or characters these are
}

// A Passage is a run of tokens that occurs in several places. A new passage begins where another document
// starts or stops sharing the text. So a long text that two documents share may be several passages in a row,
// each of which overlaps the next by one token less than the least length.
type Passage[ID any] struct {
	Tokens    int         // its length
	Documents int         // in how many it occurs
	Places    []Place[ID] // in the order of adding. Places that overlap are one: a text that repeats a word has one long place
}

// Text returns the text of a place. It returns an error for an invalid place, or if the file cannot be
// read.
func (f *Finder[ID]) Text(p Place[ID]) (string, error) {
	_, text, _, err := f.Around(p, 0)
	return text, err
}

// Document returns the text of a document by its number. It returns an error for an invalid number, or if
// the file cannot be read.
func (f *Finder[ID]) Document(number int) (string, error) {
	s := f.snapshot()
	if number < 0 || number >= len(s.ids) {
		return "", fmt.Errorf("passages: there is no document number %d", number)
	}
	return f.whole(s, number)
}

// Around is Text with up to n bytes before and after it, without splitting a character.
func (f *Finder[ID]) Around(p Place[ID], n int) (before, text, after string, err error) {
	all, err := f.Document(p.Number)
	if err != nil {
		return "", "", "", err
	}
	if p.From < 0 || p.From > p.To || p.To > len(all) {
		return "", "", "", fmt.Errorf("passages: document number %d has no bytes %d to %d", p.Number, p.From, p.To)
	}
	n = min(max(n, 0), len(all))
	begin, end := max(p.From-n, 0), min(p.To+n, len(all))
	for begin < p.From && !utf8.RuneStart(all[begin]) {
		begin++
	}
	for end > p.To && end < len(all) && !utf8.RuneStart(all[end]) {
		end--
	}
	return strings.Clone(all[begin:p.From]), strings.Clone(all[p.From:p.To]), strings.Clone(all[p.To:end]), nil
}

// whole returns the text of a document. It keeps the last one, since a caller who asks for one place soon asks
// for the next one in the same document. It reads the file while it holds mu, so adding waits for the disk then.
func (f *Finder[ID]) whole(s *snapshot[ID], doc int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recent.number != doc+1 {
		var buf []byte // a new one each time, since the text stays
		text := s.text(doc, &buf)
		if err := s.file.Err(); err != nil {
			return "", err
		}
		f.recent.number, f.recent.text = doc+1, text
	}
	return f.recent.text, nil
}

// errOf returns the error of the context, or else the first one of some files. A file that cannot be read
// yields nothing and keeps the error, so whoever has read from files asks here before it trusts what it got.
func errOf(ctx context.Context, files ...*textfile.File) error {
	err := ctx.Err()
	for _, f := range files {
		err = cmp.Or(err, f.Err())
	}
	return err
}
