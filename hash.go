package neardup

import "github.com/zeebo/xxh3"

// A Hash maps the text of a feature to 64 and to 128 bits. The functions must
// be pure and safe for concurrent use, and should spread short and similar
// strings evenly over all bits: a bit that is constant over all features is
// constant in every fingerprint.
//
// A nil function means xxh3 of the UTF-8 bytes without a seed; a Hash in which
// only one function is set serves that width, and using the other panics.
type Hash struct {
	Sum64  func(feature string) uint64
	Sum128 func(feature string) (hi, lo uint64)
}

func (h Hash) sum64() func(string) uint64 {
	if h.Sum64 == nil {
		if h.Sum128 != nil {
			panic("neardup: Hash has no Sum64")
		}
		return xxh3.HashString
	}
	return h.Sum64
}

func (h Hash) sum128() func(string) (hi, lo uint64) {
	if h.Sum128 == nil {
		if h.Sum64 != nil {
			panic("neardup: Hash has no Sum128")
		}
		return func(s string) (hi, lo uint64) {
			u := xxh3.HashString128(s)
			return u.Hi, u.Lo
		}
	}
	return h.Sum128
}

// hash64 returns the hashes of the features that next has prepared.
func (b *batch) hash64() []uint64 {
	out := b.lo[:b.limit-b.first]
	start, end := b.start[b.first:], b.end[b.first+b.n-1:]
	for i := range out {
		out[i] = xxh3.Hash(b.buf[start[i]:end[i]])
	}
	return out
}

// hash128 is hash64 for 128 bits.
func (b *batch) hash128() (hi, lo []uint64) {
	hi, lo = b.hi[:b.limit-b.first], b.lo[:b.limit-b.first]
	start, end := b.start[b.first:], b.end[b.first+b.n-1:]
	for i := range lo {
		u := xxh3.Hash128(b.buf[start[i]:end[i]])
		hi[i], lo[i] = u.Hi, u.Lo
	}
	return hi, lo
}
