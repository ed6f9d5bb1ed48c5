package papers

import (
	"fmt"
	"math"
	"testing"
)

// TestBlend checks the worked examples of eq. 1 of Wang 2019, and the tables of the metadata
// similarity that a distance needs.
func TestBlend(t *testing.T) {
	var b Blend
	for _, test := range []struct {
		h       int
		j, want float64
		similar bool
	}{{0, 1, 1, true}, {0, 0, 0.9, true}, {3, 0, 0.225, false}, {3, 0.25, 0.25, true}, {4, 0.7, 0.25, true}, {5, 1, 0.25, true},
		{6, 1, 0.2285714286, false}, {32, 0, 0.0272727273, false}, {3, math.NaN(), 0.25, true}, {4, math.NaN(), 0.2, false}} {
		got := b.Score(test.h, test.j)
		if math.Abs(got-test.want) > 1e-10 || b.Similar(got) != test.similar {
			t.Errorf("H=%d, J=%g: %.10f, similar %t", test.h, test.j, got, b.Similar(got))
		}
	}
	for _, test := range []struct {
		mu    float64
		needs string
		reach int
	}{
		{0.9, "[0.0000 0.0000 0.0000 0.2500 0.7000 1.0000]", 5},
		{0.85, "[0.0000 0.0000 0.0000 0.2500 0.5333 0.7222 0.8571 0.9583]", 7},
		{0.8, "[0.0000 0.0000 0.0000 0.2500 0.4500 0.5833 0.6786 0.7500 0.8056 0.8500 0.8864 0.9167 0.9423 0.9643 0.9833 1.0000]", 15},
		{0.7, "", 64}, {1, "[0.0000 0.0000 0.0000 0.0000]", 3},
	} {
		b := Blend{Content: test.mu}
		var needs []float64
		for d := 0; d <= 64 && !math.IsNaN(b.MinMetadata(d)); d++ {
			needs = append(needs, b.MinMetadata(d))
		}
		if got := fmt.Sprintf("%.4f", needs); got != test.needs && test.needs != "" || b.MaxDistance(64) != test.reach {
			t.Errorf("μ=%g: %s, reach %d", test.mu, got, b.MaxDistance(64))
		}
	}
	if want := "content 0.9, score ≥ 0.25: up to distance 2 any metadata, 3 0.250, 4 0.700, 5 1.000"; b.String() != want {
		t.Errorf("%s, want %s", b, want)
	}
	// Nothing beyond the reach passes, whatever the metadata.
	for _, b := range []Blend{{}, {Content: 0.8}, {Content: 0.95, Threshold: 0.3}, {Threshold: 1}, {Content: 0.5}} {
		reach, most := b.MaxDistance(128), -1
		for d := range 129 {
			for j := 0; j <= 101; j++ {
				s := float64(j) / 100
				if j == 101 {
					s = math.NaN()
				}
				if b.Similar(b.Score(d, s)) {
					most = d
				}
			}
		}
		if most != reach {
			t.Errorf("%v: a pair at %d passes, MaxDistance is %d", b, most, reach)
		}
		if err := b.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, b := range []Blend{{Content: -1}, {Content: 1.1}, {Threshold: math.NaN()}, {Threshold: 2}} {
		if b.Check() == nil {
			t.Errorf("%+v: no error", b)
		}
	}
}
