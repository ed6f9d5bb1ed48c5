package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/neardup/neardup/internal/format"
)

// A storeFiles is the files of a store: a snapshot at PATH, the changes since then at PATH.journal,
// and PATH.lock, which is empty and locked while the index is open.
//
// A new snapshot is written in two steps: first the snapshot itself, which names the snapshot
// before it, and then a new journal, which names the new snapshot. Each file gets its name only
// when all of it is on the disk. If the program is killed between the two steps, the journal still
// names the snapshot before. Opening recognises that and starts a new journal: the new snapshot has
// every change of the old one.
type storeFiles struct {
	path    string   // of the snapshot, with links followed
	version string   // how the documents are made
	lock    *os.File // locked until it is closed
	Journal *journal
	failed  bool   // a write failed, so it is not known what is on the disk
	last    uint64 // identity of the snapshot; 0 if there is none
}

// InFile says in which file an error occurred, unless the error says it already.
func InFile(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) {
		return err
	}
	return &fileError{path, err}
}

// A fileError is an error with the name of the file in which it occurred.
type fileError struct {
	path string
	err  error
}

// Error returns the text, without a second prefix "neardup: ".
func (e *fileError) Error() string {
	return e.path + ": " + strings.TrimPrefix(e.err.Error(), "neardup: ")
}

// Unwrap returns the error without the file.
func (e *fileError) Unwrap() error { return e.err }

// Open opens the files of a store that Init has just made, or makes them. See OpenIndex for the
// rules that a user sees. Errors name the file.
func (s *Store[ID, T]) Open(path, version string) error {
	if path == "" {
		return errors.New("the path of the files is empty")
	}
	if err := s.openFiles(path, version); err != nil {
		return InFile(path, err)
	}
	return nil
}

// Path returns the path of the snapshot, with links followed.
func (s *Store[ID, T]) Path() string { return s.Files.path }

// Changes returns how many changes the journal has.
func (s *Store[ID, T]) Changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Files == nil {
		return 0
	}
	return s.Files.Journal.writes
}

// openFiles is Open. It locks the files first, and then loads what they hold. Only at the end it
// sets s.Files, so that replayed changes are not written to the journal again.
func (s *Store[ID, T]) openFiles(path, version string) error {
	if !format.IsVersion(version) {
		return errors.New("options.Version must say how the documents are made: use what Fingerprinter.Version or MinHash.Version returns")
	}
	if s.IDs.Kind == memoryIDs {
		_, err := s.IDs.append(nil, *new(ID))
		return err
	}
	path, err := RegularPath(path)
	if err != nil {
		return err
	}
	files, err := lockFiles(path, version)
	if err != nil {
		return err
	}
	s.mu.Lock() // against the goroutine of a merge, which the changes in the journal may begin
	defer s.mu.Unlock()
	if err := s.load(files); err != nil {
		files.close()
		return err
	}
	s.Files = files
	return nil
}

// RegularPath returns the path of a snapshot with links followed. So the journal and the lock are
// those of the file itself, and Compact replaces the file and not the link. Each of the three files
// must be a regular file if it is there.
func RegularPath(path string) (string, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
	}
	for _, name := range []string{path, path + ".journal", path + ".lock"} {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s is not a regular file", name)
		}
	}
	return path, nil
}

// lockFiles makes the lock file, if it is not there, and locks it. So no other store has the files
// open until the caller closes them. Neither the snapshot nor the journal is opened yet.
func lockFiles(path, version string) (*storeFiles, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(lock); err != nil {
		lock.Close()
		return nil, err
	}
	return &storeFiles{path: path, version: version, lock: lock}, nil
}

// load fills a new store with what its files hold: first the snapshot, and then the changes in the
// journal. Afterwards the journal is ready for more changes.
func (s *Store[ID, T]) load(files *storeFiles) error {
	if err := cleanUp(files.path); err != nil {
		return err
	}
	snap, err := s.loadSnapshot(files)
	if err != nil {
		return err
	}
	if err := s.loadJournal(files, snap); err != nil {
		return InFile(files.path+".journal", err)
	}
	return s.Err()
}

