package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/valyala/fastjson"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/rows"
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
}

// Whole returns the title, if there is one, and the text below it.
func (d *Document) Whole() string {
	if d.title == "" {
		return d.Text
	}
	return d.title + "\n" + d.Text
}

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
			d.addText(it.Row[i], n == 0)
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

// A Decoder reads values of JSON, for one worker.
type Decoder struct{ parser fastjson.Parser }

// json sets the document from a line. Its title and text are only valid until the next line. Nearly all
// lines are objects of which fromObject makes sense, which takes a tenth of the time. encoding/json reads all
// others again, and says what is wrong with them.
func (x *Decoder) json(d *Document, line []byte, cols Columns) error {
	if rows.IsPlain(line) {
		if v, err := x.parser.ParseBytes(line); err == nil && d.fromObject(v, cols) {
			return nil
		}
		*d = Document{}
	}
	return d.fromJSON(line, cols)
}

// view returns bytes as a string, without a copy.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fromObject sets the document from an object that has an id and a text, and reports whether v is one. Of
// several fields with one name the last one counts, as in encoding/json.
func (d *Document) fromObject(v *fastjson.Value, cols Columns) bool {
	o, err := v.Object()
	if err != nil || cols.Metadata != "" {
		return false // fields within fields, and several texts, are found by fromJSON
	}
	hasText, isGood := false, true
	o.Visit(func(name []byte, v *fastjson.Value) {
		if t := v.Type(); t == fastjson.TypeNumber || t == fastjson.TypeObject || t == fastjson.TypeArray {
			isGood = isGood && fastjson.Validate(v.String()) == nil
		}
		var to *string
		switch string(name) {
		case cols.ID:
			if v.Type() == fastjson.TypeNumber { // keep its spelling
				d.ID = v.String()
				return
			}
			to = &d.ID
		case cols.Text:
			to, hasText = &d.Text, true
		case cols.Title:
			to = &d.title
		default:
			return
		}
		text, err := v.StringBytes()
		*to, isGood = view(text), isGood && err == nil
	})
	return isGood && hasText && d.ID != ""
}

// fromJSON sets the document from any line.
func (d *Document) fromJSON(line []byte, cols Columns) error {
	if isString(line) && !cols.IDGiven {
		d.ByPlace = true
		return json.Unmarshal(line, &d.Text)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("not JSON: %w at byte %d", err, syntax.Offset)
		}
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if fields == nil {
		return errors.New("not a JSON object: null")
	}
	if err := d.setID(fields, cols); err != nil {
		return err
	}
	names := cols.Texts()
	if _, ok := fields[cols.Text]; ok { // a name with a comma
		names = []string{cols.Text}
	}
	for n, name := range names {
		text := ""
		if _, ok := field(fields, name); !ok {
			d.Lacks |= 1 << n
		}
		if err := textField(fields, name, len(names) == 1, &text); err != nil {
			return err
		}
		d.addText(text, n == 0)
	}
	for _, name := range cols.MetadataNames() {
		raw, _ := field(fields, name)
		if err := d.addMetadata(name, raw); err != nil {
			return err
		}
	}
	return stringField(fields, cols.Title, false, &d.title)
}

// setID sets the id from the fields of a line: a string, or a number as it is spelt. Without one, unless it was asked for, the place is the id.
func (d *Document) setID(fields map[string]json.RawMessage, cols Columns) error {
	switch id, ok := field(fields, cols.ID); {
	case !cols.IDGiven && (!ok || string(id) == "null"):
		d.ByPlace = true
	case len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9'):
		d.ID = string(id)
	default:
		if err := stringField(fields, cols.ID, true, &d.ID); err != nil {
			return err
		} else if isMangled(id) {
			return fmt.Errorf("%q is not valid Unicode: it has half a surrogate pair or bytes that are not UTF-8", cols.ID)
		}
	}
	return nil
}

// isString reports whether a value of JSON is a string: then it is a text, without anything else.
func isString(value []byte) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	return len(value) > 0 && value[0] == '"'
}

// addMetadata adds the items of a field. The field is a list of strings and numbers, or one string
// with several items.
func (d *Document) addMetadata(name string, raw json.RawMessage) error {
	var list []json.RawMessage
	one := ""
	switch {
	case len(raw) == 0:
	case json.Unmarshal(raw, &one) == nil: // null becomes ""
		d.Metadata = appendItems(d.Metadata, name, one)
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			switch c := item[0]; {
			case c == '"':
				if err := json.Unmarshal(item, &one); err != nil {
					return err
				}
				d.Metadata = appendItem(d.Metadata, name, one)
			case c == '-' || c >= '0' && c <= '9': // a number: keep its spelling
				d.Metadata = appendItem(d.Metadata, name, string(item))
			default:
				return fmt.Errorf("%q contains %.100s, which is neither a string nor a number", name, item)
			}
		}
	default:
		return fmt.Errorf("%q is neither a string nor a list of strings", name)
	}
	return nil
}

// field returns a field. A name with a point that no field has is a path to a field within others.
func field(fields map[string]json.RawMessage, name string) (raw json.RawMessage, ok bool) {
	if raw, ok = fields[name]; ok {
		return raw, true
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		var inner map[string]json.RawMessage
		if raw, ok = fields[name[:i]]; ok && json.Unmarshal(raw, &inner) == nil {
			if raw, ok = field(inner, name[i+1:]); ok {
				return raw, true
			}
		}
	}
	return nil, false
}

