package input

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// chat is a value with what chats have: parts, values that are not texts, and lists within lists.
const chat = `{"meta":{"turns":[[{"text":"deep"}]]},"a.b":"c","messages":[
	{"role":"system","content":"Be kind."},
	{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"x"}}]},
	{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},
	{"role":"user","content":["And", "that?", 7]}]}`

// TestPath: what paths lead to in a chat.
func TestPath(t *testing.T) {
	v, err := rows.ParseJSON([]byte(chat))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		text   string
		others int
	}{
		"messages":                                    {"Be kind.|What is this?|And|that?", 3},
		"messages.content":                            {"Be kind.|What is this?|And|that?", 2},
		"messages[0]":                                 {"Be kind.", 0},
		"messages[0].content":                         {"Be kind.", 0},
		"messages[-1].content":                        {"And|that?", 1},
		"messages[-1].content[1]":                     {"that?", 0},
		"messages[role=user].content":                 {"What is this?|And|that?", 2},
		"messages[role=user][0].content":              {"What is this?", 1},
		"messages[ role = system ].content":           {"Be kind.", 0},
		"messages[role=user].content[type=text].text": {"What is this?", 0},
		"messages[role=nobody].content":               {"", 0},
		"messages[9].content":                         {"", 0},
		"messages[-9].content":                        {"", 0},
		"messages.content.type":                       {"text|image_url", 4},
		"meta.turns":                                  {"deep", 0},
		"meta.turns.text":                             {"deep", 0},
		"meta":                                        {"", 1},
		"nothing":                                     {"", 0},
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, others := p.texts(v)
		if text = strings.ReplaceAll(text, "\n", "|"); text != want.text || others != want.others {
			t.Errorf("%s: %q and %d others, not %q and %d", path, text, others, want.text, want.others)
		}
	}
	for _, path := range []string{"", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[x]", "a[=x]", "a[0", "a[0]b", "a[0]..b"} {
		if p, err := parsePath(path); err == nil {
			t.Errorf("%q is the path %v", path, p)
		}
	}
}

// TestChatFields: which fields are read if there is no field "text".
func TestChatFields(t *testing.T) {
	for line, want := range map[string]string{
		`{"messages":[{"role":"user","content":"a"},{"content":"b"}]}`:                "a|b",
		`{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}`: "a|b",
		`{"messages":"[{\"role\":\"user\",\"content\":\"a\"}]"}`:                      "a",
		`{"messages":"a text"}`:                                                                      "a text",
		`{"messages":[]}`:                                                                            "",
		`{"messages":null}`:                                                                          "",
		`{"instruction":"a","input":"b","output":"c"}`:                                               "a|b|c",
		`{"instruction":"a","input":"","output":"c"}`:                                                "a|c",
		`{"instruction":"a","output":"c"}`:                                                           "a|c",
		`{"prompt":"a","chosen":"b","rejected":"c"}`:                                                 "a|b|c",
		`{"chosen":[{"role":"user","content":"a"}],"rejected":[{"content":"c"}]}`:                    "a|c",
		`{"prompt":[{"content":"a"}],"completion":[{"content":"b"}]}`:                                "a|b",
		`{"text":"t","messages":[{"content":"a"}]}`:                                                  "t",
		`{"messages":[{"content":[{"type":"text","text":"a"},{"type":"input_audio","data":"x"}]}]}`:  "a",
		`{"messages":[{"role":"assistant","content":"a","tool_calls":[{"function":{"name":"f"}}]}]}`: "a",
		`{"messages":[{"role":"tool","content":[{"type":"tool_result","content":[{"text":"a"}]}]}]}`: "a",
		`{"messages":{"role":"user","content":"a"}}`:                                                 "a",
		`{"conversations":["a","b"]}`:                                                                "a|b",
		`{"conversations":[["a"],["b"]]}`:                                                            "a|b",
		`{"conversations":[{"from":"human","value":"a","weight":0},{"from":"gpt","content":"b"}]}`:   "a|b",
		`{"instruction":["a","b"],"output":"c"}`:                                                     "a|b|c",
	} {
		var d Document
		if err := new(Decoder).json(&d, []byte(line), Columns{ID: "id", Text: "text", Title: "title"}); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if text := strings.ReplaceAll(d.Text, "\n", "|"); text != want || (d.Chat == "") != strings.Contains(line, `"text":"t"`) {
			t.Errorf("%s: %q, from %q", line, text, d.Chat)
		}
	}
	for _, line := range []string{`{"content":"a"}`, `{"instruction":"a"}`, `{"prompt":"a"}`, `{"chosen":"a"}`, `{"id":1}`, `{"text":7}`, `{"text":true}`} {
		var d Document
		if err := new(Decoder).json(&d, []byte(line), Columns{ID: "id", Text: "text", Title: "title"}); err == nil {
			t.Errorf("%s: the text is %q", line, d.Text)
		}
	}
	var d Document
	err := new(Decoder).json(&d, []byte(`{"content":"a","id":1}`), Columns{ID: "id", Text: "text"})
	if err == nil || !strings.Contains(err.Error(), "--text content") {
		t.Errorf("the error proposes nothing: %v", err)
	}
}

// FuzzPath: a path leads to something in any value, and a path of names alone to what encoding/json has there.
func FuzzPath(f *testing.F) {
	f.Add("messages[role=user].content", chat)
	f.Add("a.b", `{"a":{"b":"c"}}`)
	f.Add("a[-1][x=1]", `{"a":[[{"x":1}]]}`)
	f.Fuzz(func(t *testing.T, path, value string) {
		p, err := parsePath(path)
		if err != nil {
			return
		}
		if name, isPlain := p.fields(); isPlain && len(p[len(p)-1].chosen) == 0 && name != path {
			t.Fatalf("%q has the names %q", path, name)
		}
		v, err := rows.ParseJSON([]byte(value))
		if err != nil {
			return
		}
		text, _ := p.texts(v)
		var object map[string]json.RawMessage
		var want string
		if len(p) == 1 && p[0].chosen == nil && json.Unmarshal([]byte(value), &object) == nil && json.Unmarshal(object[path], &want) == nil && want != text {
			t.Fatalf("%q: %q, not %q", path, text, want)
		}
	})
}
