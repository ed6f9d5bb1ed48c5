// Package mongostore keeps fingerprints or signatures in MongoDB, as Li 2015 §2.3 does. It is the
// [blockstore.Store] for programs that have their documents there. Every write changes one
// document, so the store needs no transactions and no replica set.
package mongostore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Layout says how values are stored in the collections.
//
// Use the default. BlockDocuments is for programs that use the documents of the paper. It takes more
// steps for everything.
type Layout string

const (
	// Documents is the default. A value has one document: _id, added (seconds since 1970), value
	// (bytes, as in [blockstore.Record]), and its keys t1 to tN, where N is the number of tables of
	// the scheme. Each key is in an index of its own.
	Documents Layout = ""

	// BlockDocuments is the layout of Li 2015 §2.3: a document for each value of a block, with all
	// fingerprints that have it:
	//
	//	{blockName: "1:800d", info: [{hashcode: "800d8e90e45cc488", textname: "A"}, …]}
	//
	// A document of MongoDB has at most 16 MB. So a document with 4,096 fingerprints is full, and
	// the next fingerprint begins another document with the same blockName. A second collection,
	// NAME_ids, says which fingerprint of an id counts. A search that finds anything reads it, too.
	// It is for fingerprints of 64 bits only, and keeps no times: DeleteBefore is an
	// errors.ErrUnsupported.
	BlockDocuments Layout = "S003"
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Version says how the values are made ([neardup.Fingerprinter.Version], or that of
	// [neardup.MinHash]). A store with another version is not opened.
	Version string

	// Collection is the name of the collection. "" means "neardup". The store has other
	// collections, with _settings and _ids after this name.
	Collection string

	// Layout cannot be changed later.
	Layout Layout
}

// A Store is a [blockstore.Store] in MongoDB.
//
// The write concern of the database decides how safe the data is. With "majority", the default of
// replica sets, it survives the loss of a server. The store reads from the primary.
type Store[V any] struct{ blockstore.Store[V] }

// A backend is the [blockstore.Backend] of a store.
type backend struct {
	keys       blockstore.Keys
	collection *mongo.Collection
	layout     layout
}

// A layout writes and finds values. Everything that it writes is idempotent.
type layout interface {
	create(ctx context.Context) error
	put(ctx context.Context, records []blockstore.Row) error
	delete(ctx context.Context, ids []string) error
	deleteBefore(ctx context.Context, added uint32) (int, error)
	search(ctx context.Context, values []string, yield func(query int, id, value string)) error
	get(ctx context.Context, ids []string, yield func(r blockstore.Row)) error
	page(ctx context.Context, behind string, n int) (records []blockstore.Row, last string, err error) // last is "" at the end
}

// collectionName matches the names of collections that the store accepts.
var collectionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,99}$`)

// maxTables is how many tables a scheme may have, because MongoDB allows 64 indexes.
const maxTables = 60

// New opens the store in a database, or makes one. If the store has another scheme, another layout
// or another version, the error is a [neardup.ErrVersion]. The client stays with the caller, who must close it. A scheme
// may have up to 60 tables.
func New[V any](ctx context.Context, db *mongo.Database, scheme blockstore.Scheme[V], o Options) (*Store[V], error) {
	if o.Collection == "" {
		o.Collection = "neardup"
	}
	s := &backend{keys: scheme.Keys, collection: collection(db, o.Collection)}
	switch {
	case !collectionName.MatchString(o.Collection):
		return nil, fmt.Errorf("mongostore: %q is not a valid name for a collection", o.Collection)
	case s.keys.Tables() > maxTables:
		return nil, fmt.Errorf("mongostore: %v: %d indexes, more than %d", s.keys, s.keys.Tables(), maxTables)
	case o.Layout == Documents:
		s.layout = documents{s}
	case o.Layout == BlockDocuments && s.keys.Size() == 8 && s.keys.Distance() >= 0:
		s.layout = blockDocuments{s, collection(db, o.Collection+"_ids")}
	case o.Layout == BlockDocuments:
		return nil, fmt.Errorf("mongostore: the layout %q is for fingerprints of 64 bits, not for %v", o.Layout, s.keys)
	default:
		return nil, fmt.Errorf("mongostore: unknown layout %q", o.Layout)
	}
	settings := fmt.Sprintf("neardup store 2; %v; layout %q; version %q", s.keys, o.Layout, o.Version)
	err := checkSettings(ctx, collection(db, o.Collection+"_settings"), settings)
	if err == nil {
		err = s.layout.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("mongostore: %s: %w", o.Collection, err)
	}
	return &Store[V]{blockstore.New(scheme, s)}, nil
}

// collection returns a collection that is read from the primary, because a search must see what has
// been written.
func collection(db *mongo.Database, name string) *mongo.Collection {
	return db.Collection(name, options.Collection().SetReadPreference(readpref.Primary()))
}

// checkSettings compares the settings with those in the store, or stores them if the store is new.
func checkSettings(ctx context.Context, c *mongo.Collection, settings string) error {
	if _, err := c.InsertOne(ctx, bson.D{{Key: "_id", Value: "settings"}, {Key: "settings", Value: settings}}); err != nil && !mongo.IsDuplicateKeyError(err) {
		return err
	}
	var kept struct{ Settings string }
	if err := c.FindOne(ctx, byID("settings")).Decode(&kept); err != nil {
		return err
	}
	if kept.Settings != settings {
		return fmt.Errorf("%w: %s, not %s", neardup.ErrVersion, kept.Settings, settings)
	}
	return nil
}

// byID is the filter for the document with an _id.
func byID(id string) bson.D { return bson.D{{Key: "_id", Value: id}} }

// byIDs is the filter for the documents with some _ids.
func byIDs(ids []string) bson.D { return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}} }

// chunks calls do for up to size things at a time. It ends at the first error, or when the context
// ends.
func chunks[T any](ctx context.Context, all []T, size int, do func(some []T) error) error {
	for len(all) > 0 {
		if err := ctx.Err(); err != nil {
			return wrap(ctx, err)
		}
		n := min(size, len(all))
		if err := do(all[:n]); err != nil {
			return wrap(ctx, err)
		}
		all = all[n:]
	}
	return nil
}

// Put implements [blockstore.Backend].
func (s *backend) Put(ctx context.Context, records []blockstore.Row) error {
	return chunks(ctx, records, 1000, func(some []blockstore.Row) error { return s.layout.put(ctx, some) })
}

// Delete implements [blockstore.Backend].
func (s *backend) Delete(ctx context.Context, ids []string) error {
	return chunks(ctx, ids, 1000, func(some []string) error { return s.layout.delete(ctx, some) })
}

// DeleteBefore implements [blockstore.Backend].
func (s *backend) DeleteBefore(ctx context.Context, added uint32) (int, error) {
	n, err := s.layout.deleteBefore(ctx, added)
	if err != nil {
		return n, wrap(ctx, err)
	}
	return n, nil
}

// Find implements [blockstore.Backend]. It asks for 64 values at a time.
func (s *backend) Find(ctx context.Context, values []string, _ bool, found func(i int, id, value string) bool) error {
	done := 0
	return chunks(ctx, values, 64, func(some []string) error {
		err := s.layout.search(ctx, some, func(i int, id, value string) { found(done+i, id, value) })
		done += len(some)
		return err
	})
}

// Get implements [blockstore.Backend].
func (s *backend) Get(ctx context.Context, ids []string, yield func(blockstore.Row)) error {
	return chunks(ctx, ids, 1000, func(some []string) error { return s.layout.get(ctx, some, yield) })
}

// All implements [blockstore.Backend]. It yields the ids in ascending order of their bytes, and reads a
// few thousand at a time.
func (s *backend) All(ctx context.Context, yield func(blockstore.Row) bool) error {
	for last := ""; ; {
		records, next, err := s.layout.page(ctx, last, 5000)
		if err != nil {
			return wrap(ctx, err)
		}
		for _, r := range records {
			if !yield(r) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		last = next
	}
}

// page returns the first n documents whose _id comes after the given one, with their _id and some
// more fields.
func page[T any](ctx context.Context, c *mongo.Collection, behind string, n int, fields ...string) (docs []T, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cursor, err := c.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: behind}}}},
		options.Find().SetProjection(projection(fields)).SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(n)))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &docs)
	return docs, err
}

// projection selects some fields.
func projection(fields []string) (p bson.D) {
	for _, f := range fields {
		p = append(p, bson.E{Key: f, Value: 1})
	}
	return p
}

// wrap says that an error comes from this package. If the context has ended, the error is also the
// error of the context.
func wrap(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("mongostore: %w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("mongostore: %w", err)
}

// Close implements [blockstore.Backend]. It leaves the client open.
func (s *backend) Close() error { return nil }

// bulk is how many writes go to the server at once. FerretDB keeps a connection of its own open for
// each of them until all are done, and has a hundred. Tests make it smaller.
var bulk = 20

// write makes writes, in any order. It makes an upsert again if somebody else has inserted the
// document in the meantime.
func write(ctx context.Context, c *mongo.Collection, writes []mongo.WriteModel) error {
	for len(writes) > 0 {
		some := writes[:min(bulk, len(writes))]
		writes = writes[len(some):]
		for attempt := 1; len(some) > 0; attempt++ {
			_, err := c.BulkWrite(ctx, some, options.BulkWrite().SetOrdered(false))
			if err == nil {
				break
			}
			if some = duplicates(err, some); some == nil || attempt == 10 {
				return err
			}
		}
	}
	return ctx.Err()
}

// duplicates returns the writes that failed because their document already existed, or nil if a
// write failed for another reason.
func duplicates(err error, writes []mongo.WriteModel) []mongo.WriteModel {
	var failed mongo.BulkWriteException
	if !errors.As(err, &failed) || failed.WriteConcernError != nil {
		return nil
	}
	var again []mongo.WriteModel
	for _, e := range failed.WriteErrors {
		if !mongo.IsDuplicateKeyError(e.WriteError) || e.Index >= len(writes) {
			return nil
		}
		again = append(again, writes[e.Index])
	}
	return again
}

// each calls yield for the documents that a filter selects, with their _id and some more fields,
// until yield returns an error.
func each[T any](ctx context.Context, c *mongo.Collection, filter bson.D, yield func(T) error, fields ...string) (err error) {
	cursor, err := c.Find(ctx, filter, options.Find().SetProjection(projection(fields)).SetBatchSize(10_000))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cursor.Close(ctx)) }()
	for cursor.Next(ctx) {
		var doc T
		if err := cursor.Decode(&doc); err != nil {
			return err
		}
		if err := yield(doc); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// createIndexes makes the indexes that do not exist, one for each field.
func createIndexes(ctx context.Context, c *mongo.Collection, fields ...string) error {
	there, err := c.Indexes().ListSpecifications(ctx)
	if err != nil {
		return err
	}
	var models []mongo.IndexModel
	for _, f := range fields {
		if !slices.ContainsFunc(there, func(s mongo.IndexSpecification) bool { return s.Name == f+"_1" }) {
			models = append(models, mongo.IndexModel{Keys: bson.D{{Key: f, Value: 1}}})
		}
	}
	if len(models) > 0 {
		_, err = c.Indexes().CreateMany(ctx, models)
	}
	return err
}