// stringField sets to from a field with a string. If must is set, a field that is missing is an error; otherwise, and if it is null, to stays
// as it is.
func stringField(fields map[string]json.RawMessage, name string, must bool, to *string) error {
	raw, ok := field(fields, name)
	if !ok && must {
		return fmt.Errorf("no field %q; the fields are %q", name, slices.Sorted(maps.Keys(fields)))
	}
	if ok && json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("%q is not a string", name)
	}
	return nil
}

// usualTexts are the names that texts often have in files of others.
var usualTexts = []string{"content", "body", "raw_content", "article", "document"}

// textField is stringField for a text, which may also be a list of strings, each of them a paragraph.
func textField(fields map[string]json.RawMessage, name string, must bool, to *string) error {
	err := stringField(fields, name, must, to)
	if err == nil {
		return nil
	}
	raw, ok := field(fields, name)
	if !ok && name == "text" { // the default
		for _, usual := range usualTexts {
			if _, ok := fields[usual]; ok {
				return fmt.Errorf("%w; perhaps you need --text %s", err, usual)
			}
		}
	}
	var list []string
	if ok && json.Unmarshal(raw, &list) == nil {
		*to = strings.Join(list, "\n")
		return nil
	}
	return err
}

// isMangled reports whether decoding a JSON string would replace something: bytes that are not
// UTF-8, or half a surrogate pair. Then two different ids could become the same.
func isMangled(raw []byte) bool {
	if !utf8.Valid(raw) {
		return true
	}
	unit := func(i int) rune { // the UTF-16 unit of the escape \uXXXX at i; 0 if there is none
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0
		}
		x, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(x)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch r := unit(i); {
		case r == 0:
			i++ // another escape: skip its second character
		case !utf16.IsSurrogate(r):
			i += 5
		case utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// readJSON is read for a file with an array of objects, or with objects one after the other. The line of an
// object is the line that it begins in, or if others began there, counts on from it.
func (s *reader) readJSON(r io.Reader) error {
	counted := &lineCounter{r: r, room: max(s.cols.Room/2, int64(s.maxLine))}
	d := json.NewDecoder(counted)
	counted.used = d.InputOffset
	fail := func(err error) error { return s.wrongJSON(err, d, counted) }
	isArray, last := false, int32(0)
	for first := true; ; first = false {
		if first && counted.begin() == '[' {
			isArray = true
			if _, err := d.Token(); err != nil {
				return fail(err)
			}
		}
		if isArray && !d.More() {
			if _, err := d.Token(); err != nil {
				return fail(err)
			}
			isArray = false // what follows it is read like what follows an object
		}
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF && !isArray {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		// Places are told apart by their lines, so objects in one line count on from it.
		last = max(counted.line(d.InputOffset()-int64(len(raw))), last+1)
		it := s.at(last)
		if it.Raw = raw; len(raw) > s.maxLine {
			it.Raw, it.Err = nil, ErrTooLong
		}
		it.isLossy = s.Encoding != nil && hasReplaced(it.Raw)
		if !s.yield(it) {
			return nil
		}
	}
}

// wrongJSON returns the error of a decoder with the line where it is.
func (s *reader) wrongJSON(err error, d *json.Decoder, counted *lineCounter) error {
	offset := d.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset, err = syntax.Offset, fmt.Errorf("not JSON: %w", err)
	} else if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = errors.New("the file ends in the middle of a value")
	}
	return fmt.Errorf("%s:%d: %w", s.Path, counted.line(offset), err)
}

// A lineCounter knows where the lines of what was read begin, from the last place that was asked for.
type lineCounter struct {
	r     io.Reader
	ends  []int64 // where lines end
	lines int32   // how many ends were dropped
	read  int64
	ahead []byte

	room int64        // how many bytes may be read ahead of used
	used func() int64 // the end of the last value
}

func (c *lineCounter) Read(p []byte) (n int, err error) {
	if c.read-c.used() > c.room {
		return 0, fmt.Errorf("a value has more than %d bytes and does not fit in memory", c.room)
	}
	if len(c.ahead) > 0 {
		n = copy(p, c.ahead)
		c.ahead = c.ahead[n:]
	} else {
		n, err = c.r.Read(p)
	}
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// begin reads the white space before the first value, and returns the byte behind it; 0 if there is none.
func (c *lineCounter) begin() byte {
	b := make([]byte, 1<<12)
	for {
		n, err := c.r.Read(b)
		text := bytes.TrimLeft(b[:n], " \t\r\n")
		c.lines += int32(bytes.Count(b[:n-len(text)], []byte("\n")))
		if len(text) > 0 {
			c.ahead = text
			return text[0]
		}
		if err != nil {
			return 0
		}
	}
}

// line returns the line of a place, which must not be before that of the last call.
func (c *lineCounter) line(offset int64) int32 {
	n := 0
	for n < len(c.ends) && c.ends[n] < offset {
		n++
	}
	c.lines += int32(n)
	c.ends = c.ends[n:]
	return c.lines + 1
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
