//go:build !amd64 || purego

package kernel

func best() Tier { return Generic }
