package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/format"
)

// inFiles opens a store in files, which calls before when it writes.
func inFiles(t *testing.T, path string, before func() error) *Store[int, noFinder] {
	t.Helper()
	s, gate := slowStore(1 << 30)
	close(gate)
	s.Form.Again, s.Form.Before = "add them again", before
	s.Form.Read = func(*format.Reader) noFinder { return noFinder{} }
	if err := s.Open(path, "1"); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCommit: while Commit waits for the disk, others add documents, more than fit into a frame. Whoever wants the files alone waits. All
// documents are there after the program was killed.
func TestCommit(t *testing.T) {
	for _, compact := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "store")
		waits, goOn := make(chan struct{}, 100), make(chan struct{})
		s := inFiles(t, path, func() error {
			waits <- struct{}{}
			<-goOn
			return nil
		})
		addInt(t, s, 0)
		committed, other := make(chan error), make(chan error)
		go func() { committed <- s.Commit() }()
		<-waits
		const n = 60_000 // some frames, and fewer than make the journal long
		for i := 1; i < n; i++ {
			addInt(t, s, i)
		}
		s.Lock()
		if s.Files.Journal.full == nil {
			t.Error("there is no full frame")
		}
		s.Unlock()
		go func() {
			if compact {
				other <- s.Compact(t.Context())
			} else {
				other <- s.Commit()
			}
		}()
		select {
		case <-committed:
			t.Error("Commit does not wait for the disk")
		case <-other:
			t.Error("another one does not wait for Commit")
		case <-time.After(50 * time.Millisecond):
		}
		close(goOn)
		for _, ended := range []chan error{committed, other} {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		s.Files.close()
		s = inFiles(t, path, nil)
		if got := ids(s); !slices.Equal(got, upTo(n)) {
			t.Errorf("compact %t: %d of %d are there", compact, len(got), n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFrameBetweenWindows: a frame after damage is found wherever the windows of the search end.
func TestFrameBetweenWindows(t *testing.T) {
	const window = 1 << 20
	for begin := window - 16; begin <= window+24; begin++ {
		j := &journal{Sum: 0x0102030405060708}
		j.Frame = append(j.Begin(), "changes"...)
		file := make([]byte, begin, begin+64)
		copy(file[begin-8:], "\x08\x07\x06\x05\x04\x03\x02\x01")
		file = append(file, j.End()...)
		path := filepath.Join(t.TempDir(), "journal")
		os.WriteFile(path, file, 0o666)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		j.File = f
		if at, err := j.frameBehind(0, int64(len(file))); err != nil || at != int64(begin) {
			t.Errorf("a frame at byte %d: got %d, %v", begin, at, err)
		}
	}
}
