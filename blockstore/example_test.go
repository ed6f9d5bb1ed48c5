package blockstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// The rows of the example of Li 2015 (§2.3) come one after the other. In place of the index there may be a store that
// programs share: pebblestore.Open, redisstore.New, sqlstore.New or mongostore.New.
func ExampleSearchAndPut() {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		log.Fatal(err)
	}
	store := blockstore.FromIndex(ix)
	defer store.Close()
	for _, row := range []blockstore.Entry[neardup.Fingerprint64]{
		{ID: "A", Value: 0x800d8e90e45cc488}, {ID: "B", Value: 0x800d8e90e4dcc488}, {ID: "C", Value: 0x800dae90e55ce488},
	} {
		found, err := blockstore.SearchAndPut(context.Background(), store, []blockstore.Entry[neardup.Fingerprint64]{row}, 10)
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range found[0] {
			fmt.Println(row.ID, "is like", m.ID, "at distance", m.Distance)
		}
	}
	// Output:
	// B is like A at distance 1
	// C is like A at distance 3
}
