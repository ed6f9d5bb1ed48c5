package passages

import "math/bits"

// This file chooses the anchors of a text: runs of tokens by which texts are found that may share a passage.
//
// A gram (tokens.go) has tokens() tokens at least. Of each window of so many, the run of two thirds as many with the smallest hash is an anchor
// (winnowing; Schleimer, Wilkerson and Aiken 2003). Where a gram stands in two places, both have the same window, and so an anchor
// with the same hash. So a gram stands once if no anchor in its window stands twice, and need not be looked at. Of 50 tokens
// that leaves one anchor for 9.
//
// Where several runs of a window have the smallest hash, the last one is the anchor. So if a text repeats itself within a window, both
// places have an anchor of their own.

// anchorTokens returns how many tokens an anchor has, and how many runs of so many are in a window. With runs of half the window instead of two
// thirds there are a third fewer anchors, but of 10 GB of text more documents share one by chance: 82 s instead of 79.
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
