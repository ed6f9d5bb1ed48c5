package neardup

import (
	"math"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	texts := append(corpusTexts(t, "zh")[:4:4], "", "…")
	f := Fingerprinter{Weight: LogCount}
	c := f.Compare(texts, 50, 64, 128, 1, 100)
	if len(c.Rows) != 15 {
		t.Fatalf("%d rows", len(c.Rows))
	}
	n := 0
	for j := range texts {
		for i := range j {
			r := c.Rows[n]
			a64, b64, a128, b128 := f.Sum64(texts[i]), f.Sum64(texts[j]), f.Sum128(texts[i]), f.Sum128(texts[j])
			want := []int{a64.Truncate(50).Distance(b64.Truncate(50)), a64.Distance(b64), a128.Distance(b128), a64.Truncate(1).Distance(b64.Truncate(1)), a128.Truncate(100).Distance(b128.Truncate(100))}
			for k, d := range want {
				if r.Distances[k] != d {
					t.Errorf("%d, %d, %d bits: distance %d, not %d", i, j, c.Widths[k], r.Distances[k], d)
				}
			}
			jaccard := f.Set(texts[i]).Jaccard(f.Set(texts[j]))
			if r.I != i || r.J != j || r.Cosine != f.Vector(texts[i]).Cosine(f.Vector(texts[j])) || r.Jaccard != jaccard && !(math.IsNaN(jaccard) && math.IsNaN(r.Jaccard)) {
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
	f.Compare(texts, 129)
}
