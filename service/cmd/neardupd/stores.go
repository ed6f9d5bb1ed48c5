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

	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/service"
	"github.com/neardup/neardup/stores/mongostore"
	"github.com/neardup/neardup/stores/pebblestore"
	"github.com/neardup/neardup/stores/redisstore"
	"github.com/neardup/neardup/stores/sqlstore"
)

// This file opens the stores that --store names by URLs, and keeps passwords out of messages.

// A store closes the connections that it was opened with, after the store itself.
type store struct {
	blockstore.Store
	close func() error
}

func (s store) Close() error {
	err := s.Store.Close()
	if s.close != nil {
		err = errors.Join(err, s.close())
	}
	return err
}

// storeAt returns how the store of a URL is opened for a collection. The errors do not contain the password.
func storeAt(where string) service.OpenStore {
	return func(ctx context.Context, collection string, distance int, version string) (blockstore.Store, error) {
		s, err := open(ctx, where, collection, distance, version)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", shown(where), hidden{err, where})
		}
		return s, nil
	}
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
func open(ctx context.Context, where, collection string, distance int, version string) (blockstore.Store, error) {
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
		s, err := pebblestore.Open(filepath.Join(path, collection), distance, pebblestore.Options{Version: version})
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
		s, err := redisstore.New(ctx, client, distance, redisstore.Options{Version: version, Prefix: "neardup:" + collection})
		return closing(s, err, client.Close)
	case "mongodb", "mongodb+srv":
		client, err := mongo.Connect(options.Client().ApplyURI(where))
		if err != nil {
			return nil, err
		}
		name := strings.Trim(u.Path, "/")
		if name == "" {
			name = "neardup"
		}
		s, err := mongostore.New(ctx, client.Database(name), distance, mongostore.Options{Version: version, Collection: "neardup_" + collection})
		return closing(s, err, func() error { return client.Disconnect(context.Background()) })
	case "mysql":
		return openSQL(ctx, "mysql", mysqlDSN(u), sqlstore.MySQL, table, distance, version)
	case "postgres", "postgresql":
		return openSQL(ctx, "pgx", where, sqlstore.PostgreSQL, table, distance, version)
	case "sqlite":
		if path == "" {
			return nil, errors.New("sqlite: needs a file, such as sqlite:FILE")
		}
		dsn := (&url.URL{Scheme: "file", Opaque: path, RawQuery: "_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate"}).String()
		return openSQL(ctx, "sqlite", dsn, sqlstore.SQLite, table, distance, version)
	}
	return nil, fmt.Errorf("there is no kind of store %q", u.Scheme)
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
func openSQL(ctx context.Context, driver, dsn string, dialect sqlstore.Dialect, table string, distance int, version string) (blockstore.Store, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(16)
	s, err := sqlstore.New(ctx, db, dialect, distance, sqlstore.Options{Version: version, Table: table})
	return closing(s, err, db.Close)
}

// closing returns a store that also calls close when it is closed. If err is not nil, it calls
// close at once and returns the error.
func closing(s blockstore.Store, err error, close func() error) (blockstore.Store, error) {
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return store{s, close}, nil
}
