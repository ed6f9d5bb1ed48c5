// Package program2013 is the Java program of june 2013, statement by statement, with its faults. It
// computes with numbers of any size, one bit of one token after the other. Use it to see what the
// program prints. The library makes the same fingerprints a thousand times as fast.
package program2013

import (
	_ "embed"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/neardup/neardup/lab/hashes"
)

// Listing is what the listing of june 2013 prints when it is compiled and run.
//
//go:embed listing.txt
var Listing string

// Texts are the strings that the program compares.
var Texts = [3]string{
	"This is a test string for testing",
	"This is a test string for testing, This is a test string for testing abcdef",
	"This is a test string for testing als",
}

// A SimHash is the class SimHash of the program.
type SimHash struct {
	Bits        int
	Fingerprint *big.Int
	String      string // a character for each bit, the lowest bit first
}

// New returns the SimHash of the tokens of a text. White space separates the tokens. If tie is
// true, a sum of 0 gives the bit 1. The program uses 64 bits and a tie of true, which contradicts
// its own comment and the text of june 2013.
func New(text string, bits int, tie bool) *SimHash {
	v := make([]int, bits)
	for _, token := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n\r\f", c) }) {
		hash := hashes.S001Wide(token, bits)
		for i := range v {
			if hash.Bit(i) == 1 {
				v[i]++
			} else {
				v[i]--
			}
		}
	}
	s := &SimHash{Bits: bits, Fingerprint: new(big.Int)}
	var b strings.Builder
	for i := range v {
		bit := uint(0)
		if v[i] > 0 || v[i] == 0 && tie {
			bit = 1
		}
		s.Fingerprint.SetBit(s.Fingerprint, i, bit)
		fmt.Fprint(&b, bit)
	}
	s.String = b.String()
	return s
}

// HammingDistance returns the number of bits in which two fingerprints differ.
func (s *SimHash) HammingDistance(other *SimHash) int {
	n := 0
	for x, one := new(big.Int).Xor(s.Fingerprint, other.Fingerprint), big.NewInt(1); x.Sign() != 0; n++ {
		x.And(x, new(big.Int).Sub(x, one)) // clears the lowest 1
	}
	return n
}

// Distance is getDistance of the program: the number of characters in which two strings differ. It
// returns −1 if their lengths differ.
func Distance(a, b string) int {
	if len(a) != len(b) {
		return -1
	}
	n := 0
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// SubByDistance returns the blocks of other's fingerprint for an index of the distance, as the
// program cuts them: ⌊bits/(distance+1)⌋ bits each. The bits are read from the lowest, so the
// values of the blocks are reversed. It panics if the distance is negative or not below the number
// of bits.
//
// The program has two faults. Bits that are left over at the end are in no block, which does no
// harm. And the loop ends at the highest 1 of s, instead of at the number of bits. If s has leading
// zeros, blocks are missing, and an index misses neighbours.
func (s *SimHash) SubByDistance(other *SimHash, distance int) (blocks []*big.Int) {
	if distance < 0 || distance >= s.Bits {
		panic("program2013: distance out of range")
	}
	each := s.Bits / (distance + 1)
	value, two := new(big.Int), big.NewInt(2)
	for i := range s.Fingerprint.BitLen() {
		value.Mul(value, two)
		value.Add(value, big.NewInt(int64(other.Fingerprint.Bit(i))))
		if (i+1)%each == 0 {
			blocks = append(blocks, value)
			value = new(big.Int)
		}
	}
	return blocks
}

// Print writes what the program prints. With a tie of false it writes what the program would print
// if it did what its comment says.
func Print(w io.Writer, tie bool) error {
	var b strings.Builder
	const bits = 64
	object := func(text string, of func(*SimHash) int) *SimHash {
		s := New(text, bits, tie)
		fmt.Fprintf(&b, "%s length %d\n%d  %d\n", s.String, len(s.String), s.Fingerprint, of(s))
		return s
	}
	list := func(blocks []*big.Int) {
		for _, block := range blocks {
			fmt.Fprintf(&b, "----%d\n", block)
		}
	}
	bitLength := func(s *SimHash) int { return s.Fingerprint.BitLen() }
	bitCount := func(s *SimHash) int { return s.HammingDistance(&SimHash{Fingerprint: new(big.Int)}) }

	first := object(Texts[0], bitLength)
	list(first.SubByDistance(first, 3))
	second := object(Texts[1], bitCount)
	list(first.SubByDistance(second, 3))
	third := object(Texts[2], bitCount)
	list(first.SubByDistance(third, 4))
	fmt.Fprintln(&b, "============================")
	fmt.Fprintln(&b, first.HammingDistance(second), Distance(first.String, second.String))
	fmt.Fprintln(&b, first.HammingDistance(third), Distance(first.String, third.String))
	_, err := io.WriteString(w, b.String())
	return err
}
