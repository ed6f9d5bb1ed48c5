package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/valyala/fastjson"
)

// This file turns an item of an input, as input.go reads it, into a document with id, title, text
// and metadata. Ids must be valid Unicode, because distinct ids must stay distinct. Texts may
// contain any bytes.

// A document is a parsed item.
type document struct {
	id, title, text string
	metadata        []string // keywords, tags and so on, each as name=item
}

// whole returns the title, if there is one, and the text below it.
func (d *document) whole() string {
	if d.title == "" {
		return d.text
	}
	return d.title + "\n" + d.text
}

// parse returns the document of an item, or an error that says what is wrong with the item. The
// error has no place: the caller adds it. The document is only valid until the next call with x.
func (it *item) parse(s *source, cols columns, x *decoder) (document, error) {
	var d document
	switch {
	case it.err != nil:
		return d, it.err
	case it.row != nil:
		d.id, d.text = it.row[s.header.id], it.row[s.header.text]
		if s.header.title >= 0 {
			d.title = it.row[s.header.title]
		}
		for i, name := range cols.metadataNames() {
			d.metadata = appendItems(d.metadata, name, it.row[s.header.metadata[i]])
		}
		if !utf8.ValidString(d.id) {
			return d, errors.New("the id is not UTF-8")
		}
	case s.format == "txt":
		d.id, d.text = s.path, view(it.raw)
	case s.format == "lines":
		d.id, d.text = fmt.Sprintf("%s:%d", s.path, it.line), view(it.raw)
	default:
		if err := x.json(&d, it.raw, cols); err != nil {
			return d, err
		}
	}
	if d.id == "" {
		return d, errors.New("the id is empty")
	}
	return d, nil
}

// A decoder reads lines of JSON, for one worker.
type decoder struct{ parser fastjson.Parser }

// json sets the document from a line. Its title and text are only valid until the next line. Nearly all
// lines are objects of which fromObject makes sense, which takes a tenth of the time. encoding/json reads all
// others again, and says what is wrong with them.
func (x *decoder) json(d *document, line []byte, cols columns) error {
	if isPlain(line) {
		if v, err := x.parser.ParseBytes(line); err == nil && d.fromObject(v, cols) {
			return nil
		}
		*d = document{}
	}
	return d.fromJSON(line, cols)
}

// isPlain reports whether a line has nothing that fastjson takes and encoding/json does not, or repairs:
// control characters, bytes that are not UTF-8, escapes of surrogates, and wrong escapes. What else there may
// be, fromObject finds: bad values that are not strings.
func isPlain(line []byte) bool {
	if hasControl(line) || !utf8.Valid(line) {
		return false
	}
	for {
		i := bytes.IndexByte(line, '\\')
		if i < 0 {
			return true
		}
		if i+1 == len(line) {
			return false
		}
		switch c := line[i+1]; c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			line = line[i+2:]
		case 'u':
			if i+6 > len(line) {
				return false
			}
			x, err := strconv.ParseUint(view(line[i+2:i+6]), 16, 16)
			if err != nil || utf16.IsSurrogate(rune(x)) {
				return false
			}
			line = line[i+6:]
		default:
			return false
		}
	}
}

// view returns bytes as a string, without a copy.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// hasControl reports whether a line has control characters, which strings must not have.
func hasControl(line []byte) bool {
	for ; len(line) >= 8; line = line[8:] {
		// A byte below 32 is the only one whose highest bit is set after subtracting 32, and was not before. A
		// byte behind one may be taken for another, which changes nothing.
		const ones = 0x0101010101010101
		x := binary.LittleEndian.Uint64(line)
		if (x-32*ones)&^x&(128*ones) != 0 {
			return true
		}
	}
	for _, c := range line {
		if c < 32 {
			return true
		}
	}
	return false
}

// fromObject sets the document from an object that has an id and a text, and reports whether v is one. Of
// several fields with one name the last one counts, as in encoding/json.
func (d *document) fromObject(v *fastjson.Value, cols columns) bool {
	o, err := v.Object()
	if err != nil || cols.metadata != "" {
		return false
	}
	hasText, isGood := false, true
	o.Visit(func(name []byte, v *fastjson.Value) {
		if t := v.Type(); t == fastjson.TypeNumber || t == fastjson.TypeObject || t == fastjson.TypeArray {
			isGood = isGood && fastjson.Validate(v.String()) == nil
		}
		var to *string
		switch string(name) {
		case cols.id:
			if v.Type() == fastjson.TypeNumber { // keep its spelling
				d.id = v.String()
				return
			}
			to = &d.id
		case cols.text:
			to, hasText = &d.text, true
		case cols.title:
			to = &d.title
		default:
			return
		}
		text, err := v.StringBytes()
		*to, isGood = view(text), isGood && err == nil
	})
	return isGood && hasText && d.id != ""
}

// fromJSON sets the document from any line.
func (d *document) fromJSON(line []byte, cols columns) error {
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
	id := fields[cols.id]
	if len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') { // a number: keep its spelling
		d.id = string(id)
	} else if err := stringField(fields, cols.id, true, &d.id); err != nil {
		return err
	} else if isMangled(id) {
		return fmt.Errorf("%q is not valid Unicode: it has half a surrogate pair or bytes that are not UTF-8", cols.id)
	}
	if err := stringField(fields, cols.text, true, &d.text); err != nil {
		return err
	}
	for _, name := range cols.metadataNames() {
		if err := d.addMetadata(name, fields[name]); err != nil {
			return err
		}
	}
	return stringField(fields, cols.title, false, &d.title)
}

// addMetadata adds the items of a field. The field is a list of strings and numbers, or one string
// with several items.
func (d *document) addMetadata(name string, raw json.RawMessage) error {
	var list []json.RawMessage
	one := ""
	switch {
	case len(raw) == 0:
	case json.Unmarshal(raw, &one) == nil: // null becomes ""
		d.metadata = appendItems(d.metadata, name, one)
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			switch c := item[0]; {
			case c == '"':
				if err := json.Unmarshal(item, &one); err != nil {
					return err
				}
				d.metadata = appendItem(d.metadata, name, one)
			case c == '-' || c >= '0' && c <= '9': // a number: keep its spelling
				d.metadata = appendItem(d.metadata, name, string(item))
			default:
				return fmt.Errorf("%q contains %.100s, which is neither a string nor a number", name, item)
			}
		}
	default:
		return fmt.Errorf("%q is neither a string nor a list of strings", name)
	}
	return nil
}

// stringField sets to from a field with a string. If must is set, a field that is missing or null
// is an error; otherwise to stays as it is.
func stringField(fields map[string]json.RawMessage, name string, must bool, to *string) error {
	raw, ok := fields[name]
	if !ok || string(raw) == "null" {
		if must {
			return fmt.Errorf("there is no %q", name)
		}
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%q is not a string", name)
	}
	return nil
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
