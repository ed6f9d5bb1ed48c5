package neardup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestKernels compares the kernels with their generic twins, and those with the
// definition, at all lengths, with the other memory around them full of matches.
func TestKernels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	for n := range 70 {
		for range 30 {
			k := rnd.IntN(34)
			tag := rnd.Uint32()
			all := slices.Repeat([]uint32{tag}, n+32)
			tags := all[16 : 16+n]
			want := uint64(0)
			for i := range tags {
				d := 0
				tags[i] = tag
				for _, bit := range rnd.Perm(32)[:min(32, max(0, k-2+rnd.IntN(5)))] {
					tags[i] ^= 1 << bit
					d++
				}
				if d <= k && i < 64 {
					want |= 1 << i
				}
			}
			if got := matchTags(tags, tag, k); got != want {
				t.Fatalf("matchTags of %d, k=%d: %b, want %b", n, k, got, want)
			}
			if got := matchTagsGeneric(tags, tag, k); got != want {
				t.Fatalf("matchTagsGeneric of %d, k=%d: %b, want %b", n, k, got, want)
			}
		}
		for range 30 {
			k := rnd.IntN(22)
			around := slices.Repeat([]uint64{7}, n+16)
			fps := around[8 : 8+n]
			for i := range fps {
				fps[i] = rnd.Uint64()
			}
			if n > 1 && rnd.IntN(2) == 0 {
				i := rnd.IntN(n - 1)
				fps[i] = uint64(flip(Fingerprint64(fps[i+1+rnd.IntN(n-i-1)]), rnd.IntN(k+3), rnd))
			}
			want := false
			for i := range fps {
				for j := range i {
					want = want || hamming(Fingerprint64(fps[i]), Fingerprint64(fps[j])) <= k
				}
			}
			if anyPair(fps, k) != want || anyPairGeneric(fps, k) != want {
				t.Fatalf("anyPair of %d, k=%d: %v and %v, want %v", n, k, anyPair(fps, k), anyPairGeneric(fps, k), want)
			}
		}
	}
}

// TestFoldBlock compares with the definition, for every byte at every place.
func TestFoldBlock(t *testing.T) {
	for c := range 256 {
		for i := range 64 {
			src := [64]byte([]byte(strings.Repeat("aZ 0_{", 11)[:64]))
			src[i] = byte(c)
			var want [64 + copySlack]byte
			wantMask := uint64(0)
			for j, c := range src {
				r, class, _ := next([]byte{c}, 0)
				if c < 0x80 {
					want[j] = byte(r)
				}
				if class == letter {
					wantMask |= 1 << j
				}
			}
			for name, fold := range map[string]func(*[64]byte, *[64 + copySlack]byte) (uint64, bool){"foldBlock": foldBlock, "generic": foldBlockGeneric} {
				var got [64 + copySlack]byte
				mask, ok := fold(&src, &got)
				if ok != (c < 0x80) || ok && (mask != wantMask || got != want) {
					t.Fatalf("%s(%q) = %q, %x, %v", name, src, got, mask, ok)
				}
			}
		}
	}
}
