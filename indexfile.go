package neardup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"
)

// The files of an index: a snapshot at PATH, what happened since at PATH.journal, and
// PATH.lock, which is empty and locked as long as the index is open.
//
// Compact writes a new snapshot, which names the one before, and then a new journal. Each
// gets its name when it is on the disk. If the program is killed between the two, the
// journal is of the snapshot before: all that it has is in the new one.
type indexFiles struct {
	path    string
	version string
	lock    *os.File
	journal *journal
	failed  bool   // it is not known what is on the disk
	last    uint64 // identity of the snapshot; 0 if there is none
}

// OpenIndex opens an index that is in files, or makes an empty one: a snapshot at path,
// and beside it path.journal, with what changed since, and path.lock. (For a moment there
// are path.neardup-part and path.journal.neardup-part.) It does not read the snapshot, but
// maps it; the journal it reads whole. Snapshot and journal belong together: copy both, of
// an index that is closed. They are as good on any other machine.
//
// Changes are in the files when Sync, Compact or Close has returned nil: from then on
// nothing loses them, not even if the program is killed in the middle of something else.
// Some that were made later may be there too, in order.
//
// options.Version says how the fingerprints are made, and must be what it was when the
// index was made; else the error is an [ErrVersion]. Ids are integers or strings of any
// kind, or of a type with the methods of [encoding.BinaryAppender] (or BinaryMarshaler)
// and [encoding.BinaryUnmarshaler]. An id of such a type that cannot be written, or reads
// back as another, is an error of the whole index. Distance and options may be others than before; the
// index is searched best with the same, until Compact builds it for the new ones.
//
// Files that are damaged, or none of this package, give an [ErrDamaged]. Of the snapshot
// OpenIndex checks the beginning. The rest is checked in blocks of 64 KiB, each before it
// is first used: see [Index.Err] and [Index.Verify]. No other program may change the
// files as long as they are open; a second OpenIndex is an error (on Unix).
func OpenIndex[ID comparable, F Fingerprint](path string, distance int, options *IndexOptions) (*Index[ID, F], error) {
	ix, err := newIndex[ID, F](distance, options)
	if err == nil {
		if err = ix.open(path, options); err != nil {
			err = inFile(path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("neardup: OpenIndex: %w", err)
	}
	return ix, nil
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

func (ix *Index[ID, F]) open(path string, options *IndexOptions) (err error) {
	if options == nil || !isVersion(options.Version) {
		return errors.New("IndexOptions.Version must say how the fingerprints are made, like Fingerprinter.Version")
	}
	if ix.ids.kind == memoryIDs {
		_, err := ix.ids.append(nil, *new(ID))
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no ordinary file")
	}
	files := &indexFiles{path: path, version: options.Version}
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

	s, err := openSnapshot(path, files.version, ix.words(), &ix.ids, 1)
	before := uint64(0)
	switch {
	case err == nil:
		files.last, before = s.identity, s.before
		ix.serial = 1
		ix.swap([]*run[ID]{s.run})
		ix.live.Store(int64(s.run.live))
		if n := s.run.live; n > 0 {
			if err := s.run.tree.file.check(unsafe.Pointer(&s.run.times[n-1]), 4); err != nil {
				return err
			}
			ix.seconds = s.run.times[n-1]
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	old := false
	files.journal, err = readJournal(path+".journal", files.version, ix.words(), func(snapshot uint64) error {
		switch {
		case snapshot == files.last:
			return nil
		case s != nil && snapshot == before:
			old = true
			return errOtherSnapshot
		}
		if s == nil {
			return fmt.Errorf("%w: its snapshot, %s, is missing", ErrDamaged, path)
		}
		return fmt.Errorf("%w: %w", ErrDamaged, errOtherSnapshot)
	}, ix.replayAdd, ix.replayDelete)
	if s != nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s.journal is missing: what it had is lost", ErrDamaged, path)
	}
	if old || errors.Is(err, fs.ErrNotExist) {
		files.journal, err = createJournal(path+".journal", files.version, ix.words(), files.last)
	}
	if err != nil {
		return inFile(path+".journal", err)
	}
	if err := ix.Err(); err != nil {
		return err
	}
	ix.files = files
	return nil
}

func (ix *Index[ID, F]) replayAdd(text []byte, lo, hi uint64, seconds uint32) error {
	id, err := ix.ids.decode(text)
	if err == nil {
		ix.add(id, fromWords[F](lo, hi), seconds)
		err = ix.Err()
	}
	return err
}

func (ix *Index[ID, F]) replayDelete(text []byte) error {
	id, err := ix.ids.decode(text)
	if err == nil {
		ix.delete(id)
		err = ix.Err()
	}
	return err
}

func (f *indexFiles) close() error {
	var err error
	if f.journal != nil {
		err = f.journal.file.Close()
	}
	f.lock.Close()
	return err
}

// logAdd puts an addition in the journal, or fails.
func (ix *Index[ID, F]) logAdd(id ID, fp []uint64, seconds uint32) bool {
	text, err := ix.ids.appendChecked(nil, id)
	if err == nil {
		return ix.logged(ix.files.journal.add(text, fp, seconds))
	}
	ix.fail(err)
	return false
}

// logDelete puts a deletion in the journal, or fails.
func (ix *Index[ID, F]) logDelete(id ID) bool {
	text, err := ix.ids.append(nil, id)
	if err == nil {
		return ix.logged(ix.files.journal.delete(text))
	}
	ix.fail(err)
	return false
}

// logged reports whether the journal took a change, or is at its end: what comes behind a
// frame that was not written whole would be lost.
func (ix *Index[ID, F]) logged(err error) bool {
	if err != nil {
		ix.files.failed = true
		ix.fail(err)
	}
	return err == nil
}

// Sync puts all changes that have returned on the disk, of an index that was opened. When
// there are more than 65,536 in the journal, and more than half of what is stored, it is
// [Index.Compact], and takes as long.
func (ix *Index[ID, F]) Sync() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.sync(); err != nil || ix.files == nil {
		return err
	}
	if n := ix.files.journal.writes; n > 1<<16 && n > ix.Len()/2 {
		return ix.compact()
	}
	return nil
}

func (ix *Index[ID, F]) sync() error {
	if f := ix.files; f != nil && !f.failed { // also after damage of the snapshot
		ix.logged(f.journal.sync())
	}
	return ix.Err()
}

// save makes the only run of the index the snapshot, and searches that from now on. It
// fails if it does not know what is on the disk then.
func (ix *Index[ID, F]) save(r *run[ID]) (*run[ID], error) {
	f := ix.files
	identity, err := writeSnapshot(f.path, f.version, f.last, r, &ix.ids)
	if errors.Is(err, errReplaced) { // what the journal gets from now on might be of the snapshot before
		ix.logged(err)
		return nil, ix.Err()
	} else if err != nil {
		return nil, fmt.Errorf("neardup: index: %w", err)
	}
	f.journal.file.Close()
	next, err := createJournal(f.path+".journal", f.version, ix.words(), identity)
	if err != nil {
		ix.logged(err)
		return nil, ix.Err()
	}
	f.journal, f.last = next, identity
	ix.serial++
	s, err := openSnapshot(f.path, f.version, ix.words(), &ix.ids, ix.serial)
	if err != nil {
		ix.fail(err)
		return nil, ix.Err()
	}
	return s.run, nil
}

// Close is Sync, and gives the files free. Afterwards the index is empty, and whatever is
// done with it is an error ([os.ErrClosed]). It does nothing with an index in memory.
func (ix *Index[ID, F]) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.files == nil {
		return nil
	}
	path := ix.files.path
	err := ix.sync()
	if closing := ix.files.close(); err == nil {
		err = closing
	}
	ix.files = nil
	ix.swap(nil)
	ix.live.Store(0)
	ix.fail(&fileError{path, os.ErrClosed})
	return err
}

// Verify checks the whole snapshot of an index that was opened. Without it, what is never
// asked for is never checked.
func (ix *Index[ID, F]) Verify() error {
	for _, r := range ix.state.Load().runs {
		if m := r.tree.file; m != nil {
			if err := m.verify(); err != nil {
				return fmt.Errorf("neardup: Verify: %w", err)
			}
		}
	}
	return ix.Err()
}