// cleanUp finishes what a killed writer has left: it removes unfinished files, and puts the names
// of finished ones on the disk, because the writer may have renamed a file without doing so.
func cleanUp(path string) error {
	os.Remove(path + Temporary)
	os.Remove(path + ".journal" + Temporary)
	dir, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncDirectory(dir)
}

// loadSnapshot makes the snapshot the content of a new store. It returns nil without an error if
// there is no snapshot.
func (s *Store[ID, T]) loadSnapshot(files *storeFiles) (*snapshot[ID, T], error) {
	snap, err := openSnapshot(files.path, files.version, &s.Form, &s.IDs, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files.last, s.base = snap.identity, snap.run
	s.serial = 1
	s.swap([]*Run[ID, T]{snap.run}, LeastTail)
	s.live.Store(int64(snap.run.live))
	if n := snap.run.live; n > 0 {
		if err := snap.run.File.Check(unsafe.Pointer(&snap.run.times[n-1]), 4); err != nil {
			return nil, err
		}
		s.seconds = snap.run.times[n-1]
	}
	return snap, nil
}

// loadJournal replays the journal of a snapshot, which is nil if there is none. It starts a new
// journal if the one that is there belongs to the snapshot before, or if the store is new.
func (s *Store[ID, T]) loadJournal(files *storeFiles, snap *snapshot[ID, T]) error {
	path, kind := files.path+".journal", s.Form.journalKind()
	old := false // the journal belongs to the snapshot before this one
	accept := func(snapshot uint64) error {
		switch {
		case snapshot == files.last:
			return nil
		case snap == nil:
			return fmt.Errorf("%w: its snapshot, %s, is missing", format.ErrDamaged, files.path)
		case snapshot == snap.before:
			old = true
			return errOtherSnapshot
		}
		return fmt.Errorf("%w: %w", format.ErrDamaged, errOtherSnapshot)
	}
	j, err := ReadJournal(path, files.version, kind, s.Form.Again, s.Form.Words, accept, s.replayAdd, s.replayDelete)
	missing := errors.Is(err, fs.ErrNotExist)
	// The first journal is older than the first snapshot, and a journal is only ever replaced. So a
	// missing one was lost.
	if missing && snap != nil {
		return fmt.Errorf("%w: %s is missing, and with it all changes since the snapshot", format.ErrDamaged, path)
	}
	if missing || old {
		j, err = CreateJournal(path, files.version, kind, files.last)
	}
	if err != nil {
		return err
	}
	j.before = s.Form.Before
	files.Journal = j
	if s.lost = j.lost; s.lost != nil {
		s.lost = fmt.Errorf("neardup: %w", s.lost)
	}
	return nil
}

// replayAdd makes an addition from the journal, with the time that it had.
func (s *Store[ID, T]) replayAdd(text []byte, doc []uint64, seconds uint32) error {
	id, err := s.IDs.decode(text)
	if err == nil && s.Form.Check != nil {
		err = s.Form.Check(doc)
	}
	if err == nil {
		err = s.add(id, doc, seconds)
	}
	if err == nil && s.Replayed != nil {
		s.Replayed(id, doc, s.seconds)
	}
	return err
}

// replayDelete makes a deletion from the journal.
func (s *Store[ID, T]) replayDelete(text []byte) error {
	id, err := s.IDs.decode(text)
	if err == nil {
		s.delete(id)
		err = s.Err()
	}
	if err == nil && s.Replayed != nil {
		s.Replayed(id, nil, 0)
	}
	return err
}

// close closes the files, and gives back the lock.
func (f *storeFiles) close() error {
	var err error
	if f.Journal != nil {
		err = f.Journal.File.Close()
	}
	unlockFile(f.lock)
	return err
}

// logAdd puts an addition in the journal. If it reports false, the store has the error.
func (s *Store[ID, T]) logAdd(id ID, doc []uint64, seconds uint32) bool {
	text, err := s.IDs.appendChecked(nil, id)
	if err == nil {
		return s.logged(s.Files.Journal.Add(text, doc, s.Form.Words == 0, seconds))
	}
	s.Fail(err)
	return false
}

// logDelete puts a deletion in the journal. If it reports false, the store has the error.
func (s *Store[ID, T]) logDelete(id ID) bool {
	text, err := s.IDs.append(nil, id)
	if err == nil {
		return s.logged(s.Files.Journal.delete(text))
	}
	s.Fail(err)
	return false
}

// logged reports whether the journal took a change. If it did not, the journal takes no more: a
// frame may be written in part, and whatever came behind it would be lost.
func (s *Store[ID, T]) logged(err error) bool {
	if err != nil {
		s.Files.failed = true
		s.Fail(err)
	}
	return err == nil
}

// Sync puts all changes that have returned on the disk, if the store has files. If the journal is long, Sync does what Compact does, and
// takes as long.
func (s *Store[ID, T]) Sync() error {
	if err := s.Commit(); err != nil || !s.IsLong() {
		return err
	}
	return s.Compact(context.Background())
}

// IsLong reports whether the journal has more than 65,536 changes, and more than half as many as there are documents: it should be short
// enough to be read when the store is opened.
func (s *Store[ID, T]) IsLong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Files != nil && s.Files.Journal.writes > 1<<16 && s.Files.Journal.writes > s.Len()/2
}

