package kernel

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
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
		for at := from; at < n && want == 0; at += NearBlock {
			for i := at; i < min(at+NearBlock, n); i++ {
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
			func() (int, uint64) { return NextTag(tags, from, tag, k) }, func() (int, uint64) { return nextTagGeneric(tags, from, tag, k) })
	}
	for from := 0; from <= len(fps); from += 1 + from/3 {
		check("next64", len(fps), from, func(i int) bool { return bits.OnesCount64(fps[i]^q[0]) <= k },
			func() (int, uint64) { return Next64(fps, from, q[0], k) }, func() (int, uint64) { return next64Generic(fps, from, q[0], k) })
	}
	for from := 0; from <= len(pairs); from += 1 + from/3 {
		check("next128", len(pairs), from, func(i int) bool { return bits.OnesCount64(pairs[i][0]^q[0])+bits.OnesCount64(pairs[i][1]^q[1]) <= k },
			func() (int, uint64) { return Next128(pairs, from, q, k) }, func() (int, uint64) { return next128Generic(pairs, from, q, k) })
	}
}

// TestKernels compares the kernels with their generic twins, and those with the
// definition, at all lengths, with the other memory around them full of matches.
func TestKernels(t *testing.T) {
	eachTier(t, testKernels)
}

// eachTier runs a test in every tier that this machine has.
func eachTier(t *testing.T, test func(t *testing.T)) {
	EachTier(func(tier Tier) { t.Run(tier.String(), test) })
}

func testKernels(t *testing.T) {
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
				fps[i] = flip(fps[i+1+rnd.IntN(n-i-1)], rnd.IntN(k+3), rnd)
			}
			want := false
			for i := range fps {
				for j := range i {
					want = want || bits.OnesCount64(fps[i]^fps[j]) <= k
				}
			}
			if AnyPair(fps, k) != want || AnyPairGeneric(fps, k) != want {
				t.Fatalf("anyPair of %d, k=%d: %v and %v, want %v", n, k, AnyPair(fps, k), AnyPairGeneric(fps, k), want)
			}
		}
	}
}

// flip returns x with n bits of it flipped, at random.
func flip(x uint64, n int, rnd *rand.Rand) uint64 {
	for _, bit := range rnd.Perm(64)[:min(n, 64)] {
		x ^= 1 << bit
	}
	return x
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
		k = max(0, k%130)
		eachTier(t, func(t *testing.T) {
			checkNear(t, tags, fps, tag, k)
			if got, want := AnyPair(fps, k), AnyPairGeneric(fps, k); got != want {
				t.Fatalf("anyPair: %v, generic %v", got, want)
			}
			checkValues(t, fps[:len(fps)/2], fps[len(fps)/2:][:len(fps)/2])
			checkBorrow(t, data, int(tag))
			checkBorrowWide(t, data, int(tag%100))
			checkRows(t, data, int(tag))
			weights := make([]int64, len(fps))
			for i := range weights {
				weights[i] = int64(fps[len(fps)-1-i]) >> (tag % 64)
			}
			checkWeighted(t, fps, weights)
		})
	})
}

// checkValues compares the comparison of signatures with the definition.
func checkValues(t *testing.T, a, b []uint64) {
	t.Helper()
	same, neither := 0, 0
	for i := range 2 * len(a) {
		x, y := uint32(a[i/2]>>(i%2*32)), uint32(b[i/2]>>(i%2*32))
		if x == y && x>>31 == 0 {
			same++
		}
		neither += int(x & y >> 31)
	}
	if s, n := CompareValues(a, b); s != same || n != neither {
		t.Fatalf("CompareValues of %d words: %d and %d, want %d and %d", len(a), s, n, same, neither)
	}
	if s, n := compareGeneric(a, b); s != same || n != neither {
		t.Fatalf("compareGeneric of %d words: %d and %d, want %d and %d", len(a), s, n, same, neither)
	}
}

// checkRows compares the smallest of rows with the definition, for a table made of data.
func checkRows(t *testing.T, data []byte, seed int) {
	t.Helper()
	for _, stride := range []int{32, 64, 96, 128, 160, 256} {
		n := len(data) / stride
		if n == 0 {
			return
		}
		table := guarded(t, n*stride)
		copy(table, data)
		var rows []uint8
		for i := range seed % 40 {
			rows = append(rows, uint8((i*i+seed)%min(n, 256)))
		}
		want, got, twin := slices.Repeat([]uint8{255}, stride), guarded(t, stride), make([]uint8, stride)
		for i := range want {
			for _, r := range rows {
				want[i] = min(want[i], table[int(r)*stride+i])
			}
		}
		MinRows(got, table, rows)
		minRowsGeneric(twin, table, rows)
		if !slices.Equal(got, want) || !slices.Equal(twin, want) {
			t.Fatalf("the smallest of rows %v of %d: %v, generic %v, want %v", rows, stride, got, twin, want)
		}
	}
}

