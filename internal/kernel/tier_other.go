//go:build (!amd64 && !arm64) || purego

package kernel

// Tiers returns the tiers that this machine has, the best one last.
func Tiers() []Tier { return []Tier{Generic} }
