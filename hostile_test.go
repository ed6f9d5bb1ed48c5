package neardup

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/race"
)

// hostilePieces are what a text without end is made of, to hurt one thing or
// another.
var hostilePieces = map[string]string{
	"letter":     "a",
	"han":        "中",
	"mark":       "\u0301",
	"base+marks": "a" + strings.Repeat("\u0316\u0301", 500),
	"hangul":     "\u1100\u1161\u11a8",
	"expanding":  "ﷺ",
	"spaces":     " ",
	"newlines":   "\n",
	"control":    "\x00\x1b\x7f\u202e",
	"invalid":    "\xff\xc3\xed\xa0\x80",
	"digits":     "1",
	"dates":      "2026-11-",
	"emails":     "a@b.",
	"urls":       "http://",
	"tags":       "<div>",
	"open":       "<",
	"references": "&amp",
	"template":   "<template><pre>",
	"comment":    "<!--",
	"script":     "<script><!--<script>",
	"attribute":  "<a b='",
}

// TestHostile writes texts of many megabytes to streams of every kind and looks at
// the memory they take. That time is linear shows in BenchmarkHostile, and in that
// this test ends.
func TestHostile(t *testing.T) {
	if race.Enabled || !*full {
		t.Skip("takes long")
	}
	const total, piece, bound = 8 << 20, 1 << 18, 5 << 20
	settings := streamed(t)
	for _, name := range []string{"default", "chars3", "nested", "gse", "everything"} {
		for what, unit := range hostilePieces {
			s, err := NewStream[Fingerprint64](settings[name])
			if err != nil {
				t.Fatal(err)
			}
			text := []byte(strings.Repeat(unit, piece/len(unit)))
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for written := 0; written < total; written += len(text) {
				s.Write(text)
			}
			runtime.GC()
			runtime.ReadMemStats(&now)
			if kept := int64(now.HeapAlloc) - int64(before.HeapAlloc); kept > bound {
				t.Errorf("%s of %s: %d bytes are kept of %d", name, what, kept, total)
			}
			s.Sum()
		}
	}
}

// TestHostileWhole gives texts of some megabytes in one piece, whole and between
// others.
func TestHostileWhole(t *testing.T) {
	t.Parallel()
	n := normalizers()
	all := n[len(n)-1]
	for what, unit := range hostilePieces {
		text := "Begin " + strings.Repeat(unit, shorter(1<<20, 1<<19)/len(unit)) + " end"
		if got := all.Normalize(text); len(got) > 40*len(text) {
			t.Errorf("%s: %d bytes became %d", what, len(text), len(got))
		}
		for _, tok := range []Tokenizer{Words{}, NGrams{}, Shingles{N: 3}} {
			longest := 0
			for token := range tok.Tokens(text) {
				longest = max(longest, len(token.Text))
			}
			if longest > 3*lex.MaxWord+2 {
				t.Errorf("%s: a token of %d bytes", what, longest)
			}
		}
	}
}

// BenchmarkHostile fingerprints a megabyte of hostile texts, of all kinds one after the other. growth is how many times as long
// 16 times as much takes, which is about 16.
func BenchmarkHostile(b *testing.B) {
	settings := streamed(b)
	text := func(size int) Text {
		var all strings.Builder
		for _, what := range slices.Sorted(maps.Keys(hostilePieces)) {
			unit := hostilePieces[what]
			all.WriteString(strings.Repeat(unit, size/len(hostilePieces)/len(unit)))
		}
		return Text(all.String())
	}
	for _, name := range []string{"default", "gse", "everything"} {
		b.Run("settings="+name, func(b *testing.B) {
			f, small := settings[name], text(1<<20)
			b.SetBytes(int64(len(small)))
			for b.Loop() {
				f.Sum64(small)
			}
			once := b.Elapsed() / time.Duration(b.N)
			start := time.Now()
			f.Sum64(text(16 << 20))
			b.ReportMetric(float64(time.Since(start))/float64(once), "growth")
		})
	}
}
