package service

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzOrder reads any line of a batch. What is read is an order that can be done, and is read again from what it is as JSON.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{`{"op":"put","id":"1","text":"a"}`, `{"op":"search","text":"","limit":1000}`, `{"op":"delete","id":"a/b?c"}`, `{"op":"put-if-new","id":"\ud800","text":"a"}`, `{} {}`, `{"op":"put","id":"1","text":"a"}]`, "\xff", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := orderOf(text)
		if err != nil {
			return
		}
		if o.Op != "search" && checkID(o.ID) != nil || o.Op != "delete" && (o.Text == nil || !utf8.ValidString(*o.Text)) || o.Limit < 1 || o.Limit > mostMatches {
			t.Fatalf("%q is the order %+v", text, o)
		}
		again, err := orderOf(bytes.TrimSpace(line(o)))
		if err != nil || asJSON(again) != asJSON(o) {
			t.Fatalf("%q: %+v, and again %+v, %v", text, o, again, err)
		}
	})
}

// FuzzValues: whether a body has many values does not depend on how it is written.
func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"text":",,,[[[","x":[{},{}]}`))
	f.Add([]byte(`"\"` + strings.Repeat(",", 2000) + `"`))
	f.Add([]byte(`[` + strings.Repeat("[],", 2000) + `[]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, text) != nil {
			return
		}
		if hasManyValues(text) != hasManyValues(compact.Bytes()) {
			t.Fatalf("%q", text)
		}
	})
}

// FuzzTokens reads any file of tokens. An error never has a token of it.
func FuzzTokens(f *testing.F) {
	f.Add("a 0123456789abcdef read *\n# b\n", "0123456789abcdef")
	f.Add("a read 0123456789abcdef x,y\n", "0123456789abcdef")
	f.Add("a x write 0123456789abcdef", "0123456789abcdef")
	f.Fuzz(func(t *testing.T, text, secret string) {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := ReadTokens(path)
		if err == nil && len(*tokens.grants.Load()) == 0 {
			t.Fatal("no token, and no error")
		}
		if len(secret) > 10 && err != nil && strings.Contains(text, secret) && strings.Contains(strings.TrimPrefix(err.Error(), path), secret) {
			t.Fatalf("%q has %q", err, secret)
		}
	})
}
