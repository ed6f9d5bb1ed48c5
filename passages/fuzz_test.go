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
			checkRuns(t, a, b, lengthOf(words, characters))
			checkRuns(t, a, a, lengthOf(words, characters))
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
		read.Read(text, true)
		if read.Len() == 0 {
			return
		}
		first := int(from) % read.Len()
		last := first + int(to)%(read.Len()-first)
		span := stretch[int]{from: int(read.From[first]), to: int(read.To[last])}
		for _, x := range wholes(text, &read, []stretch[int]{span}, sentences) {
			for i := range read.Len() {
				isIn := i >= first && i <= last
				if at := int(read.From[i]); at >= x.from && at < x.to && !isIn || int(read.To[i]) > x.to && at < x.to {
					t.Fatalf("%q: %v is cut, which has more than %v", text, x, span)
				}
			}
			if cutsCharacter(text, x.from) || cutsCharacter(text, x.to) {
				t.Fatalf("%q: %v cuts a character", text, x)
			}
		}
	})
}
