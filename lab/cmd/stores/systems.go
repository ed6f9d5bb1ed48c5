package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/FerretDB/FerretDB/ferretdb"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/mongostore"
	"github.com/neardup/neardup/blockstore/pebblestore"
	"github.com/neardup/neardup/blockstore/redisstore"
	"github.com/neardup/neardup/blockstore/sqlstore"
	"github.com/neardup/neardup/internal/server"
)

// A workload is the values to store, and those to search for. They are the same in every run.
type workload[V any] struct {
	scheme blockstore.Scheme[V]
	value  func(number uint64) V
	near   func(v V, random *rand.Rand) V // what finds v
	memory func() (blockstore.Store[V], error)
}

// fingerprints64 is random fingerprints at the distance 3.
func fingerprints64(blocks int) (w workload[neardup.Fingerprint64], err error) {
	w.scheme, err = blockstore.Hamming[neardup.Fingerprint64](3, blocks)
	w.value = func(n uint64) neardup.Fingerprint64 { return neardup.Fingerprint64(rand.NewPCG(1, n).Uint64()) }
	w.near = func(v neardup.Fingerprint64, random *rand.Rand) neardup.Fingerprint64 {
		return v ^ 1<<random.IntN(32) ^ 1<<(32+random.IntN(32))
	}
	w.memory = inMemory[neardup.Fingerprint64]
	return w, err
}

// fingerprints128 is random fingerprints at the distance 3.
func fingerprints128(blocks int) (w workload[neardup.Fingerprint128], err error) {
	w.scheme, err = blockstore.Hamming[neardup.Fingerprint128](3, blocks)
	w.value = func(n uint64) neardup.Fingerprint128 {
		random := rand.NewPCG(1, n)
		return neardup.Fingerprint128{Hi: random.Uint64(), Lo: random.Uint64()}
	}
	w.near = func(v neardup.Fingerprint128, random *rand.Rand) neardup.Fingerprint128 {
		return neardup.Fingerprint128{Hi: v.Hi ^ 1<<random.IntN(64), Lo: v.Lo ^ 1<<random.IntN(64)}
	}
	w.memory = inMemory[neardup.Fingerprint128]
	return w, err
}

// inMemory is an index in this process, to compare the stores with.
func inMemory[F neardup.Fingerprint]() (blockstore.Store[F], error) {
	ix, err := neardup.NewIndex[string, F](3, neardup.IndexOptions{})
	if err != nil {
		return nil, err
	}
	return blockstore.FromIndex(ix), nil
}

// signatures is random signatures, of which 8 bits of each value are kept, at the similarity 0.8. A query
// differs from what it finds in a tenth of the values.
func signatures() (w workload[neardup.Signature], err error) {
	w.scheme, err = blockstore.MinHash(0.8, blockstore.SignatureOptions{Bits: 8})
	sign := func(n uint64) neardup.Signature {
		random := rand.NewPCG(1, n)
		v := make(neardup.Signature, 128)
		for i := range v {
			v[i] = uint32(random.Uint64() >> 33)
		}
		return v
	}
	w.value = sign
	w.near = func(v neardup.Signature, random *rand.Rand) neardup.Signature {
		v = slices.Clone(v)
		for range 13 { // a tenth of the values
			v[random.IntN(len(v))] ^= 1
		}
		return v
	}
	w.memory = func() (blockstore.Store[neardup.Signature], error) {
		ix, err := neardup.NewSignatureIndex[string](0.8, neardup.SignatureIndexOptions{Bits: 8})
		if err != nil {
			return nil, err
		}
		return blockstore.FromIndex(ix), nil
	}
	return w, err
}

// entries returns what to store.
func (w workload[V]) entries(n int) []blockstore.Entry[V] {
	all := make([]blockstore.Entry[V], n)
	for i := range all {
		all[i] = blockstore.Entry[V]{ID: fmt.Sprintf("document-%d", i), Value: w.value(uint64(i))}
	}
	return all
}

// queries returns what to search for.
func (w workload[V]) queries(all []blockstore.Entry[V]) []V {
	random := rand.New(rand.NewPCG(3, 4))
	queries := make([]V, 20_000)
	for i := range queries {
		queries[i] = w.value(1<<40 + uint64(i))
		if i%2 == 0 {
			queries[i] = w.near(all[random.IntN(len(all))].Value, random)
		}
	}
	return queries
}

// A bench is the systems with what they store.
type bench[V any] struct {
	options
	workload[V]
}

// paper reports whether the layouts of the papers can keep the values.
func (o bench[V]) paper() bool { return o.scheme.Size() == 8 }

