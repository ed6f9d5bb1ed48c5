package lex

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/ucd"
)

// unitsOf returns the units of a text that is read in two pieces, with a bar after each.
func unitsOf(text string, chars bool, first int) string {
	var out strings.Builder
	b := Batches.Get().(*Batch)
	defer Batches.Put(b)
	b.Reset(chars, 1)
	first -= Partial([]byte(text[:first]))
	for i, piece := range []string{text[:first], text[first:]} {
		for b.Read(piece, i == 1); b.Next(); {
			for i := range b.Size() {
				out.Write(b.Unit(i))
				out.WriteByte('|')
			}
		}
	}
	return out.String()
}

// decompose returns a text in Normalization Form D, but for the order of marks.
func decompose(text string) (out []rune) {
	for _, r := range text {
		if s := r - 0xAC00; s >= 0 && s < 11172 { // Hangul
			out = append(out, 0x1100+s/588, 0x1161+s%588/28)
			if s%28 != 0 {
				out = append(out, 0x11A7+s%28)
			}
			continue
		}
		parts := ucd.Decompose(r, ucd.NFC)
		if parts == "" {
			parts = string(r)
		}
		out = append(out, []rune(parts)...)
	}
	return out
}

// equivalents returns texts that are canonically equivalent to a valid text.
func equivalents(text string) []string {
	rnd := rand.New(rand.NewPCG(uint64(len(text)), 1))
	decomposed := decompose(text)
	other := slices.Clone(decomposed)
	// Marks of different classes may stand in any order.
	for range len(other) {
		if i := rnd.IntN(len(other)); i > 0 {
			a, b := ucd.CombiningClass(other[i-1]), ucd.CombiningClass(other[i])
			if a != b && a != 0 && b != 0 {
				other[i-1], other[i] = other[i], other[i-1]
			}
		}
	}
	return []string{string(ucd.AppendNormalized(nil, []byte(text), ucd.NFC)), string(decomposed), string(other)}
}

// checkEquivalents compares the units of texts that are canonically equivalent, in pieces too, and the
// words with their definition by Fold.
func checkEquivalents(t *testing.T, text string) {
	t.Helper()
	for _, chars := range []bool{false, true} {
		want := unitsOf(text, chars, 0)
		for _, unit := range strings.Split(want, "|") {
			if Fold(unit) != unit {
				t.Fatalf("%+q has the unit %+q, which folds to %+q", text, unit, Fold(unit))
			}
		}
		for _, same := range equivalents(text) {
			for _, first := range []int{0, len(same) / 2, len(same) * 2 / 3} {
				if got := unitsOf(same, chars, first); got != want {
					t.Fatalf("%+q has the units %+q, but %+q, cut at %d, has %+q", text, want, same, first, got)
				}
			}
		}
	}
}

// TestEquivalents takes every character that changes in any form, and some others, alone, and behind and before others.
func TestEquivalents(t *testing.T) {
	for r := range rune(0x30000) {
		if !utf8.ValidRune(r) {
			continue
		}
		if ucd.Props(r)&(ucd.Combines|ucd.Folds) == 0 && ucd.Decompose(r, ucd.NFC) == "" && r%97 != 0 { // alike
			continue
		}
		for _, text := range []string{"x" + string(r) + "y", "I" + string(r) + "\u0328\u0307\u0301.", "\u1100" + string(r), "か\u3099" + string(r) + "\u0323e"} {
			checkEquivalents(t, text)
		}
	}
	for text, want := range map[string]string{
		"Việt Nam":                 "việt|nam|",
		"한국어":                      "한국어|",
		"Žluťoučký kůň":            "žluťoučký|kůň|",
		"ｶﾞｷﾞ":                     "ガ|ギ|", // half width
		"İstanbul I\u0307":         "istanbul|i|",
		"e\u00ad\u0301":            "é|", // a soft hyphen
		"= \u0338a \u0301":         "a|",
		"q\u0307\u0323":            "q\u0323\u0307|",
		"क\u093c \u0958":           "क\u093c|क\u093c|",
		"Ａ\u030a \u212b":           "å|å|",
		"\u1161\u1100\u1161\u11a8": "\u1161각|",
	} {
		checkEquivalents(t, text)
		if got := unitsOf(text, false, 0); got != want {
			t.Errorf("%+q: %+q, want %+q", text, got, want)
		}
	}
}

// TestRandomEquivalents takes texts of characters that combine.
func TestRandomEquivalents(t *testing.T) {
	alphabet := []rune("aeiIou İéệąj \u0301\u0302\u0323\u0327\u0328\u0307\u0308\u031b\u0345\u1100\u1161\u11a8\u11a7가각かハ\u3099\u309aﾊﾟ中\u0344\u0340कऩ\u093c\u09c7\u09be\u0bc6ำกุ่\u05e9\u05bc\u05c1שּׁ\u00ad\u200dA=\u0338\u20e3")
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 20000 {
		text := make([]rune, rnd.IntN(30))
		for i := range text {
			text[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		checkEquivalents(t, string(text))
	}
}

func FuzzEquivalents(f *testing.F) {
	for _, text := range []string{"Việt Nam", "e\u0301", "\u1112\u1161\u11abᄀ", "か\u3099", "a\u0315\u0300\u05ae\u0301b", strings.Repeat("e\u0301", 60)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// The exceptions: long words, and many marks.
		longest := 0
		for word := range strings.SplitSeq(text, " ") {
			longest = max(longest, len(string(decompose(word))))
		}
		if !utf8.ValidString(text) || longest > MaxWord/2 {
			return
		}
		checkEquivalents(t, text)
	})
}

func BenchmarkEquivalents(b *testing.B) {
	for name, text := range map[string]string{
		"vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. ", "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ",
		"thai": "มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ", "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। ",
	} {
		for form, text := range map[string]string{"nfc": text, "nfd": string(decompose(text))} {
			b.Run("text="+name+"/form="+form, func(b *testing.B) {
				text := strings.Repeat(text, 100)
				batch := new(Batch)
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					batch.Reset(false, 1)
					for batch.Read(text, true); batch.Next(); {
					}
				}
			})
		}
	}
}
