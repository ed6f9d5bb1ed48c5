package neardup

import "golang.org/x/sys/cpu"

// hasAVX512 says whether the kernels of near_amd64.s can run. They do the same
// as their generic twins in near.go, on 16 tags or 8 fingerprints at a time.
var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasBMI2

//go:noescape
func matchTagsAVX512(tags *uint32, n int, tag uint32, k int) uint64

//go:noescape
func anyPairAVX512(fps *uint64, n int, k int) bool

func matchTags(tags []uint32, tag uint32, k int) uint64 {
	if hasAVX512 && len(tags) > 0 {
		return matchTagsAVX512(&tags[0], min(len(tags), 64), tag, k)
	}
	return matchTagsGeneric(tags, tag, k)
}

func anyPair(fps []uint64, k int) bool {
	if hasAVX512 && len(fps) > 0 {
		return anyPairAVX512(&fps[0], len(fps), k)
	}
	return anyPairGeneric(fps, k)
}
