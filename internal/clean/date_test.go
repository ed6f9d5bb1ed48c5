package clean

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/lex"
)

// TestMayBeDate: what is dealt with by its first bytes is no date in any form.
func TestMayBeDate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	parts := []string{"1", "2", "9", "0", "12", "2026", "11", "31", "123", "12345", "-", "/", ".", " ", "  ", ":", ",", "T", "Z", "+", "st", "nd", "th", "Nov", "nov", "May", "may", "november", "年", "月", "日", "点", "时", "分", "秒", "am", "PM", "é", "x", "\xff", "_"}
	dates := 0
	for range 400_000 {
		var b []byte
		for range 1 + rnd.IntN(8) {
			b = append(b, parts[rnd.IntN(len(parts))]...)
		}
		if !lex.IsAlnum(b[0]) {
			continue
		}
		n := firstDate(b[:min(len(b), maxDate)])
		if n > 0 {
			dates++
		}
		if n > 0 && !mayBeDate(b) {
			t.Fatalf("%q is a date of %d bytes, and is passed over", b, n)
		}
	}
	if dates < 3000 {
		t.Errorf("%d dates", dates)
	}
}

// TestMaskAllocates: a table of numbers is masked without allocations for each of them.
func TestMaskAllocates(t *testing.T) {
	table := strings.Repeat("17 2041 3.25 1999 12:3 4711-22 8/9 2026.5 100 21 ", 1000)
	steps := Steps{Dates: Mask, Numbers: Mask}
	if n := testing.AllocsPerRun(10, func() { steps.Apply(table) }); n > 30 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkMask masks dates and numbers in a table of numbers, the worst case, and in prose.
func BenchmarkMask(b *testing.B) {
	for name, text := range map[string]string{
		"table": strings.Repeat("17 2041 3.25 1999 12:3 4711-22 8/9 2026.5 100 21\n", 1000),
		"prose": strings.Repeat("The meeting of 21 November 2026 began at 08:52 and had 12 items on its list, as usual.\n", 500),
	} {
		b.Run("text="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			steps := Steps{Dates: Mask, Numbers: Mask}
			for b.Loop() {
				if out := steps.Apply(text); !bytes.Contains([]byte(out[:60]), []byte("<")) {
					b.Fatal(out[:60])
				}
			}
		})
	}
}
