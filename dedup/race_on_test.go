//go:build race

package dedup

// With the race detector everything takes ten times as long.
const raceDetector = true
