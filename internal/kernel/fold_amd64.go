package kernel

import (
	"golang.org/x/sys/cpu"
)

// hasFold says whether the processor can run fold_amd64.s, which folds all 64 bytes at once.
var hasFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

//go:noescape
func foldBlockAVX512(src, dst *byte) (mask uint64, ok bool)

// FoldBlock lowers the case of 64 bytes of ASCII into dst, and returns which of them are letters or
// digits: bit i of mask stands for byte i. If not all bytes are ASCII, ok is false and dst is
// unspecified. It leaves the slack of dst as it is.
func FoldBlock(src *[64]byte, dst *[64 + Slack]byte) (mask uint64, ok bool) {
	if hasFold {
		return foldBlockAVX512(&src[0], &dst[0])
	}
	return FoldBlockGeneric(src, dst)
}
