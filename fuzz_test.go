package neardup

import (
	"encoding/binary"
	"maps"
	"testing"
)

// FuzzAccumulator reads operations from the input and compares with the
// definition.
func FuzzAccumulator(f *testing.F) {
	f.Add([]byte("\x00aaaaaaaabbbbbbbb\x01cccccccc\x07\x02"))
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 3, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b Accumulator64
		var na, nb naive
		word := func() uint64 {
			var w [8]byte
			data = data[copy(w[:], data):]
			return binary.LittleEndian.Uint64(w[:])
		}
		for len(data) > 0 {
			op := data[0]
			data = data[1:]
			switch op % 4 {
			case 0:
				h := make([]uint64, 5+op/4) // up to 68
				w := make([]int64, len(h))
				for i := range h {
					h[i], w[i] = word(), 1
				}
				if op&4 == 0 {
					a.AddAll(h)
				} else {
					for i := range w {
						w[i] = int64(word()) >> (op / 8)
					}
					a.AddWeighted(h, w)
				}
				for i, h := range h {
					na.add(h, w[i])
				}
			case 1:
				h, w := word(), int64(word())>>(op/4)
				a.Add(h, w)
				na.add(h, w)
			case 2:
				a, b, na, nb = b, a, nb, na
			case 3:
				a.Merge(&b)
				for i := range na.v {
					na.v[i] += nb.v[i]
				}
			}
		}
		checkAccumulator(t, &a, &na)
		a.Subtract(&a)
		if a != (Accumulator64{}) {
			t.Fatal("a sum minus itself is not empty")
		}
	})
}

// FuzzIndex reads adds, deletes and searches from the input and compares with a
// map.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("\x03a1b2c3d4e5f6\x80\x81\xc0"), 3)
	f.Add([]byte{0, 1, 0, 1, 64, 1, 128, 1}, 0)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		k = max(0, k%16)
		ix64, _ := NewIndex[int, Fingerprint64](k, nil)
		ix128, _ := NewIndex[int, Fingerprint128](k, nil)
		map64, map128 := map[int]Fingerprint64{}, map[int]Fingerprint128{}
		for i := 0; i+1 < min(len(data), 1000); i += 2 {
			id, b := int(data[i]%64), uint64(data[i+1])
			fp64 := Fingerprint64(b * 0x0101010101010101 >> (b % 9))
			fp128 := Fingerprint128{b << (b % 57), uint64(fp64)}
			switch data[i] / 64 {
			case 0, 1:
				ix64.Add(id, fp64)
				ix128.Add(id, fp128)
				map64[id], map128[id] = fp64, fp128
			case 2:
				if ix64.Delete(id) != ix128.Delete(id) {
					t.Fatal("the widths disagree on a delete")
				}
				delete(map64, id)
				delete(map128, id)
			case 3:
				if got, want := collect(t, ix64, fp64), bruteSearch(map64, fp64, k); !maps.Equal(got, want) {
					t.Fatalf("64 bits: %v, want %v", got, want)
				}
				if got, want := collect(t, ix128, fp128), bruteSearch(map128, fp128, k); !maps.Equal(got, want) {
					t.Fatalf("128 bits: %v, want %v", got, want)
				}
			}
		}
	})
}

// FuzzKernels compares the kernels with their generic twins.
func FuzzKernels(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdee\x00"), uint32(7), 3)
	f.Add(make([]byte, 300), uint32(0), 0)
	f.Add([]byte("@AZ[`az{/09:\x00\x7f  The quick, brown Fox jumps over 13 lazy dogs and one more \xc3\xa9"), uint32(0), 0)
	f.Fuzz(func(t *testing.T, data []byte, tag uint32, k int) {
		tags, fps := make([]uint32, len(data)/4), make([]uint64, min(len(data)/8, 64))
		for i := range tags {
			tags[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
		for i := range fps {
			fps[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		for i := 0; i+64 <= len(data); i++ {
			var got, want [64 + copySlack]byte
			gotMask, gotOK := foldBlock((*[64]byte)(data[i:]), &got)
			wantMask, wantOK := foldBlockGeneric((*[64]byte)(data[i:]), &want)
			if gotMask != wantMask || gotOK != wantOK || gotOK && got != want {
				t.Fatalf("foldBlock(%q): %q, %x, %v; generic %q, %x, %v", data[i:i+64], got, gotMask, gotOK, want, wantMask, wantOK)
			}
		}
		k = max(0, k%130)
		checkNear(t, tags, fps, tag, k)
		if got, want := anyPair(fps, k), anyPairGeneric(fps, k); got != want {
			t.Fatalf("anyPair: %v, generic %v", got, want)
		}
	})
}
