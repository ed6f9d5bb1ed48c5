//go:build !race

package dedup

const raceDetector = false
