//go:build !amd64

package kernel

func FoldBlock(src *[64]byte, dst *[64 + Slack]byte) (mask uint64, ok bool) {
	return FoldBlockGeneric(src, dst)
}
