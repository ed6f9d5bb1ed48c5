package passages

import (
	"strings"
	"testing"
)

// short reports whether a text is short enough for a comparison of all tokens.
func short(texts ...string) bool {
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	return n < 400
}

// lengthOf makes a length of two bytes.
func lengthOf(words, characters byte) Length {
	return Length{Words: 1 + int(words%12), Characters: 1 + int(characters%12)}
}

func FuzzBetween(f *testing.F) {
	f.Add("a b c d e", "x b c d y", byte(2), byte(3))
	f.Add("我爱你 我爱你", "他说我爱你", byte(1), byte(2))
	f.Add("a a a a a a", "a a a a", byte(1), byte(1))
	f.Add("\xff a\u0301 b\xc3", "A\u0301 B \xe4\xb8", byte(0), byte(0))
	f.Add("ab\u00ADc d\u0301", "abc d", byte(1), byte(1))
	f.Fuzz(func(t *testing.T, a, b string, words, characters byte) {
		if short(a, b) {
			checkRuns(t, a, b, lengthOf(words, characters), false)
			checkRuns(t, a, a, lengthOf(words, characters), true)
		}
	})
}

func FuzzPassages(f *testing.F) {
	f.Add("a b c d e|x b c d y|b c d", byte(2), byte(3), byte(0))
	f.Add("a a a a a a|a a a|b a a b a a b", byte(1), byte(1), byte(1))
	f.Add("我爱你 我爱你|他说我爱你 word|word 你", byte(1), byte(2), byte(0))
	f.Add("||\xff a\u0301|\xff A\u0301 \xe4", byte(0), byte(0), byte(2))
	f.Fuzz(func(t *testing.T, texts string, words, characters, old byte) {
		if short(texts) {
			checkPassages(t, strings.Split(texts, "|"), lengthOf(words, characters), int(old%8))
		}
	})
}

// FuzzCut: what is left of a text, and what was cut, are the text; and whole sentences have no words outside of the spans.
func FuzzCut(f *testing.F) {
	f.Add("One two. Three four! “Five six.” 七八。九", uint8(4), uint8(20), true)
	f.Add("a.b c\n\nd … e?", uint8(0), uint8(9), false)
	f.Add("\xff.\xe4 。", uint8(1), uint8(3), true)
	f.Fuzz(func(t *testing.T, text string, from, to uint8, sentences bool) {
		var read tokenized
		read.read(text, true)
		if read.len() == 0 {
			return
		}
		first := int(from) % read.len()
		last := first + int(to)%(read.len()-first)
		span := Span[int]{From: int(read.from[first]), To: int(read.to[last])}
		for _, x := range wholes(text, &read, []Span[int]{span}, sentences) {
			for i := range read.len() {
				isIn := i >= first && i <= last
				if at := int(read.from[i]); at >= x.From && at < x.To && !isIn || int(read.to[i]) > x.To && at < x.To {
					t.Fatalf("%q: %v is cut, which has more than %v", text, x, span)
				}
			}
			if cutsCharacter(text, x.From) || cutsCharacter(text, x.To) {
				t.Fatalf("%q: %v cuts a character", text, x)
			}
		}
	})
}

// FuzzTests: a leak is equal in the item and the document, and a document that has all of an item has a leak.
func FuzzTests(f *testing.F) {
	f.Add("one two three four five six seven eight nine", "see one two three four five six seven eight nine ten")
	f.Add("a a a a a a a a a a a a a a a a a a", "a a a a a a a a a a a a a a a a a a a a a a a a a a")
	f.Add("关于太阳系行星的卫星数量以下哪一项的说法", "：关于太阳系行星的卫星数量，以下哪一项的说法是")
	f.Fuzz(func(t *testing.T, item, text string) {
		tests, err := NewTests[int](Length{})
		if err != nil {
			t.Fatal(err)
		}
		if err := tests.Add(7, item); err != nil {
			t.Fatal(err)
		}
		isLong := tests.LookedFor()[0]
		found := false
		for leak := range tests.Search(text) {
			found = true
			for _, r := range leak.Runs {
				if a, b := strings.Join(words(item[r.FromA:r.ToA]), " "), strings.Join(words(text[r.FromB:r.ToB]), " "); a != b || leak.ID != 7 {
					t.Fatalf("%q in %q: %v has %q and %q", item, text, r, a, b)
				}
			}
		}
		if has := strings.Contains(" "+strings.Join(words(text), " ")+" ", " "+strings.Join(words(item), " ")+" "); isLong && has && !found {
			t.Fatalf("%q in %q is not found", item, text)
		}
	})
}
