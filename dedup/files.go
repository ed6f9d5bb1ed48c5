package dedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
	"github.com/neardup/neardup/internal/textfile"
)

// This file keeps the documents of a [Deduplicator] in files:
//
//	PATH          what is known of each document but its text, in 56 bytes, as the snapshot of a store
//	PATH.journal  the changes since the snapshot
//	PATH.lock     for one Deduplicator at a time
//	PATH.index    what a search needs (reopen.go)
//	PATH.texts-N  signatures and texts (package textfile); what is known of a document says where they are
//
// Equal documents share a text. Texts are only added. When most of them are of no use any more, the others
// are copied to a file with the next number, and a snapshot is written that refers to it. A change goes to the
// journal only when its text is on the disk.
//
// Opening reads the journal, and maps the index. Without an index, the first call that needs the documents
// reads what is known of each, and its signatures. The texts are read when documents are compared.
//
// A crash can happen between any two writes. The order of writes takes care of that:
//
//   - Texts are on the disk before the journal names them (Before, below). Texts that nobody names are waste.
//   - A new file of texts is complete before the snapshot that refers to it is written, and the old one is
//     removed after that. The snapshot has the number of its file of texts. A file with the number before or
//     after it was left by a crash, and openTexts removes it.
//   - The index names its snapshot, so an index that a crash left behind is recognized and not used.

// Open opens a Deduplicator in files, or makes an empty one. Documents, their numbers and the times when they
// were added outlive the program:
//
//	d, err := dedup.Open[string]("seen/pages", dedup.Options{}) // the folder seen must exist
//	defer d.Close()
//	for page := range pages {
//		found, isNew, err := d.AddIfNew(ctx, page.URL, neardup.Text(page.Text), 1)
//	}
//
// The names of the files begin with path, whose folder must exist: path, path.journal, path.lock, path.texts-1
// or another number for the texts, and path.index for what a search needs, so that the first search reads
// nothing else. One Deduplicator at a time can have them open. The texts are not kept in memory, however large
// Memory is. Ids may be of any integer or string type, or of a type that encodes itself ([neardup.OpenIndex]).
//
// A change whose call has returned is in the files after [Deduplicator.Sync] or Close: call Sync often enough,
// such as once a second, because changes since the last Sync may have to be repeated after a crash. Of those
// changes, the first ones may be there and the others not; a document is there as a whole or not at all. The
// directory must be on a local disk.
//
// The files contain features, so the Fingerprinter must have the same [neardup.Fingerprinter.Version] every
// time. The other options may differ. An error wraps [neardup.ErrVersion] for other features, files of an
// earlier version of this library or files of something else, [neardup.ErrDamaged] for files that are not as
// they were written, or an error of the file system.
func Open[ID comparable](path string, options Options) (*Deduplicator[ID], error) {
	d, err := New[ID](options)
	if err != nil {
		return nil, err
	}
	version, err := d.options.version()
	if err != nil {
		return nil, err
	}
	if err := d.open(path, version); err != nil {
		return nil, fmt.Errorf("neardup: dedup.Open: %w", err)
	}
	return d, nil
}

