//go:build race

// Package race says whether the race detector is at work. Tests that it makes too slow, or whose allocations it changes, ask.
package race

// Enabled: with the race detector, sync.Pool forgets at random.
const Enabled = true
