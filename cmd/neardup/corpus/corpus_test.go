package corpus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// TestUnchanged: a file that is written to after it was found is seen.
func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var f input.Finder
	f.Find(path)
	c := &Corpus{Sources: f.Sources}
	if err := c.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{}\n{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if c.Unchanged() == nil {
		t.Error("the change is not seen")
	}
}
