//go:build !purego

package kernel

// Tiers returns the tiers that this machine has, the best one last.
func Tiers() []Tier { return []Tier{Generic, NEON} }
