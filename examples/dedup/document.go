package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A document is a parsed item.
type document struct {
	id, title, text string
	metadata        []string // keywords, tags and the like, each as name=item
}

// whole returns the text with its title.
func (d *document) whole() string {
	if d.title == "" {
		return d.text
	}
	return d.title + "\n" + d.text
}

// parse makes a document of an item, or says what is wrong with it.
func (it *item) parse(s *source, cols columns) (document, error) {
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
		d.id, d.text = s.path, string(it.raw)
	case s.format == "lines":
		d.id, d.text = fmt.Sprintf("%s:%d", s.path, it.line), string(it.raw)
	default:
		if err := d.fromJSON(it.raw, cols); err != nil {
			return d, err
		}
	}
	if d.id == "" {
		return d, errors.New("empty id")
	}
	return d, nil
}

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
	if len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') { // a number, as it is written
		d.id = string(id)
	} else if err := stringField(fields, cols.id, true, &d.id); err != nil {
		return err
	} else if isMangled(id) {
		return fmt.Errorf("%q is not Unicode: it has half a surrogate pair or bytes that are not UTF-8", cols.id)
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

// addMetadata adds the items of a field: a list of strings or numbers, or a string that has
// them.
func (d *document) addMetadata(name string, raw json.RawMessage) error {
	var list []json.RawMessage
	one := ""
	switch {
	case len(raw) == 0:
	case json.Unmarshal(raw, &one) == nil: // null is "" too
		d.metadata = appendItems(d.metadata, name, one)
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			switch c := item[0]; {
			case c == '"':
				if err := json.Unmarshal(item, &one); err != nil {
					return err
				}
				d.metadata = appendItem(d.metadata, name, one)
			case c == '-' || c >= '0' && c <= '9': // as it is written
				d.metadata = appendItem(d.metadata, name, string(item))
			default:
				return fmt.Errorf("%q has %.100s, which is neither a string nor a number", name, item)
			}
		}
	default:
		return fmt.Errorf("%q is neither a string nor a list of strings", name)
	}
	return nil
}

func stringField(fields map[string]json.RawMessage, name string, must bool, to *string) error {
	raw, ok := fields[name]
	if !ok || string(raw) == "null" {
		if must {
			return fmt.Errorf("no %q", name)
		}
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%q is not a string", name)
	}
	return nil
}

// isMangled reports whether decoding a JSON string replaces what is not Unicode,
// bytes that are not UTF-8 or half a surrogate pair, so that different strings
// become one.
func isMangled(raw []byte) bool {
	if !utf8.Valid(raw) {
		return true
	}
	unit := func(i int) rune { // of the escape \uXXXX at i, or 0
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
			i++ // whatever is escaped
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
