//go:build !race

package neardup

const raceDetector = false
