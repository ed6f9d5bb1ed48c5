package dedup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup"
)

// TestUpgrade reads files that the version before this one made of six letters and one that came later: a Deduplicator of
// today does not open them, and Upgrade makes of them what it would have made.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"documents.journal", "documents.texts-1"} {
		b, err := os.ReadFile(filepath.Join("testdata", "version2", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	from, to := filepath.Join(dir, "documents"), filepath.Join(dir, "new")
	if _, err := Open[string](from, Options{}); !errors.Is(err, neardup.ErrVersion) {
		t.Fatalf("opening files of an earlier version: %v", err)
	}
	n, err := Upgrade[string](from, to, Options{})
	if err != nil || n != 7 {
		t.Fatalf("%d documents, %v", n, err)
	}
	if _, err := Upgrade[string](from, to, Options{}); err == nil {
		t.Error("it adds to files that have documents")
	}
	d, err := Open[string](to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var pairs [][2]string
	for p, err := range d.Pairs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, [2]string{p.A, p.B})
	}
	if len(pairs) != 2 || pairs[0] != [2]string{"a0", "a1"} || pairs[1] != [2]string{"a2", "a3"} || d.Len() != 7 {
		t.Errorf("%d documents with the pairs %v", d.Len(), pairs)
	}
}
