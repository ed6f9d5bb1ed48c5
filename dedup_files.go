package neardup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
	"github.com/neardup/neardup/internal/wording"
)

// This file keeps the documents of a [Deduplicator] in files: what a profile is made from, and how many
// documents were ever added. Weights, forms and the threshold depend on all documents, so they are made
// again. The files are those of an index (package store). Opening them reads the journal only; the first
// call that needs the documents reads these.

// OpenDeduplicator opens a Deduplicator in files, or makes an empty one. Documents, their numbers and the
// times when they were added outlive the program. The files are path, path.journal and path.lock, as for
// [OpenIndex], which also says which ids are possible. One Deduplicator at a time can have them open.
//
// A change that has returned is in the files after [Deduplicator.Sync] or Close. After a crash, of the
// changes since then the first ones may be there, and the others not; a document is there as a whole or not
// at all. The directory must be on a local disk.
//
// The features are part of the files: their Fingerprinter must have the same [Fingerprinter.Version] again.
// The other options may differ. An error wraps [ErrVersion] for other features or files of something else,
// [ErrDamaged] for files that are not as they were written, or an error of the file system.
func OpenDeduplicator[ID comparable](path string, options DeduplicatorOptions) (*Deduplicator[ID], error) {
	d, err := NewDeduplicator[ID](options)
	if err != nil {
		return nil, err
	}
	version, err := d.settings.version()
	if err != nil {
		return nil, err
	}
	d.files = &store.Store[ID, *everAdded]{}
	store.Init(d.files, store.Form[*everAdded]{
		Kind: "documents", Again: "add the documents again",
		TailSize: func(live int) int { return min(max(512, live), 8192) },
		Build:    func(store.Column) *everAdded { return &everAdded{documents: d.added} },
		Read: func(f *format.Reader) *everAdded {
			f.Next()
			e := &everAdded{documents: int(f.Uvarint(math.MaxInt))}
			d.added = max(d.added, e.documents)
			return e
		},
		Check: func(doc []uint64) error {
			s, err := decodeDocument(doc)
			d.added = max(d.added, s.number+1)
			return err
		},
	})
	if err := d.files.Open(path, version); err != nil {
		return nil, fmt.Errorf("neardup: OpenDeduplicator: %w", err)
	}
	d.unread = true
	return d, nil
}

// profileVersion must be raised whenever the words, the size or the digest of a text change.
const profileVersion = 1

// version describes what the files depend on.
func (s *DeduplicatorOptions) version() (string, error) {
	v, err := s.Fingerprinter.Version()
	if err != nil {
		return "", err
	}
	features := "of"
	if s.Fingerprinter.hasLevels() {
		features = "levels" // the tokenizer and the weight that v names are not used
	}
	return fmt.Sprintf("%s profiles=%s:%d", v, features, profileVersion), nil
}

// An everAdded is what the files have besides documents: how many were ever added. It implements
// [store.Finder], although it finds nothing.
type everAdded struct{ documents int }

func (e *everAdded) Bytes() int { return 8 }

func (e *everAdded) Write(f *format.Writer) {
	f.Uvarint(uint64(e.documents))
	f.EndRecord()
}

func (e *everAdded) Columns() (columns store.FinderColumns[[][]byte]) { return columns }

func (e *everAdded) Attach(store.Column, *store.Mapping, store.FinderColumns[[]byte]) error {
	return nil
}

// usable returns the error of the files, and reads the documents if that has not been done. The caller
// holds the lock.
func (d *Deduplicator[ID]) usable() error {
	if d.files == nil {
		return nil
	}
	if d.unread && d.files.Err() == nil {
		added := d.added
		for e := range d.files.All() {
			s, err := decodeDocument(e.Doc)
			if err != nil {
				d.files.Fail(err)
				break
			}
			if d.size <= d.exactSize() {
				s.profile = s.whole(&d.settings.Fingerprinter)
			}
			d.added = s.number
			err = d.spillBodies()
			if err == nil {
				err = d.keep(e.ID, s.reading, e.Time)
			}
			if err != nil {
				d.added = added
				return err // the next call reads all again
			}
		}
		d.added, d.unread = added, false
	}
	return d.files.Err()
}

// lock locks a Deduplicator for changes. After an error it is not locked.
func (d *Deduplicator[ID]) lock() error {
	d.mu.Lock()
	err := d.usable()
	if err != nil {
		d.mu.Unlock()
	}
	return err
}

// rlock locks a Deduplicator for reading. After an error it is not locked.
func (d *Deduplicator[ID]) rlock() error {
	for {
		d.mu.RLock()
		if !d.unread {
			err := d.usable()
			if err != nil {
				d.mu.RUnlock()
			}
			return err
		}
		d.mu.RUnlock()
		if err := d.lock(); err != nil {
			return err
		}
		d.mu.Unlock()
	}
}

// log puts an addition in the files, if there are any. The caller holds the lock.
func (d *Deduplicator[ID]) log(id ID, p *reading) error {
	if d.files == nil {
		return nil
	}
	d.logged = encodeDocument(d.logged[:0], storedProfile{d.added, *p})
	d.files.Lock()
	defer d.files.Unlock()
	return d.files.Add(id, d.logged)
}

// Sync writes all changes that have returned to the disk. If the journal then has more than 65,536 changes,
// and more than half as many as documents are stored, Sync calls Compact and takes as long. It does nothing
// for a Deduplicator in memory.
func (d *Deduplicator[ID]) Sync() error {
	return d.withFiles((*store.Store[ID, *everAdded]).Sync)
}

