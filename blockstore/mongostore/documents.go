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
type documents struct{ *backend }

// A document is what is read of a document in the collection.
type document struct {
	ID    string `bson:"_id"`
	Added int64  `bson:"added"`
	Value []byte `bson:"value"`
}

// record returns the record of a document.
func (s documents) record(doc document) (blockstore.Row, error) {
	if len(doc.Value) != s.keys.Size() {
		return blockstore.Row{}, fmt.Errorf("%w: id %q has a value of %d bytes", neardup.ErrDamaged, doc.ID, len(doc.Value))
	}
	return blockstore.Row{ID: doc.ID, Value: string(doc.Value), Added: uint32(doc.Added)}, nil
}

// keyField returns the field with the keys of a table.
func keyField(table int) string { return fmt.Sprintf("t%d", table+1) }

func (s documents) create(ctx context.Context) error {
	var fields []string
	for t := range s.keys.Tables() {
		fields = append(fields, keyField(t))
	}
	return createIndexes(ctx, s.collection, fields...)
}

func (s documents) put(ctx context.Context, records []blockstore.Row) error {
	writes := make([]mongo.WriteModel, len(records))
	for i, r := range records {
		doc := bson.D{{Key: "_id", Value: r.ID}, {Key: "added", Value: int64(r.Added)}, {Key: "value", Value: []byte(r.Value)}}
		for t, key := range s.keys.AppendKeys(nil, r.Value) {
			doc = append(doc, bson.E{Key: keyField(t), Value: int64(key)})
		}
		writes[i] = mongo.NewReplaceOneModel().SetFilter(byID(r.ID)).SetReplacement(doc).SetUpsert(true)
	}
	return write(ctx, s.collection, writes)
}

func (s documents) delete(ctx context.Context, ids []string) error {
	_, err := s.collection.DeleteMany(ctx, byIDs(ids))
	return err
}

func (s documents) deleteBefore(ctx context.Context, added uint32) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	done, err := s.collection.DeleteMany(ctx, bson.D{{Key: "added", Value: bson.D{{Key: "$lt", Value: int64(added)}}}})
	if err != nil {
		return 0, err
	}
	return int(done.DeletedCount), nil
}

// search reads all documents that share a key with any of the values. It yields each for those of the
// values that have a key in common with it.
func (s documents) search(ctx context.Context, values []string, yield func(query int, id, value string)) error {
	tables := s.keys.Tables()
	var all []uint64
	for _, value := range values {
		all = s.keys.AppendKeys(all, value)
	}
	var any bson.A
	for t := range tables {
		var keys []int64
		for i := range values {
			keys = append(keys, int64(all[i*tables+t]))
		}
		any = append(any, bson.D{{Key: keyField(t), Value: bson.D{{Key: "$in", Value: keys}}}})
	}
	return each(ctx, s.collection, bson.D{{Key: "$or", Value: any}}, func(doc document) error {
		r, err := s.record(doc)
		if err != nil {
			return err
		}
		keys := s.keys.AppendKeys(nil, r.Value)
		for i := range values {
			for t, key := range keys {
				if key == all[i*tables+t] {
					yield(i, r.ID, r.Value)
					break
				}
			}
		}
		return nil
	}, "value")
}

func (s documents) get(ctx context.Context, ids []string, yield func(r blockstore.Row)) error {
	return each(ctx, s.collection, byIDs(ids), func(doc document) error {
		r, err := s.record(doc)
		if err == nil {
			yield(r)
		}
		return err
	}, "added", "value")
}

func (s documents) page(ctx context.Context, behind string, n int) (records []blockstore.Row, last string, err error) {
	docs, err := page[document](ctx, s.collection, behind, n, "added", "value")
	for _, doc := range docs {
		r, err := s.record(doc)
		if err != nil {
			return nil, "", err
		}
		records, last = append(records, r), doc.ID
	}
	return records, last, err
}