// Commit puts all changes that have returned on the disk, if the store has files. Others change the store while it waits for the disk.
func (s *Store[ID, T]) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check()
	s.wait()
	f := s.Files
	if f == nil || f.failed || !f.Journal.isDirty() {
		return s.Err()
	}
	frames := f.Journal.take()
	s.committing, f.Journal.busy = make(chan struct{}), true
	s.mu.Unlock()
	err := f.Journal.put(frames)
	s.mu.Lock()
	close(s.committing)
	s.committing, f.Journal.busy = nil, false
	s.logged(err)
	return s.Err()
}

// wait waits until nobody waits for the disk. The caller holds the lock, which others get meanwhile, so it must not have begun anything.
func (s *Store[ID, T]) wait() {
	for s.committing != nil {
		c := s.committing
		s.mu.Unlock()
		<-c
		s.mu.Lock()
	}
}

// sync is Commit for callers that hold the lock, and keep it, but for the end of somebody else's.
func (s *Store[ID, T]) sync() error {
	s.wait()
	if f := s.Files; f != nil && !f.failed { // even if the snapshot is damaged
		s.logged(f.Journal.sync())
	}
	return s.Err()
}

// save writes a run, which has all documents of the store, as the new snapshot. It returns the run
// to search from now on, which lies in the mapped file. If the snapshot cannot be written, the
// store goes on with its old files. If it is not known which snapshot is on the disk, or a later
// step fails, the store fails.
func (s *Store[ID, T]) save(r *Run[ID, T]) (*Run[ID, T], error) {
	f := s.Files
	identity, err := WriteSnapshot(f.path, f.version, f.last, r, &s.Form, &s.IDs)
	// Either snapshot may be on the disk. If it is the new one, changes that went to the old
	// journal from now on would be lost.
	if errors.Is(err, errReplaced) {
		s.logged(err)
		return nil, s.Err()
	} else if err != nil {
		return nil, fmt.Errorf("neardup: files: %w", err)
	}
	f.Journal.File.Close()
	next, err := CreateJournal(f.path+".journal", f.version, s.Form.journalKind(), identity)
	if err != nil {
		s.logged(err)
		return nil, s.Err()
	}
	next.before = s.Form.Before
	f.Journal, f.last = next, identity
	s.serial++
	snap, err := openSnapshot(f.path, f.version, &s.Form, &s.IDs, s.serial)
	if err != nil {
		s.Fail(err)
		return nil, s.Err()
	}
	return snap.run, nil
}

// Close puts all changes on the disk as Sync does, but never compacts, and releases the files.
// Afterwards the store is empty, and using it is an error ([os.ErrClosed], unless there was another
// error before). Close does nothing if the store has no files.
func (s *Store[ID, T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Files == nil {
		return nil
	}
	err := s.sync()
	if s.Files == nil { // somebody else has closed it
		return nil
	}
	path := s.Files.path
	if closing := s.Files.close(); err == nil {
		err = closing
	}
	s.Files, s.merging = nil, nil
	s.swap(nil, LeastTail)
	s.live.Store(0)
	s.Fail(&fileError{path, os.ErrClosed})
	return err
}

// Verify checks the whole snapshot of a store with files. Without it, a part of the snapshot is
// checked when it is first used, and otherwise never.
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
