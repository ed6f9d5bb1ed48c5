// Package shipped reads the texts of the repository for the tests of the bindings.
package shipped

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Texts returns the texts of files in testdata. The tests run in a folder two below the root.
func Texts(t testing.TB, names ...string) (all []string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var d struct{ Text string }
			if err := json.Unmarshal(line, &d); err != nil {
				t.Fatal(err)
			}
			all = append(all, d.Text)
		}
	}
	return all
}
