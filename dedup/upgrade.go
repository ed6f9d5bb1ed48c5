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

// This file reads the files of earlier versions. Texts are stored as they were then, so everything else is made
// again from them. What has no text, records and features of the caller, keeps its features.
//
// An upgrade adds the old documents to a new Deduplicator one by one, and never writes to the old files. So it
// can be repeated after a crash, once the new files are removed.

// An oldForm is how an earlier version kept documents.
type oldForm struct {
	version *strings.Replacer // turns the version line of today into the one of then
	words   int               // of a document
	gone    int               // the place of a word that documents no longer have, or −1
}

// oldForms has the latest first. Each file names its version, so at most one form fits; Upgrade tries them in turn.
var oldForms = []oldForm{
	// The lexer did not compose decomposed characters.
	{strings.NewReplacer("neardup=2", "neardup=1"), content.StoredWords, -1},
	// Nor were there signatures, and a document had one word more.
	{strings.NewReplacer("neardup=2", "neardup=1", " documents=levels:3", " profiles=levels:2", " documents=own:3", " profiles=of:2"), content.StoredWords + 1, 4},
}

// Upgrade reads the files of a Deduplicator that an earlier version of this library made at a path, and writes
// files in the current format at another path, which must be empty. The old files stay as they are. Documents
// keep their ids and their order. They count as added now. Records, and texts with a Tokenizer or Weight of
// options, keep the features that they had. options must have the Fingerprinter that was used then. It returns
// how many documents there are. An error wraps [neardup.ErrVersion] for files of another version,
// [neardup.ErrDamaged] for files that are not as they were written, or an error of the file system; then the
// new files are not complete.
func Upgrade[ID comparable](from, to string, options Options) (documents int, err error) {
	d, err := Open[ID](to, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.NextSequence() > 0 {
		return 0, fmt.Errorf("neardup: %s already has documents", to)
	}
	version, err := d.options.version()
	if err != nil {
		return 0, err
	}
	for _, form := range oldForms {
		documents, err = d.upgrade(from, form, form.version.Replace(version))
		if !errors.Is(err, neardup.ErrVersion) {
			break
		}
	}
	if err != nil {
		return documents, fmt.Errorf("neardup: dedup.Upgrade: %w", err)
	}
	return documents, d.Sync()
}

// upgrade adds the documents of the files of an old form, and returns how many there are.
func (d *Deduplicator[ID]) upgrade(from string, form oldForm, version string) (documents int, err error) {
	old := &documentFiles[ID]{version: version, number: 1}
	store.Init(&old.Store, store.Form[*everAdded]{
		Kind: "documents", Again: again, Words: form.words,
		TailSize: func(live int) int { return min(max(512, live), 8192) },
		AtOnce:   math.MaxInt,
		Build:    func(store.Column) *everAdded { return &everAdded{} },
		Read:     everAddedReader(func(e *everAdded) { old.number = e.number }),
		Check:    func(doc []uint64) error { _, err := content.Decode(form.today(doc)); return err },
	})
	if err := old.Open(from, old.version); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	old.path = old.Path()
	texts, err := textfile.Open(old.texts(old.number), textsKind, old.version, again)
	if err != nil {
		return 0, err
	}
	defer texts.Close()
	for e := range old.All() {
		if err := d.copyOld(e.ID, form.today(e.Doc), texts); err != nil {
			return documents, err
		}
		documents++
	}
	return documents, old.Err()
}

// today returns the words that documents have today.
func (f *oldForm) today(doc []uint64) []uint64 {
	if f.gone < 0 || len(doc) != f.words {
		return doc
	}
	return append(append(make([]uint64, 0, f.words), doc[:f.gone]...), doc[f.gone+1:]...)
}

// copyOld adds a document of old files, whose text is in a file.
func (d *Deduplicator[ID]) copyOld(id ID, words []uint64, texts *textfile.File) error {
	s, err := content.Decode(words)
	if err != nil {
		return fmt.Errorf("%w: %w", neardup.ErrDamaged, err)
	}
	made, err := d.maker.LoadOld(&s, texts)
	if err != nil {
		return err
	}
	return d.add([]arrival[ID]{{id: id, doc: made}})
}
