package dedup

import (
	"fmt"
	"slices"

	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/internal/slots"
	"github.com/neardup/neardup/internal/store"
)

// This file keeps in PATH.index what a search needs: what is known of each document and each content, and the
// lists of the bands. All of it follows from the other files, but making it again takes as long as adding all
// documents. It is written with a snapshot, which it names. An index of another snapshot is not used, and is
// replaced with the next snapshot. Opening maps it, and checks a part of it when that part is first used.
//
// So damage may be found in the middle of a search. The part is then read as zeros, and the files get the
// error. Whatever walks through mapped columns must end and stay in bounds with any values that pass the checks
// below, and with zeros.
//
// The columns are as in memory, so machines with another byte order neither write nor use the file.

const (
	indexKind    = "documents-index"
	indexFormat  = 3  // must be raised when a column changes
	leastIndexed = 32 // with fewer documents, reading them takes no time
)

// The settings of an index, before those of the contents and of the graph.
const (
	setFormat = iota
	setSnapshot
	setAdded
	setSeconds
	setDocuments
	ownSettings
)

const ownIndexColumns = 2 // documents and chains

// indexPath returns the path of the index.
func (f *documentFiles[ID]) indexPath() string { return f.path + ".index" }

// writeIndex writes the index of the snapshot that has just been written, in which the ordinal of a document is
// its slot. It has no ids: a Deduplicator that opens with it reads them from the snapshot. It does nothing for
// documents that have not been read, since then nothing in memory could be written.
func (d *Deduplicator[ID]) writeIndex() error {
	if d.unread || d.docs.Len() != d.live || d.live < leastIndexed || !store.HostIsLittle {
		return nil
	}
	settings, columns, err := d.graph.Write()
	if err != nil {
		return err
	}
	more, contents := d.contents.Write()
	own := []uint64{setFormat: indexFormat, setSnapshot: d.files.Identity(), setAdded: uint64(d.added), setSeconds: uint64(d.seconds), setDocuments: uint64(d.docs.Len())}
	all := append([][][]byte{d.docs.Parts(), d.chains.Parts()}, append(contents, columns...)...)
	if err := store.WriteMapped(d.files.indexPath(), indexKind, d.files.version, append(append(own, more...), settings...), all); err != nil {
		return fmt.Errorf("neardup: all documents are on disk, but the index that makes the next opening fast could not be written: %w", err)
	}
	d.files.indexed = true
	return nil
}

// attach maps the index of the snapshot that was opened, and reports whether there is one that fits. If not,
// everything is as it was, or empty, and the caller reads the other files: an index is never the reason that an
// opening fails. The file of the texts must be known, since places of texts are checked against its length.
func (d *Deduplicator[ID]) attach() bool {
	f := d.files
	base := f.Base()
	if base == nil || !store.HostIsLittle {
		return false
	}
	m, settings, columns, err := store.OpenMapped(f.indexPath(), indexKind, f.version)
	if err != nil || len(settings) < ownSettings+content.Settings || len(columns) < ownIndexColumns+content.Columns ||
		settings[setFormat] != indexFormat || settings[setSnapshot] != f.Identity() || settings[setDocuments] != uint64(base.Len()) {
		return false // it is of another snapshot, or damaged; then it is made again
	}
	d.added, d.seconds = max(d.added, int(settings[setAdded])), uint32(settings[setSeconds])
	file := &slots.File{
		Check: func(b []byte) error { return m.CheckBytes(b) },
		Fail:  func(err error) { f.Fail(fmt.Errorf("%w; delete %s to read everything again", err, f.indexPath())) },
	}
	n := base.Len()
	ofContents := columns[ownIndexColumns:]
	ofGraph := ofContents[content.Columns:]
	if !d.contents.Attach(file, settings[ownSettings:], ofContents) ||
		!d.graph.Attach(file, settings[ownSettings+content.Settings:], ofGraph, d.contents.Len()) {
		d.empty()
		return false
	}
	contents := d.contents.Len()
	var ok [2]bool
	d.docs, ok[0] = slots.In(file, columns[0], n, func(from int, values []storedDocument) bool { return areDocuments(from, values, n, contents) })
	d.chains, ok[1] = slots.In(file, columns[1], contents, func(_ int, values []chain) bool { return areChains(values, n) })
	if !ok[0] || !ok[1] {
		d.empty()
		return false
	}
	d.docs.Limit(d.numbers())
	d.chains.Limit(d.numbers())
	d.names.base, d.live, f.indexed, f.mapping = base, n, true, m
	return true
}

// areChains reports whether values may be chains of n documents. A damaged part must not lead out of the columns.
func areChains(values []chain, n int) bool {
	return !slices.ContainsFunc(values, func(c chain) bool {
		return (c.first == gone) != (c.last == gone) || c.first != gone && (c.first > c.last || int(c.last) >= n)
	})
}

// areDocuments reports whether values may be some of n documents, the first one in slot from. Lists of
// documents ascend, which also means that they end. Numbers ascend, since slots are found by them.
func areDocuments(from int, values []storedDocument, n, contents int) bool {
	for i := range values {
		doc, at := &values[i], uint32(from+i)
		if int(doc.content) >= contents || doc.prev != gone && doc.prev >= at || doc.next != gone && (doc.next <= at || int(doc.next) >= n) ||
			doc.number < 0 || i > 0 && doc.number <= values[i-1].number {
			return false
		}
	}
	return true
}

// replay makes the changes that the journal has since the snapshot of the index. After an error the files have it.
// Additions are kept many at a time, but a deletion comes only after all additions before it, as it did then.
func (d *Deduplicator[ID]) replay(changes []change[ID]) {
	added := d.added
	var some []arrival[ID]
	for _, c := range changes {
		var err error
		if c.words == nil || len(some) == content.MostAtOnce {
			err = d.load(some)
			some = some[:0]
		}
		if c.words == nil {
			d.delete(c.id)
		} else if err == nil {
			var s content.Stored
			s, err = content.Decode(c.words)
			some = append(some, arrival[ID]{id: c.id, doc: s.Document, number: s.Number, seconds: c.seconds})
		}
		if err != nil {
			d.files.Fail(err)
			return
		}
	}
	if err := d.load(some); err != nil {
		d.files.Fail(err)
	}
	d.added = max(d.added, added) // the last documents that were ever added may not be there any more
}

// A change is what the journal has of an addition, or, without words, of a deletion.
type change[ID comparable] struct {
	id      ID
	words   []uint64
	seconds uint32
}

// Names are the ids of documents by their slots: those of the snapshot in the files, and in memory those that
// were added since. A search needs only the ids of what it finds, so the others may stay in the file.
type names[ID comparable] struct {
	base *store.Run[ID, *everAdded] // nil if all are in memory
	last slots.Column[ID]
	fail func(err error)
}

// at returns the id of a document. It is the zero id if the snapshot is damaged; then the files have the error,
// and callers ask for that before they return anything.
func (n *names[ID]) at(slot uint32) ID {
	first := n.first()
	if slot >= first {
		return *n.last.At(slot - first)
	}
	id, err := n.base.IDs.At(slot)
	if err != nil {
		n.fail(err)
	}
	return id
}

// first returns the slot of the first id in memory.
func (n *names[ID]) first() uint32 {
	if n.base == nil {
		return 0
	}
	return uint32(n.base.Len())
}

// snapshot returns the ids as they are now.
func (n *names[ID]) snapshot() names[ID] { return names[ID]{n.base, n.last.Snapshot(), n.fail} }
