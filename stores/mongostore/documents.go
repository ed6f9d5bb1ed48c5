package mongostore

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// documents is the layout Documents.
type documents struct{ *Store }

// A document is what a search reads of a document in the collection.
type document struct {
	ID string `bson:"_id"`
	FP int64  `bson:"fp"`
}

// keyField returns the field with the keys of a table.
func keyField(table int) string { return fmt.Sprintf("t%d", table+1) }

func (s documents) create(ctx context.Context) error {
	var fields []string
	for t := range s.blocks.Tables() {
		fields = append(fields, keyField(t))
	}
	return createIndexes(ctx, s.collection, fields...)
}

func (s documents) put(ctx context.Context, entries []blockstore.Entry) error {
	writes := make([]mongo.WriteModel, len(entries))
	for i, e := range entries {
		doc := bson.D{{Key: "_id", Value: e.ID}, {Key: "fp", Value: int64(e.Fingerprint)}}
		for t := range s.blocks.Tables() {
			doc = append(doc, bson.E{Key: keyField(t), Value: int64(s.blocks.Key(t, e.Fingerprint))})
		}
		writes[i] = mongo.NewReplaceOneModel().SetFilter(byID(e.ID)).SetReplacement(doc).SetUpsert(true)
	}
	return write(ctx, s.collection, writes)
}

func (s documents) delete(ctx context.Context, ids []string) error {
	_, err := s.collection.DeleteMany(ctx, byIDs(ids))
	return err
}

// search reads all documents that share a key with any of the fingerprints. MongoDB cannot count
// bits, so search compares the fingerprints itself.
func (s documents) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	var any bson.A
	for t := range s.blocks.Tables() {
		var keys []int64
		for _, fp := range fps {
			keys = append(keys, int64(s.blocks.Key(t, fp)))
		}
		any = append(any, bson.D{{Key: keyField(t), Value: bson.D{{Key: "$in", Value: keys}}}})
	}
	return each(ctx, s.collection, bson.D{{Key: "$or", Value: any}}, "fp", func(doc document) bool {
		for query, fp := range fps {
			if d := fp.Distance(neardup.Fingerprint64(doc.FP)); d <= s.blocks.Distance() {
				yield(query, doc.ID, d)
			}
		}
		return true
	})
}

func (s documents) get(ctx context.Context, ids []string, yield func(e blockstore.Entry)) error {
	return each(ctx, s.collection, byIDs(ids), "fp", func(doc document) bool {
		yield(blockstore.Entry{ID: doc.ID, Fingerprint: neardup.Fingerprint64(doc.FP)})
		return true
	})
}

func (s documents) page(ctx context.Context, behind string, n int) (entries []blockstore.Entry, last string, err error) {
	docs, err := page[document](ctx, s.collection, behind, n, "fp")
	for _, doc := range docs {
		entries = append(entries, blockstore.Entry{ID: doc.ID, Fingerprint: neardup.Fingerprint64(doc.FP)})
		last = doc.ID
	}
	return entries, last, err
}
