package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// TestDamaged: a value of another length is an error that says which id has it. Calls of DeleteBefore for the same second do not wait for each other's only
// connection.
func TestDamaged(t *testing.T) {
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "store.db"))
	db.SetMaxOpenConns(1)
	scheme, err := blockstore.MinHash(0.7, blockstore.SignatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), db, SQLite, scheme, Options{Table: "damaged"})
	if err != nil {
		t.Fatal(err)
	}
	var f neardup.Fingerprinter
	sig := f.Sign(neardup.Text("a text of some words that is stored"), neardup.MinHash{})
	var entries []blockstore.Entry[neardup.Signature]
	for i := range 200 {
		entries = append(entries, blockstore.Entry[neardup.Signature]{ID: fmt.Sprint(i), Value: sig, Added: time.Now().Add(-time.Hour)})
	}
	if err := s.Put(t.Context(), append(entries, blockstore.Entry[neardup.Signature]{ID: "bad", Value: sig})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	before := time.Now().Add(-time.Minute)
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := s.DeleteBefore(ctx, before); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := db.Exec("UPDATE damaged SET signature = x'010203' WHERE id = 'bad'"); err != nil {
		t.Fatal(err)
	}
	_, searched := s.Search(t.Context(), []neardup.Signature{sig}, 10)
	_, got := s.Get(t.Context(), []string{"bad"})
	var all error
	for _, err := range s.All(t.Context()) {
		all = err
	}
	for _, err := range []error{searched, got, all} {
		if !errors.Is(err, neardup.ErrDamaged) || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("error %v", err)
		}
	}
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
