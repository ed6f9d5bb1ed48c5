package pipeline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// This file says how the inputs were read, as far as the user may not expect it.

// sayNotes tells how the inputs were read, as far as the user may not expect it.
func (c *collection) sayNotes() {
	const most = 20
	said := 0
	say := func(format string, args ...any) {
		if said++; said <= most {
			fmt.Fprintln(c.stderr, "neardup:", cli.Printable(fmt.Sprintf(format, args...), 500))
		}
	}
	for i := range c.Sources {
		if s := &c.Sources[i]; len(s.Notes) > 0 {
			say("%s: %s", s.Path, strings.Join(s.Notes, "; "))
		}
	}
	if said > most {
		fmt.Fprintf(c.stderr, "neardup: and %d more files of such kinds\n", said-most)
	}
	some := func(paths []string) string { return strings.Join(paths[:min(len(paths), 5)], ", ") }
	if n := len(c.passed); n > 0 {
		said = 0
		say("%d files in the directories have other formats and are not read: %s", n, some(c.passed))
	}
	if n := len(c.hidden); n > 0 {
		said = 0
		say("%d hidden files and folders are not read: %s", n, some(c.hidden))
	}
	for _, name := range c.lacking() {
		said = 0
		say("no document has a field %q", name)
	}
	if c.byPlace > 0 {
		said = 0
		by := "their file and line"
		if c.cols.WithoutID == "hash" {
			by = "a hash of their text"
		}
		say("%d documents have no %q; they are known by %s", c.byPlace, c.cols.ID, by)
	}
}

// garbled counts items with bytes that are not UTF-8.
type garbled struct {
	items int
	first int32 // its line
}

// addGarbled adds what a batch of a source has.
func (c *collection) addGarbled(source int32, more garbled) {
	if more.items == 0 {
		return
	}
	if c.garbled == nil {
		c.garbled = map[int32]garbled{}
	}
	was := c.garbled[source]
	c.garbled[source] = garbled{was.items + more.items, cmp.Or(was.first, more.first)}
}

// lacking returns the fields of texts that no document has. A shard does not know, and merge has not read them.
func (c *collection) lacking() (names []string) {
	if c.has == 0 || c.part != nil || c.cols.IsRecord {
		return nil
	}
	for n, name := range c.cols.Texts() {
		if c.has>>n&1 == 0 {
			names = append(names, name)
		}
	}
	return names
}

// noteGarbled has it said.
func (c *collection) noteGarbled() {
	for n, of := range c.garbled {
		name := "UTF-8"
		if e := c.Sources[n].Encoding; e != nil {
			name = e.Name
		}
		c.Sources[n].Note("lines or rows with bytes that are not %s: %d, line %d is the first; such bytes count as spaces; --encoding names another encoding", name, of.items, of.first)
	}
}
