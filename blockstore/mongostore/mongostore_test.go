package mongostore

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/FerretDB/FerretDB/ferretdb"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
	"github.com/neardup/neardup/internal/server"
)

// ferret is FerretDB in this process, because no package of MongoDB can be installed here. It has
// the same protocol, is slower, and knows fewer operators.
type ferret struct {
	dir, addr string
	stop      context.CancelFunc
	done      chan error
}

func (f *ferret) start() error {
	if f.addr == "" {
		f.addr = "127.0.0.1:0"
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: f.addr},
		Handler:   "sqlite",
		SQLiteURL: "file:" + f.dir + "/",
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done = stop, make(chan error, 1)
	go func() { f.done <- server.Run(ctx) }()
	u, err := url.Parse(server.MongoDBURI())
	if err == nil {
		f.addr = u.Host
	}
	return err
}

// end stops FerretDB, as far as that is possible within one process.
func (f *ferret) end() error {
	f.stop()
	return <-f.done
}

// connect returns a database of a client with a single connection. MongoDB changes a document in one
// step. FerretDB reads it, changes it and writes it back, so of two changes at the same time one can
// get lost. On one connection it makes one after the other.
func connect(t testing.TB, addr string) *mongo.Database {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + addr + "/").SetRetryWrites(false).SetRetryReads(false).SetMaxPoolSize(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	return client.Database("neardup")
}

func suite[V any](db *mongo.Database, layout Layout, size int) storetest.Suite[V] {
	return storetest.Suite[V]{
		Size:    size,
		Ageless: layout == BlockDocuments,
		Open: func(ctx context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
			s, err := New(ctx, db, scheme, Options{Collection: fmt.Sprint("c", layout, scheme.Size(), name), Layout: layout})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

func TestStore(t *testing.T) {
	maxInfo = 3 // so that block values need several documents
	bulk = 1    // so that each change of a document is a step of its own, which others can come between
	defer func() { maxInfo, bulk = 4096, 20 }()
	f := &ferret{dir: t.TempDir()}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.end(); err != nil {
			t.Error(err)
		}
	}()
	db := connect(t, f.addr)
	_, port, _ := strings.Cut(f.addr, ":")
	proxy := server.ProxyForTest(t, port)
	throughProxy := connect(t, proxy.Addr)
	restart := func() error {
		if err := f.end(); err != nil {
			return err
		}
		return f.start()
	}
	t.Run("64", func(t *testing.T) { testStore(t, suite[neardup.Fingerprint64](db, Documents, 250)) })
	t.Run("64"+string(BlockDocuments), func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes a minute; TestBlockDocuments looks at the layout")
		}
		testStore(t, suite[neardup.Fingerprint64](db, BlockDocuments, 30))
		storetest.TestLostAnswers(t, suite[neardup.Fingerprint64](throughProxy, BlockDocuments, 30), proxy.LoseAnswer)
		storetest.TestOutage(t, suite[neardup.Fingerprint64](db, BlockDocuments, 30), restart)
	})
	t.Run("128", func(t *testing.T) { testStore(t, suite[neardup.Fingerprint128](db, Documents, 60)) })
	t.Run("MinHash", func(t *testing.T) {
		testStore(t, suite[neardup.Signature](db, Documents, 90))
		storetest.TestLostAnswers(t, suite[neardup.Signature](throughProxy, Documents, 90), proxy.LoseAnswer)
		storetest.TestOutage(t, suite[neardup.Signature](db, Documents, 90), restart)
	})
}

// testStore runs the tests that need no disturbance. The server takes tens of milliseconds for a step.
func testStore[V any](t *testing.T, s storetest.Suite[V]) {
	if testing.Short() {
		s.Size /= 3
	}
	storetest.Test(t, s)
}

// The documents of the layout BlockDocuments are those of the example in Li 2015 §2.3. A and B
// differ only in the third block.
func TestBlockDocuments(t *testing.T) {
	f := &ferret{dir: t.TempDir()}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	defer f.end()
	db := connect(t, f.addr)
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), db, scheme, Options{Layout: BlockDocuments})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []blockstore.Entry[neardup.Fingerprint64]{{ID: "A", Value: 0x800d8e90e45cc488}, {ID: "B", Value: 0x800d8e90e4dcc488}} {
		if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{e}); err != nil {
			t.Fatal(err)
		}
	}
	type block struct {
		BlockName string `bson:"blockName"`
		Info      []info `bson:"info"`
	}
	cursor, err := db.Collection("neardup").Find(t.Context(), bson.D{}, options.Find().SetSort(bson.D{{Key: "blockName", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	if err := cursor.All(t.Context(), &blocks); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		for i := range b.Info {
			if b.Info[i].Tag == "" {
				t.Errorf("%v has no tag", b)
			}
			b.Info[i].Tag = ""
		}
	}
	a, b := info{Hashcode: "800d8e90e45cc488", Textname: "A"}, info{Hashcode: "800d8e90e4dcc488", Textname: "B"}
	want := []block{{"1:800d", []info{a, b}}, {"2:8e90", []info{a, b}}, {"3:e45c", []info{a}}, {"3:e4dc", []info{b}}, {"4:c488", []info{a, b}}}
	if !reflect.DeepEqual(blocks, want) {
		t.Errorf("%v, want %v", blocks, want)
	}
}

// A full document of a block value is far below the 16 MB that MongoDB allows, whatever the ids
// are.
func TestMaxInfo(t *testing.T) {
	var full []info
	for range maxInfo {
		full = append(full, info{"ffffffffffffffff", strings.Repeat("x", 1024), strings.Repeat("A", 26)})
	}
	doc, err := bson.Marshal(bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "blockName", Value: "60:ffffffffffffffff"}, {Key: "info", Value: full}})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc) > 8<<20 {
		t.Errorf("%d bytes", len(doc))
	}
}
