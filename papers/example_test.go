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
