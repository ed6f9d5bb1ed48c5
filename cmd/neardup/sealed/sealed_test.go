package sealed

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSealed: what was written is read, and what was changed, cut off or is of another kind is not.
func TestSealed(t *testing.T) {
	const mark = "a mark 1\n"
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"", "x", "some content"} {
		if err := Write(path, Seal([]byte(mark+content))); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Open(b, mark); !ok || string(got) != content {
			t.Errorf("%q is read as %q, %t", content, got, ok)
		}
		if _, ok := Open(b, "a mark 2\n"); ok {
			t.Error("a file of another kind is taken")
		}
		for i := range b {
			if _, ok := Open(b[:i], mark); ok {
				t.Errorf("%q: the first %d bytes are taken for the whole", content, i)
			}
			b[i] ^= 1
			if _, ok := Open(b, mark); ok {
				t.Errorf("%q: with byte %d changed it is taken", content, i)
			}
			b[i] ^= 1
		}
	}
	if err := Write(filepath.Join(t.TempDir(), "no", "folder"), nil); err == nil {
		t.Error("there is no folder, and no error")
	}
}
