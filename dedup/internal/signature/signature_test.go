package signature

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/wording"
)

// TestLevels: how many words a text has decides which signatures it has.
func TestLevels(t *testing.T) {
	t.Parallel()
	s := &Signer{}
	for words, want := range map[int][Levels]bool{
		0: {}, 1: {Short: true}, 49: {Short: true}, 50: {true, true}, 99: {true, true}, 100: {Long: true}, 5000: {Long: true},
	} {
		text := strings.Repeat("ab ", words)
		got, n, digest := s.Text(text)
		if count, of := wording.Count(text); n != words || count != n || digest != of {
			t.Fatalf("%d words with the digest %x, not %d with %x", n, digest, count, of)
		}
		if got.Has != want {
			t.Errorf("%d words: %v, not %v", words, got.Has, want)
		}
	}
}

// TestFeatures: one feature is enough for a signature, and none has none.
func TestFeatures(t *testing.T) {
	s := &Signer{}
	for n, want := range []bool{false, true, true} {
		of := s.Features(func(yield func(uint64) bool) {
			for key := range uint64(n) {
				if !yield(key) {
					return
				}
			}
		})
		if of.Has != [Levels]bool{Long: want} {
			t.Errorf("%d features: %v", n, of.Has)
		}
	}
}

// TestAgreement compares with counting, and with the similarity of the features.
func TestAgreement(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var a, b Signature
		for i := range a {
			a[i], b[i] = rnd.Uint64(), rnd.Uint64()
			switch rnd.IntN(4) {
			case 0:
				b[i] = a[i]
			case 1:
				b[i] = a[i] ^ 1<<rnd.IntN(64)
			case 2:
				b[i] = a[i]&0xFFFF_0000_FFFF_0000 | b[i]&0x0000_FFFF_0000_FFFF
			}
		}
		want := 0
		for i := range Values {
			if a.Value(i) == b.Value(i) {
				want++
			}
		}
		if got := a.Agreement(&b); got != want || b.Agreement(&a) != want || a.Agreement(&a) != Values {
			t.Fatalf("agree in %d values, not %d", got, want)
		}
	}
	// Over many sets, the share of equal values is the similarity.
	s := &Signer{}
	for _, similarity := range []float64{0.1, 0.3, 0.5, 0.9} {
		for _, n := range []int{20, 100, 1000} {
			sum, rounds := 0.0, 100
			exact := 0.0
			for range rounds {
				common := int(float64(2*n)*similarity/(1+similarity) + 0.5)
				keys := make([]uint64, 2*n-common)
				for i := range keys {
					keys[i] = rnd.Uint64()
				}
				of := func(keys []uint64) Set {
					return s.Features(func(yield func(uint64) bool) {
						for _, k := range keys {
							if !yield(k) {
								return
							}
						}
					})
				}
				a, b := of(keys[:n]), of(keys[len(keys)-n:])
				sum += float64(a.Of[Long].Agreement(&b.Of[Long])) / Values
				exact = float64(common) / float64(len(keys))
			}
			if got := sum / float64(rounds); math.Abs(got-exact) > 0.03 {
				t.Errorf("%d features, a similarity of %.3f is estimated as %.3f", n, exact, got)
			}
		}
	}
}

// TestKey: a secret seed changes all features, and two texts agree as much with it.
func TestKey(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("one two three four five six seven ", 10)
	for _, text := range []string{text, text[:100]} {
		a, _, _ := (&Signer{}).Text(text)
		b, _, _ := (&Signer{Key: Key{5, true}}).Text(text)
		c, _, _ := (&Signer{Key: Key{6, true}}).Text(text)
		for l := range Levels {
			if a.Has[l] && (a.Of[l].Agreement(&b.Of[l]) > 20 || b.Of[l].Agreement(&c.Of[l]) > 20) {
				t.Errorf("level %d: the seed changes too little", l)
			}
		}
	}
}

// FuzzDecode: bytes of the right length are signatures, and these are the bytes again.
func FuzzDecode(f *testing.F) {
	s := &Signer{}
	for _, text := range []string{"a", "one two three", strings.Repeat("字", 60), strings.Repeat("word ", 200)} {
		set, _, _ := s.Text(text)
		f.Add(set.Has[Long], set.Has[Short], set.Append(nil))
	}
	f.Fuzz(func(t *testing.T, long, short bool, b []byte) {
		has := [Levels]bool{long, short}
		n := Bytes(has)
		if len(b) < n {
			return
		}
		b = b[:n]
		set := Decode(has, b)
		if again := set.Append(nil); set.Has != has || !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
