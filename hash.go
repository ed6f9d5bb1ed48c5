package neardup

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"
)

// A feature is hashed for two purposes. The Hash of a Fingerprinter gives the bits that vote on the
// fingerprint; it may be a function of the caller's. The key of a feature (featureKey) identifies
// it in bags and statistics; it is always xxh3, so statistics do not depend on the hash.

// A Hash maps the text of a feature to 64 and to 128 bits. The functions must be pure and safe for
// concurrent use. They should spread short and similar strings evenly over all bits: a bit that is
// constant over all features is constant in every fingerprint.
//
// The zero value is xxh3 of the UTF-8 bytes without a seed. If you set only one of the two
// functions, the Hash serves only that width, and using the other panics.
type Hash struct {
	// Sum64 hashes for 64-bit fingerprints, sets and signatures.
	Sum64 func(feature string) uint64
	// Sum128 hashes for 128-bit fingerprints.
	Sum128 func(feature string) (hi, lo uint64)

	key *hashKey // nil unless made by SeededHash
}

// A hashKey is derived from a secret. A Hash holds a pointer to it, so that printing the Hash does
// not show the seed.
type hashKey struct {
	seed  uint64 // of xxh3
	check string // 16 hexadecimal digits, by which versions tell secrets apart
}

// HashFeature returns the hash of a feature of your own: xxh3 of its bytes, without a seed. A Fingerprinter with the zero
// Hash uses the same hash in sets, signatures and fingerprints of 64 bits, and one without a [SeededHash] uses it in vectors.
func HashFeature(feature string) uint64 { return xxh3.HashString(feature) }

// SeededHash returns xxh3 with a seed derived from a secret, for texts by people who would gain
// from cheating. A secret of fewer than 16 bytes is an error. It should be random, and be kept
// apart from the fingerprints. The secret itself is never stored. The version of the fingerprints
// ([Fingerprinter.Version]) holds a check value of it, a part of its HMAC-SHA-256, which tells
// secrets apart. Anybody who can guess the secret can confirm the guess with it.
//
// Without the secret nobody can work out in advance which texts with unusual features get the same
// or a chosen fingerprint, or share a block of an index. It protects against nothing else. Texts
// that share most of their features are near each other under every secret, because that is the
// purpose of fingerprints. So anybody can copy a text to be near it, add text to be far from it, or
// fill one bucket with variants of one text. And xxh3 is not a cryptographic hash. Somebody who
// sees the fingerprints of chosen texts, or learns which texts are called near-duplicates, may find
// the seed or do without it. Against people who can watch, set Sum64 to a keyed hash such as
// SipHash.
func SeededHash(secret []byte) (Hash, error) {
	if len(secret) < 16 {
		return Hash{}, fmt.Errorf("neardup: the secret has %d bytes; at least 16 are needed", len(secret))
	}
	key := sha256.Sum256(secret) // of a fixed length, because HMAC pads its key
	derive := func(label string) []byte {
		h := hmac.New(sha256.New, key[:])
		h.Write([]byte(label))
		return h.Sum(nil)
	}
	return Hash{key: &hashKey{
		seed:  binary.BigEndian.Uint64(derive("neardup seed")),
		check: hex.EncodeToString(derive("neardup check")[:8]),
	}}, nil
}

// sum64 returns the 64-bit hash function. It panics if the caller has set only Sum128.
func (h Hash) sum64() func(string) uint64 {
	switch {
	case h.Sum64 != nil:
		return h.Sum64
	case h.Sum128 != nil:
		panic("neardup: Hash has no Sum64")
	case h.key != nil:
		return func(s string) uint64 { return xxh3.HashStringSeed(s, h.key.seed) }
	}
	return xxh3.HashString
}

// sum128 returns the 128-bit hash function. It panics if the caller has set only Sum64.
func (h Hash) sum128() func(string) (hi, lo uint64) {
	switch {
	case h.Sum128 != nil:
		return h.Sum128
	case h.Sum64 != nil:
		panic("neardup: Hash has no Sum128")
	case h.key != nil:
		return func(s string) (hi, lo uint64) {
			u := xxh3.HashString128Seed(s, h.key.seed)
			return u.Hi, u.Lo
		}
	}
	return func(s string) (hi, lo uint64) {
		u := xxh3.HashString128(s)
		return u.Hi, u.Lo
	}
}

// isXXH3 reports whether both widths are xxh3, seeded or not. Then a batch can hash the features in
// place (lex.Batch).
func (h Hash) isXXH3() bool { return h.Sum64 == nil && h.Sum128 == nil }

// featureKey returns the 64-bit key that identifies a feature in bags and statistics: its xxh3,
// with the seed if there is one. It does not depend on the hash of the fingerprints. It is never 0,
// because frequency.Table uses 0 for a free place.
func featureKey(feature string, key *hashKey) uint64 {
	h := uint64(0)
	if key != nil {
		h = xxh3.HashStringSeed(feature, key.seed)
	} else {
		h = xxh3.HashString(feature)
	}
	return max(h, 1)
}
