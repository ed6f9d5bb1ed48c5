// Package wordlist has stop words and marker words in Chinese and English, for neardup.NewLexicon:
//
//	stop := neardup.NewLexicon(append(wordlist.ChineseStopWords(), "本报讯")...)
//
// Each list is linked only into programs that call its function. Each call returns a new slice,
// which the caller may change.
package wordlist

import (
	_ "embed"
	"strings"
)

// The head of each list says where it comes from and under which licence.
var (
	//go:embed stopwords-zh.txt
	stopWordsZh string
	//go:embed stopwords-en.txt
	stopWordsEn string
	//go:embed markers-zh.txt
	markersZh string
	//go:embed markers-en.txt
	markersEn string
)

// ChineseStopWords returns Chinese stop words (stopwords-iso, MIT licence).
//
// Some of them are markers too, such as 总之. If the weights of a Fingerprinter use markers, take
// these out of the stop words with neardup.Lexicon.Without.
func ChineseStopWords() []string { return wordsOf(stopWordsZh) }

// EnglishStopWords returns English stop words (Snowball, BSD licence).
func EnglishStopWords() []string { return wordsOf(stopWordsEn) }

// ChineseMarkers returns Chinese words that announce a conclusion or a contrast, for
// neardup.Markers: those that Zhang 2020 lists, and others like them.
func ChineseMarkers() []string { return wordsOf(markersZh) }

// EnglishMarkers returns English words and phrases that announce a conclusion or a contrast.
func EnglishMarkers() []string { return wordsOf(markersEn) }

// wordsOf returns the lines of a list, trimmed, without empty lines and comments (#).
func wordsOf(list string) (words []string) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return words
}
