//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// Tiers returns the tiers that this machine has, the best one last. GODEBUG=cpu.avx512vpopcntdq=off
// or cpu.avx2=off take a tier away.
func Tiers() []Tier {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT:
		return []Tier{Generic}
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512VBMI2 || !x.HasAVX512VPOPCNTDQ:
		return []Tier{Generic, AVX2}
	}
	return []Tier{Generic, AVX2, AVX512}
}
