package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
)

// This file turns an item of an input, as input.go reads it, into a document with id, title, text
// and metadata. Ids must be valid Unicode, because distinct ids must stay distinct. Texts may
// contain any bytes.

// A Document is a parsed item.
type Document struct {
	ID, title, Text string
	ByPlace         bool     // the id is where it stands, because it has none
	Metadata        []string // keywords, tags and so on, each as name=item

	// Lacks has a bit for each of several fields of texts that an object of JSON has not. Other formats, and a single text, say otherwise
	// what is missing.
	Lacks uint64

	Chat   string // the fields of a chat that were read instead of the default field, with commas between them
	Others int    // values in the fields of the text that are not texts, such as images in a chat
}

// Whole returns the title, if there is one, and the text below it.
func (d *Document) Whole() string {
	if d.title == "" {
		return d.Text
	}
	return d.title + "\n" + d.Text
}

// A Decoder reads values of JSON, for one worker.
type Decoder struct{ parser fastjson.Parser }

// Parse returns the document of an item, or an error that says what is wrong with the item. The
// error has no place: the caller adds it. The document is only valid until the next call with x.
func (it *Item) Parse(s *Source, cols Columns, x *Decoder) (Document, error) {
	var d Document
	switch {
	case it.Err != nil:
		return d, it.Err
	case it.Row != nil:
		h := s.Header
		if h.id >= 0 {
			d.ID = it.Row[h.id]
		} else {
			d.ByPlace = true
		}
		for n, i := range h.text {
			text := it.Row[i]
			if p := h.within[n]; p != nil {
				var others int
				text, others = p.textsIn(text)
				d.Others += others
			}
			d.addText(text, n == 0)
		}
		if h.title >= 0 {
			d.title = it.Row[h.title]
		}
		for i, name := range cols.MetadataNames() {
			d.Metadata = appendItems(d.Metadata, name, it.Row[h.metadata[i]])
		}
		if !utf8.ValidString(d.ID) {
			return d, errors.New("the id is not UTF-8")
		}
	case s.Format == "txt" || s.Format == "html":
		d.ID, d.Text = s.id(), view(it.Raw)
		if s.Format == "html" {
			d.Text = htmlText.Normalize(d.Text)
		}
	case s.Format == "lines":
		d.ByPlace, d.Text = true, view(it.Raw)
	default:
		if err := x.json(&d, it.Raw, cols); err != nil {
			return d, err
		}
	}
	return d, it.identify(&d, s)
}

// identify gives a document without an id the place where it stands. An empty id is an error.
func (it *Item) identify(d *Document, s *Source) error {
	if d.ByPlace {
		d.ID = fmt.Sprintf("%s:%d", s.id(), it.Line)
	}
	if d.ID == "" {
		return errors.New("the id is empty")
	}
	return nil
}

// id returns the path, for the ids of documents. One that is not UTF-8 is escaped, since ids are UTF-8.
func (s *Source) id() string {
	if utf8.ValidString(s.Path) {
		return s.Path
	}
	return cli.Escape(s.Path)
}

// htmlText makes the text of a page of HTML.
var htmlText = neardup.Normalizer{HTML: true}

// addText adds the text of a field.
func (d *Document) addText(text string, isFirst bool) {
	if isFirst || d.Text == "" {
		d.Text = text
	} else if text != "" {
		d.Text += "\n" + text
	}
}

// appendItems appends the items of a field that has several in one string.
func appendItems(items []string, name, value string) []string {
	for item := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(",;|\n，；、", r) }) {
		items = appendItem(items, name, item)
	}
	return items
}

// appendItem appends an item. The item contains the name of its field, because a tag is not a
// keyword.
func appendItem(items []string, name, item string) []string {
	if item = strings.ToLower(strings.Join(strings.Fields(item), " ")); item != "" {
		items = append(items, name+"="+item)
	}
	return items
}

// Key returns a string that is equal for documents with the same text and the same set of metadata,
// and different for all others. Every part has its length in front, so no text can look like
// metadata.
func (d *Document) Key() string {
	items := slices.Clone(d.Metadata)
	slices.Sort(items)
	var b strings.Builder
	for _, part := range append([]string{d.Whole()}, slices.Compact(items)...) {
		fmt.Fprintf(&b, "%d:", len(part))
		b.WriteString(part)
	}
	return b.String()
}
