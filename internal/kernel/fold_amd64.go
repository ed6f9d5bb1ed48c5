package kernel

import (
	"golang.org/x/sys/cpu"
)

// hasFold says whether the kernel of fold_amd64.s can run. It does the same as its
// generic twin in fold.go, on all 64 bytes at once.
var hasFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

//go:noescape
func foldBlockAVX512(src, dst *byte) (mask uint64, ok bool)

func FoldBlock(src *[64]byte, dst *[64 + Slack]byte) (mask uint64, ok bool) {
	if hasFold {
		return foldBlockAVX512(&src[0], &dst[0])
	}
	return FoldBlockGeneric(src, dst)
}
