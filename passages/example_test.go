package passages_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/passages"
)

const letter = "the bridge at the mill is closed again, and the children have to walk along the main road to get to school every morning"

func ExampleBetween() {
	a, b := "Dear council: "+letter+".", "They wrote that "+letter+". We answered."
	runs, err := passages.Between(a, b, passages.Length{Words: 10})
	if err != nil {
		panic(err)
	}
	for r := range runs {
		fmt.Println(r.Tokens, "words:", a[r.FromA:r.ToA])
	}
	// Output: 24 words: the bridge at the mill is closed again, and the children have to walk along the main road to get to school every morning
}

func ExampleFinder() {
	f, err := passages.New[string](passages.Options{Length: passages.Length{Words: 10}})
	if err != nil {
		panic(err)
	}
	for id, text := range map[string]string{"letter": "Dear council: " + letter + ".", "article": "A reader says that " + letter + ".", "other": "Nothing of that."} {
		if err := f.Add(id, text); err != nil {
			panic(err)
		}
	}
	for p, err := range f.Passages(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Tokens, "words in", p.Documents, "documents")
	}
	for c, err := range f.Contained(context.Background(), 0.8) {
		if err != nil {
			panic(err)
		}
		fmt.Println("of", c.ID, c.Shared, "of", c.Tokens, "words stand in", c.Sources[0].ID)
	}
	// Unordered output:
	// 24 words in 2 documents
	// of letter 24 of 26 words stand in article
	// of article 24 of 28 words stand in letter
}
