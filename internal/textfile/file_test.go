package textfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/format"
)

// TestFile adds texts to a file, reads them before and after they are written, and opens it again.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts")
	named, err := Create(path, "texts", "v=1")
	if err != nil {
		t.Fatal(err)
	}
	temporary := Temporary(1 << 20)
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i), i%700) }
	const n = 4000 // more than one buffer
	check := func(f *File, places []int64) {
		t.Helper()
		var buf []byte
		for i, at := range places {
			if got := f.Read(at, len(text(i)), &buf); got != text(i) {
				t.Fatalf("text %d is %q, error %v", i, got, f.Err())
			}
		}
	}
	var places []int64
	for _, f := range []*File{named, Temporary(1 << 40), temporary} {
		places = places[:0]
		for i := range n {
			at, err := f.Append(text(i))
			if err != nil {
				t.Fatal(err)
			}
			if places = append(places, at); i%500 == 0 {
				check(f, places)
			}
		}
		check(f, places)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		check(f, places)
	}
	// places are those of temporary, whose first one is 0.
	for i := range places {
		places[i] += named.Begin()
	}
	size := named.Size()
	if err := named.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, "texts", "v=1", "")
	if err != nil || f.Size() != size {
		t.Fatalf("error %v, %d bytes, not %d", err, f.Size(), size)
	}
	check(f, places)
	if f.Err() != nil {
		t.Error(f.Err())
	}
	// A text that is not as it was written, and one that is not there.
	os.WriteFile(path, append(must(os.ReadFile(path)), 1, 2, 3), 0o666)
	file := must(os.OpenFile(path, os.O_RDWR, 0))
	file.WriteAt([]byte("x"), places[100]+Bytes(3))
	file.Close()
	f = must(Open(path, "texts", "v=1", ""))
	if f.Size() != size+3 {
		t.Errorf("%d bytes, not %d", f.Size(), size+3)
	}
	var buf []byte
	for _, at := range []int64{places[100], size - 1, size + 100} {
		f = must(Open(path, "texts", "v=1", ""))
		if got := f.Read(at, len(text(100)), &buf); got != "" || !errors.Is(f.Err(), format.ErrDamaged) || !strings.Contains(f.Err().Error(), path) {
			t.Errorf("at %d: %q, error %v", at, got, f.Err())
		}
	}
	// What a crash left at the end does no harm.
	if at, err := f.Append("more"); at != size+3 || err != nil || f.Read(at, 4, &buf) != "more" {
		t.Errorf("Append behind the rest of a text: at %d, error %v", at, err)
	}
	if _, err := Open(path, "texts", "v=2", "begin again"); !errors.Is(err, format.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if _, err := Open(path, "keys", "v=1", ""); !errors.Is(err, format.ErrVersion) {
		t.Errorf("another kind: %v", err)
	}
}

// TestFileErrors: what cannot be written is said, each time.
func TestFileErrors(t *testing.T) {
	f := must(Create(filepath.Join(t.TempDir(), "texts"), "texts", "v=1"))
	f.Append("one")
	f.Close()
	for range 2 {
		if f.Sync() == nil {
			t.Error("Sync of a closed file returns no error")
		}
	}
	if _, err := f.Append("two"); err == nil {
		t.Error("Append after an error returns none")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	f = Temporary(20)
	at := must(f.Append("in memory"))
	for range 2 {
		if _, err := f.Append("more than there is memory for"); err == nil {
			t.Error("Append without a folder for temporary files returns no error")
		}
		var buf []byte
		if got := f.Read(at, 9, &buf); got != "in memory" || f.Err() != nil {
			t.Errorf("what was there is %q, error %v", got, f.Err())
		}
	}
	if _, err := Create(filepath.Join(t.TempDir(), "missing", "texts"), "texts", "v=1"); err == nil {
		t.Error("made a file in a directory that is missing")
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestCut: what comes after a cut stands where the cut was, in memory and in a file.
func TestCut(t *testing.T) {
	for _, most := range []int64{0, 100, 1 << 20} {
		f := Temporary(most)
		var places []int64
		for i := range 200 {
			places = append(places, must(f.Append(strings.Repeat("a", i))))
		}
		for _, n := range []int{199, 150, 149, 3, 0} {
			f.Cut(places[n])
			if at := must(f.Append("another")); at != places[n] || f.Size() != at+Bytes(7) {
				t.Fatalf("the text after cut %d stands at %d, not %d", n, at, places[n])
			}
			var buf []byte
			for i, at := range places[:n+1] {
				want := strings.Repeat("a", i)
				if i == n {
					want = "another"
				}
				if got := f.Read(at, len(want), &buf); got != want || f.Err() != nil {
					t.Fatalf("text %d is %q, error %v", i, got, f.Err())
				}
			}
		}
	}
}
