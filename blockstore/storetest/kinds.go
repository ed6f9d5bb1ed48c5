package storetest

import (
	"math/rand/v2"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// This file says what the tests need to know about each kind of values: how to make them, and what
// is near by brute force.

// similarity is that of all schemes for signatures in the tests.
const similarity = 0.5

// A kind is a type of values. Methods that make values always make the same of the same arguments.
type kind[V any] struct {
	// base returns a value. Those of different numbers are not near each other.
	base func(number uint64) V

	// near returns a value that is near v; those of different numbers differ, up to 64.
	near func(v V, number int) V

	// through returns a value that is still near v, as far away as the tests go. For fingerprints
	// only one table leads to v, which depends on the number.
	through func(v V, number int) V

	// wild returns a value whose keys are often those of others, sometimes just outside the distance
	// of v.
	wild func(random *rand.Rand, v V) V

	// edges are values with bits at the borders of words and blocks.
	edges []V

	// match compares two values as a store with the scheme does.
	match func(scheme blockstore.Scheme[V], a, b V) (neardup.Match[string], bool)

	equal func(a, b V) bool

	// schemes are those to test. The first one is that of most tests.
	schemes []blockstore.Scheme[V]
}

// kindOf returns what there is to know about values of the type V.
func kindOf[V any]() kind[V] {
	var k any
	switch any(*new(V)).(type) {
	case neardup.Fingerprint64:
		k = kind64()
	case neardup.Fingerprint128:
		k = kind128()
	case neardup.Signature:
		k = signatures()
	}
	return k.(kind[V])
}

// must returns v, and panics on an error.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// fp is the fingerprint A of the example of Li 2015 §2.3.
const fp neardup.Fingerprint64 = 0x800d8e90e45cc488

func kind64() kind[neardup.Fingerprint64] {
	type F = neardup.Fingerprint64
	return kind[F]{
		base: func(n uint64) F {
			if n == 0 {
				return fp
			}
			return F(rand.NewPCG(7, n).Uint64())
		},
		near:    func(v F, n int) F { return v ^ 1<<(n%64) },
		through: through64,
		wild:    wild64,
		// B and C of Li 2015: A and B differ in 1 bit, A and C in 3, B and C in 4.
		edges: []F{0, 1, 1 << 63, 1<<63 - 1, 1<<64 - 1, 1<<64 - 2, 0x8000800080008000, 0x7fff7fff7fff7fff, fp, 0x800d8e90e4dcc488, 0x800dae90e55ce488},
		match: func(s blockstore.Scheme[F], a, b F) (neardup.Match[string], bool) {
			d := a.Distance(b)
			return neardup.Match[string]{Distance: d}, d <= s.Distance()
		},
		equal: func(a, b F) bool { return a == b },
		schemes: []blockstore.Scheme[F]{
			must(blockstore.Hamming[F](3, 0)), must(blockstore.Hamming[F](3, 5)), must(blockstore.Hamming[F](3, 6)),
			must(blockstore.Hamming[F](0, 0)), must(blockstore.Hamming[F](1, 0)), must(blockstore.Hamming[F](7, 0)),
		},
	}
}

// through64 flips one bit in three of four blocks of 16 bits. So only the given table, modulo 4,
// leads from the result back to v.
func through64(v neardup.Fingerprint64, number int) neardup.Fingerprint64 {
	for other := range 4 {
		if other != number%4 {
			v ^= 1 << (63 - 16*other - number%16)
		}
	}
	return v
}

// wild64 returns a value with three blocks of zeros, or one that is a few bits from v.
func wild64(random *rand.Rand, v neardup.Fingerprint64) neardup.Fingerprint64 {
	switch random.IntN(4) {
	case 0:
		v = neardup.Fingerprint64(random.Uint64() & 0xFFFF)
	case 1:
		v = neardup.Fingerprint64(random.Uint64())
	}
	for range random.IntN(7) {
		v ^= 1 << random.IntN(64)
	}
	return v
}

func kind128() kind[neardup.Fingerprint128] {
	type F = neardup.Fingerprint128
	of := func(hi, lo neardup.Fingerprint64) F { return F{Hi: uint64(hi), Lo: uint64(lo)} }
	k := kind64()
	return kind[F]{
		base: func(n uint64) F { return of(k.base(n), k.base(n+1000)) },
		near: func(v F, n int) F {
			if n%2 == 0 {
				return of(k.near(neardup.Fingerprint64(v.Hi), n), neardup.Fingerprint64(v.Lo))
			}
			return of(neardup.Fingerprint64(v.Hi), k.near(neardup.Fingerprint64(v.Lo), n))
		},
		// One bit in three of four blocks of 32 bits.
		through: func(v F, n int) F {
			for other := range 4 {
				bit := uint64(1) << (63 - 32*(other%2) - n%32)
				switch {
				case other == n%4:
				case other < 2:
					v.Hi ^= bit
				default:
					v.Lo ^= bit
				}
			}
			return v
		},
		wild: func(random *rand.Rand, v F) F {
			if random.IntN(2) == 0 {
				return of(wild64(random, neardup.Fingerprint64(v.Hi)), neardup.Fingerprint64(v.Lo))
			}
			return of(neardup.Fingerprint64(v.Hi), wild64(random, neardup.Fingerprint64(v.Lo)))
		},
		edges: []F{{}, of(0, 1), of(1, 0), of(1<<63, 0), of(0, 1<<63), of(1<<63-1, 1<<64-1), of(1<<64-1, 1<<63-1), of(1<<64-1, 1<<64-1), of(fp, fp), of(^fp, fp), of(fp, ^fp)},
		match: func(s blockstore.Scheme[F], a, b F) (neardup.Match[string], bool) {
			d := a.Distance(b)
			return neardup.Match[string]{Distance: d}, d <= s.Distance()
		},
		equal:   func(a, b F) bool { return a == b },
		schemes: []blockstore.Scheme[F]{must(blockstore.Hamming[F](3, 0)), must(blockstore.Hamming[F](3, 5)), must(blockstore.Hamming[F](0, 0)), must(blockstore.Hamming[F](6, 8))},
	}
}

func signatures() kind[neardup.Signature] {
	type S = neardup.Signature
	const values = 128
	change := func(v S, i int) S {
		v = slices.Clone(v)
		v[i%values] ^= 1
		return v
	}
	random := func(seed uint64) S {
		r := rand.New(rand.NewPCG(8, seed))
		v := make(S, values)
		for i := range v {
			v[i] = r.Uint32N(1 << 31)
		}
		return v
	}
	empty := neardup.MinHash{}.Sign(nil)
	return kind[S]{
		base: random,
		near: func(v S, n int) S { return change(v, n*5) },
		through: func(v S, n int) S { // 48 of the values differ, in 12 bands of 4
			v = slices.Clone(v)
			for i := range 48 {
				v[(n*4+i)%values] ^= 1
			}
			return v
		},
		wild: func(r *rand.Rand, v S) S {
			if r.IntN(8) == 0 {
				return empty
			}
			if v = slices.Clone(v); v[0] > 1<<31 { // the empty one
				v = random(r.Uint64())
			}
			for range r.IntN(2 * values) { // most of them are not similar any more
				v[r.IntN(values)] = r.Uint32N(3)
			}
			return v
		},
		edges: []S{empty, make(S, values), slices.Repeat(S{1<<31 - 1}, values), slices.Repeat(S{1 << 31}, values), random(1), change(random(1), 3)},
		match: func(s blockstore.Scheme[S], a, b S) (neardup.Match[string], bool) {
			m := neardup.Match[string]{Similarity: a.Jaccard(b)}
			if !(m.Similarity >= similarity) { // NaN, too
				return m, false
			}
			x, y := s.AppendKeys(nil, must(s.Value(a))), s.AppendKeys(nil, must(s.Value(b)))
			for i := range min(len(x), len(y)) {
				if x[i] == y[i] {
					return m, true
				}
			}
			return m, false
		},
		equal: func(a, b S) bool { return slices.Equal(a, b) },
		schemes: []blockstore.Scheme[S]{
			must(blockstore.MinHash(similarity, blockstore.SignatureOptions{})),
			must(blockstore.MinHash(similarity, blockstore.SignatureOptions{Banding: neardup.Banding{Bands: 5, Rows: 3}})),
		},
	}
}
