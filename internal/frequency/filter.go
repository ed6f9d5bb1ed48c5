package frequency

import "math/bits"

// A Filter says of a key whether it may be in a set: a bit for each key, at a place that others share. It
// has 8 to 16 bits for each key, so it takes a fraction of the memory of the set, and spares nearly all
// keys that are not there the look-up. Keys must be hashes.
type Filter []uint64

// NewFilter returns a filter for n keys.
func NewFilter(n int) Filter { return make(Filter, 1<<bits.Len(uint(n/8))) }

// Add adds a key. The lowest bit of keys does not matter, since it may be no hash.
func (f Filter) Add(key uint64) { f[f.word(key)] |= 1 << (key >> 1 & 63) }

// MayHave reports whether a key may have been added. It never denies one that was.
func (f Filter) MayHave(key uint64) bool { return f.Bit(key) != 0 }

// Bit is MayHave as a number: 1 if the key may have been added, and else 0.
func (f Filter) Bit(key uint64) uint64 { return f[f.word(key)] >> (key >> 1 & 63) & 1 }

// word returns the word that has the bit of a key.
func (f Filter) word(key uint64) uint64 { return key >> 7 & uint64(len(f)-1) }
