package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// The files of a store: a snapshot at PATH, what happened since at PATH.journal, and
// PATH.lock, which is empty and locked as long as the index is open.
//
// Compact writes a new snapshot, which names the one before, and then a new journal. Each
// gets its name when it is on the disk. If the program is killed between the two, the
// Journal is of the snapshot before: all that it has is in the new one.
type storeFiles struct {
	path    string
	version string
	lock    *os.File
	Journal *journal
	failed  bool   // it is not known what is on the disk
	last    uint64 // identity of the snapshot; 0 if there is none
}

// inFile says in which file an error is.
func inFile(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return &fileError{path, err}
}

type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string {
	return e.path + ": " + strings.TrimPrefix(e.err.Error(), "neardup: ")
}

func (e *fileError) Unwrap() error { return e.err }

func (s *Store[ID, T]) Open(path, version string) error {
	if err := s.openFiles(path, version); err != nil {
		return inFile(path, err)
	}
	return nil
}

func (s *Store[ID, T]) openFiles(path, version string) (err error) {
	if !format.IsVersion(version) {
		return errors.New("options.Version must say how they are made: what Fingerprinter.Version or MinHash.Version returns")
	}
	if s.IDs.Kind == memoryIDs {
		_, err := s.IDs.append(nil, *new(ID))
		return err
	}
	// A link is followed first, so that the journal and the lock are those of the file itself, and
	// Compact replaces the file and not the link.
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	for _, name := range []string{path, path + ".journal", path + ".lock"} {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
	}
	files := &storeFiles{path: path, version: version}
	if files.lock, err = os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			files.close()
		}
	}()
	if err := lockFile(files.lock); err != nil {
		return err
	}
	os.Remove(path + Temporary) // what a killed writer left
	os.Remove(path + ".journal" + Temporary)
	dir, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := syncDirectory(dir); err != nil { // if one was killed before it did
		return err
	}

	snap, err := openSnapshot(path, files.version, &s.Form, &s.IDs, 1)
	before := uint64(0)
	switch {
	case err == nil:
		files.last, before = snap.identity, snap.before
		s.serial = 1
		s.swap([]*Run[ID, T]{snap.run}, LeastTail)
		s.live.Store(int64(snap.run.live))
		if n := snap.run.live; n > 0 {
			if err := snap.run.File.Check(unsafe.Pointer(&snap.run.times[n-1]), 4); err != nil {
				return err
			}
			s.seconds = snap.run.times[n-1]
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	old := false
	files.Journal, err = ReadJournal(path+".journal", files.version, s.Form.journalKind(), s.Form.Again, s.Form.Words, func(snapshot uint64) error {
		switch {
		case snapshot == files.last:
			return nil
		case snap != nil && snapshot == before:
			old = true
			return errOtherSnapshot
		}
		if snap == nil {
			return fmt.Errorf("%w: its snapshot, %s, is missing", format.ErrDamaged, path)
		}
		return fmt.Errorf("%w: %w", format.ErrDamaged, errOtherSnapshot)
	}, s.replayAdd, s.replayDelete)
	if snap != nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s.journal is missing: what it had is lost", format.ErrDamaged, path)
	}
	if old || errors.Is(err, fs.ErrNotExist) {
		files.Journal, err = CreateJournal(path+".journal", files.version, s.Form.journalKind(), files.last)
	}
	if err != nil {
		return inFile(path+".journal", err)
	}
	if err := s.Err(); err != nil {
		return err
	}
	s.Files = files
	return nil
}

func (s *Store[ID, T]) replayAdd(text []byte, doc []uint64, seconds uint32) error {
	id, err := s.IDs.decode(text)
	if err == nil && s.Form.Check != nil {
		err = s.Form.Check(doc)
	}
	if err == nil {
		err = s.add(id, doc, seconds)
	}
	return err
}

func (s *Store[ID, T]) replayDelete(text []byte) error {
	id, err := s.IDs.decode(text)
	if err == nil {
		s.delete(id)
		err = s.Err()
	}
	return err
}

func (f *storeFiles) close() error {
	var err error
	if f.Journal != nil {
		err = f.Journal.File.Close()
	}
	f.lock.Close()
	return err
}

// logAdd puts an addition in the journal, or fails.
func (s *Store[ID, T]) logAdd(id ID, doc []uint64, seconds uint32) bool {
	text, err := s.IDs.appendChecked(nil, id)
	if err == nil {
		return s.logged(s.Files.Journal.Add(text, doc, s.Form.Words == 0, seconds))
	}
	s.Fail(err)
	return false
}

// logDelete puts a deletion in the journal, or fails.
func (s *Store[ID, T]) logDelete(id ID) bool {
	text, err := s.IDs.append(nil, id)
	if err == nil {
		return s.logged(s.Files.Journal.delete(text))
	}
	s.Fail(err)
	return false
}

// logged reports whether the journal took a change, or is at its end: what comes behind a
// frame that was not written whole would be lost.
func (s *Store[ID, T]) logged(err error) bool {
	if err != nil {
		s.Files.failed = true
		s.Fail(err)
	}
	return err == nil
}

// Sync puts all changes that have returned on the disk, of an index that was opened. When
// there are more than 65,536 in the journal, and more than half of what is stored, it is
// Compact, and takes as long.
func (s *Store[ID, T]) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	if err := s.sync(); err != nil || s.Files == nil {
		return err
	}
	if n := s.Files.Journal.writes; n > 1<<16 && n > s.Len()/2 {
		return s.compact()
	}
	return nil
}

func (s *Store[ID, T]) sync() error {
	if f := s.Files; f != nil && !f.failed { // also after damage of the snapshot
		s.logged(f.Journal.sync())
	}
	return s.Err()
}

// save makes the only run of the index the snapshot, and searches that from now on. It
// fails if it does not know what is on the disk then.
func (s *Store[ID, T]) save(r *Run[ID, T]) (*Run[ID, T], error) {
	f := s.Files
	identity, err := WriteSnapshot(f.path, f.version, f.last, r, &s.Form, &s.IDs)
	if errors.Is(err, errReplaced) { // what the journal gets from now on might be of the snapshot before
		s.logged(err)
		return nil, s.Err()
	} else if err != nil {
		return nil, fmt.Errorf("neardup: index: %w", err)
	}
	f.Journal.File.Close()
	next, err := CreateJournal(f.path+".journal", f.version, s.Form.journalKind(), identity)
	if err != nil {
		s.logged(err)
		return nil, s.Err()
	}
	f.Journal, f.last = next, identity
	s.serial++
	snap, err := openSnapshot(f.path, f.version, &s.Form, &s.IDs, s.serial)
	if err != nil {
		s.Fail(err)
		return nil, s.Err()
	}
	return snap.run, nil
}

// Close is Sync, and gives the files free. Afterwards the index is empty, and whatever is
// done with it is an error ([os.ErrClosed]). It does nothing with an index in memory.
func (s *Store[ID, T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Files == nil {
		return nil
	}
	path := s.Files.path
	err := s.sync()
	if closing := s.Files.close(); err == nil {
		err = closing
	}
	s.Files = nil
	s.swap(nil, LeastTail)
	s.live.Store(0)
	s.Fail(&fileError{path, os.ErrClosed})
	return err
}

// Verify checks the whole snapshot of an index that was opened. Without it, what is never
// asked for is never checked.
func (s *Store[ID, T]) Verify() error {
	for _, r := range s.View().Runs {
		if m := r.File; m != nil {
			if err := m.Verify(); err != nil {
				return fmt.Errorf("neardup: Verify: %w", err)
			}
		}
	}
	return s.Err()
}
