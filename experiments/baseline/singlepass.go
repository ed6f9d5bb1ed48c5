package baseline

import "github.com/neardup/neardup"

// A Representative says what a cluster of Single-Pass is known by.
type Representative uint8

const (
	// Nearest: its first member (leader); a fingerprint joins the nearest one, of equally near ones the
	// oldest. The other rules join the nearest in the same way, but for FirstFit.
	Nearest Representative = iota

	// FirstFit: its first member; a fingerprint joins the oldest that is near enough, and is compared
	// with no more.
	FirstFit

	// AllMembers: each of its members is compared, and the nearest counts.
	AllMembers

	// Majority: the bits that more than a half of its members have.
	Majority
)

// SinglePass clusters fingerprints in their order (S003, which describes agglomerative clustering
// under this name; this is the incremental one of Li 2013, that it cites): each is compared with the
// representatives of the clusters so far, and joins one at a distance of at most k, or else opens
// a cluster. It returns for each fingerprint the first one of its cluster, and the number of
// comparisons: n−1 at best, if all are one cluster, and n(n−1)/2 if all are different. The result
// depends on the order.
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
