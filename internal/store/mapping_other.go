//go:build !unix

package store

import "os"

// On systems other than Unix, the package does not map files: it reads them whole. It does not lock
// them either, and trusts that no other process writes them. Directories are not synced.

// mapFile returns nil, because it cannot map the file.
func mapFile(*os.File, int) []byte { return nil }

// unmap does nothing.
func unmap([]byte) {}

// lockFile does nothing.
func lockFile(*os.File) error { return nil }

// unlockFile closes the file.
func unlockFile(f *os.File) { f.Close() }

// openDirectory opens any file, which syncDirectory does not use.
func openDirectory(path string) (*os.File, error) { return os.Open(os.DevNull) }

// syncDirectory does nothing.
func syncDirectory(*os.File) error { return nil }
