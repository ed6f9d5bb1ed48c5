package variant

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup"
)

const english = "A page about Ada Lovelace.\nIn 1843 she wrote notes, on 12 pages, for the engine of Charles Babbage. " +
	"They appeared on September 5, 1843 in London. Nobody in London read them! Was it too early?"

const chinese = "住房公积金调整\n2014年5月6日，张三在广州市天河区递交了关于住房公积金的意见。他说，调整之后每月要多交300元；综上所述，希望有关部门尽快答复。北京的朋友也有3个同样的问题！"

func segmenter(t testing.TB) *neardup.Segmenter {
	t.Helper()
	s, err := neardup.NewSegmenter(neardup.SegmenterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What each edit makes of a text; the edits are as strong as they get, so that each is seen.
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
		{"reorder-sentences:1", func(before, after string, _, _ []string) bool { return sameLetters(before, after) }},
		{"add-boilerplate:0.5", func(before, after string, _, _ []string) bool { return strings.Contains(after, before) }},
		{"add-advertisements:0.5", func(before, after string, words, of []string) bool { return len(words) > len(of) }},
		{"change-title:1", func(before, after string, _, _ []string) bool {
			title, rest, _ := strings.Cut(before, "\n")
			edited, same, _ := strings.Cut(after, "\n")
			return rest == same && title != edited
		}},
		{"change-names:1", func(_, after string, _, _ []string) bool {
			return !strings.Contains(after, "read in London") && !strings.Contains(after, "张三在广州")
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
			// What is above the ends of the scale has one outcome only.
			if other, _ := (&Generator{Words: s, Seed: 1}).Make(text, 0, e); other == after && e.Rate < 1 {
				t.Errorf("%s: another seed makes the same text", test.edit)
			}
			if same, n := g.Make(text, 0, Edit{e.Kind, 0}); same != text || n != 0 {
				t.Errorf("%s: with the rate 0 %d places", test.edit, n)
			}
		}
		if got, n := new(Generator).Make("", 0, e); n != 0 && e.Kind != AddBoilerplate || n > 1 {
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

// common is how many words stand at the same place.
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

// The rate is that of the words that are edited.
func TestRate(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("one two three four five six seven eight nine ten ", 40))
	for _, test := range []struct {
		edit   Edit
		places int
	}{
		{Edit{DeleteWords, 0.05}, 20}, {Edit{InsertWords, 0.1}, 40}, {Edit{SubstituteWords, 0.01}, 4}, {Edit{SubstituteWords, 1e-9}, 1},
		{Edit{DeleteCharacters, 0.01}, 16}, {Edit{ChangeNumbers, 1}, 0}, {Edit{ReorderSentences, 1}, 0},
	} {
		after, places := new(Generator).Make(text, 0, test.edit)
		if places != test.places {
			t.Errorf("%s: %d places, want %d", test.edit, places, test.places)
		}
		want := map[Kind]int{DeleteWords: 400 - places, InsertWords: 400 + places}[test.edit.Kind]
		if n := len(strings.Fields(after)); want > 0 && n != want {
			t.Errorf("%s: %d words, want %d", test.edit, n, want)
		}
	}
}

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
		g := new(Generator)
		after, places := g.Make(text, 1, e)
		if places == 0 && after != text {
			t.Errorf("no place, but %q became %q", text, after)
		}
		if again, n := g.Make(text, 1, e); again != after || n != places {
			t.Errorf("%q and %q", after, again)
		}
	})
}
