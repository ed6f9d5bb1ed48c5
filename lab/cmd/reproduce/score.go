package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/neardup/neardup"
)

// This file judges the pairs that a system finds. As in the papers, precision and recall count
// documents, not pairs; pairScore counts pairs.

// A score counts documents. A document is detected if the system says that it is similar to any
// other document. It is right if the system says so of a document of its own group. It is known if
// its group has another document.
type score struct{ detected, right, known int }

func (s score) precision() float64 {
	if s.detected == 0 {
		return 1
	}
	return float64(s.right) / float64(s.detected)
}
func (s score) recall() float64 { return float64(s.right) / float64(max(s.known, 1)) }
func (s score) f1() float64     { return 2 * float64(s.right) / float64(max(s.detected+s.known, 1)) }

// String returns precision, recall and F1 in percent.
func (s score) String() string {
	return fmt.Sprintf("%.1f / %.1f / %.1f", 100*s.precision(), 100*s.recall(), 100*s.f1())
}

func (s score) add(t score) score {
	return score{s.detected + t.detected, s.right + t.right, s.known + t.known}
}

// A verdict has, for every document of a pool, the largest similarity to any other document and the
// largest one to another document of its group.
type verdict struct {
	any, own []float64
	known    int // documents whose group has another document
}

// judge returns the verdict on the pairs that a system found.
func judge(pool []*document, pairs []neardup.Pair[int]) verdict {
	v := verdict{any: make([]float64, len(pool)), own: make([]float64, len(pool))}
	for i := range pool {
		v.any[i], v.own[i] = -1, -1
	}
	for _, p := range pairs {
		for _, i := range []int{p.A, p.B} {
			v.any[i] = max(v.any[i], p.Similarity)
			if pool[p.A].of == pool[p.B].of {
				v.own[i] = max(v.own[i], p.Similarity)
			}
		}
	}
	members := map[int]int{}
	for _, d := range pool {
		members[d.of]++
	}
	for _, n := range members {
		if n > 1 {
			v.known += n
		}
	}
	return v
}

// at returns the score with a similarity of at least least. A similarity that is smaller only by a
// rounding error counts too: 0.9/6 + 0.1 must reach 0.25.
func (v verdict) at(least float64) score {
	const tolerance = 1e-12
	s := score{known: v.known}
	for i := range v.any {
		if v.any[i] >= least-tolerance {
			s.detected++
		}
		if v.own[i] >= least-tolerance {
			s.right++
		}
	}
	return s
}

// join returns the verdict on two pools together.
func (v verdict) join(w verdict) verdict {
	return verdict{slices.Concat(v.any, w.any), slices.Concat(v.own, w.own), v.known + w.known}
}

// best returns the similarity with the largest F1, and the score at that similarity.
func (v verdict) best() (least float64, best score) {
	levels := slices.Concat(v.any, v.own)
	slices.Sort(levels)
	levels = slices.Compact(levels)
	best = score{known: v.known}
	least = math.Inf(1)
	for _, l := range levels {
		if l < 0 {
			continue
		}
		if s := v.at(l); s.f1() > best.f1() {
			least, best = l, s
		}
	}
	return least, best
}

// pairScore returns precision, recall and F1 of pairs in percent: of two documents of a group, which are to be found, and of the pairs that were.
func pairScore(pool []*document, pairs []neardup.Pair[int]) string {
	members := map[int]int{}
	var s score
	for _, d := range pool {
		s.known += members[d.of]
		members[d.of]++
	}
	for _, p := range pairs {
		if s.detected++; pool[p.A].of == pool[p.B].of {
			s.right++
		}
	}
	return s.String()
}
