package main

import (
	"os"
	"strings"
	"testing"
)

func TestGroups(t *testing.T) {
	f, err := os.Open("../../testdata/en.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out strings.Builder
	if err := run(f, &out); err != nil || !strings.HasPrefix(out.String(), "near-duplicates from a probability of") || strings.Count(out.String(), " is kept of ") < 10 {
		t.Errorf("error %v, output %s", err, out.String())
	}
	if err := run(strings.NewReader(`{"id": "a", "text": "b"} {`), &out); err == nil {
		t.Error("half a document is no error")
	}
}
