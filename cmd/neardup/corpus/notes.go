package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file counts what is read, and reports how the inputs were read as far as the user may not expect it.

// Counts is what is counted as the documents are read.
type Counts struct {
	Bytes    int64             // of text
	Bad      int               // lines and files that were skipped
	Dropped  int               // documents without text that are left out
	Repeated int               // documents that are left out since another one has their id
	ByPlace  int               // documents without an id
	Has      uint64            // the fields that any document has; see [input.Document]
	Chats    map[string]int    // documents without the default field, by the fields of a chat that were read instead
	Others   int               // values in texts that are not texts
	Garbled  map[int32]Garbled // by the numbers of the sources
	Texts    []uint64          // hashes of the texts of new documents, with the methods auto and cosine
	Passed   []string          // files of other formats in directories
	Hidden   []string          // hidden files and folders there
}

// SayNotes reports how the inputs were read, as far as the user may not expect it.
func (c *Corpus) SayNotes() {
	const most = 20
	said := 0
	say := func(format string, args ...any) {
		if said++; said <= most {
			fmt.Fprintln(c.Log.Notes, "neardup:", cli.Printable(fmt.Sprintf(format, args...), 500))
		}
	}
	for i := range c.Sources {
		if s := &c.Sources[i]; len(s.Notes) > 0 {
			say("%s: %s", s.Path, strings.Join(s.Notes, "; "))
		}
	}
	if said > most {
		fmt.Fprintf(c.Log.Notes, "neardup: and similar notes on %s\n", cli.Count(said-most, "more file", "more files"))
	}
	some := func(paths []string) string { return strings.Join(paths[:min(len(paths), 5)], ", ") }
	if n := len(c.Read.Passed); n > 0 {
		said = 0
		say("%s: %s", cli.Count(n, "file in the directories has another format and is not read", "files in the directories have other formats and are not read"), some(c.Read.Passed))
	}
	if n := len(c.Read.Hidden); n > 0 {
		said = 0
		say("%s: %s", cli.Count(n, "hidden file or folder is not read", "hidden files and folders are not read"), some(c.Read.Hidden))
	}
	for _, name := range c.lacking() {
		said = 0
		say("no document has a field %q", name)
	}
	for _, fields := range slices.Sorted(maps.Keys(c.Read.Chats)) {
		said = 0
		say("%s no field %q; reading %q instead", cli.Count(c.Read.Chats[fields], "document has", "documents have"), c.Reading.Cols.Text, fields)
	}
	if n := c.Read.Others; n > 0 {
		said = 0
		say("%s", cli.Count(n, "value in the texts, such as images or calls of tools, is not text and is skipped", "values in the texts, such as images or calls of tools, are not text and are skipped"))
	}
	if c.Read.ByPlace > 0 {
		said = 0
		by := "file and line"
		if c.Reading.Cols.WithoutID == "hash" {
			by = "a hash of the text"
		}
		say("%s no %q; using %s instead", cli.Count(c.Read.ByPlace, "document has", "documents have"), c.Reading.Cols.ID, by)
	}
}

// AddChat counts documents whose text is in the fields of a chat.
func (c *Counts) AddChat(fields string, n int) {
	if c.Chats == nil {
		c.Chats = map[string]int{}
	}
	c.Chats[fields] += n
}

// Garbled counts items with bytes that are not UTF-8.
type Garbled struct {
	Items int
	First int32 // its line
}

// AddGarbled adds what a batch of a source has.
func (c *Corpus) AddGarbled(source int32, more Garbled) {
	if more.Items == 0 {
		return
	}
	if c.Read.Garbled == nil {
		c.Read.Garbled = map[int32]Garbled{}
	}
	was := c.Read.Garbled[source]
	c.Read.Garbled[source] = Garbled{was.Items + more.Items, cmp.Or(was.First, more.First)}
}

// lacking returns the fields of texts that no document has. A shard does not know, and merge has not read them.
func (c *Corpus) lacking() (names []string) {
	if c.Read.Has == 0 || c.Reading.Shard.Of > 0 || c.Reading.Cols.IsRecord {
		return nil
	}
	for n, name := range c.Reading.Cols.Texts() {
		if c.Read.Has>>n&1 == 0 {
			names = append(names, name)
		}
	}
	return names
}

// NoteGarbled adds a note to each source that has some.
func (c *Corpus) NoteGarbled() {
	for n, of := range c.Read.Garbled {
		name := "UTF-8"
		if e := c.Sources[n].Encoding; e != nil {
			name = e.Name
		}
		c.Sources[n].Note("lines or rows with bytes that are not %s: %d, the first at line %d; such bytes count as spaces; use --encoding for another encoding", name, of.Items, of.First)
	}
}

// Skip reports what is wrong with the item at a place, or returns it if nothing may be skipped.
func (c *Corpus) Skip(at input.Place, err error) error {
	if err == input.ErrTooLong {
		err = fmt.Errorf("%w, which is %d bytes", err, c.Reading.MaxLine)
	}
	if at.Line > 0 { // otherwise the error has a place already
		err = fmt.Errorf("%s: %w", c.At(at), err)
	}
	if fatal := (fatalError{}); !c.Reading.SkipBad || errors.As(err, &fatal) {
		return err
	}
	if c.Read.Bad++; c.Read.Bad <= 20 || at.Line == 0 {
		fmt.Fprintln(c.Log.Errors, "neardup: skipped:", cli.Printable(err.Error(), 2000))
	}
	return nil
}
