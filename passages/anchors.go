package passages

import "math/bits"

// This file chooses the anchors of a text: runs of tokens by which texts are found that may share a passage.
//
// Every passage has tokens() tokens at least. Of each window of so many, the run of half as many with the smallest hash is an anchor
// (winnowing; Schleimer, Wilkerson and Aiken 2003). Where two texts share a passage they share such a window, so both have an
// anchor there with the same hash. So a gram of which no anchor stands twice occurs once, and need not be looked at. Of 50 tokens
// that leaves one anchor for 13. Of equal runs the last one of a window counts, and not one that was chosen before: where a text
// repeats itself within a window, both places have an anchor of their own.

// anchorTokens returns how many tokens an anchor has, and how many of them begin in a window.
func (l Length) anchorTokens() (run, window int) {
	run = (2*l.tokens() + 2) / 3
	return run, l.tokens() - run + 1
}

// An anchor is a run of tokens.
type anchor struct {
	hash uint64
	at   uint32 // its first token
}

// anchors appends the anchors of a text, by their places.
func (l Length) anchors(hashes []uint64, all []anchor) []anchor {
	run, window := l.anchorTokens()
	if len(hashes) < l.tokens() {
		return all
	}
	// The sum of a run is that of its tokens, each turned as far as it is from the end, so that the next sum follows from the one before.
	sum := sumOf(hashes[:run-1])
	ring := make([]uint64, 1<<bits.Len(uint(window))) // the hashes of the last runs
	mask := len(ring) - 1
	var least anchor // of the window of runs that ends with the one at a place
	for at := 0; at+run <= len(hashes); at++ {
		sum = bits.RotateLeft64(sum, 1) ^ hashes[at+run-1]
		hash := mixed(sum)
		sum ^= bits.RotateLeft64(hashes[at], run-1)
		ring[at&mask] = hash
		switch {
		case at == 0 || hash <= least.hash:
			least = anchor{hash, uint32(at)}
		case int(least.at)+window <= at: // it has left the window
			least = anchor{hash, uint32(at)}
			for k := at - 1; k > at-window; k-- {
				if h := ring[k&mask]; h < least.hash {
					least = anchor{h, uint32(k)}
				}
			}
		case at != window-1:
			continue
		}
		if at >= window-1 { // the first window is complete
			all = append(all, least)
		}
	}
	return all
}

// sumOf returns the sum of a run.
func sumOf(hashes []uint64) (sum uint64) {
	for _, h := range hashes {
		sum = bits.RotateLeft64(sum, 1) ^ h
	}
	return sum
}

// mixed makes the hash of a run from its sum: without it, runs with a certain token would nearly always be the smallest.
func mixed(sum uint64) uint64 {
	sum *= 0x9E3779B97F4A7C15
	return sum ^ sum>>32
}
