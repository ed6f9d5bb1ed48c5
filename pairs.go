package neardup

import (
	"context"
	"iter"
	"math"
	"unsafe"

	"github.com/neardup/neardup/internal/hamming"
)

// Pairs yields every pair of fps at a Hamming distance of at most k, each once, equal fingerprints
// (distance 0) included. A and B are positions, A < B. The order is unspecified but always the
// same. If the context ends, its error comes last, with an empty Pair. fps must not change while the
// loop runs.
//
// A negative k gives no pairs; a k of the full width or more gives all. Pairs panics for
// more than 2³²−1 fingerprints.
//
// It uses all processors ([runtime.GOMAXPROCS]), and memory for three times fps, fps included. For
// one million random fingerprints it takes 40 ms at k = 3 on one processor. As k grows the blocks
// become short; beyond k ≈ width/log₂(len(fps)) every pair is compared, about ten a nanosecond. m equal
// fingerprints have m(m−1)/2 pairs; [Components] does not list them. It uses the pigeonhole principle of
// june 2013 §3, and uses it again within large buckets, as Wang 2019 §2.3 does once.
func Pairs[F Fingerprint](ctx context.Context, fps []F, k int) iter.Seq2[Pair[int], error] {
	return pairs(ctx, fps, nil, k)
}

// PairsBetween yields every pair of a fingerprint of a and a fingerprint of b at a Hamming distance
// of at most k, such as new documents against old ones. A is the position in a, and B the position
// in b. It does not compare the fingerprints of a with each other, nor those of b. Otherwise it is
// like [Pairs], with memory for three times both.
func PairsBetween[F Fingerprint](ctx context.Context, a, b []F, k int) iter.Seq2[Pair[int], error] {
	if len(a) == 0 || len(b) == 0 {
		a, b = nil, nil // or else those of one would be compared with each other
	}
	return pairs(ctx, a, b, k)
}

// pairs yields the pairs within a if b is empty, and those between a and b otherwise.
func pairs[F Fingerprint](ctx context.Context, a, b []F, k int) iter.Seq2[Pair[int], error] {
	if uint64(len(a))+uint64(len(b)) > math.MaxUint32 {
		panic("neardup: Pairs: more than 2³²−1 fingerprints")
	}
	k = min(k, width[F]())
	return func(yield func(Pair[int], error) bool) {
		stopped := false
		take := func(p hamming.Pair) bool {
			stopped = !yield(Pair[int]{A: p.I, B: p.J, Distance: p.Distance}, nil)
			return !stopped
		}
		// The join does not care which of the two words comes first.
		switch {
		case k < 0 || len(a) == 0:
		case width[F]() == 64:
			hamming.Join(ctx, asWords[[1]uint64](a), asWords[[1]uint64](b), k, take)
		default:
			hamming.Join(ctx, asWords[[2]uint64](a), asWords[[2]uint64](b), k, take)
		}
		if err := ctx.Err(); err != nil && !stopped {
			yield(Pair[int]{}, err)
		}
	}
}

// asWords returns fps as words, in the same memory. Both fingerprint types are one or two uint64
// without padding.
func asWords[W hamming.Words, F Fingerprint](fps []F) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(fps))), len(fps))
}
