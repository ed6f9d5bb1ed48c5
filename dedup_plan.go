package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
)

// This file decides how Pairs and Groups find the pairs to verify.
//
// A small collection is joined exactly: cosine.Join finds all pairs. Its cost grows faster than the
// collection, and it keeps all vectors in memory. So in a larger one, only documents that a forest
// suggests are compared (dedup_forest.go). Either way is a joiner, which yields verified pairs only.

// exactSize is the size up to which a collection is joined exactly, in words and 100 for each document:
// about 7,000 texts of 1 KB, or 18,000 of a line.
const exactSize = 2_000_000

// exactSize returns the constant, or what a test takes for it.
func (d *Deduplicator[ID]) exactSize() int { return cmp.Or(d.limit, exactSize) }

// A Plan says how a [Deduplicator] finds the pairs to verify: with 0 Trees by comparing all documents that
// can be similar enough, otherwise by comparing those that have the same rare features in a tree of an LSH
// forest (Bawa, Condie and Ganesan 2005).
type Plan struct {
	Trees int

	// Recall estimates which fraction of the near-duplicates is found. It is 1 for an exact join, and
	// otherwise a lower bound with a confidence of 95 %. It comes from the pairs of a sample of documents:
	// how many of them are found in one tree only, in two, three and four, tells how many are found in none
	// (Chao, "Estimating the population size for capture-recapture data with unequal catchability", 1987).
	Recall  float64
	Sampled int // pairs of the sample; 0 if none was taken
}

// String describes the plan in a line.
func (p Plan) String() string {
	if p.Trees == 0 {
		return "all documents that can be similar enough are compared; recall 1"
	}
	return fmt.Sprintf("documents with the same rare features are compared, by %d trees; recall at least %.3f, from %d sampled pairs", p.Trees, p.Recall, p.Sampled)
}

// Plan returns how Pairs and Groups find the near-duplicates of the documents that are there now. It takes
// no time in a small collection, or if they were called since the last change, and otherwise nearly the
// time of Pairs. The error is that of the context or of the files.
func (d *Deduplicator[ID]) Plan(ctx context.Context) (Plan, error) {
	if err := d.rlock(); err != nil {
		return Plan{}, err
	}
	isLarge, changes := d.options().Recall < 1 && d.size > d.exactSize(), d.changes
	d.mu.RUnlock()
	if !isLarge {
		return Plan{Recall: 1}, ctx.Err()
	}
	d.said.Lock()
	plan := d.said.plan
	d.said.Unlock()
	if plan.changes != changes+1 {
		if _, err := d.collect(ctx, 0); err != nil {
			return Plan{}, err
		}
		d.said.Lock()
		plan = d.said.plan
		d.said.Unlock()
	}
	return plan.value, ctx.Err()
}

// A joiner finds pairs of contents with a cosine above a threshold. The results are the same for any number
// of processors. Pairs, Each and Drop are those of [cosine.Join].
type joiner interface {
	Pairs(from int) iter.Seq[cosine.Pair]
	Each(vectors []int, covered func(i int) bool, take func(found []cosine.Pair))
	Drop(gone func(i int) bool)
}

// joiner returns a joiner for pairs of some kinds with a cosine of at least least.
func (c *collection[ID]) joiner(least float64, kinds Kind) joiner {
	if c.isLarge {
		agreement := c.seen.agreement(least)
		if agreement < c.plantedFor {
			c.plant(agreement)
		}
		c.weigh(c.trees.Has)
		return &forestJoin[ID]{collection: c, least: least, skip: c.leavesOut(kinds), agreement: agreement, comparing: c.begin("comparing", len(c.contents))}
	}
	j := cosine.NewJoin(c.number(), least, func(int) bool { return true })
	j.Skip = c.leavesOut(kinds)
	return j
}

// number weighs the vectors and numbers their features, for exact joins.
func (c *collection[ID]) number() *cosine.Numbered {
	if c.numbered == nil {
		c.numbered = cosine.Number(c, 2)
	}
	return c.numbered
}

