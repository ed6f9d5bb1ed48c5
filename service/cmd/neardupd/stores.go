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

// A storeAt is the URL of a store. The errors of its methods do not contain the password.
type storeAt string

// Fingerprints implements [service.Store].
func (where storeAt) Fingerprints(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Fingerprint64], version string) (blockstore.Store[neardup.Fingerprint64], error) {
	return openAt(ctx, string(where), collection, scheme, version)
}

// Signatures implements [service.Store].
func (where storeAt) Signatures(ctx context.Context, collection string, scheme blockstore.Scheme[neardup.Signature], version string) (blockstore.Store[neardup.Signature], error) {
	return openAt(ctx, string(where), collection, scheme, version)
}

// openAt opens a store without showing its password.
func openAt[V any](ctx context.Context, where, collection string, scheme blockstore.Scheme[V], version string) (blockstore.Store[V], error) {
	s, err := open(ctx, where, collection, scheme, version)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", shown(where), hidden{err, where})
	}
	return s, nil
}

// A store closes the connections that it was opened with, after the store itself.
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

// open opens the store of a URL. Its errors may contain the password.
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
		dsn := (&url.URL{Scheme: "file", Opaque: path, RawQuery: "_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate"}).String()
		return openSQL(ctx, "sqlite", dsn, sqlstore.SQLite, table, scheme, version)
	}
	return nil, fmt.Errorf("unknown kind of store %q", u.Scheme)
}

// mysqlDSN returns the data source name of the MySQL driver for a URL.
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

// openSQL opens a store in an SQL database.
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
