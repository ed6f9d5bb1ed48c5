package neardup

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

// madeCurve has about so many pairs at each hundredth from 0.40 on as f says.
func madeCurve(f func(s float64) float64) []float64 {
	curve := make([]float64, 100-curveFrom)
	for i := range curve {
		curve[i] = math.Round(f(float64(curveFrom+i)/100 + 0.005))
	}
	return curve
}

func TestValley(t *testing.T) {
	falling := func(s float64) float64 { return 400 * math.Exp(-15*(s-0.4)) }
	copies := func(mean, width, n float64) func(s float64) float64 {
		return func(s float64) float64 { return n * math.Exp(-(s-mean)*(s-mean)/(2*width*width)) }
	}
	both := func(f, g func(float64) float64) func(float64) float64 {
		return func(s float64) float64 { return f(s) + g(s) }
	}
	for _, c := range []struct {
		name     string
		curve    []float64
		from, to int // the valley; 0 for none
	}{
		{"chance only", madeCurve(falling), 0, 0},
		{"copies only", madeCurve(copies(0.9, 0.1, 40)), 40, 60},
		{"both", madeCurve(both(falling, copies(0.9, 0.07, 40))), 62, 74},
		{"copies from early on", madeCurve(both(falling, copies(0.8, 0.07, 60))), 55, 66},
		{"few copies", madeCurve(both(falling, copies(0.9, 0.05, 1))), 0, 0},
		{"nothing between", madeCurve(func(s float64) float64 {
			if s > 0.5 && s < 0.9 {
				return 0
			}
			return 20
		}), 70, 70},
		{"flat", madeCurve(func(float64) float64 { return 30 }), 0, 0},
		{"empty", madeCurve(func(float64) float64 { return 0 }), 0, 0},
	} {
		at, ok := usualRule.valley(c.curve)
		if ok != (c.to > 0) || at < c.from || at > c.to {
			t.Errorf("%s: %d, %v, want %d to %d", c.name, at, ok, c.from, c.to)
		}
		if ok {
			if p := precisionOf(c.curve, at); !(p > 0.5 && p <= 1) {
				t.Errorf("%s: precision %g", c.name, p)
			}
		}
	}
	// Of chance pairs that fall and copies that do not come below 0.7, it is nearly known.
	chance, real := 0.0, 0.0
	curve := madeCurve(both(falling, copies(0.88, 0.05, 30)))
	at, _ := usualRule.valley(curve)
	for i := at; i < 100; i++ {
		s := float64(i)/100 + 0.005
		chance += falling(s)
		real += copies(0.88, 0.05, 30)(s)
	}
	if got, want := precisionOf(curve, at), real/(real+chance); math.Abs(got-want) > 0.05 {
		t.Errorf("from %d on: precision %g, want %g", at, got, want)
	}
}

// TestThreshold: its reasons, and that a sample tells about as much as all documents.
func TestThreshold(t *testing.T) {
	t.Parallel()
	var d Deduplicator[int]
	if got := must(d.Threshold(bg)); got.Reason != "too few pairs" || got.Similarity != fewThreshold || got.Documents != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	d.Add(1, "the first text")
	if got := must(d.Threshold(bg)); got.Reason != "too few pairs" || got.Documents != 1 || !strings.Contains(got.String(), "0.57") {
		t.Errorf("of one text: %+v", got)
	}
	fixed, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.8})
	if got := must(fixed.Threshold(bg)); got.Reason != "given" || got.Similarity != 0.8 || got.Curve != nil {
		t.Errorf("as given: %+v", got)
	}
	texts := revisedTexts(shorter(6000, 1500))
	d.AddAll(bg, slices.All(texts))
	got := must(d.Threshold(bg))
	if got.Reason != "valley" || got.Precision < 0.9 || got.Sampled > got.Documents || !strings.Contains(got.String(), "valley") {
		t.Errorf("of revised texts: %v", got)
	}
	// The caller owns the curve, and a change of the documents changes the threshold.
	got.Curve[0] = -1
	if again := must(d.Threshold(bg)); again.Curve[0] == -1 {
		t.Error("the curve is shared")
	}
	for i := range texts {
		d.Delete(i)
	}
	if got := must(d.Threshold(bg)); got.Reason != "too few pairs" {
		t.Errorf("of what is left: %v", got)
	}
	// A context that has ended is an error, and leaves nothing behind.
	d.AddAll(bg, slices.All(texts))
	ended, cancel := context.WithCancel(bg)
	cancel()
	if _, err := d.Threshold(ended); err == nil {
		t.Error("no error after the context has ended")
	}
	if again := must(d.Threshold(bg)); again.Similarity != got.Similarity || again.Reason != "valley" {
		t.Errorf("after that: %v", again)
	}
	// The numbers of a sample are estimates of all.
	c := must(d.collect(bg, 0))
	all := [100]float64{}
	stands := map[int]bool{}
	for _, i := range c.standing() {
		stands[i] = true
	}
	for p := range c.pairs(bg, 0.40, AllKinds&^SameForm) {
		if stands[p.A] && stands[p.B] {
			all[min(int(100*p.Similarity), 99)]++
		}
	}
	exact, estimate := 0.0, 0.0
	for i, n := range must(d.Threshold(bg)).Curve {
		estimate += n
		exact += all[curveFrom+i]
	}
	t.Logf("%v; %d of %d documents; %.0f pairs, estimated %.0f", got, got.Sampled, got.Documents, exact, estimate)
	if share := float64(got.Sampled) / float64(got.Documents); math.Abs(estimate-exact) > 4*math.Sqrt(exact/share)+1e-6 || share == 1 && estimate != exact {
		t.Errorf("%.0f pairs, estimated %.0f of %d in %d documents", exact, estimate, got.Sampled, got.Documents)
	}
}

