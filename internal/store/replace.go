package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

// This file replaces files atomically. After a crash at any moment, a file is the old one or the
// new one, as a whole.

// Temporary is the end of the name of a file that is still being written.
const Temporary = ".neardup-part"

// errReplaced is the error of a file that has got its name, but perhaps not on the disk.
var errReplaced = errors.New("it is not known whether the new file or the old one is on the disk")

// ReplaceFile writes a file under a temporary name and puts it on the disk. Then it gives it its
// own name, and puts the name on the disk. If it fails, the file is as it was, unless the error is
// an errReplaced: then either file may be there after a crash.
func ReplaceFile(path string, write func(w *bufio.Writer) error) (err error) {
	dir, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := os.Create(path + Temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.Is(err, errReplaced) {
			f.Close()
			os.Remove(path + Temporary)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(path+Temporary, path); err != nil {
		return err
	}
	if err := syncDirectory(dir); err != nil {
		return fmt.Errorf("%w: %w", errReplaced, err)
	}
	return nil
}
