package papers_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/papers"
)

func ExampleBlend() {
	docs := []struct{ text, keywords string }{
		{"all about fish and chips and where to eat them", "food travel"},
		{"all about fish and chips, and where to eat them", "travel food"},
		{"all about bees and ants and where to see them", "nature"},
	}
	var b papers.Blend
	var fps []neardup.Fingerprint64
	var metadata []neardup.Set
	for _, d := range docs {
		fps = append(fps, neardup.Sum64(d.text))
		metadata = append(metadata, neardup.SetOf(strings.Fields(d.keywords)...))
	}
	fmt.Println(b)
	for p, err := range neardup.Pairs(context.Background(), fps, b.MaxDistance(64)) {
		if err != nil {
			panic(err)
		}
		if score := b.Score(p.Distance, metadata[p.A].Jaccard(metadata[p.B])); b.Similar(score) {
			fmt.Println(p.A, p.B, score)
		}
	}
	// Output:
	// content 0.9, score ≥ 0.25: up to distance 2 any metadata, 3 0.250, 4 0.700, 5 1.000
	// 0 1 1
}

// The method of Zhang 2020 (S004), from texts to fingerprints: terms weigh by their frequencies, their parts of speech, their lengths,
// words that mark a conclusion, and the title. A dictionary would cut Chinese ([neardup.NewSegmenter], two seconds); here the terms are
// words.
func Example_zhang2020() {
	texts := []string{
		"Housing funds\nThe city pays housing funds to all who rent. In conclusion, tenants pay less.",
		"Housing funds\nThe city pays housing funds to everybody who rents. In conclusion, tenants pay less.",
		"Parks\nThe city opens three parks. In conclusion, children have more room.",
	}
	terms := neardup.Words{StopWords: neardup.NewLexicon("the", "to", "who", "all")}
	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: neardup.Fingerprinter{Tokenizer: terms}}
	for _, text := range texts {
		b.Add(neardup.Text(text))
	}
	f := neardup.Fingerprinter{Tokenizer: terms, Weight: neardup.Product{
		neardup.Count, neardup.IDF{Frequencies: b.Build(), Smooth: true},
		papers.PartOfSpeech(nil), // 1 without a dictionary
		papers.Sum{neardup.Constant(1), papers.RelativeLength{}},
		neardup.Markers{Lexicon: neardup.NewLexicon("in conclusion"), Sentence: true},
		papers.TitleWords{},
	}}
	if err := f.Check(); err != nil {
		panic(err)
	}
	first := f.Sum64(neardup.Text(texts[0]))
	for _, text := range texts[1:] {
		fmt.Println(first.Distance(f.Sum64(neardup.Text(text))) < 16)
	}
	// Output:
	// true
	// false
}
