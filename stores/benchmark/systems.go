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
	"github.com/neardup/neardup/internal/server"
	"github.com/neardup/neardup/stores/mongostore"
	"github.com/neardup/neardup/stores/pebblestore"
	"github.com/neardup/neardup/stores/redisstore"
	"github.com/neardup/neardup/stores/sqlstore"
)

// entries returns the fingerprints to store. They are the same in every run.
func entries(n int) []blockstore.Entry {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]blockstore.Entry, n)
	for i := range all {
		all[i] = blockstore.Entry{ID: fmt.Sprintf("document-%d", i), Fingerprint: neardup.Fingerprint64(random.Uint64())}
	}
	return all
}

// queries returns the fingerprints to search for. They are the same in every run.
func queries(all []blockstore.Entry) []neardup.Fingerprint64 {
	random := rand.New(rand.NewPCG(3, 4))
	queries := make([]neardup.Fingerprint64, 20_000)
	for i := range queries {
		queries[i] = neardup.Fingerprint64(random.Uint64())
		if i%2 == 0 {
			queries[i] = all[random.IntN(len(all))].Fingerprint ^ 1<<random.IntN(32) ^ 1<<(32+random.IntN(32))
		}
	}
	return queries
}

// systems returns all systems, in the order of the table.
func systems(o options) []system {
	const disk, log, nothing = "the disk", "the system", "nothing"
	all := []system{
		{name: "memory", waits: nothing, n: o.n, start: o.memory},
		{name: "pebble", waits: log, n: o.n, start: func() (*running, error) { return o.pebble(true) }},
		{name: "pebble", waits: disk, n: o.n, loadOnly: true, start: func() (*running, error) { return o.pebble(false) }},
	}
	for _, layout := range []redisstore.Layout{redisstore.Hashes, redisstore.SignatureSets} {
		for _, sync := range []string{"no", "always"} {
			all = append(all, system{name: "redis", layout: name(layout, "hashes", "`SignatureSets`"), waits: pick(sync == "always", disk, log), n: o.n, loadOnly: sync == "always",
				start: func() (*running, error) { return o.redis(layout, sync) }})
		}
	}
	for _, database := range []struct {
		name, unsynced string // unsynced: what a write waits for without fsync
		start          func(layout sqlstore.Layout, sync bool) (*running, error)
	}{{"mariadb", nothing, o.mariadb}, {"postgres", nothing, o.postgres}, {"sqlite", log, o.sqlite}} {
		for _, layout := range []sqlstore.Layout{sqlstore.Rows, sqlstore.BlockRows} {
			for _, sync := range []bool{false, true} {
				all = append(all, system{name: database.name, layout: name(layout, "rows", "`BlockRows`"), waits: pick(sync, disk, database.unsynced), n: o.n, loadOnly: sync,
					start: func() (*running, error) { return database.start(layout, sync) }})
			}
		}
	}
	for _, layout := range []mongostore.Layout{mongostore.Documents, mongostore.BlockDocuments} {
		all = append(all, system{name: fmt.Sprintf("ferretdb (%d)", o.ferret), layout: name(layout, "documents", "`BlockDocuments`"), waits: log, n: o.ferret,
			start: func() (*running, error) { return o.ferretDB(layout) }})
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

// memory is an index in this process, to compare the stores with.
func (o options) memory() (*running, error) {
	return &running{
		open: func(context.Context, string) (blockstore.Store, error) {
			ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
			if err != nil {
				return nil, err
			}
			return blockstore.FromIndex(ix), nil
		},
		stop: func() error { return nil },
	}, nil
}

// pebble is a Pebble database in a temporary directory.
func (o options) pebble(noSync bool) (*running, error) {
	dir, err := os.MkdirTemp("", "neardup-pebble-")
	if err != nil {
		return nil, err
	}
	return &running{
		open: func(_ context.Context, name string) (blockstore.Store, error) {
			return pebblestore.Open(filepath.Join(dir, name), 3, pebblestore.Options{Blocks: o.blocks, NoSync: noSync, Cache: 1 << 30})
		},
		compact: func(ctx context.Context, store blockstore.Store, _ string) error {
			return store.(*pebblestore.Store).Compact(ctx)
		},
		bytes: func(_ context.Context, store blockstore.Store, _ string) (int64, error) {
			return store.(*pebblestore.Store).Bytes(), nil
		},
		stop: func() error { return os.RemoveAll(dir) },
	}, nil
}

// redis is a Redis server. sync is its appendfsync.
func (o options) redis(layout redisstore.Layout, sync string) (*running, error) {
	s, err := server.Start("redis", "--appendfsync", sync)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.Port})
	return &running{
		open: func(ctx context.Context, name string) (blockstore.Store, error) {
			return redisstore.New(ctx, client, 3, redisstore.Options{Blocks: o.blocks, Prefix: name, Layout: layout})
		},
		bytes: func(ctx context.Context, _ blockstore.Store, _ string) (int64, error) {
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
func (o options) database(driver, dsn string, dialect sqlstore.Dialect, layout sqlstore.Layout, bytes string, compact ...string) (*running, error) {
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
	return &running{
		open: func(ctx context.Context, name string) (blockstore.Store, error) {
			return sqlstore.New(ctx, db, dialect, 3, sqlstore.Options{Blocks: o.blocks, Table: name, Layout: layout})
		},
		compact: func(ctx context.Context, _ blockstore.Store, name string) error { return exec(ctx, name) },
		bytes: func(ctx context.Context, _ blockstore.Store, name string) (n int64, err error) {
			err = db.QueryRowContext(ctx, strings.ReplaceAll(bytes, "NAME", name)).Scan(&n)
			return n, err
		},
		trip: func(ctx context.Context) error { var n int; return one.QueryRowContext(ctx).Scan(&n) },
		stop: db.Close,
	}, nil
}

// served makes a server stop together with its database, or at once if the database has an error.
func served(s *server.Server, r *running, err error) (*running, error) {
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	stop := r.stop
	r.stop = func() error { return errors.Join(stop(), s.Stop()) }
	return r, nil
}

// mariadb is a MariaDB server. sync says whether each write waits for the disk.
func (o options) mariadb(layout sqlstore.Layout, sync bool) (*running, error) {
	s, err := server.Start("mariadb", "--innodb-flush-log-at-trx-commit="+pick(sync, "1", "0"), "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G")
	if err != nil {
		return nil, err
	}
	r, err := o.database("mysql", "root@tcp(127.0.0.1:"+s.Port+")/neardup", sqlstore.MySQL, layout,
		"SELECT COALESCE(SUM(file_size), 0) FROM information_schema.innodb_sys_tablespaces WHERE name = 'neardup/NAME'", "OPTIMIZE TABLE NAME")
	return served(s, r, err)
}

// postgres is a PostgreSQL server. sync says whether each write waits for the disk.
func (o options) postgres(layout sqlstore.Layout, sync bool) (*running, error) {
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
func (o options) sqlite(layout sqlstore.Layout, sync bool) (*running, error) {
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
func (o options) ferretDB(layout mongostore.Layout) (*running, error) {
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
	return &running{
		open: func(ctx context.Context, name string) (blockstore.Store, error) {
			return mongostore.New(ctx, client.Database(name), 3, mongostore.Options{Blocks: o.blocks, Layout: layout})
		},
		bytes: func(context.Context, blockstore.Store, string) (n int64, err error) {
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