// systems returns all systems, in the order of the table.
func (o bench[V]) systems() []system[V] {
	const disk, log, nothing = "the disk", "the system", "nothing"
	all := []system[V]{
		{name: "memory", waits: nothing, n: o.n, start: o.inProcess},
		{name: "pebble", waits: log, n: o.n, start: func() (*running[V], error) { return o.pebble(true) }},
		{name: "pebble", waits: disk, n: o.n, loadOnly: true, start: func() (*running[V], error) { return o.pebble(false) }},
	}
	for _, layout := range []redisstore.Layout{redisstore.Hashes, redisstore.SignatureSets} {
		for _, sync := range []string{"no", "always"} {
			if layout != redisstore.Hashes && !o.paper() {
				continue
			}
			all = append(all, system[V]{name: "redis", layout: name(layout, "hashes", "`SignatureSets`"), waits: pick(sync == "always", disk, log), n: o.n, loadOnly: sync == "always",
				start: func() (*running[V], error) { return o.redis(layout, sync) }})
		}
	}
	for _, database := range []struct {
		name, unsynced string // unsynced: what a write waits for without fsync
		start          func(layout sqlstore.Layout, sync bool) (*running[V], error)
	}{{"mariadb", nothing, o.mariadb}, {"postgres", nothing, o.postgres}, {"sqlite", log, o.sqlite}} {
		for _, layout := range []sqlstore.Layout{sqlstore.Rows, sqlstore.BlockRows} {
			for _, sync := range []bool{false, true} {
				if layout != sqlstore.Rows && !o.paper() {
					continue
				}
				all = append(all, system[V]{name: database.name, layout: name(layout, "rows", "`BlockRows`"), waits: pick(sync, disk, database.unsynced), n: o.n, loadOnly: sync,
					start: func() (*running[V], error) { return database.start(layout, sync) }})
			}
		}
	}
	for _, layout := range []mongostore.Layout{mongostore.Documents, mongostore.BlockDocuments} {
		if layout != mongostore.Documents && !o.paper() {
			continue
		}
		all = append(all, system[V]{name: fmt.Sprintf("ferretdb (%d)", o.ferret), layout: name(layout, "documents", "`BlockDocuments`"), waits: log, n: o.ferret,
			start: func() (*running[V], error) { return o.ferretDB(layout) }})
	}
	return all
}

// name returns what the table calls a layout: the usual name for the default, and the name of the
// constant for the layout of a paper.
func name[L ~string](layout L, usual, paper string) string {
	if layout == "" {
		return usual
	}
	return paper
}

// pick returns one of two texts.
func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// inProcess is an index in this process.
func (o bench[V]) inProcess() (*running[V], error) {
	return &running[V]{
		open: func(context.Context, string) (blockstore.Store[V], error) { return o.memory() },
		stop: func() error { return nil },
	}, nil
}

// pebble is a Pebble database in a temporary directory.
func (o bench[V]) pebble(noSync bool) (*running[V], error) {
	dir, err := os.MkdirTemp("", "neardup-pebble-")
	if err != nil {
		return nil, err
	}
	return &running[V]{
		open: func(_ context.Context, name string) (blockstore.Store[V], error) {
			return pebblestore.Open(filepath.Join(dir, name), o.scheme, pebblestore.Options{NoSync: noSync, Cache: 1 << 30})
		},
		compact: func(ctx context.Context, store blockstore.Store[V], _ string) error {
			return store.(*pebblestore.Store[V]).Compact(ctx)
		},
		bytes: func(_ context.Context, store blockstore.Store[V], _ string) (int64, error) {
			return store.(*pebblestore.Store[V]).Bytes(), nil
		},
		stop: func() error { return os.RemoveAll(dir) },
	}, nil
}

// redis is a Redis server. sync is its appendfsync.
func (o bench[V]) redis(layout redisstore.Layout, sync string) (*running[V], error) {
	s, err := server.Start("redis", "--appendfsync", sync)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.Port})
	return &running[V]{
		open: func(ctx context.Context, name string) (blockstore.Store[V], error) {
			return redisstore.New(ctx, client, o.scheme, redisstore.Options{Prefix: name, Layout: layout})
		},
		bytes: func(ctx context.Context, _ blockstore.Store[V], _ string) (int64, error) {
			info, err := client.Info(ctx, "memory").Result()
			if err != nil {
				return 0, err
			}
			_, used, _ := strings.Cut(info, "used_memory_dataset:")
			used, _, _ = strings.Cut(used, "\r\n")
			return strconv.ParseInt(used, 10, 64)
		},
		trip: func(ctx context.Context) error { return client.Ping(ctx).Err() },
		stop: func() error { return errors.Join(client.Close(), s.Stop()) },
	}, nil
}

