package hashes

import (
	"iter"
	"math/big"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/neardup/neardup"
)

// TestCityHash64 checks test vectors of CityHash64, for version 1.1.1 and for versions 1.0 to
// 1.0.2.
func TestCityHash64(t *testing.T) {
	v111, v102 := CityHash64(), CityHash64v102()
	for _, test := range []struct {
		text     string
		new, old uint64
	}{
		{"", 0x9ae16a3b2f90404f, 0x9ae16a3b2f90404f}, {"a", 0xb3454265b6df75e3, 0x2420662cd003acfa}, {"This", 0xd551dd9742752f31, 0xe576c5a8763bf919},
		{"is", 0x2a3caa3270227f00, 0x63533fd139d56f17}, {"test", 0x7717383daa85b5b2, 0xf5b107bb17b4a9b2}, {"string", 0x3e9b851c8e03d8c5, 0x475aaa66e0935885},
		{"for", 0x386683eba530b8ec, 0x1f02e655133d61fd}, {"testing", 0xb67bd486c5d7448a, 0xd09e9ac87df647e9}, {"als", 0x2354ff396c9e53c8, 0x51f36e32e677d2a8},
		{"abcdef", 0xc329379e6a03c2cd, 0xfcf2bd90c9921fba}, {"北京", 0x42dc2482fd167a52, 0x8fe14c842df6aee1}, {"上海", 0x0002a9bc70db5fd5, 0x33b309e04ea1dad2},
		{"香港", 0xbc9d6672aae25d29, 0x69e35b4250e03bb7}, {"深圳", 0x96405ebe83b6bd60, 0x3896c82233676b86},
		{"This is a test string for testing", 0xd2cb25f0cf297193, 0xa1ce42e4c602f744}, {"The quick brown fox jumps over the lazy dog", 0xc268724928feca7d, 0xe7ba87d247c31277},
		{"基于Simhash的大规模文档去重改进算法研究", 0xb0e4e966390c9e37, 0xceaf0a727694b063}, {strings.Repeat("x", 64), 0xe6a56470446947d1, 0x595501f226abcad3},
		{strings.Repeat("x", 65), 0xfdf0f1abca453515, 0x490198bff7225acf}, {strings.Repeat("x", 100), 0x733b2e45254c902d, 0x72d22bbcc6188483},
	} {
		if got, old := v111.Sum64(test.text), v102.Sum64(test.text); got != test.new || old != test.old {
			t.Errorf("%q: %016x and %016x, want %016x and %016x", test.text, got, old, test.new, test.old)
		}
	}
	// The data of the test of the reference implementation.
	data := make([]byte, 1<<20)
	const k0 = 0xc3a5c85c97cb3127
	for i, a, b := 0, uint64(9), uint64(777); i < len(data); i++ {
		a += b
		b += a
		a = (a ^ a>>41) * k0
		b = (b^b>>41)*k0 + uint64(i)
		data[i] = byte(b >> 37)
	}
	want := map[int]uint64{1: 0x541150e87f415e96, 8: 0xa0f10149a0e538d6, 16: 0x03ead5f21d344056, 17: 0x6abbfde37ee03b5b, 32: 0x0782fa1b08b475e7,
		33: 0xc5dc19b876d37a80, 64: 0xe88419922b87176f, 65: 0x105191e0ec8f7f60, 128: 0xb2e23e8116c2ba9f, 298: 0x74c0b8a6821faafe}
	sum, old := uint64(0), uint64(0)
	for i := range 299 {
		piece := string(data[i*i : i*i+i])
		h := v111.Sum64(piece)
		if w, ok := want[i]; ok && h != w {
			t.Errorf("H_%d is %016x, want %016x", i, h, w)
		}
		sum += h
		old += v102.Sum64(piece)
	}
	if sum != 0x7d52dfc5641f51df || v111.Sum64(string(data)) != 0x5fb5e48ac7b7fa4f {
		t.Errorf("1.1.1: the sum is %016x, of the whole %016x", sum, v111.Sum64(string(data)))
	}
	if old != 0xd09e5fe35961a6ad || v102.Sum64(string(data)) != 0x201188a03a94bc94 {
		t.Errorf("1.0.2: the sum is %016x, of the whole %016x", old, v102.Sum64(string(data)))
	}
}

