//go:build !amd64

package neardup

func foldBlock(src *[64]byte, dst *[64 + copySlack]byte) (mask uint64, ok bool) {
	return foldBlockGeneric(src, dst)
}
