package program2013

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// TestPrint compares the output of the program with that of the listing, byte for byte.
func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, true); err != nil || b.String() != Listing {
		t.Errorf("%v:\n%s", err, b.String())
	}
	b.Reset()
	if err := Print(&b, false); err != nil || b.String() == Listing {
		t.Errorf("%v: the other rule for ties prints the same", err)
	}
}

// TestNew checks the three strings of june 2013, in all widths that the papers use, with both rules
// for ties.
func TestNew(t *testing.T) {
	for _, test := range []struct {
		bits      int
		tie       bool
		want      [3]string
		distances [3]int
	}{
		{64, true, [3]string{"800d8e90e45cc488", "800d8e90e4dcc488", "800dae90e55ce488"}, [3]int{1, 3, 4}},
		{64, false, [3]string{"800d8e90e45cc488", "800d8e90e4dcc488", "d0c90a44cc088"}, [3]int{1, 6, 7}},
		{128, true, [3]string{"20302202800d8e90e45cc488", "20302202800d8e90e4dcc488", "20302282800dae90e55ce488"}, [3]int{1, 4, 5}},
		{128, false, [3]string{"20302202800d8e90e45cc488", "20302202800d8e90e4dcc488", "200000d0c90a44cc088"}, [3]int{1, 11, 12}},
		{50, true, [3]string{"18e90e45cc488", "18e90e4dcc488", "1ae90e55ce488"}, [3]int{1, 3, 4}},
		{50, false, [3]string{"18e90e45cc488", "18e90e4dcc488", "10c90a44cc088"}, [3]int{1, 5, 6}},
		{32, true, [3]string{"e45cc488", "e4dcc488", "e55ce488"}, [3]int{1, 2, 3}},
		{32, false, [3]string{"e45cc488", "e4dcc488", "a44cc088"}, [3]int{1, 3, 4}},
	} {
		var s [3]*SimHash
		var got [3]string
		for i, text := range Texts {
			s[i] = New(text, test.bits, test.tie)
			got[i] = fmt.Sprintf("%x", s[i].Fingerprint)
			if len(s[i].String) != test.bits {
				t.Errorf("%d characters for %d bits", len(s[i].String), test.bits)
			}
		}
		distances := [3]int{s[0].HammingDistance(s[1]), s[0].HammingDistance(s[2]), s[1].HammingDistance(s[2])}
		if got != test.want || distances != test.distances {
			t.Errorf("%d bits, tie %t: %v at %v, want %v at %v", test.bits, test.tie, got, distances, test.want, test.distances)
		}
		if Distance(s[0].String, s[2].String) != distances[1] {
			t.Error("the strings are at another distance")
		}
	}
	if Distance("10", "100") != -1 || Distance("10101", "00110") != 3 {
		t.Error("distance of strings")
	}
}

// TestSubByDistance shows the fault: a fingerprint with leading zeros has fewer blocks, of itself
// and of others.
func TestSubByDistance(t *testing.T) {
	full := &SimHash{Bits: 64, Fingerprint: new(big.Int).SetUint64(0x8000_0000_0000_0001)}
	low := &SimHash{Bits: 64, Fingerprint: new(big.Int).SetUint64(0x0000_0000_8000_0001)}
	for _, test := range []struct {
		s, other *SimHash
		distance int
		want     string
	}{
		{full, full, 3, "[32768 0 0 1]"},
		{full, low, 3, "[32768 1 0 0]"},
		{low, full, 3, "[32768 0]"},             // two blocks are missing
		{full, full, 4, "[2048 0 0 0 0]"},       // the highest four bits are in no block
		{full, low, 0, "[9223372041149743104]"}, // reversed
	} {
		if got := fmt.Sprint(test.s.SubByDistance(test.other, test.distance)); got != test.want {
			t.Errorf("%x of %x for %d: %s, want %s", test.s.Fingerprint, test.other.Fingerprint, test.distance, got, test.want)
		}
	}
}