// TestOthers checks values that a program in C printed, with unsigned characters.
func TestOthers(t *testing.T) {
	for _, test := range []struct {
		text            string
		ap, djb, js, rs uint64
	}{
		{"", 0x00000000, 0x00001505, 0x4e67c6a7, 0x00000000},
		{"a", 0x00000061, 0x0002b606, 0x2ef5004d, 0x00000061},
		{"This", 0x090103fa, 0x7c8ce7bd, 0x40b3da68, 0x535328b6},
		{"string", 0x73a94ed3, 0x1c93affc, 0x7ed76528, 0x361f1f1b},
		{"testing", 0x6fbfcba9, 0x591e9783, 0x6a860157, 0x7ac7b25c},
		{"北京", 0x2b5a5b18, 0x28487317, 0x02a58a04, 0x32634874},
		{"综上所述", 0x476eeb49, 0x163d2acf, 0x4f9efeaf, 0x2937b83e},
	} {
		for _, h := range []struct {
			name string
			neardup.Hash
			want uint64
		}{{"AP", AP(), test.ap}, {"DJB", DJB(), test.djb}, {"JS", JS(), test.js}, {"RS", RS(), test.rs}} {
			if got := h.Sum64(test.text); got != h.want {
				t.Errorf("%s(%q) = %08x, want %08x", h.name, test.text, got, h.want)
			}
		}
	}
}

func TestBKDR(t *testing.T) {
	for _, test := range []struct {
		text string
		want uint64
	}{{"This", 190638258}, {"string", 444357}, {"testing", 242231988}} {
		if got := BKDR32(131).Sum64(test.text); got != test.want {
			t.Errorf("BKDR32(%q) = %d, want %d", test.text, got, test.want)
		}
	}
	for _, test := range []struct {
		text string
		seed uint64
		want uint64
	}{{"string", 131, 4471061399493}, {"testing", 131, 590184583277236}, {"testing", 13131, 0xa42ed808bbf1c15c}, {"北京", 131, 8876276518006}, {"test", 131, 0x0fa5d816}, {"", 131, 0}} {
		if got := BKDR64(test.seed).Sum64(test.text); got != test.want {
			t.Errorf("BKDR64(%q) with the seed %d = %x, want %x", test.text, test.seed, got, test.want)
		}
	}
	// Over UTF-16 units instead of bytes.
	h := uint64(0)
	for _, u := range utf16.Encode([]rune("北京")) {
		h = h*131 + uint64(u)
	}
	if h != 0x2ad371 {
		t.Errorf("over units %x", h)
	}
}

// TestMurmur3 checks values of other implementations of MurmurHash3.
func TestMurmur3(t *testing.T) {
	m := Murmur3()
	for text, want := range map[string][2]uint64{ // the first and the second half
		"":      {0, 0},
		"hello": {0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19},
		"The quick brown fox jumps over the lazy dog": {0xe34bbc7bbc071b6c, 0x7a433ca9c49a9347},
	} {
		if hi, lo := m.Sum128(text); lo != want[0] || hi != want[1] || m.Sum64(text) != lo {
			t.Errorf("%q: %016x %016x and %016x", text, lo, hi, m.Sum64(text))
		}
	}
}

func TestS001(t *testing.T) {
	h := S001()
	for _, s := range []string{"", "a", "This", "testing", "综上所述", "😀x", strings.Repeat("数据库", 30)} {
		hi, lo := h.Sum128(s)
		wide := S001Wide(s, 128)
		if want := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64), new(big.Int).SetUint64(lo)); wide.Cmp(want) != 0 || h.Sum64(s) != lo {
			t.Errorf("%q: %x %x, with big numbers %x", s, hi, lo, wide)
		}
		for _, bits := range []int{50, 64, 128, 200, 512} {
			low := new(big.Int).And(S001Wide(s, 600), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1)))
			if got := S001Wide(s, bits); got.Cmp(low) != 0 {
				t.Errorf("%q, %d bits: %x, the low ones of 600 are %x", s, bits, got, low)
			}
		}
	}
	if got := S001Wide("testing", 32); got.Uint64() != 0x814c448b {
		t.Errorf("32 bits: %x", got)
	}
}

// byWhiteSpace splits a text as the program of june 2013 does.
type byWhiteSpace struct{}

func (byWhiteSpace) Tokens(text string) iter.Seq[neardup.Token] {
	return func(yield func(neardup.Token) bool) {
		for _, w := range strings.Fields(text) {
			if !yield(neardup.Token{Text: w}) {
				return
			}
		}
	}
}

