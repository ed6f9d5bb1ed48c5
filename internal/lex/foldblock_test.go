package lex

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFoldBlock compares with the definition, for every byte at every place.
func TestFoldBlock(t *testing.T) {
	for c := range 256 {
		for i := range 64 {
			src := [64]byte([]byte(strings.Repeat("aZ 0_{", 11)[:64]))
			src[i] = byte(c)
			var want [64 + slackBytes]byte
			wantMask := uint64(0)
			for j, c := range src {
				r, class, _ := Next([]byte{c}, 0)
				if c < 0x80 {
					want[j] = byte(r)
				}
				if class == Letter {
					wantMask |= 1 << j
				}
			}
			var got [64 + slackBytes]byte
			mask, ok := foldBlock(&src, &got)
			if ok != (c < 0x80) || ok && (mask != wantMask || got != want) {
				t.Fatalf("foldBlock(%q) = %q, %x, %v", src, got, mask, ok)
			}
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range []string{"", "a", "eight by", "eight byt", "中文", "a longer text — with some 中文 and \xff\xfe bytes", "\xe4\xb8", "aaaaaaa\xe4", "😀😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := Count(s), utf8.RuneCountInString(s); got != want {
			t.Errorf("%q has %d characters, not %d", s, got, want)
		}
	})
}