// database is a running SQL database. bytes is a query for the bytes of a table, and compact is
// statements that bring a table into the form that is searched fastest. NAME in them stands for the
// table.
func (o bench[V]) database(driver, dsn string, dialect sqlstore.Dialect, layout sqlstore.Layout, bytes string, compact ...string) (*running[V], error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	one, err := db.Prepare("SELECT 1")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	exec := func(ctx context.Context, name string) error {
		for _, c := range compact {
			rows, err := db.QueryContext(ctx, strings.ReplaceAll(c, "NAME", name))
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	}
	return &running[V]{
		open: func(ctx context.Context, name string) (blockstore.Store[V], error) {
			return sqlstore.New(ctx, db, dialect, o.scheme, sqlstore.Options{Table: name, Layout: layout})
		},
		compact: func(ctx context.Context, _ blockstore.Store[V], name string) error { return exec(ctx, name) },
		bytes: func(ctx context.Context, _ blockstore.Store[V], name string) (n int64, err error) {
			err = db.QueryRowContext(ctx, strings.ReplaceAll(bytes, "NAME", name)).Scan(&n)
			return n, err
		},
		trip: func(ctx context.Context) error { var n int; return one.QueryRowContext(ctx).Scan(&n) },
		stop: db.Close,
	}, nil
}

// served makes a server stop together with its database, or at once if the database has an error.
func served[V any](s *server.Server, r *running[V], err error) (*running[V], error) {
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	stop := r.stop
	r.stop = func() error { return errors.Join(stop(), s.Stop()) }
	return r, nil
}

// mariadb is a MariaDB server. sync says whether each write waits for the disk.
func (o bench[V]) mariadb(layout sqlstore.Layout, sync bool) (*running[V], error) {
	s, err := server.Start("mariadb", "--innodb-flush-log-at-trx-commit="+pick(sync, "1", "0"), "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G")
	if err != nil {
		return nil, err
	}
	r, err := o.database("mysql", "root@tcp(127.0.0.1:"+s.Port+")/neardup", sqlstore.MySQL, layout,
		"SELECT COALESCE(SUM(file_size), 0) FROM information_schema.innodb_sys_tablespaces WHERE name = 'neardup/NAME'", "OPTIMIZE TABLE NAME")
	return served(s, r, err)
}

// postgres is a PostgreSQL server. sync says whether each write waits for the disk.
func (o bench[V]) postgres(layout sqlstore.Layout, sync bool) (*running[V], error) {
	s, err := server.Start("postgres", "-c", "synchronous_commit="+pick(sync, "on", "off"), "-c", "shared_buffers=2GB", "-c", "max_wal_size=8GB")
	if err != nil {
		return nil, err
	}
	r, err := o.database("pgx", "postgres://postgres@127.0.0.1:"+s.Port+"/postgres?sslmode=disable", sqlstore.PostgreSQL, layout,
		"SELECT pg_total_relation_size('NAME')", "VACUUM (ANALYZE) NAME")
	return served(s, r, err)
}

// sqlite is an SQLite database in a temporary directory. sync says whether each write waits for the
// disk.
func (o bench[V]) sqlite(layout sqlstore.Layout, sync bool) (*running[V], error) {
	dir, err := os.MkdirTemp("", "neardup-sqlite-")
	if err != nil {
		return nil, err
	}
	r, err := o.database("sqlite", "file:"+dir+"/store.db?_pragma=journal_mode(WAL)&_pragma=synchronous("+pick(sync, "FULL", "OFF")+")&_pragma=cache_size(-1000000)&_txlock=immediate",
		sqlstore.SQLite, layout, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", "VACUUM", "ANALYZE")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop := r.stop
	r.stop = func() error { return errors.Join(stop(), os.RemoveAll(dir)) }
	return r, nil
}

// ferretDB is FerretDB in this process. It speaks the protocol of MongoDB and is slower.
func (o bench[V]) ferretDB(layout mongostore.Layout) (*running[V], error) {
	dir, err := os.MkdirTemp("", "neardup-ferretdb-")
	if err != nil {
		return nil, err
	}
	f, err := ferretdb.New(&ferretdb.Config{Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"}, Handler: "sqlite", SQLiteURL: "file:" + dir + "/", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(f.MongoDBURI()))
	if err != nil {
		stop()
		return nil, err
	}
	return &running[V]{
		open: func(ctx context.Context, name string) (blockstore.Store[V], error) {
			return mongostore.New(ctx, client.Database(name), o.scheme, mongostore.Options{Layout: layout})
		},
		bytes: func(context.Context, blockstore.Store[V], string) (n int64, err error) {
			err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				info, err := d.Info()
				if err == nil {
					n += info.Size()
				}
				return err
			})
			return n, err
		},
		trip: func(ctx context.Context) error { return client.Ping(ctx, nil) },
		stop: func() error {
			err := client.Disconnect(context.Background())
			stop()
			return errors.Join(err, <-done, os.RemoveAll(dir))
		},
	}, nil
}
