package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCrawler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages")
	for _, test := range [][2]string{
		{`{"url": "a", "text": "One lived in a marsh, where there was plenty of water"}`, "a is new\n"},
		{`{"url": "b", "text": "Quite another text, about fish and chips"}` + `{"url": "c", "text": "One lived in a marsh, where there was plenty of water!"}`, "b is new\nc is like a: same-words, probability 1.00\n"},
	} {
		var out strings.Builder
		if err := run(path, strings.NewReader(test[0]), &out); err != nil || out.String() != test[1] {
			t.Errorf("error %v, output %q", err, out.String())
		}
	}
}
