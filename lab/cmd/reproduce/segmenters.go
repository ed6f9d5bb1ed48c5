package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/go-ego/gse"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/wordlist"
)

// This file measures how much the segmenter matters. The papers use NLPIR, IK Analyzer with a lexicon
// of Sogou, and ICTCLAS, which are not to be had as Go modules.

// cutter is a tokenizer that takes the words that a function cuts. It folds case, and leaves out stop
// words and what has neither letters nor digits.
type cutter struct {
	cut  func(string) []string
	stop map[string]bool
}

// Tokens implements [neardup.Tokenizer].
func (c cutter) Tokens(text string) iter.Seq[neardup.Token] {
	return func(yield func(neardup.Token) bool) {
		from := 0
		for _, word := range c.cut(text) {
			i := strings.Index(text[from:], word)
			if i < 0 { // the words overlap, and this one begins before the last one
				from = 0
				if i = strings.Index(text, word); i < 0 {
					continue
				}
			}
			from += i
			folded := strings.ToLower(word)
			if c.stop[folded] || !strings.ContainsFunc(folded, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				continue
			}
			if !yield(neardup.Token{Text: folded, Start: from, End: from + len(word)}) {
				return
			}
		}
	}
}

// segmenters measures the weights of june 2013 and of Wang 2019 with words of several segmenters.
func (l *lab) segmenters() error {
	l.section(3, "How much the segmenter matters")
	l.step("segmenters: the dictionary of gse")
	var seg gse.Segmenter
	if err := seg.LoadDictEmbed("zh"); err != nil {
		return err
	}
	stop := map[string]bool{}
	for _, w := range slices.Concat(wordlist.ChineseStopWords(), wordlist.EnglishStopWords()) {
		stop[strings.ToLower(w)] = true
	}
	by := func(cut func(string) []string) neardup.Tokenizer { return cutter{cut, stop} }
	ways := []struct {
		name string
		neardup.Tokenizer
	}{
		{"`neardup.Segmenter`: the most probable words of gse's dictionary", l.data.terms},
		{"gse, words, and unknown ones by HMM", by(func(s string) []string { return seg.Cut(s, true) })},
		{"gse, for search: long words and the words in them", by(func(s string) []string { return seg.CutSearch(s, true) })},
		{"gse, all words of the dictionary, as IK Analyzer by default", by(seg.CutAll)},
		{"gse, by HMM alone, without a dictionary", by(func(s string) []string { return seg.HMMCut(s) })},
		{"pairs of characters", neardup.NGrams{N: 2}},
		{"single characters", neardup.NGrams{N: 1}},
	}
	pools := [2][]*document{l.data.pool(l.size(30), fourWays(0.05), l.data.topics...), l.data.revised}
	var rows [][]string
	for _, way := range ways {
		f := neardup.Fingerprinter{Tokenizer: &remembering{of: way.Tokenizer}} // gse's HMM takes long
		row, byPairs := []string{way.name}, ""
		for n, pool := range pools {
			l.step("segmenters: %s", way.name)
			base := l.data.articles
			if n == 1 {
				base = l.data.revised
			}
			weighed := f
			weighed.Weight = neardup.Product{tf, neardup.IDF{Frequencies: statistics(f, base)}, byLength}
			for _, s := range []system{simHash("TF", f), simHash("", weighed)} {
				v := judge(pool, s.find(pool, s.loose))
				_, best := v.best()
				row = append(row, fmt.Sprintf("%.1f, at best %.1f", 100*v.at(s.least).f1(), 100*best.f1()))
				if n == 1 && s.name == "TF" {
					byPairs = pairScore(pool, s.find(pool, s.least))
				}
			}
		}
		rows = append(rows, append(row, byPairs))
	}
	l.table([]string{"words of ", "edited: TF", "TF-IDF × (1 + length)", "revised: TF", "TF-IDF × (1 + length)", "revised: TF, P / R / F1 by pairs"}, rows)
	l.text("F1 in percent at the papers' radius of 3 and at the best radius, on the pools of the table before. Wang 2019 uses NLPIR, Li 2015 IK Analyzer with a lexicon of Sogou, and Zhang 2020 ICTCLAS; none of them is to be had as a Go module. Other segmenters are, such as gojieba, which is C++, but were not measured; so these are gse's own modes, of which one takes no dictionary, and no segmenter at all.")
	l.text("The last column counts pairs instead of documents, at the radius of 3. By documents a flood of wrong pairs costs nothing as long as each document is in a right pair too, and so the words that find most look best. By pairs all words of the dictionary are useless on revised articles: they are many, common and alike in any text.")
	return nil
}
