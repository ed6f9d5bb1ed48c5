package ucd

import (
	"bufio"
	"compress/gzip"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func runes(t *testing.T, field string) string {
	var b strings.Builder
	for _, f := range strings.Fields(field) {
		r, err := strconv.ParseUint(f, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteRune(rune(r))
	}
	return b.String()
}

func normalize(s string, form Form) string {
	return string(AppendNormalized(nil, []byte(s), form))
}

// TestNormalization runs Unicode's own test of conformance.
func TestNormalization(t *testing.T) {
	f, err := os.Open("gen/" + Version + "/NormalizationTest.txt.gz")
	if err != nil {
		t.Skip("only in the repository: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	alone := map[rune]bool{} // tested in part 1; all others must stay
	lines := bufio.NewScanner(z)
	part, checked := "", 0
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.HasPrefix(line, "@") {
			part = strings.TrimSpace(line)
		}
		col := strings.Split(line, ";")
		if len(col) < 5 {
			continue
		}
		var c [5]string
		for i := range c {
			c[i] = runes(t, col[i])
		}
		if r, size := utf8.DecodeRuneInString(c[0]); part == "@Part1" && size == len(c[0]) {
			alone[r] = true
		}
		for i, s := range c {
			want := c[1]
			if i > 2 {
				want = c[3]
			}
			if got := normalize(s, NFC); got != want {
				t.Fatalf("line %d: NFC(%+q) = %+q, want %+q", n, s, got, want)
			}
			if got := normalize(s, NFKC); got != c[3] {
				t.Fatalf("line %d: NFKC(%+q) = %+q, want %+q", n, s, got, c[3])
			}
			// What is beside changes nothing, if it neither composes nor decomposes.
			if got, want := normalize("x中"+s+"\xff"+s+"\n", NFKC), "x中"+c[3]+"\xff"+c[3]+"\n"; got != want {
				t.Fatalf("line %d: with neighbours %+q, want %+q", n, got, want)
			}
		}
		checked++
	}
	if err := lines.Err(); err != nil || checked < 18000 {
		t.Fatal(checked, err)
	}
	for r := range rune(utf8.MaxRune + 1) {
		if s := string(r); !alone[r] && utf8.ValidRune(r) && (normalize(s, NFC) != s || normalize(s, NFKC) != s) {
			t.Fatalf("%U changes", r)
		}
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]string{
		"ＡＢＣ１２３　全角！": "ABC123 全角!", "ｶﾞｷﾞｸ": "ガギク", "e\u0301①": "é①", "": "",
		"\xffＡ\u0301": "\xffÁ", "\u0301": "\u0301", "\xed\xa0\x80": "\xed\xa0\x80",
	} {
		if got := normalize(in, Width); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	// A row of marks beyond the limit stays as long as it is.
	marks := "a" + strings.Repeat("\u0316\u0301", 1_000_000)
	if got := normalize(marks, NFKC); utf8.RuneCountInString(got) != utf8.RuneCountInString(marks)-1 { // a and the first acute compose
		t.Errorf("%d characters of %d", utf8.RuneCountInString(got), utf8.RuneCountInString(marks))
	}
}

// TestProps looks at the classes of characters one knows, and checks every
// character against the toolchain if that has the same version of Unicode.
func TestProps(t *testing.T) {
	for class, chars := range map[uint8]string{
		Separator: " \n\x00.,_-+。，！？、…—“”「」（）　→√©®™ʼʻ’〰\ufffd\ue000",
		Letter:    "azAZ09éßжΣ한אبक٣²½Ⅷ𝐀ａＺ９",
		Single:    "中文㐀𠀀龍々〇あアｱーกขກကក🙂🎉❤☎⌚🇩",
		Mark:      "\u0301\u0e31\u093f\u3099\uff9e\u064b",
		Ignored:   "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f\U000e0100\u0640\u20e3🏽\u055e\u070f",
	} {
		for _, r := range chars {
			if got := Props(r) & ClassMask; got != class {
				t.Errorf("%U %c: class %d, want %d", r, r, got, class)
			}
		}
	}
	for _, r := range []rune{-1, 0x110000, 0x7FFFFFFF} {
		if Props(r) != Separator || Fold(r) != r {
			t.Errorf("%#x is not a separator", r)
		}
	}
	for r := range rune(utf8.MaxRune + 1) {
		f := Fold(r)
		if (f != r) != (Props(r)&Folds != 0) {
			t.Errorf("%U: folds to %U, but the flag is wrong", r, f)
		}
		if Fold(f) != f {
			t.Errorf("%U: folds to %U, which folds again", r, f)
		}
		if Props(f)&ClassMask != Props(r)&ClassMask {
			t.Errorf("%U: folds to %U of another class", r, f)
		}
		if Props(r)&Stable != 0 != stable(r) && utf8.ValidRune(r) {
			t.Errorf("%U: stable is wrong", r)
		}
	}
	for in, want := range map[rune]rune{'A': 'a', 'ς': 'σ', 'Σ': 'σ', 'İ': 'i', 'ẞ': 'ß', 'Ｚ': 'z', 'ｱ': 'ア', '𝐀': 'a', '⼈': '人', '⻓': '长', '⺠': '民', '豈': '豈', 'K': 'k', '²': '²', '中': '中'} {
		if got := Fold(in); got != want {
			t.Errorf("%c folds to %c, want %c", in, got, want)
		}
	}
	if unicode.Version != Version {
		t.Skipf("the toolchain has Unicode %s, the tables have %s", unicode.Version, Version)
	}
	for r := range rune(utf8.MaxRune + 1) {
		word := unicode.In(r, unicode.L, unicode.N)
		switch Props(r) & ClassMask {
		case Letter:
			if !word && (r < 0x2801 || r > 0x28FF) {
				t.Errorf("%U is no letter", r)
			}
		case Separator:
			if word && r != 0x02BB && r != 0x02BC || unicode.Is(unicode.M, r) {
				t.Errorf("%U is no separator", r)
			}
		case Mark:
			if !unicode.Is(unicode.M, Fold(r)) {
				t.Errorf("%U is no mark", r)
			}
		}
	}
}

// stable is the definition, but for the sets of characters before r.
func stable(r rune) bool {
	if CombiningClass(r) != 0 {
		return false
	}
	for _, form := range []Form{NFC, Width, NFKC} {
		var c composer
		c.form = form
		c.add(r)
		c.flush()
		if string(c.dst) != string(r) {
			return false
		}
	}
	for i := range composeFrom {
		if rune(uint32(composeFrom[i])) == r {
			return false
		}
	}
	return r < 0x1161 || r > 0x11C2
}

func BenchmarkNFKC(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("The quick brown fox. ", 500), "han": strings.Repeat("市民投诉施工噪音，", 400),
		"wide": strings.Repeat("ＡＢＣ１２３", 500), "nfd": strings.Repeat("e\u0301a\u0300", 1500),
	} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dst = AppendNormalized(dst[:0], []byte(text), NFKC)
			}
		})
	}
}
