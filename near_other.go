//go:build !amd64

package neardup

func matchTags(tags []uint32, tag uint32, k int) uint64 { return matchTagsGeneric(tags, tag, k) }

func anyPair(fps []uint64, k int) bool { return anyPairGeneric(fps, k) }
