package neardup

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// checkNear compares the three kernels with their twins at every place, and those
// with the definition.
func checkNear(t *testing.T, tags []uint32, fps []uint64, tag uint32, k int) {
	t.Helper()
	q := [2]uint64{uint64(tag) * 0x100000001, uint64(tag)}
	pairs := unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(fps))), len(fps)/2)
	check := func(what string, n, from int, near func(i int) bool, fast, twin func() (int, uint64)) {
		t.Helper()
		wantAt, want := n, uint64(0)
		for at := from; at < n && want == 0; at += nearBlock {
			for i := at; i < min(at+nearBlock, n); i++ {
				if near(i) {
					wantAt, want = at, want|1<<(i-at)
				}
			}
		}
		if at, mask := fast(); at != wantAt || mask != want {
			t.Fatalf("%s of %d from %d, k=%d: %d, %b, want %d, %b", what, n, from, k, at, mask, wantAt, want)
		}
		if at, mask := twin(); at != wantAt || mask != want {
			t.Fatalf("%sGeneric of %d from %d, k=%d: %d, %b, want %d, %b", what, n, from, k, at, mask, wantAt, want)
		}
	}
	for from := 0; from <= len(tags); from += 1 + from/3 {
		check("nextTag", len(tags), from, func(i int) bool { return bits.OnesCount32(tags[i]^tag) <= k },
			func() (int, uint64) { return nextTag(tags, from, tag, k) }, func() (int, uint64) { return nextTagGeneric(tags, from, tag, k) })
	}
	for from := 0; from <= len(fps); from += 1 + from/3 {
		check("next64", len(fps), from, func(i int) bool { return bits.OnesCount64(fps[i]^q[0]) <= k },
			func() (int, uint64) { return next64(fps, from, q[0], k) }, func() (int, uint64) { return next64Generic(fps, from, q[0], k) })
	}
	for from := 0; from <= len(pairs); from += 1 + from/3 {
		check("next128", len(pairs), from, func(i int) bool { return bits.OnesCount64(pairs[i][0]^q[0])+bits.OnesCount64(pairs[i][1]^q[1]) <= k },
			func() (int, uint64) { return next128(pairs, from, q, k) }, func() (int, uint64) { return next128Generic(pairs, from, q, k) })
	}
}

// TestKernels compares the kernels with their generic twins, and those with the
// definition, at all lengths, with the other memory around them full of matches.
func TestKernels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	for n := range 300 {
		if n > 70 && n%7 > 0 {
			continue
		}
		for range 8 {
			k := rnd.IntN(34)
			tag := rnd.Uint32()
			word := uint64(tag) * 0x100000001
			tags := slices.Repeat([]uint32{tag}, n+200)[100 : 100+n]
			fps := slices.Repeat([]uint64{word}, n+200)[100 : 100+n]
			one := rnd.IntN(10) > 0 // at most one is near
			near := rnd.IntN(n + 1)
			for i := range n {
				flips := k - 2 + rnd.IntN(5)
				if one && i != near {
					flips = k + 1 + rnd.IntN(3)
				}
				for _, bit := range rnd.Perm(32)[:min(32, max(0, flips))] {
					tags[i] ^= 1 << bit
					fps[i] ^= 1 << (2*bit + bit&1)
				}
				if i%2 == 1 && rnd.IntN(2) == 0 {
					fps[i] = uint64(tag) // the high word of a pair
				}
			}
			checkNear(t, tags, fps, tag, k)
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
