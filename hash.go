package neardup

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"
)

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

	key *hashKey // of a SeededHash
}

// A hashKey is what is made of a secret. It is behind a pointer so that printing a
// Hash does not show it.
type hashKey struct {
	seed  uint64
	check string
}

// SeededHash returns xxh3 with a seed made of a secret of at least 16 bytes, for
// texts of people who would gain from cheating. The secret should be random and be
// kept apart from the fingerprints; it is never stored. What is stored is a check
// value of it (a part of its HMAC-SHA-256), by which fingerprints of another secret
// are told apart, and by which a secret that can be guessed can be found.
//
// Without the secret nobody can work out beforehand which texts with features of
// their own get the same or a chosen fingerprint, or share a block of an index.
// That is all. Texts that share most of their features are near under every secret,
// that is what fingerprints are for: anybody can copy a text to be near it, add text
// to one to be far from it, or fill one bucket with variants of one text. And xxh3 is
// not a cryptographic hash: who sees the fingerprints of texts of their choice, or
// learns which texts are called near-duplicates, may find the seed or do without
// it. Against those who can watch, set Sum64 to a keyed hash such as SipHash.
func SeededHash(secret []byte) (Hash, error) {
	if len(secret) < 16 {
		return Hash{}, fmt.Errorf("neardup: a secret of %d bytes; at least 16 are needed", len(secret))
	}
	key := sha256.Sum256(secret) // of a fixed length, for HMAC pads
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

// isXXH3 reports whether both functions are xxh3.
func (h Hash) isXXH3() bool { return h.Sum64 == nil && h.Sum128 == nil }

// featureKey returns what a feature is known by in bags and statistics: its xxh3 with
// the seed if there is one, whatever the hash of the fingerprints, but never 0.
func featureKey(feature string, key *hashKey) uint64 {
	h := uint64(0)
	if key != nil {
		h = xxh3.HashStringSeed(feature, key.seed)
	} else {
		h = xxh3.HashString(feature)
	}
	return max(h, 1)
}
