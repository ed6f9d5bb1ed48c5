package leaks_test

import (
	"fmt"

	"github.com/neardup/neardup/passages"
	"github.com/neardup/neardup/passages/leaks"
)

func ExampleBenchmark() {
	tests, err := leaks.New[string](passages.Length{})
	if err != nil {
		panic(err)
	}
	err = tests.Add("question 1", "Which bridge is closed again, so that the children have to walk along the main road to get to school?", "the one at the mill")
	if err != nil {
		panic(err)
	}
	for leak := range tests.Search("They say that the children have to walk along the main road to get to school, too.") {
		fmt.Println(leak.ID, "part", leak.Part, leak.Shared, "of", leak.Tokens, "words")
	}
	// Output: question 1 part 0 14 of 20 words
}
