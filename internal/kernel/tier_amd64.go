//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// best returns the best tier of this processor. GODEBUG=cpu.avx512vpopcntdq=off or cpu.avx2=off
// take a tier away.
func best() Tier {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasBMI2:
		return Generic
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512VPOPCNTDQ:
		return AVX2
	}
	return AVX512
}
