package dedup

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/internal/store"
	"github.com/neardup/neardup/internal/textfile"
)

// This file reads the files of earlier versions. They had no signatures, and one word more for each document. Their texts
// are those of today, so all that is missing is made of them.

// oldProfiles is what the version of such files says of the features, by what it says today.
var oldProfiles = strings.NewReplacer(" documents=levels:3", " profiles=levels:2", " documents=own:3", " profiles=of:2")

// oldWords are the words of a document in them: the sixth one is gone.
const (
	oldWords = content.StoredWords + 1
	oldSize  = 4 // the place of what is gone
)

// Upgrade reads the files of a Deduplicator that an earlier version of this library made at a path, and makes files of today
// at another one, which must be empty. The old files stay as they are. Documents keep their ids and their order. They count
// as added now. options must have the Fingerprinter of then. It returns how many documents there are. An error wraps
// [neardup.ErrVersion] for files of another version, [neardup.ErrDamaged] for files that are not as they were written, or an
// error of the file system; then the new files are not complete.
func Upgrade[ID comparable](from, to string, options Options) (documents int, err error) {
	d, err := Open[ID](to, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.NextNumber() > 0 {
		return 0, fmt.Errorf("neardup: %s has documents already", to)
	}
	version, err := d.options.version()
	if err != nil {
		return 0, err
	}
	old := &documentFiles[ID]{version: oldProfiles.Replace(version), number: 1}
	store.Init(&old.Store, store.Form[*everAdded]{
		Kind: "documents", Again: again, Words: oldWords,
		TailSize: func(live int) int { return min(max(512, live), 8192) },
		AtOnce:   math.MaxInt,
		Build:    func(store.Column) *everAdded { return &everAdded{} },
		Read:     everAddedReader(func(e *everAdded) { old.number = e.number }),
		Check:    func(doc []uint64) error { _, err := content.Decode(today(doc)); return err },
	})
	if err := old.Open(from, old.version); err != nil {
		return 0, fmt.Errorf("neardup: dedup.Upgrade: %w", err)
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	old.path = old.Path()
	texts, err := textfile.Open(old.texts(old.number), textsKind, old.version, again)
	if err != nil {
		return 0, fmt.Errorf("neardup: dedup.Upgrade: %w", err)
	}
	defer texts.Close()
	for e := range old.All() {
		if err := d.copyOld(e.ID, e.Doc, texts); err != nil {
			return documents, err
		}
		documents++
	}
	return documents, errors.Join(old.Err(), d.Sync())
}

// today returns the words of a document without the one that is gone.
func today(doc []uint64) []uint64 {
	if len(doc) != oldWords {
		return nil
	}
	return append(append(make([]uint64, 0, oldWords), doc[:oldSize]...), doc[oldSize+1:]...)
}

// copyOld adds a document of old files, whose text is in a file.
func (d *Deduplicator[ID]) copyOld(id ID, words []uint64, texts *textfile.File) error {
	s, err := content.Decode(today(words))
	if err != nil {
		return fmt.Errorf("%w: %w", neardup.ErrDamaged, err)
	}
	made, err := d.maker.LoadOld(&s, texts)
	if err != nil {
		return err
	}
	return d.add([]arrival[ID]{{id: id, doc: made}})
}
