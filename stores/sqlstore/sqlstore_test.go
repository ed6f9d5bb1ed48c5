package sqlstore

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/storetest"
	"github.com/neardup/neardup/internal/server"
)

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func suite(db *sql.DB, dialect Dialect, layout Layout) storetest.Suite {
	return storetest.Suite{
		Size:   2000,
		Blocks: []blockstore.Blocks{storetest.MustBlocks(3, 5), storetest.MustBlocks(3, 6), storetest.MustBlocks(3, 7), storetest.MustBlocks(0, 0)},
		Open: func(ctx context.Context, name string, b blockstore.Blocks) (blockstore.Store, error) {
			s, err := New(ctx, db, dialect, b.Distance(), Options{Blocks: b.Blocks(), Table: strings.ToLower("t" + string(layout) + name), Layout: layout})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

func testServer(t *testing.T, name, driver string, dialect Dialect, dsn func(addr string) string) {
	s := server.ForTest(t, name)
	db := open(t, driver, dsn("127.0.0.1:"+s.Port))
	proxy := server.ProxyForTest(t, s.Port)
	throughProxy := open(t, driver, dsn(proxy.Addr))
	for _, layout := range []Layout{Rows, BlockRows} {
		t.Run("layout="+string(layout), func(t *testing.T) {
			storetest.Test(t, suite(db, dialect, layout))
			storetest.TestOutage(t, suite(db, dialect, layout), func() error {
				if err := s.Kill(); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
				return s.Restart()
			})
			storetest.TestLostAnswers(t, suite(throughProxy, dialect, layout), proxy.LoseAnswer)
		})
	}
}

func TestMariaDB(t *testing.T) {
	testServer(t, "mariadb", "mysql", MySQL, func(addr string) string { return "root@tcp(" + addr + ")/neardup" })
}

func TestPostgreSQL(t *testing.T) {
	testServer(t, "postgres", "pgx", PostgreSQL, func(addr string) string {
		return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
	})
}

func TestSQLite(t *testing.T) {
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "store.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(10000)&_txlock=immediate")
	for _, layout := range []Layout{Rows, BlockRows} {
		t.Run("layout="+string(layout), func(t *testing.T) { storetest.Test(t, suite(db, SQLite, layout)) })
	}
}
