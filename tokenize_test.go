package neardup

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/lex"
	"github.com/neardup/neardup/internal/ucd"
)

// naiveTokens is the definition of the tokenizers, one character at a time.
func naiveTokens(text string, chars bool, n int) []Token {
	var units []Token
	open, lone := false, false // the last unit takes marks, but no letters
	for i := 0; i < len(text); {
		r, _, size := lex.Next([]byte(text), i)
		parts := string(r)
		if ucd.Props(r)&ucd.Parts != 0 {
			parts = ucd.Decompose(r, ucd.NFC)
		}
		for _, r := range parts {
			_, class, _ := lex.Next([]byte(string(r)), 0)
			u := &Token{}
			if open {
				u = &units[len(units)-1]
			}
			fits := open && len(u.Text)+utf8.RuneLen(r) <= lex.MaxWord
			whole := lex.Fold(u.Text + string(r)) // marks in canonical order, and all composed
			composes := open && utf8.RuneCountInString(whole) <= utf8.RuneCountInString(u.Text) && len(whole) <= lex.MaxWord
			switch {
			case class == lex.Separator:
				open = false
			case class == lex.Ignored && open:
				u.End = i + size
			case class == lex.Ignored, class == lex.Mark && !open:
			case class == lex.Mark && !fits && !(composes && ucd.CombiningClass(r) == 0):
				u.End = i + size
			case class == lex.Mark, composes, class == lex.Letter && fits && !lone && !chars:
				u.Text = whole
				u.End = i + size
			default:
				units = append(units, Token{Text: string(r), Start: i, End: i + size})
				open, lone = true, class == lex.Single
			}
		}
		i += size
	}
	space := " "
	if chars {
		space = ""
	}
	var tokens []Token
	for i := range units {
		if i+n > len(units) && i > 0 {
			break
		}
		window := units[i:min(i+n, len(units))]
		t := window[0]
		for _, u := range window[1:] {
			t.Text += space + u.Text
			t.End = u.End
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// opaque hides a tokenizer of this package, so that the general paths are taken.
type opaque struct{ Tokenizer }

func (o opaque) Tokens(text string) iter.Seq[Token] { return o.Tokenizer.Tokens(text) }

// checkTokenizers compares every tokenizer with its definition and the batch
// path of the fingerprinter with the general one.
func checkTokenizers(t *testing.T, text string) {
	t.Helper()
	for _, test := range []struct {
		tok   Tokenizer
		chars bool
		n     int
	}{
		{Words{}, false, 1}, {Shingles{}, false, 2}, {Shingles{N: 5}, false, 5},
		{NGrams{1}, true, 1}, {NGrams{2}, true, 2}, {NGrams{}, true, 3}, {NGrams{7}, true, 7},
		{Shingles{Of: opaque{Words{}}}, false, 2}, {Shingles{Of: opaque{Words{}}, N: 4}, false, 4}, {Shingles{Of: opaque{Words{}}, N: 70}, false, 70},
		{Shingles{Of: Shingles{N: 1}, N: 1}, false, 1},
	} {
		got := slices.Collect(test.tok.Tokens(text))
		want := naiveTokens(text, test.chars, test.n)
		if !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("%#v of %.200q: %d tokens, want %d; first difference at %d: %+v, want %+v", test.tok, text, len(got), len(want), i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
		f := Fingerprinter{Tokenizer: test.tok}
		g := general(f)
		if a, b := f.Sum64(Text(text)), g.Sum64(Text(text)); a != b {
			t.Fatalf("%#v of %.200q: %v by batches, %v in general", test.tok, text, a, b)
		}
		if a, b := f.Sum128(Text(text)), g.Sum128(Text(text)); a != b {
			t.Fatalf("%#v of %.200q: %v by batches, %v in general", test.tok, text, a, b)
		}
		for range test.tok.Tokens(text) {
			break // a consumer may stop
		}
	}
}

var hostile = []string{
	"", "a", "é", "中", "The quick brown fox.", "It's 3.14, isn't it?",
	"我们在使用Ubuntu 14.04的时候，下载了ISO镜像。", "ＡＢＣ１２３　全角", "カタカナとひらがなー々〇",
	"สวัสดีครับ", "한국어 문장 입니다", "Việt Nam, naïve Ünïcödé İstanbul ΣΊΣΥΦΟΣ ЖЗИ", "हिन्दी में", "العربية",
	"\x00\x01\xff\xfe\xc3", "\xed\xa0\x80\xed\xb0\x80", "a\xffb中\xe4\xb8", "\ufeffbom", "🙂a🙃b", "a\u0301e\u0301", "\u0301", "ȺȾⱥ",
	"ab\u00adcd\u200be\u200d", "中\u0301\ufe0f文\u0301a\u0301", "👍🏽👨‍👩‍👧❤️🇩🇪1️⃣", "कि\u200dखी", strings.Repeat("\u0301", 500), "ｶﾞ\uff9e", strings.Repeat("中\u0300", 300),
	strings.Repeat("a", 64), strings.Repeat("b", 128), strings.Repeat("c", 129) + " d", strings.Repeat("xyz", 1000),
	strings.Repeat("é", 100), strings.Repeat("a", 127) + "é", strings.Repeat("中", 10000), strings.Repeat("Ⱥ", 20000),
	strings.Repeat("word ", 20000), strings.Repeat("x", 50) + " " + strings.Repeat("y", 90) + strings.Repeat(" z", 9000),
	strings.Repeat("ab ", 21) + "c", strings.Repeat("0123456789abcdef", 8) + "é",
	"Vie\u0323\u0302t Nam", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "か\u3099ハ\u309a", "I\u0307İ", "क\u093cि \u0958",
	strings.Repeat("e\u0301\u0323", 40), "a" + strings.Repeat("\u0301\u0316", 200),
}

// shorter returns n, or in short tests short: where the processor is emulated, they take
// minutes otherwise.
func shorter(n, short int) int {
	switch {
	case *full:
		return n
	case testing.Short():
		return max(1, short/3)
	}
	return short
}

func TestTokenizers(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		checkTokenizers(t, text)
	}
	for _, lang := range []string{"en", "zh"} {
		for _, d := range corpus(t, lang)[:shorter(10, 2)] {
			checkTokenizers(t, d.Text)
		}
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	pieces := append(slices.Clone(hostile[:24]), " ", "\n", ",", "a", "bc", "Ü", "的", strings.Repeat("q", 60), strings.Repeat("r", 70))
	for range shorter(300, 30) {
		var b strings.Builder
		for range rnd.IntN(200) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		checkTokenizers(t, b.String())
	}
}

func TestTokenTexts(t *testing.T) {
	for _, test := range []struct {
		tok        Tokenizer
		text, want string
	}{
		{Words{}, "It's a Dog-Day, 42%!", "it|s|a|dog|day|42"},
		{Words{}, "使用Ubuntu系统", "使|用|ubuntu|系|统"},
		{Shingles{}, "The quick, brown fox", "the quick|quick brown|brown fox"},
		{Shingles{}, "使用Ubuntu系统", "使 用|用 ubuntu|ubuntu 系|系 统"},
		{Shingles{}, "One!", "one"},
		{Shingles{N: 3}, "one two", "one two"},
		{NGrams{2}, "It's", "it|ts"},
		{NGrams{3}, "中国", "中国"},
		{NGrams{2}, "相似文本识别技术", "相似|似文|文本|本识|识别|别技|技术"}, // seven, as Li 2015 counts
		{Shingles{Of: NGrams{2}, N: 2}, "abcd", "ab bc|bc cd"},
	} {
		if got := texts(test.tok, test.text); got != test.want {
			t.Errorf("%#v of %q: %s, want %s", test.tok, test.text, got, test.want)
		}
	}
}

// noThe inherits from Words and overrides it.
type noThe struct{ Words }

func (w noThe) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for t := range w.Words.Tokens(text) {
			if t.Text != "the" && !yield(t) {
				return
			}
		}
	}
}

func TestEmbeddedTokenizer(t *testing.T) {
	f, g := Fingerprinter{Tokenizer: noThe{}}, Fingerprinter{Tokenizer: Words{}}
	if a, b := f.Sum64(Text("the cat and the dog and the cow")), g.Sum64(Text("cat and dog and cow")); a != b {
		t.Errorf("a tokenizer of the caller was passed over: %v, want %v", a, b)
	}
	h := Fingerprinter{Tokenizer: Shingles{Of: noThe{}}}
	g.Tokenizer = nil
	if a, b := h.Sum64(Text("the cat and the dog")), g.Sum64(Text("cat and dog")); a != b {
		t.Errorf("a tokenizer of the caller was passed over in shingles: %v, want %v", a, b)
	}
}

// TestLongShingles takes time linear in the text also if N is large.
func TestLongShingles(t *testing.T) {
	text := strings.Repeat("a b c ", 60_000)
	n := 0
	for tok := range (Shingles{Of: opaque{Words{}}, N: 50_000}).Tokens(text) {
		if n++; n > 3 {
			break
		}
		if len(tok.Text) != 2*50_000-1 {
			t.Fatalf("shingle of %d bytes", len(tok.Text))
		}
	}
}

// TestTokensStay checks that tokens can be kept while more are read.
func TestTokensStay(t *testing.T) {
	text := strings.Repeat("alpha beta gamma 中文 ", 3000)
	for _, tok := range []Tokenizer{Words{}, Shingles{}, NGrams{4}, Shingles{Of: opaque{Words{}}, N: 3}} {
		var kept, copies []string
		for t := range tok.Tokens(text) {
			kept = append(kept, t.Text)
			copies = append(copies, strings.Clone(t.Text))
		}
		if !slices.Equal(kept, copies) {
			t.Errorf("%#v: tokens change after they were yielded", tok)
		}
	}
}

func FuzzTokenizers(f *testing.F) {
	for _, text := range hostile {
		if len(text) < 1000 { // TestTokenizers has the others
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkTokenizers(t, text) })
}

func checkSegmenter(t *testing.T, s *Segmenter, text string) {
	t.Helper()
	end := 0
	for tok := range s.Tokens(text) {
		if tok.Start < end || tok.End <= tok.Start || tok.End > len(text) {
			t.Fatalf("%q: token %+v after %d", text, tok, end)
		}
		if want := lex.Fold(text[tok.Start:tok.End]); tok.Text != want {
			t.Fatalf("%q: token %q from %q", text, tok.Text, want)
		}
		for i := end; i < tok.Start; { // only separators between tokens
			_, class, size := lex.Next([]byte(text), i)
			if class != lex.Separator && class != lex.Ignored && class != lex.Mark {
				t.Fatalf("%q: %q is in no token", text, text[i:i+size])
			}
			i += size
		}
		end = tok.End
	}
	for i := end; i < len(text); {
		_, class, size := lex.Next([]byte(text), i)
		if class != lex.Separator && class != lex.Ignored && class != lex.Mark {
			t.Fatalf("%q: %q is in no token", text, text[i:i+size])
		}
		i += size
	}
}

func TestSegmenter(t *testing.T) {
	s := loadSegmenter(t)
	for _, text := range hostile {
		checkSegmenter(t, s, text)
	}
	for _, d := range corpus(t, "zh")[:10] {
		checkSegmenter(t, s, d.Text)
	}
	if got := texts(s, "市民投诉施工噪音，Ubuntu下载。\x00卡拉OK"); got != "市民|投诉|施工|噪音|ubuntu|下载|卡拉|ok" {
		t.Errorf("words: %s", got)
	}
	for tok := range s.Tokens("投诉") {
		if tok.POS != "vn" && tok.POS != "v" {
			t.Errorf("part of speech of %q: %q", tok.Text, tok.POS)
		}
	}
}

func TestSegmenterOptions(t *testing.T) {
	if !*full {
		t.Skip("loads the dictionary")
	}
	s, err := NewSegmenter(SegmenterOptions{
		UserDict:  strings.NewReader("\ufeff# ours\n\n近似去重 5000 nz\n佛系青年\n"),
		StopWords: NewLexicon("的", "OK"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(s, "佛系青年的近似去重OK"); got != "佛系青年|近似去重" {
		t.Errorf("words: %s", got)
	}
	for tok := range s.Tokens("近似去重") {
		if tok.POS != "nz" {
			t.Errorf("part of speech %q", tok.POS)
		}
	}
	for dict, want := range map[string]string{
		"好 x": "line 1", "a 1 n\n好 0": "line 2", "好 5 n extra": "line 1", "好\xff": "line 1", "好 NaN": "line 1",
		strings.Repeat("好", 1<<16): "too long", strings.Repeat("好", 65): "more than 64", "好。人": "end of a sentence",
	} {
		if _, err := NewSegmenter(SegmenterOptions{UserDict: strings.NewReader(dict)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dictionary %.20q: error %v, want one about %q", dict, err, want)
		}
	}
}

// TestLog2 compares with known values.
func TestLog2(t *testing.T) {
	for x, want := range map[float64]int64{1: 0, 2: 1 << 16, 1024: 10 << 16, 3: 103872, 10: 217705, 1e6: 1306235} {
		if got := exact.Log2(x); got != want {
			t.Errorf("log2(%v) = %d, want %d", x, got, want)
		}
	}
}

func FuzzSegmenter(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	s := loadSegmenter(f)
	f.Fuzz(func(t *testing.T, text string) { checkSegmenter(t, s, text) })
}

func ExampleTokenizer() {
	for t := range (Shingles{}).Tokens("Near-duplicates, 近似重复") {
		fmt.Printf("%d-%d %s\n", t.Start, t.End, t.Text)
	}
	// Output:
	// 0-15 near duplicates
	// 5-20 duplicates 近
	// 17-23 近 似
	// 20-26 似 重
	// 23-29 重 复
}
