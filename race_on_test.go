//go:build race

package neardup

// With the race detector, sync.Pool forgets at random.
const raceDetector = true