// Compact writes all documents as a new snapshot, without what was deleted, and empties the journal. All
// changes are on the disk when it returns nil. If it fails, the files are as they were. Searches may run
// meanwhile; changes wait. It does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Compact() error {
	return d.withFiles((*store.Store[ID, *everAdded]).Compact)
}

// Verify reads the whole snapshot and checks it. Otherwise a part of it is checked when it is first read. It
// does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Verify() error {
	return d.withFiles((*store.Store[ID, *everAdded]).Verify)
}

// withFiles calls a method of the files while nothing changes.
func (d *Deduplicator[ID]) withFiles(do func(*store.Store[ID, *everAdded]) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.files == nil {
		return nil
	}
	return do(d.files)
}

// Close writes all changes to the disk and releases the files. Afterwards the Deduplicator is empty, and
// every call that can return an error returns one that wraps [os.ErrClosed], or the error that it had
// before. A second Close returns nil. Close does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		return nil
	}
	err := d.files.Close()
	d.docs, d.freeDocs, d.ids, d.contents, d.freed, d.digests, d.known = nil, nil, nil, nil, nil, nil, nil
	d.size, d.unread = 0, false
	d.changes++
	return err
}

// DeleteBefore removes every document that was added before t, and returns how many that was. Times are in
// whole seconds by the clock of this machine. If the clock was set back in between, a document counts as
// added no earlier than the ones before it.
func (d *Deduplicator[ID]) DeleteBefore(t time.Time) (int, error) {
	if err := d.lock(); err != nil {
		return 0, err
	}
	defer d.mu.Unlock()
	n := 0
	for slot := range d.docs {
		if doc := d.docs[slot]; doc.number >= 0 && int64(doc.seconds) < t.Unix() {
			gone, err := d.remove(doc.id)
			if err != nil {
				return n, err
			}
			if gone {
				n++
			}
		}
	}
	return n, nil
}

// A storedProfile is what the files have of a document.
type storedProfile struct {
	number int // how many documents were added before
	reading
}

// The words of a stored document: these, and then the body, or the terms and the words.
const (
	storedText   = iota // the hash of the text
	storedNumber        // how many documents were added before
	storedLength        // in characters
	storedDigest        //
	storedSize          //
	storedForm          // formLevels and formRecord, joined by |; 0 with a body
	storedBytes         // the length of the body; 0 if there is none
	storedTerms         // the length of the terms, as in a [VectorIndex]
	storedWords         // the number of words, two in a word of 64 bits
	storedHead          // the number of these
)

const (
	formLevels = 1 << iota
	formRecord
)

// encodeDocument appends the words of a document.
func encodeDocument(doc []uint64, s storedProfile) []uint64 {
	form := uint64(0)
	var words wording.Wording
	if s.bytes == 0 {
		words = s.words
		if s.levels {
			form |= formLevels
		}
		if s.record {
			form |= formRecord
		}
	}
	from := len(doc)
	doc = append(doc, s.text, uint64(s.number), uint64(s.length), s.digest, uint64(s.size), form, uint64(s.bytes), 0, uint64(len(words)))
	var last [8]byte
	body := s.body
	for ; len(body) >= 8; body = body[8:] {
		doc = append(doc, binary.LittleEndian.Uint64([]byte(body[:8])))
	}
	if copy(last[:], body) > 0 {
		doc = append(doc, binary.LittleEndian.Uint64(last[:]))
	}
	if s.bytes == 0 {
		n := len(doc)
		doc = cosine.AppendVector(doc, s.terms)
		doc[from+storedTerms] = uint64(len(doc) - n)
	}
	for i := 0; i < len(words); i += 2 {
		x := uint64(words[i])
		if i+1 < len(words) {
			x |= uint64(words[i+1]) << 32
		}
		doc = append(doc, x)
	}
	return doc
}

// errStored is the error of words that encodeDocument does not make.
var errStored = errors.New("these words are no document")

// decodeDocument is the inverse of encodeDocument. The profile is slim if it has a body.
func decodeDocument(doc []uint64) (s storedProfile, err error) {
	if len(doc) < storedHead {
		return s, errStored
	}
	head, rest := doc[:storedHead], doc[storedHead:]
	n := func(word int) int { return int(min(head[word], 1<<40)) }
	bytes, terms, words := n(storedBytes), n(storedTerms), n(storedWords)
	if len(rest) != (bytes+7)/8+terms+(words+1)/2 || head[storedNumber] > math.MaxInt64-1 || head[storedLength] > math.MaxInt64 ||
		head[storedSize] > 1<<40 || head[storedForm]&^(formLevels|formRecord) != 0 || bytes > 0 && (terms+words > 0 || head[storedForm] != 0) {
		return s, errStored
	}
	s.number, s.text, s.length, s.digest, s.size = int(head[storedNumber]), head[storedText], int(head[storedLength]), head[storedDigest], int(head[storedSize])
	if bytes > 0 {
		body := make([]byte, 0, bytes+7)
		for _, x := range rest[:(bytes+7)/8] {
			body = binary.LittleEndian.AppendUint64(body, x)
		}
		s.body, s.bytes = string(body[:bytes]), bytes
		return s, nil
	}
	s.parts = &parts{levels: head[storedForm]&formLevels != 0, record: head[storedForm]&formRecord != 0}
	if s.levels {
		s.fine = 1
	}
	if terms > 0 {
		if err := cosine.CheckVector(rest[:terms]); err != nil {
			return s, err
		}
		s.terms = cosine.VectorOf(nil, rest[:terms])
	}
	if rest = rest[terms:]; words > 0 {
		s.words = make(wording.Wording, words)
	}
	for i := range s.words {
		s.words[i] = uint32(rest[i/2] >> (32 * (i % 2)))
	}
	return s, nil
}
