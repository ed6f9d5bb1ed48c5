package rows

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// This file writes values as JSON, and reads them. encoding/json says what JSON is. Texts that fastjson reads in the same way are read by that, which
// takes a fifth of the time.

// AppendJSON appends a value as JSON.
func AppendJSON(b []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case Number:
		return append(b, v...)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return appendText(b, Text(v))
		}
		return append(b, formatFloat(v)...)
	case string:
		return appendText(b, v)
	case List:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendJSON(b, x)
		}
		return append(b, ']')
	case Struct:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendJSON(append(appendText(b, f.Name), ':'), f.Value)
		}
		return append(b, '}')
	}
	return appendText(b, Text(v))
}

// appendText appends a string of JSON. Unlike [json.Marshal], it leaves signs of HTML as they are.
func appendText(b []byte, text string) []byte {
	if isBare(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	var to bytes.Buffer
	e := json.NewEncoder(&to)
	e.SetEscapeHTML(false)
	e.Encode(text) // a string is always encoded
	return append(b, bytes.TrimSuffix(to.Bytes(), []byte("\n"))...)
}

// isBare reports whether a text is written in JSON as it is.
func isBare(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// ParseJSON returns the value of a text of JSON. Of several fields with one name, the last one counts.
func ParseJSON(text []byte) (Value, error) {
	if IsPlain(text) {
		if v, ok := parsePlain(text); ok {
			return v, nil
		}
	}
	return parseAny(text)
}

// parseAny is ParseJSON by encoding/json.
func parseAny(text []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decode(d)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return v, nil
		}
		err = fmt.Errorf("not JSON: unexpected data after the value")
	}
	return nil, err
}

// decode reads the next value.
func decode(d *json.Decoder) (Value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return Number(t), nil
	case json.Delim:
		if t == '[' {
			return decodeList(d)
		}
		return decodeStruct(d)
	}
	return t, nil // nil, bool or string
}

// decodeList reads the rest of a list.
func decodeList(d *json.Decoder) (Value, error) {
	list := List{}
	for d.More() {
		v, err := decode(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

// decodeStruct reads the rest of an object.
func decodeStruct(d *json.Decoder) (Value, error) {
	f := fields{all: Struct{}}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decode(d)
		if err != nil {
			return nil, err
		}
		f.set(name.(string), v)
	}
	_, err := d.Token()
	return f.all, err
}

var parsers fastjson.ParserPool

// parsePlain is ParseJSON for a text that is plain. It reports false if the text is no JSON.
func parsePlain(text []byte) (Value, bool) {
	p := parsers.Get()
	defer parsers.Put(p)
	v, err := p.ParseBytes(text)
	if err != nil {
		return nil, false
	}
	return plainValue(v)
}

// plainValue returns a value of fastjson, and whether encoding/json has it too.
func plainValue(v *fastjson.Value) (Value, bool) {
	switch v.Type() {
	case fastjson.TypeString:
		text, err := v.StringBytes()
		return string(text), err == nil
	case fastjson.TypeNumber:
		text := v.String()
		return Number(text), fastjson.Validate(text) == nil
	case fastjson.TypeArray:
		all, _ := v.Array()
		list := make(List, len(all))
		for i, x := range all {
			var ok bool
			if list[i], ok = plainValue(x); !ok {
				return nil, false
			}
		}
		return list, true
	case fastjson.TypeObject:
		return plainStruct(v)
	case fastjson.TypeTrue:
		return true, true
	case fastjson.TypeFalse:
		return false, true
	}
	return nil, true
}

// plainStruct is plainValue for an object.
func plainStruct(v *fastjson.Value) (Value, bool) {
	o, _ := v.Object()
	f, ok := fields{all: make(Struct, 0, min(o.Len(), fewFields))}, true
	o.Visit(func(name []byte, v *fastjson.Value) {
		value, isGood := plainValue(v)
		ok = ok && isGood
		f.set(string(name), value)
	})
	return f.all, ok
}

// fields collects the fields of an object. Of several with one name, the last one counts, in the place of the first.
type fields struct {
	all Struct
	at  map[string]int // of objects with many fields
}

// fewFields is up to how many fields looking through them is faster than a map.
const fewFields = 16

func (f *fields) set(name string, v Value) {
	i, ok := f.find(name)
	if ok {
		f.all[i].Value = v
		return
	}
	f.all = append(f.all, Field{name, v})
	switch n := len(f.all); {
	case f.at != nil:
		f.at[name] = n - 1
	case n > fewFields:
		f.at = make(map[string]int, 2*n)
		for i := range f.all {
			f.at[f.all[i].Name] = i
		}
	}
}

func (f *fields) find(name string) (i int, ok bool) {
	if f.at != nil {
		i, ok = f.at[name]
		return i, ok
	}
	i = slices.IndexFunc(f.all, func(x Field) bool { return x.Name == name })
	return i, i >= 0
}

// IsPlain reports whether a text has nothing in its strings that fastjson reads in another way than encoding/json: control characters, bytes that are
// not UTF-8, escapes of surrogates, and wrong escapes. Its other values may still be bad; fastjson.Validate finds that.
func IsPlain(line []byte) bool {
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
			x, err := strconv.ParseUint(string(line[i+2:i+6]), 16, 16)
			if err != nil || utf16.IsSurrogate(rune(x)) {
				return false
			}
			line = line[i+6:]
		default:
			return false
		}
	}
}

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
