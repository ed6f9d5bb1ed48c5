//go:build !unix

package kernel

import "testing"

// guarded returns n bytes.
func guarded(_ *testing.T, n int) []byte { return make([]byte, n) }
