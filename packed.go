package neardup

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A PackedSignature is a signature of which only some bits of each value are kept (b-bit
// minwise hashing, Li and König 2010): 128 values of 1 bit take 16 bytes. It can be compared,
// but neither merged nor be asked for a containment.
type PackedSignature struct {
	words  []uint64 // values from the lowest bits up, none across two words
	values int
	bits   int
	empty  bool // of the empty set
}

// Pack keeps 1, 2, 4, 8 or 16 bits of each value. Another number of bits panics.
func (s Signature) Pack(bits int) PackedSignature {
	if !isPacked(bits) {
		panic(fmt.Sprintf("neardup: Signature.Pack: %d bits", bits))
	}
	p := PackedSignature{make([]uint64, packedWords(len(s), bits)), len(s), bits, s.isEmpty()}
	packValues(p.words, s, bits)
	return p
}

func isPacked(b int) bool { return b == 1 || b == 2 || b == 4 || b == 8 || b == 16 }

func packedWords(values, bits int) int { return (values*bits + 63) / 64 }

// packValues puts some bits of each value into words, which are empty. The bits depend on
// the bin, so that two borrowed values do not agree by chance in all bins that have them.
func packValues(words []uint64, s Signature, bits int) {
	for i, v := range s {
		x := splitMix(uint64(v&^borrowed)<<16|uint64(i)) >> (64 - bits)
		words[i*bits/64] |= x << (i * bits % 64)
	}
}

// unequal returns in how many values of some bits two packed signatures differ.
func unequal(a, b []uint64, width int) int {
	n := 0
	lowest := ^uint64(0) / (1<<width - 1) // bit of each value
	if width == 1 {
		lowest = ^uint64(0)
	}
	for i, x := range a {
		x ^= b[i]
		for w := width / 2; w > 0; w /= 2 {
			x |= x >> w
		}
		n += bits.OnesCount64(x & lowest)
	}
	return n
}

// Jaccard estimates the Jaccard similarity J of the sets of two packed signatures of k
// values of b bits. Of different values 2⁻ᵇ are equal by chance, which is taken into account:
// the estimate is unbiased, and may therefore be a little below 0. Its standard error is
// √(P(1−P)/k) / (1−2⁻ᵇ), where P = J + (1−J)·2⁻ᵇ: for J = 0.5 and 128 values 0.077 with 1 bit, 0.047
// with 4 bits and 0.044 with 8. Of sets with fewer than twice as many features as values it
// may be half as much more, as some values are borrowed.
//
// It is NaN if both sets are empty, 0 if one is, and NaN if the signatures have not the
// same number of values and bits.
func (p PackedSignature) Jaccard(other PackedSignature) float64 {
	switch {
	case p.values != other.values || p.bits != other.bits || p.empty && other.empty:
		return math.NaN()
	case p.empty || other.empty:
		return 0
	}
	return packedJaccard(p.words, other.words, p.values, p.bits)
}

func packedJaccard(a, b []uint64, values, bits int) float64 {
	chance := 1 / float64(uint64(1)<<bits)
	share := float64(values-unequal(a, b, bits)) / float64(values)
	return float64(share-chance) / float64(1-chance)
}

// AppendBinary appends the number of values (2 bytes) and of bits (1 byte; 128 more if the
// set is empty), and the words in which they are, all big-endian.
func (p PackedSignature) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint16(b, uint16(p.values))
	flags := byte(p.bits)
	if p.empty {
		flags |= 0x80
	}
	b = append(b, flags)
	for _, w := range p.words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends.
func (p PackedSignature) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// MarshalText returns what AppendBinary appends, in base64.
func (p PackedSignature) MarshalText() ([]byte, error) {
	b, err := p.AppendBinary(nil)
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText reads what MarshalText wrote.
func (p *PackedSignature) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", errPacked, err)
	}
	return p.UnmarshalBinary(b)
}

// UnmarshalBinary reads what AppendBinary wrote.
func (p *PackedSignature) UnmarshalBinary(data []byte) error {
	if len(data) < 3 {
		return errPacked
	}
	q := PackedSignature{values: int(binary.BigEndian.Uint16(data)), bits: int(data[2] & 0x7F), empty: data[2]&0x80 != 0}
	data = data[3:]
	if q.values < minValues || q.values > maxValues || !isPacked(q.bits) || len(data) != 8*packedWords(q.values, q.bits) {
		return errPacked
	}
	q.words = make([]uint64, len(data)/8)
	for i := range q.words {
		q.words[i] = binary.BigEndian.Uint64(data[8*i:])
	}
	if used := q.values * q.bits % 64; used != 0 && q.words[len(q.words)-1]>>used != 0 {
		return errPacked
	}
	*p = q
	return nil
}

var errPacked = errors.New("neardup: the bytes are no packed signature")