// open opens the files.
func (d *Deduplicator[ID]) open(path, version string) (err error) {
	d.files = &documentFiles[ID]{version: version, number: 1}
	needed := int64(0) // how long the file of the texts must be
	store.Init(&d.files.Store, store.Form[*everAdded]{
		Kind: "documents", Again: again, Words: content.StoredWords,
		TailSize: func(live int) int { return min(max(512, live), 8192) },
		AtOnce:   math.MaxInt, // so that Build never runs on another goroutine: it uses d.added and f.moved
		Build: func(docs store.Column) *everAdded {
			d.files.redirect(docs)
			return &everAdded{d.added, d.files.number}
		},
		Read: everAddedReader(func(e *everAdded) { d.added, d.files.number = max(d.added, e.documents), e.number }),
		Check: func(doc []uint64) error {
			s, err := content.Decode(doc)
			d.added, needed = max(d.added, s.Number+1), max(needed, s.End())
			return err
		},
		Before: func() error { return d.contents.File().Sync() },
	})
	var since []change[ID]
	// With an index, only the changes since the snapshot are needed. The store reads them once, while it opens,
	// so they are collected before anybody knows whether the index can be used.
	place, _ := store.RegularPath(path) // an error is also that of Open
	if _, err := os.Stat(place + ".index"); err == nil {
		d.files.Replayed = func(id ID, words []uint64, seconds uint32) {
			since = append(since, change[ID]{id, slices.Clone(words), seconds})
		}
	}
	if err := d.files.Open(path, version); err != nil {
		return err
	}
	d.files.path, d.files.Replayed, d.names.fail = d.files.Path(), nil, d.files.Fail
	texts, err := d.files.openTexts(needed)
	if err != nil {
		return errors.Join(err, d.files.Close())
	}
	d.contents.Keep(texts)
	if d.attach() {
		d.replay(since)
		if err := d.files.Err(); err != nil {
			return errors.Join(err, d.files.Close(), texts.Close())
		}
		return nil
	}
	d.contents.Keep(texts) // again, since attach may have emptied everything
	d.unread = true        // until a call needs the documents; Get and Len ask the store meanwhile
	return nil
}

// A documentFiles is the files of a Deduplicator.
type documentFiles[ID comparable] struct {
	store.Store[ID, *everAdded]
	path, version string
	number        int             // of the file of the texts
	moved         map[int64]int64 // while it is replaced: where texts are, by where they were
	indexed       bool            // there is an index of the snapshot
	mapping       *store.Mapping  // of the index, if it was there when the files were opened
}

const (
	again       = "add the documents again"
	textsKind   = "texts"
	leastDead   = 1 << 20 // a file of texts with fewer bytes that are of no use is left alone
	longJournal = 1 << 16 // changes that Close does not leave to the next opening, if they are many documents
)

// texts returns the path of the texts.
func (f *documentFiles[ID]) texts(number int) string {
	return fmt.Sprintf("%s.texts-%d", f.path, number)
}

// openTexts opens the file of the texts, which must be so long, or makes it. It removes the files of texts that a
// killed process has left.
func (f *documentFiles[ID]) openTexts(needed int64) (*textfile.File, error) {
	for _, n := range []int{f.number - 1, f.number + 1} {
		left, err := textfile.Open(f.texts(n), textsKind, f.version, again)
		if err != nil {
			continue // there is none, or it is somebody else's
		}
		if err := errors.Join(left.Close(), os.Remove(f.texts(n))); err != nil {
			return nil, err
		}
	}
	t, err := textfile.Open(f.texts(f.number), textsKind, f.version, again)
	if errors.Is(err, fs.ErrNotExist) {
		if f.Len() > 0 {
			return nil, fmt.Errorf("%w: %s is missing", neardup.ErrDamaged, f.texts(f.number))
		}
		return textfile.Create(f.texts(f.number), textsKind, f.version)
	}
	if err == nil && t.Size() < needed {
		return nil, errors.Join(fmt.Errorf("%w: %s is cut off", neardup.ErrDamaged, f.texts(f.number)), t.Close())
	}
	return t, err
}

// redirect lets documents refer to where their texts have moved. It is called for each run that the store
// builds, and does something only while snapshotFiles writes a snapshot with a new file of texts.
func (f *documentFiles[ID]) redirect(docs store.Column) {
	if f.moved == nil {
		return
	}
	for i := content.StoredPlace; i < len(docs.Docs); i += content.StoredWords {
		if at, ok := f.moved[int64(docs.Docs[i])]; ok {
			docs.Docs[i] = uint64(at)
		}
	}
}

// An everAdded is what a snapshot has besides documents: how many were ever added, and the number of the file
// with their texts. It implements [store.Finder], although it finds nothing: a store writes a finder into its
// snapshot, so the two numbers and the documents are replaced in one step.
type everAdded struct{ documents, number int }

func (e *everAdded) Bytes() int { return 16 }

