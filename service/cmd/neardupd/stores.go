package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/mongostore"
	"github.com/neardup/neardup/blockstore/pebblestore"
	"github.com/neardup/neardup/blockstore/redisstore"
	"github.com/neardup/neardup/blockstore/sqlstore"
)

// This file opens the stores that --store names by URLs, and keeps passwords out of messages.
//
// Each collection has its own table, prefix or directory, whose name is made of that of the collection.
// Names of collections have only lower-case letters, digits and underscores, so they need no quotes.
// Drivers put URLs, or parts of them, into their errors. So every error of a store goes through hidden.

// A storeAt is the URL of a store. The errors of its methods do not contain the password. It opens
// connections anew for each collection.
type storeAt string

// Fingerprints implements [service.Store].
func (where storeAt) Fingerprints(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Fingerprint64], version string) (blockstore.Store[neardup.Fingerprint64], error) {
	return openAt(ctx, string(where), collection, scheme, version)
}

// Signatures implements [service.Store].
func (where storeAt) Signatures(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Signature], version string) (blockstore.Store[neardup.Signature], error) {
	return openAt(ctx, string(where), collection, scheme, version)
}

// openAt opens a store without showing its password. The original error stays inside, for errors.Is; only
// the text is changed.
func openAt[V any](ctx context.Context, where, collection string, scheme blockstore.Scheme[V], version string) (blockstore.Store[V], error) {
	s, err := open(ctx, where, collection, scheme, version)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", shown(where), hidden{err, where})
	}
	return s, nil
}

// A store closes the connections that it was opened with, after the store itself: the stores of package
// blockstore leave them to whoever opened them.
type store[V any] struct {
	blockstore.Store[V]
	close func() error
}

func (s store[V]) Close() error {
	err := s.Store.Close()
	if s.close != nil {
		err = errors.Join(err, s.close())
	}
	return err
}

// shown returns the URL of a store as it may be printed. What is behind a ? may have a password, and is never shown. If it is not certain
// that the rest has no password, none of it is shown; the data source name of a driver is such a text.
func shown(where string) string {
	u, err := url.Parse(where)
	if err != nil {
		return "(not a URL)"
	}
	// Drivers take passwords as parameters too, such as ?password= of PostgreSQL.
	u.RawQuery, u.Fragment = "", ""
	switch u.Scheme {
	case "pebble", "sqlite":
		if u.User == nil && u.Host == "" {
			return u.String()
		}
	case "redis", "rediss", "mongodb", "mongodb+srv", "mysql", "postgres", "postgresql":
		if u.Opaque == "" && u.Host != "" {
			return u.Redacted()
		}
	}
	return "(of an unknown kind)"
}

// hidden is an error whose message does not contain the password of the URL.
type hidden struct {
	error
	where string
}

func (h hidden) Unwrap() error { return h.error }

// Error replaces the URL, its parameters and the password, as it is and as it is escaped in the URL,
// wherever they are in the text. If the URL is of no known kind, nobody can tell what in it is secret, and
// the text says only what a URL looks like.
func (h hidden) Error() string {
	u, err := url.Parse(h.where)
	if err != nil || strings.HasPrefix(shown(h.where), "(") {
		return "must be a URL such as redis://host:6379, mysql://user:password@host/db, postgres://…, mongodb://…, sqlite:FILE or pebble:DIR"
	}
	text := strings.ReplaceAll(h.error.Error(), h.where, shown(h.where))
	if u.RawQuery != "" {
		text = strings.ReplaceAll(text, u.RawQuery, "xxxxx")
	}
	for _, values := range u.Query() {
		for _, value := range values {
			if len(value) > 3 { // true and 1 stand in every message
				text = strings.ReplaceAll(text, value, "xxxxx")
			}
		}
	}
	if password, ok := u.User.Password(); ok && password != "" {
		_, escaped, _ := strings.Cut(u.User.String(), ":")
		text = strings.NewReplacer(password, "xxxxx", escaped, "xxxxx").Replace(text)
	}
	return text
}

// open opens the store of a URL. Its errors may contain the password. What it opens is closed again if a
// later step fails.
func open[V any](ctx context.Context, where, collection string, scheme blockstore.Scheme[V], version string) (blockstore.Store[V], error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, err
	}
	table := "neardup_" + collection
	path := u.Opaque + u.Path // pebble:DIR, pebble:/DIR or pebble:///DIR
	switch u.Scheme {
	case "pebble":
		if path == "" {
			return nil, errors.New("pebble: needs a directory, such as pebble:DIR")
		}
		s, err := pebblestore.Open(filepath.Join(path, collection), scheme, pebblestore.Options{Version: version})
		if err != nil {
			return nil, err
		}
		return s, nil
	case "redis", "rediss":
		o, err := redis.ParseURL(where)
		if err != nil {
			return nil, err
		}
		// Without it, the client waits for its own timeouts, and a request could not give up in time.
		o.ContextTimeoutEnabled = true
		client := redis.NewClient(o)
		s, err := redisstore.New(ctx, client, scheme, redisstore.Options{Version: version, Prefix: "neardup:" + collection})
		return closing[V](s, err, client.Close)
	case "mongodb", "mongodb+srv":
		client, err := mongo.Connect(options.Client().ApplyURI(where))
		if err != nil {
			return nil, err
		}
		name := strings.Trim(u.Path, "/")
		if name == "" {
			name = "neardup"
		}
		s, err := mongostore.New(ctx, client.Database(name), scheme, mongostore.Options{Version: version, Collection: "neardup_" + collection})
		return closing[V](s, err, func() error { return client.Disconnect(context.Background()) })
	case "mysql":
		return openSQL(ctx, "mysql", mysqlDSN(u), sqlstore.MySQL, table, scheme, version)
	case "postgres", "postgresql":
		return openSQL(ctx, "pgx", where, sqlstore.PostgreSQL, table, scheme, version)
	case "sqlite":
		if path == "" {
			return nil, errors.New("sqlite: needs a file, such as sqlite:FILE")
		}
		// Readers do not wait for a writer (WAL). Writers wait for each other up to ten seconds, and take
		// the lock at the beginning of a transaction: one that reads first and takes it later fails at once
		// if another has written meanwhile.
		dsn := (&url.URL{Scheme: "file", Opaque: path, RawQuery: "_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate"}).String()
		return openSQL(ctx, "sqlite", dsn, sqlstore.SQLite, table, scheme, version)
	}
	return nil, fmt.Errorf("unknown kind of store %q", u.Scheme)
}

// mysqlDSN returns the data source name of the MySQL driver for a URL. The driver wants its own form,
// user:password@tcp(host:port)/database, where the other stores take the URL.
func mysqlDSN(u *url.URL) string {
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	c.DBName = strings.Trim(u.Path, "/")
	c.Params = map[string]string{}
	for name, values := range u.Query() {
		c.Params[name] = values[0]
	}
	return c.FormatDSN()
}

// openSQL opens a store in an SQL database. sql.Open does not connect; sqlstore.New is the first to do so.
func openSQL[V any](ctx context.Context, driver, dsn string, dialect sqlstore.Dialect, table string, scheme blockstore.Scheme[V], version string) (blockstore.Store[V], error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(16)
	s, err := sqlstore.New(ctx, db, dialect, scheme, sqlstore.Options{Version: version, Table: table})
	return closing[V](s, err, db.Close)
}

// closing returns a store that also calls close when it is closed. If err is not nil, it calls
// close at once and returns the error.
func closing[V any](s blockstore.Store[V], err error, close func() error) (blockstore.Store[V], error) {
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return store[V]{s, close}, nil
}
