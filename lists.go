package neardup

import (
	_ "embed"
	"strings"
)

// Each list is in a program only if its function is called. Where it is from and under
// which licence, its head says.
var (
	//go:embed lists/stopwords-zh.txt
	stopWordsZh string
	//go:embed lists/stopwords-en.txt
	stopWordsEn string
	//go:embed lists/markers-zh.txt
	markersZh string
	//go:embed lists/markers-en.txt
	markersEn string
)

// ChineseStopWords returns a list of Chinese stop words (stopwords-iso, MIT licence) for
// a [Lexicon], to be extended as needed:
//
//	stop := neardup.NewLexicon(append(neardup.ChineseStopWords(), "本报讯")...)
//
// It has the marker words of S004 too; see [Lexicon.Without].
func ChineseStopWords() []string { return wordsOf(stopWordsZh) }

// EnglishStopWords returns a list of English stop words (Snowball, BSD licence).
func EnglishStopWords() []string { return wordsOf(stopWordsEn) }

// ChineseMarkers returns Chinese words that announce a conclusion or a contrast, for
// [Markers]: those that S004 names and others like them.
func ChineseMarkers() []string { return wordsOf(markersZh) }

// EnglishMarkers is [ChineseMarkers] for English.
func EnglishMarkers() []string { return wordsOf(markersEn) }

// wordsOf returns the lines of a list but for its comments.
func wordsOf(list string) (words []string) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return words
}
