package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/neardup/neardup"
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

func suite[V any](db *sql.DB, dialect Dialect, layout Layout) storetest.Suite[V] {
	return storetest.Suite[V]{
		Size:    2000,
		Ageless: layout == BlockRows,
		Open: func(ctx context.Context, name string, scheme blockstore.Scheme[V]) (blockstore.Store[V], error) {
			s, err := New(ctx, db, dialect, scheme, Options{Table: strings.ToLower(fmt.Sprint("t", layout, scheme.Size(), name)), Layout: layout})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

func testServer(t *testing.T, name, driver string, dialect Dialect, dsn func(addr string) string) {
	s := server.ForTest(t, name)
	test := served{s, driver, dialect, dsn}
	t.Run("64", func(t *testing.T) { testStore[neardup.Fingerprint64](t, test, Rows) })
	t.Run("64"+string(BlockRows), func(t *testing.T) { testStore[neardup.Fingerprint64](t, test, BlockRows) })
	t.Run("128", func(t *testing.T) { testStore[neardup.Fingerprint128](t, test, Rows) })
	t.Run("MinHash", func(t *testing.T) { testStore[neardup.Signature](t, test, Rows) })
}

// A served is a database to test.
type served struct {
	server  *server.Server
	driver  string
	dialect Dialect
	dsn     func(addr string) string
}

func testStore[V any](t *testing.T, s served, layout Layout) {
	db := open(t, s.driver, s.dsn("127.0.0.1:"+s.server.Port))
	proxy := server.ProxyForTest(t, s.server.Port)
	throughProxy := open(t, s.driver, s.dsn(proxy.Addr))
	storetest.Test(t, suite[V](db, s.dialect, layout))
	storetest.TestOutage(t, suite[V](db, s.dialect, layout), func() error {
		if err := s.server.Kill(); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		return s.server.Restart()
	})
	storetest.TestLostAnswers(t, suite[V](throughProxy, s.dialect, layout), proxy.LoseAnswer)
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
	t.Run("64", func(t *testing.T) { storetest.Test(t, suite[neardup.Fingerprint64](db, SQLite, Rows)) })
	t.Run("64"+string(BlockRows), func(t *testing.T) { storetest.Test(t, suite[neardup.Fingerprint64](db, SQLite, BlockRows)) })
	t.Run("128", func(t *testing.T) { storetest.Test(t, suite[neardup.Fingerprint128](db, SQLite, Rows)) })
	t.Run("MinHash", func(t *testing.T) { storetest.Test(t, suite[neardup.Signature](db, SQLite, Rows)) })
}

// TestLayoutOfLi looks at the rows of the layout BlockRows: those of the table in Li 2015 §2.3 for MySQL. A and B differ in the third block only.
func TestLayoutOfLi(t *testing.T) {
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "store.db"))
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), db, SQLite, scheme, Options{Table: "li", Layout: BlockRows})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blockstore.Entry[neardup.Fingerprint64]{{ID: "A", Value: 0x800d8e90e45cc488}, {ID: "B", Value: 0x800d8e90e4dcc488}}); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT textname, class, block_name, hashcode FROM li ORDER BY textname, class")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name, block string
		var class int
		var hashcode int64
		if err := rows.Scan(&name, &class, &block, &hashcode); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %s %016x", name, class, block, uint64(hashcode)))
	}
	want := []string{
		"A 1 1:800d 800d8e90e45cc488", "A 2 2:8e90 800d8e90e45cc488", "A 3 3:e45c 800d8e90e45cc488", "A 4 4:c488 800d8e90e45cc488",
		"B 1 1:800d 800d8e90e4dcc488", "B 2 2:8e90 800d8e90e4dcc488", "B 3 3:e4dc 800d8e90e4dcc488", "B 4 4:c488 800d8e90e4dcc488",
	}
	if err := rows.Err(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: the rows are\n%s\nnot\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