// checkBorrow compares the borrowing of MinHash with the definition, for a table made of data in which the bytes of a place differ.
func checkBorrow(t *testing.T, data []byte, seed int) {
	t.Helper()
	for _, k := range []int{64, 128, 256} {
		n := min(len(data)/k, 64, 1+seed%70)
		if n == 0 {
			return
		}
		table := guarded(t, n*k)
		for i := range k { // a permutation of the rows
			for r := range n {
				table[r*k+i] = uint8((r*(2*int(data[i])+1) + int(data[i])) % n)
			}
			if n%2 == 0 {
				for r := range n {
					table[r*k+i] = uint8(r ^ int(data[i])%2)
				}
			}
		}
		var rows []uint8
		var lent []uint32
		for r := range n {
			if rows = append(rows, uint8(n-1-r)); r > 0 && data[r]%3 == 0 {
				rows = rows[:len(rows)-1]
				continue
			}
			lent = append(lent, uint32(r)<<20|uint32(data[r]))
		}
		got, want := make([]uint32, k), make([]uint32, k)
		for i := range want {
			if want[i] = 1<<32 - 1; data[i]%5 == 0 {
				want[i] = uint32(data[i])
			}
			got[i] = want[i]
			best := 0
			for j, r := range rows {
				if table[int(r)*k+i] < table[int(rows[best])*k+i] {
					best = j
				}
			}
			if want[i] == 1<<32-1 {
				want[i] = lent[best]
			}
		}
		for range 2 { // with as many places as there are rows, and with more
			again := slices.Clone(got)
			if Borrow(again, table, rows, lent) && !slices.Equal(again, want) {
				t.Fatalf("borrowing from %d rows of %d: %v, want %v", len(rows), k, again, want)
			}
			lent = append(lent, make([]uint32, 64)...)
		}
	}
}

// checkBorrowWide is checkBorrow for rows of 16 bits.
func checkBorrowWide(t *testing.T, data []byte, seed int) {
	t.Helper()
	if len(data) < 2 {
		return
	}
	at := func(i int) uint16 { return uint16(data[i%len(data)])<<8 | uint16(data[(i*7+3)%len(data)]) }
	for _, k := range []int{257, 288, 300} {
		n := 1 + seed%70
		rows, lent := make([]*uint16, n), make([]uint32, n)
		all := make([][]uint16, n)
		for r := range n {
			bytes := guarded(t, 2*k) // aligned
			all[r] = unsafe.Slice((*uint16)(unsafe.Pointer(&bytes[0])), k)
			for i := range all[r] {
				if all[r][i] = at(r*k + i); at(i)%3 == 0 {
					all[r][i] = max(all[r][i], Never-1) // ties, and such as are never reached
				}
			}
			rows[r], lent[r] = &all[r][0], uint32(r)<<20|uint32(at(r))
		}
		got, want := make([]uint32, k), make([]uint32, k)
		late := false
		for i := range want {
			if want[i] = 1<<32 - 1; at(i)%5 == 0 {
				want[i] = uint32(at(i))
			}
			got[i] = want[i]
			best := 0
			for r := range n {
				if all[r][i] < all[best][i] {
					best = r
				}
			}
			if late = late || all[best][i] == Never; want[i] == 1<<32-1 {
				want[i] = lent[best]
			}
		}
		if ok := BorrowWide(got, rows, lent); !ok && !late || ok && !slices.Equal(got, want) {
			t.Fatalf("borrowing from %d rows: %v, %v, want %v", n, ok, got, want)
		}
	}
}

// checkWeighted compares the counters of weighted hashes with the definition.
func checkWeighted(t *testing.T, hashes []uint64, weights []int64) {
	t.Helper()
	var got, want [64]uint64
	for i := range want {
		place := i%4*16 + i/4
		got[place] = uint64(i) << 60
		want[place] = got[place]
		for j, h := range hashes {
			want[place] += h >> i & 1 * uint64(weights[j])
		}
	}
	if AddWeighted(&got, hashes, weights) && got != want {
		t.Fatalf("AddWeighted of %d: %v, want %v", len(hashes), got, want)
	}
}

// checkCounts compares the counts of bits with the definition.
func checkCounts(t *testing.T, hashes []uint64) {
	t.Helper()
	var got, want [64]int
	n := 0
	for {
		var planes [MostLanes * Planes]uint64
		counted, lanes := CountBits(&planes, hashes[n:])
		if counted == 0 {
			break
		}
		n += counted
		for at := range lanes * Planes {
			for i := range got {
				got[i] += int(planes[at] >> i & 1 << (at / lanes))
			}
		}
	}
	for _, h := range hashes[:n] {
		for i := range want {
			want[i] += int(h >> i & 1)
		}
	}
	if tier >= AVX2 && tier != NEON && len(hashes)-n >= 128 || got != want {
		t.Fatalf("CountBits of %d: %d, %v, want %v", len(hashes), n, got, want)
	}
}

