package neardup

import (
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-ego/gse"
	"github.com/neardup/neardup/internal/chinese"
	"github.com/neardup/neardup/internal/lex"
)

var segmenter = sync.OnceValues(func() (*Segmenter, error) { return NewSegmenter(SegmenterOptions{}) })

func loadSegmenter(t testing.TB) *Segmenter {
	t.Helper()
	_, benchmark := t.(*testing.B)
	if fuzzing := flag.Lookup("test.fuzz"); !*full && !benchmark && fuzzing.Value.String() == "" {
		t.Skip("loads the dictionary")
	}
	s, err := segmenter()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func texts(tok Tokenizer, text string) string {
	var words []string
	for t := range tok.Tokens(text) {
		words = append(words, t.Text)
	}
	return strings.Join(words, "|")
}

func BenchmarkSegmenter(b *testing.B) {
	s := loadSegmenter(b)
	const size = 10 << 10
	next := windows(b, "zh", size)
	b.Run("Sum64", func(b *testing.B) {
		f := Fingerprinter{Tokenizer: s}
		b.SetBytes(size)
		for b.Loop() {
			f.Sum64(Text(next()))
		}
	})
	b.Run("gse", func(b *testing.B) {
		seg := loadGse(b)
		b.SetBytes(size)
		for b.Loop() {
			seg.Segment([]byte(next()))
		}
	})
}

// loadGse returns gse's own segmenter.
func loadGse(t testing.TB) *gse.Segmenter {
	seg := &gse.Segmenter{SkipLog: true, NotLoadHMM: true, Dict: gse.NewDict()}
	seg.Init()
	if err := seg.LoadDictEmbed("zh"); err != nil {
		t.Fatal(err)
	}
	return seg
}

// TestSegmenterAgainstGse compares the words with those of gse's own Segment,
// which works in 32-bit floats.
func TestSegmenterAgainstGse(t *testing.T) {
	s := loadSegmenter(t)
	seg := loadGse(t)
	text := strings.ToValidUTF8(throughput(t, "zh", 1<<20), "")
	text += "Ubuntu 14.04 LTS下载ISO镜像，T恤衫与卡拉OK；Việt Nam한국어 Ünïcödé naïve ΑΒΓ ЖЗИ"
	same, total := 0, 0
	for text != "" {
		n, _ := chinese.Sentence(text, 0, 0)
		n = max(1, n)
		var ours, theirs []string
		for tok := range s.Tokens(text[:n]) {
			ours = append(ours, text[tok.Start:tok.End])
		}
		for _, g := range seg.Segment([]byte(text[:n])) {
			w := text[g.Start():g.End()]
			if c, _ := chinese.ClassOf(w); c == lex.Letter && g.End()-g.Start() > 2 && w[0] >= 0xE0 {
				continue
			} else if c != lex.Separator {
				theirs = append(theirs, w)
			}
		}
		total++
		if slices.Equal(ours, theirs) {
			same++
		} else if total-same < 5 {
			t.Logf("ours   %q", ours)
			t.Logf("theirs %q", theirs)
		}
		text = text[n:]
	}
	t.Logf("%d of %d sentences the same", same, total)
	if same < total*999/1000 {
		t.Errorf("only %d of %d sentences are segmented as gse does", same, total)
	}
}

// TestSegmenterEquivalents: canonically equivalent texts have the same words, with the same parts of speech.
func TestSegmenterEquivalents(t *testing.T) {
	s := loadSegmenter(t)
	words := func(text string) (out []Token) {
		for tok := range s.Tokens(text) {
			tok.Start, tok.End = 0, 0
			out = append(out, tok)
		}
		return out
	}
	for composed, decomposed := range map[string]string{
		"他在café里说Việt语，한국어也会。":               "他在cafe\u0301里说Vie\u0323\u0302t语，\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165也会。",
		"ガンダム和アニメが好き≠a":                      "カ\u3099ンタ\u3099ム和アニメか\u3099好き=\u0338a",
		"豈有此理，İstanbul的naïve老鼠q\u0323\u0307": "\uf900有此理，I\u0307stanbul的nai\u0308ve老鼠q\u0307\u0323",
	} {
		if got, want := words(decomposed), words(composed); !slices.Equal(got, want) {
			t.Errorf("%+q: %+v, want %+v", decomposed, got, want)
		}
		checkSegmenter(t, s, decomposed)
		checkSegmenter(t, s, composed)
	}
}
