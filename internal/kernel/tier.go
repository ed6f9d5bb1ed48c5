package kernel

// A Tier is a set of instructions that a processor has.
type Tier uint8

const (
	Generic Tier = iota // portable Go
	AVX2                // with BMI2
	AVX512              // F, BW, VBMI2 and VPOPCNTDQ: Intel since Ice Lake, AMD since Zen 4
	NEON                // every arm64
)

// String returns the name of the tier.
func (t Tier) String() string { return [...]string{"generic", "AVX2", "AVX512", "NEON"}[t] }

// tier is what the kernels use: the best that there is.
var tier = best()

// best returns the best tier of this machine.
func best() Tier {
	all := Tiers()
	return all[len(all)-1]
}

// EachTier calls do in every tier that this machine has, the generic one first. It is for tests.
func EachTier(do func(Tier)) {
	defer Use(best())
	for _, t := range Tiers() {
		Use(t)
		do(t)
	}
}

// Use makes the kernels use a tier of Tiers, until it is called again. It is for tests and
// benchmarks; no kernel may run meanwhile.
func Use(t Tier) { tier = t }
