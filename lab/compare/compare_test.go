package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

func TestCompare(t *testing.T) {
	texts := []string{"今天天气很好，我们去公园玩。", "今天天气不错，我们去公园玩。", "the quick brown fox jumps over the lazy dog", "the quick brown fox jumped over a lazy dog", "", "…"}
	f := &neardup.Fingerprinter{Weight: neardup.LogCount}
	c := Compare(f, texts, 50, 64, 128, 1, 100)
	if len(c.Rows) != 15 {
		t.Fatalf("%d rows", len(c.Rows))
	}
	n := 0
	for j := range texts {
		for i := range j {
			r := c.Rows[n]
			a64, b64, a128, b128 := f.Sum64(neardup.Text(texts[i])), f.Sum64(neardup.Text(texts[j])), f.Sum128(neardup.Text(texts[i])), f.Sum128(neardup.Text(texts[j]))
			want := []int{a64.Truncate(50).Distance(b64.Truncate(50)), a64.Distance(b64), a128.Distance(b128), a64.Truncate(1).Distance(b64.Truncate(1)), a128.Truncate(100).Distance(b128.Truncate(100))}
			for k, d := range want {
				if r.Distances[k] != d {
					t.Errorf("%d, %d, %d bits: distance %d, not %d", i, j, c.Widths[k], r.Distances[k], d)
				}
			}
			jaccard := f.Set(neardup.Text(texts[i])).Jaccard(f.Set(neardup.Text(texts[j])))
			if r.I != i || r.J != j || r.Cosine != f.Vector(neardup.Text(texts[i])).Cosine(f.Vector(neardup.Text(texts[j]))) || r.Jaccard != jaccard && !(math.IsNaN(jaccard) && math.IsNaN(r.Jaccard)) {
				t.Errorf("%d, %d: %+v", i, j, r)
			}
			n++
		}
	}
	if s := c.String(); strings.Count(s, "\n") != 16 || !strings.Contains(s, "50 bits") {
		t.Errorf("%s", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("129 bits are accepted")
		}
	}()
	Compare(f, texts, 129)
}

func TestHammingSimilarity(t *testing.T) {
	// The similarities of some 64-bit distances.
	for h, want := range map[int][2]float64{
		1: {.984375, .998795}, 3: {.953125, .989177}, 4: {.9375, .980785}, 7: {.890625, .941544},
		10: {.84375, .881921}, 13: {.796875, .803208}, 32: {.5, 0},
	} {
		if got := HammingSimilarity(h, 64); math.Abs(got-want[0]) > 5e-7 {
			t.Errorf("HammingSimilarity(%d, 64) = %v", h, got)
		}
		if got := HammingCosine(h, 64); math.Abs(got-want[1]) > 5e-7 {
			t.Errorf("HammingCosine(%d, 64) = %v", h, got)
		}
	}
	for _, width := range []int{1, 50, 64, 128} {
		for h := range width + 1 {
			if got, want := HammingCosine(h, width), math.Cos(math.Pi*float64(h)/float64(width)); math.Abs(got-want) > 3e-16 {
				t.Errorf("HammingCosine(%d, %d) = %v, want %v", h, width, got, want)
			}
		}
		if HammingCosine(0, width) != 1 || HammingCosine(width, width) != -1 {
			t.Errorf("width %d: the ends are not ±1", width)
		}
	}
	if !math.IsNaN(HammingCosine(65, 64)) || !math.IsNaN(HammingCosine(-1, 64)) {
		t.Error("an impossible distance has a cosine")
	}
}

// TestRatio checks the ratio by fingerprints of few bits, and by the strings of june 2013.
func TestRatio(t *testing.T) {
	fp := func(hi, lo uint64) neardup.Fingerprint128 { return neardup.Fingerprint128{Hi: hi, Lo: lo} }
	for _, test := range []struct {
		a, b neardup.Fingerprint128
		want float64
	}{
		{fp(0, 0), fp(0, 0), 1}, {fp(0, 0), fp(0, 5), 0}, {fp(0, 3), fp(0, 4), 0.75}, {fp(0, 4), fp(0, 3), 0.75},
		{fp(1, 0), fp(2, 0), 0.5}, {fp(1, 0), fp(0, 1<<63), 0.5}, {fp(7, 9), fp(7, 9), 1},
		{fp(0, 0x800d8e90e45cc488), fp(0, 0x800dae90e55ce488), 0.999996},
		{fp(0, 0x800d8e90e45cc488), fp(0, 0x000d0c90a44cc088), 0.000398},
	} {
		if got := Ratio(test.a, test.b); math.Abs(got-test.want) > 5e-7 {
			t.Errorf("%v and %v: %.7f, want %.6f", test.a, test.b, got, test.want)
		}
	}
}
