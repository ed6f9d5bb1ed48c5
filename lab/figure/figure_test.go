package figure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
)

// TestCharacters checks that the font has every character that the figures use.
func TestCharacters(t *testing.T) {
	text, err := os.ReadFile("fonts/characters.txt")
	if err != nil {
		t.Fatal(err)
	}
	var buf sfnt.Buffer
	for _, c := range strings.TrimSpace(string(text)) {
		if g, err := chinese.GlyphIndex(&buf, c); err != nil || g == 0 {
			t.Errorf("no %c: %v", c, err)
		}
	}
	all := runs("IT 体育, 健康!龘")
	var got []string
	for _, r := range all {
		kind := "text"
		if r.glyphs != nil {
			kind = "outlines"
		}
		got = append(got, kind+" "+r.text)
	}
	if s := strings.Join(got, "|"); s != "text IT |outlines 体育|text , |outlines 健康|text !龘" {
		t.Error(s)
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticks []string) string { return strings.Join(ticks, " ") }
	for _, test := range []struct {
		from, to float64
		want     string
	}{{0, 1, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"}, {0, 20, "0 2 4 6 8 10 12 14 16 18 20"}, {0.05, 0.575, "0.1 0.2 0.3 0.4 0.5"}, {-3, 3, "-3 -2 -1 0 1 2 3"}} {
		var got []string
		for _, tick := range (evenly{}).Ticks(test.from, test.to) {
			got = append(got, tick.Label)
		}
		if labels(got) != test.want {
			t.Errorf("%g to %g: %s", test.from, test.to, labels(got))
		}
	}
	for _, test := range []struct {
		from, to float64
		want     string
	}{{1, 100, "1 2 5 10 20 50 100"}, {1000, 1e6, "1 k 10 k 100 k 1 M"}, {0.2, 5, "0.2 0.5 1 2 5"}} {
		var got []string
		for _, tick := range (decades{}).Ticks(test.from, test.to) {
			if tick.Label != "" {
				got = append(got, tick.Label)
			}
		}
		if labels(got) != test.want {
			t.Errorf("%g to %g: %s", test.from, test.to, labels(got))
		}
	}
	for v, want := range map[float64]float64{1: 1, 1.9: 1, 2: 2, 4.99: 2, 0.5: 0.5, 0.07: 0.05, 3000: 2000} {
		if got := roundDown(v); got < want*0.999 || got > want*1.001 {
			t.Errorf("%g is rounded down to %g", v, got)
		}
	}
}

func TestSave(t *testing.T) {
	p := New("Titel & 体育", "x", "y")
	p.Line("a < b", 0, []float64{1, 2}, []float64{1, 10})
	p.Points("健康", 9, []float64{1, 2}, []float64{5, 6})
	p.Dashed("c", []float64{1, 2}, []float64{2, 3})
	p.Log()
	path := filepath.Join(t.TempDir(), "p.svg")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt; b", "Titel &amp; ", "Liberation Sans,Arial"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.ContainsAny(string(svg), "体育健康") {
		t.Error("Chinese characters are text, not outlines")
	}
	if err := p.Save(filepath.Join(path, "no")); err == nil {
		t.Error("saved in a file")
	}
}