// everAddedReader returns a function that reads what Write writes, and calls use with it.
func everAddedReader(use func(e *everAdded)) func(f *format.Reader) *everAdded {
	return func(f *format.Reader) *everAdded {
		f.Next()
		e := &everAdded{int(f.Uvarint(math.MaxInt)), int(f.Uvarint(math.MaxInt32))}
		use(e)
		return e
	}
}

func (e *everAdded) Write(f *format.Writer) {
	f.Uvarint(uint64(e.documents))
	f.Uvarint(uint64(e.number))
	f.EndRecord()
}

func (e *everAdded) Columns() (columns store.FinderColumns[[][]byte]) { return columns }

func (e *everAdded) Attach(store.Column, *store.Mapping, store.FinderColumns[[]byte]) error {
	return nil
}

// errFull is returned when a Deduplicator is full.
var errFull = fmt.Errorf("neardup: a Deduplicator holds at most %d documents", store.MaxDocuments)

// room returns how many more documents it can hold.
func (d *Deduplicator[ID]) room() int { return store.MaxDocuments - d.live }

// damage returns the error of the files, also that of a part that was found to be damaged just now. Unlike
// usable, it needs no lock.
func (d *Deduplicator[ID]) damage() error {
	if d.files == nil {
		return nil
	}
	return d.files.Err()
}

// usable returns the error of the files, and reads the documents if that has not been done. The caller holds
// the lock, and for writing if the documents may be unread. A method that has read asks again afterwards:
// damage is found while reading, and then what it has is not to be trusted.
func (d *Deduplicator[ID]) usable() error {
	if d.unread && d.damage() == nil {
		d.readAll()
	}
	return cmp.Or(d.damage(), d.contents.File().Err(), d.graph.Err())
}

// readAll reads all documents. After an error the files have it, and every call returns it from then on.
func (d *Deduplicator[ID]) readAll() {
	added, size := d.added, d.contents.File().Size()
	var some []arrival[ID]
	for e := range d.files.All() {
		s, err := content.Decode(e.Doc)
		if err == nil && s.End() > size {
			err = fmt.Errorf("%w: %s is cut off", neardup.ErrDamaged, d.files.texts(d.files.number))
		}
		if err == nil {
			if some = append(some, arrival[ID]{id: e.ID, doc: s.Document, number: s.Number, seconds: e.Time}); len(some) == content.MostAtOnce {
				err = d.load(some)
				some = some[:0]
			}
		}
		if err != nil {
			d.files.Fail(err)
			break
		}
	}
	if err := d.load(some); err != nil {
		d.files.Fail(err)
	}
	d.added, d.unread = added, false // keep has set it to the last document there is; later ones may have been deleted
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

// rlock locks a Deduplicator for reading. After an error it is not locked. Reading the documents for the first
// time is a change. There is no way to turn a lock for writing into one for reading, so it checks again each time.
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

// Sync writes to the disk all changes made by calls that have returned. If the journal then has more than
// 65,536 changes, and more than half as many as there are documents, or if most of the texts belong to deleted
// documents, Sync calls Compact and takes as long. It does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Sync() error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	if d.files == nil {
		return nil
	}
	// Without the lock, so that nobody waits for the disk. syncing alone keeps other calls of Sync,
	// Compact and Close out.
	if err := d.files.Commit(); err != nil {
		return err
	}
	d.mu.RLock()
	isWasteful := d.isWasteful()
	d.mu.RUnlock()
	if !isWasteful && !d.files.IsLong() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.compact()
}

// isWasteful reports whether most of the texts in the file are of no use.
func (d *Deduplicator[ID]) isWasteful() bool {
	return !d.unread && d.contents.Wasted() > max(leastDead, d.contents.File().Size()/2)
}

// Compact writes all documents as a new snapshot, without what was deleted, and empties the journal. If most of
// the texts belong to deleted documents, it also writes a new file of the texts. All changes are on the disk
// when it returns nil. If it fails, the files are as they were. Other calls wait meanwhile. It checks the
// context before it begins, and does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Compact(ctx context.Context) error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return d.compact()
}

