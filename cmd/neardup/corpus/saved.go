package corpus

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file reads and writes files of saved fingerprints: --save writes the ids and fingerprints of
// all documents, and --against reads them as an old collection. The library stores the settings in
// the file and refuses a file with other settings.

// Saved says what the fingerprints in such files are.
type Saved struct {
	Version string // of the fingerprints
	Bits    int
}

// A SavedDoc is a document of an earlier call. Only its fingerprint is known, not its text.
type SavedDoc struct {
	ID      string
	Content *Content
}

// MaxID is the length in bytes of the longest id that can be saved.
const MaxID = 1 << 16

// A fatalError stops the program even with --skip-bad: skipping it would lose the whole old
// collection.
type fatalError struct{ error }

// ReadSaved yields the documents of a file that SaveAll wrote. The line of an item is the number of
// its fingerprint in the file.
func ReadSaved(s *input.Source, n int, r io.Reader, of Saved, yield func(input.Item) bool) error {
	it := input.Item{Place: input.Place{Source: int32(n)}}
	contents := make(map[neardup.Fingerprint128]*Content) // documents with equal fingerprints share a content
	errStop := errors.New("enough")
	add := func(id string, fp neardup.Fingerprint128) error {
		it.Line++
		c := contents[fp]
		if c == nil || c.Empty { // texts without features are near nothing
			c = &Content{Mark: MarkOf(fp)}
			contents[fp] = c
		}
		it.Saved = &SavedDoc{id, c}
		if !yield(it) {
			return errStop
		}
		return nil
	}
	err := error(nil)
	if of.Bits == 64 {
		err = neardup.ReadFingerprints(r, of.Version, func(id string, fp neardup.Fingerprint64) error {
			return add(id, neardup.Fingerprint128{Lo: uint64(fp)})
		})
	} else {
		err = neardup.ReadFingerprints(r, of.Version, add)
	}
	if err == nil || err == errStop {
		return nil
	}
	err = fmt.Errorf("%s:%d: %s", s.Path, it.Line+1, strings.TrimPrefix(err.Error(), "neardup: "))
	if it.Line == 0 {
		return fatalError{err}
	}
	return err
}

// SaveAll writes the ids and fingerprints of all documents, old and new.
func (c *Corpus) SaveAll(w io.Writer) error {
	if c.Saved.Bits == 64 {
		return neardup.WriteFingerprints(w, c.Saved.Version, saves(c, func(fp neardup.Fingerprint128) neardup.Fingerprint64 {
			return neardup.Fingerprint64(fp.Lo)
		}))
	}
	return neardup.WriteFingerprints(w, c.Saved.Version, saves(c, func(fp neardup.Fingerprint128) neardup.Fingerprint128 { return fp }))
}

// saves yields the ids and fingerprints to save. If a new document has the id of an old one, only
// the new one is saved.
func saves[F neardup.Fingerprint](c *Corpus, narrow func(neardup.Fingerprint128) F) iter.Seq2[neardup.Entry[string, F], error] {
	return func(yield func(neardup.Entry[string, F], error) bool) {
		replaced := make(map[string]bool)
		for i := c.Old; i < c.Docs.Len(); i++ {
			replaced[c.Doc(i).ID] = true
		}
		for i := range c.Docs.Len() {
			d := c.Doc(i)
			if i < c.Old && replaced[d.ID] {
				continue
			}
			if !yield(neardup.Entry[string, F]{ID: d.ID, Value: narrow(d.Content.Fingerprint)}, nil) {
				return
			}
		}
	}
}
