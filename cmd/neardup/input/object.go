package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/valyala/fastjson"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file turns a JSON object into a document: which fields are its id, title, text and metadata.

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
	if err != nil || cols.Metadata != "" || turnsOf(cols.Text) != nil {
		return false // fields within fields, several texts, and chats are found by fromJSON
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
	has := func(name string) bool { _, ok := fields[name]; return ok }
	names, isChat := cols.textNames(has(cols.Text), has)
	if isChat {
		d.Chat = strings.Join(names, ",")
	}
	for n, name := range names {
		text, isThere, err := d.textField(fields, name, len(names) == 1)
		if err != nil {
			return err
		}
		if !isThere {
			d.Lacks |= 1 << n
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
		return missing(fields, name)
	}
	if ok && json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("%q is not a string", name)
	}
	return nil
}

// textField returns the text of a field, or the texts that a path leads to. A field that is missing is an error if it must be there.
func (d *Document) textField(fields map[string]json.RawMessage, name string, must bool) (text string, isThere bool, err error) {
	raw, ok := field(fields, name)
	path := textPath{{name: name}}
	switch {
	case ok && json.Unmarshal(raw, &text) == nil:
		if path = turnsOf(name); path == nil {
			return text, true, nil
		}
		text, others := path.textsIn(text)
		d.Others += others
		return text, true, nil
	case ok && raw[0] != '[' && raw[0] != '{':
		return "", false, fmt.Errorf("%q is not a string", name)
	case !ok:
		if path, err = parsePath(name); err != nil {
			return "", false, err
		}
		if raw, ok = fields[path[0].name]; !ok || len(path) == 1 && path[0].chosen == nil {
			if must {
				err = missingText(fields, name)
			}
			return "", false, err
		}
	}
	v, err := rows.ParseJSON(raw)
	if err != nil {
		return "", false, err
	}
	text, others := path.texts(rows.Struct{{Name: path[0].name, Value: v}})
	d.Others += others
	return text, true, nil
}

// missing returns the error of an object without a field.
func missing(fields map[string]json.RawMessage, name string) error {
	return fmt.Errorf("no field %q; the fields are %q", name, slices.Sorted(maps.Keys(fields)))
}

// missingText is missing for the field of the text. It proposes one.
func missingText(fields map[string]json.RawMessage, name string) error {
	err := missing(fields, name)
	if name == defaultText {
		err = fmt.Errorf("%w%s", err, proposal(slices.Sorted(maps.Keys(fields))))
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
