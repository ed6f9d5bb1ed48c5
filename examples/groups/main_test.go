package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGroups: it prints what the README says.
func TestGroups(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"../../testdata/en.jsonl", "../../testdata/zh.jsonl"}, &out); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 10 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines[:5] { // all but groups further down
		if line = strings.TrimSpace(line); !strings.Contains(string(readme), "    "+line+"\n") {
			t.Errorf("the README does not say %q", line)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	os.WriteFile(bad, []byte(`{"id": "a", "text": "b"} {`), 0o666)
	for _, path := range []string{bad, "missing"} {
		if err := run([]string{path}, &out); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
