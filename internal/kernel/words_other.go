//go:build !amd64 || purego

package kernel

// CutsWords reports whether there is a kernel for [Words].
func CutsWords() bool { return false }

// Words cuts text into words on other processors; see there. Here it does nothing.
func Words(src *[64]byte, dst *[64]byte, start, end *[32]uint32, base uint32, open uint64) (bytes, starts, ends int, ok bool) {
	return 0, 0, 0, false
}
