package baseline

import "github.com/neardup/neardup"

// This file has Single-Pass clustering, with four rules for what represents a cluster.

// A Representative says what new fingerprints are compared with to decide whether they join a
// cluster.
type Representative uint8

const (
	// Nearest compares with the first member of each cluster (the leader). A fingerprint joins the
	// nearest cluster; of equally near ones, the oldest. All rules but FirstFit choose the cluster
	// in this way.
	Nearest Representative = iota

	// FirstFit compares with the first member of each cluster. A fingerprint joins the oldest
	// cluster that is near enough, and is not compared further.
	FirstFit

	// AllMembers compares with every member of each cluster.
	AllMembers

	// Majority compares with the centre of each cluster: the bits that more than half of its
	// members have.
	Majority
)

// SinglePass clusters fingerprints in their order. Each fingerprint is compared with the
// representatives of the clusters so far. It joins a cluster at a distance of at most k, or opens a
// new one. The result depends on the order.
//
// SinglePass returns for each fingerprint the position of the first fingerprint of its cluster, and
// the number of comparisons. That number is n−1 if all are in one cluster, and n(n−1)/2 if all are
// different.
//
// Li 2015 uses the method under this name, but describes agglomerative clustering. This is the
// incremental method of Li 2013, which Li 2015 cites.
func SinglePass(fps []neardup.Fingerprint64, k int, by Representative) (clusters []int, comparisons int) {
	type cluster struct {
		first   int
		by      []neardup.Fingerprint64 // the representative, or all members
		members int
		ones    *[64]int // Majority: how many members have each bit
	}
	var all []*cluster
	clusters = make([]int, len(fps))
	for i, fp := range fps {
		var best *cluster
		nearest := k + 1
	search:
		for _, c := range all {
			for _, r := range c.by {
				comparisons++
				if d := r.Distance(fp); d < nearest {
					if best, nearest = c, d; by == FirstFit {
						break search
					}
				}
			}
		}
		if best == nil {
			best = &cluster{first: i, by: []neardup.Fingerprint64{fp}}
			if all = append(all, best); by == Majority {
				best.ones = new([64]int)
			}
		} else if by == AllMembers {
			best.by = append(best.by, fp)
		}
		best.members++
		if by == Majority {
			centre := neardup.Fingerprint64(0)
			for bit := range best.ones {
				best.ones[bit] += int(fp >> bit & 1)
				if 2*best.ones[bit] > best.members {
					centre |= 1 << bit
				}
			}
			best.by[0] = centre
		}
		clusters[i] = best.first
	}
	return clusters, comparisons
}
