package input

import (
	"testing"

	"github.com/neardup/neardup/cmd/neardup/rows"
)

// lines are lines of JSON that fromObject and fromJSON could read in different ways.
var lines = []string{
	`{"id":"a","text":"b"}`, `{"id":1.50,"text":"b","title":"c"}`, `{"id":-0,"text":""}`, ` { "id" : "a" , "text" : "b" } `,
	`{"id":"a","id":"b","text":"c","text":"d"}`, `{"id":"a","text":"b","id":7}`, `{"id":7,"text":"b","id":"a"}`,
	`{"id":"a","text":null}`, `{"id":"a","text":"b","title":null}`, `{"id":"a","text":"b","title":5}`, `{"id":"","text":"b"}`,
	`{"id":"\u00e4\n\t\"\\\/\b\f\r","text":"\u4e2d\u6587"}`, `{"id":"a","text":"\ud83d\ude00"}`, `{"id":"a","text":"\ud83d"}`,
	`{"id":"a","text":"\uD83D\u0041"}`, `{"\u0069d":"a","te\u0078t":"b"}`, `{"id":"a","text":"b","x":{"text":[1,2,{"id":3}]}}`,
	"{\"id\":\"a\",\"text\":\"\xff\"}", "{\"id\":\"a\",\"text\":\"\x01\"}", `{"id":"a","text":"b"}x`, `{"id":"a","text":"\x"}`, `{"id":01,"text":"b"}`,
	`{"ID":"a","Text":"b"}`, `["id","a"]`, `null`, `"text"`, ``, `{`, `{"id":"a","text":"b",}`, `{"id":1e400,"text":"b"}`, `{"id":"a","text":"\\ud800"}`,
	`{"id":true,"text":"b"}`, `{"id":NaN,"text":"b"}`, `{"id":"a","text":"b","x":nan}`,
}

// TestPlainJSON: which of the two readers reads a line makes no difference.
func TestPlainJSON(t *testing.T) {
	plain := 0
	for _, line := range lines {
		if sameJSON(t, line) {
			plain++
		}
	}
	if plain < 8 {
		t.Errorf("%d lines are read in the fast way", plain)
	}
}

func FuzzJSON(f *testing.F) {
	for _, line := range lines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) { sameJSON(t, line) })
}

// sameJSON compares the two readers, and reports whether the fast one took the line.
func sameJSON(t *testing.T, line string) bool {
	cols := Columns{ID: "id", Text: "text", Title: "title"}
	var (
		x       Decoder
		d, want Document
	)
	err, wrong := x.json(&d, []byte(line), cols), want.fromJSON([]byte(line), cols)
	if (err == nil) != (wrong == nil) || err == nil && (d.ID != want.ID || d.Text != want.Text || d.title != want.title) {
		t.Errorf("%q: %+v, %v; not %+v, %v", line, d, err, want, wrong)
	}
	if !rows.IsPlain([]byte(line)) {
		return false
	}
	v, err := x.parser.Parse(line)
	return err == nil && new(Document).fromObject(v, cols)
}
