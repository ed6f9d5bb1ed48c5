package variant

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
)

const english = "A page about Ada Lovelace.\nIn 1843 she wrote notes, on 12 pages, for the engine of Charles Babbage. " +
	"They appeared on September 5, 1843 in London. Nobody in London read them! Was it too early?"

const chinese = "住房公积金调整\n2014年5月6日，张三在广州市天河区递交了关于住房公积金的意见。他说，调整之后每月要多交300元；综上所述，希望有关部门尽快答复。北京的朋友也有3个同样的问题！"

func segmenter(t testing.TB) *neardup.Segmenter {
	t.Helper()
	s, err := neardup.NewSegmenter(neardup.SegmenterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// This test shows what each edit makes of a text. The edits are strong, so that each can be seen.
func TestKinds(t *testing.T) {
	s := segmenter(t)
	for _, test := range []struct {
		edit  string
		check func(before, after string, words, of []string) bool
	}{
		{"delete-words:1", func(_, _ string, words, of []string) bool { return len(words) == 0 }},
		{"insert-words:1", func(_, _ string, words, of []string) bool { return len(words) > len(of)*3/2 }},
		{"substitute-words:1", func(_, after string, words, of []string) bool { return common(words, of) < len(of)/3 }},
		{"swap-words:0.5", func(before, after string, words, of []string) bool { return sameLetters(before, after) }},
		{"delete-characters:0.1", func(before, after string, _, _ []string) bool {
			return utf8.RuneCountInString(after) < utf8.RuneCountInString(before)
		}},
		{"insert-characters:0.1", func(before, after string, _, _ []string) bool {
			return utf8.RuneCountInString(after) > utf8.RuneCountInString(before)
		}},
		{"substitute-characters:0.1", func(before, after string, _, _ []string) bool {
			return utf8.RuneCountInString(after) == utf8.RuneCountInString(before)
		}},
		{"swap-characters:0.3", func(before, after string, _, _ []string) bool { return sameLetters(before, after) }},
		{"delete-sentences:0.4", func(before, after string, _, _ []string) bool { return len(after) < len(before) && len(after) > 0 }},
		{"reorder-sentences:1", func(before, after string, _, _ []string) bool {
			return sameLetters(before, after) && !strings.HasPrefix(after, before[:9])
		}},
		{"add-boilerplate:0.5", func(before, after string, _, _ []string) bool { return strings.Contains(after, before) }},
		{"add-advertisements:0.5", func(before, after string, words, of []string) bool { return len(words) > len(of) }},
		{"change-title:1", func(before, after string, _, _ []string) bool {
			title, rest, _ := strings.Cut(before, "\n")
			edited, same, _ := strings.Cut(after, "\n")
			return rest == same && title != edited
		}},
		{"change-names:1", func(before, after string, _, _ []string) bool {
			for _, name := range []string{"Ada", "Lovelace", "London", "张三", "广州市", "北京"} {
				if strings.Contains(after, name) {
					return false
				}
			}
			return strings.Contains(after, "Nobody") == strings.Contains(before, "Nobody")
		}},
		{"change-numbers:1", func(_, after string, _, _ []string) bool {
			return !strings.Contains(after, "1843") && !strings.Contains(after, "300") && !strings.Contains(after, "2014")
		}},
		{"change-dates:1", func(_, after string, _, _ []string) bool {
			return !strings.Contains(after, "September 5, 1843") && !strings.Contains(after, "2014年5月6日") && (strings.Contains(after, "In 1843") || strings.Contains(after, "300"))
		}},
		{"full-width:1", func(_, after string, words, of []string) bool {
			return strings.IndexFunc(after, func(c rune) bool { return c > ' ' && c < 0x7F }) < 0 && common(words, of) == len(of)
		}},
	} {
		e, err := ParseEdit(test.edit)
		if err != nil {
			t.Fatal(err)
		}
		if e.String() != test.edit {
			t.Errorf("%s reads as %s", test.edit, e)
		}
		for _, text := range []string{english, chinese} {
			g := Generator{Words: s}
			after, places := g.Make(text, 0, e)
			if places == 0 || after == text || !test.check(text, after, words(s, after), words(s, text)) {
				t.Errorf("%s, %d places:\n%s", test.edit, places, after)
			}
			if again, _ := g.Make(text, 0, e); again != after {
				t.Errorf("%s: the same seed makes another text", test.edit)
			}
			// At and above the end of the scale there is only one outcome.
			if other, _ := (&Generator{Words: s, Seed: 1}).Make(text, 0, e); other == after && e.Rate < 1 {
				t.Errorf("%s: another seed makes the same text", test.edit)
			}
			if same, n := g.Make(text, 0, Edit{e.Kind, 0}); same != text || n != 0 {
				t.Errorf("%s: with the rate 0 %d places", test.edit, n)
			}
		}
		if got, n := new(Generator).Make("", 0, e); n != 0 || got != "" {
			t.Errorf("%s of nothing: %q, %d", test.edit, got, n)
		}
	}
}

func words(tok neardup.Tokenizer, text string) (words []string) {
	for t := range tok.Tokens(text) {
		words = append(words, t.Text)
	}
	return words
}

// common returns how many words are in the same place in both texts.
func common(a, b []string) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

func sameLetters(a, b string) bool {
	count := map[rune]int{}
	for _, c := range a {
		count[c]++
	}
	for _, c := range b {
		count[c]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// This test checks that the fraction of words or characters that are gone, new or moved is the
// rate.
func TestRates(t *testing.T) {
	var en, zh strings.Builder
	for i := range 120 {
		fmt.Fprintf(&en, "Word%d, then word%d and (word%d) say %d \"things\" to word%d. ", 7*i, 7*i+1, 7*i+2, 1000+i, 7*i+3)
		fmt.Fprintf(&zh, "%c%c人，在%c%c说了%d件%c%c的事情。", '一'+i, '丁'+2*i, '丈'+3*i, '下'+5*i, 1000+i, '且'+7*i, '中'+11*i)
	}
	vocabulary := []string{"extra", "另外"} // neither word is in the texts
	for _, text := range []string{en.String(), zh.String()} {
		g := Generator{Vocabulary: vocabulary}
		of := words(neardup.Words{}, text)
		for _, test := range []struct {
			kind                Kind
			gone, fresh, moving float64 // fractions of the words, divided by the rate
		}{{DeleteWords, 1, 0, 0}, {InsertWords, 0, 1, 0}, {SubstituteWords, 1, 1, 0}, {SwapWords, 0, 0, 1}} {
			for _, rate := range []float64{0.02, 0.1, 0.3} {
				after, places := g.Make(text, 0, Edit{test.kind, rate})
				got := words(neardup.Words{}, after)
				left, extra := len(of), 0
				count := map[string]int{}
				for _, w := range of {
					count[w]++
				}
				for _, w := range got {
					if w == "extra" || w == "另" {
						extra++
					} else if w != "外" {
						if left--; count[w] == 0 {
							t.Fatalf("%s: the new word %q", Edit{test.kind, rate}, w)
						}
					}
				}
				moved := 0
				if test.moving > 0 {
					moved = len(of) - common(of, got)
				}
				share := func(n int) float64 { return float64(n) / float64(len(of)) }
				want := func(multiple float64) float64 { return multiple * rate }
				if near := func(a, b float64) bool { return math.Abs(a-b) <= 0.003+0.2*b }; !near(share(left), want(test.gone)) || !near(share(extra), want(test.fresh)) || !near(share(moved), want(test.moving)) {
					t.Errorf("%s of %d words: %d gone, %d new, %d moved, %d places", Edit{test.kind, rate}, len(of), left, extra, moved, places)
				}
			}
		}
		length := float64(utf8.RuneCountInString(text))
		share := float64(len(letters(text))) / length
		for _, test := range []struct {
			kind Kind
			grow float64
		}{{DeleteCharacters, -share}, {InsertCharacters, share}, {SubstituteCharacters, 0}, {SwapCharacters, 0}, {AddBoilerplate, 1}, {AddAdvertisements, 1}} {
			for _, rate := range []float64{0.05, 0.2} {
				after, _ := g.Make(text, 0, Edit{test.kind, rate})
				if grown := (float64(utf8.RuneCountInString(after)) - length) / length; math.Abs(grown-test.grow*rate) > 0.015 {
					t.Errorf("%s: it grows by %.3f", Edit{test.kind, rate}, grown)
				}
				if chinese := strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Han, c) }); test.kind >= AddBoilerplate && !chinese && strings.ContainsFunc(after, func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
					t.Errorf("%s: Chinese in an English text", test.kind)
				}
			}
		}
		for _, rate := range []float64{0.1, 0.5} {
			before := sentences(text)
			after, places := g.Make(text, 0, Edit{DeleteSentences, rate})
			if n := len(sentences(after)); len(before) != 120 || n != 120-places || places != int(rate*120) {
				t.Errorf("of %d sentences %d are left, %d deleted", len(before), n, places)
			}
			after, places = g.Make(text, 0, Edit{ReorderSentences, rate})
			if moved := 120 - common(before, sentences(after)); moved != places || places != int(rate*120) {
				t.Errorf("%d sentences moved, %d places", moved, places)
			}
			if _, places := g.Make(text, 0, Edit{ChangeNumbers, rate}); places < int(rate*120) {
				t.Errorf("%d numbers changed", places)
			}
		}
		if a, _ := g.Make(text, 0, Edit{DeleteWords, 0.1}); true {
			if b, _ := g.Make(text, 1, Edit{DeleteWords, 0.1}); a == b {
				t.Error("the second variant is the first")
			}
		}
	}
	if _, places := new(Generator).Make("one two three", 0, Edit{SubstituteWords, 1e-9}); places != 1 {
		t.Errorf("%d places, and not one at least", places)
	}
}

// This test checks what is refused as an edit, and what counts as a sentence, a name and a date.
func TestParts(t *testing.T) {
	g := new(Generator)
	for _, test := range []struct{ text, edit string }{
		{"a a a a", "swap-words:1"}, {"one sentence only.", "reorder-sentences:1"}, {"no number", "change-numbers:1"}, {"一 title without more", "change-title:1"}, {"I saw it, and I know.", "change-names:1"}, {"ｆｕｌｌ", "full-width:1"},
	} {
		e, err := ParseEdit(test.edit)
		if err != nil {
			t.Fatal(err)
		}
		if after, places := g.Make(test.text, 0, e); places != 0 || after != test.text {
			t.Errorf("%s of %q: %q, %d places", e, test.text, after, places)
		}
	}
	for text, want := range map[string]string{
		"他说：“好。”我走了！！“真的吗？”她问":                                              "他说：“好。”|我走了！！|“真的吗？”|她问",
		"Mr. Smith paid 3.50. \"Why?\" he asked. (No answer.) Well...\nEnd": "Mr. Smith paid 3.50. |\"Why?\" |he asked. |(No answer.) |Well...|\n|End",
	} {
		if got := strings.Join(sentences(text), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	insert := Generator{Vocabulary: []string{"extra"}}
	if after, _ := insert.Make("I saw a ship.", 0, Edit{InsertWords, 1}); after != "I extra saw extra a extra ship extra." {
		t.Errorf("%q", after)
	}
	text := "Alice met Bob in Rome, and Bob left; Alice stayed. Bob wrote to Mr. Jones."
	after, places := g.Make(text, 0, Edit{ChangeNames, 1})
	got, of := strings.FieldsFunc(after, notLetter), strings.FieldsFunc(text, notLetter)
	by := map[string]string{}
	for i, w := range of {
		if old, ok := by[w]; ok && old != got[i] {
			t.Errorf("%s is %s and %s: %s", w, old, got[i], after)
		}
		by[w] = got[i]
	}
	different := map[string]bool{}
	for w, other := range by {
		if name := strings.Contains("Alice Bob Rome Jones", w); name == (w == other) {
			t.Errorf("%s is %s: %s", w, other, after)
		}
		different[other] = true
	}
	if len(different) != len(by) || places != 4 {
		t.Errorf("%d places: %s", places, after)
	}
	for _, date := range []string{"2014年5月6日", "2014年05月06日", "5月6日", "2014-05-06", "2014/05/06", "31/12/2014", "12/31/2014", "May 6, 2014", "May 05, 2014", "5 September 1843", "May 6"} {
		after, places := g.Make("("+date+")", 0, Edit{ChangeDates, 1})
		form := regexp.MustCompile(`[0-9]+|[A-Z][a-z]+`)
		if places != 1 || form.ReplaceAllString(after, "x") != form.ReplaceAllString("("+date+")", "x") {
			t.Errorf("%s becomes %s", date, after)
		}
		if strings.HasPrefix(date, "31/") && after[4:6] > "12" || strings.HasPrefix(date, "12/31") && after[1:3] > "12" {
			t.Errorf("%s becomes %s: day and month have changed places", date, after)
		}
	}
}

func notLetter(c rune) bool { return !unicode.IsLetter(c) }

// TestGolden checks that variants are the same on all machines and in all releases.
func TestGolden(t *testing.T) {
	g := Generator{Seed: 3} // without a segmenter, whose dictionary may change
	var got []string
	for k := range Kinds {
		h := uint64(0)
		for _, text := range []string{english, chinese} {
			after, _ := g.Make(text, 5, Edit{k, 0.5})
			h = h*31 + xxh3.HashString(after)
		}
		got = append(got, fmt.Sprintf("%016x", h))
	}
	if s := strings.Join(got, " "); s != golden {
		t.Errorf("%s", s)
	}
}

const golden = "ee3f2579ee6fa507 7d29c8ed1f0853fb 345ad4b54bb91c88 23721d1f9e42d354 d4d0862fb0b60eb7 2e1647438ceb53a3 1e25e68f70200b00 9bada5ad91b0bed7 6888aff4c8ba4699 4d4e0c7574ec8365 ce6619769e8c985c c319d29bf59ef739 331b3e907f5c1ea4 45bf758e27b67ebb fe022dd014a5cb92 823c6b547968cf5c 0210906400f3047d"

func TestCollection(t *testing.T) {
	g := Generator{Words: segmenter(t)}
	texts := func(yield func(string, string) bool) {
		_ = yield("a", english) && yield("b", chinese) && yield("c", "没有") && yield("d", "。")
	}
	edits := []Edit{{DeleteWords, 0.1}, {ChangeNumbers, 1}, {FullWidth, 1}}
	of := map[string]string{"a": english, "b": chinese, "c": "没有", "d": "。"}
	for per, want := range []string{
		"a:0 b:1 c:2 d:3",
		"a:0 a~1:0:a:delete-words:0.1 b:1 b~1:1:b:change-numbers:1 c:2 c~1:2:c:delete-words:0.1 d:3", // c has nothing in full width
		"a:0 a~1:0:a:delete-words:0.1 a~2:0:a:change-numbers:1 b:1 b~1:1:b:full-width:1 b~2:1:b:delete-words:0.1 c:2 c~1:2:c:delete-words:0.1 d:3",
	} {
		var got []string
		for _, d := range g.Collection(texts, edits, per) {
			s := fmt.Sprint(d.ID, ":", d.Cluster)
			if d.Of != "" {
				s += fmt.Sprint(":", d.Of, ":", d.By)
			}
			got = append(got, s)
			if original := of[d.ID[:1]]; (d.Of == "") != (d.Text == original) {
				t.Errorf("%s: %s", s, d.Text)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d each: %s", per, s)
		}
	}
}

func TestParseEdit(t *testing.T) {
	for _, s := range []string{"", "delete-words", "delete-words:x", "delete:0.1", "delete-words:-1", "delete-words:1.01", "delete-words:NaN", "add-boilerplate:101"} {
		if e, err := ParseEdit(s); err == nil {
			t.Errorf("%q is %s", s, e)
		}
	}
}

// FuzzMake checks that any bytes can be edited in any way.
func FuzzMake(f *testing.F) {
	f.Add(english, uint8(SwapWords), 0.5)
	f.Add(chinese, uint8(ChangeNames), 1.)
	f.Add("a\xffb. \xe4\xbd", uint8(ReorderSentences), 0.3)
	f.Add("0 2014年1月1日 01/02/2006", uint8(ChangeDates), 1.)
	f.Fuzz(func(t *testing.T, text string, kind uint8, rate float64) {
		e := Edit{Kind(kind) % Kinds, rate}
		if e.check() != nil || len(text) > 10_000 || rate > 2 {
			t.Skip()
		}
		g := Generator{Vocabulary: []string{"word", "词"}}
		if rate > 0.5 {
			g.Vocabulary = nil
		}
		after, places := g.Make(text, 1, e, Edit{SwapWords, rate / 2})
		if (places == 0) != (after == text) {
			t.Errorf("%d places, and %q became %q", places, text, after)
		}
		if again, n := g.Make(text, 1, e, Edit{SwapWords, rate / 2}); again != after || n != places {
			t.Errorf("%q and %q", after, again)
		}
	})
}