// checkLengths compares Shorter with the definition.
func checkLengths(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	start, end := (*[64]uint32)(unsafe.Pointer(&words(t, 32)[0])), (*[64]uint32)(unsafe.Pointer(&words(t, 32)[0]))
	limits := [4]uint32{rnd.Uint32N(10), 9, 17, rnd.Uint32() >> 1}
	want := [4]uint64{}
	for i := range start {
		start[i] = rnd.Uint32()
		length := rnd.Uint32() >> (1 + rnd.IntN(31))
		end[i] = start[i] + length
		for j, limit := range limits {
			if length < limit {
				want[j] |= 1 << i
			}
		}
	}
	if got, ok := Shorter(start, end, &limits); ok && got != want {
		t.Fatalf("Shorter: %x, want %x", got, want)
	}
}

// TestWords compares Words with the definition, at the ends of memory.
func TestWords(t *testing.T) {
	if !CutsWords() {
		t.Skip("no kernel here")
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	src, dst := (*[64]byte)(guarded(t, 64)), (*[64]byte)(guarded(t, 64))
	start, end := (*[32]uint32)(unsafe.Pointer(&words(t, 16)[0])), (*[32]uint32)(unsafe.Pointer(&words(t, 16)[0]))
	for round := range 20_000 {
		letters := rnd.IntN(101) // percent
		for i := range src {
			switch {
			case round%7 == 0: // as many words as possible
				src[i] = " a"[(i+letters)%2]
			case round%7 == 1:
				src[i] = byte(rnd.IntN(128))
			case rnd.IntN(100) < letters:
				src[i] = "azAZ09mM5"[rnd.IntN(9)]
			default:
				src[i] = "/:@[`{ \x00\x7f"[rnd.IntN(9)]
			}
		}
		ascii := round%16 > 0
		if !ascii {
			src[rnd.IntN(64)] |= 0x80
		}
		base, open := rnd.Uint32N(1<<30), rnd.IntN(2)
		size, starts, ends, ok := Words(src, dst, start, end, base, uint64(open))
		if ok != ascii {
			t.Fatalf("Words(%q) = %v", src, ok)
		} else if !ok {
			continue
		}
		var out []byte
		var wantStart, wantEnd []uint32
		in := open == 1
		for _, c := range src {
			lower := c | 0x20
			switch {
			case c >= '0' && c <= '9' || lower >= 'a' && lower <= 'z':
				if !in {
					wantStart = append(wantStart, base+uint32(len(out)))
				}
				if c >= 'A' && c <= 'Z' {
					c = lower
				}
				out, in = append(out, c), true
			case in:
				wantEnd = append(wantEnd, base+uint32(len(out)))
				out, in = append(out, ' '), false
			}
		}
		if string(dst[:size]) != string(out) || !slices.Equal(start[:starts], wantStart) || !slices.Equal(end[:ends], wantEnd) {
			t.Fatalf("Words(%q, %d, %d) = %q, %v, %v, want %q, %v, %v", src, base, open, dst[:size], start[:starts], end[:ends], out, wantStart, wantEnd)
		}
	}
}

// TestOthers checks the other kernels at all lengths, with inputs that end where no memory follows.
func TestOthers(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(8, 8))
		data := make([]byte, 6000)
		for n := range 70 {
			a, b, weights := words(t, n), words(t, n), make([]int64, n)
			for i := range a {
				a[i], b[i], weights[i] = rnd.Uint64(), rnd.Uint64(), int64(rnd.Uint64())
				switch rnd.IntN(4) {
				case 0:
					b[i] = a[i]
				case 1:
					b[i] = a[i] ^ 1<<rnd.IntN(64)
				}
			}
			checkValues(t, a, b)
			checkWeighted(t, a, weights)
			checkNear(t, nil, a, 7, n)
			for i := range data {
				data[i] = uint8(rnd.Uint32())
			}
			checkBorrow(t, data, n)
			checkBorrowWide(t, data, n)
			checkRows(t, data, n)
			checkCounts(t, a)
			checkLengths(t, rnd)
			checkProducts(t, rnd, n)
		}
		for _, n := range []int{127, 128, 1000, 8063, 8064, 8065, 20_000} {
			a := words(t, n)
			for i := range a {
				a[i] = rnd.Uint64() | rnd.Uint64()<<32 | 1
			}
			checkCounts(t, a)
		}
	})
}

// checkProducts compares the permutations of some numbers with the generic twin.
func checkProducts(t *testing.T, rnd *rand.Rand, n int) {
	random := func(n int) []uint32 {
		all := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(guarded(t, 4*n)))), n)
		for i := range all {
			all[i] = rnd.Uint32()
		}
		return all
	}
	k := ProductAlign * (1 + n%5)
	numbers, flips, factors, got := random(1+n), random(k), random(k), random(k)
	for i := range factors {
		factors[i] |= 1
	}
	want := slices.Clone(got)
	leastProductsGeneric(want, numbers, flips, factors)
	if LeastProducts(got, numbers, flips, factors); !slices.Equal(got, want) {
		t.Fatalf("LeastProducts of %d numbers and %d permutations: %v, want %v", len(numbers), k, got, want)
	}
}

// words returns n words with no memory behind them.
func words(t *testing.T, n int) []uint64 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(guarded(t, 8*n)))), n)
}
