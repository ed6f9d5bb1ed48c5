package neardup

import (
	"context"
	"iter"
	"math"
	"unsafe"

	"github.com/neardup/neardup/internal/hamming"
)

// Pairs yields every pair of fps at a Hamming distance of at most k, exact duplicates (distance 0)
// included, each once. A and B are positions, A < B. The order is unspecified but always the same.
// fps must not change meanwhile. The loop ends early when the context does: ask ctx.Err after it.
//
// A negative k gives no pairs; k of the full width or more gives all.
//
// It uses all processors ([runtime.GOMAXPROCS]) and memory for three times fps, fps included. Time:
// one million random fingerprints take 40 ms at k = 3 on one processor. As k grows the blocks become
// short, and beyond k ≈ width/log₂(len(fps)) every pair is compared, some ten in a nanosecond. m
// equal fingerprints have m(m−1)/2 pairs; [Clusters] does not spell them out.
func Pairs[F Fingerprint](ctx context.Context, fps []F, k int) iter.Seq[Pair[int]] {
	return pairs(ctx, fps, nil, k)
}

// PairsBetween yields every pair of one of a, whose position is A, and one of b, whose
// position is B, at a Hamming distance of at most k: new documents against old ones, for
// example. It does not compare the fingerprints of a with each other, nor those of b. Else
// it is like [Pairs], with the memory of both.
func PairsBetween[F Fingerprint](ctx context.Context, a, b []F, k int) iter.Seq[Pair[int]] {
	if len(a) == 0 || len(b) == 0 {
		return func(func(Pair[int]) bool) {}
	}
	return pairs(ctx, a, b, k)
}

// pairs yields the pairs within a, or between a and b if that is not empty.
func pairs[F Fingerprint](ctx context.Context, a, b []F, k int) iter.Seq[Pair[int]] {
	if uint64(len(a))+uint64(len(b)) > math.MaxUint32 {
		panic("neardup: Pairs: more than 2³²−1 fingerprints")
	}
	k = min(k, width[F]())
	return func(yield func(Pair[int]) bool) {
		if k < 0 || len(a) == 0 {
			return
		}
		// The join does not care in which order the two words are.
		take := func(p hamming.Pair) bool { return yield(Pair[int]{A: p.I, B: p.J, Distance: p.Distance}) }
		if width[F]() == 64 {
			hamming.Join(ctx, asWords[[1]uint64](a), asWords[[1]uint64](b), k, take)
		} else {
			hamming.Join(ctx, asWords[[2]uint64](a), asWords[[2]uint64](b), k, take)
		}
	}
}

func asWords[W hamming.Words, F Fingerprint](fps []F) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(fps))), len(fps))
}
