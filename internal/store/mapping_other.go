//go:build !unix

package store

import "os"

// On systems other than Unix, the package does not map files: it reads them whole.

// mapFile returns nil, because it cannot map the file.
func mapFile(*os.File, int) []byte { return nil }

// unmap does nothing.
func unmap([]byte) {}
