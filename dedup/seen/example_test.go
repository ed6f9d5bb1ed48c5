package seen_test

import (
	"fmt"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/seen"
)

func ExampleFilter_Seen() {
	f, err := seen.New(seen.Options{Bytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{
		"The harbour office answers within five working days, whoever asks, and in the language of the letter.",
		"Three keepers look after the northern lighthouse, and none of them has ever seen it from the sea.",
		"the harbour office answers within five working days, whoever asks - and in the language of the letter",
	} {
		fmt.Println(f.Seen(neardup.Text(text)))
	}
	fmt.Printf("misses %.0f %% at a similarity of 0.8, and %.1f %% at 0.9\n", 100*f.Misses(0.8), 100*f.Misses(0.9))
	// Output:
	// false
	// false
	// true
	// misses 4 % at a similarity of 0.8, and 0.2 % at 0.9
}
