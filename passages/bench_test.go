package passages

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// benchTexts returns texts of 200 words, of which each tenth has a passage of another one.
func benchTexts(n int) (texts []string) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var b strings.Builder
		for range 200 {
			fmt.Fprintf(&b, "word%d ", rng.IntN(5000))
		}
		text := b.String()
		if i%10 == 9 {
			text += texts[rng.IntN(i)]
		}
		texts = append(texts, text)
	}
	return texts
}

// BenchmarkAdd adds texts; the size is that of a text.
func BenchmarkAdd(b *testing.B) {
	texts := benchTexts(1000)
	f, err := New[int](Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(texts[0])))
	for i := 0; b.Loop(); i++ {
		if err := f.Add(i, texts[i%len(texts)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPassages finds the passages of 10,000 texts, which are added before.
func BenchmarkPassages(b *testing.B) {
	f, err := New[int](Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i, text := range benchTexts(10_000) {
		if err := f.Add(i, text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for _, err := range f.Passages(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkBetween compares two texts of 400 words that share 200.
func BenchmarkBetween(b *testing.B) {
	texts := benchTexts(20)
	x, y := texts[0]+texts[1], texts[2]+texts[1]
	b.SetBytes(int64(len(x) + len(y)))
	for b.Loop() {
		runs, err := Between(x, y, Length{})
		if err != nil {
			b.Fatal(err)
		}
		for range runs {
		}
	}
}
