package variant_test

import (
	"context"
	"fmt"
	"github.com/neardup/neardup"

	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/variant"
)

// Make a collection with near-duplicates from your own texts, see how many of them are found, and
// choose the decision.
func Example() {
	texts := func(yield func(id, text string) bool) {
		_ = yield("ships", "Ships sail on the sea. They carry goods from one port to another, and people too, who look at the waves.") &&
			yield("trains", "Trains run on rails. In the morning they bring people to work, and in the night they carry coal and steel.")
	}
	g := variant.Generator{Seed: 1}
	docs := g.Collection(texts, []variant.Edit{{Kind: variant.DeleteWords, Rate: 0.1}, {Kind: variant.FullWidth, Rate: 1}}, 2)

	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		panic(err)
	}
	var labels []dedup.Label[string]
	for i, doc := range docs {
		d.Add(doc.ID, neardup.Text(doc.Text))
		for _, other := range docs[:i] {
			if other.Cluster == doc.Cluster {
				labels = append(labels, dedup.Label[string]{A: other.ID, B: doc.ID, Duplicate: true})
			}
		}
	}
	best, err := d.Calibrate(context.Background(), labels, dedup.Target{Complete: true}) // Complete: all other pairs are no duplicates
	if err != nil {
		panic(err)
	}
	fmt.Println("precision and recall above 0.9:", best.Point.Precision > 0.9 && best.Point.Recall > 0.9)
	groups, err := d.Groups(context.Background(), dedup.GroupOptions[string]{Prefer: func(a, b dedup.Entry[string]) bool { return a.Sequence < b.Sequence }})
	if err != nil {
		panic(err)
	}
	for _, group := range groups {
		fmt.Println(group.Keep, group.Members)
	}
	// Output:
	// precision and recall above 0.9: true
	// ships [ships ships~1 ships~2]
	// trains [trains trains~1 trains~2]
}