// TestThresholdSearch: documents that come one by one are judged by the threshold of the last
// weighing.
func TestThresholdSearch(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 3))
	var d Deduplicator[int]
	for i, text := range revisedTexts(400) {
		if _, err := d.SearchAndAdd(i, text); err != nil {
			t.Fatal(err)
		}
		if rnd.IntN(20) == 0 {
			least := d.known.threshold.Similarity
			for m := range d.Search(text) {
				if m.Similarity < least {
					t.Fatalf("text %d: %v, though the threshold is %g", i, m, least)
				}
			}
			if got := must(d.Explain(text, text)); got.Least != d.known.threshold.Similarity {
				t.Fatalf("Explain says %g, and the weighing %v", got.Least, d.known.threshold)
			}
		}
	}
}

// BenchmarkThreshold is the time that the threshold takes, and that of the join at the threshold. What
// both need, such as the vectors, is made before.
func BenchmarkThreshold(b *testing.B) {
	for _, n := range []int{5000, 10_000, 20_000} {
		if n > 5000 && os.Getenv("NEARDUP_LARGE") == "" {
			continue
		}
		d, _ := NewDeduplicator[int](DeduplicatorOptions{})
		d.AddAll(bg, slices.All(revisedTexts(n)))
		c := must(d.collect(bg, 0))
		c.number()
		t := c.estimated(bg)
		b.Run(fmt.Sprintf("n=%d/estimate", n), func(b *testing.B) {
			for b.Loop() {
				c.estimated(bg)
			}
			b.ReportMetric(float64(t.Sampled), "sampled")
		})
		b.Run(fmt.Sprintf("n=%d/join", n), func(b *testing.B) {
			for b.Loop() {
				for range c.pairs(bg, t.Similarity, c.settings.Kinds) {
				}
			}
		})
	}
}

// TestGoldenDeduplicator: the threshold, the pairs, their similarities and their kinds are the same on
// every platform, to the last bit.
func TestGoldenDeduplicator(t *testing.T) {
	t.Parallel()
	texts := append(corpusTexts(t, "en", "zh", "more"), revisedTexts(300)...)
	for i := range 40 {
		texts = append(texts, formLetter(word(uint32(i)+60_000), fmt.Sprint(i%28+1, " May"), fmt.Sprint(i)))
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	d, err := NewDeduplicator[string](DeduplicatorOptions{Kinds: AllKinds})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		d.Add(text, text)
	}
	th := must(d.Threshold(bg))
	all := allFound(d)
	got := fmt.Sprintf("%s %x %x, %d found: %016x", th.Reason, th.Similarity, th.Precision, len(all), xxh3.HashString(strings.Join(all, "\n")))
	if want := "valley 0x1.0f5c28f5c28f6p-01 0x1.fc6dce9a4a063p-01, 1835 found: 3370e00e0f3534ba"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
