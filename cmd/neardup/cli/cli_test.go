package cli

import (
	"testing"
	"unicode/utf8"
)

// FuzzEscape: what was escaped comes back, and is safe in a column.
func FuzzEscape(f *testing.F) {
	for _, id := range []string{"", "a", "a\tb\nc\rd", `\`, `\t`, `a\x41`, "\x00\x1b[31m", "\u0085\u202e\u2028", "中文\uFFFD", "\\u202e"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		escaped := Escape(id)
		for _, r := range escaped {
			if isControl(r) {
				t.Fatalf("%q has %q", escaped, r)
			}
		}
		if back := Unescape(escaped); utf8.ValidString(id) && back != id {
			t.Fatalf("%q became %q and then %q", id, escaped, back)
		}
		Unescape(id) // of anything
	})
}
