package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPictures: the pictures in docs are those of the tables of README.md.
func TestPictures(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	dir := t.TempDir()
	if err := draw(filepath.Join(root, "README.md"), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f1.svg", "time.svg"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(root, "docs", "figures", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of the table: go run -C lab ./cmd/pictures draws it (%v)", name, err)
		}
	}
}
