package neardup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"
)

// The files of a store: a snapshot at PATH, what happened since at PATH.journal, and
// PATH.lock, which is empty and locked as long as the index is open.
//
// Compact writes a new snapshot, which names the one before, and then a new journal. Each
// gets its name when it is on the disk. If the program is killed between the two, the
// journal is of the snapshot before: all that it has is in the new one.
type storeFiles struct {
	path    string
	version string
	lock    *os.File
	journal *journal
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

func (s *store[ID, T]) open(path, version string) error {
	if err := s.openFiles(path, version); err != nil {
		return inFile(path, err)
	}
	return nil
}

func (s *store[ID, T]) openFiles(path, version string) (err error) {
	if !isVersion(version) {
		return errors.New("options.Version must say how they are made: what Fingerprinter.Version or MinHash.Version returns")
	}
	if s.ids.kind == memoryIDs {
		_, err := s.ids.append(nil, *new(ID))
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no ordinary file")
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
	os.Remove(path + temporary) // what a killed writer left
	os.Remove(path + ".journal" + temporary)
	dir, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := syncDirectory(dir); err != nil { // if one was killed before it did
		return err
	}

	snap, err := openSnapshot(path, files.version, &s.form, &s.ids, 1)
	before := uint64(0)
	switch {
	case err == nil:
		files.last, before = snap.identity, snap.before
		s.serial = 1
		s.swap([]*run[ID, T]{snap.run}, leastTail)
		s.live.Store(int64(snap.run.live))
		if n := snap.run.live; n > 0 {
			if err := snap.run.file.check(unsafe.Pointer(&snap.run.times[n-1]), 4); err != nil {
				return err
			}
			s.seconds = snap.run.times[n-1]
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	old := false
	files.journal, err = readJournal(path+".journal", files.version, s.form.journalKind(), s.form.again, s.form.words, func(snapshot uint64) error {
		switch {
		case snapshot == files.last:
			return nil
		case snap != nil && snapshot == before:
			old = true
			return errOtherSnapshot
		}
		if snap == nil {
			return fmt.Errorf("%w: its snapshot, %s, is missing", ErrDamaged, path)
		}
		return fmt.Errorf("%w: %w", ErrDamaged, errOtherSnapshot)
	}, s.replayAdd, s.replayDelete)
	if snap != nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s.journal is missing: what it had is lost", ErrDamaged, path)
	}
	if old || errors.Is(err, fs.ErrNotExist) {
		files.journal, err = createJournal(path+".journal", files.version, s.form.journalKind(), files.last)
	}
	if err != nil {
		return inFile(path+".journal", err)
	}
	if err := s.Err(); err != nil {
		return err
	}
	s.files = files
	return nil
}

func (s *store[ID, T]) replayAdd(text []byte, doc []uint64, seconds uint32) error {
	id, err := s.ids.decode(text)
	if err == nil && s.form.check != nil {
		err = s.form.check(doc)
	}
	if err == nil {
		s.add(id, doc, seconds)
		err = s.Err()
	}
	return err
}

func (s *store[ID, T]) replayDelete(text []byte) error {
	id, err := s.ids.decode(text)
	if err == nil {
		s.delete(id)
		err = s.Err()
	}
	return err
}

func (f *storeFiles) close() error {
	var err error
	if f.journal != nil {
		err = f.journal.file.Close()
	}
	f.lock.Close()
	return err
}

// logAdd puts an addition in the journal, or fails.
func (s *store[ID, T]) logAdd(id ID, doc []uint64, seconds uint32) bool {
	text, err := s.ids.appendChecked(nil, id)
	if err == nil {
		return s.logged(s.files.journal.add(text, doc, s.form.words == 0, seconds))
	}
	s.fail(err)
	return false
}

// logDelete puts a deletion in the journal, or fails.
func (s *store[ID, T]) logDelete(id ID) bool {
	text, err := s.ids.append(nil, id)
	if err == nil {
		return s.logged(s.files.journal.delete(text))
	}
	s.fail(err)
	return false
}

// logged reports whether the journal took a change, or is at its end: what comes behind a
// frame that was not written whole would be lost.
func (s *store[ID, T]) logged(err error) bool {
	if err != nil {
		s.files.failed = true
		s.fail(err)
	}
	return err == nil
}

// Sync puts all changes that have returned on the disk, of an index that was opened. When
// there are more than 65,536 in the journal, and more than half of what is stored, it is
// Compact, and takes as long.
func (s *store[ID, T]) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.sync(); err != nil || s.files == nil {
		return err
	}
	if n := s.files.journal.writes; n > 1<<16 && n > s.Len()/2 {
		return s.compact()
	}
	return nil
}

func (s *store[ID, T]) sync() error {
	if f := s.files; f != nil && !f.failed { // also after damage of the snapshot
		s.logged(f.journal.sync())
	}
	return s.Err()
}

// save makes the only run of the index the snapshot, and searches that from now on. It
// fails if it does not know what is on the disk then.
func (s *store[ID, T]) save(r *run[ID, T]) (*run[ID, T], error) {
	f := s.files
	identity, err := writeSnapshot(f.path, f.version, f.last, r, &s.form, &s.ids)
	if errors.Is(err, errReplaced) { // what the journal gets from now on might be of the snapshot before
		s.logged(err)
		return nil, s.Err()
	} else if err != nil {
		return nil, fmt.Errorf("neardup: index: %w", err)
	}
	f.journal.file.Close()
	next, err := createJournal(f.path+".journal", f.version, s.form.journalKind(), identity)
	if err != nil {
		s.logged(err)
		return nil, s.Err()
	}
	f.journal, f.last = next, identity
	s.serial++
	snap, err := openSnapshot(f.path, f.version, &s.form, &s.ids, s.serial)
	if err != nil {
		s.fail(err)
		return nil, s.Err()
	}
	return snap.run, nil
}

// Close is Sync, and gives the files free. Afterwards the index is empty, and whatever is
// done with it is an error ([os.ErrClosed]). It does nothing with an index in memory.
func (s *store[ID, T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		return nil
	}
	path := s.files.path
	err := s.sync()
	if closing := s.files.close(); err == nil {
		err = closing
	}
	s.files = nil
	s.swap(nil, leastTail)
	s.live.Store(0)
	s.fail(&fileError{path, os.ErrClosed})
	return err
}

// Verify checks the whole snapshot of an index that was opened. Without it, what is never
// asked for is never checked.
func (s *store[ID, T]) Verify() error {
	for _, r := range s.state.Load().runs {
		if m := r.file; m != nil {
			if err := m.verify(); err != nil {
				return fmt.Errorf("neardup: Verify: %w", err)
			}
		}
	}
	return s.Err()
}