// TestFingerprints checks the three strings of june 2013 with the hashes of Li 2015.
func TestFingerprints(t *testing.T) {
	texts := []string{"This is a test string for testing", "This is a test string for testing, This is a test string for testing abcdef", "This is a test string for testing als"}
	for _, test := range []struct {
		name      string
		hash      neardup.Hash
		tie       bool
		want      [3]neardup.Fingerprint64
		distances [3]int
	}{
		{"s001", S001(), true, [3]neardup.Fingerprint64{0x800d8e90e45cc488, 0x800d8e90e4dcc488, 0x800dae90e55ce488}, [3]int{1, 3, 4}},
		{"s001", S001(), false, [3]neardup.Fingerprint64{0x800d8e90e45cc488, 0x800d8e90e4dcc488, 0x000d0c90a44cc088}, [3]int{1, 6, 7}},
		{"BKDR64/131", BKDR64(131), false, [3]neardup.Fingerprint64{0xeab4, 0x4ca14, 0x8a24}, [3]int{4, 4, 4}},
		{"BKDR64/131", BKDR64(131), true, [3]neardup.Fingerprint64{0xeab4, 0x4ca14, 0x10eeb4}, [3]int{4, 2, 6}},
		{"BKDR64/13131", BKDR64(13131), false, [3]neardup.Fingerprint64{0x18510a3c, 0x18510a3c, 0x510a3c}, [3]int{0, 2, 2}},
		{"BKDR64/13131", BKDR64(13131), true, [3]neardup.Fingerprint64{0x18510a3c, 0x18510a3c, 0x38790b7c}, [3]int{0, 5, 5}},
		{"City 1.1.1", CityHash64(), false, [3]neardup.Fingerprint64{0x36578037a6177da0, 0x3357803fa607fde0, 0x32558035a4177580}, [3]int{6, 6, 10}},
		{"City 1.1.1", CityHash64(), true, [3]neardup.Fingerprint64{0x36578037a6177da0, 0x3357803fa607fde0, 0x3757df3fe6977de0}, [3]int{6, 11, 11}},
		{"City 1.0.2", CityHash64v102(), false, [3]neardup.Fingerprint64{0x6512a6e871b769b9, 0x6532a7b8519369bb, 0x45122620703769b9}, [3]int{8, 7, 13}},
		{"City 1.0.2", CityHash64v102(), true, [3]neardup.Fingerprint64{0x6512a6e871b769b9, 0x6532a7b8519369bb, 0x7572eef877b7e9b9}, [3]int{8, 9, 13}},
	} {
		f := neardup.Fingerprinter{Tokenizer: byWhiteSpace{}, Hash: test.hash, TiesOne: test.tie}
		var got [3]neardup.Fingerprint64
		for i, text := range texts {
			got[i] = f.Sum64(neardup.Text(text))
		}
		if d := [3]int{got[0].Distance(got[1]), got[0].Distance(got[2]), got[1].Distance(got[2])}; got != test.want || d != test.distances {
			t.Errorf("%s, tie %t: %x at %v, want %x at %v", test.name, test.tie, got, d, test.want, test.distances)
		}
	}
}

// TestDeadBits checks how long the hashes of short Chinese words get, and so which bits are dead.
func TestDeadBits(t *testing.T) {
	for _, test := range []struct {
		length      int
		from, to    int // length of the hash in bits, before it is cut
		alive, dead int // bits that vary of 128, and that do not vary of 64
	}{{1, 42, 43, 43, 21}, {2, 62, 63, 63, 1}, {3, 82, 83, 83, 0}, {4, 102, 103, 103, 0}, {5, 121, 122, 122, 0}} {
		var words []string
		shortest, longest := 1000, 0
		for c := rune(0x4E00); c <= 0x9FFF; c++ {
			w := string(c) + strings.Repeat("数", test.length-1)
			words = append(words, w)
			n := S001Wide(w, 400).BitLen()
			shortest, longest = min(shortest, n), max(longest, n)
		}
		if shortest != test.from || longest != test.to {
			t.Errorf("%d characters: %d to %d bits, want %d to %d", test.length, shortest, longest, test.from, test.to)
		}
		dead := DeadBits(words, S001())
		if alive := 128 - dead.Distance(neardup.Fingerprint128{}); alive > test.alive || alive < test.alive-2 {
			t.Errorf("%d characters: %d bits alive", test.length, alive)
		}
		if n := neardup.Fingerprint64(dead.Lo).Distance(0); n != test.dead {
			t.Errorf("%d characters: %d of 64 bits dead, want %d", test.length, n, test.dead)
		}
	}
	mixed := Mix(BKDR64(131))
	words := strings.Fields("This is a test string for testing all sorts of short words that are in any text")
	if d := DeadBits(words, mixed); d.Lo != 0 {
		t.Errorf("mixed, %016x is dead", d.Lo)
	}
	if d := DeadBits(words, BKDR64(131)); d.Lo>>52 == 0 {
		t.Errorf("BKDR64: only %016x is dead", d.Lo)
	}
}
