package input

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// This file finds texts that are not simply the value of a field: those within objects and lists, such as the turns of a chat.
//
//	messages                      all texts in it
//	messages.content              in each element of a list, the field content
//	messages[0].content           in its first element, and with -1 in its last one
//	messages[role=user].content   in the elements whose field role is user
//
// A field whose name has these characters itself comes first. What a path leads to may be a text, a list, or an object that has its
// texts in the field text, content or value, as the messages of a chat and their parts have. Everything else, such as an image, is
// counted and skipped.

// A textPath leads to texts in a value.
type textPath []pathStep

// A pathStep goes to a field, and from there to some elements.
type pathStep struct {
	name   string
	chosen []choice
}

// A choice is a part of a list: an element, or those whose field has a value.
type choice struct {
	at           int
	field, value string // "" for the element at a place
}

// parsePath reads a path.
func parsePath(text string) (p textPath, err error) {
	wrong := func() error {
		return fmt.Errorf("%q is not a path such as messages.content, messages[0].content or messages[role=user].content", text)
	}
	for rest := text; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		step := pathStep{name: rest[:end]}
		if rest = rest[end:]; step.name == "" {
			return nil, wrong()
		}
		for strings.HasPrefix(rest, "[") {
			inside, after, ok := strings.Cut(rest[1:], "]")
			var c choice
			field, value, isField := strings.Cut(inside, "=")
			if isField {
				c.field, c.value = strings.TrimSpace(field), strings.TrimSpace(value)
			} else if c.at, err = strconv.Atoi(inside); err != nil {
				ok = false
			}
			if !ok || isField && c.field == "" {
				return nil, wrong()
			}
			step.chosen, rest = append(step.chosen, c), after
		}
		p = append(p, step)
		if rest == "" {
			return p, nil
		}
		if rest[0] != '.' {
			return nil, wrong()
		}
		rest = rest[1:]
	}
}

// fields returns the names on the way with points between them, and whether only the last step may choose elements, so that a column
// may have this name.
func (p textPath) fields() (name string, isPlain bool) {
	names := make([]string, len(p))
	for i, step := range p {
		names[i] = step.name
		if i+1 < len(p) && step.chosen != nil {
			return "", false
		}
	}
	return strings.Join(names, "."), true
}

// textsIn returns the texts in a column that has JSON, or is a text itself.
func (p textPath) textsIn(column string) (text string, others int) {
	v, ok := jsonWithin(column)
	if !ok {
		return column, 0
	}
	return p.texts(rows.Struct{{Name: p[0].name, Value: v}})
}

// each calls take with the texts that a path leads to, in order. It returns how many values are not texts.
func (p textPath) each(v rows.Value, take func(text string)) (others int) {
	switch v := v.(type) {
	case nil:
		return 0
	case rows.List:
		for _, x := range v {
			others += p.each(x, take)
		}
		return others
	case string:
		if len(p) == 0 {
			take(v)
			return 0
		}
		if inner, ok := jsonWithin(v); ok {
			return p.each(inner, take)
		}
	case rows.Struct:
		if len(p) > 0 {
			x := fieldOf(v, p[0].name)
			for _, c := range p[0].chosen {
				x = c.of(x)
			}
			return p[1:].each(x, take)
		}
		for _, name := range []string{"text", "content", "value"} {
			if x := fieldOf(v, name); x != nil {
				return p.each(x, take)
			}
		}
	}
	return 1
}

// of returns the chosen part of a list. An object counts as a list with one element.
func (c choice) of(v rows.Value) rows.Value {
	if s, ok := v.(string); ok {
		v, _ = jsonWithin(s)
	}
	list, isList := v.(rows.List)
	if !isList {
		list = rows.List{v}
	}
	if c.field == "" {
		at := c.at
		if at < 0 {
			at += len(list)
		}
		if at < 0 || at >= len(list) {
			return nil
		}
		return list[at]
	}
	var chosen rows.List
	for _, x := range list {
		if s, ok := x.(rows.Struct); ok {
			if y := fieldOf(s, c.field); y != nil && rows.Text(y) == c.value {
				chosen = append(chosen, x)
			}
		}
	}
	return chosen
}

// fieldOf returns a field of an object, or nil.
func fieldOf(s rows.Struct, name string) rows.Value {
	for _, f := range s {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// jsonWithin returns the list or object that a text is, as some tables have them.
func jsonWithin(text string) (rows.Value, bool) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '[' && text[0] != '{' {
		return nil, false
	}
	v, err := rows.ParseJSON([]byte(text))
	return v, err == nil
}

// texts returns the texts that a path leads to as one, with a line for each.
func (p textPath) texts(v rows.Value) (text string, others int) {
	var lines []string
	others = p.each(v, func(text string) { lines = append(lines, text) })
	return strings.Join(lines, "\n"), others
}

// chats are the fields of chats and of data for instructions. Those with a mark must be there. They are read if the default field is
// missing and --text is not given.
var chats = [][]string{{"messages!"}, {"conversations!"}, {"instruction!", "input", "output!"}, {"prompt", "chosen!", "rejected!"}, {"prompt!", "completion!"}}

// turnsOf returns the path to the turns of a chat, if a field has the name of one: a text in it may be a list of turns in JSON. For other
// fields it returns nil.
func turnsOf(name string) textPath {
	if name == "messages" || name == "conversations" {
		return textPath{{name: name}}
	}
	return nil
}

// chatFields returns the fields of a chat, if there are any.
func chatFields(has func(name string) bool) (fields []string) {
	for _, chat := range chats {
		fields = fields[:0]
		isChat := true
		for _, name := range chat {
			name, must := strings.CutSuffix(name, "!")
			if has(name) {
				fields = append(fields, name)
			} else if must {
				isChat = false
			}
		}
		if isChat {
			return fields
		}
	}
	return nil
}

// usualTexts are the names that texts often have in files of others.
var usualTexts = []string{"content", "body", "raw_content", "article", "document"}

// proposal returns the flag that an error about a missing text proposes, or "".
func proposal(names []string) string {
	for _, usual := range usualTexts {
		if slices.Contains(names, usual) {
			return "; perhaps you need --text " + usual
		}
	}
	return ""
}

// defaultText is the field of the text if --text is not given.
const defaultText = "text"