// compact is Compact for callers that hold the lock. An error of the index comes after the snapshot is on the
// disk, and loses nothing but time at the next opening.
func (d *Deduplicator[ID]) compact() error {
	if !d.unread {
		if err := d.usable(); err != nil {
			return err
		}
		d.packAll() // so that slots are the ordinals of the snapshot
	}
	if err := d.snapshotFiles(); err != nil {
		return err
	}
	return d.writeIndex()
}

// snapshotFiles writes a snapshot, and a new file of the texts if most of the old one is of no use.
//
// In the second case memory refers to the old file until the snapshot is on the disk. If that fails, everything
// is as it was, and the new file is removed. But if the store does not know what is on the disk, the snapshot
// there may refer to the new file. Then both stay, and the next opening removes the one that is not needed.
func (d *Deduplicator[ID]) snapshotFiles() error {
	f := d.files
	f.indexed = false
	if !d.isWasteful() {
		return f.Compact(context.Background())
	}
	if err := d.usable(); err != nil {
		return err
	}
	next := f.texts(f.number + 1)
	if _, err := os.Lstat(next); err == nil { // openTexts has removed those of a killed process
		return fmt.Errorf("neardup: %s already exists, but the texts must be written to it", next)
	}
	to, err := textfile.Create(next, textsKind, f.version)
	if err != nil {
		return err
	}
	moved, err := d.contents.CopyTo(to)
	if err == nil {
		f.moved = make(map[int64]int64, len(moved))
		for _, m := range moved {
			f.moved[m.From] = m.At
		}
		f.number++
		if err = f.Compact(context.Background()); err != nil {
			f.number--
		}
		f.moved = nil
	}
	if err != nil {
		err = errors.Join(err, to.Close())
		if f.Err() == nil {
			os.Remove(next)
		}
		return err
	}
	// The old file loses its name but is not closed: snapshots of the contents may still read it.
	old := f.texts(f.number - 1)
	d.contents.Move(to, moved)
	if err := os.Remove(old); err != nil && runtime.GOOS != "windows" { // there the next opening removes it
		return err
	}
	return nil
}

// Lost says which part of the journal was dropped when the files were opened, or returns nil, as it does for an
// index ([neardup.Index.Lost]).
func (d *Deduplicator[ID]) Lost() error {
	if d.files == nil {
		return nil
	}
	return d.files.Lost()
}

// Verify reads all files and checks them. Otherwise a part of them is checked when it is first read. It does
// nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Verify() error {
	if d.files == nil {
		return nil
	}
	if err := d.rlock(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	if err := d.files.Verify(); err != nil {
		return err
	}
	if m := d.files.mapping; m != nil && d.files.indexed {
		if err := m.Verify(); err != nil {
			return err
		}
	}
	d.contents.Verify()
	return d.contents.File().Err()
}

// Close writes all changes to the disk and releases the files. If the journal is long, Close calls Compact
// first, so that the next opening is fast. Afterwards the Deduplicator is empty, and every call that can return
// an error returns one that wraps [os.ErrClosed], or the error that it had before. A second Close returns nil.
// Close does nothing for a Deduplicator in memory.
func (d *Deduplicator[ID]) Close() error {
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil || d.files.Files == nil {
		return nil
	}
	// A short journal is left to the next opening. Without an index, that would have to read everything.
	var err error
	if n := d.files.Changes(); d.files.Err() == nil && (n > longJournal && n > d.files.Len()/8 || !d.unread && !d.files.indexed && d.live >= leastIndexed) {
		err = d.compact()
	}
	err = errors.Join(err, d.files.Close(), d.contents.File().Close())
	// Everything is dropped but the closed file, whose error later calls return. changes goes up so that
	// snapshots taken from now on do not take over what was found before.
	texts := d.contents.File()
	d.empty()
	d.contents.Keep(texts)
	d.judged.judge = nil
	d.unread = false
	d.changes++
	return err
}
