//go:build !purego

package kernel

//go:noescape
func foldBlockAVX512(src, dst *byte) (mask uint64, ok bool)

// FoldBlock lowers the case of 64 bytes of ASCII into dst, and returns which of them are letters or
// digits: bit i of mask stands for byte i. If not all bytes are ASCII, ok is false and dst is
// unspecified. It leaves the slack of dst as it is.
func FoldBlock(src *[64]byte, dst *[64 + Slack]byte) (mask uint64, ok bool) {
	if tier == AVX512 {
		return foldBlockAVX512(&src[0], &dst[0])
	}
	return FoldBlockGeneric(src, dst)
}
