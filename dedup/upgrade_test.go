package dedup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup"
)

// TestUpgrade reads files that earlier versions made: a Deduplicator of today does not open them, and Upgrade makes of them
// what it would have made.
func TestUpgrade(t *testing.T) {
	// Six letters, and one that came later.
	checkUpgrade(t, "version2", 7, [2]string{"a0", "a1"}, [2]string{"a2", "a3"})
	// Two texts are equivalent, which that version did not see.
	checkUpgrade(t, "version3", 3, [2]string{"composed", "decomposed"})
}

// checkUpgrade upgrades the files of a directory in testdata, which have so many documents, and compares the pairs.
func checkUpgrade(t *testing.T, name string, documents int, want ...[2]string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(dir, "documents"), filepath.Join(dir, "new")
	if _, err := Open[string](from, Options{}); !errors.Is(err, neardup.ErrVersion) {
		t.Fatalf("opening files of an earlier version: %v", err)
	}
	n, err := Upgrade[string](from, to, Options{})
	if err != nil || n != documents {
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
	if !slices.Equal(pairs, want) || d.Len() != documents {
		t.Errorf("%s: %d documents with the pairs %v", name, d.Len(), pairs)
	}
}
