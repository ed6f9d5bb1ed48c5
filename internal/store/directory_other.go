//go:build !unix

package store

import "os"

// On systems other than Unix, directories are not synced.

// openDirectory opens any file, which syncDirectory does not use.
func openDirectory(path string) (*os.File, error) { return os.Open(os.DevNull) }

// syncDirectory does nothing.
func syncDirectory(*os.File) error { return nil }
