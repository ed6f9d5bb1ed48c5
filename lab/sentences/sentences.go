// Package sentences makes documents of sentences that are drawn from a text.
package sentences

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"unicode/utf8"
)

const documentSize = 1000 // bytes, on average

// Sentences of so many words are used. Longer ones would make documents near-duplicates that have one in
// common, which is no planted pair. Of Chinese, words are characters.
const shortSentence, longSentence = 4, 40

// Document returns the words of a document of 500 to 1,500 bytes.
func Document(random *rand.Rand, sentences [][]string) (words []string) {
	for left := documentSize/2 + random.IntN(documentSize); left > 0; {
		for _, w := range sentences[random.IntN(len(sentences))] {
			words = append(words, w)
			left -= len(w) + 1
		}
	}
	return words
}

// Read reads a text file compressed by gzip, and returns its sentences as words.
func Read(path string, chinese bool) (sentences [][]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(string(text), ". ", ".\n"), func(r rune) bool { return r == '\n' || r == '。' }) {
		words := strings.Fields(part)
		if chinese {
			words = nil
			for part = strings.Join(strings.Fields(part), ""); part != ""; {
				_, size := utf8.DecodeRuneInString(part)
				words = append(words, part[:size])
				part = part[size:]
			}
			words = append(words, "。")
		}
		if len(words) >= shortSentence && len(words) <= longSentence {
			sentences = append(sentences, words)
		}
	}
	if len(sentences) < 1000 {
		return nil, fmt.Errorf("%s has only %d sentences", path, len(sentences))
	}
	return sentences, nil
}