// pairs yields the pairs of different contents, A < B, of some kinds and with a cosine of at least least.
// It leaves out pairs of two contents that only old documents have. It ends early when the context does.
func (c *collection[ID]) pairs(ctx context.Context, least float64, kinds Kind) iter.Seq[cosine.Pair] {
	return func(yield func(cosine.Pair) bool) {
		if len(c.contents) > 0 && ctx.Err() == nil {
			c.joiner(least, kinds).Pairs(c.old)(func(p cosine.Pair) bool { return ctx.Err() == nil && yield(p) })
		}
	}
}

// plan estimates the recall of the forest for a threshold.
func (c *collection[ID]) plan(least float64) Plan {
	p := Plan{Trees: c.keys.Trees()}
	in := make([]int, p.Trees+1) // how many pairs of the sample are found in 1, 2, ... trees
	found := 0
	agreement, skip := c.seen.agreement(least), c.leavesOut(c.settings.Kinds)
	for _, f := range c.seen.pairs {
		if f.Similarity < least || skip != nil && skip(f.A, f.B) {
			continue
		}
		p.Sampled++
		in[f.trees]++
		if f.agreement >= agreement {
			found++
		}
	}
	if p.Sampled > 0 {
		p.Recall = float64(found) / (float64(p.Sampled) + unseen(in))
	}
	return p
}

// unseen returns the upper end of the confidence interval, at 95 % on one side, of the number of pairs that
// no tree finds, where in[k] pairs are found in k trees. Pairs differ in how easily they are found, so this
// is the improved estimate of Chiu et al., "An improved nonparametric lower bound of species richness via a
// modified Good–Turing frequency formula", 2014, with the variance of Chao's.
func unseen(in []int) float64 {
	t := float64(len(in) - 1)
	f1, f2, f3, f4 := float64(in[1]), float64(in[2]), float64(in[3]), float64(in[4])
	a := (t - 1) / t
	// The conversions forbid to fuse operations, so results are the same on every platform.
	f0 := a * f1 * (f1 - 1) / 2 // the form for f2 = 0
	variance := f0 + float64(a*a*f1*(2*f1-1)*(2*f1-1)/4)
	if f2 > 0 {
		r := f1 / f2
		f0 = a * f1 * r / 2
		variance = f2 * r * r * (a/2 + float64(a*a*r) + float64(a*a*r*r/4))
	}
	if f4 > 0 {
		f0 += float64((t - 3) / t * f3 / (4 * f4) * max(f1-float64((t-3)/(t-1)*f2*f3/(2*f4)), 0))
	}
	if f0 <= 0 {
		return f1
	}
	// The interval is that of a log-normal distribution.
	return f0 * exact.Exp(1.6449*math.Sqrt(exact.Ln(1+float64(variance/(f0*f0)))))
}

// A stage is a part of the work on a large collection, of which Progress is told. It may be used by several
// goroutines.
type stage struct {
	tell  func(Progress)
	mu    sync.Mutex
	now   Progress
	said  int // how many hundredths
	steps atomic.Int64
}

// begin begins a stage.
func (c *collection[ID]) begin(name string, total int) *stage {
	s := &stage{tell: c.settings.Progress, now: Progress{Stage: name, Total: total}}
	if s.tell != nil {
		s.tell(s.now)
	}
	return s
}

// add takes note that n more have been done. A nil stage takes none.
func (s *stage) add(n int) {
	if s == nil || s.tell == nil {
		return
	}
	done := min(int(s.steps.Add(int64(n))), s.now.Total)
	s.mu.Lock()
	defer s.mu.Unlock()
	if percent := done * 100 / max(s.now.Total, 1); percent > s.said {
		s.said, s.now.Done = percent, done
		s.tell(s.now)
	}
}

// sample returns about so many contents, or all: those whose digests are divisible by step, a power of
// two. So which ones they are does not depend on the order of adding.
func (c *collection[ID]) sample(about int) (sampled []int, step uint64) {
	step = 1
	for len(c.contents) >= 2*about*int(step) {
		step *= 2
	}
	for i := range c.contents {
		if c.contents[i].digest%step == 0 {
			sampled = append(sampled, i)
		}
	}
	return sampled, step
}
