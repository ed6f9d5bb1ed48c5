//go:build !unix

package store

import "os"

// On systems other than Unix, files are not locked: the package trusts that no other process writes them.

// lockFile does nothing.
func lockFile(*os.File) error { return nil }

// unlockFile closes the file.
func unlockFile(f *os.File) { f.Close() }
