//go:build unix

package neardup

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIndexLinks opens an index through a symbolic link: the lock, the journal and the snapshot are
// those of the file itself, and the link stays a link.
func TestIndexLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "seen.index"), filepath.Join(t.TempDir(), "link.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	ix.Add("a", 1)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if other, err := OpenIndex[string, Fingerprint64](link, 3, fileOptions); err == nil || !strings.Contains(err.Error(), "has the files open") {
		t.Errorf("a second writer through a link: %v, %v", other, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = mustOpen[string, Fingerprint64](t, link, 3)
	ix.Add("b", 2)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	ix.Add("c", 4)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("Compact replaced the link: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(link), "*")); len(names) != 1 {
		t.Errorf("files beside the link: %q", names)
	}
	ix = mustOpen[string, Fingerprint64](t, path, 3)
	defer ix.Close()
	if ix.Len() != 3 {
		t.Errorf("%d of 3 documents", ix.Len())
	}
}

// TestIndexFIFO: what is not a regular file is refused, and nobody waits for a writer.
func TestIndexFIFO(t *testing.T) {
	for _, name := range []string{"", ".journal", ".lock"} {
		path := filepath.Join(t.TempDir(), "seen.index")
		if err := syscall.Mkfifo(path+name, 0o600); err != nil {
			t.Skip(err)
		}
		if _, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestIndexNativeInts: an index of int is the same on platforms of 32 and of 64 bits, and one that a
// 32-bit platform wrote as signed32 before can be read.
func TestIndexNativeInts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.index")
	long := mustOpen[int64, Fingerprint64](t, path, 3)
	long.Add(-7, 1)
	if err := long.Compact(bg); err != nil {
		t.Fatal(err)
	}
	long.Add(9, 8)
	long.Close()
	native := mustOpen[int, Fingerprint64](t, path, 3)
	if fp, ok, err := native.Get(-7); fp != 1 || !ok || err != nil || native.Len() != 2 {
		t.Errorf("%v, %t, %v, %d stored", fp, ok, err, native.Len())
	}
	native.Close()
	path = filepath.Join(t.TempDir(), "seen.index")
	short := mustOpen[int32, Fingerprint64](t, path, 3)
	short.Add(-7, 1)
	short.Compact(bg)
	short.Close()
	native = mustOpen[int, Fingerprint64](t, path, 3)
	defer native.Close()
	if fp, ok, err := native.Get(-7); fp != 1 || !ok || err != nil {
		t.Errorf("of 32 bits: %v, %t, %v", fp, ok, err)
	}
}
